"""Patterns → plans, naively: every node scanned, every step closed by an equality. The region rule shapes the rest.

A step becomes an expansion to a temporary node that must be the target; the region recognises this form, so patterns
and plain joins meet there as equals.
"""

from __future__ import annotations

from collections.abc import Callable

from omnigraph_sql.base.catalog import ID, NodeType
from omnigraph_sql.base.expr import Column, Compare, Expr, all_of, column_names, walk
from omnigraph_sql.base.schema import Field
from omnigraph_sql.base.types import STRING
from omnigraph_sql.bind.bound import BoundEdge, BoundPattern, JoinKind
from omnigraph_sql.plan.nodes import (
    PATH_COLUMNS,
    AntiJoin,
    Argument,
    Expand,
    Filter,
    Join,
    OneRow,
    Plan,
    PlanError,
    Scan,
    arguments,
)

Lower = Callable[[Expr], Expr]


def lower_pattern(pattern: BoundPattern, lower_expr: Lower) -> Plan:
    """Rows of the pattern: every column of every node, edge and path variable."""
    return _pattern(pattern, {}, lower_expr)


def _pattern(pattern: BoundPattern, around: dict[str, NodeType], lower_expr: Lower) -> Plan:
    types = around | {n.variable: n.type for n in pattern.outer} | {n.variable: n.type for n in pattern.nodes}
    absent = [_pattern(block, types, lower_expr) for block in pattern.absences]
    predicates = [lower_expr(p) for p in pattern.predicates]
    outer = _outer_fields(pattern, predicates, absent)
    sources: list[Plan] = [Argument(outer)] if outer else []
    sources += [Scan(n.type, n.variable, n.type.schema.order, None, pattern.at) for n in pattern.nodes]
    plan: Plan = sources[0] if sources else OneRow()
    for source in sources[1:]:
        plan = Join(JoinKind.CROSS, plan, source)
    for number, edge in enumerate(pattern.edges):
        if edge.target not in types:
            raise PlanError(f"a step ends at {edge.target}, which no pattern declares")
        temporary = f"_{edge.source}.{edge.type.name}.{edge.target}.{number}"
        plan = _step(plan, edge, temporary, types[edge.target], pattern)
        target = Column(f"{edge.target}.{ID}", STRING, False)
        predicates.append(Compare("=", Column(f"{temporary}.{ID}", STRING, False), target))
    condition = all_of(predicates)
    if condition is not None:
        plan = Filter(plan, condition)
    for block in absent:
        plan = AntiJoin(plan, block)
    return plan


def _step(plan: Plan, edge: BoundEdge, temporary: str, target: NodeType, pattern: BoundPattern) -> Expand:
    return Expand(
        plan,
        edge.type,
        edge.source,
        temporary,
        target,
        "both" if edge.undirected else "out",
        edge.walk,
        edge.hops,
        edge.variable,
        edge.type.schema.order if edge.variable is not None else (),
        path=edge.path,
        path_columns=tuple(PATH_COLUMNS) if edge.path is not None else (),
        at=pattern.at,
    )


def _outer_fields(pattern: BoundPattern, predicates: list[Expr], absent: list[Plan]) -> tuple[Field, ...]:
    """Columns of enclosing patterns that this one, or a block inside it, uses; in name order."""
    own = {n.variable for n in pattern.nodes}
    own |= {e.variable for e in pattern.edges if e.variable} | {e.path for e in pattern.edges if e.path}
    used = {name for predicate in predicates for name in column_names(predicate)}
    used |= {f"{end}.{ID}" for edge in pattern.edges for end in (edge.source, edge.target)}
    handed = {f.name: f for block in absent for f in arguments(block)}
    known: dict[str, Field] = dict(handed)
    for predicate in predicates:
        for part in walk(predicate):
            if isinstance(part, Column):
                known.setdefault(part.name, Field(part.name, part.of, part.null))
    fields = []
    for name in sorted(used | set(handed)):
        variable = name.rpartition(".")[0]
        if variable in own:
            continue
        if name not in known:
            known[name] = Field(name, STRING, False)
        fields.append(known[name])
    return tuple(fields)
