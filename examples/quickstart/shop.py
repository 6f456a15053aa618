"""Two functions as jobs: one that is enqueued, one on a schedule."""

from onthedot import App, Context

app = App()


@app.job(name="greet", retries=3)
def greet(name: str) -> str:
    return f"hello {name}"


@app.job(name="tick", every=1)
async def tick(ctx: Context) -> str:
    return f"due at {ctx.scheduled_for:%H:%M:%S}, attempt {ctx.attempt}"
