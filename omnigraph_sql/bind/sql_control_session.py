"""Settings, and the statements that show what is there: SET, RESET, SHOW, DESCRIBE, SUMMARIZE."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from omnigraph_sql.base import commands, limits
from omnigraph_sql.base.expr import Literal
from omnigraph_sql.base.types import BOOL, I64
from omnigraph_sql.bind.bound import BoundControl, BoundQuery
from omnigraph_sql.bind.sql_binder import SqlBinder
from omnigraph_sql.bind.sql_constants import Wanted, constant
from omnigraph_sql.bind.sql_targets import as_table, branch_name, branch_text, known_table, name_from
from omnigraph_sql.grammar.ast import sql as ast
from omnigraph_sql.grammar.source import Span

SETTINGS: Final[dict[str, Wanted]] = {
    "branch": Wanted(),
    "actor": Wanted(),
    "commit_message": Wanted(),
    "if_commit": Wanted(),
    "edge_delete": Wanted(words=("cascade", "restrict")),
    "hops_max": Wanted(I64, 1, limits.HOPS_MAX),
    "read_only": Wanted(BOOL),
    "memory_limit": Wanted(numbers=True),
}
"""What SET knows, and what each setting takes."""


def set_option(binder: SqlBinder, statement: ast.SetOption) -> commands.SetOption:
    name = statement.name.text.casefold()
    wanted = SETTINGS.get(name)
    if wanted is None:
        hint = f"settings are {', '.join(SETTINGS)}"
        raise binder.unknown("setting", statement.name.text, statement.name, SETTINGS, hint)
    node = statement.value
    if node is None or isinstance(node, exp.Null) or (isinstance(node, exp.Var) and node.name.upper() == "DEFAULT"):
        return commands.SetOption(name, None)
    value = constant(binder, node, wanted, name)
    if name == "branch" and isinstance(value, Literal):
        branch_text(binder, str(value.value), node)
    return commands.SetOption(name, value)


def show(binder: SqlBinder, statement: ast.Show) -> commands.Show:
    target: str | None = None
    if statement.target is not None and statement.what == "INDEXES":
        ident = statement.target
        target = known_table(binder, ast.TableName(None, None, ident, ident.span)).name
    elif statement.target is not None:
        target = branch_name(binder, statement.target).text
    return commands.Show(statement.what.lower(), target)


def describe(binder: SqlBinder, statement: ast.Describe) -> BoundControl:
    """A table of the graph by its name; anything else (a view, another branch, a query) by its columns."""
    name = statement.table
    if name is not None and name.schema is None:
        wanted = name_from(name.name)
        found = [t.name for t in binder.catalog.tables_like(wanted.text) if wanted.matches(t.name)]
        if found:
            return BoundControl(commands.Describe(wanted.text if wanted.text in found else found[0]))
    return BoundControl(commands.Describe(None), rows_of(binder, name, statement.query, statement.span))


def summarize(binder: SqlBinder, statement: ast.Summarize) -> BoundControl:
    query = rows_of(binder, statement.table, statement.query, statement.span)
    return BoundControl(commands.Summarize(), query)


def rows_of(binder: SqlBinder, table: ast.TableName | None, query: exp.Expr | None, at: Span) -> BoundQuery:
    """All rows of a table, or those of a query; exactly one is given."""
    if query is not None:
        return binder.bind_query(query)
    if table is None:
        raise binder.mismatch("a table or a query is missing", at)
    return binder.bind_query(exp.Select(expressions=[exp.Star()], from_=exp.From(this=as_table(table))))
