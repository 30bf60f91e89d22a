"""Where the rows of one state of a table are in another one, from the fragments of both alone.

A fragment with the same files holds the same rows but for those deleted in it. Rows of a fragment that the other state
lacks are gone, or new, as far as can be told from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph_sql.engine.store.tables import ROW_ADDRESS, OpenTable, Tables

Ints = npt.NDArray[np.int64]
_IN_FRAGMENT = np.uint64(0xFFFF_FFFF)


@dataclass(frozen=True, slots=True)
class Stretch:
    """The rows of one fragment, in the order of the table: their files, what is deleted in them, how many are left."""

    files: str
    deletions: str
    rows: int
    physical_rows: int


def stretches(table: OpenTable) -> tuple[Stretch, ...]:
    """The fragments of a table; equal ones hold equal rows."""
    return tuple(_stretch(fragment.metadata) for fragment in table.dataset.get_fragments())


def _stretch(held: Any) -> Stretch:
    files = " ".join(f"{file.path} {file.fields}" for file in held.files)
    # A deletion file is named by a number drawn for it: two that hide as many rows may hide others.
    deletions = held.deletion_file.path(held.id) if held.deletion_file is not None else ""
    return Stretch(files, deletions, int(held.num_rows), int(held.physical_rows))


@dataclass(frozen=True, slots=True)
class Move:
    """`to` is the new place of every old row, ascending, and -1 for one that is gone; `fresh` are the places of rows
    that no old one came to, ascending."""

    to: Ints
    fresh: Ints

    @property
    def gone(self) -> Ints:
        return np.flatnonzero(self.to < 0).astype(np.int64)


def moved(tables: Tables, old: OpenTable, new: OpenTable, most: int) -> Move | None:
    """From one state of a table to another; None when more than `most` rows are new or gone, or others changed places.

    Raises StorageError, VersionReclaimed when what is deleted in the old state cannot be read any more.
    """
    before, after = stretches(old), stretches(new)
    starts = np.cumsum([0, *(s.rows for s in before)])
    home = {s.files: number for number, s in enumerate(before)}
    to = np.full(int(starts[-1]), -1, np.int64)
    fresh: list[Ints] = []
    changed, at, last = 0, 0, -1
    for number, stretch in enumerate(after):
        origin = home.get(stretch.files)
        places = np.arange(at, at + stretch.rows, dtype=np.int64)
        at += stretch.rows
        if origin is None:
            fresh.append(places)
            changed += stretch.rows
        elif origin <= last:
            return None
        elif before[origin].deletions == stretch.deletions:
            to[starts[origin] : starts[origin + 1]] = places
        else:
            there = _offsets(tables, old, origin, before[origin]), _offsets(tables, new, number, stretch)
            place = np.searchsorted(there[1], there[0])
            met = np.append(there[1], -1)[place] == there[0]
            to[starts[origin] : starts[origin + 1]][met] = places[place[met]]
            fresh.append(places[~np.isin(there[1], there[0])])
            changed += len(fresh[-1])
        last = last if origin is None else origin
        if changed > most:
            return None
    if int(np.count_nonzero(to < 0)) > most:
        return None
    return Move(to, np.concatenate(fresh) if fresh else np.zeros(0, np.int64))


def _offsets(tables: Tables, table: OpenTable, number: int, stretch: Stretch) -> Ints:
    """Which rows of a fragment are there."""
    if not stretch.deletions:
        return np.arange(stretch.physical_rows, dtype=np.int64)
    with tables.telling(f"reading {table.pin.key}"):
        tables.failpoints.hit("store.lookup")
        fragment = table.dataset.get_fragments()[number]
        found = fragment.scanner(columns=[], with_row_address=True).to_table()[ROW_ADDRESS].to_numpy()
        offsets: Ints = (found & _IN_FRAGMENT).astype(np.int64)
        return offsets


def rows_at(tables: Tables, table: OpenTable, places: Ints, columns: list[str]) -> pa.Table:
    """Some rows of a table by their places, which ascend: only the fragments they lie in are read."""
    parts: list[pa.Table] = []
    start = 0
    with tables.telling(f"reading {table.pin.key}"):
        tables.failpoints.hit("store.lookup")
        for fragment, stretch in zip(table.dataset.get_fragments(), stretches(table), strict=True):
            low, high = np.searchsorted(places, (start, start + stretch.rows))
            if low < high:
                found = fragment.scanner(columns=columns).to_table().select(columns)
                wanted = places[low:high] - start
                parts.append(found if len(wanted) == found.num_rows else found.take(pa.array(wanted)))
            start += stretch.rows
    empty = pa.schema([table.schema.field(name) for name in columns]).empty_table()
    return pa.concat_tables([part.cast(empty.schema) for part in parts]) if parts else empty
