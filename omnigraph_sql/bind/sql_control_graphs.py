"""CREATE and DROP PROPERTY GRAPH: a named choice of node and edge types."""

from __future__ import annotations

from sqlglot import exp

from omnigraph_sql.base import commands
from omnigraph_sql.base.catalog import Catalog, EdgeType, NodeType, TableType
from omnigraph_sql.bind.sql_binder import SqlBinder, name_of
from omnigraph_sql.bind.sql_ddl_draft import checked_name
from omnigraph_sql.bind.sql_targets import column_like, known_table, listed, name_from, refuse_qualifier
from omnigraph_sql.grammar.ast import sql as ast


def create_property_graph(binder: SqlBinder, statement: ast.CreatePropertyGraph) -> commands.CreatePropertyGraph:
    refuse_qualifier(binder, statement.name)
    name = checked_name(binder, statement.name.name, "a graph name")
    if name.casefold() == binder.options.graph.casefold():
        raise binder.mismatch(f"{name} is the graph of all types already", statement.name.name, "choose another name")
    if statement.or_replace or statement.if_not_exists:
        word = "OR REPLACE" if statement.or_replace else "IF NOT EXISTS"
        hint = "DROP PROPERTY GRAPH IF EXISTS first"
        raise binder.unsupported(f"CREATE PROPERTY GRAPH has no {word}", statement.name.span, hint)
    if any(graph.name.casefold() == name.casefold() for graph in binder.options.graphs):
        raise binder.mismatch(f"a property graph called {name} exists already", statement.name.name, "drop it first")
    nodes: list[str] = []
    for element in statement.vertex_tables:
        table = _table(binder, element)
        if not isinstance(table, NodeType):
            raise binder.mismatch(f"{table.name} is an edge table", element.table.span, "put it under EDGE TABLES")
        _add(binder, element, table, nodes)
    edges: list[str] = []
    for element in statement.edge_tables:
        table = _table(binder, element)
        if not isinstance(table, EdgeType):
            raise binder.mismatch(f"{table.name} is a node table", element.table.span, "put it under VERTEX TABLES")
        _check_end(binder, element.source, table, table.source, "starts", nodes, element)
        _check_end(binder, element.destination, table, table.target, "ends", nodes, element)
        _add(binder, element, table, edges)
    return commands.CreatePropertyGraph(name, tuple(nodes), tuple(edges))


def _table(binder: SqlBinder, element: ast.GraphElement) -> TableType:
    table = known_table(binder, element.table)
    hint = "the label of a table is its name, and all its columns are properties"
    if element.alias is not None and not name_from(element.alias).matches(table.name):
        raise binder.unsupported("a table of a graph keeps its name", element.alias, hint)
    for label in element.labels:
        if label.name is not None and not name_from(label.name).matches(table.name):
            raise binder.unsupported("a table of a graph has no other labels", label.name, hint)
        if label.properties is not None:
            raise binder.unsupported("a table of a graph shows all its columns", label.span, hint)
    for column in element.key:
        column_like(binder, table, name_from(column), column)
    return table


def _add(binder: SqlBinder, element: ast.GraphElement, table: TableType, names: list[str]) -> None:
    if table.name in names:
        raise binder.mismatch(f"{table.name} is listed twice", element.table.span)
    names.append(table.name)


def _check_end(
    binder: SqlBinder,
    end: ast.GraphEnd | None,
    table: EdgeType,
    node: str,
    verb: str,
    nodes: list[str],
    element: ast.GraphElement,
) -> None:
    """What the statement says about an end is what the schema says."""
    if end is not None:
        if not name_from(end.table).matches(node):
            raise binder.mismatch(f"{table.name} {verb} at {node}, not at {end.table.text}", end.table)
        for column in end.columns:
            column_like(binder, table, name_from(column), column)
        owner = binder.catalog.node(node)
        for column in end.referenced:
            if owner is not None:
                column_like(binder, owner, name_from(column), column)
    if node not in nodes:
        hint = f"the vertex tables are {listed(nodes)}; add {node}"
        raise binder.mismatch(f"{table.name} {verb} at {node}, which is not in the graph", element.table.span, hint)


def drop_property_graph(binder: SqlBinder, statement: ast.DropPropertyGraph) -> commands.DropPropertyGraph:
    refuse_qualifier(binder, statement.name)
    ident = statement.name.name
    if ident.text.casefold() == binder.options.graph.casefold():
        raise binder.mismatch(f"{ident.text} is the graph of all types and stays", ident)
    found = [graph.name for graph in binder.options.graphs if name_from(ident).matches(graph.name)]
    if not found and not statement.if_exists:
        known = (graph.name for graph in binder.options.graphs)
        raise binder.unknown("property graph", ident.text, ident, known)
    return commands.DropPropertyGraph(found[0] if found else ident.text, statement.if_exists)


def graph_types(binder: SqlBinder, name: exp.Expr | None) -> Catalog:
    """The types a pattern over the graph called `name` may use; without a name, and under the graph's own, all."""
    if name is None or name_of(name).matches(binder.options.graph):
        return binder.catalog
    found = next((g for g in binder.options.graphs if name_of(name).matches(g.name)), None)
    if found is None:
        known = [binder.options.graph, *(g.name for g in binder.options.graphs)]
        hint = f"leave the name out, or write {binder.options.graph}"
        raise binder.unknown("graph", name.name, name, known, hint)
    nodes = tuple(n for n in binder.catalog.nodes if n.name in found.nodes)
    ends = {n.name for n in nodes}
    # Types that were dropped since are no longer part of the graph.
    edges = tuple(e for e in binder.catalog.edges if e.name in found.edges and {e.source, e.target} <= ends)
    return Catalog(nodes, edges, binder.catalog.interfaces)
