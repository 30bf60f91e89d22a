"""Invariants of recovery, in small: the sweeps of tests/crash try every place."""

from __future__ import annotations

import json
from pathlib import Path

import lance
import pytest

from omnigraph_sql import graph as og
from omnigraph_sql.base.errors import FormatError, RecoveryRequired
from omnigraph_sql.base.seams import Fault, Raise
from omnigraph_sql.engine.manifest.format import CEILING, FLOOR, STAMP_KEY
from omnigraph_sql.engine.opening import open_for_reading, open_for_writing
from omnigraph_sql.engine.store.root import MANIFEST, RECOVERY
from omnigraph_sql.engine.values import RECOVERY_ACTOR
from tests.crash.oracle import Expected, complaints, engine_tables, observe, sidecars
from tests.crash.scenes import SCENES, SCHEMA, Scene, Stop, change, insert, next_one, stopped, world_at, world_with
from tests.crash.sweep import fresh, plan
from tests.engine.wp.places import At, digest


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return fresh(tmp_path, SCENES["insert"])


@pytest.mark.parametrize(
    ("place", "hit", "done"),
    [
        ("arm.before", 1, False),
        ("arm.after", 1, False),
        ("commit.after_table", 1, False),
        ("commit.after_table", 3, False),
        ("confirm.after", 1, True),
        ("publish.after_merge", 1, True),
        ("disarm.before", 1, True),
    ],
)
def test_wp_20_a_stop_at_a_durable_step_leads_to_the_state_before_or_after(
    place: str, hit: int, done: bool, tmp_path: Path
) -> None:
    planned = plan(tmp_path, "insert")
    root = fresh(tmp_path, planned.scene)
    start = observe(root)
    stopped(place, hit)(root)
    assert (
        complaints(root, planned.scene, Expected(start, planned.expected.before, planned.expected.after), done=done)
        == []
    )


@pytest.mark.parametrize("left", ["confirm.before", "confirm.after"])
@pytest.mark.parametrize("hit", [1, 2])
def test_wp_21_a_recovery_that_stops_is_repeated_to_the_same_end(left: str, hit: int, tmp_path: Path) -> None:
    scene = Scene("recovery", open_for_writing, stopped(left))
    root = fresh(tmp_path, scene)
    open_for_writing(world_at(root))
    wanted = observe(root).now
    root = fresh(tmp_path, scene)
    places = ("heal.after_restore", "heal.after_rollback") if left == "confirm.before" else ("heal.after_publish",)
    for place in (*places, "heal.after_audit"):
        for _ in range(hit):
            try:
                open_for_writing(world_at(root, Fault(place, Raise(Stop()))))
            except Stop:
                continue
    open_for_writing(world_at(root))
    assert observe(root).now == wanted
    again = observe(root)
    assert open_for_writing(world_at(root)) == []
    assert observe(root) == again


@pytest.mark.parametrize("left", ["arm.after", "confirm.before", "confirm.after", "publish.after"])
def test_wp_22_a_recovered_operation_is_logged_once(left: str, root: Path) -> None:
    stopped(left)(root)
    (operation,) = sidecars(root)
    with pytest.raises(Stop):
        open_for_writing(world_at(root, Fault("heal.after_audit", Raise(Stop()))))
    open_for_writing(world_at(root))
    open_for_writing(world_at(root))
    assert [one for one, _, _ in observe(root).logged] == [operation]


def test_wp_23_a_roll_forward_keeps_its_commit_and_a_roll_back_is_the_work_of_recovery(tmp_path: Path) -> None:
    root = fresh(tmp_path, SCENES["insert"])
    stopped("confirm.after")(root)
    (operation,) = sidecars(root)
    announced = json.loads((root / RECOVERY / f"{operation}.json").read_text())["lineage"]["commit_id"]
    open_for_writing(world_at(root))
    newest = observe(root).commits["main"][-1]
    assert (newest.id, newest.actor) == (announced, "bob")
    root = fresh(tmp_path, SCENES["insert"])
    stopped("confirm.before")(root)
    open_for_writing(world_at(root))
    assert observe(root).commits["main"][-1].actor == RECOVERY_ACTOR


def test_wp_24_a_writer_never_restores(root: Path) -> None:
    stopped("commit.after_table", 2)(root)
    before = digest(root)
    points = At()
    with pytest.raises(RecoveryRequired) as told:
        change(world_with(root, points), next_one)
    assert told.value.operation_id in sidecars(root)
    assert points.hits["store.restore"] == points.hits["heal.before_restore"] == 0
    assert {k: v for k, v in digest(root).items() if k in before} == before


@pytest.mark.parametrize("left", [None, "commit.after_table", "confirm.after"])
def test_wp_25_an_open_for_reading_writes_nothing(left: str | None, root: Path) -> None:
    if left is not None:
        stopped(left)(root)
    before = digest(root.parent)
    snapshot = open_for_reading(world_at(root), "main")
    assert snapshot.tables
    engine_tables(root, "main")
    assert digest(root.parent) == before


def test_wp_25_reading_a_graph_through_its_front_door_writes_nothing(tmp_path: Path) -> None:
    og.init(tmp_path / "g", schema=SCHEMA).sql("insert into Person (name, n) values ('a', 1)")
    before = digest(tmp_path)
    assert og.open(tmp_path / "g", read_only=True).sql("select name from Person").fetchall() == [("a",)]
    assert digest(tmp_path) == before


@pytest.mark.parametrize("body", [b"{", b'{"format": 99}', b"\xff\xfe", b"[]", b""])
def test_wp_26_an_intent_nobody_understands_blocks_writing_and_not_reading(body: bytes, root: Path) -> None:
    shown = engine_tables(root, "main")
    folder = root / RECOVERY
    folder.mkdir(exist_ok=True)
    (folder / "01ARZ3NDEKTSV4RRFFQ69G5FAV.json").write_bytes(body)
    before = observe(root)
    with pytest.raises(RecoveryRequired):
        open_for_writing(world_at(root))
    with pytest.raises(RecoveryRequired):
        change(world_at(root), insert)
    assert observe(root) == before
    assert engine_tables(root, "main") == shown


@pytest.mark.parametrize("stamp", [str(FLOOR - 1), str(CEILING + 1), "six", ""])
def test_wp_27_a_stamp_out_of_range_blocks_every_open_and_every_publish(stamp: str, root: Path) -> None:
    world = world_at(root)

    def spoil() -> None:
        lance.dataset(str(root / MANIFEST)).update_schema_metadata({STAMP_KEY.decode(): stamp}, replace=True)

    with pytest.raises((FormatError, RecoveryRequired)):
        change(world_with(root, At("publish.before", spoil)), insert)
    assert not any(c.actor == "bob" for c in observe(root).commits["main"]), "the publish must have been refused"
    for attempt in (lambda: open_for_reading(world_at(root), "main"), lambda: open_for_writing(world_at(root))):
        with pytest.raises(FormatError):
            attempt()
    with pytest.raises(FormatError):
        change(world, insert)
