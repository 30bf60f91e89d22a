"""Derived state on disk: arrays that can be made again, so their files may vanish or be damaged at any time.

A file is a mark, the length of a header, the header's checksum, the header, and the arrays. The header says where each
array lies and what its checksum is. A file is written under another name and then renamed, so a reader sees a whole
one or none; what does not add up is treated as if it were not there.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from threading import Lock, get_ident
from typing import Any, Final
from weakref import WeakKeyDictionary
from zlib import crc32

import numpy as np
import numpy.typing as npt

from omnigraph_sql.engine.store.moved import stretches
from omnigraph_sql.engine.store.root import SPARE, GraphRoot
from omnigraph_sql.engine.store.tables import ROW_ADDRESS, OpenTable, Tables

_MARK: Final = b"OGARRAY1"
_LEAD: Final = struct.Struct("<8sII")
_ALIGNED: Final = 64
_FOLDER: Final = "links"
_SUFFIX: Final = ".arrays"
_KEPT_PER_TABLE: Final = 4
"""States of one table whose files stay: branches and the past are read in turn."""

Array = npt.NDArray[Any]


class Damaged(Exception):
    """A file does not hold what it says; make its arrays again."""


class StoredArrays:
    """The arrays of one file. Each is checked when it is first asked for, and is not to be written to."""

    def __init__(self, path: Path) -> None:
        """Raises Damaged, or OSError when there is no file."""
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < _LEAD.size:
                raise Damaged(path.name)
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        mark, length, check = _LEAD.unpack_from(self._bytes)
        header = self._bytes[_LEAD.size : _LEAD.size + length]
        if mark != _MARK or len(header) != length or crc32(header) != check:
            raise Damaged(path.name)
        facts = json.loads(header)
        if facts["bytes"] != size:
            raise Damaged(path.name)
        self._facts: dict[str, dict[str, Any]] = facts["arrays"]
        self.notes: dict[str, Any] = facts["notes"]
        self._checked: dict[str, Array] = {}
        self.path, self.nbytes = path, size

    def get(self, name: str) -> Array:
        """Raises Damaged."""
        found = self._checked.get(name)
        if found is None:
            fact = self._facts.get(name)
            if fact is None:
                raise Damaged(self.path.name)
            view = memoryview(self._bytes)[fact["at"] : fact["at"] + fact["bytes"]]
            if crc32(view) != fact["check"]:
                raise Damaged(self.path.name)
            found = self._checked[name] = np.frombuffer(view, np.dtype(fact["type"]))
        return found


class DerivedFiles:
    """The folder of one graph's derived files. Nothing here raises: a file that cannot be had is no file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def at(cls, root: GraphRoot) -> DerivedFiles:
        """Inside a local graph that may be written to, else among the user's own cached files."""
        if root.local is not None and os.access(root.local, os.W_OK):
            return cls(root.local / SPARE / _FOLDER)
        home = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
        return cls(Path(home) / "omnigraph_sql" / sha256(root.uri.encode()).hexdigest()[:32] / _FOLDER)

    def open(self, table: str, token: str) -> StoredArrays | None:
        """The arrays of a state of a table, if a whole file of them is there."""
        path = self._path(table, token)
        try:
            return StoredArrays(path)
        except (Damaged, ValueError, KeyError, TypeError):
            self.drop(table, token)
            return None
        except OSError:
            return None

    def has(self, table: str, token: str) -> bool:
        """Whether there is a file, whole or not."""
        return self._path(table, token).is_file()

    def drop(self, table: str, token: str) -> None:
        with suppress(OSError):
            self._path(table, token).unlink()

    def write(self, table: str, token: str, arrays: Mapping[str, Array], notes: Mapping[str, object]) -> None:
        """Keep the arrays of a state of a table, and forget old states of it."""
        path = self._path(table, token)
        draft = path.with_name(f".{path.name}.{os.getpid()}.{get_ident()}")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with draft.open("wb") as file:
                for part in _parts(arrays, notes):
                    file.write(part)
            draft.replace(path)
        except OSError:
            with suppress(OSError):
                draft.unlink()
            return
        self._prune(table)

    def _prune(self, table: str) -> None:
        with suppress(OSError):
            known = sorted(self.folder.glob(f"{_stem(table)}.*{_SUFFIX}"), key=lambda p: p.stat().st_mtime_ns)
            for old in known[:-_KEPT_PER_TABLE]:
                old.unlink(missing_ok=True)

    def states(self, table: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """The states of a table whose arrays are there, the last written first: their tokens and notes."""
        stem = f"{_stem(table)}."
        try:
            known = sorted(self.folder.glob(f"{stem}*{_SUFFIX}"), key=lambda p: p.stat().st_mtime_ns, reverse=True)
        except OSError:
            return
        for path in known:
            token = path.name[len(stem) : -len(_SUFFIX)]
            found = self.open(table, token)
            if found is not None:
                yield token, found.notes

    def nbytes(self) -> int:
        """What all files of the graph take."""
        try:
            return sum(found.stat().st_size for found in self.folder.glob(f"*{_SUFFIX}"))
        except OSError:
            return 0

    def _path(self, table: str, token: str) -> Path:
        return self.folder / f"{_stem(table)}.{token}{_SUFFIX}"


def _stem(table: str) -> str:
    return table.replace("/", "-")


def _parts(arrays: Mapping[str, Array], notes: Mapping[str, object]) -> Iterable[Any]:
    """The bytes of a file, piece by piece."""
    facts: dict[str, dict[str, object]] = {}
    bodies: list[memoryview[int]] = []
    at = 0
    for name, array in arrays.items():
        whole: Any = np.ascontiguousarray(array)
        body = memoryview(whole.view(np.uint8))
        facts[name] = {"type": whole.dtype.str, "at": at, "bytes": len(body), "check": crc32(body)}
        bodies.append(body)
        at += -(-len(body) // _ALIGNED) * _ALIGNED
    # Offsets are part of the header whose length they depend on: it gets room that is enough for any of them.
    room = len(json.dumps({"arrays": facts, "notes": dict(notes)})) + 32 * (len(facts) + 2)
    start = -(-(_LEAD.size + room) // _ALIGNED) * _ALIGNED
    for fact in facts.values():
        fact["at"] = int(str(fact["at"])) + start
    header = json.dumps({"arrays": facts, "notes": dict(notes), "bytes": start + at}).encode()
    header = header.ljust(start - _LEAD.size)
    yield _LEAD.pack(_MARK, len(header), crc32(header))
    yield header
    for body in bodies:
        yield body
        yield b"\0" * (-len(body) % _ALIGNED)


# ---- what a table holds -----------------------------------------------------------------------------------------

_tokens: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
_tokens_lock = Lock()


def content_token(table: OpenTable) -> str:
    """A name for exactly these rows in this order: the table's files, what is deleted in them, and its columns.

    A graph that was made anew in the place of another one has other files, and so other tokens.
    """
    dataset = table.dataset
    with _tokens_lock:
        found = _tokens.get(dataset)
    if found is not None:
        return found
    digest = sha256(table.pin.path.encode())
    digest.update(" ".join(f"{field.name} {field.type}" for field in dataset.schema).encode())
    for part in stretches(table):
        digest.update(f"{part.files} {part.physical_rows} {part.deletions};".encode())
    made = digest.hexdigest()[:32]
    with _tokens_lock:
        _tokens[dataset] = made
    return made


def row_addresses(tables: Tables, table: OpenTable) -> npt.NDArray[np.uint64]:
    """Where Lance keeps each row, in the order of the table."""
    if table.pin.row_count == 0:
        return np.zeros(0, np.uint64)
    with tables.telling(f"reading {table.pin.key}"):
        tables.failpoints.hit("store.lookup")
        found = table.dataset.scanner(columns=[], with_row_address=True).to_table()
        made: npt.NDArray[np.uint64] = found[ROW_ADDRESS].to_numpy()
        return made
