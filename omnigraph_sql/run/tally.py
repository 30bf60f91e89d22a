"""Aggregates over patterns that are trees, from degrees: every spot tells the one before it how much lies behind it.

The tree is turned so that the grouped spot is its root. The number of matches at a node is the product over the steps
out of it of the sum over the nodes it reaches; sums of a column are the same with the column's values at its spot.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph_sql.base import expr as ex
from omnigraph_sql.base.catalog import ID
from omnigraph_sql.base.expr import Expr
from omnigraph_sql.base.types import arrow_type
from omnigraph_sql.bind.bound import ONE_HOP, Hops, Walk
from omnigraph_sql.plan.pattern import Pattern, Stride, Tally
from omnigraph_sql.run.ground import Ground
from omnigraph_sql.run.held import Bools, Held, Ints
from omnigraph_sql.run.links import Links, Side
from omnigraph_sql.run.messages import Amount, Step, may_overflow, refuse_overflow
from omnigraph_sql.run.relation import Build, Domain, Rel
from omnigraph_sql.run.scene import Scene
from omnigraph_sql.run.truths import holds

_WORST: Final = {"min": np.iinfo(np.int64).max, "max": np.iinfo(np.int64).min}


class Untold(Exception):
    """The tally cannot be made this way; ask for the rows instead."""


class _Tree:
    """The pattern over the stored tables, and what was computed of it."""

    def __init__(self, pattern: Pattern, scene: Scene, *, fractions: bool = False) -> None:
        self.pattern, self.scene = pattern, scene
        self._dtype = np.float64 if fractions else np.int8
        self._ground = Ground(Build(scene), pattern.at)
        self._masks: dict[int, Bools | None] = {}
        self._matches: dict[tuple[int, int], tuple[Amount, bool]] = {}
        self._steps: dict[tuple[int, int], Step] = {}

    # ---- tables -----------------------------------------------------------------------------------------------

    def links(self, place: int) -> Links:
        found = self._ground.links(self.pattern.strides[place].edge)
        if found is None:
            raise Untold
        return found

    def mask(self, spot: int) -> Bools | None:
        """The nodes that may stand at the spot; None for every one."""
        if spot not in self._masks:
            at = self.pattern.spots[spot]
            self._masks[spot] = holds(at.filter, self._ground.held(at.type), at.variable, self.scene)
        return self._masks[spot]

    def nodes(self, spot: int) -> Held:
        return self._ground.held(self.pattern.spots[spot].type)

    # ---- steps ------------------------------------------------------------------------------------------------

    def neighbors(self, spot: int) -> list[tuple[int, int]]:
        """(stride, the spot at its other end) of every step at the spot."""
        found = []
        for place, stride in enumerate(self.pattern.strides):
            if stride.start == spot:
                found.append((place, stride.end))
            elif stride.end == spot:
                found.append((place, stride.start))
        return found

    def step(self, place: int, near: int) -> Step:
        """The step seen from the spot `near`."""
        found = self._steps.get((place, near))
        if found is None:
            stride = self.pattern.strides[place]
            onward = near == stride.start
            away = stride.direction if onward else _BACK[stride.direction]
            sides = self._side(place, away), self._side(place, _BACK[away])
            found = self._steps[place, near] = Step(*sides, self._hops(stride))
        return found

    def _side(self, place: int, direction: str) -> Side:
        stride = self.pattern.strides[place]
        links = self.links(place)
        side = links.side(direction, distinct=stride.walk is Walk.NEIGHBORS)
        if stride.filter is None:
            return side
        assert stride.variable is not None
        keep = holds(stride.filter, links.edges, stride.variable, self.scene)
        return side if keep is None else Side(tuple(part.kept(keep[part.edges]) for part in side.parts), side.nodes)

    def _hops(self, stride: Stride) -> Hops:
        if stride.walk is not Walk.WALKS or stride.edge.source == stride.edge.target:
            return stride.hops
        # Another type lies at the other end, from which this edge leads nowhere.
        if not stride.hops.minimum <= 1 <= stride.hops.maximum:
            raise Untold
        return ONE_HOP

    # ---- what spots tell --------------------------------------------------------------------------------------

    def matches(self, spot: int, before: int) -> tuple[Amount, bool]:
        """How many matches of what lies behind it each node at the spot has, and whether each has plainly one."""
        key = spot, before
        if key not in self._matches:
            behind = [self.told(place, spot, other) for place, other in self.neighbors(spot) if other != before]
            self._matches[key] = self._product(spot, behind)
        return self._matches[key]

    def _product(self, spot: int, factors: list[Amount]) -> tuple[Amount, bool]:
        mask = self.mask(spot)
        if mask is None and not factors:
            return Amount(np.ones(self.nodes(spot).count, self._dtype), 1), True
        made = Amount(mask.astype(self._dtype), 1) if mask is not None else factors.pop(0)
        for factor in factors:
            made = made.times(factor)
        return made, False

    def told(self, place: int, near: int, other: int) -> Amount:
        """What the spot `other` tells the spot `near` about how much lies behind it."""
        matches, plain = self.matches(other, near)
        step = self.step(place, near)
        if plain and step.hops == ONE_HOP and self._dtype is np.int8:
            return step.degrees()
        return step.summed(matches)

    def way(self, root: int, spot: int) -> list[tuple[int, int, int]]:
        """Steps from the spot to the root, as (stride, spot that learns, spot that tells)."""
        found: list[tuple[int, int, int]] = []
        stack: list[tuple[int, int, list[tuple[int, int, int]]]] = [(root, -1, [])]
        while stack:
            at, before, path = stack.pop()
            if at == spot:
                found = path[::-1]
                break
            stack += [(o, at, [*path, (p, at, o)]) for p, o in self.neighbors(at) if o != before]
        return found

    def carried(self, root: int, spot: int, values: Amount) -> Amount:
        """Values at a spot summed up at the root, over all matches; they count for the matches behind the spot."""
        for place, near, other in self.way(root, spot):
            del other
            learned = self.step(place, near).summed(values)
            behind = self._behind(root, near, place)
            values, _ = self._product(near, [learned, *behind])
        return values

    def _behind(self, root: int, spot: int, but: int) -> list[Amount]:
        """What the spot is told over its steps away from the root, but for one."""
        toward = self.way(root, spot)
        up = toward[0][0] if toward else -1
        return [self.told(p, spot, o) for p, o in self.neighbors(spot) if p not in (but, up)]

    def passes(self, root: int, spot: int, but: int) -> Bools:
        """The nodes at a spot that belong to a match, as far as one of its steps does not say otherwise."""
        found, _ = self._product(spot, self._behind(root, spot, but))
        made: Bools = found.values != 0
        return made

    def at_spot(self, root: int, spot: int) -> Amount:
        """Matches of what lies behind the spot, seen from the root."""
        toward = self.way(root, spot)
        return self.matches(spot, toward[0][1] if toward else -1)[0]


_BACK: Final = {"out": "in", "in": "out", "both": "both"}


# ---- the table --------------------------------------------------------------------------------------------------


def tally(plan: Tally, build: Build, domain: Domain | None) -> Rel:
    """The rows of the tally as a step of a larger query."""
    try:
        made = tally_table(plan, build.scene)
    except Untold:
        return build.plan(plan.spelled_out(), domain)
    return build.given(made, plan.schema.order)


def tally_table(plan: Tally, scene: Scene) -> pa.Table:
    """The rows of the tally, columns named as its schema names them. Raises Untold."""
    return _Counted(plan, scene).table()


class _Counted:
    def __init__(self, plan: Tally, scene: Scene) -> None:
        assert plan.pattern is not None
        self.plan, self.pattern, self._scene = plan, plan.pattern, scene
        self.tree = _Tree(plan.pattern, scene)
        keys = [self._located(expr) for _, expr in plan.groups]
        self.root = self._root({spot for spot, _ in keys})
        self.keys = keys

    def _located(self, expr: Expr) -> tuple[int, str]:
        assert isinstance(expr, ex.Column)
        found = self.pattern.located(expr.name)
        assert found is not None
        return found

    def _root(self, grouped: set[int]) -> int:
        """The grouped spot; without one, a spot from which the most steps lead to nodes that nothing is asked of."""
        if len(grouped) > 1:
            raise Untold
        if grouped:
            return next(iter(grouped))
        spots = range(len(self.pattern.spots))
        return max(spots, key=lambda spot: len(self.tree.neighbors(spot)))

    @cached_property
    def total(self) -> Amount:
        return self.tree.at_spot(self.root, self.root)

    @cached_property
    def active(self) -> Ints:
        """Nodes at the root that have a match; a number that wrapped around to none has some all the same."""
        matches = self._fractions(None) if may_overflow(self.total.bound) else self.total.values
        return np.flatnonzero(matches)

    @cached_property
    def grouping(self) -> tuple[Ints, Ints, int]:
        """The group of each active node, a node of each group, and how many groups there are."""
        nodes = self.tree.nodes(self.root)
        if not self.plan.groups:
            return np.zeros(len(self.active), np.int64), np.zeros(0, np.int64), 1
        names = {name for _, name in self.keys}
        key = self.pattern.spots[self.root].type.key
        if ID in names or (key and names.issuperset(key)):
            return np.arange(len(self.active), dtype=np.int64), self.active, len(self.active)
        code = np.zeros(len(self.active), np.int64)
        for name in sorted(names):
            codes, values = nodes.column(name).codes()
            code = code * (len(values) + 1) + codes[self.active]
        _, sample, group = np.unique(code, return_index=True, return_inverse=True)
        return group.reshape(-1), self.active[sample], len(sample)

    def table(self) -> pa.Table:
        columns: list[pa.Array] = []
        _, sample, count = self.grouping
        nodes = self.tree.nodes(self.root)
        for (_, name), field in zip(self.keys, self.plan.schema.fields, strict=False):
            picked = nodes.column(name).array.take(pa.array(sample))
            columns.append(picked.cast(arrow_type(field.type)))
        for (_, call), field in zip(self.plan.aggregates, self.plan.schema.fields[len(self.keys) :], strict=True):
            columns.append(self._aggregate(call, count).cast(arrow_type(field.type)))
        return pa.table(columns, names=list(self.plan.schema.order))

    def _aggregate(self, call: ex.Aggregate, groups: int) -> pa.Array:
        if not call.arguments:
            return pa.array(self._grouped(self.total, lambda: self._fractions(None), groups))
        spot, name = self._located(call.arguments[0])
        column = self.tree.nodes(spot).column(name)
        if call.function == "count":
            return pa.array(self._present(spot, column.array, groups))
        values, valid = column.values()
        there = self._present(spot, column.array, groups)
        missing = there == 0
        if call.function in _WORST:
            found = self._extreme(spot, values, valid, call.function, groups)
            return _typed(np.where(missing, 0, found), missing, column.array.type)
        weighed = values.astype(np.int64) if valid is None else np.where(valid, values, 0).astype(np.int64)
        total = self._summed(spot, weighed, groups)
        if call.function == "sum":
            return pa.array(total, mask=missing)
        with np.errstate(divide="ignore", invalid="ignore"):
            return pa.array(total / there, mask=missing)

    def _present(self, spot: int, array: pa.Array, groups: int) -> Ints:
        """Matches whose value at the spot is not null."""
        if not array.null_count:
            return self._grouped(self.total, lambda: self._fractions(None), groups)
        return self._summed(spot, array.is_valid().to_numpy(zero_copy_only=False).astype(np.int64), groups)

    def _summed(self, spot: int, values: Ints, groups: int) -> Ints:
        made = _carried(self.tree, self.root, spot, values)
        return self._grouped(made, lambda: self._fractions((spot, values)), groups)

    def _extreme(self, spot: int, values: npt.NDArray[Any], valid: Bools | None, word: str, groups: int) -> Ints:
        worst = _WORST[word]
        behind = self.tree.at_spot(self.root, spot).values != 0
        told = np.where(behind if valid is None else behind & valid, values.astype(np.int64), worst)
        for place, near, _ in self.tree.way(self.root, spot):
            told = self.tree.step(place, near).extreme(told, worst, largest=word == "max")
            told = np.where(self.tree.passes(self.root, near, place), told, worst)
        group, _, _ = self.grouping
        made = np.full(groups, worst, np.int64)
        (np.maximum if word == "max" else np.minimum).at(made, group, told[self.active])
        return made

    # ---- groups -----------------------------------------------------------------------------------------------

    def _grouped(self, amount: Amount, fractions: Callable[[], npt.NDArray[np.float64]], groups: int) -> Ints:
        """Numbers at the root's nodes summed up by group."""
        whole = Amount(amount.values, amount.bound * max(1, len(self.active)))
        own = amount.values[self.active].astype(np.int64, copy=False)
        group, sample, _ = self.grouping
        if len(sample) == len(self.active) and self.plan.groups:
            made = np.zeros(groups, np.int64)
            made[group] = own
        elif not self.plan.groups:
            made = np.array([own.sum()], np.int64)
        elif whole.bound < 2**53:
            made = np.bincount(group, weights=own, minlength=groups).astype(np.int64)
        else:
            made = np.zeros(groups, np.int64)
            np.add.at(made, group, own)
        if may_overflow(whole.bound):
            refuse_overflow(np.bincount(group, weights=fractions()[self.active], minlength=groups))
        return made

    def _fractions(self, of: tuple[int, Ints] | None) -> npt.NDArray[np.float64]:
        """The matches, or the sums of values at a spot, at the root's nodes; approximately, however large they are."""
        tree = _Tree(self.pattern, self._scene, fractions=True)
        if of is None:
            return tree.at_spot(self.root, self.root).values
        return _carried(tree, self.root, of[0], of[1]).values


def _carried(tree: _Tree, root: int, spot: int, values: Ints) -> Amount:
    """Values at a spot, once for each match, summed up at the root."""
    return tree.carried(root, spot, tree.at_spot(root, spot).times(Amount.of(values)))


def _typed(values: Ints, missing: Bools, of: pa.DataType) -> pa.Array:
    if pa.types.is_date32(of):
        return pa.array(values.astype(np.int32), mask=missing).cast(of)
    return pa.array(values, mask=missing).cast(of)
