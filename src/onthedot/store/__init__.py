"""Where jobs, the clock, live runs and the ledger are kept. `contract.py` is the promise, the
folders keep it.
"""
