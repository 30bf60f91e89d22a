"""Parts of a table that tasks read apart from each other: a fragment, or a range of its rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from omnigraph_sql.engine.store.tables import Tables
from omnigraph_sql.engine.values import TablePin

BATCH_ROWS: Final = 65_536
BATCH_ROWS_MIN: Final = 1024
BATCH_BYTES: Final = 32 * 1024 * 1024
_TEXT_BYTES: Final = 32
"""What a value of a type without a width is taken to need."""
_BATCHES_AHEAD: Final = 4
"""Batches of a fragment that are read before they are asked for; they lie in memory until then."""


@dataclass(frozen=True, slots=True)
class Part:
    """Rows `start : start + count` of those that are alive in a fragment; count None means all of them."""

    fragment: int
    start: int = 0
    count: int | None = None


def parts_of(tables: Tables, pin: TablePin) -> list[Part]:
    """The fragments of the table."""
    return [Part(fragment.fragment_id) for fragment in tables.open(pin).dataset.get_fragments()]


def shares_of(tables: Tables, pin: TablePin, most_rows: int, *, whole: bool = False) -> list[tuple[Part, ...]]:
    """The table in shares of about equally many rows, none with more than `most_rows`.

    With `whole`, fragments are not divided, and a share has more rows where a fragment has.
    """
    counts = [(fragment.fragment_id, fragment.count_rows()) for fragment in tables.open(pin).dataset.get_fragments()]
    total = sum(rows for _, rows in counts)
    each = -(-total // max(1, -(-total // most_rows)))
    shares: list[list[Part]] = [[]]
    room = each
    for fragment, rows in counts:
        start = 0
        while start < rows:
            if room <= 0 or (whole and shares[-1] and rows > room):
                shares.append([])
                room = each
            count = rows if whole else min(room, rows - start)
            shares[-1].append(Part(fragment) if count == rows else Part(fragment, start, count))
            start += count
            room -= count
    return [tuple(share) for share in shares if share]


def part_batches(
    tables: Tables,
    pin: TablePin,
    part: Part,
    columns: Sequence[str],
    *,
    where: str | None = None,
    blobs: bool = False,
    addresses: bool = False,
    batch_rows: int | None = None,
) -> Iterator[pa.RecordBatch]:
    """The rows of a part, in batches of so many rows, or as many as are not too large together."""
    more: dict[str, Any] = {} if part.count is None else {"offset": part.start, "limit": part.count}
    if blobs:
        more["blob_handling"] = "all_binary"
    with tables.telling(f"reading {pin.key}"):
        table = tables.open(pin)
        fragment = table.dataset.get_fragment(part.fragment)
        scanner = fragment.scanner(
            columns=list(columns),
            filter=where,
            batch_size=batch_rows or batch_rows_of(table.schema, columns),
            batch_readahead=_BATCHES_AHEAD,
            with_row_address=addresses,
            **more,
        )
        yield from scanner.to_batches()


def batch_rows_of(schema: pa.Schema, columns: Sequence[str]) -> int:
    """How many rows of these columns make a batch: fewer where each holds long vectors."""
    width = sum(_width(schema.field(name).type) for name in columns)
    return min(BATCH_ROWS, max(BATCH_ROWS_MIN, BATCH_BYTES // max(1, width)))


def _width(of: pa.DataType) -> int:
    """Bytes of a value, as far as its type tells."""
    if pa.types.is_fixed_size_list(of):
        return int(of.list_size) * _width(of.value_type)
    try:
        return -(-int(of.bit_width) // 8)
    except ValueError:
        return _TEXT_BYTES
