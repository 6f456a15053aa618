"""Enqueues a run and waits for what it comes to."""

import time

from shop import app, greet

run_id = greet.blocking.enqueue(name="ana")
client = app.client.blocking
while (run := client.get_run(run_id)).finished_at is None:
    time.sleep(0.05)
print(run.status, run.result)
