"""Numbers that do not fit in memory together: parted by ranges of the first one into a file on the local disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import IO, Final

import numpy as np
import numpy.typing as npt

from omnigraph_sql.run.ids import Ints, Words

Rows = npt.NDArray[np.uint64]
_RANGES_MAX: Final = 4096


@dataclass(slots=True)
class RangeFile:
    """Rows of so many numbers, by kind and by range. The first number of a row is a hash, so ranges are about equal.

    `at_once` is how many rows are held in memory; there are as many ranges as it takes for `rows` of them.
    """

    rows: int
    width: int
    at_once: int
    _file: IO[bytes] = field(init=False, repr=False)
    _waiting: dict[int, list[Rows]] = field(default_factory=dict, init=False, repr=False)
    _written: list[tuple[int, int, Ints]] = field(default_factory=list, init=False, repr=False)
    """Parts as they were written: the kind, the first row of the part in the file, where in it the ranges begin."""
    _size: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._file = TemporaryFile(prefix="omnigraph-ranges-")  # noqa: SIM115 - closed by `close`

    @property
    def ranges(self) -> int:
        """A power of two."""
        return min(_RANGES_MAX, 1 << (max(0, -(-self.rows // self.at_once) - 1)).bit_length())

    def put(self, kind: int, columns: Sequence[Words | Ints]) -> None:
        """Rows, a column per number."""
        if not len(columns[0]):
            return
        waiting = self._waiting.setdefault(kind, [])
        waiting.append(np.column_stack([column.astype(np.uint64, copy=False) for column in columns]))
        if sum(map(len, waiting)) >= self.at_once:
            self._flush(kind)

    def _flush(self, kind: int) -> None:
        whole = np.concatenate(self._waiting.pop(kind))
        bits = self.ranges.bit_length() - 1
        which = (whole[:, 0] >> np.uint64(64 - bits)).astype(np.int64) if bits else np.zeros(len(whole), np.int64)
        order = np.argsort(which, kind="stable")
        cuts = np.searchsorted(which[order], np.arange(self.ranges + 1))
        self._file.seek(0, 2)
        self._file.write(whole[order].tobytes())
        self._written.append((kind, self._size, cuts))
        self._size += len(whole)

    def read(self, kind: int, number: int) -> Iterator[Rows]:
        """The rows of a range as they were put in, a bounded part at a time. Nothing can be put in any more."""
        for waiting in list(self._waiting):
            self._flush(waiting)
        held: list[Rows] = []
        for part, start, cuts in self._written:
            count = int(cuts[number + 1] - cuts[number])
            if part != kind or not count:
                continue
            self._file.seek((start + int(cuts[number])) * self.width * 8)
            body = self._file.read(count * self.width * 8)
            held.append(np.frombuffer(body, np.uint64).reshape(-1, self.width))
            if sum(map(len, held)) >= self.at_once:
                yield np.concatenate(held)
                held = []
        if held:
            yield np.concatenate(held)

    def close(self) -> None:
        self._file.close()
