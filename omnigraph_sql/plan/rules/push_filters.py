"""Conditions are asked as early as their columns exist."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from omnigraph_sql.base.catalog import Catalog
from omnigraph_sql.base.expr import TRUE, Column, Expr, column_names, conjuncts
from omnigraph_sql.bind.bound import JoinKind
from omnigraph_sql.plan.empty import emptied
from omnigraph_sql.plan.node import Plan, has_subquery
from omnigraph_sql.plan.nodes import (
    Aggregate,
    AntiJoin,
    Argument,
    Distinct,
    Expand,
    Filter,
    Join,
    Project,
    Scan,
    SemiJoin,
    SetOp,
    Sort,
    Window,
    With,
    arguments,
)
from omnigraph_sql.plan.rewrite import all_of, column, filtered, inline, is_pure, is_volatile, reads

Parts = list[Expr]


def push_filters(plan: Plan, catalog: Catalog) -> Plan:
    """Conjuncts move below projections, joins, set operations, groups and windows, to the rows they speak of.

    before  Filter[a.code = $c, count(*) > 2] ← Aggregate[by a.code] ← Join left ← Scan[a], Scan[r]
    after   Filter[count(*) > 2] ← Aggregate[by a.code] ← Join left ← Filter[a.code = $c] ← Scan[a], Scan[r]

    Never below a limit, and never past a rank: what may be ranked is decided by the filters written below it. The
    optional side of an outer join keeps its rows; conditions on it wait above.
    """
    del catalog
    return _push(plan, [])


def _push(plan: Plan, parts: Parts) -> Plan:
    """The plan with the parts asked of its rows, as deep down as they may go."""
    if _is_query_graph(plan):
        return filtered(plan, parts)
    match plan:
        case Filter(input=input, predicate=predicate):
            return _push(input, [*conjuncts(predicate), *parts])
        case Join():
            return _join(plan, parts)
        case Project():
            return _project(plan, parts)
        case Aggregate():
            return _aggregate(plan, parts)
        case Window():
            return _window(plan, parts)
        case SetOp():
            return _set_operation(plan, parts)
        case Sort(input=input) | Distinct(input=input, on=()):
            moved, kept = _split(parts, lambda part: not is_volatile(part))
            return filtered(_over(plan, input, _push(input, moved)), kept)
        case With(input=input):
            ctes = tuple(replace(cte, plan=_push(cte.plan, [])) for cte in plan.ctes)
            return With(ctes, _push(input, parts))
        case SemiJoin(input=input, present=inner):
            return _sink(SemiJoin, _push(inner, []), _push(input, parts))
        case AntiJoin(input=input, absent=inner):
            return _sink(AntiJoin, _push(inner, []), _push(input, parts))
        case _:
            return filtered(plan.map_inputs(lambda child: _push(child, [])), parts)


def _is_query_graph(plan: Plan) -> bool:
    """Whether it is tables, steps and inner joins alone: there the order of joins places every condition anyway."""
    match plan:
        case Scan() | Argument():
            return True
        case Filter(input=input) | Expand(input=input):
            return _is_query_graph(input)
        case Join(kind=JoinKind.INNER | JoinKind.CROSS, left=left, right=right, lateral=False):
            return _is_query_graph(left) and _is_query_graph(right)
        case _:
            return False


def _over(plan: Plan, old: Plan, new: Plan) -> Plan:
    return plan if new is old else plan.map_inputs(lambda _: new)


def _split(parts: Parts, moves: Callable[[Expr], bool]) -> tuple[Parts, Parts]:
    moved: Parts = []
    kept: Parts = []
    for part in parts:
        (moved if moves(part) else kept).append(part)
    return moved, kept


def _within(part: Expr, plan: Plan) -> bool:
    """Whether the part speaks of columns of `plan` alone, and of at least one."""
    names = column_names(part)
    return bool(names) and all(name in plan.schema for name in names) and not is_volatile(part)


def _sink(check: type[SemiJoin | AntiJoin], inner: Plan, plan: Plan) -> Plan:
    """The check below filters, and on the one side of a join that it asks of, unless that side may be padded."""
    match plan:
        case Filter(input=input, predicate=predicate):
            return Filter(_sink(check, inner, input), predicate)
        case Join(kind=JoinKind.LEFT | JoinKind.INNER | JoinKind.CROSS) if _asks_only(inner, plan.left):
            return replace(plan, left=_sink(check, inner, plan.left))
        case Join(kind=JoinKind.RIGHT | JoinKind.INNER | JoinKind.CROSS, lateral=False) if _asks_only(
            inner, plan.right
        ):
            return replace(plan, right=_sink(check, inner, plan.right))
        case _:
            return check(plan, inner)


def _asks_only(inner: Plan, side: Plan) -> bool:
    taken = arguments(inner)
    return bool(taken) and all(f.name in side.schema for f in taken) and not inner.outer_columns


# ---- joins ------------------------------------------------------------------------------------------------------


def _join(join: Join, parts: Parts) -> Plan:
    on: Parts = list(conjuncts(join.on))
    stays: Parts = []
    if join.kind not in (JoinKind.INNER, JoinKind.CROSS):
        # A sub-query that decides what an outer join pairs is not asked of one side's rows.
        stays, on = _split(on, has_subquery)
    to_left: Parts = []
    to_right: Parts = []
    if join.kind in (JoinKind.INNER, JoinKind.CROSS):
        # Above and within an inner join means the same.
        on, parts = [*on, *parts], []
        parts, on = _split(on, is_volatile)
    if join.kind in (JoinKind.INNER, JoinKind.CROSS, JoinKind.LEFT):
        to_left, parts = _split(parts, lambda part: _within(part, join.left))
        more, on = _split(on, lambda part: join.kind is not JoinKind.LEFT and _within(part, join.left))
        to_left += more
    if join.kind in (JoinKind.INNER, JoinKind.CROSS, JoinKind.RIGHT) and not join.lateral:
        to_right, parts = _split(parts, lambda part: _within(part, join.right))
    if not join.lateral and join.kind is not JoinKind.FULL:
        more, on = _split(on, lambda part: join.kind is not JoinKind.RIGHT and _within(part, join.right))
        to_right += more
    if join.kind is JoinKind.RIGHT:
        more, on = _split(on, lambda part: _within(part, join.left))
        to_left += more
    left, right = _push(join.left, to_left), _push(join.right, to_right)
    return filtered(emptied(_joined(join, left, right, [*on, *stays])), parts)


def _joined(join: Join, left: Plan, right: Plan, on: Parts) -> Join:
    condition = all_of(on)
    kind = join.kind
    if kind in (JoinKind.INNER, JoinKind.CROSS):
        kind = JoinKind.CROSS if condition is None else JoinKind.INNER
    elif condition is None:
        condition = TRUE
    return Join(kind, left, right, condition, join.lateral)


# ---- other nodes ------------------------------------------------------------------------------------------------


def _project(project: Project, parts: Parts) -> Plan:
    table = dict(project.items)
    moved, kept = _split(parts, lambda part: _copyable(part, table))
    below = _push(project.input, [inline(part, table) for part in moved])
    return filtered(_over(project, project.input, below), kept)


def _copyable(part: Expr, table: dict[str, Expr]) -> bool:
    return not is_volatile(part) and all(is_pure(table[name]) for name in column_names(part) if name in table)


def _aggregate(node: Aggregate, parts: Parts) -> Plan:
    """A condition on keys alone keeps or drops whole groups; without keys there is always one row."""
    keys = dict(node.groups) if node.sets is None else {}
    moved, kept = _split(
        parts, lambda part: bool(names := column_names(part)) and names <= keys.keys() and _copyable(part, keys)
    )
    below = _push(node.input, [inline(part, keys) for part in moved])
    return filtered(_over(node, node.input, below), kept)


def _window(node: Window, parts: Parts) -> Plan:
    """A condition on the partition alone keeps or drops whole partitions."""
    shared = [{e.name for e in call.partition if isinstance(e, Column)} for _, call in node.items]
    common = set.intersection(*shared) if shared else set()
    moved, kept = _split(
        parts, lambda part: bool(names := column_names(part)) and names <= common and not is_volatile(part)
    )
    return filtered(_over(node, node.input, _push(node.input, moved)), kept)


def _set_operation(node: SetOp, parts: Parts) -> Plan:
    """Rows of either side are asked; a column that only the result has the type of is asked above."""
    sides = [
        {f.name: column(own) for f, own in zip(node.fields, side.schema.fields, strict=True) if f.type == own.type}
        for side in (node.left, node.right)
    ]
    both = sides[0].keys() & sides[1].keys()
    moved, kept = _split(parts, lambda part: _asks(part, both))
    left = _push(node.left, [inline(part, sides[0]) for part in moved])
    right = _push(node.right, [inline(part, sides[1]) for part in moved])
    return filtered(SetOp(node.op, node.all, left, right, node.fields), kept)


def _asks(part: Expr, both: set[str]) -> bool:
    names = reads((part,))
    return bool(names) and names <= both and not is_volatile(part)
