"""Both ends of every edge exist: of staged edges in the graph as it will be, of committed ones after nodes go."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base.catalog import DST, ID, SRC, EdgeType
from omnigraph_sql.base.errors import ConstraintViolation
from omnigraph_sql.engine.write.validate_text import shown
from omnigraph_sql.engine.write.validate_view import GraphView, TableView

Found: TypeAlias = Iterator[ConstraintViolation]


def endpoint_violations(graph: GraphView, edge: EdgeType) -> Found:
    for side, node in ((SRC, edge.source), (DST, edge.target)):
        yield from _of_staged(graph.of(edge), side, graph.node(node))
    for side, node in ((SRC, edge.source), (DST, edge.target)):
        if graph.node(node).changes is not None:
            yield from _of_committed(graph.of(edge), side, graph.node(node))


def _of_staged(edges: TableView, side: str, nodes: TableView) -> Found:
    """New or changed edges that end at a node that will not be there."""
    rows = edges.rows
    if rows is None:
        return
    missing = nodes.missing(rows[side].unique().drop_null())
    if not len(missing):
        return
    verb = "comes from" if side == SRC else "goes to"
    for row in _each(rows.select([ID, side]).filter(pc.is_in(rows[side], value_set=missing))):
        yield ConstraintViolation(
            f"{edges.type.name} {shown(row[ID])} {verb} {nodes.type.name} {shown(row[side])}, which does not exist",
            rule="endpoint",
            type=edges.type.name,
            properties=(side,),
            value=row[side],
            ids=(row[ID],),
            hint=f"insert the {nodes.type.name} before the edge, or in the same transaction",
        )


def _of_committed(edges: TableView, side: str, nodes: TableView) -> Found:
    """Edges that stay although a node at their end goes."""
    if edges.overwritten or not len(nodes.removed):
        return
    verb = "comes from" if side == SRC else "goes to"
    for piece in edges.committed_with([ID, side], side, nodes.removed):
        for row in _each(piece):
            yield ConstraintViolation(
                f"{nodes.type.name} {shown(row[side])} goes, but {edges.type.name} {shown(row[ID])} {verb} it",
                rule="endpoint",
                type=edges.type.name,
                properties=(side,),
                value=row[side],
                ids=(row[ID],),
                hint=f"remove the {edges.type.name} too, or keep the {nodes.type.name}",
            )


def _each(rows: pa.Table) -> Iterator[dict[str, str]]:
    for batch in rows.to_batches(max_chunksize=1024):
        yield from batch.to_pylist()
