"""CREATE and DROP VIEW: the text of the statement is kept, its query is bound to check it."""

from __future__ import annotations

from dataclasses import replace

from omnigraph_sql.base import commands
from omnigraph_sql.bind.bound import BoundControl, BoundQuery
from omnigraph_sql.bind.sql_binder import SqlBinder
from omnigraph_sql.bind.sql_ddl_draft import checked_name
from omnigraph_sql.bind.sql_targets import name_from, refuse_qualifier
from omnigraph_sql.grammar.ast import sql as ast


def create_view(binder: SqlBinder, statement: ast.CreateView) -> BoundControl:
    refuse_qualifier(binder, statement.name)
    name = checked_name(binder, statement.name.name, "a view name")
    existing = _refuse_taken(binder, statement, name)
    # A view that is replaced must not read its former self: its text would then be its own source.
    binder.options = replace(binder.options, views=tuple(v for v in binder.options.views if v[0] != existing))
    query = binder.bind_query(statement.query)
    _check_columns(binder, statement, query)
    text = binder.source.text[statement.span.start : statement.span.end]
    command = commands.CreateView(existing or name, text, statement.or_replace, statement.if_not_exists)
    return BoundControl(command, query)


def _refuse_taken(binder: SqlBinder, statement: ast.CreateView, name: str) -> str | None:
    """The view of that name that is there already, where the statement says that there may be one."""
    ident = statement.name.name
    tables = binder.catalog.tables_like(name)
    if tables:
        raise binder.mismatch(f"a table called {tables[0].name} exists already", ident, "choose another name")
    existing = next((view for view, _ in binder.options.views if view.casefold() == name.casefold()), None)
    if existing is not None and not (statement.or_replace or statement.if_not_exists):
        raise binder.mismatch(f"a view called {existing} exists already", ident, "write CREATE OR REPLACE VIEW")
    return existing


def _check_columns(binder: SqlBinder, statement: ast.CreateView, query: BoundQuery) -> None:
    names = statement.columns
    if names and len(names) != len(query.schema):
        message = f"{len(names)} columns are named, the query has {len(query.schema)}"
        raise binder.mismatch(message, names[0].span.to(names[-1].span))
    for number, ident in enumerate(names):
        if any(ident.text.casefold() == other.text.casefold() for other in names[:number]):
            raise binder.mismatch(f"the column {ident.text} is named twice", ident)


def drop_view(binder: SqlBinder, statement: ast.DropView) -> commands.DropView:
    refuse_qualifier(binder, statement.name)
    wanted = name_from(statement.name.name)
    views = [name for name, _ in binder.options.views]
    found = [name for name in views if wanted.matches(name)]
    if not found and not statement.if_exists:
        raise binder.unknown("view", wanted.text, statement.name.name, views)
    return commands.DropView(found[0] if found else wanted.text, statement.if_exists)
