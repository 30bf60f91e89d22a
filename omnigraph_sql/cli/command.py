"""The command group, and how every way a command can end becomes an exit code."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from omnigraph_sql.base.errors import OmniError
from omnigraph_sql.cli.bench import bench
from omnigraph_sql.cli.check import check
from omnigraph_sql.cli.completion import completion
from omnigraph_sql.cli.demo import demo
from omnigraph_sql.cli.exit_codes import ExitCode, exit_code
from omnigraph_sql.cli.explain import explain
from omnigraph_sql.cli.export import export
from omnigraph_sql.cli.history import branch, commit, schema
from omnigraph_sql.cli.init import init
from omnigraph_sql.cli.lint import lint
from omnigraph_sql.cli.load import load
from omnigraph_sql.cli.pipeline import pipeline
from omnigraph_sql.cli.query import query
from omnigraph_sql.cli.recover import recover
from omnigraph_sql.cli.shell import config
from omnigraph_sql.cli.statements import statements
from omnigraph_sql.cli.stats import stats
from omnigraph_sql.cli.terminal import prepare, tell, tell_error
from omnigraph_sql.cli.texts import Unreadable

_EPILOG = """\b
Examples:
  ogsql demo
  ogsql init air.omni --schema air.pg
  ogsql load air.omni air.jsonl --mode append
  ogsql air.omni
  ogsql air.omni -c "SELECT city FROM Airport"
  ogsql export air.omni air.jsonl
  ogsql GRAPH --help
"""

_WORD: Final = re.compile(r"[a-z][a-z-]*")


class _Group(click.Group):
    """Commands by name; anything else in first place is a graph, or an option of the command that runs statements."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = {name for param in self.get_params(ctx) for name in param.opts}
        foreign = bool(args) and args[0].startswith("-") and args[0] not in own
        return super().parse_args(ctx, ["--", *args] if foreign else args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        if word in self.commands:
            return super().resolve_command(ctx, args)
        if _WORD.fullmatch(word) and not Path(word).exists():
            close = difflib.get_close_matches(word, self.commands, 1)
            meant = f"; did you mean '{close[0]}'?" if close else ""
            raise click.UsageError(f"'{word}' is neither a command nor a graph{meant}", ctx)
        return "GRAPH", statements, args

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage(ctx.command_path, "GRAPH [OPTIONS]")
        formatter.write_usage(ctx.command_path, "COMMAND [OPTIONS] [ARGS]...", "       ")


@click.group(
    cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}, epilog=_EPILOG
)
@click.version_option(package_name="omnigraph-sql", prog_name="ogsql", message="%(prog)s %(version)s")
def ogsql() -> None:
    """A graph-shaped database for Python and SQL.

    With the place of a graph, runs statements in SQL or .gq against it (ogsql GRAPH --help). Results go to standard
    output, everything said about them to standard error.

    \b
    Exit codes: 0 done, 1 refused, 2 called wrongly, 3 worth repeating,
    4 precondition failed, 130 interrupted.
    """


for _command in (
    bench,
    branch,
    check,
    commit,
    completion,
    config,
    demo,
    explain,
    export,
    init,
    lint,
    load,
    pipeline,
    query,
    recover,
    schema,
    stats,
):
    ogsql.add_command(_command)


def run(args: Sequence[str]) -> int:
    """Carry out one command line; the result is the exit code."""
    prepare()
    try:
        outcome = ogsql.main(list(args), prog_name="ogsql", standalone_mode=False)
    except click.Abort:
        return ExitCode.INTERRUPTED
    except SystemExit:  # click leaves like this when nobody reads the help any more
        return ExitCode.OK
    except click.exceptions.NoArgsIsHelpError as wanted:
        tell(wanted.format_message())
        return ExitCode.USAGE
    except click.ClickException as wrong:
        tell(_complaint(wrong))
        return ExitCode.USAGE
    except OmniError as error:
        tell_error(error)
        return exit_code(error)
    return outcome if isinstance(outcome, int) else ExitCode.OK


def _complaint(wrong: click.ClickException) -> str:
    lines = [f"error: {' '.join(wrong.format_message().split())}"]
    if isinstance(wrong, click.UsageError) and wrong.ctx is not None:
        lines.append(f"  = hint: {wrong.ctx.command_path} --help shows how it is used")
    if isinstance(wrong, Unreadable) and wrong.hint is not None:
        lines.append(f"  = hint: {wrong.hint}")
    return "\n".join(lines)
