"""The runner process, which calls users' functions. A worker starts it by its name."""
