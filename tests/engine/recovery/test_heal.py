"""What a dead writer left is finished, undone, discarded or left alone, and logged once."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from omnigraph_sql.base.errors import OmniError, RecoveryRequired, StorageError
from omnigraph_sql.base.seams import Fault, PlannedFaults, Raise
from omnigraph_sql.engine import opening
from omnigraph_sql.engine.recovery.heal import heal, refuse_if_pending
from omnigraph_sql.engine.recovery.sidecar import decode, encode, sidecar_path
from omnigraph_sql.engine.store.root import RECOVERY
from omnigraph_sql.engine.values import RECOVERY_ACTOR
from omnigraph_sql.engine.world import World
from omnigraph_sql.engine.write.txn import Author
from tests.engine.recovery.crashes import Died, crash
from tests.engine.worlds import At, Foreign, at, digest, held, make, pin_of, seams, sidecars, upsert

BOTH = ("Person", "Place")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    upsert(make(tmp_path / "g"), {"a": 1}, names=BOTH)
    return tmp_path / "g"


def recover(root: Path, *faults: Fault) -> list[str]:
    """What opening for writing did, one word per operation."""
    return [done.kind for done in opening.open_for_writing(at(root, seams(*faults)))]


def kinds(root: Path) -> list[str]:
    return [row["kind"] for row in at(root).audit.rows()]


def settled(root: Path) -> None:
    """Nothing is pending, every table's newest version is the one shown, and the graph can be written to."""
    world = at(root)
    assert sidecars(world) == []
    for name in BOTH:
        pin = pin_of(world, name=name)
        assert world.tables.newest(pin.path, pin.branch, pin.version) == pin.version
    upsert(world, {"after": 0}, names=BOTH)
    assert recover(root) == []


def branch(root: Path, name: str = "dev") -> None:
    world = at(root)
    world.manifest.table.create_branch(name, world.manifest.current("main").view)


def delete_branch(root: Path, name: str = "dev") -> None:
    at(root).manifest.table.open("main").dataset.branches.delete(name)


# ---- each state -----------------------------------------------------------------------------------------------------


def test_a_clean_open_does_nothing(root: Path) -> None:
    before = digest(root)
    assert recover(root) == []
    assert digest(root) == before


ENDS = {
    "arm.after": ("Discarded", False),
    "commit.before_table": ("Discarded", False),
    "commit.after_table": ("RolledBack", False),
    "confirm.before": ("RolledBack", False),
    "confirm.after": ("RolledForward", True),
    "publish.before": ("RolledForward", True),
    "publish.after_merge": ("RolledForward", True),
    "disarm.before": ("RolledForward", True),
}


@pytest.mark.parametrize("on", ["main", "dev"])
@pytest.mark.parametrize("place", ENDS)
def test_an_open_brings_every_state_to_its_end(root: Path, place: str, on: str) -> None:
    kind, visible = ENDS[place]
    branch(root)
    head = at(root).manifest.current(on).snapshot.head
    crash(root, place, {"b": 2}, branch=on, names=BOTH, author=Author("ann"))
    assert recover(root) == [kind] == kinds(root)
    world = at(root)
    for name in BOTH:
        assert held(world, on, name) == ({"a": 1, "b": 2} if visible else {"a": 1})
        if on == "dev":
            assert held(world, "main", name) == {"a": 1}
    newest = world.manifest.commits(on)[0]
    if kind == "Discarded":
        assert newest.id == head
    else:
        assert (newest.parent, newest.actor) == (head, "ann" if visible else RECOVERY_ACTOR)
    settled(root)


@pytest.mark.parametrize("place", ["confirm.after", "publish.after_merge", "disarm.before", "arm.after"])
def test_the_next_write_heals_without_opening_anew(root: Path, place: str) -> None:
    crash(root, place, {"b": 2}, names=BOTH)
    upsert(at(root), {"c": 3}, names=BOTH)
    wanted = {"a": 1, "c": 3} if place == "arm.after" else {"a": 1, "b": 2, "c": 3}
    assert held(at(root)) == held(at(root), name="Place") == wanted
    assert kinds(root) == [ENDS[place][0]]
    settled(root)


@pytest.mark.parametrize("place", ["commit.after_table", "confirm.before"])
def test_a_write_does_not_undo_and_names_the_operation(root: Path, place: str) -> None:
    crash(root, place, {"b": 2}, names=BOTH)
    (name,) = sidecars(at(root))
    versions = [at(root).tables.newest(p.path, None, p.version) for p in (pin_of(at(root)),)]
    with pytest.raises(RecoveryRequired, match="half done") as caught:
        upsert(at(root), {"c": 3})
    assert f"{caught.value.operation_id}.json" == name
    with pytest.raises(RecoveryRequired):
        refuse_if_pending(at(root), "main")
    assert versions == [at(root).tables.newest(p.path, None, p.version) for p in (pin_of(at(root)),)]
    assert recover(root) == ["RolledBack"]
    settled(root)


@pytest.mark.parametrize("actor", [None, "ann"])
def test_rolling_forward_keeps_the_commit_as_its_author_meant_it(root: Path, actor: str | None) -> None:
    crash(root, "confirm.after", {"b": 2}, author=Author(actor, "a reason"))
    (name,) = sidecars(at(root))
    intent = decode(name, at(root).objects.get(f"{RECOVERY}/{name}") or b"")
    recover(root)
    commit = at(root).manifest.commits("main")[0]
    assert (commit.id, commit.actor, commit.message) == (intent.lineage.commit_id, actor, "a reason")
    assert commit.created_at == intent.lineage.created_at
    (row,) = at(root).audit.rows()
    assert (row["operation_id"], row["commit_id"], row["actor"]) == (intent.operation_id, commit.id, actor)
    pin = intent.tables[0].pin
    assert json.loads(row["tables"]) == [{"key": pin.key, "from": pin.version, "to": pin.version + 1}]


def test_rolling_back_is_a_commit_of_the_recovery_s_own(root: Path) -> None:
    crash(root, "confirm.before", {"b": 2}, author=Author("ann"))
    recover(root)
    commit = at(root).manifest.commits("main")[0]
    (row,) = at(root).audit.rows()
    assert (commit.actor, row["actor"], row["commit_id"]) == (RECOVERY_ACTOR, RECOVERY_ACTOR, commit.id)
    pin = pin_of(at(root))
    assert pin.row_count == 1
    assert at(root).tables.is_restore(pin.path, None, pin.version, pin.version)


# ---- several intents, other branches --------------------------------------------------------------------------------


def test_intents_of_several_branches_are_each_settled_on_their_own_branch(root: Path) -> None:
    branch(root, "dev")
    branch(root, "ops")
    crash(root, "confirm.after", {"m": 1}, names=BOTH)
    crash(root, "confirm.after", {"d": 1}, branch="dev", names=BOTH)
    crash(root, "commit.after_table", {"o": 1}, branch="ops", names=BOTH)
    assert sorted(recover(root)) == ["RolledBack", "RolledForward", "RolledForward"]
    world = at(root)
    shown = {on: set(held(world, on)) for on in ("main", "dev", "ops")}
    assert shown == {"main": {"a", "m"}, "dev": {"a", "d"}, "ops": {"a"}}
    settled(root)


def test_another_branch_s_intent_does_not_block_a_write(root: Path) -> None:
    branch(root)
    crash(root, "commit.after_table", {"d": 1}, branch="dev", names=BOTH)
    upsert(at(root), {"b": 2}, names=BOTH)
    assert held(at(root)) == {"a": 1, "b": 2}
    assert len(sidecars(at(root))) == 1
    with pytest.raises(RecoveryRequired):
        upsert(at(root), {"x": 1}, branch="dev")
    assert recover(root) == ["RolledBack"]
    settled(root)


@pytest.mark.parametrize("place", ["arm.after", "commit.after_fork", "commit.after_table", "confirm.after"])
def test_the_intent_of_a_deleted_branch_is_discarded_and_logged_once(root: Path, place: str) -> None:
    branch(root)
    crash(root, place, {"d": 1}, branch="dev")
    delete_branch(root)
    assert recover(root) == ["OrphanedBranchDiscarded"]
    assert recover(root) == []
    (row,) = at(root).audit.rows()
    assert (row["kind"], row["branch"], row["commit_id"]) == ("OrphanedBranchDiscarded", "dev", None)
    assert held(at(root)) == {"a": 1}
    settled(root)


def test_a_branch_that_was_deleted_and_made_anew_is_nobody_s_to_finish(root: Path) -> None:
    branch(root)
    crash(root, "confirm.after", {"d": 1}, branch="dev")
    delete_branch(root)
    branch(root)
    with pytest.raises(RecoveryRequired, match="made anew"):
        recover(root)
    assert held(at(root), "dev") == {"a": 1}
    upsert(at(root), {"b": 2})


@pytest.mark.parametrize("place", ["arm.after", "commit.after_table", "confirm.after", "publish.after_merge"])
def test_whoever_comes_beside_a_live_writer_waits_and_finishes_nothing_for_it(root: Path, place: str) -> None:
    def come() -> None:
        for act in (opening.open_for_writing, lambda w: upsert(w, {"c": 3}), lambda w: heal(w, "main")):
            with pytest.raises(StorageError, match="another writer holds the lease"):
                act(at(root))

    upsert(at(root, seams(failpoints=At(place, come))), {"b": 2}, names=BOTH)
    assert held(at(root)) == held(at(root), name="Place") == {"a": 1, "b": 2}
    assert kinds(root) == []
    settled(root)


def test_an_intent_that_vanishes_after_the_listing_is_passed_over(root: Path) -> None:
    crash(root, "confirm.after", {"b": 2})
    (name,) = sidecars(at(root))
    recover(root)
    world = at(root)
    listed = world.objects.list

    def with_ghost(folder: str) -> list[str]:
        return sorted([*listed(folder), name])

    objects: Any = _Listing(world, with_ghost)
    ghost = replace(world, objects=objects)
    assert opening.open_for_writing(ghost) == []
    refuse_if_pending(ghost, "main")
    upsert(ghost, {"c": 3})


class _Listing:
    """The objects of a world with another answer to a listing."""

    def __init__(self, world: World, answer: Callable[[str], list[str]]) -> None:
        self._objects, self.list = world.objects, answer

    def __getattr__(self, name: str) -> object:
        return getattr(self._objects, name)


# ---- faults inside recovery -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["confirm.after", "confirm.before", "arm.after"])
@pytest.mark.parametrize("step", ["audit.append", "audit.read", "store.delete"])
def test_a_recovery_that_cannot_log_is_repeated_and_logs_once(root: Path, place: str, step: str) -> None:
    crash(root, place, {"b": 2})
    # The probe of an open deletes its file before a recovery deletes an intent.
    at_hit = 2 if step == "store.delete" else 1
    with pytest.raises(StorageError):
        recover(root, Fault(step, Raise(OSError(5, "I/O error")), at_hit))
    assert len(sidecars(at(root))) == 1
    head = at(root).manifest.current("main").snapshot.head
    assert recover(root) == [ENDS[place][0]]
    assert kinds(root) == [ENDS[place][0]]
    assert at(root).manifest.current("main").snapshot.head == head
    settled(root)


@pytest.mark.parametrize(
    "first", ["heal.before_restore", "heal.after_restore", "heal.after_rollback", "heal.after_audit"]
)
@pytest.mark.parametrize("second", ["heal.before_restore", "heal.after_restore", "heal.after_rollback", None])
def test_undoing_goes_on_after_it_dies_wherever_that_is(root: Path, first: str, second: str | None) -> None:
    crash(root, "commit.after_table", {"b": 2}, names=BOTH, at_hit=2)
    for place in filter(None, (first, second)):
        try:
            recover(root, Fault(place, Raise(Died())))
        except Died:
            continue
        break
    recover(root)
    assert kinds(root) == ["RolledBack"]
    assert held(at(root)) == held(at(root), name="Place") == {"a": 1}
    settled(root)


@pytest.mark.parametrize("place", ["heal.before_publish", "heal.after_publish", "heal.after_audit"])
def test_finishing_goes_on_after_it_dies_wherever_that_is(root: Path, place: str) -> None:
    crash(root, "confirm.after", {"b": 2}, names=BOTH)
    with pytest.raises(Died):
        recover(root, Fault(place, Raise(Died())))
    recover(root)
    assert kinds(root) == ["RolledForward"]
    assert held(at(root)) == held(at(root), name="Place") == {"a": 1, "b": 2}
    settled(root)


def test_a_decision_to_undo_is_never_reconsidered(root: Path) -> None:
    crash(root, "confirm.before", {"b": 2}, names=BOTH)
    with pytest.raises(Died):
        recover(root, Fault("heal.before_restore", Raise(Died())))
    world = at(root)
    (name,) = sidecars(world)
    intent = decode(name, world.objects.get(f"{RECOVERY}/{name}") or b"")
    world.objects.put(sidecar_path(intent.operation_id), encode(intent.confirmed()))
    with pytest.raises(RecoveryRequired):
        upsert(at(root), {"c": 3})
    assert recover(root) == ["RolledBack"]
    assert held(at(root)) == {"a": 1}


@pytest.mark.parametrize("step", ["store.list", "store.get", "manifest.read", "store.newest"])
def test_a_look_that_fails_stops_the_open_and_the_write(root: Path, step: str) -> None:
    crash(root, "confirm.after", {"b": 2})
    before = sidecars(at(root))
    for act in (opening.open_for_writing, lambda w: upsert(w, {"c": 3})):
        faults = PlannedFaults([Fault(step, Raise(OSError(5, "I/O error")), n) for n in range(1, 9)])
        with pytest.raises(OmniError):
            act(at(root, seams(failpoints=faults)))
        assert faults.hits(step) >= 1
        assert sidecars(at(root)) == before
    assert recover(root) == ["RolledForward"]


# ---- somebody else --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["commit.after_table", "confirm.before", "confirm.after"])
def test_rows_that_somebody_else_appended_after_ours_are_never_taken_away(root: Path, place: str) -> None:
    crash(root, place, {"b": 2})
    version = Foreign(at(root)).append("theirs")
    with pytest.raises(RecoveryRequired, match="did not plan") as caught:
        recover(root)
    assert caught.value.hint
    with pytest.raises(RecoveryRequired):
        upsert(at(root), {"c": 3})
    world = at(root)
    pin = pin_of(world)
    assert world.tables.newest(pin.path, None, pin.version) == version
    assert held(world) == {"a": 1}
    assert kinds(root) == []


def test_rows_that_somebody_else_put_where_ours_were_planned_are_kept(root: Path) -> None:
    crash(root, "arm.after", {"b": 2})
    version = Foreign(at(root)).append("theirs")
    with pytest.raises(RecoveryRequired, match="did not plan"):
        recover(root)
    pin = pin_of(at(root))
    assert at(root).tables.newest(pin.path, None, pin.version) == version


def test_somebody_else_s_rows_in_another_table_stay_and_ours_are_settled(root: Path) -> None:
    crash(root, "confirm.after", {"b": 2})
    version = Foreign(at(root)).append("theirs", name="Place")
    assert recover(root) == ["RolledForward"]
    assert held(at(root)) == {"a": 1, "b": 2}
    pin = pin_of(at(root), name="Place")
    assert at(root).tables.newest(pin.path, None, pin.version) == version > pin.version


def test_a_table_older_than_its_pin_is_refused_by_everybody(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crash(root, "confirm.after", {"b": 2})
    world = at(root)
    monkeypatch.setattr(world.tables, "newest", lambda *asked: asked[2] - 1)
    for act in (opening.open_for_writing, lambda w: upsert(w, {"c": 3})):
        with pytest.raises(RecoveryRequired, match="older"):
            act(world)
    assert len(sidecars(at(root))) == 1
