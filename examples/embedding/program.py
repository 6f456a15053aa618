"""A program that schedules for itself. The database outlives it: what waits, waits for the next."""

import asyncio

from onthedot import App, Context

app = App()
arrived = asyncio.Event()


@app.job(name="tick", every=1)
async def tick(ctx: Context) -> None:
    print(f"tick, attempt {ctx.attempt}")


@app.job(name="greet")
def greet(name: str) -> None:
    print(f"hello {name}")


@app.job(name="farewell")
async def farewell() -> None:
    arrived.set()


async def main() -> None:
    async with app.node(database="sqlite:///program.db"):
        await greet.enqueue(name="ana")
        await farewell.enqueue_in(1.5)
        await arrived.wait()
    print("drained")


asyncio.run(main())
