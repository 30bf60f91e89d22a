"""Rows told from each other by a few bytes: two numbers that follow from every value a row has.

Rows with equal values have equal numbers. Others have them too about once in 2 to the power of 128 pairs: what the
numbers begin with is a secret of every attempt, so that nobody can make such rows on purpose.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph_sql.run.ids import Words, hashes_of, mixed

_NULL = np.uint64(0x6E756C6C)


def seeds_of(text: str) -> tuple[int, int]:
    """What the two numbers of every row begin with."""
    whole = blake2b(text.encode(), digest_size=16).digest()
    return int.from_bytes(whole[:8], "big"), int.from_bytes(whole[8:], "big")


def row_digests(batch: pa.RecordBatch, seed: int, *, as_compared: bool = False) -> Words:
    """One of the numbers of each row. `as_compared`: the same one for zeros of either sign, and for all NaN."""
    found = np.full(batch.num_rows, seed, np.uint64)
    for place, column in enumerate(batch.columns):
        plain = _as_compared(column) if as_compared else column
        found = mixed(found ^ np.uint64(place + 1), _values(plain, seed))
    return found


def _as_compared(column: pa.Array) -> pa.Array:
    if isinstance(column, pa.FixedSizeListArray):
        column = column.cast(pa.list_(column.type.value_type))
    if isinstance(column, pa.ListArray):
        # Offsets of a slice would be one, which cannot be combined with a mask.
        offsets, nulls = pa.array(np.asarray(column.offsets)), column.is_null() if column.null_count else None
        return pa.ListArray.from_arrays(offsets, _as_compared(column.values), mask=nulls)
    if not pa.types.is_floating(column.type):
        return column
    plain = np.asarray(column.fill_null(0)) + 0.0
    plain[np.isnan(plain)] = np.nan
    return pa.array(plain, column.type, mask=np.asarray(column.is_null()) if column.null_count else None)


def _values(column: pa.Array, seed: int) -> Words:
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    found = _present(column, seed)
    if column.null_count:
        found[column.is_null().to_numpy(zero_copy_only=False)] = _NULL
    return found


def _present(column: pa.Array, seed: int) -> Words:
    kinds = pa.types
    of = column.type
    if kinds.is_string(of) or kinds.is_binary(of) or kinds.is_large_string(of) or kinds.is_large_binary(of):
        return hashes_of(column, seed)
    if kinds.is_nested(of):
        return _lists(column, seed)
    return mixed(np.full(len(column), seed, np.uint64), _numbers(column))


def _numbers(column: pa.Array) -> Words:
    """Values of a fixed width as they lie in memory: zeros of either sign are two values."""
    of = column.type
    if pa.types.is_null(of):
        return np.zeros(len(column), np.uint64)
    if pa.types.is_boolean(of):
        return np.asarray(column.fill_null(False)).astype(np.uint64)
    whole: npt.NDArray[Any] = np.frombuffer(column.buffers()[1], np.dtype(f"u{of.bit_width // 8}"))
    return whole[column.offset : column.offset + len(column)].astype(np.uint64)


def _lists(column: pa.Array, seed: int) -> Words:
    lists = column.cast(pa.list_(column.type.value_type)) if not pa.types.is_list(column.type) else column
    offsets = lists.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    lengths = np.diff(offsets)
    items = lists.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))
    starts = np.repeat(offsets[:-1], lengths)
    inside = (np.arange(len(items), dtype=np.int64) + offsets[0] - starts).astype(np.uint64)
    placed = mixed(_values(items, seed), inside)
    total = np.concatenate((np.zeros(1, np.uint64), np.cumsum(placed, dtype=np.uint64)))
    at = offsets - offsets[0]
    with np.errstate(over="ignore"):
        sums = total[at[1:]] - total[at[:-1]]
    return mixed(sums ^ np.uint64(seed), lengths.astype(np.uint64))
