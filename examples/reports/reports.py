"""A report with many pages, which goes on after a failure where it stopped."""

from onthedot import App, Context

app = App()


@app.job(
    name="report",
    isolation="process",
    memory_limit="1GB",
    timeout=60,
    retries=2,
    backoff={"initial": 0.1, "factor": 1, "max": 0.1},
)
def report(ctx: Context, pages: int) -> dict[str, int]:
    first = ctx.checkpoint_value or 1
    print(f"from page {first}")
    for page in range(first, pages + 1):
        if page == 3 and ctx.attempt == 1:
            raise ConnectionError("the warehouse hung up")
        print(f"wrote page {page}")
        ctx.progress(page, pages, "pages")
        ctx.checkpoint(page + 1)
    return {"pages": pages, "attempts": ctx.attempt}
