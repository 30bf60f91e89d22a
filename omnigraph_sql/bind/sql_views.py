"""Views: a name in FROM that stands for the text of a query."""

from __future__ import annotations

from sqlglot import exp

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import NotSupported
from omnigraph_sql.bind.bound import BoundQuery
from omnigraph_sql.bind.sql_binder import SqlBinder
from omnigraph_sql.bind.sql_naming import with_names
from omnigraph_sql.bind.sql_scope import Name
from omnigraph_sql.grammar.ast.sql import CreateView, SqlStatement
from omnigraph_sql.grammar.source import Source


def view_text(binder: SqlBinder, name: Name) -> tuple[str, str] | None:
    """The view with this name: spelt exactly so, else without regard to case."""
    found = [view for view in binder.options.views if name.matches(view[0])]
    return next((view for view in found if view[0] == name.text), found[0] if found else None)


def bind_view(binder: SqlBinder, tree: exp.Table, name: str, text: str) -> BoundQuery:
    """The query of a view. Errors in it are shown in its own text; it sees no name of the statement around."""
    from omnigraph_sql.grammar.sql.parse import parse_one

    _refuse_endless(binder, tree, name)
    if tree.args.get("version") is not None:
        hint = "name the point in history inside the view"
        raise binder.unsupported("a view has no history of its own", tree.args["version"], hint)
    statement = parse_one(text, name=f"view {name}")
    if statement.placeholders:
        at = statement.source.locate(statement.placeholders[0].span)
        raise NotSupported("a view has no parameters", at=at, hint="filter where the view is used")
    here = (binder.source, binder.span)
    names = (binder.ctes, binder.open_ctes, binder.later_ctes)
    binder.source, binder.span = statement.source, statement.span
    binder.ctes, binder.open_ctes, binder.later_ctes = [], [], []
    binder.open_views.append(name)
    try:
        return _query(binder, statement, statement.source)
    finally:
        binder.open_views.pop()
        binder.source, binder.span = here
        binder.ctes, binder.open_ctes, binder.later_ctes = names


def _query(binder: SqlBinder, statement: SqlStatement, source: Source) -> BoundQuery:
    tree = statement.tree
    columns: tuple[str, ...] = ()
    if isinstance(tree, CreateView):
        columns, tree = tuple(column.text for column in tree.columns), tree.query
    if not isinstance(tree, exp.Query) or statement.explain is not None:
        at = source.locate(statement.span)
        raise NotSupported("a view is a query", at=at, hint="create it again with CREATE VIEW name AS SELECT …")
    query = binder.bind_query(tree)
    if len(columns) > len(query.schema):
        message = f"the view names {len(columns)} columns, its query has {len(query.schema)}"
        raise binder.mismatch(message, statement.span)
    return with_names(query, (*columns, *query.schema.order[len(columns) :])) if columns else query


def _refuse_endless(binder: SqlBinder, tree: exp.Table, name: str) -> None:
    if name in binder.open_views:
        path = " uses ".join([*binder.open_views[binder.open_views.index(name) :], name])
        raise binder.unsupported(f"the view {name} is defined by itself", tree.this, f"{path}; create one of them anew")
    if len(binder.open_views) >= limits.VIEW_LEVELS_MAX:
        message = f"views go through at most {limits.VIEW_LEVELS_MAX} other views"
        raise binder.unsupported(message, tree.this, "write the query of one of them out")
