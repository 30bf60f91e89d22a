"""What every plan node shares: a row shape, inputs, expressions, and the checks that keep wrong nodes from existing."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final, Self, cast

from omnigraph_sql.base.errors import InternalError
from omnigraph_sql.base.expr import (
    Aggregate,
    Bm25,
    Column,
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
from omnigraph_sql.base.schema import Field, Schema


class PlanError(InternalError):
    """A plan node that cannot be right was about to be built."""

    default_code = "plan"


SUBQUERIES: Final = (ScalarSubquery, Exists, InSubquery)
STAGED: Final = frozenset((Aggregate, WindowCall, Nearest, Bm25, Fuse))
"""Expressions that a node of their own computes; elsewhere a column stands for them."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Root of all nodes. `plan_fields` and `expr_fields` name the fields that hold inputs and expressions."""

    plan_fields: ClassVar[tuple[str, ...]] = ()
    expr_fields: ClassVar[tuple[str, ...]] = ()
    schema: Schema = field(init=False, repr=False, compare=False)
    _outer: frozenset[str] | None = field(init=False, repr=False, compare=False, default=None)

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return tuple(getattr(self, name) for name in self.plan_fields)

    def map_inputs(self, change: Callable[[Plan], Plan]) -> Self:
        """The same node over changed inputs; `self` itself when nothing changed."""
        changes: dict[str, Any] = {}
        for name in self.plan_fields:
            old = getattr(self, name)
            new = change(old)
            if new is not old:
                changes[name] = new
        return replace(self, **changes) if changes else self

    def exprs(self) -> Iterator[Expr]:
        """The node's own expressions, not those of its inputs."""
        for name in self.expr_fields:
            yield from flat_exprs(getattr(self, name))

    def map_exprs(self, change: Callable[[Expr], Expr]) -> Self:
        """The same node over changed expressions; `self` itself when nothing changed."""
        changes: dict[str, Any] = {}
        for name in self.expr_fields:
            old = getattr(self, name)
            new = map_exprs(old, change)
            if new is not old:
                changes[name] = new
        return replace(self, **changes) if changes else self

    @property
    def outer_columns(self) -> frozenset[str]:
        """Correlated columns: those read from a query around this plan and not produced inside it."""
        if self._outer is None:
            object.__setattr__(self, "_outer", self._find_outer())
        assert self._outer is not None
        return self._outer

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
    return any(isinstance(part, SUBQUERIES) for part in expr.every_part())


def check(node: str, schema: Container[str], exprs: Iterable[Expr]) -> None:
    """Refuse expressions over columns the input lacks, and those another node has to compute first."""
    for expr in exprs:
        for part in expr.every_part():
            if isinstance(part, Column):
                if part.name not in schema:
                    raise PlanError(f"{node} reads a column its input lacks: {part.name}")
            elif type(part) in STAGED:
                raise PlanError(f"{node} holds a {type(part).__name__.lower()} that no node computes")


def check_predicate(node: str, schema: Container[str], predicate: Expr | None) -> None:
    if predicate is None:
        return
    if not is_boolean(predicate):
        raise PlanError(f"{node} needs a boolean, got {predicate.type}")
    check(node, schema, (predicate,))


def shape(node: str, fields: Iterable[Field]) -> Schema:
    """A schema, or the refusal of repeated names."""
    try:
        return Schema(tuple(fields))
    except ValueError as problem:
        raise PlanError(f"{node}: {problem}") from None


def map_plan(plan: Plan, change: Callable[[Plan], Plan]) -> Plan:
    """Rebuild bottom-up: inputs first, then `change` on the node itself."""
    return change(plan.map_inputs(lambda child: map_plan(child, change)))


def walk_plan(plan: Plan) -> Iterator[Plan]:
    """The plan and everything below it, outside in, without entering sub-queries of expressions."""
    stack = [plan]
    while stack:
        at = stack.pop()
        yield at
        stack.extend(reversed(at.inputs))
