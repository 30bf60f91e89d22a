"""`ogsql completion`: what a shell needs to complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from omnigraph_sql.cli.exit_codes import ExitCode
from omnigraph_sql.cli.terminal import say

_EPILOG = """\b
Examples:
  ogsql completion bash >> ~/.bashrc
  ogsql completion zsh >> ~/.zshrc
  ogsql completion fish > ~/.config/fish/completions/ogsql.fish
"""
_VARIABLE = "_OGSQL_COMPLETE"


@click.command(epilog=_EPILOG)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> int:
    """Write the script that makes a shell complete ogsql's commands and options."""
    made = get_completion_class(shell)
    assert made is not None
    root = ctx.find_root().command
    parts = made(root, {}, "ogsql", _VARIABLE)
    say((parts.source_template % parts.source_vars()).rstrip("\n"))
    return ExitCode.OK
