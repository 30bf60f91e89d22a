"""Refreshing a handle: what a dead writer left is finished where that needs no restore, and left alone otherwise."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from signal import SIGKILL

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


_VICTIM = """
import sys
from dataclasses import replace
from omnigraph_sql import graph as og
from omnigraph_sql.base.seams import Fault, Kill, PlannedFaults
from omnigraph_sql.engine.world import Seams

folder, place, hit = sys.argv[1:]
faults = PlannedFaults([Fault(place, Kill(), int(hit))])
writer = og.open(folder, actor="bob", seams=replace(Seams.system(), failpoints=faults))
writer.sql("INSERT INTO A VALUES ('a'); INSERT INTO B VALUES ('b')")
"""


def killed(folder: Path, place: str, hit: int = 1) -> None:
    """The same in a process of its own, which really dies."""
    done = subprocess.run([sys.executable, "-c", _VICTIM, str(folder), place, str(hit)], timeout=120, check=False)
    assert done.returncode == -SIGKILL


@pytest.mark.parametrize(
    ("place", "hit", "kinds", "shown", "left"),
    [
        ("arm.after", 1, ["Discarded"], [], 0),
        ("commit.after_table", 1, [], [], 1),
        ("commit.after_table", 2, [], [], 1),
        ("confirm.after", 1, ["RolledForward"], [("a",), ("b",)], 0),
        ("publish.after_merge", 1, ["RolledForward"], [("a",), ("b",)], 0),
        ("publish.after", 1, ["RolledForward"], [("a",), ("b",)], 0),
    ],
)
def test_what_a_killed_process_left_is_healed_or_left_by_a_refresh_of_another(
    folder: Path, place: str, hit: int, kinds: list[str], shown: list[tuple[str]], left: int
) -> None:
    """The handle was open all the time. What has to be undone waits for `recover`, and is reported until then."""
    graph = og.open(folder)
    killed(folder, place, hit)
    graph.refresh()
    assert rows(graph) == shown
    assert graph.stats()["pending_operations"] == left
    assert [row["kind"] for row in graph._world.audit.rows()] == kinds
    if left:
        with pytest.raises(RecoveryRequired):
            graph.sql("INSERT INTO A VALUES ('c')")
        assert [found.kind for found in graph.recover()] == ["RolledBack"]
        assert rows(graph) == []
    assert graph.sql("INSERT INTO A VALUES ('c')").affected_nodes == 1
    graph.refresh()
    assert len(graph._world.audit.rows()) == 1


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
