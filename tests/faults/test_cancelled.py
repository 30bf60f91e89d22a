"""A writer that is interrupted (Ctrl-C) anywhere: before it is armed nothing happened, after it recovery decides."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from omnigraph_sql.base.seams import Fault, Raise
from tests.crash.oracle import Expected, at_rest, complaints, observe, sidecars
from tests.crash.scenes import SCENES, Scene, change, next_one, tidying, world_at
from tests.crash.sweep import Cell, cells_of, fresh, passed, plan

FULL = os.environ.get("OMNI_CRASH") == "full"
_SHORT = ("insert", "load that merges")
_NAMES = tuple(name for name in SCENES if not name.startswith("open that"))
_PROTOCOL = ("write.", "arm.", "commit.", "confirm.", "publish.", "disarm.", "load.")


def interrupted(root: Path, scene: Scene, cell: Cell) -> None:
    world = world_at(root, Fault(cell.name, Raise(KeyboardInterrupt()), cell.hit))
    with pytest.raises(KeyboardInterrupt), tidying(scene.small):
        scene.act(world)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", _NAMES if FULL else _SHORT)
def test_an_interrupt_at_any_place_leaves_the_graph_as_before_or_after(name: str, tmp_path: Path) -> None:
    """The same handle frees its lease, and what comes next in any process needs nothing but a recovery."""
    scene = SCENES[name]
    trace = passed(tmp_path, name)
    planned = plan(tmp_path, name)
    armed = trace.index("arm.after")
    for place, cell in enumerate(cells_of(trace)):
        if not cell.name.startswith(_PROTOCOL) and not (FULL and name in _SHORT):
            continue
        root = fresh(tmp_path, scene)
        start = observe(root)
        interrupted(root, scene, cell)
        if place < armed and not start.announced:
            assert observe(root) == start, f"{cell}: an interrupt before arming left a trace"
            change(world_at(root), next_one, scene.branch, actor="eve")
            assert list(at_rest(root, observe(root))) == [], cell
        else:
            now = Expected(start, planned.expected.before, planned.expected.after)
            assert complaints(root, scene, now, done=cell.done) == [], cell


def test_an_interrupted_load_removes_the_files_it_had_written(tmp_path: Path) -> None:
    scene = SCENES["load that merges"]
    root = fresh(tmp_path, scene)
    before = {path for path in root.rglob("*.lance") if path.is_file()}
    interrupted(root, scene, Cell("load.after_files", 1, False))
    assert {path for path in root.rglob("*.lance") if path.is_file()} == before
    assert not sidecars(root)
