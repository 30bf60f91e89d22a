"""EXISTS and IN of a condition become semi and anti joins."""

from __future__ import annotations

from dataclasses import replace

from omnigraph_sql.base.catalog import Catalog
from omnigraph_sql.base.expr import Column, Compare, Exists, Expr, InSubquery, Literal, OuterColumn, conjuncts
from omnigraph_sql.bind.bound import JoinKind
from omnigraph_sql.plan.node import Plan, has_subquery, walk_plan
from omnigraph_sql.plan.nodes import (
    AntiJoin,
    Argument,
    Distinct,
    Filter,
    Join,
    Limit,
    OneRow,
    Project,
    SemiJoin,
    Sort,
)
from omnigraph_sql.plan.rewrite import all_of, filtered, is_pure, reads


def unnest_subqueries(plan: Plan, catalog: Catalog) -> Plan:
    """A conjunct EXISTS, NOT EXISTS, IN or NOT IN runs as a join that starts from the row around it.

    before  Filter[not exists (Filter[h.dst = outer(a.id)] ← Scan[h])] ← Scan[a]
    after   AntiJoin ← Scan[a], absent: Filter[h.dst = a.id] ← Join cross ← Argument[a.id], Scan[h]

    NOT IN becomes a join only where neither side can be null: one null among the values makes it unknown for every
    row, which no join says. EXISTS without correlation stays: it is asked once, not once per row.
    """
    del catalog
    return _visit(plan) if any(node.has_subqueries for node in walk_plan(plan)) else plan


def _visit(plan: Plan) -> Plan:
    """Outside in: a block that was taken apart hands its columns to the blocks inside it."""
    if not plan.has_subqueries:
        return plan.map_inputs(_visit)
    if isinstance(plan, Filter):
        plan = _filter(plan)
    elif isinstance(plan, Join) and plan.kind is JoinKind.INNER:
        plan = _inner_join(plan)
    return plan.map_inputs(_visit)


def _inner_join(join: Join) -> Plan:
    """Above and within an inner join means the same, so its sub-queries are taken for conditions above it."""
    asked = [part for part in conjuncts(join.on) if has_subquery(part)]
    if not asked:
        return join
    on = all_of(part for part in conjuncts(join.on) if part not in asked)
    kind = JoinKind.CROSS if on is None else JoinKind.INNER
    above = filtered(Join(kind, join.left, join.right, on, join.lateral), asked)
    return _filter(above) if isinstance(above, Filter) else above


def _filter(node: Filter) -> Plan:
    kept: list[Expr] = []
    plan = node.input
    for part in conjuncts(node.predicate):
        inner = _inner(part, node.input)
        if inner is None:
            kept.append(part)
        else:
            plan = AntiJoin(plan, inner) if _is_negated(part) else SemiJoin(plan, inner)
    return node if plan is node.input else filtered(plan, kept)


def _is_negated(part: Expr) -> bool:
    return isinstance(part, Exists | InSubquery) and part.negated


def _inner(part: Expr, input: Plan) -> Plan | None:
    """What the join starts for every row, or None when the conjunct is not of a kind that can be joined."""
    match part:
        case Exists(relation=Plan() as relation):
            names = relation.outer_columns & input.schema.names
            return _started(_existence(relation), names, None, input) if names else None
        case InSubquery(relation=Plan() as relation, operand=operand, quantifier="any"):
            return _membership(part, operand, relation, input)
        case _:
            return None


def _existence(plan: Plan) -> Plan:
    """The plan without what does not change whether it has rows."""
    while True:
        match plan:
            case Project(input=input) | Sort(input=input) | Distinct(input=input):
                plan = input
            case Limit(input=input, count=count, offset=None) if count is None or _at_least_one(count):
                plan = input
            case _:
                return plan


def _at_least_one(count: Expr) -> bool:
    return isinstance(count, Literal) and isinstance(count.value, int) and count.value > 0


def _membership(part: InSubquery, operand: Expr, relation: Plan, input: Plan) -> Plan | None:
    if not is_pure(operand):
        return None
    plan, value = _values(relation)
    if part.negated and (part.op != "=" or _may_be_null(operand, input) or _may_be_null(value, plan)):
        return None
    names = (relation.outer_columns | reads((operand,))) & input.schema.names
    return _started(plan, names, Compare(part.op, operand, value), input)


def _values(relation: Plan) -> tuple[Plan, Expr]:
    """The rows of a one-column query and, over them, its value; order and repeats do not matter."""
    plan = relation
    while isinstance(plan, Sort | Distinct) and not (isinstance(plan, Distinct) and plan.on):
        plan = plan.input
    if isinstance(plan, Project) and is_pure(plan.items[0][1]):
        value, plan = plan.items[0][1], plan.input
        while isinstance(plan, Sort):
            plan = plan.input
        return plan, value
    field = plan.schema.fields[0]
    return plan, Column(field.name, field.type, field.nullable)


def _may_be_null(expr: Expr, input: Plan) -> bool:
    """Whether the expression over rows of `input` can be null, as far as can be told."""
    if isinstance(expr, Column):
        field = input.schema.get(expr.name)
        return expr.null or field is None or field.nullable
    return expr.nullable


def _started(plan: Plan, names: frozenset[str], condition: Expr | None, input: Plan) -> Plan | None:
    """`plan` beside the row it is asked for; None when it is correlated where the row cannot be handed in."""
    if not names.isdisjoint(plan.schema.names):
        return None
    fields = tuple(f for f in input.schema.fields if f.name in names)
    argument = Argument(tuple(sorted(fields, key=lambda f: f.name)))
    base, parts = _opened(plan)
    if not base.outer_columns.isdisjoint(names):
        return None
    parts = [_inward(p, names) for p in parts]
    if condition is not None:
        parts.append(_inward(condition, names))
    if not parts and isinstance(base, OneRow):
        return None
    rows: Plan = argument if isinstance(base, OneRow) else Join(JoinKind.CROSS, argument, base)
    return filtered(rows, parts)


def _opened(plan: Plan) -> tuple[Plan, list[Expr]]:
    """The plan without its topmost filters, whose conjuncts may read the row around it."""
    match plan:
        case Filter(input=input, predicate=predicate):
            base, parts = _opened(input)
            return base, [*parts, *conjuncts(predicate)]
        case Join(kind=JoinKind.INNER | JoinKind.CROSS, lateral=False):
            left, first = _opened(plan.left)
            right, second = _opened(plan.right)
            return Join(JoinKind.CROSS, left, right), [*first, *second, *conjuncts(plan.on)]
        case SemiJoin() | AntiJoin():
            # A check of a row stays with the rows it checks.
            base, parts = _opened(plan.input)
            return replace(plan, input=base), parts
        case _:
            return plan, []


def _inward(expr: Expr, names: frozenset[str]) -> Expr:
    """Correlated columns that are now columns of the row; deeper sub-queries keep theirs, which read this row."""
    if isinstance(expr, OuterColumn) and expr.name in names:
        return Column(expr.name, expr.of, expr.null)
    return expr.map_children(lambda child: _inward(child, names))
