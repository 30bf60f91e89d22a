"""With `durability="fsync"` an acknowledged commit is on the disk, and a loss of power at any moment does no harm."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from random import Random, SystemRandom

import pytest

from omnigraph_sql.base.seams import NoFailpoints
from omnigraph_sql.engine.recovery.heal import mend
from omnigraph_sql.engine.store.durable import Durability
from omnigraph_sql.engine.store.root import GraphRoot
from omnigraph_sql.engine.world import Seams, World
from tests.crash.oracle import Expected, complaints, observe
from tests.crash.scenes import SCENES, Scene, tidying, world_at
from tests.crash.sweep import fresh, plan
from tests.faults.power import Moment, watched

FULL = os.environ.get("OMNI_CRASH") == "full"
SEED = int(os.environ.get("OMNI_CRASH_SEED", str(SystemRandom().randrange(2**32))))
MOMENTS_MAX = 8 if FULL else 5
SHORT = ["insert", "delete on a new branch", "load that merges", "indexing", "load of nothing", "open that discards"]
CHOSEN = sorted(SCENES) if FULL else SHORT


def fsynced(root: Path) -> World:
    return World.at(
        GraphRoot.parse(root), replace(Seams.system(), failpoints=NoFailpoints()), durability=Durability.FSYNC
    )


def moments_of(root: Path, scene: Scene) -> list[Moment]:
    with watched(root) as moments, tidying(scene.small):
        scene.act(fsynced(root))
    return moments


def harm(root: Path, scene: Scene, expected: Expected, moment: Moment, start: int | None, *, done: bool) -> str:
    """What is wrong afterwards; nothing, if the graph is as before the writer or, which `done` demands, as after it."""
    moment.leave(root, start)
    mend(world_at(root))
    after = complaints(root, scene, expected, done=True)
    if done or not after:
        return "; ".join(after)
    moment.leave(root, start)
    mend(world_at(root))
    before = complaints(root, scene, expected, done=False)
    return f"as after: {after}; as before: {before}" if before else ""


@pytest.mark.parametrize("name", CHOSEN)
def test_after_a_loss_of_power_the_graph_is_as_before_or_after_the_writer(name: str, tmp_path: Path) -> None:
    """At once with nothing that was not synced, then with some of it, whole or empty."""
    planned = plan(tmp_path, name)
    root = fresh(tmp_path, planned.scene)
    expected = replace(planned.expected, start=observe(root))
    moments = moments_of(root, planned.scene)
    last = len(moments) - 1
    for number in sorted({*Random(SEED).sample(range(last), min(MOMENTS_MAX, last)), last}):
        for start in (None, SEED + number):
            found = harm(root, planned.scene, expected, moments[number], start, done=number == last)
            assert not found, f"after sync {number} ({moments[number].synced}), OMNI_CRASH_SEED={SEED}: {found}"


@pytest.mark.parametrize("name", ["insert"])
def test_the_watch_sees_a_writer_that_syncs_nothing(name: str, tmp_path: Path) -> None:
    """The oracle itself: without the option, an acknowledged commit need not be on the disk."""
    planned = plan(tmp_path, name)
    root = fresh(tmp_path, planned.scene)
    expected = replace(planned.expected, start=observe(root))
    with watched(root) as moments:
        planned.scene.act(world_at(root))
    assert harm(root, planned.scene, expected, moments[-1], None, done=True)
