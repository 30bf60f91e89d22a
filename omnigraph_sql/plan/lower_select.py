"""A select over its lowered source: aggregates, window calls and scores become columns of nodes of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeVar, cast

from omnigraph_sql.base import expr as ex
from omnigraph_sql.base.expr import Column, Expr, SortKey, walk
from omnigraph_sql.base.expr_text import text
from omnigraph_sql.bind.bound import BoundGroup, BoundSelect
from omnigraph_sql.plan.nodes import Aggregate, Distinct, Filter, Limit, Plan, Project, Rank, Sort, Window

_E = TypeVar("_E", bound=Expr)
Kinds = frozenset[type[Expr]]
_SCORES: Kinds = frozenset((ex.Nearest, ex.Bm25, ex.Fuse))
_AGGREGATES: Kinds = frozenset((ex.Aggregate,))
_WINDOWS: Kinds = frozenset((ex.WindowCall,))


class _Stage:
    """The expressions still to be computed, rewritten together whenever a node takes some of the work."""

    def __init__(self, select: BoundSelect, order: tuple[SortKey, ...]) -> None:
        self.items = [item.expr for item in select.items]
        self.names = [item.name for item in select.items]
        self.order = list(order)
        self.having = select.having
        self.qualify = select.qualify
        self.on = list(select.distinct_on)

    def all(self) -> list[Expr]:
        conditions = [e for e in (self.having, self.qualify) if e is not None]
        return [*self.items, *(key.expr for key in self.order), *conditions, *self.on]

    def rewrite(self, table: dict[Expr, Column]) -> None:
        if not table:
            return
        self.items = [substitute(e, table) for e in self.items]
        self.order = [replace(key, expr=substitute(key.expr, table)) for key in self.order]
        self.having = None if self.having is None else substitute(self.having, table)
        self.qualify = None if self.qualify is None else substitute(self.qualify, table)
        self.on = [substitute(e, table) for e in self.on]


def lower_select(
    select: BoundSelect, plan: Plan, order: tuple[SortKey, ...], limit: Expr | None, offset: Expr | None
) -> Plan:
    """`plan` is the source with its condition; sub-queries in the expressions are lowered already."""
    stage = _Stage(select, order)
    plan = _aggregate(select.group, stage, plan)
    if stage.having is not None:
        plan = Filter(plan, stage.having)
    plan = _window(stage, plan)
    if stage.qualify is not None:
        plan, (qualify,) = rank(plan, (stage.qualify,))
        plan = Filter(plan, qualify)
    plan = _rank_stage(stage, plan)
    items = tuple(zip(stage.names, stage.items, strict=True))
    if select.distinct and not select.distinct_on:
        plan = Distinct(Project(plan, items))
        table = {e: Column(name, e.type, e.nullable) for name, e in items}
        keys = tuple(replace(key, expr=substitute(key.expr, table)) for key in stage.order)
        return _limited(Sort(plan, keys) if keys else plan, limit, offset)
    if stage.order:
        plan = Sort(plan, tuple(stage.order))
    if stage.on:
        plan = Distinct(plan, tuple(stage.on))
    return Project(_limited(plan, limit, offset), items)


def _limited(plan: Plan, limit: Expr | None, offset: Expr | None) -> Plan:
    return plan if limit is None and offset is None else Limit(plan, limit, offset)


def substitute(expr: Expr, table: dict[Expr, Column]) -> Expr:
    """Replace whole sub-expressions by columns, outside in."""
    # Looking up an expression hashes all of it, so only those of a kind that is in the table are looked up.
    kinds = {type(key) for key in table}

    def visit(part: Expr) -> Expr:
        found = table.get(part) if type(part) in kinds else None
        return found if found is not None else part.map_children(visit) if part.parts else part

    return visit(expr)


def _outermost(exprs: Iterable[Expr], kinds: Kinds, wanted: Callable[[Expr], bool] | None = None) -> list[Expr]:
    """Distinct sub-expressions of those kinds in order of appearance, not looking inside a match."""
    found: dict[Expr, None] = {}

    def visit(expr: Expr) -> None:
        if type(expr) in kinds and (wanted is None or wanted(expr)):
            found.setdefault(expr)
        else:
            for child in expr.child_list():
                visit(child)

    for expr in exprs:
        if expr.parts and not kinds.isdisjoint(map(type, expr.every_part())):
            visit(expr)
    return list(found)


def named(exprs: Iterable[_E], taken: Iterable[str]) -> list[tuple[str, _E]]:
    """Each expression under its own text, numbered where two share one."""
    names = set(taken)
    found: list[tuple[str, _E]] = []
    for expr in exprs:
        base = name = text(expr)
        number = 1
        while name in names:
            number += 1
            name = f"{base} #{number}"
        names.add(name)
        found.append((name, expr))
    return found


def _columns(pairs: Iterable[tuple[str, Expr]]) -> dict[Expr, Column]:
    return {e: Column(name, e.type, e.nullable) for name, e in pairs}


def rank(plan: Plan, exprs: tuple[Expr, ...]) -> tuple[Plan, tuple[Expr, ...]]:
    """The plan with a column per distinct score in `exprs`, and the expressions over those columns."""
    scores = _outermost(exprs, _SCORES)
    if not scores:
        return plan, exprs
    scored = named(scores, ())
    for name, score in scored:
        # A score that an earlier clause ranked by already is the same column.
        if name not in plan.schema:
            plan = Rank(plan, cast("ex.Score", score), name)
    table = _columns(scored)
    return plan, tuple(substitute(e, table) for e in exprs)


def _rank_stage(stage: _Stage, plan: Plan) -> Plan:
    exprs = tuple(stage.all())
    scores = _outermost(exprs, _SCORES)
    if scores:
        plan, _ = rank(plan, exprs)
        stage.rewrite(_columns(named(scores, ())))
    return plan


def _aggregate(group: BoundGroup | None, stage: _Stage, plan: Plan) -> Plan:
    calls = cast("list[ex.Aggregate]", _outermost(stage.all(), _AGGREGATES))
    if group is None and not calls:
        return plan
    keys = list(group.keys) if group is not None else []
    sets = group.sets if group is not None else None
    pieces: tuple[Expr, ...] = (*keys, *calls)
    plan, computed = rank(plan, pieces)
    named_keys = named(list(dict.fromkeys(keys)) if sets is None else keys, ())
    named_calls = named(calls, (name for name, _ in named_keys))
    over = dict(zip(pieces, computed, strict=True))
    groups = tuple((name, over[key]) for name, key in named_keys)
    aggregates = tuple((name, cast("ex.Aggregate", over[call])) for name, call in named_calls)
    node = Aggregate(plan, groups, aggregates, sets)
    table = {e: _column_of(node, name) for name, e in (*named_keys, *named_calls)}
    stage.rewrite(table)
    return node


def _column_of(plan: Plan, name: str) -> Column:
    field = plan.schema.get(name)
    assert field is not None
    return Column(name, field.type, field.nullable)


def _window(stage: _Stage, plan: Plan) -> Plan:
    """Window calls nest (an aggregate over a rank): innermost first."""
    while True:
        calls = _outermost(stage.all(), _WINDOWS, _is_flat)
        if not calls:
            return plan
        plan, computed = rank(plan, tuple(calls))
        over = named(calls, plan.schema.order)
        items = zip((name for name, _ in over), computed, strict=True)
        plan = Window(plan, tuple((name, cast("ex.WindowCall", call)) for name, call in items))
        stage.rewrite(_columns(over))


def _is_flat(call: Expr) -> bool:
    return not any(isinstance(part, ex.WindowCall) for child in call.children() for part in walk(child))
