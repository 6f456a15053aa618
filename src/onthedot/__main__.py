"""`python -m onthedot`: the command line where no script is on the path."""

from onthedot.cli.main import main

if __name__ == "__main__":
    main()
