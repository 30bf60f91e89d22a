"""Control objects on a local disk: created once, replaced whole, and no scrap is left by a failure."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import ResourceLimitExceeded, StorageError
from omnigraph_sql.base.seams import NoFailpoints, SystemClock, UlidSource
from omnigraph_sql.engine.store.objects import LocalObjects


@pytest.fixture
def objects(tmp_path: Path) -> LocalObjects:
    return LocalObjects(tmp_path / "g", NoFailpoints(), UlidSource(SystemClock()))


def files(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_an_object_is_created_once_and_keeps_its_first_body(objects: LocalObjects, tmp_path: Path) -> None:
    assert objects.put_new("a/b.json", b"one")
    assert not objects.put_new("a/b.json", b"two")
    assert objects.get("a/b.json") == b"one"
    assert files(tmp_path) == ["g/a/b.json"]


def test_an_object_is_replaced_and_deleted(objects: LocalObjects, tmp_path: Path) -> None:
    objects.put("x", b"")
    assert objects.get("x") == b""
    objects.put("x", b"\x00new")
    assert objects.get("x") == b"\x00new"
    assert objects.delete("x")
    assert not objects.delete("x")
    assert objects.get("x") is None
    assert files(tmp_path) == []


@pytest.mark.parametrize("path", ["nowhere", "no/folder/at/all", "file/below"])
def test_what_is_not_there_is_none_and_an_empty_list(objects: LocalObjects, path: str) -> None:
    objects.put("file", b"1")
    assert objects.get(path) is None
    assert objects.list(path) == []


def test_a_listing_names_files_of_one_folder_in_order(objects: LocalObjects) -> None:
    for name in ("f/b", "f/a", "f/.hidden", "f/deeper/c", "other"):
        objects.put(name, b"1")
    assert objects.list("f") == [".hidden", "a", "b"]


def test_of_eight_threads_exactly_one_creates(objects: LocalObjects, tmp_path: Path) -> None:
    for round_number in range(25):
        barrier = threading.Barrier(8, timeout=60)

        def create(number: int, path: str = f"r/{round_number}", gate: threading.Barrier = barrier) -> bool:
            gate.wait()
            return objects.put_new(path, str(number).encode() * 1000)

        with ThreadPoolExecutor(8) as pool:
            won = list(pool.map(create, range(8)))
        assert sum(won) == 1
        assert objects.get(f"r/{round_number}") == str(won.index(True)).encode() * 1000
    assert files(tmp_path) == sorted(f"g/r/{n}" for n in range(25))


def test_a_reader_sees_the_old_body_or_the_new_one(objects: LocalObjects) -> None:
    bodies = {bytes([n]) * 50_000 for n in range(2)}
    objects.put("x", bytes([0]) * 50_000)
    done = threading.Event()

    def change() -> None:
        for number in range(100):
            objects.put("x", bytes([number % 2]) * 50_000)
        done.set()

    writer = threading.Thread(target=change)
    writer.start()
    seen = set()
    while not done.is_set():
        seen.add(objects.get("x"))
    writer.join()
    assert seen <= bodies


@pytest.mark.parametrize(
    ("call", "act"), [("link", "put_new"), ("replace", "put"), ("fsync", "put_new"), ("fsync", "put")]
)
def test_a_failure_leaves_no_scrap_and_the_old_body(
    objects: LocalObjects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, act: str
) -> None:
    objects.put("kept", b"old")

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(StorageError, match="No space") as caught:
        getattr(objects, act)("kept" if act == "put" else "fresh", b"new")
    assert caught.value.kind == "permanent"
    monkeypatch.undo()
    assert files(tmp_path) == ["g/kept"]
    assert objects.get("kept") == b"old"


def test_a_body_at_the_limit_is_read_and_one_above_is_refused(objects: LocalObjects, tmp_path: Path) -> None:
    objects.put("big", b"")
    os.truncate(tmp_path / "g" / "big", limits.CONTROL_OBJECT_BYTES_MAX)
    assert len(objects.get("big") or b"") == limits.CONTROL_OBJECT_BYTES_MAX
    os.truncate(tmp_path / "g" / "big", limits.CONTROL_OBJECT_BYTES_MAX + 1)
    with pytest.raises(ResourceLimitExceeded) as caught:
        objects.get("big")
    assert (caught.value.limit, caught.value.actual) == (
        limits.CONTROL_OBJECT_BYTES_MAX,
        limits.CONTROL_OBJECT_BYTES_MAX + 1,
    )


def test_a_folder_where_an_object_should_be_is_an_error_and_not_an_absence(objects: LocalObjects) -> None:
    objects.put("f/x", b"1")
    for act in (lambda: objects.get("f"), lambda: objects.put("f", b"2"), lambda: objects.delete("f")):
        with pytest.raises(StorageError):
            act()
    with pytest.raises(StorageError):
        objects.put_new("f/x/below", b"3")
    assert objects.get("f/x") == b"1"
