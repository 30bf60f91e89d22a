"""What every plan node shares: a row shape, inputs, expressions, and the checks that keep wrong nodes from existing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Self, TypeAlias, cast

from omnigraph_sql.base.errors import InternalError
from omnigraph_sql.base.expr import (
    Aggregate,
    Bm25,
    Exists,
    Expr,
    Fuse,
    InSubquery,
    Nearest,
    OuterColumn,
    ScalarSubquery,
    WindowCall,
    is_boolean,
)
from omnigraph_sql.base.expr_leaves import flat_exprs, map_exprs
from omnigraph_sql.base.rebuild import rebuilt
from omnigraph_sql.base.schema import Field, Schema


class PlanError(InternalError):
    """A plan node that cannot be right was about to be built."""

    default_code = "plan"


Subquery: TypeAlias = ScalarSubquery | Exists | InSubquery
SUBQUERIES: Final = (ScalarSubquery, Exists, InSubquery)
_ASKING: Final = frozenset(SUBQUERIES)
STAGED: Final = frozenset((Aggregate, WindowCall, Nearest, Bm25, Fuse))
"""Expressions that a node of their own computes; elsewhere a column stands for them."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Root of all nodes. `plan_fields` and `expr_fields` name the fields that hold inputs and expressions."""

    plan_fields: ClassVar[tuple[str, ...]] = ()
    expr_fields: ClassVar[tuple[str, ...]] = ()
    schema: Schema = field(init=False, repr=False, compare=False)
    _outer: frozenset[str] | None = field(init=False, repr=False, compare=False, default=None)
    _asks: bool | None = field(init=False, repr=False, compare=False, default=None)

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return tuple([getattr(self, name) for name in self.plan_fields])

    def map_inputs(self, change: Callable[[Plan], Plan]) -> Self:
        """The same node over changed inputs; `self` itself when nothing changed."""
        changes: dict[str, Any] = {}
        for name in self.plan_fields:
            old = getattr(self, name)
            new = change(old)
            if new is not old:
                changes[name] = new
        if not changes:
            return self
        made = rebuilt(self, changes)
        object.__setattr__(made, "_asks", self._asks)
        return made

    def exprs(self) -> list[Expr]:
        """The node's own expressions, not those of its inputs."""
        return [expr for name in self.expr_fields for expr in flat_exprs(getattr(self, name))]

    def map_exprs(self, change: Callable[[Expr], Expr]) -> Self:
        """The same node over changed expressions; `self` itself when nothing changed."""
        changes: dict[str, Any] = {}
        for name in self.expr_fields:
            old = getattr(self, name)
            new = map_exprs(old, change)
            if new is not old:
                changes[name] = new
        return rebuilt(self, changes) if changes else self

    @property
    def has_subqueries(self) -> bool:
        """Whether the node's own expressions hold a sub-query."""
        asks = self._asks
        if asks is None:
            asks = any(map(has_subquery, self.exprs()))
            object.__setattr__(self, "_asks", asks)
        return asks

    @property
    def outer_columns(self) -> frozenset[str]:
        """Correlated columns: those read from a query around this plan and not produced inside it."""
        outer = self._outer
        if outer is None:
            outer = self._find_outer()
            object.__setattr__(self, "_outer", outer)
        return outer

    def _find_outer(self) -> frozenset[str]:
        wanted: set[str] = set()
        made: set[str] = set()
        stack: list[Plan] = [self]
        while stack:
            node = stack.pop()
            made.update(node.schema.order)
            stack.extend(node.inputs)
            for expr in node.exprs():
                wanted |= outer_names(expr)
        return frozenset(wanted - made)

    def _shape(self, schema: Schema) -> None:
        object.__setattr__(self, "schema", schema)


def outer_names(expr: Expr) -> set[str]:
    """Names of correlated columns in the expression, those of sub-queries inside it included."""
    found: set[str] = set()
    for part in expr.every_part():
        if isinstance(part, OuterColumn):
            found.add(part.name)
        elif isinstance(part, SUBQUERIES):
            found |= cast("frozenset[str]", getattr(part.relation, "outer_columns", frozenset()))
    return found


def has_subquery(expr: Expr) -> bool:
    if not expr.parts:
        return isinstance(expr, SUBQUERIES)
    return not _ASKING.isdisjoint(map(type, expr.every_part()))


def transform_subqueries(expr: Expr, change: Callable[[Subquery], Expr]) -> Expr:
    """Rebuild bottom-up and no more than the way to its sub-queries: operands first, then `change` on the sub-query."""
    if not has_subquery(expr):
        return expr
    changed = expr.map_children(lambda child: transform_subqueries(child, change))
    return change(changed) if isinstance(changed, SUBQUERIES) else changed


def check(node: str, known: Set[str], exprs: Iterable[Expr]) -> None:
    """Refuse expressions over columns the input lacks, and those another node has to compute first."""
    for expr in exprs:
        own = expr.own_columns()
        if not own <= known:
            raise PlanError(f"{node} reads a column its input lacks: {min(own - known)}")
        if expr.parts and not STAGED.isdisjoint(map(type, expr.every_part())):
            staged = next(type(part) for part in expr.every_part() if type(part) in STAGED)
            raise PlanError(f"{node} holds a {staged.__name__.lower()} that no node computes")


def check_predicate(node: str, known: Set[str], predicate: Expr | None) -> None:
    if predicate is None:
        return
    if not is_boolean(predicate):
        raise PlanError(f"{node} needs a boolean, got {predicate.type}")
    check(node, known, (predicate,))


def shape(node: str, fields: Iterable[Field]) -> Schema:
    """A schema, or the refusal of repeated names."""
    try:
        return Schema(tuple(fields))
    except ValueError as problem:
        raise PlanError(f"{node}: {problem}") from None


def map_plan(plan: Plan, change: Callable[[Plan], Plan]) -> Plan:
    """Rebuild bottom-up: inputs first, then `change` on the node itself."""
    return change(plan.map_inputs(lambda child: map_plan(child, change)))


def walk_plan(plan: Plan) -> list[Plan]:
    """The plan and everything below it, outside in, without entering sub-queries of expressions."""
    found: list[Plan] = []
    stack = [plan]
    while stack:
        at = stack.pop()
        found.append(at)
        stack += at.inputs[::-1]
    return found


def walk_everywhere(plan: Plan) -> list[Plan]:
    """As `walk_plan`, with the plans of sub-queries behind those they are asked in."""
    found = walk_plan(plan)
    for node in found:
        if node.has_subqueries:
            parts = [part for expr in node.exprs() for part in expr.every_part()]
            plans = [part.relation for part in parts if isinstance(part, SUBQUERIES)]
            found += [inner for relation in plans if isinstance(relation, Plan) for inner in walk_plan(relation)]
    return found
