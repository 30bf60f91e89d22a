"""Whether the rows of a state keep what the schema promises. Reads only, and holds a bounded part of a table.

The rules about one value are those of the write path. For rules about several rows, what has to be compared is hashed:
unequal hashes prove that values differ, and rows with equal ones are read again and compared. Of a table whose hashes
are too many, one part after the other is looked at, each chosen by the hash.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base import limits
from omnigraph_sql.base.catalog import DST, ID, SRC, Cardinality, EdgeType, NodeType, TableType, Unique
from omnigraph_sql.base.errors import ConstraintViolation, ValueOutOfRange
from omnigraph_sql.engine.store.held_ids import Hashes, hashes
from omnigraph_sql.engine.store.lookup import pieces
from omnigraph_sql.engine.store.tables import OpenTable
from omnigraph_sql.engine.world import World
from omnigraph_sql.engine.write.images import column_values, derived_ids
from omnigraph_sql.engine.write.staging import unique_rules
from omnigraph_sql.engine.write.validate_cardinality import cardinality_violation
from omnigraph_sql.engine.write.validate_endpoints import absent_end
from omnigraph_sql.engine.write.validate_text import shown
from omnigraph_sql.engine.write.validate_unique import shared_tuples
from omnigraph_sql.engine.write.validate_values import value_violations

Found: TypeAlias = Iterator[ConstraintViolation]
HashOf: TypeAlias = Callable[[pa.Table], Hashes]

_HASH_BYTES = 8
_SUSPECTS_MAX = 4096
"""Hashes whose rows are compared; there are more only where nearly everything is wrong."""


@dataclass(frozen=True, slots=True)
class StoredRows:
    """A table of a state, with its type."""

    world: World
    type: TableType
    table: OpenTable

    def pieces(self, *columns: str) -> Iterator[pa.Table]:
        return pieces(self.world.tables, self.table, tuple(dict.fromkeys(columns)))

    @property
    def parts(self) -> int:
        """In how many parts the hashes of this table fit."""
        return max(1, -(-self.table.pin.row_count * _HASH_BYTES // limits.CHECK_HASHES_BYTES_MAX))


def one_by_one(rows: StoredRows, count: Callable[[int], None]) -> Found:
    """The rules about single rows, over all columns; `count` is told of the rows that were read."""
    for batch in rows.world.tables.batches(rows.table):
        count(batch.num_rows)
        whole = pa.Table.from_batches([batch])
        yield from value_violations(rows.type, whole)
        yield from _keyed(rows.type, whole)


def _keyed(of: TableType, rows: pa.Table) -> Found:
    """Ids that do not follow from their keys; rows in which something of the key is missing were named before."""
    if not of.key:
        return
    ends = (SRC, DST) if isinstance(of, EdgeType) else ()
    members = tuple(dict.fromkeys((ID, *ends, *of.key)))
    whole = rows.select(members).drop_null().combine_chunks()
    columns = {name: pa.concat_arrays(whole[name].chunks) for name in members if whole.num_rows}
    if not columns:
        return
    try:
        derived = derived_ids(of, columns, whole.num_rows)
    except ValueOutOfRange:
        return  # a float that is not finite, which the rules about values have told
    for place in pc.indices_nonzero(pc.not_equal(columns[ID], derived)).to_pylist():
        own, meant = columns[ID][place].as_py(), derived[place].as_py()
        yield ConstraintViolation(
            f"the id of {of.name} {shown(own)} is not the one that its key makes, {shown(meant)}",
            rule="key",
            type=of.name,
            ids=(own,),
        )


# ---- several rows -------------------------------------------------------------------------------------------------


def together(rows: StoredRows) -> Found:
    """The rules about several rows of one table."""
    yield from _repeated(rows)
    for rule in unique_rules(rows.type):
        yield from _shared(rows, rule)
    if isinstance(rows.type, EdgeType) and rows.type.cardinality != Cardinality():
        yield from _counted(rows, rows.type)


def _id_hashes(column: str) -> HashOf:
    return lambda piece: hashes(_whole(piece[column].drop_null()))


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def hashed(tables: Iterable[pa.Table], of: HashOf, part: int, parts: int) -> Hashes:
    """The hashes of one part, sorted."""
    found = [own if parts == 1 else own[own % parts == part] for own in map(of, tables)]
    made = np.concatenate(found) if found else np.empty(0, np.int64)
    made.sort()
    return made


def _often(held: Hashes, least: int, most: int | None) -> Hashes:
    """Sorted hashes that occur fewer or more often than allowed, each once."""
    # Neighbours are compared, not subtracted: hashes lie so far apart that a difference would not fit.
    starts = np.flatnonzero(np.append(len(held) > 0, held[1:] != held[:-1])[: len(held)])
    counts = np.diff(np.append(starts, len(held)))
    wrong = counts < least if most is None else (counts < least) | (counts > most)
    found: Hashes = held[starts[wrong]][:_SUSPECTS_MAX]
    return found


def _repeated(rows: StoredRows) -> Found:
    """Ids that several rows have."""
    for part in range(rows.parts):
        again = _often(hashed(rows.pieces(ID), _id_hashes(ID), part, rows.parts), 0, 1)
        for own, count in _named(rows, ID, again).items():
            if count > 1:
                text = f"{count} rows of {rows.type.name} have the id {shown(own)}"
                yield ConstraintViolation(text, rule="id", type=rows.type.name, ids=(own,))


def _named(rows: StoredRows, column: str, suspects: Hashes) -> Counter[str]:
    """How often each text with one of these hashes occurs."""
    found: Counter[str] = Counter()
    if len(suspects):
        for piece in rows.pieces(ID, column):
            values = _whole(piece[column].drop_null())
            found.update(values.filter(pa.array(np.isin(hashes(values), suspects))).to_pylist())
    return found


def _shared(rows: StoredRows, rule: Unique) -> Found:
    def of(piece: pa.Table) -> Hashes:
        kept = piece.select(rule.properties).drop_null()
        columns = [column_values(_whole(column)) for column in kept.columns]
        return np.fromiter(map(hash, zip(*columns, strict=True)), np.int64, kept.num_rows)

    for part in range(rows.parts):
        again = _often(hashed(rows.pieces(ID, *rule.properties), of, part, rows.parts), 0, 1)
        if len(again):
            kept = (piece.filter(_valid(piece, rule.properties)) for piece in rows.pieces(ID, *rule.properties))
            suspects = [piece.filter(pa.array(np.isin(of(piece), again))) for piece in kept]
            yield from shared_tuples(rows.type, rule, pa.concat_tables(suspects))


def _valid(piece: pa.Table, names: Sequence[str]) -> pa.ChunkedArray:
    mask = pc.is_valid(piece[names[0]])
    for name in names[1:]:
        mask = pc.and_(mask, pc.is_valid(piece[name]))
    return mask


def _counted(rows: StoredRows, edge: EdgeType) -> Found:
    """Sources with too few or too many edges. One without any is none of them: it may wait for its first."""
    bounds = edge.cardinality
    for part in range(rows.parts):
        held = hashed(rows.pieces(ID, SRC), _id_hashes(SRC), part, rows.parts)
        wrong = _often(held, bounds.minimum, bounds.maximum)
        for source, count in _named(rows, SRC, wrong).items():
            if count < bounds.minimum or (bounds.maximum is not None and count > bounds.maximum):
                yield cardinality_violation(edge, source, count)


def loose_ends(nodes: StoredRows, edges: StoredRows, side: str) -> Found:
    """Edges whose end is no node; an end that is null is told by the rules about values."""
    assert isinstance(nodes.type, NodeType)
    for part in range(nodes.parts):
        held = hashed(nodes.pieces(ID), _id_hashes(ID), part, nodes.parts)
        for piece in edges.pieces(ID, side):
            kept = piece.filter(pc.is_valid(piece[side]))
            ends = _whole(kept[side])
            wanted = hashes(ends)
            there = np.zeros(len(wanted), bool)
            if len(held):
                places = np.minimum(np.searchsorted(held, wanted), len(held) - 1)
                there = held[places] == wanted
            mine = ~there if nodes.parts == 1 else ~there & (wanted % nodes.parts == part)
            for row in kept.filter(pa.array(mine)).to_pylist():
                yield absent_end(edges.type, nodes.type, side, row[ID], row[side])
