"""Verbs that are written once for every store: those that are neither hot nor different."""
