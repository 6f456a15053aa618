"""What takes several verbs of the store, for the API and the roles alike: neither decision, storage
nor loop.
"""
