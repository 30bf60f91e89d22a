"""Patterns that are trees: nodes and the steps between them, as counting over them wants to see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from omnigraph_sql.base import expr as ex
from omnigraph_sql.base.catalog import DST, ID, SRC, Catalog, EdgeType, NodeType
from omnigraph_sql.base.expr import Column, Expr
from omnigraph_sql.base.travel import ReadPoint
from omnigraph_sql.base.types import BOOL, DATE, DATETIME, STRING, U64, DataType, EnumType, is_integer
from omnigraph_sql.bind.bound import ONE_HOP, Hops, Walk
from omnigraph_sql.plan.node import SUBQUERIES, Plan
from omnigraph_sql.plan.nodes import Aggregate, Expand, Scan
from omnigraph_sql.plan.rewrite import is_volatile

_COUNTED: Final = frozenset(("count", "sum", "avg", "min", "max"))


@dataclass(frozen=True, slots=True)
class Spot:
    """A node of a pattern: its variable, and what a node there has to satisfy, said of columns `variable.c`."""

    variable: str
    type: NodeType
    filter: Expr | None


@dataclass(frozen=True, slots=True)
class Stride:
    """A step from the spot numbered `start` to the one numbered `end`; `direction` is seen from `start`."""

    start: int
    end: int
    edge: EdgeType
    direction: str
    walk: Walk
    hops: Hops
    variable: str | None
    filter: Expr | None


@dataclass(frozen=True, slots=True)
class Pattern:
    """A tree: every stride leads from a spot before it to a spot no other stride leads to."""

    spots: tuple[Spot, ...]
    strides: tuple[Stride, ...]
    at: ReadPoint

    def __post_init__(self) -> None:
        if len(self.spots) != len(self.strides) + 1 or not self.strides:
            raise ValueError("a tree has one spot more than strides")
        if any(s.end != place + 1 or not 0 <= s.start < s.end for place, s in enumerate(self.strides)):
            raise ValueError("a stride leads to the next spot, from one before it")

    def located(self, column: str) -> tuple[int, str] | None:
        """The spot a column belongs to, and the column there; the ends of an edge are ids of its spots."""
        variable, _, name = column.rpartition(".")
        for place, spot in enumerate(self.spots):
            if spot.variable == variable:
                return place, name
        for stride in self.strides:
            if stride.variable == variable and name in (SRC, DST) and stride.direction != "both":
                at_start = (name == SRC) == (stride.direction == "out")
                return (stride.start if at_start else stride.end), ID
        return None


def pattern_of(plan: Plan, catalog: Catalog, *, windows: bool = False) -> Pattern | None:
    """The tree that a chain of expansions walks; None where it is none, or asks for more than nodes and edges.

    `windows`: steps to all nodes within some hops are taken too.
    """
    expands: list[Expand] = []
    while isinstance(plan, Expand):
        expands.append(plan)
        plan = plan.input
    if not isinstance(plan, Scan) or any(step.at != plan.at for step in expands):
        return None
    begun = _beginning(plan, catalog)
    if begun is None:
        return None
    spots, strides = begun
    for step in reversed(expands):
        start = next((i for i, spot in enumerate(spots) if spot.variable == step.source), None)
        if start is None or not (_is_countable(step) or (windows and _is_window(step))):
            return None
        strides.append(
            Stride(
                start,
                len(spots),
                step.edge,
                step.direction,
                step.walk,
                step.hops,
                step.edge_variable,
                step.edge_filter,
            )
        )
        spots.append(Spot(step.target, step.target_type, step.target_filter))
    filters = [*(spot.filter for spot in spots), *(stride.filter for stride in strides)]
    if not strides or not all(test is None or _is_plain(test) for test in filters):
        return None
    return Pattern(tuple(spots), tuple(strides), plan.at)


def _beginning(scan: Scan, catalog: Catalog) -> tuple[list[Spot], list[Stride]] | None:
    """A node table is a spot; an edge table is a stride between two spots that nobody named."""
    if isinstance(scan.type, NodeType):
        return [Spot(scan.variable, scan.type, scan.filter)], []
    ends = catalog.node(scan.type.source), catalog.node(scan.type.target)
    if ends[0] is None or ends[1] is None:
        return None
    spots = [Spot(f"{scan.variable}.{name}", end, None) for name, end in zip((SRC, DST), ends, strict=True) if end]
    return spots, [Stride(0, 1, scan.type, "out", Walk.EDGES, ONE_HOP, scan.variable, scan.filter)]


def _is_countable(step: Expand) -> bool:
    one_hop = step.hops == ONE_HOP and step.walk in (Walk.EDGES, Walk.NEIGHBORS)
    return not step.path_columns and (one_hop or step.walk is Walk.WALKS)


def _is_window(step: Expand) -> bool:
    return step.walk is Walk.NEIGHBORS and not step.path_columns and step.edge.source == step.edge.target


def _is_plain(test: Expr) -> bool:
    """Whether the condition is about stored values alone."""
    odd = (*SUBQUERIES, ex.OuterColumn, ex.TextMatch)
    return not is_volatile(test) and not any(isinstance(part, odd) for part in test.every_part())


@dataclass(frozen=True, slots=True)
class Tally(Aggregate):
    """An aggregate over a pattern that is a tree: groups and sums come from degrees, and no path is made."""

    pattern: Pattern | None = None

    def __post_init__(self) -> None:
        Aggregate.__post_init__(self)
        if self.pattern is None or not can_tally(self, self.pattern):
            raise ValueError("only an aggregate over a tree is tallied")

    def spelled_out(self) -> Aggregate:
        """The same rows, asked for plainly."""
        return Aggregate(self.input, self.groups, self.aggregates, self.sets)


def can_tally(plan: Aggregate, pattern: Pattern) -> bool:
    """Whether every key and every aggregate is about one column of a spot."""
    if plan.sets is not None or not (plan.groups or plan.aggregates):
        return False
    return all(_is_key(expr, pattern) for _, expr in plan.groups) and all(
        _is_counted(call, pattern) for _, call in plan.aggregates
    )


def _is_key(expr: Expr, pattern: Pattern) -> bool:
    return isinstance(expr, Column) and pattern.located(expr.name) is not None and is_discrete(expr.type)


def _is_counted(call: ex.Aggregate, pattern: Pattern) -> bool:
    if call.function not in _COUNTED or call.distinct or call.filter is not None or call.order:
        return False
    if not call.arguments:
        return call.function == "count"
    argument = call.arguments[0]
    if len(call.arguments) > 1 or not isinstance(argument, Column) or pattern.located(argument.name) is None:
        return False
    whole = is_integer(argument.type) and argument.type != U64
    match call.function:
        case "count":
            return is_discrete(argument.type)
        case "sum" | "avg":
            return whole
        case _:
            return whole or argument.type in (DATE, DATETIME)


def is_discrete(of: DataType) -> bool:
    """Whether equal values of the type are the same value, so that they may be numbered."""
    return of in (STRING, BOOL, DATE, DATETIME) or isinstance(of, EnumType) or (is_integer(of) and of != U64)


def tallied(plan: Aggregate, catalog: Catalog) -> Aggregate:
    """The aggregate as a tally where it is one."""
    if isinstance(plan, Tally):
        return plan
    pattern = pattern_of(plan.input, catalog)
    if pattern is None or not can_tally(plan, pattern):
        return plan
    if isinstance(plan.input, Scan) and not plan.groups:
        # How many rows an edge table has, the table knows itself.
        return plan
    return Tally(plan.input, plan.groups, plan.aggregates, plan.sets, pattern)
