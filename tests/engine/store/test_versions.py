"""The newest version is found without a listing where names of files tell it, and by a listing everywhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph_sql.base.errors import ConflictError
from omnigraph_sql.engine.store import manifest_table, versions
from omnigraph_sql.engine.store.root import MANIFEST
from omnigraph_sql.engine.store.versions import has_successor
from tests.engine.worlds import Foreign, at, make, pin_of, sidecars, upsert


@pytest.fixture
def root(tmp_path: Path) -> Path:
    upsert(make(tmp_path / "g"), {"a": 1})
    return tmp_path / "g"


def test_only_the_newest_version_has_no_successor(root: Path) -> None:
    world = at(root)
    for number in range(3):
        upsert(world, {f"k{number}": 1})
    newest = world.manifest.current("main").view.version
    assert [has_successor(root / MANIFEST, v) for v in range(1, newest + 2)] == [True] * (newest - 1) + [False, None]


@pytest.mark.parametrize("branch", ["main", "dev/x"])
def test_another_writer_s_commit_is_seen_at_once(root: Path, branch: str) -> None:
    mine, other = at(root), at(root)
    if branch != "main":
        mine.manifest.table.create_branch(branch, mine.manifest.current("main").view)
    for number in range(4):
        made = upsert(other if number % 2 else mine, {f"k{number}": number}, branch=branch)
        for world in (mine, other):
            assert world.manifest.current(branch).snapshot.head == made.commit_id


def test_looking_again_lists_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = at(root)
    view = world.manifest.current("main").view
    world.manifest.table.newest(view)
    monkeypatch.setattr(view.dataset.__class__, "latest_version", property(lambda _: pytest.fail("it was listed")))
    assert world.manifest.table.newest(view) == view.version


def test_what_was_known_long_ago_is_looked_up_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cleanup may have taken the next version and left a later one."""
    world = at(root)
    view = world.manifest.current("main").view
    world.manifest.table.newest(view)
    for number in range(2):
        upsert(at(root), {f"k{number}": number})
    versions.version_file(root / MANIFEST, view.version + 1).unlink()
    monkeypatch.setattr(manifest_table, "_KNOWN_SECONDS", 0.0)
    assert world.manifest.table.newest(view) == view.version + 2


def test_a_table_that_somebody_else_moved_is_noticed(root: Path) -> None:
    world = at(root)
    pin = pin_of(world)
    assert world.tables.moved(pin, None) is None
    made = Foreign(world).append("foreign")
    assert world.tables.moved(pin, None) == made == pin.version + 1


def test_a_table_somebody_else_wrote_to_is_refused_before_anything_is_announced(tmp_path: Path) -> None:
    world = make(tmp_path / "g")
    upsert(world, {"a": 1})
    made = Foreign(world).append("foreign")
    for writer in (world, at(tmp_path / "g")):
        with pytest.raises(ConflictError) as caught:
            upsert(writer, {"b": 2})
        assert caught.value.code == "drift"
        assert sidecars(writer) == []
        assert Foreign(writer).newest() == made
