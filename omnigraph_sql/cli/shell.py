"""`ogsql GRAPH` on a terminal: the shell, and the settings it has."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from omnigraph_sql.base.errors import StorageError
from omnigraph_sql.cli.exit_codes import ExitCode, exit_code
from omnigraph_sql.cli.formats import FORMS, cell, table, written
from omnigraph_sql.cli.graphs import Absent, Address
from omnigraph_sql.cli.output import output
from omnigraph_sql.cli.terminal import painted, say, tell

if TYPE_CHECKING:
    from omnigraph_sql.graph import Graph
    from omnigraph_sql.repl.lent import Lent
    from omnigraph_sql.result import Result

_MANIFEST: Final = "__manifest"


def shell(
    where: Address,
    *,
    read_only: bool = False,
    at: str | None = None,
    form: str | None = None,
    goal: str | None = None,
    yes: bool = False,
    values: Mapping[str, object] | None = None,
) -> int:
    """Talk with the person at the terminal about a graph. Raises Absent for a folder that holds none."""
    _refuse_absent(where)
    from omnigraph_sql.repl.app import run_shell
    from omnigraph_sql.repl.lent import Options

    return run_shell(lent_for(where, read_only=read_only, at=at), Options(form, goal, not yes, values or {}))


def lent_for(where: Address, *, read_only: bool = False, at: str | None = None) -> Lent:
    """What the shell cannot reach by itself."""
    from omnigraph_sql.cli.statements import outcome
    from omnigraph_sql.repl.lent import Lent

    return Lent(
        name=where.graph,
        open=lambda: _opened(where, read_only=read_only, at=at),
        forms=tuple(FORMS),
        binary=frozenset(),
        written=written,
        write=_write,
        cell=cell,
        outcome=outcome,
        painted=painted,
        exit_code=exit_code,
    )


def _refuse_absent(where: Address) -> None:
    """What can be known about a folder without loading anything; the rest turns out when the graph is opened."""
    where.check()
    if "://" in where.graph:
        return
    place = Path(where.graph).expanduser()
    if not place.exists():
        raise where.nothing()
    if not (place / _MANIFEST).exists():
        raise Absent(f"the folder '{where.graph}' holds no graph", hint=where.making())


def _opened(where: Address, *, read_only: bool, at: str | None) -> Graph:
    try:
        graph = where.open(read_only=read_only or at is not None)
    except Absent as missing:
        # Known only now; the shell tells errors of the library, not those of a command line.
        raise StorageError(missing.message, kind="not_found", hint=missing.hint) from None
    return graph if at is None else graph.at(point_of(at))


def point_of(text: str) -> str | int | datetime:
    """A version's number, an instant in ISO 8601, or the id of a commit."""
    if text.isdecimal():
        return int(text)
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return text


def _write(result: Result, form: str, goal: str) -> None:
    with output(goal) as sink:
        for piece in written(result, form):
            sink(piece)


# ---- settings ---------------------------------------------------------------------------------------------------

_EPILOG = """\b
Examples:
  ogsql config show
  ogsql config set timing off
  ogsql config validate
"""


@click.group(epilog=_EPILOG)
def config() -> None:
    """Show, check and change the settings of the shell."""


@config.command("show")
def show_config() -> int:
    """Show every setting, its value and where it comes from."""
    from omnigraph_sql.repl.places import Places
    from omnigraph_sql.repl.settings import FIELDS, load

    places = Places.of_person(os.environ)
    loaded = load(places.user_file, places.project_file, os.environ)
    rows = [(n, str(getattr(loaded.settings, n)), loaded.origins.get(n, "default")) for n in FIELDS]
    say("\n".join(table(("setting", "value", "from"), iter([rows]))))
    return _told(loaded.problems)


@config.command("validate")
def validate_config() -> int:
    """Check the settings files and the environment; the exit code is 2 when something is wrong."""
    from omnigraph_sql.repl.places import Places
    from omnigraph_sql.repl.settings import load

    places = Places.of_person(os.environ)
    loaded = load(places.user_file, places.project_file, os.environ)
    if not loaded.problems:
        tell(f"{places.user_file} and {places.project_file} are in order")
    return _told(loaded.problems)


@config.command("path")
def show_path() -> int:
    """Show where the settings file, the start-up file, the named queries and the history are."""
    from omnigraph_sql.repl.places import Places

    places = Places.of_person(os.environ)
    for path in (places.user_file, places.startup, places.queries, places.history):
        say(str(path))
    return ExitCode.OK


@config.command("set")
@click.argument("name")
@click.argument("value")
def set_config(name: str, value: str) -> int:
    """Change a setting in your own file, keeping its comments."""
    from omnigraph_sql.repl.places import Places
    from omnigraph_sql.repl.settings import write_setting

    path = Places.of_person(os.environ).user_file
    write_setting(path, name, value)
    tell(f"{name} = {value}, written to {path}")
    return ExitCode.OK


def _told(problems: tuple[str, ...]) -> int:
    for problem in problems:
        tell(f"error: {problem}")
    return ExitCode.USAGE if problems else ExitCode.OK
