"""Reading some columns of a table at its pin, a bounded piece at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base.catalog import ID
from omnigraph_sql.engine.store.predicate import member_of
from omnigraph_sql.engine.store.tables import OpenTable, Tables

LIST_VALUES_MAX: Final = 1024
"""More values than this are compared after reading the column once; a longer filter costs more than it saves."""
_PIECE_ROWS: Final = 524_288
"""What is looked for is hashed once per piece, so a piece is large; it still bounds the memory."""


def pieces(tables: Tables, table: OpenTable, columns: Sequence[str], where: str | None = None) -> Iterator[pa.Table]:
    """The rows that match, in the order of the table, with these columns."""
    if table.pin.row_count == 0:
        return
    with tables.telling(f"reading {table.pin.key}"):
        tables.failpoints.hit("store.lookup")
        scanner: Any = table.dataset.scanner(columns=list(columns), filter=where, batch_size=_PIECE_ROWS)
        held: list[pa.RecordBatch] = []
        rows = 0
        for batch in scanner.to_batches():
            held.append(batch)
            rows += batch.num_rows
            if rows >= _PIECE_ROWS:
                yield pa.Table.from_batches(held)
                held, rows = [], 0
        if rows:
            yield pa.Table.from_batches(held)


def matching(
    tables: Tables, table: OpenTable, columns: Sequence[str], column: str, values: pa.Array
) -> Iterator[pa.Table]:
    """The rows that hold one of the texts in a text column."""
    if not len(values):
        return
    if len(values) <= LIST_VALUES_MAX:
        yield from pieces(tables, table, columns, member_of(column, values))
        return
    for piece in pieces(tables, table, tuple(dict.fromkeys((*columns, column)))):
        yield piece.filter(pc.is_in(piece[column], value_set=values)).select(list(columns))


def existing(tables: Tables, table: OpenTable, ids: pa.Array) -> pa.Array:
    """Those of the ids that the table holds."""
    found = [piece[ID] for piece in matching(tables, table, [ID], ID, ids)]
    return joined(found)


def joined(columns: Sequence[pa.ChunkedArray]) -> pa.Array:
    """Text columns one after the other."""
    chunks = [chunk for column in columns for chunk in column.chunks]
    return pa.concat_arrays(chunks) if chunks else pa.array([], pa.utf8())
