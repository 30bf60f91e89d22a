"""Searches as arguments of a Lance scan: filters and hidden rows apply before the ranking, never after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base import limits
from omnigraph_sql.engine.store.indexes import IndexKind, index_name, stored_indexes
from omnigraph_sql.engine.store.moved import stretches
from omnigraph_sql.engine.store.tables import OpenTable, Tables

DISTANCE: Final = "_distance"
SCORE: Final = "_score"
_PROBES_MIN: Final = 16
"""Parts of a vector index that a search looks into at least."""
_PROBED_SHARE: Final = 8
"""One in this many parts of a vector index is looked into."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Which rows may be ranked by a column: those that pass the filter and are not hidden; `columns` are read too."""

    table: OpenTable
    column: str
    columns: tuple[str, ...]
    where: str | None = None
    hidden: bytes | None = None

    def options(self, *more: str) -> dict[str, Any]:
        names = dict.fromkeys((*self.columns, self.column, *more))
        made: dict[str, Any] = {"columns": list(names), "prefilter": True}
        if self.where is not None:
            made["filter"] = self.where
        if self.hidden is not None:
            made["row_addr_blocklist"] = self.hidden
        return made


def nearest_rows(tables: Tables, among: Candidates, point: Any, count: int, *, exact: bool) -> pa.Table:
    """About the `count` rows with the smallest cosine distance, nearest first; `exact` compares every vector."""
    wanted: dict[str, Any] = {"column": among.column, "q": point, "k": count, "metric": "cosine"}
    if exact:
        wanted["use_index"] = False
    else:
        parts = max(1, among.table.pin.row_count) ** 0.5 / 2
        wanted["nprobes"] = max(_PROBES_MIN, int(parts) // _PROBED_SHARE)
    with tables.telling(f"searching {among.table.pin.key}"):
        tables.failpoints.hit("store.lookup")
        found: pa.Table = among.table.dataset.scanner(nearest=wanted, **among.options(DISTANCE)).to_table()
        return found


def text_rows(tables: Tables, among: Candidates, column: str, words: Sequence[str], count: int) -> pa.Table:
    """The `count` rows whose texts in `column` say most of the words, by Lance's own relevance."""
    from lance.query import MatchQuery

    # Words are letters and digits alone, so nothing in them is an operator.
    query = MatchQuery(" ".join(words), column)
    with tables.telling(f"searching {among.table.pin.key}"):
        tables.failpoints.hit("store.lookup")
        found: pa.Table = among.table.dataset.scanner(
            full_text_query=query, limit=count, **among.options(SCORE)
        ).to_table()
        return found


def holding_count(tables: Tables, table: OpenTable, column: str, word: str) -> int:
    """How many rows hold a word, by the index."""
    from lance.query import MatchQuery

    with tables.telling(f"searching {table.pin.key}"):
        tables.failpoints.hit("store.lookup")
        scanner: Any = table.dataset.scanner(columns=[SCORE], full_text_query=MatchQuery(word, column))
        return int(scanner.to_table().num_rows)


# ---- what there is ----------------------------------------------------------------------------------------------


def has_vector_index(tables: Tables, table: OpenTable, column: str) -> bool:
    """Whether a search of vectors may be answered by an index, and so be approximate."""
    if table.pin.row_count < limits.VECTOR_INDEXED_ROWS_MIN:
        return False
    found = stored_indexes(tables, table)
    return any(index.column == column and index.kind is IndexKind.VECTOR for index in found)


def has_text_index(tables: Tables, table: OpenTable, column: str) -> bool:
    """Whether rows that hold words are found without reading every text."""
    found = stored_indexes(tables, table)
    return any(index.column == column and index.kind is IndexKind.TEXT for index in found)


def is_text_index_whole(tables: Tables, table: OpenTable, column: str, texts: int) -> bool:
    """Whether there is an index of exactly the texts of the table: then its weights are the table's.

    It has every fragment, and as many texts as there are: texts that were deleted since would be some too many.
    """
    found = [i for i in stored_indexes(tables, table) if i.column == column and i.kind is IndexKind.TEXT]
    if not found:
        return False
    with tables.telling(f"looking at the indexes of {table.pin.key}"):
        dataset = table.dataset
        every = {fragment.fragment_id for fragment in dataset.get_fragments()}
        if not every <= found[0].fragments:
            return False
        facts = dataset.stats.index_stats(index_name(dataset.schema.field(column), IndexKind.TEXT))
        parts = facts["indices"]
        return len(parts) == 1 and int(parts[0]["num_docs"]) == texts


def text_parts(table: OpenTable) -> dict[tuple[object, ...], Any]:
    """The fragments of a table by what makes their live rows: files and deletions."""
    fragments = table.dataset.get_fragments()
    return {(part.files, part.deletions): fragment for part, fragment in zip(stretches(table), fragments, strict=True)}


def texts_of(tables: Tables, table: OpenTable, column: str, fragment: Any) -> pa.ChunkedArray:
    """The texts of the live rows of one fragment, missing ones left out."""
    with tables.telling(f"reading {table.pin.key}"):
        tables.failpoints.hit("store.lookup")
        scanner: Any = table.dataset.scanner(columns=[column], fragments=[fragment])
        return pc.drop_null(scanner.to_table()[column])
