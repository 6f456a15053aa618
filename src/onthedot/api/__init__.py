"""The REST API and the page for people: check what comes in, ask the store, answer."""
