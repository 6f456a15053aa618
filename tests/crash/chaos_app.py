"""What nodes under chaos have as Python functions: one that calls the receiver as a callback would.

So the same ledger tells of both, and the same checker judges them.
"""

from __future__ import annotations

import json
import urllib.request

from onthedot import App, Context

app = App()


@app.job(name="chaos.call")
def call(ctx: Context, url: str) -> str:
    headers = {
        "Content-Type": "application/json",
        "Idempotency-Key": ctx.run_id,
        "Onthedot-Run": ctx.run_id,
        "Onthedot-Job": ctx.job_id,
        "Onthedot-Attempt": str(ctx.attempt),
        "Onthedot-Scheduled-For": f"{ctx.scheduled_for:%Y-%m-%dT%H:%M:%S.%fZ}",
    }
    request = urllib.request.Request(url, json.dumps({}).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return str(answer.read().decode())
