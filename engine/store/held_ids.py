"""The ids that table versions hold, as sorted hashes in memory: who is not among them is surely not in the table."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph_sql.base import limits
from omnigraph_sql.base.catalog import ID

_HASH_BYTES: Final = 8
_BATCH_ROWS: Final = 65_536
_ROWS_PER_QUESTION: Final = 8192
"""Reading the ids of so many rows costs about as much as one look into an index."""
_VERSIONS_MAX: Final = 256
"""Versions whose questions are counted; nothing else bounds those that were asked too seldom to be read."""

Hashes = npt.NDArray[np.int64]


def hashes(ids: pa.Array) -> Hashes:
    """Equal ids have equal numbers, different ones nearly always different ones; true within one process."""
    return np.fromiter(map(hash, ids.to_pylist()), np.int64, len(ids))


@dataclass(frozen=True, slots=True)
class HeldIdsFacts:
    """What is kept, in numbers."""

    versions: int
    bytes: int
    limit_bytes: int


@dataclass(slots=True)
class _Version:
    dataset: Any
    """Held, so that nobody else gets its number."""
    asked: int = 0
    hashes: Hashes | None = None

    @property
    def nbytes(self) -> int:
        return 0 if self.hashes is None else self.hashes.nbytes


class HeldIds:
    """Hashes of the ids of open table versions, within a number of bytes; the least used go first. Safe for threads.

    A version never changes, so neither do its hashes. A version is read once enough questions were asked for reading
    it to be no dearer than they were.
    """

    def __init__(
        self, limit_bytes: int = limits.HELD_IDS_BYTES_MAX, rows_per_question: int = _ROWS_PER_QUESTION
    ) -> None:
        self._limit, self._rows_per_question = limit_bytes, rows_per_question
        self._versions: OrderedDict[int, _Version] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def possible(self, dataset: Any, ids: pa.Array) -> pa.Array:
        """Those of the ids that the version may hold; all of them while it was not read."""
        with self._lock:
            found = self._versions.get(id(dataset))
            if found is None or found.hashes is None:
                return ids
            self._versions.move_to_end(id(dataset))
            held = found.hashes
        wanted = hashes(ids)
        places = np.minimum(np.searchsorted(held, wanted), max(len(held) - 1, 0))
        return ids.filter(pa.array(held[places] == wanted)) if len(held) else ids.slice(0, 0)

    def asked(self, dataset: Any, rows: int) -> bool:
        """Count one more question about a version of so many rows; whether it is to be read now."""
        if rows * _HASH_BYTES > self._limit:
            return False
        with self._lock:
            found = self._versions.setdefault(id(dataset), _Version(dataset))
            self._versions.move_to_end(id(dataset))
            if len(self._versions) > _VERSIONS_MAX:
                self._drop_first()
            found.asked += 1
            return found.hashes is None and rows <= found.asked * self._rows_per_question

    def read(self, dataset: Any) -> None:
        """Keep the hashes of all ids of the version, if they fit."""
        scanner = dataset.scanner(columns=[ID], batch_size=_BATCH_ROWS)
        parts = [hashes(batch[ID]) for batch in scanner.to_batches()]
        made = np.concatenate(parts) if parts else np.empty(0, np.int64)
        made.sort()
        with self._lock:
            found = self._versions.pop(id(dataset), None) or _Version(dataset)
            self._bytes += made.nbytes - found.nbytes
            found.hashes = made
            self._versions[id(dataset)] = found
            while self._bytes > self._limit:
                self._drop_first()

    def _drop_first(self) -> None:
        _, gone = self._versions.popitem(last=False)
        self._bytes -= gone.nbytes

    def facts(self) -> HeldIdsFacts:
        with self._lock:
            read = sum(version.hashes is not None for version in self._versions.values())
            return HeldIdsFacts(read, self._bytes, self._limit)
