"""Items of FROM: tables, common table expressions, views, derived tables, table functions, and their joins.

`around` holds the items to the left in the same FROM (`tables`), which LATERAL items and table functions may read, and
the scope of the query around (`parent`). The scope of an item has the same parent and the item's own tables.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sqlglot import exp

from omnigraph_sql.base.errors import UnknownName
from omnigraph_sql.base.expr import Column
from omnigraph_sql.base.schema import Field
from omnigraph_sql.bind.bound import BoundCteScan, BoundDerived, BoundFunctionTable, BoundQuery, BoundSource, BoundTable
from omnigraph_sql.bind.sql_binder import CteName, SqlBinder, name_of
from omnigraph_sql.bind.sql_clauses import refuse_clauses
from omnigraph_sql.bind.sql_join import join_all
from omnigraph_sql.bind.sql_naming import distinct_names
from omnigraph_sql.bind.sql_scope import RangeTable, Scope, ScopeColumn
from omnigraph_sql.bind.sql_table_alias import alias_of, renamed
from omnigraph_sql.bind.sql_tables import find_table, read_point, unknown_table
from omnigraph_sql.bind.sql_views import bind_view, view_text
from omnigraph_sql.grammar.ast.sql import GqTable, GraphTable

_TABLE: Final = frozenset({"this", "alias", "db", "catalog", "joins", "version"})
_FUNCTION: Final = _TABLE | {"ordinality"}
_SUBQUERY: Final = frozenset({"this", "alias", "joins"})
_VALUES: Final = frozenset({"expressions", "alias", "joins", "order", "limit", "offset"})
_LATERAL: Final = frozenset({"this", "alias", "joins", "ordinality", "cross_apply"})

Item = tuple[BoundSource, Scope]


def bind_source(binder: SqlBinder, tree: exp.Expr, around: Scope) -> Item:
    """One item of FROM with the joins that hang on it."""
    item = _item(binder, tree, around)
    joins = tree.args.get("joins")
    return join_all(binder, item, joins, around) if joins else item


def _item(binder: SqlBinder, tree: exp.Expr, around: Scope) -> Item:
    if isinstance(tree, exp.Table):
        return _table(binder, tree, around)
    if isinstance(tree, exp.Subquery):
        return _subquery(binder, tree, around)
    if isinstance(tree, exp.Values):
        refuse_clauses(binder, tree, _VALUES)
        return _derived(binder, tree, binder.bind_query(tree, around.parent), around)
    if isinstance(tree, exp.Lateral):
        return _lateral(binder, tree, around)
    if isinstance(tree, exp.Query):
        return _derived(binder, tree, binder.bind_query(tree, around.parent), around)
    if not isinstance(tree, exp.Func):
        binder.refuse_node(tree)
    return _function(binder, tree, around)


# ---- names ------------------------------------------------------------------------------------------------------


def _table(binder: SqlBinder, tree: exp.Table, around: Scope) -> Item:
    this = tree.this
    if isinstance(this, exp.Func):
        refuse_clauses(binder, tree, _FUNCTION)
        return _function(binder, tree, around)
    refuse_clauses(binder, tree, _TABLE)
    if not tree.args.get("db") and isinstance(this, exp.Identifier):
        cte = _cte(binder, this)
        if cte is not None:
            return _cte_scan(binder, tree, cte, around)
    return _named(binder, tree, around)


def _cte(binder: SqlBinder, identifier: exp.Identifier) -> CteName | None:
    """The innermost common table expression with this name."""
    name = name_of(identifier)
    return next((cte for cte in reversed(binder.ctes) if name.matches(cte.text)), None)


def _cte_scan(binder: SqlBinder, tree: exp.Table, cte: CteName, around: Scope) -> Item:
    if tree.args.get("version") is not None:
        hint = f"name the point in history inside the query of {cte.text}"
        raise binder.unsupported("a common table expression has no history", tree.args["version"], hint)
    binder.scanned_ctes.add(cte.unique)
    alias = alias_of(tree).name
    variable = binder.fresh(alias or cte.text)
    fields = tuple(Field(*column) for column in cte.columns)
    shown = cte.labels or tuple(f.name for f in fields)
    table = _ranged(binder, tree, alias or cte.text, variable, zip(shown, fields, strict=True))
    return BoundCteScan(variable, cte.unique, fields), Scope(around.parent, [table])


def _named(binder: SqlBinder, tree: exp.Table, around: Scope) -> Item:
    from omnigraph_sql.bind.sql_system_tables import system_table

    system = system_table(binder, tree)
    if system is not None:
        return _system(binder, tree, system, around)
    of = find_table(binder, tree)
    if of is None:
        text = None if tree.args.get("db") else view_text(binder, name_of(tree.this))
        if text is None:
            raise unknown_table(binder, tree)
        return _derived(binder, tree, bind_view(binder, tree, *text), around, text[0])
    alias = alias_of(tree)
    variable = binder.fresh(alias.name or of.name)
    table = RangeTable.of_table(alias.name or of.name, variable, of)
    if alias.columns:
        table = RangeTable(table.name, variable, _shown(binder, tree, table.columns), of)
    return BoundTable(variable, of, read_point(binder, tree)), Scope(around.parent, [table])


def _system(binder: SqlBinder, tree: exp.Table, found: tuple[str, tuple[Field, ...]], around: Scope) -> Item:
    if tree.args.get("version") is not None:
        raise binder.unsupported("this table has no history", tree.args["version"], "take the point in history away")
    function, fields = found
    alias = alias_of(tree).name
    name = alias or tree.this.name
    variable = binder.fresh(name)
    table = _ranged(binder, tree, name, variable, ((f.name, f) for f in fields))
    return BoundFunctionTable(variable, function, (), fields), Scope(around.parent, [table])


# ---- queries and functions --------------------------------------------------------------------------------------


def _subquery(binder: SqlBinder, tree: exp.Subquery, around: Scope) -> Item:
    """A query in brackets, or a join tree in brackets; an alias of the latter hides the names inside."""
    inner = tree.this
    refuse_clauses(binder, tree, _SUBQUERY)
    if is_query(inner):
        return _derived(binder, tree, _apart(binder, inner, around), around)
    source, scope = bind_source(binder, inner, around)
    return (source, scope) if alias_of(tree).name is None else (source, _hidden(binder, tree, scope))


def _apart(binder: SqlBinder, inner: exp.Expr, around: Scope) -> BoundQuery:
    """A query that does not see the items beside it."""
    try:
        return binder.bind_query(inner, around.parent)
    except UnknownName as error:
        if error.hint is None and any(f"'{table.name}'" in error.message for table in around.tables):
            error.hint = "write LATERAL before the sub-query to let it read the tables on its left"
        raise


def is_query(tree: exp.Expr | None) -> bool:
    """Whether what stands in brackets is a query; else it is an item of FROM or a tree of joins."""
    while isinstance(tree, exp.Subquery):
        if tree.args.get("alias") or tree.args.get("joins"):
            return False
        tree = tree.this
    return isinstance(tree, exp.Query) or (isinstance(tree, exp.Values) and not tree.args.get("alias"))


def _hidden(binder: SqlBinder, tree: exp.Subquery, scope: Scope) -> Scope:
    """`(a JOIN b …) AS z`: one range variable with the columns of `*`."""
    name = alias_of(tree).name
    assert name is not None
    columns = _shown(binder, tree, tuple(column for _, column in scope.starred()))
    first = scope.tables[0].variable if scope.tables else binder.fresh(name)
    return Scope(scope.parent, [RangeTable(name, first, columns)], [], scope.outer)


def _lateral(binder: SqlBinder, tree: exp.Lateral, around: Scope) -> Item:
    refuse_clauses(binder, tree, _LATERAL)
    if not isinstance(tree.this, exp.Subquery) and not is_query(tree.this):
        return _function(binder, tree, around)
    inner = tree.this
    if not is_query(inner):
        raise binder.unsupported("LATERAL stands before a query or a function", inner, "take LATERAL away")
    return _derived(binder, tree, binder.bind_query(inner, around), around, lateral=True)


def _function(binder: SqlBinder, tree: exp.Expr, around: Scope) -> Item:
    if isinstance(tree.this, GraphTable):
        from omnigraph_sql.bind.sql_graph_table import bind_graph_table

        return bind_graph_table(binder, tree, around)
    if isinstance(tree.this, GqTable):
        from omnigraph_sql.bind.sql_gq_table import bind_gq_table

        return bind_gq_table(binder, tree, around)
    from omnigraph_sql.bind.sql_table_functions import bind_table_function

    return bind_table_function(binder, tree, around)


def _derived(
    binder: SqlBinder, tree: exp.Expr, query: BoundQuery, around: Scope, name: str = "", lateral: bool = False
) -> Item:
    alias = alias_of(tree).name or name
    variable = binder.fresh(alias or "subquery")
    fields = query.schema.fields
    shown = renamed(binder, alias_of(tree), query.labels or query.schema.order)
    columns = distinct_names(shown)
    made = [
        ScopeColumn(label, Column(f"{variable}.{column}", f.type, f.nullable))
        for label, column, f in zip(shown, columns, fields, strict=True)
    ]
    # Without an alias nothing can name it: brackets keep its name apart from every other one.
    table = RangeTable(alias or f"({variable})", variable, tuple(made))
    outer = set() if lateral else set(query.outer_columns)
    return BoundDerived(variable, columns, query, lateral), Scope(around.parent, [table], [], outer)


# ---- aliases ----------------------------------------------------------------------------------------------------


def _shown(binder: SqlBinder, tree: exp.Expr, columns: tuple[ScopeColumn, ...]) -> tuple[ScopeColumn, ...]:
    """The columns of a table under the names of its alias list, which counts those that `*` shows."""
    shown = tuple(c.name for c in columns if c.starred)
    names = renamed(binder, alias_of(tree), shown)
    if names == shown:
        return columns
    left = iter(names)
    return tuple(ScopeColumn(next(left), c.expr) if c.starred else c for c in columns)


def _ranged(
    binder: SqlBinder, tree: exp.Expr, name: str, variable: str, fields: Iterable[tuple[str, Field]]
) -> RangeTable:
    columns = tuple(ScopeColumn(label, Column(f"{variable}.{f.name}", f.type, f.nullable)) for label, f in fields)
    return RangeTable(name, variable, _shown(binder, tree, columns))
