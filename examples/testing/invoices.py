"""On the first of a month every customer gets an invoice; the mail server is not always there."""

from onthedot import App, Context

app = App()
customers = ["ana", "bo"]
sent: list[str] = []
mail_server = {"down": False}


@app.job(name="invoices", cron="0 6 1 * *", timezone="Europe/Berlin")
async def invoices(ctx: Context) -> int:
    month = f"{ctx.scheduled_for:%Y-%m}"
    await mail.enqueue_many([{"to": customer, "month": month} for customer in customers])
    return len(customers)


@app.job(name="mail", retries=3, backoff={"initial": 60, "factor": 2})
def mail(to: str, month: str) -> None:
    if mail_server["down"]:
        raise ConnectionError("the mail server does not answer")
    sent.append(f"{month} to {to}")
