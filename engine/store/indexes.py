"""Sorted indexes of table columns: what is covered, what is missing, and the staged operation that adds it.

An index covers whole fragments. Rows of other fragments are found by reading them, so an index never decides what a
read gives, only how long it takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from omnigraph_sql.base import limits
from omnigraph_sql.engine.store.tables import STABLE_PROPERTY_ID, OpenTable, Tables

_KIND: Final = "BTREE"
TEXT_SETTINGS: Final[dict[str, Any]] = {
    "base_tokenizer": "simple",
    "language": "English",
    "with_position": True,
    "lower_case": True,
    "stem": False,
    "remove_stop_words": False,
    "ascii_folding": False,
    "max_token_length": None,
}
"""How a text index takes words from texts: as `run.search_words` does, so that it decides nothing."""
_SEGMENTS_MAX: Final = 4
"""Parts of one index beyond which it is built anew; a lookup asks each of them."""


@dataclass(frozen=True, slots=True)
class _Segment:
    uuid: str
    name: str
    field: str
    field_id: int
    version: int
    covered: Any
    """Ids of fragments, in Lance's own form."""

    @property
    def fragments(self) -> frozenset[int]:
        return frozenset(int(fragment) for fragment in self.covered)


@dataclass(frozen=True, slots=True)
class _Work:
    """One index to be built over some fragments; the segments it makes superfluous go."""

    column: str
    fragments: tuple[int, ...]
    superfluous: tuple[_Segment, ...]


def lacking(tables: Tables, table: OpenTable, columns: Sequence[str]) -> tuple[str, ...]:
    """Those of the columns whose index is missing, or leaves too many rows out. Reads no rows."""
    if table.pin.row_count < limits.INDEXED_ROWS_MIN:
        return ()
    with tables.telling(f"looking at the indexes of {table.pin.key}"):
        return tuple(work.column for work in _work(table.dataset, columns))


def index_operation(tables: Tables, dataset: Any, columns: Sequence[str]) -> Any:
    """Index files beside the table, and the operation that makes them part of it."""
    from lance import LanceOperation

    made, gone = [], []
    with tables.telling("building indexes"):
        for work in _work(dataset, columns):
            tables.failpoints.hit("store.index")
            name = _name(dataset.schema.field(work.column))
            made.append(
                dataset.create_index_uncommitted(
                    work.column, _KIND, name=name, fragment_ids=list(work.fragments), replace=True
                )
            )
            gone += [_removal(segment) for segment in work.superfluous]
        return LanceOperation.CreateIndex(made, gone)


def _name(field: pa.Field) -> str:
    """Follows the property through renames; `id`, `src` and `dst` keep their names."""
    stable = (field.metadata or {}).get(STABLE_PROPERTY_ID)
    return f"sorted-{stable.decode() if stable is not None else field.name}"


def _work(dataset: Any, columns: Sequence[str]) -> Iterator[_Work]:
    rows = {f.fragment_id: f.metadata.num_rows for f in dataset.get_fragments()}
    segments = list(_segments(dataset))
    for column in columns:
        own = tuple(s for s in segments if s.field == column)
        covered = frozenset[int]().union(*(s.fragments for s in own)) & rows.keys()
        left = tuple(sorted(rows.keys() - covered))
        count = sum(rows[fragment] for fragment in left)
        if count < limits.INDEXED_ROWS_MIN:
            continue
        # A part that is about as large as the rest is not worth a segment of its own.
        whole = len(own) >= _SEGMENTS_MAX or 2 * count >= sum(rows[fragment] for fragment in covered)
        yield _Work(column, tuple(sorted(rows)), own) if whole else _Work(column, left, ())


def _segments(dataset: Any) -> Iterator[_Segment]:
    for index in dataset.describe_indices():
        if index.index_type.casefold() == _KIND.casefold() and len(index.fields) == 1:
            for part in index.segments:
                version = int(part.dataset_version_at_last_update)
                yield _Segment(part.uuid, index.name, index.field_names[0], index.fields[0], version, part.fragment_ids)


def _removal(segment: _Segment) -> Any:
    from lance.dataset import Index

    return Index(segment.uuid, segment.name, [segment.field_id], segment.version, segment.covered, 0)
