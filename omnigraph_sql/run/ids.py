"""Many texts found among many others again and again: an index in two arrays, made once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Number = TypeVar("Number", np.int64, np.uint64)
_STEP: Final = np.uint64(0x9E3779B97F4A7C15)
_FACTORS: Final = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_SHIFTS: Final = (np.uint64(30), np.uint64(27), np.uint64(31))
_WORD_BYTES: Final = 8
_HASH_BITS: Final = 64
_STEPS_MAX: Final = 16
"""More steps are only needed where hashes crowd together, and there the search halves."""
_ALL: Final = np.uint64(0xFFFFFFFFFFFFFFFF)


@dataclass(frozen=True, slots=True)
class IdIndex:
    """Distinct texts, numbered by their places in `ids`. Finding is exact: texts of equal hashes are compared.

    `hashes` ascend, and `order` says whose each is.
    """

    ids: pa.Array
    hashes: Words
    order: npt.NDArray[Any]
    most: int
    """Texts that share a hash, at most."""
    starts: npt.NDArray[np.int32] = field(init=False, repr=False)
    """Where the hashes that begin with the same bits begin: a search then looks at one or two of them."""

    def __post_init__(self) -> None:
        bits = max(1, len(self.hashes).bit_length() - 1)
        first = np.arange(1 << bits, dtype=np.uint64) << np.uint64(_HASH_BITS - bits)
        object.__setattr__(self, "starts", np.searchsorted(self.hashes, first).astype(np.int32))

    @classmethod
    def of(cls, ids: pa.Array) -> IdIndex:
        hashes = hashes_of(ids)
        order = np.argsort(hashes)
        ordered = hashes[order]
        return cls(ids, ordered, order.astype(np.int32), longest_run(ordered))

    def find(self, wanted: pa.Array) -> Ints:
        """For each text its number; -1 when it is none of these or null."""
        found = np.full(len(wanted), -1, np.int64)
        if not len(self.hashes) or not len(wanted):
            return found
        first = self._first(hashes_of(wanted))
        for step in range(self.most):
            at = np.minimum(first + step, len(self.hashes) - 1)
            number = self.order[at].astype(np.int64)
            same = pc.equal(self.ids.take(pa.array(number)), wanted).fill_null(False).to_numpy(zero_copy_only=False)
            found = np.where(same, number, found)
        return found

    def _first(self, hashes: Words) -> Ints:
        """For each hash the place of the first one that is not less."""
        last = len(self.hashes) - 1
        bits = np.uint64(_HASH_BITS + 1 - len(self.starts).bit_length())
        first = self.starts[(hashes >> bits).astype(np.int64)].astype(np.int64)
        going = np.flatnonzero(self.hashes[np.minimum(first, last)] < hashes)
        for _ in range(_STEPS_MAX):
            if not len(going):
                return first
            first[going] += 1
            at = first[going]
            going = going[(at <= last) & (self.hashes[np.minimum(at, last)] < hashes[going])]
        first[going] = np.searchsorted(self.hashes, hashes[going])
        return first


def ascending(numbers: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Each of the numbers once, in order. Sorting is many times faster than the hashing that numpy's own way does."""
    ordered = np.sort(numbers)
    return ordered[np.concatenate((np.ones(1, np.bool_), ordered[1:] != ordered[:-1]))] if len(ordered) else ordered


def longest_run(ordered: Words) -> int:
    """How often the most frequent of ascending numbers comes."""
    if not len(ordered):
        return 0
    cuts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    return int(np.diff(np.append(cuts, len(ordered))).max())


def hashes_of(texts: pa.Array, seed: int = 0) -> Words:
    """A number for every text or value of bytes, eight of them after the other; equal ones have equal numbers."""
    found = np.full(len(texts), seed, np.uint64)
    if not len(texts):
        return found
    plain = texts.cast(pa.binary())
    offsets = np.frombuffer(plain.buffers()[1], np.int32)[plain.offset : plain.offset + len(plain) + 1]
    lengths = np.diff(offsets).astype(np.int64)
    found = mixed(found, lengths.astype(np.uint64))
    words = _words(plain.buffers()[2], int(offsets[0]), int(offsets[-1]))
    starts = offsets[:-1].astype(np.int64) - int(offsets[0])
    going, begin = np.flatnonzero(lengths > 0), 0
    while len(going):
        left = lengths[going] - begin
        word = words[starts[going] + begin]
        unused = np.maximum(_WORD_BYTES - left, 0).astype(np.uint64) * np.uint64(8)
        found[going] = mixed(found[going], word & (_ALL >> unused))
        begin += _WORD_BYTES
        going = going[left > _WORD_BYTES]
    return found


def _words(data: pa.Buffer | None, start: int, stop: int) -> Words:
    """The eight bytes that begin at each byte from `start` on, as numbers; from `stop` on there are zeros."""
    size = stop - start
    padded = np.zeros(size + _WORD_BYTES, np.uint8)
    if data is not None:
        padded[:size] = np.frombuffer(data, np.uint8)[start:stop]
    return np.ndarray((size + 1,), np.dtype("<u8"), buffer=padded, strides=(1,))


def mixed(found: Words, more: Words) -> Words:
    """Numbers that follow from two others, every bit from every bit."""
    with np.errstate(over="ignore"):
        made: Words = (found ^ more) + _STEP
        for shift, factor in zip(_SHIFTS, _FACTORS, strict=False):
            made = (made ^ (made >> shift)) * factor
        made ^= made >> _SHIFTS[-1]
    return made
