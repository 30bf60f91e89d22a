"""Where the outside world enters a layer: time, fresh ids and planned faults.

Layers take these as arguments and never ask the system themselves, so a test can hold time still,
know every id beforehand and stop a process between any two durable steps. This module is the only
one that reads the clock or draws randomness.
"""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import TYPE_CHECKING, NoReturn, Protocol

from omnigraph_sql.base.failpoints import CATALOGUE as CATALOGUE
from omnigraph_sql.base.failpoints import Failpoint as Failpoint

if TYPE_CHECKING:
    import pyarrow as pa

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_RANDOM_BITS = 80
_CROCKFORD = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_ULID_DIGITS = 26
_FEW_ULIDS_MAX = 8


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """The present instant: aware, in UTC, with microseconds."""
        ...


class IdSource(Protocol):
    """Makes identifiers nobody has seen before."""

    def ulid(self) -> str:
        """A fresh ULID (26 characters), greater than every one this source gave before."""
        ...

    def ulids(self, count: int) -> pa.Array:
        """That many fresh ULIDs in ascending order, as an Arrow array of strings."""
        ...

    def uuid(self) -> str:
        """A fresh random UUID, for a transaction."""
        ...


class Pause(Protocol):
    """Waits, where waiting is all that can be done."""

    def seconds(self, number: float) -> None:
        """Return after about this long."""
        ...


class Failpoints(Protocol):
    """Lets a test interfere at a named place; product code calls `failpoints.hit("phase.place")` there."""

    def hit(self, name: str) -> None:
        """Report that execution reached `name`. May raise, may never return; usually does nothing."""
        ...


class SystemClock:
    """The machine's clock."""

    __slots__ = ()

    def now(self) -> datetime:
        return datetime.now(UTC)


class SystemPause:
    """Waits for real."""

    __slots__ = ()

    def seconds(self, number: float) -> None:
        time.sleep(number)


class UlidSource:
    """ULIDs in strictly ascending order, shared safely by threads.

    The time part follows `clock`; when it stands still or steps back, the previous id plus one is
    given instead, so order of creation and order of text agree for the life of the source.
    """

    __slots__ = ("_clock", "_last", "_lock")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = 0
        self._lock = Lock()

    def ulid(self) -> str:
        from ulid import ULID  # keeps the import of the package itself light

        return str(ULID.from_int(self._reserve(1)))

    def _reserve(self, count: int) -> int:
        """The first of `count` numbers in a row that nobody else gets."""
        milliseconds = (self._clock.now() - _EPOCH) // _MILLISECOND
        fresh = milliseconds << _RANDOM_BITS | int.from_bytes(os.urandom(_RANDOM_BITS // 8), "big")
        with self._lock:
            first = max(fresh, self._last + 1)
            self._last = first + max(count, 1) - 1
        return first

    def ulids(self, count: int) -> pa.Array:
        first = self._reserve(count)
        if count > _FEW_ULIDS_MAX:
            return _ulid_texts(first, count)
        import pyarrow as pa
        from ulid import ULID

        return pa.array([str(ULID.from_int(first + place)) for place in range(count)], pa.utf8())

    def uuid(self) -> str:
        from uuid import UUID

        return str(UUID(bytes=os.urandom(16), version=4))


def ulid_instant(text: str) -> datetime:
    """When a ULID was made, to the millisecond."""
    from ulid import ULID

    return ULID.from_str(text).datetime


def _ulid_texts(first: int, count: int) -> pa.Array:
    """The numbers from `first` on as ULIDs. All but the last two digits are the same over runs of 1024 of them."""
    import numpy as np
    import pyarrow as pa
    from ulid import ULID

    run = len(_CROCKFORD) ** 2
    starts = range(first - first % run, first + count, run)
    digits = np.frombuffer(_CROCKFORD, dtype="S1")
    texts = np.empty((len(starts), run), dtype=[("same", f"S{_ULID_DIGITS - 2}"), ("last", "S1", 2)])
    texts["same"] = np.array([str(ULID.from_int(start))[:-2].encode() for start in starts])[:, None]
    texts["last"] = np.stack([np.repeat(digits, len(digits)), np.tile(digits, len(digits))], axis=1)
    body = texts.ravel()[first - starts[0] :][:count]
    offsets = np.arange(0, (count + 1) * _ULID_DIGITS, _ULID_DIGITS, dtype=np.int32)
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(body.view(np.uint8)))


class NoFailpoints:
    """What production runs with: every place is passed."""

    __slots__ = ()

    def hit(self, name: str) -> None:
        """Nothing happens."""


@dataclass(frozen=True, slots=True)
class Raise:
    """Answer a hit with this exception."""

    error: BaseException


@dataclass(frozen=True, slots=True)
class Kill:
    """Answer a hit with the death of the process: no handler, no `finally`, no flush runs after it."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Let `action` happen when `name` is reached for the `at_hit`-th time (counted from one)."""

    name: str
    action: Raise | Kill
    at_hit: int = 1

    def __post_init__(self) -> None:
        if self.at_hit < 1:
            raise ValueError(f"hits are counted from one, got {self.at_hit}")


class PlannedFaults:
    """Failpoints that carry out `faults` and count every hit.

    A name missing from `catalogue`, planned or hit, is a mistake and raises ValueError: a fault that
    can never fire would make its test pass for the wrong reason.
    """

    __slots__ = ("_faults", "_hits", "_known", "_lock")

    def __init__(self, faults: Iterable[Fault] = (), *, catalogue: Iterable[Failpoint] = CATALOGUE) -> None:
        self._known = frozenset(point.name for point in catalogue)
        self._faults: dict[tuple[str, int], Raise | Kill] = {}
        self._hits: Counter[str] = Counter()
        self._lock = Lock()
        for fault in faults:
            self._refuse_unknown(fault.name)
            self._faults[fault.name, fault.at_hit] = fault.action

    def hit(self, name: str) -> None:
        self._refuse_unknown(name)
        with self._lock:
            self._hits[name] += 1
            action = self._faults.get((name, self._hits[name]))
        match action:
            case Raise(error):
                raise error
            case Kill():
                _die()
            case None:
                pass

    def hits(self, name: str) -> int:
        """How often `name` was reached so far; a test asserts on it that its fault really fired."""
        self._refuse_unknown(name)
        with self._lock:
            return self._hits[name]

    def _refuse_unknown(self, name: str) -> None:
        if name not in self._known:
            raise ValueError(f"no failpoint is called {name!r}; known: {', '.join(sorted(self._known)) or 'none'}")


def _die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("a process outlived SIGKILL")
