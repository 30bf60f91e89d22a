"""Both ends of every edge exist: of staged edges in the graph as it will be, of committed ones after nodes go."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base.catalog import DST, ID, SRC, EdgeType, TableType
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
    for row in _each(rows.select([ID, side]).filter(pc.is_in(rows[side], value_set=missing))):
        yield absent_end(edges.type, nodes.type, side, row[ID], row[side])


def absent_end(edge: TableType, node: TableType, side: str, own: str, end: str) -> ConstraintViolation:
    """The refusal of an edge that ends at a node that will not be there."""
    return ConstraintViolation(
        f"{edge.name} {shown(own)} {'comes from' if side == SRC else 'goes to'} {node.name} {shown(end)}, "
        "which does not exist",
        rule="endpoint",
        type=edge.name,
        properties=(side,),
        value=end,
        ids=(own,),
        hint=f"insert the {node.name} before the edge, or in the same transaction",
    )


def _of_committed(edges: TableView, side: str, nodes: TableView) -> Found:
    """Edges that stay although a node at their end goes."""
    if edges.overwritten or not len(nodes.removed):
        return
    for piece in edges.committed_with([ID, side], side, nodes.removed):
        for row in _each(piece):
            yield left_behind(edges.type, nodes.type, side, row[ID], row[side])


def left_behind(edge: TableType, node: TableType, side: str, own: str, end: str) -> ConstraintViolation:
    """The refusal of a change that takes the node at an end of an edge that stays."""
    return ConstraintViolation(
        f"{node.name} {shown(end)} goes, but {edge.name} {shown(own)} {'comes from' if side == SRC else 'goes to'} it",
        rule="endpoint",
        type=edge.name,
        properties=(side,),
        value=end,
        ids=(own,),
        hint=f"remove the {edge.name} too, or keep the {node.name}",
    )


def _each(rows: pa.Table) -> Iterator[dict[str, str]]:
    for batch in rows.to_batches(max_chunksize=1024):
        yield from batch.to_pylist()
