"""The command `onthedot`: every error ends as one clear message, never as a traceback.

Exit codes: 0 done, 1 failed, 2 wrong use, 130 interrupted.
"""

from __future__ import annotations

import importlib
import os
import sys
from io import TextIOWrapper
from typing import Any

import click

from onthedot import __version__
from onthedot.cli import output
from onthedot.cli.audit import audit
from onthedot.cli.calendar import calendar_group
from onthedot.cli.completion import completion
from onthedot.cli.config import config_command
from onthedot.cli.db import db_group
from onthedot.cli.demo import demo
from onthedot.cli.edit import edit
from onthedot.cli.job import job_group
from onthedot.cli.next import next_command
from onthedot.cli.node import node_group
from onthedot.cli.run import run_group
from onthedot.cli.serve import serve
from onthedot.cli.why import why
from onthedot.cli.zone import zone_group
from onthedot.errors import Invalid, OnthedotError, WrongUse

FAILED = 1
WRONG_USE = 2
INTERRUPTED = 130
PLUGINS = {"bench": "onthedot_bench.command:bench"}
"""Commands of packages that the product does not import."""


class Root(click.Group):
    """The group of all commands, and the one place where errors become words and exit codes."""

    debug = False

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self.commands, *PLUGINS]  # in the order people need them, not of the alphabet

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in PLUGINS:
            return super().get_command(ctx, cmd_name)
        module, _, name = PLUGINS[cmd_name].partition(":")
        found: click.Command = getattr(importlib.import_module(module), name)
        return found

    def main(self, *args: Any, **kwargs: Any) -> Any:
        kwargs["standalone_mode"] = False
        sys.exit(self._exit_code(*args, **kwargs))

    def _exit_code(self, *args: Any, **kwargs: Any) -> int:
        try:
            result = super().main(*args, **kwargs)
        except click.Abort:
            return INTERRUPTED
        except click.ClickException as error:
            return self._wrong_use(error)
        except OnthedotError as error:
            self._trace()
            output.show_error(error.message, error.hint)
            return WRONG_USE if isinstance(error, WrongUse | Invalid) else FAILED
        except Exception as error:  # noqa: BLE001 - told below, with the traceback on demand
            self._trace()
            output.show_error(
                f"internal: {type(error).__name__}: {error}",
                "This is a fault of onthedot. Run `onthedot --debug …` and report what it prints.",
            )
            return FAILED
        return result if isinstance(result, int) else 0

    def _wrong_use(self, error: click.ClickException) -> int:
        context = getattr(error, "ctx", None)
        if isinstance(error, click.exceptions.NoArgsIsHelpError):
            error.show()
            return WRONG_USE
        path = context.command_path if context is not None else "onthedot"
        output.show_error(error.format_message(), f"`{path} --help` shows how it is used.")
        return WRONG_USE if isinstance(error, click.UsageError) else FAILED

    def _trace(self) -> None:
        if self.debug:
            import traceback

            output.note(traceback.format_exc().rstrip())


def _debug(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if isinstance(ctx.command, Root):
        ctx.command.debug = value


@click.group(cls=Root, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--debug",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_debug,
    envvar="ONTHEDOT_DEBUG",
    help="Show where an error came from.  [env: ONTHEDOT_DEBUG]",
)
@click.version_option(__version__, message="onthedot %(version)s")
def cli() -> None:
    """A job scheduler: every due occurrence runs on the dot, once, and is accounted for.

    \b
    Examples:
      onthedot demo                       see it work, in one minute
      onthedot serve                      run a server here
      onthedot job add ping --url http://127.0.0.1:9000/ping --every 10
      onthedot run list ping              what happened
      onthedot why ping                   why it does not run
      onthedot next "0 9 * * MON-FRI"     when a schedule is due
      onthedot audit --all                is everything accounted for
    """


job_group.add_command(edit)
for command in (
    *(serve, demo, job_group, run_group, calendar_group, why, next_command, audit),
    *(node_group, zone_group, config_command, db_group, completion),
):
    cli.add_command(command)


def _open_standard_streams() -> None:
    """A connection would get the number of one that is closed, and with it what is written there;
    the event loop does not survive that.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # it gets the lowest free number


def main() -> None:
    _open_standard_streams()
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a letter must not turn output into an error.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    cli.main()
