"""The publisher: what it checks, what it writes, who wins, and what it says when somebody else did."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import (
    ExpectedVersionMismatch,
    FormatError,
    ReadSetChanged,
)
from omnigraph_sql.engine.manifest.publisher import publish
from omnigraph_sql.engine.manifest.rows import TableRow, TombstoneRow
from omnigraph_sql.engine.manifest.state import commits_stored
from omnigraph_sql.engine.values import Snapshot, TableIdentity, TablePin
from omnigraph_sql.engine.world import World
from tests.engine.manifest.publications import fresh, head_of, moved, publication, refused
from tests.engine.worlds import START, At, at, held, make, pin_of, seams, upsert

GHOST = TableIdentity(77, 1)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make(tmp_path / "g")


# ---- one publisher ------------------------------------------------------------------------------------------------


def test_a_publish_advances_the_version_by_one_and_is_what_a_reopen_reads(world: World) -> None:
    before, pin = fresh(world), pin_of(world)
    wanted = publication(world, moved(pin), expected=((pin.identity, pin.version),))
    after = publish(world.manifest, wanted)
    assert after.manifest_version == before.manifest_version + 1
    assert after == fresh(world) == world.manifest.current("main").snapshot
    assert (after.own_head, after.named("node:Person")) == (wanted.lineage.commit_id, moved(pin))


def test_the_fold_kept_after_many_publishes_is_the_fold_of_a_reopen(world: World) -> None:
    for number in range(1, 6):
        pin = pin_of(world, name="Person" if number % 2 else "Place")
        publish(world.manifest, publication(world, moved(pin, rows=number)))
    assert world.manifest.folds == 1
    assert world.manifest.current("main").fold == at(world.root).manifest.current("main").fold


def test_commits_form_one_chain_with_everything_the_author_said(world: World) -> None:
    made = [publication(world, moved(pin_of(world), by=n)) for n in (1, 2, 3)]
    for wanted in made:
        publish(world.manifest, wanted)
    chain = world.manifest.commits("main")
    assert [c.id for c in chain[:3]] == [w.lineage.commit_id for w in reversed(made)]
    assert [c.parent for c in chain] == [*(c.id for c in chain[1:]), None]
    newest = chain[0]
    assert (newest.actor, newest.message, newest.created_at, newest.version) == ("ann", "why", START, 4)


def test_an_empty_delta_is_a_commit_too(world: World) -> None:
    assert publish(world.manifest, publication(world)).manifest_version == 2


def test_a_stale_expected_version_is_refused_with_the_numbers(world: World) -> None:
    pin = pin_of(world)
    error = refused(world, publication(world, expected=((pin.identity, 7),)), ExpectedVersionMismatch)
    assert isinstance(error, ExpectedVersionMismatch)
    conflict = {"table_key": "node:Person", "expected": 7, "actual": pin.version}
    assert error.to_dict()["manifest_conflict"] == conflict
    assert error.to_dict()["code"] == "conflict"


def test_an_unknown_table_is_at_version_zero(world: World) -> None:
    error = refused(world, publication(world, expected=((GHOST, 3),)), ExpectedVersionMismatch)
    assert isinstance(error, ExpectedVersionMismatch)
    assert (error.actual, error.table_key) == (0, str(GHOST))
    publish(world.manifest, publication(world, expected=((GHOST, 0),)))


def test_a_stale_table_that_was_only_read_is_refused_and_the_batch_with_it(world: World) -> None:
    person, place = pin_of(world), pin_of(world, name="Place")
    publish(world.manifest, publication(world, moved(place)))
    both = ((person.identity, person.version), (place.identity, place.version))
    error = refused(world, publication(world, moved(person), expected=both), ExpectedVersionMismatch)
    assert isinstance(error, ExpectedVersionMismatch)
    assert error.table_key == "node:Place"


def test_the_version_of_a_drop_counts_as_the_table_s_version(world: World) -> None:
    pin = pin_of(world)
    drop = TombstoneRow(pin.identity, pin.key, pin.version + 2)
    publish(world.manifest, publication(world, tombstones=(drop,)))
    assert fresh(world).named(pin.key) is None
    error = refused(world, publication(world, expected=((pin.identity, pin.version),)), ExpectedVersionMismatch)
    assert isinstance(error, ExpectedVersionMismatch)
    assert error.actual == drop.version


def test_one_delta_names_a_version_once(world: World) -> None:
    with pytest.raises(ValueError, match="twice"):
        publication(world, moved(pin_of(world)), moved(pin_of(world)))


def test_saying_the_same_again_is_fine_and_saying_otherwise_is_refused(world: World) -> None:
    pin = moved(pin_of(world), rows=5)
    publish(world.manifest, publication(world, pin))
    publish(world.manifest, publication(world, pin))
    assert fresh(world).named(pin.key) == pin
    refused(world, publication(world, replace(pin, row_count=6)), ExpectedVersionMismatch)
    refused(world, publication(world, replace(pin, key="node:Other")), ExpectedVersionMismatch)


def test_a_version_that_nobody_would_see_is_refused(world: World) -> None:
    pin = pin_of(world)
    publish(world.manifest, publication(world, moved(pin, by=3)))
    refused(world, publication(world, moved(pin, by=2)), ExpectedVersionMismatch)
    drop = TombstoneRow(pin.identity, pin.key, pin.version + 3)
    publish(world.manifest, publication(world, tombstones=(drop,)))
    refused(world, publication(world, moved(pin, by=3)), ExpectedVersionMismatch)


def test_a_version_may_be_handed_to_another_branch_of_its_table(world: World) -> None:
    pin = pin_of(world)
    handed = replace(pin, branch="dev")
    after = publish(world.manifest, publication(world, handed, expected=((pin.identity, pin.version),)))
    assert after.named(pin.key) == handed == fresh(world).named(pin.key)


def test_a_renamed_table_keeps_its_path_and_version(world: World) -> None:
    pin = pin_of(world)
    new = TableRow(pin.identity, "node:Human", pin.path)
    publish(world.manifest, publication(world, registrations=(new,)))
    assert fresh(world).named("node:Human") == replace(pin, key="node:Human")
    assert fresh(world).named("node:Person") is None


def test_a_dropped_name_can_be_given_to_a_new_table(world: World) -> None:
    pin = pin_of(world)
    again = TablePin(GHOST, pin.key, f"nodes/{77:016x}-{1:016x}", 1, None, 0)
    named, gone = TableRow(GHOST, again.key, again.path), TombstoneRow(pin.identity, pin.key, pin.version)
    publish(world.manifest, publication(world, again, registrations=(named,), tombstones=(gone,)))
    assert fresh(world).named(pin.key) == again


def test_a_name_that_is_taken_is_refused_before_anything_is_written(world: World) -> None:
    twin = TablePin(GHOST, "node:Person", "nodes/x", 1, None, 0)
    refused(world, publication(world, twin, registrations=(TableRow(GHOST, twin.key, twin.path),)), FormatError)


def test_an_old_snapshot_stays_as_it_was(world: World) -> None:
    old = world.manifest.current("main")
    kept = replace(old.snapshot)
    publish(world.manifest, publication(world, moved(pin_of(world))))
    assert old.snapshot == kept
    assert world.manifest.at_version("main", kept.manifest_version).snapshot == kept


# ---- preconditions ------------------------------------------------------------------------------------------------


def branch(world: World, name: str = "dev") -> Snapshot:
    world.manifest.table.create_branch(name, world.manifest.current("main").view)
    return fresh(world, name)


def test_the_exact_head_of_a_branch_without_commits_is_none(world: World) -> None:
    base = branch(world)
    assert (base.own_head, base.head) == (None, fresh(world).head)
    first = publication(world, branch="dev", head=head_of(base))
    assert publish(world.manifest, first).own_head == first.lineage.commit_id
    commit = world.manifest.commits("dev")[0]
    assert (commit.parent, commit.branch) == (base.head, "dev")
    with pytest.raises(ReadSetChanged) as caught:
        publish(world.manifest, publication(world, branch="dev", head=head_of(base)))
    wanted = {"member": "graph_head:dev", "expected": None, "actual": first.lineage.commit_id}
    assert caught.value.fields() == wanted


def test_a_commit_is_never_put_under_another_parent_than_the_one_read(world: World) -> None:
    old = fresh(world)
    publish(world.manifest, publication(world, head=head_of(old)))
    error = refused(world, publication(world, head=head_of(old)), ReadSetChanged)
    assert isinstance(error, ReadSetChanged)
    assert error.expected == old.own_head


def test_a_branch_inherits_the_stamp_and_main_does_not_see_its_commits(world: World) -> None:
    base = branch(world)
    before = fresh(world)
    publish(world.manifest, publication(world, moved(pin_of(world)), branch="dev"))
    assert fresh(world) == before
    assert base.stamp == before.stamp > 0


def test_a_branch_deleted_and_made_anew_is_another_branch(world: World) -> None:
    base = branch(world)
    manifest = world.manifest.table.open("main").dataset
    manifest.branches.delete("dev")
    again = branch(world)
    assert again.branch_identifier != base.branch_identifier
    with pytest.raises(ReadSetChanged, match="deleted and made anew"):
        publish(world.manifest, publication(world, branch="dev", head=head_of(base)))
    publish(world.manifest, publication(world, branch="dev", head=head_of(again)))


def test_a_smaller_fence_than_one_published_is_a_lost_lease(world: World) -> None:
    publish(world.manifest, replace(publication(world), fence=4))
    error = refused(world, replace(publication(world), fence=3), ReadSetChanged)
    assert isinstance(error, ReadSetChanged)
    assert (error.member, error.expected, error.actual) == ("lease", 3, 4)
    assert publish(world.manifest, replace(publication(world), fence=4)).fence == 4


# ---- upkeep -------------------------------------------------------------------------------------------------------


def test_compacting_keeps_rows_stamp_and_history_and_makes_the_next_publish_small(world: World) -> None:
    table = world.manifest.table
    for _ in range(12):
        publish(world.manifest, publication(world, moved(pin_of(world))))
    before = world.manifest.current("main")
    rows = table.rows(before.view).sort_by("object_id")
    assert table.fragments(before.view) > 5
    table.compact(before.view)
    world.manifest.forget("main")
    after = world.manifest.current("main")
    assert table.fragments(after.view) == 1
    assert table.rows(after.view).sort_by("object_id").equals(rows)
    assert after.view.metadata == before.view.metadata
    assert after.fold == before.fold
    assert replace(after.snapshot, manifest_version=0) == replace(before.snapshot, manifest_version=0)
    assert world.manifest.at_version("main", 3).snapshot.manifest_version == 3
    assert len(commits_stored(table.rows(after.view))) == 13
    assert publish(world.manifest, publication(world, moved(pin_of(world)))) == fresh(world)


def test_a_publish_that_meets_a_compaction_starts_over_and_gets_in(world: World) -> None:
    for _ in range(3):
        publish(world.manifest, publication(world))
    other = at(world.root)

    def compact() -> None:
        other.manifest.table.compact(other.manifest.current("main").view)

    mine = at(world.root, seams(failpoints=At("manifest.merge", compact)))
    wanted = publication(world)
    assert publish(mine.manifest, wanted) == fresh(world)
    assert fresh(world).own_head == wanted.lineage.commit_id


@pytest.mark.parametrize("on", ["main", "dev"])
def test_the_manifest_stays_small_however_many_writes_there_are(
    world: World, monkeypatch: pytest.MonkeyPatch, on: str
) -> None:
    monkeypatch.setattr(limits, "MANIFEST_FRAGMENTS_MAX", 4)
    branch(world)
    compactions = 0
    for number in range(15):
        before = fresh(world, on).manifest_version
        upsert(world, {f"k{number}": number}, branch=on)
        after = at(world.root).manifest.current(on)
        compactions += after.view.version > before + 1
        assert world.manifest.table.fragments(after.view) <= 5
    assert compactions >= 2
    assert len(held(at(world.root), on)) == 15
    chain = at(world.root).manifest.commits(on)
    assert [c.parent for c in chain] == [*(c.id for c in chain[1:]), None]
