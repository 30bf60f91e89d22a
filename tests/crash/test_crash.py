"""Writers that are killed (SIGKILL) at every place they pass. `OMNI_CRASH=full` runs every cell of every scene."""

from __future__ import annotations

import os
import random
from pathlib import Path
from signal import SIGKILL

import lance
import pytest

from omnigraph_sql import graph as og
from omnigraph_sql.base.seams import CATALOGUE
from omnigraph_sql.engine.opening import init, open_for_writing
from omnigraph_sql.engine.store.root import MANIFEST
from tests.crash.defects import DEFECTS
from tests.crash.oracle import at_rest, observe, sidecars
from tests.crash.scenes import (
    BRANCH,
    FILES,
    SCENES,
    SCHEMA,
    catalog,
    change,
    delete,
    make_branch,
    next_one,
    world_at,
    world_with,
)
from tests.crash.sweep import Cell, Tracing, Zygote, cells_of, fresh, passed, plan, sweep, sweep_twice
from tests.crash.victim import INIT

FULL = os.environ.get("OMNI_CRASH") == "full"
SEED = int(os.environ.get("OMNI_SEED", "7"))
KILLS_MIN = 300
_DARK = {
    "manifest.fork": "makes a branch",
    "store.sync": "not by default; losses of power go through every sync",
}
_PROTOCOL = ("write.", "schema.", "arm.", "commit.", "confirm.", "publish.", "disarm.", "heal.")
_SHORT = (
    "insert",
    "schema change",
    "delete on a new branch",
    "upsert that rolls forward first",
    "open that rolls all tables back",
)
_RECOVERIES = tuple(name for name in SCENES if name.startswith("open that"))
_SHORT_RECOVERIES = ("open that undoes a schema change", "open that rolls one table back", "open that rolls forward")


def _chosen(cells: tuple[Cell, ...]) -> tuple[Cell, ...]:
    return cells if FULL else tuple(cell for cell in cells if cell.name.startswith(_PROTOCOL))


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", SCENES if FULL else _SHORT)
def test_a_killed_writer_leaves_the_graph_as_before_or_as_after(name: str, zygote: Zygote, tmp_path: Path) -> None:
    planned = plan(tmp_path, name)
    cells = _chosen(planned.cells)
    before = zygote.kills
    assert list(sweep(zygote, tmp_path, planned, cells)) == []
    assert zygote.kills - before == len(cells)
    print(f"{name}: {len(cells)} kills")


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", _RECOVERIES if FULL else _SHORT_RECOVERIES)
def test_a_recovery_that_is_killed_twice_still_comes_to_the_same_end(name: str, zygote: Zygote, tmp_path: Path) -> None:
    planned = plan(tmp_path, name)
    choice = random.Random(f"{SEED} {name}")
    cells = tuple(cell for cell in planned.cells if cell.name.startswith("heal.")) if not FULL else planned.cells
    again = [cell for cell in planned.cells if cell.name.startswith(("heal.", "store.restore", "manifest.merge"))]
    pairs = [(cell, choice.choice(again)) for cell in cells]
    print(f"{name}: seed {SEED}, {len(pairs)} pairs of kills")
    assert list(sweep_twice(zygote, tmp_path, planned, pairs)) == []


def _init_cells(folder: Path) -> tuple[Cell, ...]:
    trace = Tracing()
    init(world_with(folder / "clean", trace), FILES, catalog(), actor="ana")
    visible = trace.passed.index("init.after_manifest")
    return tuple(Cell(cell.name, cell.hit, place >= visible) for place, cell in enumerate(cells_of(trace.passed)))


def test_a_killed_init_leaves_a_whole_graph_or_room_for_another_attempt(zygote: Zygote, tmp_path: Path) -> None:
    cells = _init_cells(tmp_path)
    for cell in cells if FULL else tuple(c for c in cells if c.name.startswith(("init.", "manifest."))):
        root = tmp_path / f"{cell.name}-{cell.hit}"
        assert zygote.run(root, INIT, cell) == -SIGKILL, cell
        assert (root / MANIFEST / "_versions").exists() == cell.done, cell
        if not cell.done:
            init(world_at(root), FILES, catalog(), actor="ana")
        assert open_for_writing(world_at(root)) == []
        seen = observe(root)
        assert list(at_rest(root, seen)) == [], cell
        assert [commit.actor for commit in seen.commits["main"]] == ["ana"], cell
        assert not any(seen.now["main"].values()), cell
        change(world_at(root), next_one)


def test_a_fork_that_died_half_way_is_made_anew(tmp_path: Path) -> None:
    """Lance writes the branch first and its name second; a death between them leaves a branch without a name."""
    root = fresh(tmp_path, SCENES["delete on a new branch"])
    make_branch(root, f"{BRANCH}/z")
    change(world_at(root), next_one, f"{BRANCH}/z")
    nested = observe(root).now[f"{BRANCH}/z"]
    change(world_at(root), delete(world_at(root)), BRANCH)
    once = observe(root).now[BRANCH]
    root = fresh(tmp_path, SCENES["delete on a new branch"])
    make_branch(root, f"{BRANCH}/z")
    change(world_at(root), next_one, f"{BRANCH}/z")
    for table in [*(root / "nodes").iterdir(), *(root / "edges").iterdir()]:
        lance.dataset(str(table)).create_branch(BRANCH, (None, int(lance.dataset(str(table)).version)))
        (table / "_refs" / "branches" / f"{BRANCH.replace('/', '%2F')}.json").unlink()
    change(world_at(root), delete(world_at(root)), BRANCH)
    seen = observe(root)
    assert seen.now[BRANCH] == once
    assert seen.now[f"{BRANCH}/z"] == nested
    assert list(at_rest(root, seen)) == []


def test_a_branch_whose_maker_died_half_way_can_be_made(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", schema=SCHEMA)
    graph.create_branch("draft")
    (tmp_path / "graph" / MANIFEST / "_refs" / "branches" / "draft.json").unlink()
    assert [branch.name for branch in graph.branches()] == ["main"]
    graph.sql("insert into Person (name, n) values ('a', 1)")
    assert graph.create_branch("draft").head == graph.head
    assert graph.checkout("draft").sql("select name from Person").fetchall() == [("a",)]


def test_every_failpoint_of_the_protocol_is_crossed(tmp_path: Path) -> None:
    """The ledger: what no scene passes would be a place nobody has ever died at."""
    crossed = {cell.name for cell in _init_cells(tmp_path)}
    traces = [passed(tmp_path, name) for name in SCENES]
    crossed |= {name for trace in traces for name in trace}
    assert {point.name for point in CATALOGUE} - crossed == _DARK.keys()
    assert sum(map(len, traces)) >= KILLS_MIN


_SENSITIVE = {
    "publishes before it commits": ("insert", "commit.after_table"),
    "publishes without confirming": ("insert", "publish.before"),
    "disarms before it publishes": ("insert", "publish.before"),
    "commits without arming": ("insert", "commit.after_table"),
    "confirms what it has not committed": ("insert", "confirm.before"),
    "rolls back without restoring": ("insert", "commit.after_table"),
    "rolls forward what is incomplete": ("insert", "commit.after_table"),
    "recovers without a log": ("insert", "confirm.after"),
    "logs twice": ("insert", "confirm.after"),
    "leaves the intent behind": ("insert", "confirm.after"),
    "rolls forward as somebody else": ("insert", "confirm.after"),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_the_oracle_sees_a_planted_defect(defect: str, zygote: Zygote, tmp_path: Path) -> None:
    name, point = _SENSITIVE[defect]
    planned = plan(tmp_path, name)
    cell = next(cell for cell in planned.cells if cell.name == point)
    assert list(sweep(zygote, tmp_path, planned, (cell,))) == []
    found = list(sweep(zygote, tmp_path, planned, (cell,), defect=defect))
    assert found
    assert not any("the victim ended" in one for one in found), "the defect must be seen by the oracle"
    print(f"{defect}: {found[0]}")


def test_a_kill_that_is_not_reached_is_told_apart(zygote: Zygote, tmp_path: Path) -> None:
    """The canary: a sweep whose victims live on must not pass for a sweep."""
    planned = plan(tmp_path, "insert")
    (found,) = sweep(zygote, tmp_path, planned, (Cell("heal.after_audit", 1, True),))
    assert "the victim ended with 0" in found
    assert sidecars(tmp_path / "graph") == frozenset()
