"""Every storage call fails once, in every phase: nothing half visible, a typed error, and the next write succeeds."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from omnigraph_sql.base.errors import CommitUnknown, OmniError, RecoveryRequired, StorageError
from omnigraph_sql.base.seams import Fault, Raise
from omnigraph_sql.engine.opening import open_for_writing
from omnigraph_sql.engine.store.manifest_table import ManifestTable
from omnigraph_sql.engine.store.objects import LocalObjects
from omnigraph_sql.engine.store.tables import Tables
from omnigraph_sql.engine.world import World
from omnigraph_sql.engine.write import commit
from tests.crash.oracle import Expected, at_rest, complaints, observe, sidecars
from tests.crash.scenes import SCENES, Scene, change, insert, next_one, tidying, world_at
from tests.crash.sweep import Cell, cells_of, fresh, passed, plan

STORAGE = ("store.", "manifest.", "audit.")
FULL = os.environ.get("OMNI_CRASH") == "full"
_NUMBERS = (errno.EIO, errno.ENOENT) if FULL else (errno.EIO,)
_WRITERS = (
    "insert",
    "schema change",
    "delete on a new branch",
    "upsert that tidies up",
    "upsert that rolls forward first",
)
_OPENS = tuple(name for name in SCENES if name.startswith("open that"))
_SHORT_OPENS = ("open that undoes a schema change", "open that rolls all tables back", "open that rolls forward")
_ARM = "arm.after"
_BEST_EFFORT = ("manifest.compact", "disarm.before")
"""Places from which on the operation is told as done, whatever happens."""


def _acted(world: World, scene: Scene) -> OmniError | None:
    """What a scene came to: its error, which must be one of ours, or None."""
    try:
        with tidying(scene.small):
            scene.act(world)
    except OmniError as error:
        return error
    return None


def _failing(root: Path, cell: Cell, number: int) -> World:
    return world_at(root, Fault(cell.name, Raise(OSError(number, "planned")), cell.hit))


def _places(trace: list[str]) -> list[tuple[Cell, int]]:
    return [(cell, place) for place, cell in enumerate(cells_of(trace)) if cell.name.startswith(STORAGE)]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("number", _NUMBERS, ids=errno.errorcode.get)
@pytest.mark.parametrize("name", _WRITERS if FULL else _WRITERS[:3])
def test_a_storage_call_that_fails_in_a_write_is_told_and_mended(name: str, number: int, tmp_path: Path) -> None:
    scene = SCENES[name]
    trace = passed(tmp_path, name)
    armed, told = trace.index(_ARM), min(trace.index(name) for name in _BEST_EFFORT if name in trace)
    expected = plan(tmp_path, name).expected
    for cell, place in _places(trace):
        if number == errno.ENOENT and cell.name == "store.get":
            continue  # a control object that is not there is no failure
        root = fresh(tmp_path, scene)
        start = observe(root)
        world = _failing(root, cell, number)
        error = _acted(world, scene)
        if place < armed:
            assert error is None or isinstance(error, StorageError | RecoveryRequired), (cell, error)
            if isinstance(error, StorageError) and not start.announced:
                assert observe(root) == start, cell
        elif place < told:
            assert isinstance(error, RecoveryRequired | CommitUnknown), (cell, error)
        else:
            assert error is None, cell
        assert error is None or error.hint or isinstance(error, StorageError), cell
        assert _settled(root, scene, Expected(start, expected.before, expected.after), world, error) == [], cell


def _settled(root: Path, scene: Scene, expected: Expected, world: World, error: OmniError | None) -> list[str]:
    """What is wrong after an error: first what the same handle does next, then what recovery makes of it."""
    if observe(root).now not in (expected.start.now, expected.before.now, expected.after.now):
        return ["half of something is visible"]
    if isinstance(error, StorageError) or error is None:
        # Nothing happened, or all of it: the next write needs no recovery.
        change(world, next_one, scene.branch, actor="eve")
        return list(at_rest(root, observe(root)))
    done = observe(root).now == expected.after.now or _confirmed(root, expected.start.announced)
    return complaints(root, scene, expected, done=done)


def _confirmed(root: Path, before: frozenset[str]) -> bool:
    """Whether the writer announced an operation that has all its effects, so that recovery finishes it."""
    own = sidecars(root) - before
    return any(b'"EffectsConfirmed"' in (root / "__recovery" / f"{one}.json").read_bytes() for one in own)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", _OPENS if FULL else _SHORT_OPENS)
def test_a_storage_call_that_fails_in_a_recovery_is_told_and_the_next_one_ends_it(name: str, tmp_path: Path) -> None:
    scene = SCENES[name]
    trace = passed(tmp_path, name)
    expected = plan(tmp_path, name).expected
    for number in (errno.EIO, errno.ENOENT):
        for cell, _ in _places(trace) if FULL or number == errno.ENOENT else ():
            if number == errno.ENOENT and cell.name == "store.get":
                continue
            root = fresh(tmp_path, scene)
            start = observe(root)
            error = _acted(_failing(root, cell, number), scene)
            # That a branch is not there yet may be the truth; it is believed when the list of branches says so too.
            assert isinstance(error, StorageError | RecoveryRequired) or number == errno.ENOENT, (cell, error)
            now = Expected(start, expected.before, expected.after)
            assert complaints(root, scene, now, done=False) == [], (cell, number)


def test_a_storage_call_that_fails_in_a_quiet_open_changes_nothing(tmp_path: Path) -> None:
    scene = Scene("open", open_for_writing)
    root = fresh(tmp_path, scene)
    counted = world_at(root)
    open_for_writing(counted)
    for name in ("manifest.open", "manifest.read", "store.put_new", "store.delete", "store.list"):
        for hit in range(1, counted.failpoints.hits(name) + 1):  # type: ignore[attr-defined]
            start = observe(root)
            error = _acted(_failing(root, Cell(name, hit, False), errno.EIO), scene)
            assert isinstance(error, StorageError), name
            assert observe(root) == start
    change(world_at(root), next_one)


_LOST: dict[str, tuple[Any, str, type[OmniError]]] = {
    "a table commit": (commit, "commit", RecoveryRequired),
    "a publish": (ManifestTable, "merge", CommitUnknown),
    "an announcement": (LocalObjects, "put_new", StorageError),
    "a confirmation": (LocalObjects, "replace", RecoveryRequired),
    "a fork": (Tables, "fork", RecoveryRequired),
}


@pytest.mark.parametrize("what", _LOST)
def test_an_answer_that_is_lost_leads_to_one_commit_or_none(what: str, tmp_path: Path) -> None:
    """The call works and its answer does not arrive."""
    scene = SCENES["insert on a new branch" if what == "a fork" else "insert"]
    expected = plan(tmp_path, scene.name).expected
    target, attribute, wanted = _LOST[what]
    real = getattr(target, attribute)

    def lost(*given: object, **named: object) -> object:
        real(*given, **named)
        raise StorageError("connection reset", kind="transient")

    root = fresh(tmp_path, scene)
    start, world = observe(root), world_at(root)
    with mock.patch.object(target, attribute, lost):
        error = _acted(world, scene)
    assert isinstance(error, wanted)
    done = what in ("a publish", "a confirmation")
    assert complaints(root, scene, Expected(start, expected.before, expected.after), done=done) == []


def test_the_next_write_finishes_a_publish_whose_answer_was_lost(tmp_path: Path) -> None:
    scene = SCENES["insert"]
    expected = plan(tmp_path, scene.name).expected
    root = fresh(tmp_path, scene)
    world = world_at(root, Fault("manifest.merge", Raise(OSError(errno.EIO, "planned")), 1))
    with pytest.raises(CommitUnknown) as told:
        change(world, insert)
    assert not world.manifest.has_commit("main", told.value.commit_id)
    change(world, next_one, actor="eve")
    assert world.manifest.has_commit("main", told.value.commit_id)
    commits = observe(root).commits["main"]
    assert [c.actor for c in commits[-2:]] == ["bob", "eve"]
    assert observe(root).past[told.value.commit_id] == expected.after.now["main"]
