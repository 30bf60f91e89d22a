"""Joins: their kinds, conditions, merged columns, and what an outer join does to nullability.

JOIN binds tighter than the comma: `a, b LEFT JOIN c ON …` is `a, (b LEFT JOIN c ON …)`, so a condition sees the tables
of its own join only. LATERAL items see everything to their left.
"""

from __future__ import annotations

from typing import Final, NoReturn

from sqlglot import exp

from omnigraph_sql.base.errors import UnknownName
from omnigraph_sql.base.expr import TRUE, Call, Column, Compare, Expr, all_of, column_names, walk
from omnigraph_sql.base.types import BLOB, VectorType, common_type, comparable
from omnigraph_sql.bind.bound import BoundDerived, BoundFunctionTable, BoundJoin, BoundSource, JoinKind
from omnigraph_sql.bind.sql_binder import SqlBinder, name_of
from omnigraph_sql.bind.sql_clauses import refuse_clauses
from omnigraph_sql.bind.sql_scope import MergedColumn, Name, Scope, ScopeColumn
from omnigraph_sql.bind.sql_types import declared

Item = tuple[BoundSource, Scope]
_Used = tuple[Name, exp.Expr]
"""A column of USING or NATURAL, and what errors about it point at."""

_JOIN: Final = frozenset({"this", "on", "side", "kind", "using", "method"})
_SIDES: Final = {"LEFT": JoinKind.LEFT, "RIGHT": JoinKind.RIGHT, "FULL": JoinKind.FULL}
_KINDS: Final = {"": JoinKind.INNER, "INNER": JoinKind.INNER, "CROSS": JoinKind.CROSS}
_HALVES: Final = {"SEMI": JoinKind.SEMI, "ANTI": JoinKind.ANTI}
_METHODS: Final = {
    "ASOF": ("ASOF joins are not supported", "join with ON a.at >= b.at, then keep one row with QUALIFY row_number()"),
    "POSITIONAL": ("POSITIONAL joins are not supported", "number both sides with row_number() and join on the number"),
}


def join_all(binder: SqlBinder, item: Item, joins: list[exp.Expr], around: Scope) -> Item:
    """`item` with the chain of joins and commas behind it."""
    done: Item | None = None
    left = around
    for join in joins:
        if not isinstance(join, exp.Join):
            binder.refuse_node(join)
        if _is_comma(join):
            done = item if done is None else _beside(binder, done, item, join)
            left = _seen(around, done[1])
            item = _right(binder, join, left)
        else:
            item = _joined(binder, item, join, left)
    return item if done is None else _beside(binder, done, item, joins[-1])


def _is_comma(join: exp.Join) -> bool:
    """sqlglot gives a comma its table and nothing else; a JOIN always has an entry for pivots, set or not."""
    apply = isinstance(join.this, exp.Lateral) and join.this.args.get("cross_apply") is not None
    return "pivots" not in join.args and not apply


def _seen(around: Scope, here: Scope) -> Scope:
    """What an item to the right of `here` may read laterally."""
    return Scope(around.parent, [*around.tables, *here.tables], [*around.merged, *here.merged], around.outer)


def _right(binder: SqlBinder, join: exp.Join, around: Scope) -> Item:
    from omnigraph_sql.bind.sql_from import bind_source

    if not isinstance(join.this, exp.Expr):
        binder.refuse_node(join)
    return bind_source(binder, join.this, around)


def _beside(binder: SqlBinder, left: Item, right: Item, join: exp.Expr) -> Item:
    scope = _both(binder, left[1], right[1], join)
    return BoundJoin(JoinKind.CROSS, left[0], right[0]), scope


def _both(binder: SqlBinder, left: Scope, right: Scope, at: exp.Expr) -> Scope:
    names = {table.name.casefold() for table in left.tables}
    for table in right.tables:
        if table.name.casefold() in names:
            place = at.this if isinstance(at, exp.Join) else at
            hint = f"give one of them an alias: {table.name} AS {table.name[:1].lower()}2"
            raise binder.mismatch(f"two tables in FROM have this name: {table.name}", place, hint)
    return left.joined(right)


# ---- one join ---------------------------------------------------------------------------------------------------


def _joined(binder: SqlBinder, left: Item, join: exp.Join, around: Scope) -> Item:
    refuse_clauses(binder, join, _JOIN)
    kind = _kind(binder, join)
    seen = _seen(around, left[1])
    right = _right(binder, join, seen)
    _refuse_sideways(binder, kind, left[1], right[0], join)
    both = _both(binder, left[1], right[1], join)
    on, merged = _condition(binder, join, kind, left[1], right[1], both, around)
    source = BoundJoin(kind, left[0], right[0], on)
    if kind in (JoinKind.SEMI, JoinKind.ANTI):
        return source, Scope(both.parent, left[1].tables, left[1].merged, both.outer)
    return source, _result(kind, left[1], right[1], both.outer, merged)


def _kind(binder: SqlBinder, join: exp.Join) -> JoinKind:
    method = str(join.args.get("method") or "").upper()
    if method in _METHODS:
        message, hint = _METHODS[method]
        raise binder.unsupported(message, join.this, hint)
    side, kind = str(join.args.get("side") or "").upper(), str(join.args.get("kind") or "").upper()
    if isinstance(join.this, exp.Lateral) and join.this.args.get("cross_apply") is not None:
        return JoinKind.CROSS if join.this.args["cross_apply"] else JoinKind.LEFT
    found: JoinKind | None = None
    if kind in _HALVES and side in ("", "LEFT"):
        found = _HALVES[kind]
    elif side in _SIDES and kind in ("", "OUTER"):
        found = _SIDES[side]
    elif not side:
        found = _KINDS.get(kind)
    if found is None or method not in ("", "NATURAL"):
        words = " ".join(filter(None, (method, side, kind, "JOIN")))
        hint = "write INNER, LEFT, RIGHT, FULL, CROSS, SEMI or ANTI JOIN"
        raise binder.unsupported(f"{words} is not supported", join.this, hint)
    return found


def _refuse_sideways(binder: SqlBinder, kind: JoinKind, left: Scope, right: BoundSource, join: exp.Join) -> None:
    """The right side may read the left one only where the left row is there first."""
    if kind not in (JoinKind.RIGHT, JoinKind.FULL, JoinKind.SEMI, JoinKind.ANTI):
        return
    mine = {part.name for t in left.tables for c in t.columns for part in walk(c.expr) if isinstance(part, Column)}
    if _reads(right) & mine:
        hint = "use EXISTS or NOT EXISTS" if kind in (JoinKind.SEMI, JoinKind.ANTI) else "use LEFT JOIN LATERAL"
        message = f"the right side of {kind.value.upper()} JOIN cannot read the left side"
        raise binder.unsupported(message, join.this, hint)


def _reads(source: BoundSource) -> frozenset[str]:
    """Columns of items to the left that an item reads."""
    if isinstance(source, BoundDerived):
        return source.query.outer_columns
    if isinstance(source, BoundFunctionTable):
        return frozenset().union(*map(column_names, source.arguments))
    if isinstance(source, BoundJoin):
        return _reads(source.left) | _reads(source.right)
    return frozenset()


# ---- conditions -------------------------------------------------------------------------------------------------


def _condition(
    binder: SqlBinder, join: exp.Join, kind: JoinKind, left: Scope, right: Scope, both: Scope, around: Scope
) -> tuple[Expr | None, list[MergedColumn]]:
    on, using = join.args.get("on"), join.args.get("using") or []
    natural = bool(join.args.get("method"))
    if kind is JoinKind.CROSS:
        if on is not None or using:
            raise binder.mismatch("CROSS JOIN has no condition", on or using[0], "write JOIN … ON")
        return None, []
    if natural:
        if on is not None or using:
            raise binder.mismatch("NATURAL JOIN has no condition", on or using[0], "take NATURAL or the condition away")
        return _using(binder, _shared(binder, join, left, right), kind, left, right)
    if using:
        return _using(binder, _named(binder, using), kind, left, right)
    if on is not None:
        return _on(binder, on, both, around), []
    if isinstance(join.this, exp.Lateral) and join.this.args.get("cross_apply") is not None:
        return TRUE, []
    word = "JOIN" if kind is JoinKind.INNER else f"{kind.value.upper()} JOIN"
    hint = "add ON … or USING (…)" + (", or write CROSS JOIN" if kind is JoinKind.INNER else "")
    raise binder.mismatch(f"{word} has no condition", join.this, hint)


def _on(binder: SqlBinder, on: exp.Expr, both: Scope, around: Scope) -> Expr:
    try:
        return binder.bind_condition(on, both, "ON")
    except UnknownName as error:
        before = [t.name for t in around.tables]
        if error.hint is None and any(f"'{name}'" in error.message for name in before):
            error.hint = "a comma separates it from this join; write CROSS JOIN instead of the comma"
        raise


def _shared(binder: SqlBinder, join: exp.Join, left: Scope, right: Scope) -> list[_Used]:
    """Names of columns that `*` shows on both sides, in the order of the left one."""
    there = {column.name.casefold() for _, column in right.starred()}
    names = dict.fromkeys(c.name for _, c in left.starred() if c.name.casefold() in there)
    if not names:
        hint = "write JOIN … ON, or CROSS JOIN for all pairs"
        raise binder.mismatch("the two sides of NATURAL JOIN share no column", join.this, hint)
    return [(Name(name), join.this) for name in names]


def _named(binder: SqlBinder, using: list[exp.Expr]) -> list[_Used]:
    for node in using:
        if not isinstance(node, exp.Identifier):
            raise binder.unsupported("USING takes names of columns", node, "write ON for any other condition")
    return [(name_of(node), node) for node in using]


def _using(
    binder: SqlBinder, names: list[_Used], kind: JoinKind, left: Scope, right: Scope
) -> tuple[Expr, list[MergedColumn]]:
    pairs: list[Expr] = []
    merged: list[MergedColumn] = []
    for name, at in names:
        one, other = _side(binder, left, name, at, "left"), _side(binder, right, name, at, "right")
        if one.expr.type != other.expr.type and not comparable(one.expr.type, other.expr.type):
            words = f"{declared(one.expr.type)} on the left and {declared(other.expr.type)} on the right"
            raise binder.mismatch(f"{name.text} is {words}", at, "cast one of them in a sub-query")
        if isinstance(one.expr.type, VectorType) or one.expr.type == BLOB:
            message = f"{name.text} is {declared(one.expr.type)}, which cannot be compared"
            raise binder.mismatch(message, at, "join on other columns with ON")
        pairs.append(Compare("=", one.expr, other.expr))
        merged.append(_merge(kind, one, other, left, right, name))
    return all_of(pairs) or TRUE, merged


def _side(binder: SqlBinder, scope: Scope, name: Name, at: exp.Expr, side: str) -> ScopeColumn:
    found = scope.find(name)
    if not found:
        known = (c.name for t in scope.tables for c in t.columns)
        raise binder.unknown("column", name.text, at, known, f"the {side} side of the join has no such column")
    if len(found) > 1:
        _refuse_ambiguous(binder, name, at, side)
    return found[0]


def _refuse_ambiguous(binder: SqlBinder, name: Name, at: exp.Expr, side: str) -> NoReturn:
    message = f"column '{name.text}' is ambiguous: the {side} side of the join has more than one"
    raise binder.mismatch(message, at, "write ON a.column = b.column")


# ---- the scope behind a join ------------------------------------------------------------------------------------


def _merge(
    kind: JoinKind, left: ScopeColumn, right: ScopeColumn, before: Scope, after: Scope, name: Name
) -> MergedColumn:
    """The one column the two become: the side that is always there, or the first that is not null."""
    expr: Expr = left.expr
    if kind is JoinKind.RIGHT:
        expr = right.expr
    elif kind is JoinKind.FULL:
        of = common_type(left.expr.type, right.expr.type) or left.expr.type
        expr = Call("coalesce", (left.optional().expr, right.optional().expr), of)
    pairs = {
        (t.variable, c.name) for s in (before, after) for t in s.tables for c in t.find(name) if c in (left, right)
    }
    for old in (*before.merged, *after.merged):
        if old.column in (left, right):
            pairs |= old.stands_for
    first = before.tables[0].variable if before.tables else ""
    return MergedColumn(ScopeColumn(left.name, expr), frozenset(pairs), first)


def _result(kind: JoinKind, left: Scope, right: Scope, outer: set[str], merged: list[MergedColumn]) -> Scope:
    if kind in (JoinKind.RIGHT, JoinKind.FULL):
        left = left.optional()
    if kind in (JoinKind.LEFT, JoinKind.FULL):
        right = right.optional()
    new = {pair for one in merged for pair in one.stands_for}
    kept = [old for old in (*left.merged, *right.merged) if not old.stands_for <= new]
    return Scope(left.parent, [*left.tables, *right.tables], [*merged, *kept], outer)
