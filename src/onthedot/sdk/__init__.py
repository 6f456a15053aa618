"""What a Python developer uses: an App, its jobs, and what a function is told about its run."""
