"""What the functions over a graph look at, opened once per process: links between numbered nodes, and columns by id.

Links come from the files that the query engine keeps; the index of a table's ids is kept beside them, so that one
process of a machine makes both and the others read them.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base import limits
from omnigraph_sql.base.catalog import ID, EdgeType, TableType
from omnigraph_sql.base.errors import DataError
from omnigraph_sql.base.seams import Pause
from omnigraph_sql.engine.store.derived import Damaged
from omnigraph_sql.engine.store.lookup import joined, matching
from omnigraph_sql.foreign import PinnedTables
from omnigraph_sql.run.held import Held
from omnigraph_sql.run.ids import IdIndex, Ints, ascending
from omnigraph_sql.run.links import Part, merged
from omnigraph_sql.spark.by_place import ByPlace
from omnigraph_sql.spark.place import GraphPlace, tables_at

_NONE: Final = np.zeros(0, np.int64)
_STARTS_AT_ONCE: Final = 4096
"""Starts whose walks are held in memory together."""
_TURN_SECONDS: Final = 0.05
_TURN_LOOKS_MAX: Final = 6000


@dataclass(frozen=True, slots=True)
class Neighbors:
    """Links along the arrows of one edge type, between nodes with numbers."""

    part: Part
    starts: IdIndex
    names: pa.Array
    """Ids of the nodes at the far end, by number."""
    repeats: bool
    """Whether both ends are of one type, so that an edge can follow another."""

    def degrees(self, ids: pa.Array) -> pa.Array:
        """How many edges leave each node, 0 for one that is not there; null stays null."""
        found = self.starts.find(ids)
        first = self.part.first
        here = np.maximum(found, 0)
        counts = np.where(found >= 0, first[here + 1] - first[here], 0) if len(first) > 1 else np.zeros(len(ids))
        mask = ids.is_null().to_numpy(zero_copy_only=False) if ids.null_count else None
        return pa.array(counts.astype(np.int64), pa.int64(), mask=mask)

    def reached(self, ids: pa.Array, hops: int) -> Iterator[tuple[int, Ints, Ints]]:
        """Ids in slices: how many, and pairs of a place in the slice and a node 1 to `hops` steps from it, each once.

        The node itself is among them only by an edge to itself.
        """
        for start in range(0, len(ids), _STARTS_AT_ONCE):
            some = self.starts.find(ids.slice(start, _STARTS_AT_ONCE))
            yield len(some), *self._walked(some, hops if self.repeats else 1)

    def _walked(self, starts: Ints, hops: int) -> tuple[Ints, Ints]:
        nodes = np.int64(max(len(self.names), len(self.part.first)))
        known = np.flatnonzero(starts >= 0)
        ring = known * nodes + starts[known]
        own = ring if self.repeats else _NONE
        seen, found = own, [_NONE]
        for hop in range(hops):
            owners, at = np.divmod(ring, nodes)
            which, place = self.part.places(at)
            far = ascending(owners[which] * nodes + self.part.ends[place])
            if hop == 0:
                found.append(np.intersect1d(far, own, assume_unique=True))
            ring = np.setdiff1d(far, seen, assume_unique=True)
            found.append(ring)
            seen = np.concatenate((seen, ring))
        owner, node = np.divmod(ascending(np.concatenate(found)), nodes)
        return owner, node


def edge_of(tables: PinnedTables, name: str) -> EdgeType:
    """Raises DataError when there is no such edge type."""
    found = tables.catalog.edge_word(name.removeprefix("edge:"))
    if found is None:
        known = ", ".join(e.name for e in tables.catalog.edges)
        raise DataError(f"there is no edge type {name!r}", hint=f"the schema has {known or 'none'}")
    return found


@ByPlace
def neighbors(place: GraphPlace, edge: str) -> Neighbors:
    tables = tables_at(place)
    of = edge_of(tables, edge)
    links = tables.links(of)
    with _in_turn(tables.derived().folder, of.name, tables.pause):
        part = merged(list(links.side("out").parts))
    source, target = (tables.catalog.node(name) for name in (of.source, of.target))
    assert source is not None
    assert target is not None
    names = links.target.column(ID).array
    return Neighbors(part, index(place, f"node:{source.name}"), names, source == target)


@ByPlace
def index(place: GraphPlace, table: str) -> IdIndex:
    """The ids of a table by number."""
    tables = tables_at(place)
    held = tables.held(tables.type(table))
    ids = held.column(ID).array
    files, path, token = tables.derived(), held.table.pin.path, held.token
    with _in_turn(files.folder, held.type.name, tables.pause):
        stored = files.open(path, token)
        if stored is not None:
            try:
                return IdIndex(ids, stored.get("hashes"), stored.get("order"), int(stored.notes["most"]))
            except (Damaged, KeyError):
                files.drop(path, token)
        made = IdIndex.of(ids)
        files.write(path, token, {"hashes": made.hashes, "order": made.order}, {"most": made.most})
    return made


@contextmanager
def _in_turn(folder: Path, name: str, pause: Pause) -> Iterator[None]:
    """One process of the machine after the other, so that the first makes a file and the others find it.

    Only work is saved by it: whoever cannot have the lock goes on without.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / f".{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError:
        yield
        return
    try:
        for _ in range(_TURN_LOOKS_MAX):
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                pause.seconds(_TURN_SECONDS)
        yield
    finally:
        os.close(handle)


@dataclass(frozen=True, slots=True)
class Column:
    """The values of one property by id, as texts."""

    index: IdIndex
    texts: pa.Array

    def of(self, ids: pa.Array) -> pa.Array:
        found = self.index.find(ids)
        places = pa.array(np.maximum(found, 0), pa.int64(), mask=found < 0)
        return self.texts.take(places)


@ByPlace
def column(place: GraphPlace, of: str, name: str) -> Column:
    tables = tables_at(place)
    table, wanted = _column(tables, of, name)
    held: Held = tables.held(table)
    return Column(index(place, of), _texts(held.column(wanted).array))


def looked_up(place: GraphPlace, of: str, name: str, ids: pa.Array) -> pa.Array:
    """The property of each id as text; few ids go through the index, many through the whole column, read once."""
    wanted = ids.unique().drop_null()
    if len(wanted) > limits.LIST_ITEMS_MAX // 8:
        return column(place, of, name).of(ids)
    tables = tables_at(place)
    table, member = _column(tables, of, name)
    columns = list(dict.fromkeys((ID, member)))
    found = list(matching(tables.tables, tables.open(table), columns, ID, wanted))
    held = joined([p[ID] for p in found])
    chunks = [c for p in found for c in p[member].chunks]
    texts = _texts(pa.concat_arrays(chunks) if chunks else pa.nulls(0, pa.utf8()))
    return texts.take(pc.index_in(ids, value_set=held)) if len(held) else pa.nulls(len(ids), pa.utf8())


def _column(tables: PinnedTables, of: str, name: str) -> tuple[TableType, str]:
    table = tables.type(of, "og_lookup")
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
