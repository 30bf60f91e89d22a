"""Parts of a table that tasks read apart from each other: a fragment, or a range of its rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from omnigraph_sql.engine.store.tables import Tables
from omnigraph_sql.engine.values import TablePin

BATCH_ROWS: Final = 65_536
_BATCHES_AHEAD: Final = 4
"""Batches of a fragment that are read before they are asked for; they lie in memory until then."""


@dataclass(frozen=True, slots=True)
class Part:
    """Rows `start : start + count` of those that are alive in a fragment; count None means all of them."""

    fragment: int
    start: int = 0
    count: int | None = None


def parts_of(tables: Tables, pin: TablePin, split_rows: int | None) -> list[Part]:
    """Parts that together are the table, none with more than `split_rows` rows."""
    found: list[Part] = []
    for fragment in tables.open(pin).dataset.get_fragments():
        rows = fragment.count_rows()
        if split_rows is None or rows <= split_rows:
            found.append(Part(fragment.fragment_id))
        else:
            starts = range(0, rows, split_rows)
            found += [Part(fragment.fragment_id, start, min(split_rows, rows - start)) for start in starts]
    return found


def part_batches(
    tables: Tables,
    pin: TablePin,
    part: Part,
    columns: Sequence[str],
    *,
    where: str | None = None,
    blobs: bool = False,
    addresses: bool = False,
    batch_rows: int = BATCH_ROWS,
) -> Iterator[pa.RecordBatch]:
    """The rows of a part."""
    more: dict[str, Any] = {} if part.count is None else {"offset": part.start, "limit": part.count}
    if blobs:
        more["blob_handling"] = "all_binary"
    with tables.telling(f"reading {pin.key}"):
        fragment = tables.open(pin).dataset.get_fragment(part.fragment)
        scanner = fragment.scanner(
            columns=list(columns),
            filter=where,
            batch_size=batch_rows,
            batch_readahead=_BATCHES_AHEAD,
            with_row_address=addresses,
            **more,
        )
        yield from scanner.to_batches()
