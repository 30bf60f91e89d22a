"""Columns of stored tables in memory, in the order of the table, with what is pending on top of them.

Rows are numbered. A committed row has the number of its place in the table; a pending row that replaces a node keeps
the node's number, so that edges still lead to it; every other pending row comes after the committed ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base.catalog import ID, EdgeType, TableType
from omnigraph_sql.engine.store.derived import content_token, row_addresses
from omnigraph_sql.engine.store.lookup import pieces
from omnigraph_sql.engine.store.tables import ROW_ADDRESS, OpenTable, Tables
from omnigraph_sql.engine.write.staging import Mode, TableChanges
from omnigraph_sql.run.shelf import SHELF

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
_NONE: Final[Ints] = np.zeros(0, np.int64)
_DISTINCT_SHARE: Final = 4
"""A column with fewer distinct values than one in so many rows is tested value by value instead of row by row."""


class Column:
    """One column in the order of numbers. Forms of it are made when they are asked for."""

    __slots__ = ("_codes", "_values", "array")

    def __init__(self, array: pa.Array) -> None:
        self.array = array
        self._values: tuple[npt.NDArray[Any], Bools | None] | None = None
        self._codes: tuple[npt.NDArray[np.int32], pa.Array] | None = None

    def values(self) -> tuple[npt.NDArray[Any], Bools | None]:
        """Numbers, dates and instants as numbers, and which of them are there; None when all are."""
        if self._values is None:
            array = self.array
            valid = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None
            if pa.types.is_date32(array.type):
                array = array.cast(pa.int32())
            elif pa.types.is_timestamp(array.type):
                array = array.cast(pa.int64())
            filled = array.fill_null(False if pa.types.is_boolean(array.type) else 0) if valid is not None else array
            self._values = filled.to_numpy(zero_copy_only=False), valid
        return self._values

    def codes(self) -> tuple[npt.NDArray[np.int32], pa.Array]:
        """A number for each value, and the values by number; null has the number after the last."""
        if self._codes is None:
            coded = self.array.dictionary_encode()
            numbers = coded.indices.fill_null(len(coded.dictionary)).to_numpy(zero_copy_only=False)
            self._codes = numbers.astype(np.int32, copy=False), coded.dictionary
        return self._codes

    def is_repetitive(self) -> bool:
        """Whether a value comes often enough to be looked at once; lists and vectors are not numbered."""
        if pa.types.is_nested(self.array.type):
            return False
        return len(self.codes()[1]) * _DISTINCT_SHARE <= len(self.array)

    def nbytes(self) -> int:
        """What the column and its forms take."""
        return 3 * int(self.array.nbytes) + 64


@dataclass(frozen=True)
class Held:
    """The rows of one table at one state."""

    tables: Tables
    table: OpenTable
    type: TableType
    changes: TableChanges | None = None

    @cached_property
    def token(self) -> str:
        return content_token(self.table)

    # ---- committed rows ---------------------------------------------------------------------------------------

    @cached_property
    def stored(self) -> int:
        """How many committed rows are numbered."""
        return 0 if self.is_overwritten else self.table.pin.row_count

    @property
    def is_overwritten(self) -> bool:
        return self.changes is not None and self.changes.mode is Mode.OVERWRITE

    def stored_column(self, name: str) -> Column:
        """A column of the committed rows, kept in memory."""
        key = ("column", self.token, name)
        return SHELF.get(key, lambda: Column(self._scanned(name)), Column.nbytes)

    def _scanned(self, name: str) -> pa.Array:
        parts = [piece[name] for piece in pieces(self.tables, self.table, (name,))]
        chunks = [chunk for part in parts for chunk in part.chunks]
        return pa.concat_arrays(chunks) if chunks else pa.array([], self.table.schema.field(name).type)

    def places(self, ids: pa.Array) -> Ints:
        """Places of committed rows by id, -1 where there is none."""
        if self.is_overwritten or not len(ids) or not self.stored:
            return np.full(len(ids), -1, np.int64)
        found = self.tables.addresses(self.table, pc.unique(ids))
        at = pc.index_in(ids, value_set=found[ID].combine_chunks()).fill_null(-1)
        at = at.to_numpy(zero_copy_only=False)
        known: Ints = np.append(self._places_at(found[ROW_ADDRESS].to_numpy()), -1)
        chosen: Ints = known[at]
        return chosen

    def _places_at(self, addresses: npt.NDArray[np.uint64]) -> Ints:
        every = SHELF.get(("addresses", self.token), self._addresses, lambda found: int(found[0].nbytes) * 2)
        known, order = every
        at = np.searchsorted(known, addresses)
        return order[at] if order is not None else at.astype(np.int64)

    def _addresses(self) -> tuple[npt.NDArray[np.uint64], Ints | None]:
        """Addresses in ascending order, and the place of each where that is another order."""
        known = row_addresses(self.tables, self.table)
        if len(known) < 2 or bool((known[1:] > known[:-1]).all()):
            return known, None
        order = np.argsort(known, kind="stable").astype(np.int64)
        return known[order], order

    # ---- with what is pending ---------------------------------------------------------------------------------

    @cached_property
    def pending(self) -> pa.Table | None:
        if self.changes is None or not (self.changes.batches or self.changes.mode is Mode.OVERWRITE):
            return None
        rows = self.changes.rows()
        return rows if rows.num_rows else None

    @cached_property
    def _replaced(self) -> Ints:
        """For every pending row the place of the committed row it replaces, or -1."""
        return self.places(joined(self.pending[ID])) if self.pending is not None else _NONE

    @cached_property
    def dead(self) -> Ints:
        """Places of committed rows that are not there any more; replaced nodes are, under their number."""
        if self.changes is None or self.is_overwritten:
            return _NONE
        gone = self.places(pa.array(sorted(self.changes.shadow()), pa.utf8()))
        gone = np.unique(gone[gone >= 0])
        return gone if isinstance(self.type, EdgeType) else np.setdiff1d(gone, self._replaced)

    @cached_property
    def added(self) -> Ints:
        """Places in `pending` of the rows that come after the committed ones, in order."""
        if self.pending is None:
            return _NONE
        if isinstance(self.type, EdgeType):
            return np.arange(self.pending.num_rows, dtype=np.int64)
        return np.flatnonzero(self._replaced < 0).astype(np.int64)

    @cached_property
    def count(self) -> int:
        """How many numbers there are; some may be of rows that are gone."""
        return self.stored + len(self.added)

    @cached_property
    def alive(self) -> Bools | None:
        """Which numbers are of rows that are there; None for all."""
        if not len(self.dead):
            return None
        found = np.ones(self.count, np.bool_)
        found[self.dead] = False
        return found

    def column(self, name: str) -> Column:
        """A column by number."""
        if self.pending is None:
            return self.stored_column(name)
        own = joined(self.pending[name])
        if not self.stored:
            return Column(own.take(pa.array(self.added)))
        base = self.stored_column(name).array
        index = np.concatenate((np.arange(self.stored, dtype=np.int64), self.stored + self.added))
        if not isinstance(self.type, EdgeType):
            changed = np.flatnonzero(self._replaced >= 0)
            index[self._replaced[changed]] = self.stored + changed
        return Column(pa.concat_arrays([base, own.cast(base.type)]).take(pa.array(index)))

    def ranks(self) -> Ints:
        """The place of each row in the order of ids."""
        if self.pending is None:
            return SHELF.get(("ranks", self.token), lambda: _ranks(self.column(ID)), lambda made: int(made.nbytes))
        return _ranks(self.column(ID))

    def numbers(self, ids: pa.Array) -> Ints:
        """Numbers of rows by id; -1 for those that are not there."""
        found = self.places(ids)
        if self.alive is not None:
            found = np.where((found >= 0) & ~self.alive[np.maximum(found, 0)], -1, found)
        if len(self.added):
            assert self.pending is not None
            own = joined(self.pending[ID]).take(pa.array(self.added))
            at = pc.index_in(ids, value_set=own).fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
            found = np.where(at >= 0, self.stored + at, found)
        return found


def _ranks(ids: Column) -> Ints:
    made = np.empty(len(ids.array), np.int64)
    made[pc.sort_indices(ids.array).to_numpy()] = np.arange(len(made), dtype=np.int64)
    return made


def joined(column: pa.ChunkedArray) -> pa.Array:
    """A column in one piece."""
    made = column.combine_chunks()
    return pa.concat_arrays(made.chunks) if isinstance(made, pa.ChunkedArray) else made
