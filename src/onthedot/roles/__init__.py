"""The services that do the work: each supplies a `step`, and `loop.py` drives them all."""
