"""What a command leaves behind for the statements after it: the catalog, views and graphs, the walk limit. Pure."""

from __future__ import annotations

from dataclasses import replace

from omnigraph_sql.base import commands
from omnigraph_sql.base.catalog import Catalog, Constraint, EdgeType, Index, NodeType, TableType, Unique
from omnigraph_sql.base.commands import Command
from omnigraph_sql.base.expr import Literal
from omnigraph_sql.bind.sql_binder import SqlOptions
from omnigraph_sql.bind.sql_ddl_alter import changed


def catalog_after(command: Command, catalog: Catalog) -> Catalog:
    """The catalog once `command` is carried out; what is new has no identity yet (stable_id 0)."""
    match command:
        case commands.CreateNodeType():
            if catalog.node(command.name) is not None:
                return catalog
            node = NodeType(command.name, command.properties, command.constraints)
            return replace(catalog, nodes=(*catalog.nodes, node))
        case commands.CreateEdgeType():
            if catalog.edge_word(command.name) is not None:
                return catalog
            return replace(catalog, edges=(*catalog.edges, _edge(command)))
        case commands.DropType("node", name):
            return replace(catalog, nodes=tuple(n for n in catalog.nodes if n.name != name))
        case commands.DropType(_, name):
            return replace(catalog, edges=tuple(e for e in catalog.edges if e.name != name))
        case commands.AlterType():
            return _altered(command, catalog)
        case commands.CreateIndex():
            rule = Unique(command.properties) if command.unique else Index(command.properties)
            return _with_rule(catalog, command.type, rule)
        case _:
            return catalog


def _edge(command: commands.CreateEdgeType) -> EdgeType:
    return EdgeType(
        command.name,
        command.properties,
        command.constraints,
        source=command.source,
        target=command.target,
        cardinality=command.cardinality,
    )


def _altered(command: commands.AlterType, catalog: Catalog) -> Catalog:
    old: TableType | None = catalog.node(command.name) if command.kind == "node" else catalog.edge(command.name)
    if old is None:
        return catalog
    new = old
    for change in command.changes:
        new = changed(new, change)
    return _replaced(catalog, old, new)


def _replaced(catalog: Catalog, old: TableType, new: TableType) -> Catalog:
    """`new` in the place of `old`; edges that end on a renamed node follow it."""
    if isinstance(new, EdgeType):
        return replace(catalog, edges=tuple(new if e is old else e for e in catalog.edges))
    nodes = tuple(new if n is old else n for n in catalog.nodes)
    edges = tuple(_moved(e, old.name, new.name) for e in catalog.edges)
    return replace(catalog, nodes=nodes, edges=edges)


def _moved(edge: EdgeType, old: str, new: str) -> EdgeType:
    if old == new or old not in (edge.source, edge.target):
        return edge
    source = new if edge.source == old else edge.source
    target = new if edge.target == old else edge.target
    return replace(edge, source=source, target=target)


def _with_rule(catalog: Catalog, name: str, rule: Constraint) -> Catalog:
    old: TableType | None = catalog.node(name) or catalog.edge(name)
    if old is None or rule in old.constraints:
        return catalog
    return _replaced(catalog, old, replace(old, constraints=(*old.constraints, rule)))


def options_after(command: Command, options: SqlOptions, first: SqlOptions) -> SqlOptions:
    """Views, graphs and the walk limit once `command` is carried out; `first` holds what RESET goes back to."""
    match command:
        case commands.CreateView():
            if command.if_not_exists and any(name == command.name for name, _ in options.views):
                return options
            kept = tuple(view for view in options.views if view[0] != command.name)
            return replace(options, views=(*kept, (command.name, command.text)))
        case commands.DropView(name):
            return replace(options, views=tuple(view for view in options.views if view[0] != name))
        case commands.CreatePropertyGraph():
            return replace(options, graphs=(*options.graphs, command))
        case commands.DropPropertyGraph(name):
            return replace(options, graphs=tuple(graph for graph in options.graphs if graph.name != name))
        case commands.SetOption("hops_max", None):
            return replace(options, hops_max=first.hops_max)
        case commands.SetOption("hops_max", Literal(int(hops))):
            return replace(options, hops_max=hops)
        case _:
            return options
