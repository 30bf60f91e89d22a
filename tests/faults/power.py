"""A loss of power, at any moment: what was synced is there afterwards, and of the rest whatever chance leaves.

The disk is watched by its own rules, not by what the product says: a file's bytes are on it once the file was synced, a
name is once its folder was.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from unittest import mock

Mark = tuple[int, int]
"""A file on the disk: its number, and when it was written (numbers of removed files are given again)."""


@dataclass(slots=True)
class OnDisk:
    """What is certain to be there after a loss of power: bytes by file, names by folder."""

    bodies: dict[Mark, bytes] = field(default_factory=dict)
    names: dict[str, dict[str, Mark | None]] = field(default_factory=dict)

    def copy(self) -> OnDisk:
        return OnDisk(dict(self.bodies), dict(self.names))

    def sync(self, path: str) -> None:
        found = os.stat(path)
        if stat.S_ISDIR(found.st_mode):
            with os.scandir(path) as entries:
                self.names[path] = {e.name: None if e.is_dir() else _mark(e.stat()) for e in entries}
        else:
            self.bodies[_mark(found)] = Path(path).read_bytes()

    def files(self, folder: Path) -> Iterator[tuple[Path, bytes]]:
        """Every file below a folder with the bytes it has; a name whose bytes were never synced is an empty file."""
        for name, mark in self.names.get(str(folder), {}).items():
            if mark is None:
                yield from self.files(folder / name)
            else:
                yield folder / name, self.bodies.get(mark, b"")


def _mark(found: os.stat_result) -> Mark:
    return found.st_ino, found.st_mtime_ns


@dataclass(frozen=True, slots=True)
class Moment:
    """The disk right after a sync, and what the system would have shown then."""

    synced: str
    disk: OnDisk
    shown: dict[Path, bytes]

    def leave(self, root: Path, start: int | None) -> None:
        """Put the graph there as a loss of power leaves it.

        Without `start` nothing is there that was not synced. With it, chance leaves other files whole or empty.
        """
        chance = Random(start)
        shutil.rmtree(root, ignore_errors=True)
        kept = dict(self.disk.files(root))
        for path, body in sorted(self.shown.items()) if start is not None else ():
            if not kept.get(path):
                kept.update(chance.choice(({path: body}, {path: b""}, {})))
        root.mkdir()
        for path, body in kept.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(body)


def everything(root: Path) -> Iterator[Path]:
    yield root
    yield from root.rglob("*")


@contextmanager
def watched(root: Path) -> Iterator[list[Moment]]:
    """Collects a moment after every sync below a folder, whose present content is on the disk already."""
    disk = OnDisk()
    for path in everything(root):
        disk.sync(str(path))
    moments: list[Moment] = []
    real: Callable[[int], None] = os.fsync

    def fsync(handle: int) -> None:
        real(handle)
        path = os.readlink(f"/proc/self/fd/{handle}")
        disk.sync(path)
        shown = {found: found.read_bytes() for found in root.rglob("*") if found.is_file()}
        moments.append(Moment(path, disk.copy(), shown))

    with mock.patch.object(os, "fsync", fsync):
        yield moments
