"""`ogsql recover`: what writers that died left behind is finished or undone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from omnigraph_sql.base.errors import StorageError
from omnigraph_sql.cli.exit_codes import ExitCode
from omnigraph_sql.cli.formats import FORMS, Row
from omnigraph_sql.cli.graphs import Address, absent, address, storage_option
from omnigraph_sql.cli.terminal import say, tell

if TYPE_CHECKING:
    from omnigraph_sql.engine.world import World

_EPILOG = """\b
Examples:
  ogsql recover air.omni --dry-run
  ogsql recover air.omni
  ogsql recover air.omni --format json
"""
_PENDING = ("operation", "writer", "branch", "phase", "started", "tables")
_RESOLVED = ("operation", "outcome", "branch")


@click.command(epilog=_EPILOG)
@click.argument("graph")
@click.option("--dry-run", is_flag=True, help="List what is unfinished and touch nothing.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="How to show it.")
@storage_option
def recover(graph: str, dry_run: bool, form: str, storage: tuple[str, ...]) -> int:
    """Finish or undo what dead writers left.

    Every operation ends as RolledForward (it is in the history), RolledBack or Discarded (it is not). Opening a graph
    for writing does the same; this command shows it. A writer that is at work is waited for.
    """
    from omnigraph_sql.engine.opening import open_for_writing

    world = _world(address(graph, storage=storage))
    if dry_run:
        _say(_PENDING, _pending(world), form)
        return ExitCode.OK
    done = open_for_writing(world)
    _say(_RESOLVED, [(one.operation_id, one.kind, one.branch) for one in done], form)
    return ExitCode.OK


def _world(where: Address) -> World:
    """The storage of a graph that is there. Raises Absent."""
    where.check()
    from omnigraph_sql.engine.store.root import GraphRoot
    from omnigraph_sql.engine.values import MAIN
    from omnigraph_sql.engine.world import World

    world = World.at(GraphRoot.parse(where.graph, dict(where.storage) or None))
    try:
        world.manifest.current(MAIN)
    except StorageError as error:
        raise absent(where, error) or error from None
    return world


def _pending(world: World) -> list[Row]:
    from omnigraph_sql.engine.recovery.heal import pending

    return [
        (
            intent.operation_id,
            intent.writer.value,
            intent.branch,
            intent.phase.value,
            intent.started_at.isoformat(timespec="seconds"),
            ", ".join(table.pin.key for table in intent.tables),
        )
        for _, intent in pending(world)
    ]


def _say(columns: tuple[str, ...], rows: list[Row], form: str) -> None:
    if form == "text" and not rows:
        tell("nothing is unfinished")
        return
    for piece in FORMS["table" if form == "text" else "json"](columns, iter([rows] if rows else [])):
        say(piece)
