"""Columns nobody reads are not produced."""

from __future__ import annotations

from dataclasses import replace

from omnigraph_sql.base.catalog import ID, Catalog
from omnigraph_sql.base.expr import Column, Expr, column_names, walk
from omnigraph_sql.base.rebuild import rebuilt
from omnigraph_sql.plan.node import Plan
from omnigraph_sql.plan.nodes import (
    Aggregate,
    AntiJoin,
    Argument,
    Distinct,
    Expand,
    Filter,
    Join,
    Limit,
    Project,
    Rank,
    Scan,
    SemiJoin,
    SetOp,
    Sort,
    Values,
    Window,
    With,
    arguments,
)
from omnigraph_sql.plan.rewrite import is_one_way, reads

Names = set[str]


def prune_columns(plan: Plan, catalog: Catalog) -> Plan:
    """Scans, steps, projections, groups and windows make what is read above them and nothing else.

    before  Project[a.code] ← Filter[a.city is null] ← Scan[a: id, code, city, elevation]
    after   Project[a.code] ← Filter[a.city is null] ← Scan[a: code, city]

    The columns of the whole plan stay as they are, in their order. An edge variable or path that nobody reads loses
    its name; a projection over rows without repeats, a set operation or rows that it leaves as they are is dropped.
    """
    del catalog
    return _all(plan)


def _all(plan: Plan) -> Plan:
    return _prune(plan, set(plan.schema.order))


def _prune(plan: Plan, needed: Names) -> Plan:
    match plan:
        case Scan():
            columns = _kept(plan.columns, plan.variable, needed)
            return plan if columns is plan.columns else Scan(plan.type, plan.variable, columns, plan.filter, plan.at)
        case Argument(fields=fields):
            kept = tuple(f for f in fields if f.name in needed)
            return plan if len(kept) == len(fields) else Argument(kept)
        case Values():
            return _values(plan, needed)
        case Expand():
            return _expand(plan, needed)
        case Project():
            return _project(plan, needed)
        case Filter(predicate=predicate):
            return _single(plan, needed | column_names(predicate))
        case Sort(keys=keys):
            return _single(plan, needed | reads(key.expr for key in keys))
        case Limit():
            return _single(plan, needed)
        case Distinct(on=on):
            return _single(plan, needed | reads(on)) if on else plan.map_inputs(_all)
        case Aggregate():
            return _aggregate(plan, needed)
        case Window():
            return _window(plan, needed)
        case Rank(score=score, name=name):
            return _single(plan, (needed - {name}) | column_names(score) | _ids(score))
        case Join():
            return _join(plan, needed)
        case SemiJoin() | AntiJoin():
            return _check(plan, needed)
        case SetOp():
            return _set_operation(plan, needed)
        case With(ctes=ctes, input=input):
            return With(tuple(replace(cte, plan=_all(cte.plan)) for cte in ctes), _prune(input, needed))
        case _:
            return plan.map_inputs(_all)


def _single(plan: Plan, needed: Names) -> Plan:
    """A node with one input that makes no columns of its own."""
    old: Plan = plan.inputs[0]
    new = _prune(old, needed)
    return plan if new is old else plan.map_inputs(lambda _: new)


def _values(plan: Values, needed: Names) -> Plan:
    kept = [i for i, f in enumerate(plan.fields) if f.name in needed]
    if len(kept) == len(plan.fields):
        return plan
    return Values(tuple(plan.fields[i] for i in kept), tuple(tuple(row[i] for i in kept) for row in plan.rows))


def _ids(score: Expr) -> Names:
    """Whatever is ranked is known by its id."""
    return {f"{part.name.rpartition('.')[0]}.{ID}" for part in walk(score) if isinstance(part, Column)}


def _expand(plan: Expand, needed: Names) -> Plan:
    edge = _kept(plan.edge_columns, plan.edge_variable, needed)
    path = _kept(plan.path_columns, plan.path, needed)
    changes: dict[str, object] = {
        "input": _prune(plan.input, needed | {f"{plan.source}.{ID}"}),
        "edge_variable": plan.edge_variable if edge or plan.edge_filter is not None else None,
        "edge_columns": edge,
        "target_columns": _kept(plan.target_columns, plan.target, needed),
        "path": plan.path if path else None,
        "path_columns": path,
        "flipped": plan.flipped and (bool(path) or is_one_way(plan.walk, plan.hops)),
    }
    if all(getattr(plan, name) is value for name, value in changes.items()):
        return plan
    return rebuilt(plan, changes)


def _kept(columns: tuple[str, ...], variable: str | None, needed: Names) -> tuple[str, ...]:
    """The columns of the variable that are needed; the same tuple when all are."""
    kept = tuple([c for c in columns if f"{variable}.{c}" in needed])
    return columns if len(kept) == len(columns) else kept


def _project(plan: Project, needed: Names) -> Plan:
    kept = tuple((name, expr) for name, expr in plan.items if name in needed)
    if not kept:
        rows = _prune(plan.input, set())
        return Project(rows, ()) if len(rows.schema) else rows
    input = _prune(plan.input, reads(expr for _, expr in kept))
    if isinstance(input, Distinct | SetOp) and _changes_nothing(kept, input):
        return input
    if len(kept) == len(plan.items) and input is plan.input:
        return plan
    return Project(input, kept)


def _changes_nothing(items: tuple[tuple[str, Expr], ...], input: Plan) -> bool:
    if tuple(name for name, _ in items) != input.schema.order:
        return False
    return all(isinstance(expr, Column) and expr.name == name for name, expr in items)


def _aggregate(plan: Aggregate, needed: Names) -> Plan:
    kept = tuple((name, call) for name, call in plan.aggregates if name in needed)
    if not kept and not plan.groups:
        kept = plan.aggregates[:1]
    input = _prune(plan.input, reads(expr for _, expr in (*plan.groups, *kept)))
    if input is plan.input and len(kept) == len(plan.aggregates):
        return plan
    return Aggregate(input, plan.groups, kept, plan.sets)


def _window(plan: Window, needed: Names) -> Plan:
    kept = tuple((name, call) for name, call in plan.items if name in needed)
    input = _prune(plan.input, needed | reads(call for _, call in kept))
    return Window(input, kept) if kept else input


def _join(plan: Join, needed: Names) -> Plan:
    if plan.on is not None:
        needed = needed | column_names(plan.on)
    around = needed | plan.right.outer_columns if plan.lateral else needed
    left, right = _prune(plan.left, around), _prune(plan.right, needed)
    if left is plan.left and right is plan.right:
        return plan
    return Join(plan.kind, left, right, plan.on, plan.lateral)


def _check(plan: SemiJoin | AntiJoin, needed: Names) -> Plan:
    """Of the inner plan only its having rows counts."""
    old = plan.present if isinstance(plan, SemiJoin) else plan.absent
    inner = _prune(old, set())
    handed = {f.name for f in arguments(inner)} | inner.outer_columns
    input = _prune(plan.input, needed | handed)
    if inner is old and input is plan.input:
        return plan
    return SemiJoin(input, inner) if isinstance(plan, SemiJoin) else AntiJoin(input, inner)


def _set_operation(plan: SetOp, needed: Names) -> Plan:
    """Only a union that keeps repeats may lose columns: the others compare whole rows."""
    kept = [i for i, f in enumerate(plan.fields) if f.name in needed]
    if not (plan.op == "union" and plan.all) or not kept or len(kept) == len(plan.fields):
        return plan.map_inputs(_all)
    left, right = (_narrowed(side, kept) for side in (plan.left, plan.right))
    return SetOp(plan.op, plan.all, left, right, tuple(plan.fields[i] for i in kept))


def _narrowed(side: Plan, kept: list[int]) -> Plan:
    """Exactly those columns of the side, by position."""
    names = [side.schema.order[i] for i in kept]
    narrow = _prune(side, set(names))
    if list(narrow.schema.order) == names:
        return narrow
    fields = [narrow.schema.get(name) for name in names]
    return Project(narrow, tuple((f.name, Column(f.name, f.type, f.nullable)) for f in fields if f is not None))
