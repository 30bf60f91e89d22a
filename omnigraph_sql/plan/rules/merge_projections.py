"""Projections move up until they meet the next one and become one with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import cast

from omnigraph_sql.base import expr as ex
from omnigraph_sql.base.catalog import Catalog
from omnigraph_sql.base.expr import Column, Expr, column_names, walk
from omnigraph_sql.base.expr_text import text
from omnigraph_sql.bind.bound import JoinKind
from omnigraph_sql.plan.empty import emptied
from omnigraph_sql.plan.lower_select import named
from omnigraph_sql.plan.node import Plan, walk_everywhere, walk_plan
from omnigraph_sql.plan.nodes import (
    Aggregate,
    AntiJoin,
    Filter,
    Join,
    Limit,
    Project,
    Rank,
    SemiJoin,
    Sort,
    Window,
    With,
    arguments,
)
from omnigraph_sql.plan.rewrite import (
    column,
    filtered,
    inline,
    is_leaf,
    is_pure,
    map_everywhere,
    reads,
    rename_argument,
    substitute_outer,
)

Items = tuple[tuple[str, Expr], ...]


def merge_projections(plan: Plan, catalog: Catalog) -> Plan:
    """A derived table, GRAPH_TABLE or gq() in FROM reads as if its body stood in the query itself.

    before  Project[g.code as c] ← Filter[g.miles > 9] ← Project[a.code as g.code, r.miles as g.miles] ← Expand
    after   Project[a.code as c] ← Filter[r.miles > 9] ← Expand

    Volatile values and sub-queries are never copied, so a projection of them stays where something above reads it.
    Limit, Distinct and set operations keep their input as it is, apart from what only renames.
    """
    del catalog
    return map_everywhere(plan, _merge) if _is_stacked(plan) else plan


def _is_stacked(plan: Plan) -> bool:
    """Whether a projection lies below another node anywhere: most questions have one, at the top."""
    return any(isinstance(below, Project | With) for node in walk_everywhere(plan) for below in node.inputs)


def _merge(node: Plan) -> Plan:
    match node:
        case Project(input=Project() as below):
            return _project(node, below)
        case Project(input=With() as below):
            return With(below.ctes, _merge(Project(below.input, node.items)))
        case Filter(input=Project() as below) | Sort(input=Project() as below):
            return _above(node, below)
        case Limit(input=Project() as below):
            return Project(_merge(Limit(below.input, node.count, node.offset)), below.items)
        case Aggregate(input=Project() as below):
            return _aggregate(node, below)
        case Window(input=Project() as below):
            return _window(node, below)
        case Rank(input=Project() as below):
            return _rank(node, below)
        case Join(left=Project()) | Join(right=Project()):
            return _join(node)
        case SemiJoin(input=Project() as below, present=inner) | AntiJoin(input=Project() as below, absent=inner):
            return _check(node, below, inner)
        case _:
            return node


def _project(node: Project, below: Project) -> Project:
    table = dict(below.items)
    uses: Counter[str] = Counter()
    for _, expr in node.items:
        uses.update(part.name for part in walk(expr) if isinstance(part, Column))
        uses.update(column_names(expr))
    # Each use counts once as a column and once as a name: two is a single use.
    if any(uses[name] > 2 and not is_leaf(expr) for name, expr in below.items):
        return node
    return Project(below.input, tuple((name, inline(expr, table)) for name, expr in node.items))


def _copyable(exprs: Iterable[Expr], below: Project) -> bool:
    used = reads(exprs)
    return all(is_pure(expr) for name, expr in below.items if name in used)


def _above(node: Filter | Sort, below: Project) -> Plan:
    if not _copyable(node.exprs(), below):
        return node
    return Project(_merge(_rebuilt(node, below.input, dict(below.items))), below.items)


def _rebuilt(node: Filter | Sort, input: Plan, table: dict[str, Expr]) -> Plan:
    if isinstance(node, Filter):
        return filtered(input, (inline(node.predicate, table),))
    return Sort(input, tuple(replace(key, expr=inline(key.expr, table)) for key in node.keys))


def _aggregate(node: Aggregate, below: Project) -> Plan:
    if not _copyable([e for _, e in (*node.groups, *node.aggregates)], below):
        return node
    table = dict(below.items)
    groups = named([inline(e, table) for _, e in node.groups], ())
    calls = [cast("ex.Aggregate", inline(e, table)) for _, e in node.aggregates]
    aggregates = named(calls, (name for name, _ in groups))
    inner = Aggregate(below.input, tuple(groups), tuple(aggregates), node.sets)
    return _renamed(_merge(inner), node)


def _renamed(plan: Plan, like: Plan) -> Plan:
    """The plan under the column names of `like`, by position."""
    if plan.schema.order == like.schema.order:
        return plan
    pairs = zip(like.schema.order, plan.schema.fields, strict=True)
    return Project(plan, tuple((name, column(f)) for name, f in pairs))


def _window(node: Window, below: Project) -> Plan:
    if not _copyable([e for _, e in node.items], below):
        return node
    table = dict(below.items)
    calls = [cast("ex.WindowCall", inline(e, table)) for _, e in node.items]
    items = named(calls, below.input.schema.order)
    inner = Window(below.input, tuple(items))
    added = tuple(
        (old, Column(new, call.type, call.nullable)) for (old, _), (new, call) in zip(node.items, items, strict=True)
    )
    return Project(_merge(inner), (*below.items, *added))


def _rank(node: Rank, below: Project) -> Plan:
    table = dict(below.items)
    if not all(is_leaf(table[name]) for name in column_names(node.score) if name in table):
        return node
    score = cast("ex.Score", inline(node.score, table))
    name = text(score)
    inner = below.input if name in below.input.schema else _merge(Rank(below.input, score, name))
    return Project(inner, (*below.items, (node.name, Column(name, score.type, True))))


def _check(node: SemiJoin | AntiJoin, below: Project, inner: Plan) -> Plan:
    taken = {f.name for f in arguments(inner)} | inner.outer_columns
    read = {name: expr for name, expr in below.items if name in taken}
    names = {name: expr.name for name, expr in read.items() if isinstance(expr, Column)}
    if len(names) < len(read) or not set(names.values()).isdisjoint(_made(inner)):
        return node
    renamed = rename_argument(inner, names)
    if renamed is None:
        return node
    kind = type(node)
    return Project(_merge(kind(below.input, renamed)), below.items)


def _made(plan: Plan) -> set[str]:
    return {name for part in walk_plan(plan) for name in part.schema.order}


_LEFT_ANY = (JoinKind.INNER, JoinKind.CROSS, JoinKind.LEFT)
_RIGHT_ANY = (JoinKind.INNER, JoinKind.CROSS, JoinKind.RIGHT)


def _join(node: Join) -> Plan:
    """Where a row may be padded with nulls, only plain columns pass: an expression over nulls need not be null."""
    left, right, table = node.left, node.right, dict[str, Expr]()
    if isinstance(left, Project) and _passes(left, node.kind in _LEFT_ANY, right):
        if node.lateral:
            right = substitute_outer(right, dict(left.items))
        table |= dict(left.items)
        left = left.input
    if isinstance(right, Project) and _passes(right, node.kind in _RIGHT_ANY, left):
        table |= dict(right.items)
        right = right.input
    if left is node.left and right is node.right:
        return node
    on = None if node.on is None else inline(node.on, table)
    inner = Join(node.kind, left, right, on, node.lateral)
    items = tuple((f.name, table.get(f.name) or column(f)) for f in node.schema.fields)
    return Project(emptied(_merge(inner)), tuple((name, _as_joined(expr, inner)) for name, expr in items))


def _passes(side: Project, any_expression: bool, other: Plan) -> bool:
    plain = all(isinstance(e, Column) or (any_expression and is_pure(e)) for _, e in side.items)
    return plain and side.input.schema.names.isdisjoint(other.schema.names)


def _as_joined(expr: Expr, join: Join) -> Expr:
    """A plain column may have become optional by the join."""
    if isinstance(expr, Column):
        field = join.schema.get(expr.name)
        return expr if field is None or field.nullable == expr.null else replace(expr, null=field.nullable)
    return expr
