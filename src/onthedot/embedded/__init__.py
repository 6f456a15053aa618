"""A node inside a user's program, which calls the functions of the app itself."""
