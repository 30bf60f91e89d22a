"""Many texts found among many others again and again: an index in a few arrays, made once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)
_SHIFT: Final = np.uint64(29)
_WIDTH_BYTES_MAX: Final = 64
"""Of longer texts only this much is laid side by side; a second look compares them whole."""


@dataclass(frozen=True, slots=True)
class IdIndex:
    """Distinct texts, numbered by their places in `ids`. Finding is exact: equal hashes are compared in full."""

    ids: pa.Array
    hashes: Words
    order: Ints
    words: Words
    most: int
    """Texts that share a hash, at most."""

    @classmethod
    def of(cls, ids: pa.Array) -> IdIndex:
        words = _words(ids)
        hashes = _hashes(words)
        order = np.argsort(hashes, kind="stable")
        ordered = hashes[order]
        cuts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])) if len(ordered) else np.zeros(0, np.int64)
        runs = np.diff(np.append(cuts, len(ordered)))
        return cls(ids, ordered, order.astype(np.int64), words, int(runs.max()) if len(runs) else 0)

    def find(self, wanted: pa.Array) -> Ints:
        """For each text its number; -1 when it is none of these or null."""
        found = np.full(len(wanted), -1, np.int64)
        if not len(self.hashes) or not len(wanted):
            return found
        words = _words(wanted)
        hashes = _hashes(words)
        first = np.searchsorted(self.hashes, hashes)
        for step in range(self.most):
            at = np.minimum(first + step, len(self.hashes) - 1)
            number = self.order[at]
            same = (self.hashes[at] == hashes) & (self.words[number] == words).all(axis=1)
            found = np.where(same & (found < 0), number, found)
        if wanted.null_count:
            found[wanted.is_null().to_numpy(zero_copy_only=False)] = -1
        return self._checked(wanted, found)

    def _checked(self, wanted: pa.Array, found: Ints) -> Ints:
        """Texts too long to lie side by side are compared once more."""
        long = np.flatnonzero((found >= 0) & (_lengths(wanted) > _WIDTH_BYTES_MAX))
        for place in long.tolist():
            if self.ids[int(found[place])].as_py() != wanted[place].as_py():
                same = np.flatnonzero((self.words == self.words[found[place]]).all(axis=1))
                text = wanted[place].as_py()
                found[place] = next((int(n) for n in same if self.ids[int(n)].as_py() == text), -1)
        return found


def _lengths(texts: pa.Array) -> Ints:
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return np.diff(offsets).astype(np.int64)


def _words(texts: pa.Array) -> Words:
    """The bytes of each text as numbers, side by side, the last one its length."""
    columns = _WIDTH_BYTES_MAX // 8
    whole = np.zeros((len(texts), columns + 1), np.uint64)
    if not len(texts):
        return whole
    plain = texts.cast(pa.utf8())
    offsets = np.frombuffer(plain.buffers()[1], np.int32)[plain.offset : plain.offset + len(plain) + 1]
    lengths = np.diff(offsets).astype(np.int64)
    whole[:, columns] = lengths.astype(np.uint64)
    taken = np.minimum(lengths, _WIDTH_BYTES_MAX)
    total = int(taken.sum())
    if total:
        data = np.frombuffer(plain.buffers()[2], np.uint8)
        before = np.cumsum(taken) - taken
        inside = np.arange(total, dtype=np.int64) - np.repeat(before, taken)
        source = np.repeat(offsets[:-1].astype(np.int64), taken) + inside
        target = np.repeat(np.arange(len(texts), dtype=np.int64) * (columns + 1) * 8, taken) + inside
        whole.view(np.uint8).reshape(-1)[target] = data[source]
    return whole


def _hashes(words: Words) -> Words:
    found = np.zeros(len(words), np.uint64)
    with np.errstate(over="ignore"):
        for column in range(words.shape[1]):
            found = (found ^ words[:, column]) * _FACTOR
            found ^= found >> _SHIFT
    return found
