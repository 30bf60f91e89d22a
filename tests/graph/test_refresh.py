"""Refreshing a handle: what a dead writer left is finished where that needs no restore, and left alone otherwise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from omnigraph_sql import graph as og
from omnigraph_sql.base.errors import RecoveryRequired
from omnigraph_sql.base.seams import Fault, PlannedFaults, Raise
from omnigraph_sql.engine.world import Seams

SCHEMA = "node A { k: String @key } node B { k: String @key }"


class Died(Exception):
    """Stands for the death of a writer at a failpoint."""


def die(folder: Path, place: str, hit: int = 1) -> None:
    """A writer over two tables that gets as far as `place`."""
    faults = PlannedFaults([Fault(place, Raise(Died()), hit)])
    writer = og.open(folder, actor="bob", seams=replace(Seams.system(), failpoints=faults))
    with pytest.raises(Died):
        writer.sql("INSERT INTO A VALUES ('a'); INSERT INTO B VALUES ('b')")
    assert faults.hits(place) == hit


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    og.init(tmp_path / "g.omni", schema=SCHEMA)
    return tmp_path / "g.omni"


def rows(graph: og.Graph) -> list[tuple[object, ...]]:
    return graph.sql("SELECT k FROM A UNION ALL SELECT k FROM B ORDER BY k").fetchall()


def test_a_confirmed_operation_is_finished_by_a_refresh(folder: Path) -> None:
    graph = og.open(folder)
    die(folder, "confirm.after")
    assert rows(graph) == []
    graph.refresh()
    assert rows(graph) == [("a",), ("b",)]
    assert graph.commits()[0].actor == "bob"
    assert graph.stats()["pending_operations"] == 0
    assert [row["kind"] for row in graph._world.audit.rows()] == ["RolledForward"]


def test_an_operation_that_has_to_be_undone_is_left_alone_by_a_refresh(folder: Path) -> None:
    graph = og.open(folder)
    die(folder, "commit.after_table")
    graph.refresh()
    assert rows(graph) == []
    assert graph.stats()["pending_operations"] == 1
    with pytest.raises(RecoveryRequired):
        graph.sql("INSERT INTO A VALUES ('c')")
    assert [found.kind for found in graph.recover()] == ["RolledBack"]
    assert graph.sql("INSERT INTO A VALUES ('c')").affected_nodes == 1


def test_a_refresh_for_reading_touches_nothing(folder: Path) -> None:
    die(folder, "confirm.after")
    graph = og.open(folder, read_only=True)
    graph.refresh()
    assert rows(graph) == []
    assert graph.stats()["pending_operations"] == 1


def test_a_refresh_without_anything_pending_takes_no_lease(folder: Path) -> None:
    faults = PlannedFaults()
    graph = og.open(folder, seams=replace(Seams.system(), failpoints=faults))
    before = faults.hits("store.lease")
    graph.refresh()
    assert faults.hits("store.lease") == before
