"""What rules about several rows ask of values, and which values may break them. Values are known by their hashes."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final, TypeAlias

import numpy as np

from omnigraph_sql.run.ids import Ints, Words

_Mask: TypeAlias = "np.ndarray[Any, np.dtype[np.bool_]]"
_NONE: Final = np.zeros(0, np.int64)


class Kind(IntEnum):
    LOADED = 1
    HELD = 2
    ENDED = 4


@dataclass(frozen=True, slots=True)
class Take:
    """Which columns of a table a question is about, and as what their values take part."""

    question: int
    kind: Kind
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tally:
    """Values in ascending order, each once: how often it comes, and the least number of a row that has it."""

    values: Words
    counts: Ints
    first: Ints

    @classmethod
    def ordered(cls, values: Words) -> Tally:
        """Of values in ascending order, which are the numbers of the rows."""
        if not len(values):
            return NOTHING
        cuts = np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1])))
        return cls(values[cuts], np.diff(np.append(cuts, len(values))), cuts)

    @classmethod
    def of(cls, values: Words, rows: Ints) -> Tally:
        """Of values in any order, with the numbers of their rows."""
        if not len(values):
            return NOTHING
        order = np.argsort(values, kind="stable")
        plain = cls.ordered(values[order])
        return cls(plain.values, plain.counts, np.minimum.reduceat(rows[order], plain.first))

    def plus(self, other: Tally) -> Tally:
        """Both together."""
        if not len(self.values) or not len(other.values):
            return other if not len(self.values) else self
        order = np.argsort(np.concatenate((self.values, other.values)), kind="stable")
        plain = Tally.ordered(np.concatenate((self.values, other.values))[order])
        counts = np.add.reduceat(np.concatenate((self.counts, other.counts))[order], plain.first)
        first = np.minimum.reduceat(np.concatenate((self.first, other.first))[order], plain.first)
        return Tally(plain.values, counts, first)

    def named(self, which: _Mask | Ints) -> Named:
        """Some of the values with their first rows."""
        return np.column_stack((self.values[which], self.first[which].astype(np.uint64)))

    def uncounted(self) -> Tally:
        """The same values, none of them with a row of its own."""
        return Tally(self.values, np.zeros_like(self.counts), self.first)


NOTHING: Final = Tally(np.zeros(0, np.uint64), _NONE, _NONE)


Named: TypeAlias = "np.ndarray[Any, np.dtype[np.uint64]]"
"""Pairs of a value and the number of the first row that has it."""


def _nobody() -> Named:
    return np.zeros((0, 2), np.uint64)


@dataclass(frozen=True, slots=True)
class Suspects:
    """Values that may break a rule.

    `often`: loaded ones that come too often or too rarely; `again`: loaded ones that are held already, and `holders`
    the same by the rows that hold them; `lost`: ends that nobody has.
    """

    often: Named = field(default_factory=_nobody)
    again: Named = field(default_factory=_nobody)
    holders: Named = field(default_factory=_nobody)
    lost: Named = field(default_factory=_nobody)

    def __bool__(self) -> bool:
        return any(map(len, (self.often, self.again, self.lost)))

    def plus(self, other: Suspects, most: int) -> Suspects:
        """Both together, of each sort those whose rows come first."""
        pairs = (
            (self.often, other.often),
            (self.again, other.again),
            (self.holders, other.holders),
            (self.lost, other.lost),
        )
        whole = [np.concatenate(pair) for pair in pairs]
        return Suspects(*(one[np.argsort(one[:, 1], kind="stable")[:most]] for one in whole))


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked about values: that a loaded one comes at most `most` times and at least `least` times, those that
    are held counted too where `counts_held`; that none is held where `is_new`; that every end is loaded or held."""

    most: int | None = None
    least: int = 0
    is_new: bool = False
    counts_held: bool = False

    def suspects(self, loaded: Tally, held: Tally, ended: Tally) -> Suspects:
        """The values that may break the rule."""
        lost = ended.named(~(_among(ended.values, loaded.values)[0] | _among(ended.values, held.values)[0]))
        both, place = _among(loaded.values, held.values)
        again = loaded.named(both) if self.is_new else _nobody()
        holders = held.named(place[both]) if self.is_new else _nobody()
        counts = loaded.counts
        if self.counts_held and len(held.values):
            counts = counts + np.where(both, held.counts[place], 0)
        wrong = counts < self.least
        if self.most is not None:
            wrong |= counts > self.most
        return Suspects(loaded.named(wrong), again, holders, lost)

    def alarms(self, loaded: Words, held: Words, ended: Words) -> bool:
        """Whether some value may break the rule. Every array is in ascending order."""
        return bool(self.suspects(Tally.ordered(loaded), Tally.ordered(held), Tally.ordered(ended)))


def _among(values: Words, known: Words) -> tuple[_Mask, Ints]:
    """Which of the values are known, and the places of these among the known ones, which are in ascending order."""
    if not len(known):
        return np.zeros(len(values), np.bool_), np.zeros(len(values), np.int64)
    place = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return known[place] == values, place
