"""What a process keeps in memory of the graphs it has open: adjacency and columns, the least used go first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock, RLock
from typing import Any, Final, TypeVar

from omnigraph_sql.base.limits import KEPT_BYTES_MAX

_V = TypeVar("_V")
Key = tuple[str, ...]
"""What the thing is (`links`, `column`), then the tokens of the rows it was made of: equal keys mean equal things."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What the shelf holds, in numbers."""

    entries: int
    bytes: int
    limit_bytes: int
    hits: int
    misses: int
    evicted: int


class Shelf:
    """Values by key, within a number of bytes. Safe for threads; two that want the same thing make it once."""

    def __init__(self, limit_bytes: int = KEPT_BYTES_MAX) -> None:
        self._limit = limit_bytes
        self._kept: OrderedDict[Key, tuple[Any, int]] = OrderedDict()
        self._making: dict[Key, RLock] = {}
        self._lock = Lock()
        self._bytes = self._hits = self._misses = self._evicted = 0

    def get(self, key: Key, make: Callable[[], _V], size: Callable[[_V], int]) -> _V:
        """The value of the key; made, and kept if it fits, when it is not there."""
        found = self.peek(key)
        if found is not None:
            return found  # type: ignore[no-any-return]
        with self._lock:
            turn = self._making.setdefault(key, RLock())
        try:
            with turn:
                found = self.peek(key)
                if found is not None:
                    return found  # type: ignore[no-any-return]
                made = make()
                self._keep(key, made, size(made))
                return made
        finally:
            with self._lock:
                self._making.pop(key, None)

    def peek(self, key: Key) -> Any | None:
        """The value of the key if it is there."""
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._hits += 1
            self._kept.move_to_end(key)
            return found[0]

    def _keep(self, key: Key, value: Any, size: int) -> None:
        with self._lock:
            self._misses += 1
            if size > self._limit:
                return
            self._forget(key)
            self._kept[key] = (value, size)
            self._bytes += size
            while self._bytes > self._limit:
                self._forget(next(iter(self._kept)))
                self._evicted += 1

    def _forget(self, key: Key) -> None:
        found = self._kept.pop(key, None)
        if found is not None:
            self._bytes -= found[1]

    def forget(self, key: Key) -> None:
        """Drop a value that turned out to be wrong."""
        with self._lock:
            self._forget(key)

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self._bytes = 0

    def limit(self, limit_bytes: int) -> None:
        """Keep at most so much from now on."""
        with self._lock:
            self._limit = limit_bytes
            while self._bytes > self._limit:
                self._forget(next(iter(self._kept)))
                self._evicted += 1

    def facts(self) -> Kept:
        with self._lock:
            return Kept(len(self._kept), self._bytes, self._limit, self._hits, self._misses, self._evicted)


SHELF: Final = Shelf()
"""The one of the process: handles of one graph share it, and graphs compete for it."""
