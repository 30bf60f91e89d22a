"""Bound statements → plans. One shape for every select; the optimizer starts from it.

source → Filter → Aggregate → Filter → Window → Filter → Rank → Sort → Limit → Project, and with DISTINCT the
projection moves below: … → Project → Distinct → Sort → Limit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from omnigraph_sql.base.catalog import ID
from omnigraph_sql.base.expr import (
    TRUE,
    Column,
    Expr,
    OuterColumn,
    SortKey,
    column_names,
    transform,
)
from omnigraph_sql.base.schema import Field
from omnigraph_sql.bind.bound import (
    BoundControl,
    BoundCteScan,
    BoundDelete,
    BoundDerived,
    BoundFunctionTable,
    BoundInsert,
    BoundItem,
    BoundJoin,
    BoundMerge,
    BoundMutation,
    BoundPattern,
    BoundQuery,
    BoundSelect,
    BoundSetOperation,
    BoundSource,
    BoundStatement,
    BoundTable,
    BoundUnit,
    BoundUpdate,
    BoundValues,
    JoinKind,
    MergeArm,
    MergeWhen,
    OnConflict,
)
from omnigraph_sql.plan.lower_pattern import lower_pattern
from omnigraph_sql.plan.lower_select import lower_select, rank
from omnigraph_sql.plan.mutations import MERGE_SOURCE, Control, Delete, Insert, Merge, Unit, Update, Upsert
from omnigraph_sql.plan.node import Subquery, transform_subqueries
from omnigraph_sql.plan.nodes import (
    AntiJoin,
    Argument,
    Cte,
    CteScan,
    Filter,
    FunctionScan,
    Join,
    Limit,
    OneRow,
    Plan,
    Project,
    Relabel,
    Scan,
    SemiJoin,
    SetOp,
    Sort,
    Values,
    With,
)


def lower(statement: BoundStatement) -> Plan:
    """The plan of a statement, correct but not yet optimised."""
    match statement:
        case BoundQuery():
            return lower_query(statement, labelled=True)
        case BoundInsert() | BoundUpdate() | BoundDelete() | BoundMerge():
            return _mutation(statement)
        case BoundUnit(mutations=(only,)):
            return _mutation(only)
        case BoundUnit(name, mutations):
            return Unit(name, tuple(_mutation(m) for m in mutations))
        case BoundControl(command, input):
            return Control(command, None if input is None else lower(input))
        case _:
            assert_never(statement)


def lower_query(query: BoundQuery, *, labelled: bool = False) -> Plan:
    """The rows of a query; `labelled` adds the names the client sees where they differ from the columns."""
    order = tuple(replace(key, expr=lower_expr(key.expr)) for key in query.order)
    limit, offset = _maybe(query.limit), _maybe(query.offset)
    plan: Plan
    match query.body:
        case BoundSelect() as body:
            source = _filtered(OneRow() if body.source is None else lower_source(body.source), body.where)
            plan = lower_select(_lower_items(body), source, order, limit, offset)
        case BoundValues(fields, rows):
            plan = Values(fields, tuple(tuple(map(lower_expr, row)) for row in rows))
            plan = _ordered(plan, order, limit, offset)
        case BoundSetOperation(op, all_rows, left, right, schema):
            plan = SetOp(op, all_rows, lower_query(left), lower_query(right), schema.fields)
            plan = _ordered(plan, order, limit, offset)
        case _:
            assert_never(query.body)
    if query.ctes:
        plan = With(tuple(Cte(c.name, lower_query(c.query), c.recursive) for c in query.ctes), plan)
    if labelled and query.labels and query.labels != plan.schema.order:
        plan = Relabel(plan, query.labels)
    return plan


def _ordered(plan: Plan, order: tuple[SortKey, ...], limit: Expr | None, offset: Expr | None) -> Plan:
    if order:
        plan = Sort(plan, order)
    return plan if limit is None and offset is None else Limit(plan, limit, offset)


def _lower_items(body: BoundSelect) -> BoundSelect:
    """The select with sub-queries of its expressions lowered; where is lowered apart, it stays with the source."""
    group = body.group
    if group is not None:
        group = replace(group, keys=tuple(map(lower_expr, group.keys)))
    return replace(
        body,
        items=tuple(BoundItem(item.name, lower_expr(item.expr)) for item in body.items),
        group=group,
        having=_maybe(body.having),
        qualify=_maybe(body.qualify),
        distinct_on=tuple(map(lower_expr, body.distinct_on)),
    )


def _maybe(expr: Expr | None) -> Expr | None:
    return None if expr is None else lower_expr(expr)


def lower_expr(expr: Expr) -> Expr:
    """The expression with bound sub-queries replaced by plans."""
    return transform_subqueries(expr, _lower_subquery)


def _lower_subquery(expr: Subquery) -> Expr:
    if isinstance(expr.relation, BoundQuery):
        return replace(expr, relation=lower_query(expr.relation))
    return expr


def _filtered(plan: Plan, where: Expr | None) -> Plan:
    if where is None:
        return plan
    plan, (where,) = rank(plan, (lower_expr(where),))
    return Filter(plan, where)


# ---- sources ----------------------------------------------------------------------------------------------------


def lower_source(source: BoundSource) -> Plan:
    """The rows of a FROM clause; every column is `variable.name`."""
    match source:
        case BoundTable(variable, of, at):
            return Scan(of, variable, of.schema.order, None, at)
        case BoundPattern():
            return lower_pattern(source, lower_expr)
        case BoundDerived(variable, columns, query):
            return _derived(variable, columns, lower_query(query))
        case BoundCteScan(variable, name, fields):
            return CteScan(variable, name, fields)
        case BoundFunctionTable(variable, function, arguments, fields):
            taken = tuple(transform(lower_expr(a), _outward) for a in arguments)
            return FunctionScan(variable, function, taken, fields)
        case BoundJoin():
            return _join(source)
        case _:
            assert_never(source)


def _outward(expr: Expr) -> Expr:
    """A table function has no input of its own: what it reads, it reads from the row beside it."""
    return OuterColumn(expr.name, expr.of, expr.null) if isinstance(expr, Column) else expr


def _derived(variable: str, columns: tuple[str, ...], plan: Plan) -> Project:
    fields = zip(columns, plan.schema.fields, strict=True)
    return Project(plan, tuple((f"{variable}.{c}", Column(f.name, f.type, f.nullable)) for c, f in fields))


def _join(join: BoundJoin) -> Plan:
    left, right = lower_source(join.left), lower_source(join.right)
    on = _maybe(join.on)
    if join.kind in (JoinKind.SEMI, JoinKind.ANTI):
        assert on is not None
        inner = _beside(left, right, on)
        return SemiJoin(left, inner) if join.kind is JoinKind.SEMI else AntiJoin(left, inner)
    lateral = bool(right.outer_columns & left.schema.names)
    return Join(join.kind, left, right, on, lateral)


def _beside(left: Plan, right: Plan, on: Expr) -> Plan:
    """Rows of `right` that fit the row of `left` handed over as the argument."""
    used = tuple(f for f in left.schema.fields if f.name in column_names(on))
    return Filter(Join(JoinKind.CROSS, Argument(used), right), on)


# ---- mutations --------------------------------------------------------------------------------------------------


def _mutation(m: BoundMutation) -> Plan:
    match m:
        case BoundInsert():
            return _insert(m)
        case BoundUpdate():
            return _update(m)
        case BoundDelete():
            return _delete(m)
        case BoundMerge():
            return _merge(m)
        case _:
            assert_never(m)


def _named(items: tuple[BoundItem, ...]) -> tuple[tuple[str, Expr], ...]:
    return tuple((item.name, lower_expr(item.expr)) for item in items)


def _insert(m: BoundInsert) -> Insert | Upsert:
    source, returning = lower_query(m.source), _named(m.returning)
    if m.on_conflict is OnConflict.REPLACE and m.type.key:
        return Upsert(m.type, m.variable, m.columns, source, returning, m.at)
    # Without a key nothing can conflict, so a replace is a plain insert.
    conflict = OnConflict.ERROR if m.on_conflict is OnConflict.REPLACE else m.on_conflict
    assignments = tuple(replace(a, value=lower_expr(a.value)) for a in m.assignments)
    where = _maybe(m.where)
    return Insert(m.type, m.variable, m.columns, source, conflict, assignments, where, returning, m.at)


def _target(m: BoundUpdate | BoundDelete) -> Plan:
    """Rows to change: the table, beside the FROM sources, where the condition holds."""
    plan: Plan = Scan(m.type, m.variable, m.type.schema.order, None, m.at)
    if m.source is not None:
        beside = lower_source(m.source)
        plan = Join(JoinKind.CROSS, plan, beside, None, bool(beside.outer_columns & plan.schema.names))
    return _filtered(plan, m.where)


def _carried(plan: Plan, variable: str, returning: tuple[tuple[str, Expr], ...]) -> list[tuple[str, Expr]]:
    """Columns of FROM sources that RETURNING reads travel along; those of the table come from its rows."""
    wanted = {name for _, expr in returning for name in column_names(expr)}
    return [
        (f.name, Column(f.name, f.type, f.nullable))
        for f in plan.schema.fields
        if f.name in wanted and not f.name.startswith(f"{variable}.")
    ]


def _id(plan: Plan, variable: str) -> tuple[str, Expr]:
    field = plan.schema.get(f"{variable}.{ID}")
    assert field is not None
    return ID, Column(field.name, field.type, field.nullable)


def _update(m: BoundUpdate) -> Update:
    plan, returning = _target(m), _named(m.returning)
    values = [(a.property, lower_expr(a.value)) for a in m.assignments]
    rows = Project(plan, (_id(plan, m.variable), *values, *_carried(plan, m.variable, returning)))
    return Update(m.type, m.variable, tuple(a.property for a in m.assignments), rows, returning, m.at)


def _delete(m: BoundDelete) -> Delete:
    plan, returning = _target(m), _named(m.returning)
    rows = Project(plan, (_id(plan, m.variable), *_carried(plan, m.variable, returning)))
    return Delete(m.type, m.variable, rows, m.cascade, returning, m.at)


def _merge(m: BoundMerge) -> Merge:
    source = lower_source(m.source)
    kept = [(f.name, Column(f.name, f.type, f.nullable)) for f in source.schema.fields]
    marked = Project(source, (*kept, (MERGE_SOURCE, TRUE)))
    both_ways = any(arm.when is MergeWhen.NOT_MATCHED_BY_SOURCE for arm in m.arms)
    target = Scan(m.type, m.variable, m.type.schema.order, None, m.at)
    joined = Join(JoinKind.FULL if both_ways else JoinKind.LEFT, marked, target, lower_expr(m.on))
    return Merge(m.type, m.variable, joined, tuple(map(_arm, m.arms)), _named(m.returning), m.at, m.cascade)


def _arm(arm: MergeArm) -> MergeArm:
    assignments = tuple(replace(a, value=lower_expr(a.value)) for a in arm.assignments)
    return replace(arm, condition=_maybe(arm.condition), assignments=assignments)


def output_fields(plan: Plan) -> tuple[Field, ...]:
    """What a client receives, under the names it sees."""
    if isinstance(plan, Relabel):
        pairs = zip(plan.labels, plan.schema.fields, strict=True)
        return tuple(Field(label, f.type, f.nullable) for label, f in pairs)
    return plan.schema.fields
