"""What rewrite rules share: substitution of columns, and what may be copied, moved or evaluated elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from omnigraph_sql.base.catalog import ID
from omnigraph_sql.base.expr import (
    Call,
    Column,
    Exists,
    Expr,
    InSubquery,
    Literal,
    Logic,
    OuterColumn,
    Param,
    ScalarSubquery,
    SortKey,
    column_names,
    conjuncts,
    transform,
    walk,
)
from omnigraph_sql.base.schema import Field
from omnigraph_sql.bind.bound import ONE_HOP, Hops, Walk
from omnigraph_sql.plan.fold import fold
from omnigraph_sql.plan.node import SUBQUERIES, Plan, Subquery, transform_subqueries, walk_plan
from omnigraph_sql.plan.nodes import Argument, Expand, Filter, Values, With

VOLATILE: Final = frozenset(("random", "uuid", "gen_random_uuid"))
"""Functions that give another value at every call: they are neither copied nor moved to where rows differ in number."""

_LEAVES: Final = (Column, Literal, Param, OuterColumn)
Table = Mapping[str, Expr]


def is_leaf(expr: Expr) -> bool:
    return isinstance(expr, _LEAVES)


def is_volatile(expr: Expr) -> bool:
    return any(isinstance(part, Call) and part.function in VOLATILE for part in walk(expr))


def is_pure(expr: Expr) -> bool:
    """Cheap enough to be written twice, and the same each time: no sub-query, nothing volatile."""
    return is_leaf(expr) or not any(
        isinstance(part, SUBQUERIES) or (isinstance(part, Call) and part.function in VOLATILE) for part in walk(expr)
    )


def column(field: Field) -> Column:
    return Column(field.name, field.type, field.nullable)


def reads(exprs: Iterable[Expr]) -> set[str]:
    """Input columns that the expressions read, those of correlated sub-queries included."""
    return {name for expr in exprs for name in column_names(expr)}


def substitute(expr: Expr, table: Table) -> Expr:
    """Put expressions in the place of columns, in correlated sub-queries too."""
    if isinstance(expr, Column):
        return table.get(expr.name, expr)
    changed = expr.map_children(lambda child: substitute(child, table))
    if isinstance(changed, ScalarSubquery | Exists | InSubquery):
        relation = changed.relation
        if isinstance(relation, Plan) and not relation.outer_columns.isdisjoint(table):
            return replace(changed, relation=substitute_outer(relation, table))
    return changed


def inline(expr: Expr, table: Table) -> Expr:
    """As `substitute`; where constants took the place of columns, what became constant is computed."""
    changed = substitute(expr, table)
    return fold(changed) if changed is not expr and any(isinstance(e, Literal) for e in table.values()) else changed


def _outward(expr: Expr) -> Expr:
    return OuterColumn(expr.name, expr.of, expr.null) if isinstance(expr, Column) else expr


def substitute_outer(plan: Plan, table: Table) -> Plan:
    """A plan whose correlated columns of that name read the expressions instead."""
    around = {name: transform(expr, _outward) for name, expr in table.items()}

    def change(expr: Expr) -> Expr:
        if isinstance(expr, OuterColumn):
            return around.get(expr.name, expr)
        changed = expr.map_children(change)
        if isinstance(changed, ScalarSubquery | Exists | InSubquery) and isinstance(changed.relation, Plan):
            return replace(changed, relation=inside(changed.relation))
        return changed

    def inside(node: Plan) -> Plan:
        if node.outer_columns.isdisjoint(around):
            return node
        return node.map_inputs(inside).map_exprs(change)

    return inside(plan)


def rename_argument(plan: Plan, names: Mapping[str, str]) -> Plan | None:
    """The inner plan of a check that takes columns under other names; None where a step starts at one of them."""
    if not names:
        return plan
    if any(isinstance(node, Expand) and f"{node.source}.{ID}" in names for node in walk_plan(plan)):
        return None

    def change(expr: Expr) -> Expr:
        if isinstance(expr, Column | OuterColumn):
            return replace(expr, name=names[expr.name]) if expr.name in names else expr
        changed = expr.map_children(change)
        if isinstance(changed, ScalarSubquery | Exists | InSubquery) and isinstance(changed.relation, Plan):
            return replace(changed, relation=visit(changed.relation))
        return changed

    def visit(node: Plan) -> Plan:
        if isinstance(node, Argument):
            # Two columns of a projection may be the same column below it.
            fields = {(new := names.get(f.name, f.name)): replace(f, name=new) for f in node.fields}
            return Argument(tuple(fields[name] for name in sorted(fields)))
        changes: dict[str, Any] = {name: _renamed(getattr(node, name), change) for name in node.expr_fields}
        changes |= {name: visit(getattr(node, name)) for name in node.plan_fields}
        if isinstance(node, With):
            return With(tuple(replace(cte, plan=visit(cte.plan)) for cte in node.ctes), visit(node.input))
        return replace(node, **changes) if changes else node

    return visit(plan)


def _renamed(part: Any, change: Callable[[Expr], Expr]) -> Any:
    if isinstance(part, Expr):
        return change(part)
    if isinstance(part, SortKey):
        return replace(part, expr=change(part.expr))
    return tuple(_renamed(item, change) for item in part) if isinstance(part, tuple) else part


def map_subqueries(expr: Expr, change: Callable[[Plan], Plan]) -> Expr:
    """The expression with the plans of its sub-queries changed, those inside operands first."""
    return transform_subqueries(expr, lambda part: over_relation(part, change))


def over_relation(part: Subquery, change: Callable[[Plan], Plan]) -> Subquery:
    """The sub-query over a changed plan; `part` itself when nothing changed."""
    new = change(cast("Plan", part.relation))
    return part if new is part.relation else replace(part, relation=new)


def map_everywhere(plan: Plan, change: Callable[[Plan], Plan]) -> Plan:
    """Rebuild bottom-up, plans of sub-queries included: inputs first, then sub-queries, then `change` on the node."""

    def inside(expr: Expr) -> Expr:
        return map_subqueries(expr, visit)

    def visit(node: Plan) -> Plan:
        node = node.map_inputs(visit)
        return change(node.map_exprs(inside) if node.has_subqueries else node)

    return visit(plan)


def all_of(parts: Iterable[Expr]) -> Expr | None:
    """The conjunction of the parts, flat; repeats are dropped unless each is its own throw of the dice."""
    flat = [part for operand in parts for part in conjuncts(operand)]
    if len(flat) < 2:
        return flat[0] if flat else None
    seen: set[Expr] = set()
    kept: list[Expr] = []
    for part in flat:
        if part in seen and not is_volatile(part):
            continue
        seen.add(part)
        kept.append(part)
    return kept[0] if len(kept) == 1 else Logic("and", tuple(kept))


def filtered(plan: Plan, parts: Sequence[Expr]) -> Plan:
    """The plan under a filter, or itself when there is nothing to ask; no row at all where nothing can be true."""
    predicate = all_of(parts) if parts else None
    if predicate is None:
        return plan
    return nothing(plan) if is_never(predicate) else Filter(plan, predicate)


def is_never(predicate: Expr) -> bool:
    """Whether a part of it is constantly false or unknown: neither keeps a row."""
    return any(isinstance(part, Literal) and part.value is not True for part in conjuncts(predicate))


def nothing(plan: Plan) -> Values:
    """No row, in the shape of the plan."""
    return Values(plan.schema.fields, ())


def is_nothing(plan: Plan) -> bool:
    return isinstance(plan, Values) and not plan.rows


def is_one_way(walk: Walk, hops: Hops) -> bool:
    """Whether it matters at which end the step starts: a loop counts at the far end of a window of hops alone."""
    return walk is Walk.NEIGHBORS and hops != ONE_HOP
