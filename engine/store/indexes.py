"""Indexes of table columns: what is covered, what is missing, and the staged operation that adds it.

An index covers whole fragments. Rows of other fragments are found by reading them, so an index never decides what a
read gives, only how long it takes; one of vectors also decides how near the nearest are that a search gives.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import pyarrow as pa

from omnigraph_sql.base import limits
from omnigraph_sql.engine.store.predicate import column_text
from omnigraph_sql.engine.store.tables import STABLE_PROPERTY_ID, OpenTable, Tables

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
_VECTOR_SETTINGS: Final[dict[str, Any]] = {"metric": "cosine"}
_SEGMENTS_MAX: Final = 4
"""Parts of one index beyond which it is built anew; a lookup asks each of them."""


class IndexKind(StrEnum):
    """What an index answers."""

    SORTED = "sorted"
    """Equality and order."""
    TEXT = "text"
    """Words in a text."""
    VECTOR = "vector"
    """Nearest vectors."""
    ITEMS = "items"
    """Items of a list."""


LANCE_KINDS: Final = {IndexKind.SORTED: "BTREE", IndexKind.TEXT: "INVERTED", IndexKind.VECTOR: "IVF_FLAT"}
"""What is built; an index of items is not."""


@dataclass(frozen=True, slots=True)
class TableIndex:
    """An index of one column of a table."""

    column: str
    kind: IndexKind

    def __post_init__(self) -> None:
        if self.kind not in LANCE_KINDS:
            raise ValueError(f"an index of {self.kind} is not built")

    @property
    def rows_min(self) -> int:
        """Rows it may leave out; one more and it is worth building, or extending."""
        return limits.VECTOR_INDEXED_ROWS_MIN if self.kind is IndexKind.VECTOR else limits.INDEXED_ROWS_MIN


@dataclass(frozen=True, slots=True)
class _Segment:
    uuid: str
    name: str
    field: str
    field_id: int
    version: int
    covered: Any
    """Ids of fragments, in Lance's own form."""
    kind: IndexKind

    @property
    def fragments(self) -> frozenset[int]:
        return frozenset(int(fragment) for fragment in self.covered)


@dataclass(frozen=True, slots=True)
class _Work:
    """One index to be built over some fragments; the segments it makes superfluous go."""

    index: TableIndex
    fragments: tuple[int, ...]
    superfluous: tuple[_Segment, ...]
    rows: int


def lacking(tables: Tables, table: OpenTable, wanted: Sequence[TableIndex]) -> tuple[TableIndex, ...]:
    """Those of the indexes that are missing, or leave too many rows out. Reads no rows but those of vectors."""
    if table.pin.row_count < limits.INDEXED_ROWS_MIN:
        return ()
    with tables.telling(f"looking at the indexes of {table.pin.key}"):
        return tuple(work.index for work in _work(table.dataset, wanted))


def index_operation(tables: Tables, dataset: Any, wanted: Sequence[TableIndex]) -> Any:
    """Index files beside the table, and the operation that makes them part of it."""
    from lance import LanceOperation

    made, gone = [], []
    with tables.telling("building indexes"):
        for work in _work(dataset, wanted):
            tables.failpoints.hit("store.index")
            made.append(_built(dataset, work))
            gone += [_removal(segment) for segment in work.superfluous]
        return LanceOperation.CreateIndex(made, gone)


def _built(dataset: Any, work: _Work) -> Any:
    settings: dict[str, Any] = {}
    match work.index.kind:
        case IndexKind.TEXT:
            settings = TEXT_SETTINGS
        case IndexKind.VECTOR:
            settings = {**_VECTOR_SETTINGS, "num_partitions": max(1, math.isqrt(work.rows) // 2)}
        case _:
            pass
    column, kind = work.index.column, LANCE_KINDS[work.index.kind]
    name = index_name(dataset.schema.field(column), work.index.kind)
    made = dataset.create_index_uncommitted(
        column, kind, name=name, fragment_ids=list(work.fragments), replace=True, **settings
    )
    # What was made of words lies in parts until it is merged, and is not found by a search before.
    return dataset.merge_existing_index_segments([made]) if work.index.kind is IndexKind.TEXT else made


def index_name(field: pa.Field, kind: IndexKind) -> str:
    """Follows the property through renames; `id`, `src` and `dst` keep their names."""
    stable = (field.metadata or {}).get(STABLE_PROPERTY_ID)
    return f"{kind}-{stable.decode() if stable is not None else field.name}"


def _work(dataset: Any, wanted: Sequence[TableIndex]) -> Iterator[_Work]:
    rows = {f.fragment_id: f.metadata.num_rows for f in dataset.get_fragments()}
    segments = list(_segments(dataset))
    for index in wanted:
        own = tuple(s for s in segments if s.field == index.column and s.kind is index.kind)
        covered = frozenset[int]().union(*(s.fragments for s in own)) & rows.keys()
        left = tuple(sorted(rows.keys() - covered))
        count = sum(rows[fragment] for fragment in left)
        if count < index.rows_min or not _trainable(dataset, index):
            continue
        # A part that is about as large as the rest is not worth a segment of its own.
        whole = len(own) >= _SEGMENTS_MAX or 2 * count >= sum(rows[fragment] for fragment in covered)
        if whole:
            yield _Work(index, tuple(sorted(rows)), own, sum(rows.values()))
        else:
            yield _Work(index, left, (), count)


def _trainable(dataset: Any, index: TableIndex) -> bool:
    """An index of vectors is made from vectors, so there have to be some."""
    if index.kind is not IndexKind.VECTOR:
        return True
    return int(dataset.count_rows(f"{column_text(index.column)} IS NOT NULL")) >= index.rows_min


@dataclass(frozen=True, slots=True)
class StoredIndex:
    """An index there is, and how many rows it covers."""

    name: str
    column: str
    kind: IndexKind
    fragments: frozenset[int]


def stored_indexes(tables: Tables, table: OpenTable) -> tuple[StoredIndex, ...]:
    """The indexes of a table at its pin, the parts of one together."""
    with tables.telling(f"looking at the indexes of {table.pin.key}"):
        found: dict[str, StoredIndex] = {}
        for part in _segments(table.dataset):
            known = found.get(part.name)
            covered = part.fragments if known is None else known.fragments | part.fragments
            found[part.name] = StoredIndex(part.name, part.field, part.kind, covered)
        return tuple(sorted(found.values(), key=lambda index: index.name))


def _segments(dataset: Any) -> Iterator[_Segment]:
    for index in dataset.describe_indices():
        kind = _kind(index)
        if kind is not None and len(index.fields) == 1:
            for part in index.segments:
                version = int(part.dataset_version_at_last_update)
                name, column = index.name, index.field_names[0]
                yield _Segment(part.uuid, name, column, index.fields[0], version, part.fragment_ids, kind)


def _kind(index: Any) -> IndexKind | None:
    if index.index_type.casefold() == "btree":
        return IndexKind.SORTED
    # Others may be made with settings that are not ours, so only the name tells.
    return next((k for k in (IndexKind.TEXT, IndexKind.VECTOR) if index.name.startswith(f"{k}-")), None)


def _removal(segment: _Segment) -> Any:
    from lance.dataset import Index

    return Index(segment.uuid, segment.name, [segment.field_id], segment.version, segment.covered, 0)
