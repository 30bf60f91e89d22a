"""CREATE TABLE and DROP TABLE → commands that change the schema."""

from __future__ import annotations

from omnigraph_sql.base import commands
from omnigraph_sql.base.catalog import Cardinality, EdgeType, NodeType, TableType
from omnigraph_sql.bind.schema_errors import TypeKind
from omnigraph_sql.bind.sql_binder import SqlBinder
from omnigraph_sql.bind.sql_ddl_draft import TableDraft, checked_name, kind_word, no_change
from omnigraph_sql.bind.sql_targets import existing_table, listed, name_from, refuse_qualifier
from omnigraph_sql.grammar.ast import sql as ast


def create_table(binder: SqlBinder, statement: ast.CreateTable) -> commands.CreateNodeType | commands.CreateEdgeType:
    if statement.as_query is not None:
        hint = "create the table with its columns, then fill it: INSERT INTO t SELECT …"
        raise binder.unsupported("CREATE TABLE … AS is not supported", statement.name.span, hint)
    name = _new_type_name(binder, statement)
    ends = _ends(binder, statement)
    draft = TableDraft(binder, TypeKind.EDGE if ends else TypeKind.NODE)
    draft.take(statement.columns, statement.constraints)
    properties, constraints = draft.finish()
    low, high = statement.cardinality or (0, None)
    if high is not None and high < low:
        raise binder.mismatch(f"the cardinality {low}..{high} has its ends swapped", statement.span)
    if ends is None:
        draft.refuse_faults(NodeType(name, properties, constraints), statement.name.span)
        return commands.CreateNodeType(name, properties, constraints, statement.if_not_exists)
    source, target = ends
    cardinality = Cardinality(low, high)
    edge = EdgeType(name, properties, constraints, source=source, target=target, cardinality=cardinality)
    draft.refuse_faults(edge, statement.name.span)
    return commands.CreateEdgeType(name, source, target, cardinality, properties, constraints, statement.if_not_exists)


def _new_type_name(binder: SqlBinder, statement: ast.CreateTable) -> str:
    refuse_qualifier(binder, statement.name)
    ident = statement.name.name
    existing = binder.catalog.tables_like(ident.text)
    if existing and not (statement.if_not_exists and _same_kind(existing[0], statement.kind)):
        other = existing[0].name
        raise binder.mismatch(f"a table called {other} exists already", ident, "write CREATE TABLE IF NOT EXISTS")
    refuse_view_name(binder, ident)
    return checked_name(binder, ident, "a table name")


def refuse_view_name(binder: SqlBinder, ident: ast.Ident) -> None:
    """Tables and views share their names."""
    if any(view.casefold() == ident.text.casefold() for view, _ in binder.options.views):
        raise binder.mismatch(f"a view called {ident.text} exists already", ident, "drop the view first")


def _same_kind(table: TableType, kind: str) -> bool:
    return isinstance(table, NodeType) == (kind == "node")


def _ends(binder: SqlBinder, statement: ast.CreateTable) -> tuple[str, str] | None:
    if statement.kind == "node":
        return None
    if statement.source is None or statement.target is None:
        hint = f"write CREATE EDGE TABLE {statement.name.name.text} (FROM NodeTable TO NodeTable, …)"
        raise binder.mismatch("an edge table says which node tables it joins", statement.name.span, hint)
    return _end(binder, statement.source), _end(binder, statement.target)


def _end(binder: SqlBinder, ident: ast.Ident) -> str:
    name = name_from(ident)
    nodes = [n for n in binder.catalog.nodes if name.matches(n.name)]
    exact = [n for n in nodes if n.name == name.text]
    if not nodes:
        raise binder.unknown("node table", ident.text, ident, (n.name for n in binder.catalog.nodes))
    return (exact or nodes)[0].name


def drop_table(binder: SqlBinder, statement: ast.DropTable) -> commands.DropType | commands.AlterType:
    table = existing_table(binder, statement.name, if_exists=statement.if_exists)
    if table is None:
        return no_change(statement.name)
    edges = binder.catalog.incident_edges(table.name) if isinstance(table, NodeType) else ()
    if edges:
        names = listed(e.name for e in edges)
        raise binder.mismatch(f"edges end on {table.name}: {names}", statement.name.span, f"drop {names} first")
    return commands.DropType(kind_word(table), table.name)
