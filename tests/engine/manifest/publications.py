"""Publications to try, and what somebody who was never here sees of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from omnigraph_sql.engine.manifest.publisher import Delta, ExactHead, Lineage, Publication, publish
from omnigraph_sql.engine.manifest.rows import TableRow, TombstoneRow
from omnigraph_sql.engine.values import Snapshot, TableIdentity, TablePin
from omnigraph_sql.engine.world import World
from tests.engine.worlds import START, at

Expected = tuple[tuple[TableIdentity, int], ...]


def lineage(world: World) -> Lineage:
    return Lineage(world.seams.ids.ulid(), "ann", "why", START)


def publication(
    world: World,
    *pins: TablePin,
    expected: Expected = (),
    head: ExactHead | None = None,
    branch: str = "main",
    registrations: tuple[TableRow, ...] = (),
    tombstones: tuple[TombstoneRow, ...] = (),
) -> Publication:
    return Publication(branch, Delta(pins, registrations, tombstones), expected, head, lineage(world))


def moved(pin: TablePin, by: int = 1, rows: int = 5) -> TablePin:
    return replace(pin, version=pin.version + by, row_count=rows)


def fresh(world: World, branch: str = "main") -> Snapshot:
    """The state as a process that was never here reads it."""
    return at(world.root).manifest.current(branch).snapshot


def refused(world: World, wanted: Publication, error: type[Exception]) -> Exception:
    """Publishing is refused, and nothing of it can be seen."""
    before = fresh(world)
    with pytest.raises(error) as caught:
        publish(world.manifest, wanted)
    assert fresh(world) == before
    assert not at(world.root).manifest.has_commit("main", wanted.lineage.commit_id)
    return caught.value


def head_of(snapshot: Snapshot) -> ExactHead:
    return ExactHead(snapshot.branch_identifier, snapshot.own_head)
