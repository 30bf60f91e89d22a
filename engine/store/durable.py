"""Durability: which files a version of a dataset consists of, and how they get to the disk in time.

Lance leaves written files to the operating system. They outlive the process that wrote them, but not a loss of power.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from threading import Lock
from typing import Any, Final, Protocol

from omnigraph_sql.base.errors import StorageError
from omnigraph_sql.base.seams import Failpoints
from omnigraph_sql.engine.store.failures import storage_error
from omnigraph_sql.engine.store.root import GraphRoot
from omnigraph_sql.engine.store.versions import VERSIONS, version_file

REFS: Final = "_refs/branches"


class Durability(StrEnum):
    """What an acknowledged commit survives."""

    PROCESS = "process"
    """The death of the process."""
    FSYNC = "fsync"
    """A loss of power too."""

    @classmethod
    def parse(cls, text: str) -> Durability:
        """Raises StorageError (configuration) for any other word."""
        try:
            return cls(text)
        except ValueError:
            known = " or ".join(cls)
            raise StorageError(f"there is no durability {text!r}", kind="configuration", hint=f"say {known}") from None


class Disk(Protocol):
    """Where committed datasets are settled."""

    def settled(self, home: str, version: int, /) -> bool:
        """Whether a version is known to be settled, so that it need not even be opened."""
        ...

    def settle(self, home: str, dataset: Any, /) -> None:
        """Return when every file of the dataset's version, and every folder on the way to it, is on the disk.

        `home` is the dataset's folder below the root. Raises StorageError.
        """
        ...


def disk_at(root: GraphRoot, durability: Durability, failpoints: Failpoints) -> Disk:
    """An object store has each object on its disks before it answers: there is nothing to settle."""
    if root.local is None or durability is Durability.PROCESS:
        return LeftToSystem()
    return SyncedDisk(root.local, failpoints)


class LeftToSystem:
    """Nothing is waited for."""

    def settled(self, _home: str, _version: int, /) -> bool:
        return True

    def settle(self, _home: str, _dataset: Any, /) -> None:
        """Nothing happens."""


class SyncedDisk:
    """Syncs files, and remembers which. A file that Lance has named is never written again, so once is enough."""

    def __init__(self, root: Path, failpoints: Failpoints) -> None:
        self._root, self._failpoints = root, failpoints
        self._files: dict[str, tuple[int, frozenset[Path]]] = {}
        self._anchored: set[Path] = set()
        self._lock = Lock()

    def settled(self, home: str, version: int, /) -> bool:
        with self._lock:
            return self._files.get(home, (0, frozenset()))[0] == version

    def settle(self, home: str, dataset: Any, /) -> None:
        version = int(dataset.version)
        with self._lock:
            known = self._files.get(home, (0, frozenset[Path]()))[1]
        try:
            self._failpoints.hit("store.sync")
            wanted = frozenset(files_of(self._root, home, dataset))
            fresh = wanted - known
            for file in sorted(fresh):
                _sync(file)
            # A version is found by the name of its file, so that name comes last.
            for folder in sorted({file.parent for file in fresh}, key=lambda one: (one.name == VERSIONS, one)):
                self._anchor(folder)
                _sync(folder)
        except Exception as error:
            raise storage_error(error, f"bringing {home} to the disk") from error
        with self._lock:
            self._files[home] = (version, wanted)

    def _anchor(self, folder: Path) -> None:
        """Make the folder itself be found after a loss of power, up to the graph's own."""
        while folder not in self._anchored:
            _sync(folder.parent)
            self._anchored.add(folder)
            if folder == self._root:
                return
            folder = folder.parent


def files_of(root: Path, folder: str, dataset: Any) -> Iterator[Path]:
    """Every file that reading this version of a local dataset can ask for."""
    home = root / folder
    version = int(dataset.version)
    yield version_file(home, version)
    made = dataset.read_transaction(version)
    if made is not None:
        yield from _there(home / "_transactions" / f"{made.read_version}-{made.uuid}.txn")
    bases = {number: Path(base.path) for number, base in dataset.base_paths().items()}
    for fragment in dataset.get_fragments():
        for file in fragment.metadata.files:
            data = bases.get(file.base_id, home) / "data" / file.path
            yield data
            yield from _below(data.with_suffix(""))
        deleted = fragment.deletion_file()
        if deleted is not None:
            places = [place / deleted for place in (home, *bases.values())]
            yield next((place for place in places if place.exists()), places[0])
    for index in dataset.describe_indices():
        for segment in index.segments:
            for place in (home, *bases.values()):
                yield from _below(place / "_indices" / segment.uuid)
    trunk, fork, _ = folder.partition("/tree/")
    if fork:
        # A branch is found by its name, which is kept beside the trunk.
        yield from _below(root / trunk / REFS)


def _there(file: Path) -> Iterator[Path]:
    if file.exists():
        yield file


def _below(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from (found for found in folder.rglob("*") if found.is_file())


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
