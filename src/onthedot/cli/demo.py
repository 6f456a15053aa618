"""`onthedot demo`: the command. What it does is in demo_show, which takes a moment to import."""

from __future__ import annotations

import click

from onthedot import config


@click.command(short_help="See it work, in one minute.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=config.Settings().port,
    show_default=True,
    help="The server's port; 0 takes any free one.",
)
def demo(port: int) -> int:
    """See it work: a server with a handful of telling jobs, on a throw-away database.

    Shows every attempt as it ends, with its lateness. Ctrl-C ends it and deletes the database.

    \b
    Examples:
      onthedot demo
      onthedot demo --port 0
    """
    from onthedot.cli.demo_show import run_demo

    return run_demo(port)
