"""Numbers that travel along links: what the nodes at one end of a step learn from the nodes at the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from omnigraph_sql.base.errors import ExecutionError
from omnigraph_sql.bind.bound import Hops
from omnigraph_sql.run.held import Ints
from omnigraph_sql.run.links import Part, Side

_EXACT: Final = 2**53
"""Fractions count exactly up to here."""
_INTEGERS: Final = 2**63
_SPARSE_SHARE: Final = 3
"""Fewer links than one in so many are followed one by one; more are summed up where they arrive."""


@dataclass(frozen=True, slots=True)
class Amount:
    """A whole number per node. `bound` is no less than the largest of them, however they were computed.

    Sums wrap around; one that fits is right even where a sum on the way did not. Numbers that may be too large are
    computed a second time as fractions, which do not wrap.
    """

    values: npt.NDArray[Any]
    bound: int

    @classmethod
    def of(cls, values: npt.NDArray[Any]) -> Amount:
        most = max(abs(int(values.max())), abs(int(values.min()))) if len(values) else 0
        return cls(values, most)

    def times(self, other: Amount) -> Amount:
        with np.errstate(over="ignore"):
            made = _wide(self.values) * other.values
        return Amount(made, self.bound * other.bound)

    def plus(self, other: Amount) -> Amount:
        with np.errstate(over="ignore"):
            made = _wide(self.values) + other.values
        return Amount(made, self.bound + other.bound)


def _wide(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return values if values.dtype.kind == "f" else values.astype(np.int64, copy=False)


@dataclass(frozen=True, slots=True)
class Step:
    """A step with the links seen from either end: `near` out of the nodes that learn, `far` out of those that tell."""

    near: Side
    far: Side
    hops: Hops

    def degrees(self) -> Amount:
        """How many nodes each one reaches, when all of them count once."""
        return Amount.of(self.near.degrees())

    def summed(self, told: Amount) -> Amount:
        """For each node the sum over the nodes it reaches, over as many hops as the step may have."""
        if self.hops == Hops(1, 1):
            return _once(self, told)
        made: Amount | None = told if self.hops.minimum == 0 else None
        for hop in range(1, self.hops.maximum + 1):
            told = _once(self, told)
            if hop >= self.hops.minimum:
                made = told if made is None else made.plus(told)
        assert made is not None
        return made

    def extreme(self, told: Ints, worst: int, *, largest: bool) -> Ints:
        """For each node the largest or smallest over the nodes it reaches; `worst` where it reaches none."""
        pick = np.maximum if largest else np.minimum
        made = told if self.hops.minimum == 0 else np.full(self.near.nodes, worst, np.int64)
        for hop in range(1, self.hops.maximum + 1):
            fresh = np.full(self.near.nodes, worst, np.int64)
            for part in self.near.parts:
                found = _segments(part, told[part.ends], worst, pick)
                fresh = pick(fresh, found)
            told = fresh
            if hop >= self.hops.minimum:
                made = pick(made, told)
        return made


def _once(step: Step, told: Amount) -> Amount:
    most = told.bound * max(1, step.near.size)
    exact = most < _EXACT
    if not exact:
        most = told.bound * max(1, *(int(np.diff(part.first).max(initial=0)) for part in step.near.parts))
        most *= len(step.near.parts)
    active = np.flatnonzero(told.values)
    if exact and len(active) * _SPARSE_SHARE < len(told.values):
        reach = sum(int((part.first[active + 1] - part.first[active]).sum()) for part in step.far.parts)
        if reach * _SPARSE_SHARE < step.near.size:
            return Amount(_pushed(step, told.values, active), most)
    made = np.zeros(step.near.nodes, _wide(told.values[:0]).dtype)
    for part in step.near.parts:
        made += _segments(part, told.values[part.ends], 0, np.add)
    return Amount(made, most)


def _pushed(step: Step, values: npt.NDArray[Any], active: Ints) -> npt.NDArray[Any]:
    """The sum, following the links of the nodes that have something to tell."""
    told = values[active]
    made: npt.NDArray[Any] | None = None
    for part in step.far.parts:
        owner, place = part.places(active)
        found = np.bincount(part.ends[place], weights=told[owner], minlength=step.near.nodes)
        made = found if made is None else made + found
    assert made is not None
    return made if values.dtype.kind == "f" else made.astype(np.int64)


def _segments(part: Part, values: npt.NDArray[Any], worst: int, pick: np.ufunc) -> npt.NDArray[Any]:
    """The values of each node's links taken together; `worst` where it has none."""
    nodes = len(part.first) - 1
    if part.dead is not None:
        values[part.dead] = worst
    begin = part.first[:-1]
    some = begin < part.first[1:]
    if len(values) == nodes and bool(some.all()):
        return _wide(values)
    wide = _wide(values[:0]).dtype
    made = np.full(nodes, worst, wide)
    if len(values):
        made[some] = pick.reduceat(values, begin[some], dtype=wide)
    return made


def may_overflow(bound: int) -> bool:
    return bound >= _INTEGERS


def refuse_overflow(fractions: npt.NDArray[Any]) -> None:
    """Numbers as fractions: whether one is too large for 64 bits."""
    if len(fractions) and float(np.abs(fractions).max()) >= _INTEGERS * (1 - 1e-9):
        raise ExecutionError("a whole number is out of range")
