"""Names of tables and columns that statements change or describe, looked up the SQL way."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sqlglot import exp

from omnigraph_sql.base.catalog import TableType
from omnigraph_sql.base.errors import LanguageError
from omnigraph_sql.base.names import BranchName
from omnigraph_sql.bind.sql_binder import SqlBinder
from omnigraph_sql.bind.sql_scope import Name
from omnigraph_sql.grammar.ast.sql import Ident, TableName
from omnigraph_sql.grammar.source import Span


def name_from(ident: Ident) -> Name:
    return Name(ident.text, ident.quoted)


def as_table(name: TableName) -> exp.Table:
    """The name as a table of a FROM clause, with its places."""
    parts = {"this": name.name, "db": name.schema, "catalog": name.catalog}
    return exp.Table(**{key: identifier(part) for key, part in parts.items() if part is not None})


def identifier(ident: Ident) -> exp.Identifier:
    """The name as a node of a tree, with its place."""
    made = exp.Identifier(this=ident.text, quoted=ident.quoted)
    made.meta.update(start=ident.span.start, end=ident.span.end - 1)
    return made


_MAIN: Final = "main"


def refuse_qualifier(binder: SqlBinder, name: TableName) -> None:
    """A schema change happens on the session's branch, and that is main."""
    if name.catalog is None and name.schema is not None and name.schema.text == _MAIN:
        return
    if name.schema is not None or name.catalog is not None:
        branch = (name.schema or name.name).text
        hint = f'switch to the branch first: USE BRANCH "{branch}"'
        raise binder.unsupported("this statement works on the branch of the session only", name.span, hint)


def existing_table(binder: SqlBinder, name: TableName, *, if_exists: bool = False) -> TableType | None:
    """The table called `name`; None only where the statement says IF EXISTS."""
    refuse_qualifier(binder, name)
    wanted = name_from(name.name)
    found = [t for t in binder.catalog.tables_like(wanted.text) if wanted.matches(t.name)]
    exact = [t for t in found if t.name == wanted.text]
    if found:
        return (exact or found)[0]
    if if_exists:
        return None
    raise binder.unknown("table", wanted.text, name.name, (t.name for t in binder.catalog.tables()))


def known_table(binder: SqlBinder, name: TableName) -> TableType:
    """As `existing_table`, where the table has to exist."""
    found = existing_table(binder, name)
    assert found is not None
    return found


def column_like(binder: SqlBinder, table: TableType, name: Name, at: exp.Expr | Ident | Span) -> str:
    """The column of `table` that `name` means; an exact match beats one that differs in case."""
    found = [c.name for c in table.columns_like(name.text) if name.matches(c.name)]
    if name.text in found:
        return name.text
    if len(found) > 1:
        raise binder.mismatch(f"'{name.text}' may mean {' or '.join(found)}", at, "quote the name you mean")
    if not found:
        raise binder.unknown(
            "column", name.text, at, table.schema.order, f"{table.name} has {listed(table.schema.order)}"
        )
    return found[0]


def branch_name(binder: SqlBinder, ident: Ident) -> BranchName:
    return branch_text(binder, ident.text, ident.span)


def branch_text(binder: SqlBinder, text: str, at: exp.Expr | Ident | Span) -> BranchName:
    try:
        return BranchName.parse(text)
    except ValueError as broken:
        raise LanguageError(str(broken), at=binder.location(at), code="branch_name") from None


def listed(names: Iterable[str]) -> str:
    """`a, b and c`."""
    words = list(names)
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"
