"""What the functions over a graph look at, read once per process: edges as arrays, and columns by id."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base import limits
from omnigraph_sql.base.catalog import DST, ID, SRC, EdgeType, TableType
from omnigraph_sql.base.errors import DataError
from omnigraph_sql.bind.bound import Hops
from omnigraph_sql.engine.load.readers import source_type
from omnigraph_sql.engine.load.values import Source
from omnigraph_sql.engine.store.lookup import joined, matching, pieces
from omnigraph_sql.engine.store.tables import OpenTable
from omnigraph_sql.engine.values import TableIdentity
from omnigraph_sql.graph import Graph
from omnigraph_sql.run.adjacency import Adjacency
from omnigraph_sql.spark.ids import IdIndex, Ints
from omnigraph_sql.spark.place import GraphPlace, opened

_NONE: Final = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Degrees:
    """Edges that leave each node."""

    sources: IdIndex
    counts: Ints

    def of(self, ids: pa.Array) -> pa.Array:
        """The degree of each id, 0 where no edge leaves it; null stays null."""
        found = self.sources.find(ids)
        counts = np.where(found >= 0, self.counts[np.maximum(found, 0)] if len(self.counts) else 0, 0)
        return pa.array(counts, pa.int64(), mask=_null(ids))


@dataclass(frozen=True, slots=True)
class Neighbors:
    """Walks along the arrows of one edge type."""

    graph: Adjacency
    index: IdIndex
    repeats: bool
    """Whether both ends are of one type, so that an edge can follow another."""

    def reached(self, ids: pa.Array, hops: int) -> list[Ints]:
        """For each id the nodes whose distance is 1 to `hops`, each once."""
        if not self.repeats:
            return [self._next(n) for n in self.index.find(ids).tolist()]
        window = Hops(1, hops)
        return [
            self.graph.neighbors(n, window, backwards=False) if n >= 0 else _NONE for n in self.index.find(ids).tolist()
        ]

    def _next(self, node: int) -> Ints:
        if node < 0:
            return _NONE
        return np.unique(self.graph.ends[self.graph.first[node] : self.graph.first[node + 1]])


def _null(ids: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.bool_]] | None:
    return ids.is_null().to_numpy(zero_copy_only=False) if ids.null_count else None


def edge_of(graph: Graph, name: str) -> EdgeType:
    """Raises DataError when there is no such edge type."""
    found = graph.catalog.edge_word(name.removeprefix("edge:"))
    if found is None:
        known = ", ".join(e.name for e in graph.catalog.edges)
        raise DataError(f"there is no edge type {name!r}", hint=f"the schema has {known or 'none'}")
    return found


def _table(graph: Graph, of: TableType) -> OpenTable:
    pin = graph._session.snapshot().pin(TableIdentity.of(of))
    if pin is None:
        raise DataError(f"{of.name} is not a table of this graph")
    return graph._world.tables.open(pin)


@cache
def degrees(place: GraphPlace, edge: str) -> Degrees:
    graph = opened(place)
    found = [p[SRC] for p in pieces(graph._world.tables, _table(graph, edge_of(graph, edge)), [SRC])]
    counted = joined(found).value_counts()
    sources = counted.field("values") if len(counted) else pa.array([], pa.utf8())
    counts = counted.field("counts").to_numpy(zero_copy_only=False) if len(counted) else _NONE
    return Degrees(IdIndex.of(sources), counts.astype(np.int64))


@cache
def neighbors(place: GraphPlace, edge: str) -> Neighbors:
    graph = opened(place)
    of = edge_of(graph, edge)
    found = list(pieces(graph._world.tables, _table(graph, of), [SRC, DST]))
    src, dst = joined([p[SRC] for p in found]), joined([p[DST] for p in found])
    made = Adjacency.of(src, dst, "out")
    return Neighbors(made, IdIndex.of(made.nodes), of.source == of.target)


@dataclass(frozen=True, slots=True)
class Column:
    """The values of one property by id, as texts."""

    index: IdIndex
    texts: pa.Array

    def of(self, ids: pa.Array) -> pa.Array:
        found = self.index.find(ids)
        places = pa.array(np.maximum(found, 0), pa.int64(), mask=found < 0)
        return self.texts.take(places)


@cache
def column(place: GraphPlace, of: str, name: str) -> Column:
    graph = opened(place)
    table, wanted = _column(graph, of, name)
    found = list(pieces(graph._world.tables, _table(graph, table), list(dict.fromkeys((ID, wanted)))))
    ids = joined([p[ID] for p in found])
    chunks = [c for p in found for c in p[wanted].chunks]
    return Column(IdIndex.of(ids), _texts(pa.concat_arrays(chunks) if chunks else pa.nulls(0, pa.utf8())))


def looked_up(place: GraphPlace, of: str, name: str, ids: pa.Array) -> pa.Array:
    """The property of each id as text; few ids go through the index, many through the whole column, read once."""
    wanted = ids.unique().drop_null()
    if len(wanted) > limits.LIST_ITEMS_MAX // 8:
        return column(place, of, name).of(ids)
    graph = opened(place)
    table, member = _column(graph, of, name)
    columns = list(dict.fromkeys((ID, member)))
    found = list(matching(graph._world.tables, _table(graph, table), columns, ID, wanted))
    held = joined([p[ID] for p in found])
    chunks = [c for p in found for c in p[member].chunks]
    texts = _texts(pa.concat_arrays(chunks) if chunks else pa.nulls(0, pa.utf8()))
    return texts.take(pc.index_in(ids, value_set=held)) if len(held) else pa.nulls(len(ids), pa.utf8())


def _column(graph: Graph, of: str, name: str) -> tuple[TableType, str]:
    table = source_type(Source("", of), graph.catalog, "og_lookup")
    found = table.column(name)
    if found is None:
        known = ", ".join(f.name for f in table.schema.fields)
        raise DataError(f"{table.name} has no property {name!r}", hint=f"it has {known}")
    return table, found.name


def _texts(values: pa.Array) -> pa.Array:
    """Values as texts: lists as JSON, bytes in base 16, everything else as SQL writes it."""
    kinds = pa.types
    if kinds.is_string(values.type) or kinds.is_null(values.type):
        return values.cast(pa.utf8())
    if kinds.is_nested(values.type):
        return pa.array([None if v is None else json.dumps(v, default=str) for v in values.to_pylist()], pa.utf8())
    if kinds.is_binary(values.type) or kinds.is_large_binary(values.type):
        return pa.array([None if v is None else v.hex() for v in values.to_pylist()], pa.utf8())
    if kinds.is_timestamp(values.type):
        return pc.strftime(values, format="%Y-%m-%dT%H:%M:%SZ")
    return values.cast(pa.utf8())
