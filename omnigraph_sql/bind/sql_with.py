"""WITH: common table expressions, each visible to those behind it and to the query."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sqlglot import exp

from omnigraph_sql.base.schema import Field, Schema
from omnigraph_sql.bind.bound import BoundCte, BoundQuery, BoundSetOperation
from omnigraph_sql.bind.sql_binder import CteName, SqlBinder
from omnigraph_sql.bind.sql_clauses import refuse_clauses
from omnigraph_sql.bind.sql_naming import distinct_names, with_names
from omnigraph_sql.bind.sql_scope import Scope
from omnigraph_sql.bind.sql_set import Side, combined, labels_of, word_of

_WITH: Final = frozenset({"expressions", "recursive"})
# MATERIALIZED is a wish about how to run the query; the planner decides that itself.
_CTE: Final = frozenset({"this", "alias", "materialized"})
_BODY: Final = frozenset({"with_", "this", "expression", "distinct", "by_name", "order", "limit", "offset"})


def bind_with(binder: SqlBinder, tree: exp.Expr, outer: Scope | None) -> tuple[BoundCte, ...]:
    """The expressions in order; each leaves its name in `binder.ctes`, which the caller takes away again."""
    refuse_clauses(binder, tree, _WITH)
    recursive = bool(tree.args.get("recursive"))
    ctes = list(tree.expressions)
    _refuse_repeats(binder, ctes)
    before, around = binder.later_ctes, binder.open_ctes
    found: list[BoundCte] = []
    try:
        for number, cte in enumerate(ctes):
            binder.later_ctes = [*(later.alias for later in ctes[number + 1 :]), *before]
            binder.open_ctes = [cte.alias, *around]
            found.append(_cte(binder, cte, outer, recursive))
    finally:
        binder.later_ctes, binder.open_ctes = before, around
    return tuple(found)


def _refuse_repeats(binder: SqlBinder, ctes: list[exp.Expr]) -> None:
    names: set[str] = set()
    for cte in ctes:
        if not isinstance(cte, exp.CTE) or not cte.alias:
            raise binder.unsupported("WITH takes names for queries", cte, "write WITH name AS (SELECT …)")
        if cte.alias.casefold() in names:
            hint = "give one of them another name"
            raise binder.mismatch(f"two queries of this WITH are called {cte.alias}", cte.args["alias"], hint)
        names.add(cte.alias.casefold())


def _cte(binder: SqlBinder, cte: exp.Expr, outer: Scope | None, recursive: bool) -> BoundCte:
    refuse_clauses(binder, cte, _CTE)
    body = cte.this
    if not isinstance(body, exp.Query | exp.Values):
        hint = "run the statement on its own first"
        raise binder.unsupported("a query in WITH only reads", body if isinstance(body, exp.Expr) else cte, hint)
    unique = binder.fresh_cte(cte.alias)
    if recursive and isinstance(body, exp.SetOperation):
        return _recursive(binder, cte, body, unique, outer)
    query = _named(binder, cte, binder.bind_query(body, outer))
    binder.ctes.append(_known(cte.alias, unique, query))
    return BoundCte(unique, query)


def _named(binder: SqlBinder, cte: exp.Expr, query: BoundQuery) -> BoundQuery:
    """The query under the column names of the list behind the name, if there is one."""
    names = cte.args["alias"].args.get("columns") or []
    labels = labels_of(query)
    if len(names) > len(labels):
        counted = f"{len(labels)} column" if len(labels) == 1 else f"{len(labels)} columns"
        raise binder.mismatch(f"the query of {cte.alias} has {counted}, not {len(names)}", names[len(labels)])
    if not names:
        return query
    for name in names:
        if not isinstance(name, exp.Identifier):
            raise binder.unsupported("a column alias is a name without a type", name, "cast in the select list")
    shown = (*(name.name for name in names), *labels[len(names) :])
    return replace(with_names(query, distinct_names(shown)), labels=shown)


def _known(text: str, unique: str, query: BoundQuery) -> CteName:
    columns = tuple((f.name, f.type, f.nullable) for f in query.schema.fields)
    return CteName(text, unique, columns, labels_of(query))


# ---- recursion --------------------------------------------------------------------------------------------------


def _recursive(binder: SqlBinder, cte: exp.Expr, body: exp.SetOperation, unique: str, outer: Scope | None) -> BoundCte:
    """`anchor UNION [ALL] step`, where the step may scan the name; its columns are typed by the anchor.

    A body whose right side does not scan it is an ordinary query, whatever the text calls it.
    """
    from omnigraph_sql.bind.sql_query import ordered

    known = len(binder.ctes)
    refuse_clauses(binder, body, _BODY)
    clause = body.args.get("with_")
    inner = () if clause is None else bind_with(binder, clause, outer)
    anchor = _named(binder, cte, binder.bind_query(body.this, outer))
    fields = tuple(Field(f.name, f.type, True) for f in anchor.schema.fields)
    name = CteName(cte.alias, unique, tuple((f.name, f.type, f.nullable) for f in fields), labels_of(anchor))
    binder.ctes.append(name)
    step = Side(binder.bind_query(body.expression, outer), body.expression)
    del binder.ctes[known:]
    recursive = unique in binder.scanned_ctes
    if recursive:
        _refuse_odd_recursion(binder, cte, body)
    query = combined(binder, body, anchor, step)
    if recursive:
        assert isinstance(query.body, BoundSetOperation)
        query = replace(query, body=replace(query.body, schema=Schema(fields)))
    else:
        query = ordered(binder, body, query, "a set operation")
        name = _known(cte.alias, unique, query)
    binder.ctes.append(name)
    outside = query.outer_columns.union(*(one.query.outer_columns for one in inner))
    return BoundCte(unique, replace(query, ctes=(*inner, *query.ctes), outer_columns=outside), recursive)


def _refuse_odd_recursion(binder: SqlBinder, cte: exp.Expr, body: exp.SetOperation) -> None:
    if word_of(body) != "union" or body.args.get("by_name"):
        hint = "write anchor UNION ALL step"
        raise binder.unsupported(f"{cte.alias} can use itself only through UNION", body.expression, hint)
    for key in ("order", "limit", "offset"):
        if body.args.get(key) is not None:
            hint = f"put it where {cte.alias} is used"
            word = "ORDER BY" if key == "order" else key.upper()
            raise binder.unsupported(f"a recursive query has no {word} of its own", body.args[key], hint)
