"""Steps of more than one hop: from the nodes a relation starts at to the nodes, and paths, that edges lead to."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from omnigraph_sql.base.catalog import DST, ID, SRC
from omnigraph_sql.bind.bound import ONE_HOP, Hops, Walk
from omnigraph_sql.plan import nodes as pn
from omnigraph_sql.run.adjacency import Adjacency, StoredAdjacency, Walks, listed_rows
from omnigraph_sql.run.ground import Ground
from omnigraph_sql.run.relation import Build, Rel, quoted

_TEXTS: Final = pa.list_(pa.field("item", pa.utf8()))


def walked(plan: pn.Expand, rel: Rel, build: Build) -> tuple[str, str, Rel]:
    """Where each walk starts and ends, with the columns of its path: the names of the two columns, and the rows."""
    start, end = build.fresh(), build.fresh()
    name = f"{plan.source}.{ID}"
    text = f"SELECT DISTINCT {quoted(name)} FROM {quoted(rel.name)} WHERE {quoted(name)} IS NOT NULL"
    sources = _texts(build.fetch(build.add(text, (rel,), (name,)), (name,))[name])
    paths = tuple(f"{plan.path}.{c}" for c in plan.path_columns)
    table = _traversed(plan, sources, build)
    return start, end, build.given(table.rename_columns([start, end, *paths]), (start, end, *paths))


def _edges(plan: pn.Expand, build: Build) -> pa.Table:
    """Id, src and dst of every stored edge, in the order of ids: the same graph gives the same paths."""
    columns = (ID, SRC, DST)
    shown = ", ".join(map(quoted, columns))
    step = build.add(f"SELECT {shown} FROM {build.stored(plan.edge, plan.at)}", (), columns)
    return build.fetch(step, columns).sort_by(ID)


def _texts(column: pa.ChunkedArray) -> pa.Array:
    return column.cast(pa.utf8()).combine_chunks()


def _traversed(plan: pn.Expand, sources: pa.Array, build: Build) -> pa.Table:
    """Columns: the source, the node reached, then the path columns of the plan."""
    if plan.edge.source == plan.edge.target:
        ground = Ground(build, plan.at)
        links = ground.links(plan.edge)
        if links is not None:
            in_order = plan.walk is Walk.SHORTEST and not {"vertices", "edges"}.isdisjoint(plan.path_columns)
            stored = StoredAdjacency.at(links, plan.direction, in_order=in_order)
            names = links.edges.column(ID).array if "edges" in plan.path_columns else None
            return _walked(plan, plan.hops, stored, sources, names)
    edges = _edges(plan, build)
    hops = plan.hops
    if plan.edge.source != plan.edge.target:
        # Another type lies at the other end, from which this edge leads nowhere.
        edges = edges if hops.minimum <= 1 <= hops.maximum else edges.slice(0, 0)
        hops = ONE_HOP
    graph = Adjacency.of(_texts(edges[SRC]), _texts(edges[DST]), plan.direction)
    return _walked(plan, hops, graph, sources, _texts(edges[ID]))


def _walked(plan: pn.Expand, hops: Hops, graph: Adjacency, sources: pa.Array, names: pa.Array | None) -> pa.Table:
    if plan.walk is Walk.NEIGHBORS:
        return _neighbors(graph, hops, sources, is_backwards(plan))
    parts = _still(plan, hops, graph, sources)
    numbers, places = graph.numbers(sources)
    if plan.walk is Walk.SHORTEST:
        for number, place in zip(numbers.tolist(), places.tolist(), strict=True):
            found = Walks.shortest(graph, number, hops.minimum, hops.maximum)
            parts += _rows(plan, found, sources.slice(place, 1), names)
    else:
        found = Walks.all(graph, numbers, hops.minimum, hops.maximum)
        parts += _rows(plan, found, sources.take(pa.array(places)), names)
    return pa.concat_tables(parts) if parts else _schema(plan).empty_table()


def is_backwards(plan: pn.Expand) -> bool:
    """Whether the step is taken from where the text says it ends."""
    return plan.flipped if plan.direction == "both" else plan.direction == "in"


def _neighbors(graph: Adjacency, hops: Hops, sources: pa.Array, backwards: bool) -> pa.Table:
    numbers, places = graph.numbers(sources)
    ends = [graph.neighbors(n, hops, backwards=backwards) for n in numbers.tolist()]
    counts = [len(e) for e in ends]
    owner = np.repeat(places, counts)
    reached = np.concatenate(ends) if ends else np.zeros(0, np.int64)
    table = pa.table({"start": sources.take(pa.array(owner)), "end": graph.nodes.take(pa.array(reached))})
    if hops.minimum:
        return table
    alone = _without_edges(graph, sources)
    return pa.concat_tables([table, pa.table({"start": alone, "end": alone})])


def _without_edges(graph: Adjacency, sources: pa.Array) -> pa.Array:
    _, places = graph.numbers(sources)
    rest = np.setdiff1d(np.arange(len(sources), dtype=np.int64), places)
    return sources.take(pa.array(rest))


def _schema(plan: pn.Expand) -> pa.Schema:
    kinds = {"length": pa.int64(), "vertices": _TEXTS, "edges": _TEXTS}
    fields = [("start", pa.utf8()), ("end", pa.utf8()), *((c, kinds[c]) for c in plan.path_columns)]
    return pa.schema(fields)


def _still(plan: pn.Expand, hops: Hops, graph: Adjacency, sources: pa.Array) -> list[pa.Table]:
    """The walks of no hop from nodes that no edge touches."""
    alone = _without_edges(graph, sources)
    if hops.minimum or not len(alone):
        return []
    empty = pa.array([[]] * len(alone), _TEXTS)
    paths = {
        "length": pa.array([0] * len(alone), pa.int64()),
        "vertices": pa.array([[one] for one in alone.to_pylist()], _TEXTS),
        "edges": empty,
    }
    return [pa.table([alone, alone, *(paths[c] for c in plan.path_columns)], schema=_schema(plan))]


def _rows(plan: pn.Expand, walks: Walks, sources: pa.Array, edges: pa.Array | None) -> list[pa.Table]:
    """The chosen walks as rows; `sources` are the ids of the nodes they start at, in order."""
    backwards = is_backwards(plan)
    names = walks.graph.nodes
    made: list[pa.Table] = []
    for length, places in walks.chosen:
        owner, nodes, steps = walks.traced(length, places)
        start, end = sources.take(pa.array(owner)), names.take(pa.array(nodes[:, -1]))
        if backwards:
            nodes, steps = nodes[:, ::-1], steps[:, ::-1]
        columns: list[pa.Array] = [start, end]
        for column in plan.path_columns:
            if column == "length":
                columns.append(pa.array(np.full(len(places), length), pa.int64()))
            elif column == "vertices":
                columns.append(listed_rows(names, nodes).cast(_TEXTS))
            else:
                columns.append(listed_rows(edges, steps).cast(_TEXTS))
        made.append(pa.table(columns, schema=_schema(plan)))
    return made
