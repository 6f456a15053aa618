"""`onthedot completion`: what a shell must know to complete our commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_ONTHEDOT_COMPLETE"
"""By which the shell asks for completions; click derives it from the name of the command."""


@click.command("completion", short_help="Print what a shell needs to complete commands.")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a script that lets SHELL complete commands and options.

    \b
    Examples:
      eval "$(onthedot completion bash)"      in ~/.bashrc
      eval "$(onthedot completion zsh)"       in ~/.zshrc
      onthedot completion fish > ~/.config/fish/completions/onthedot.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None, shell
    click.echo(kind(ctx.find_root().command, {}, "onthedot", VARIABLE).source())
