"""What BM25 knows of a stored text column: counted once per version of its table and remembered.

The corpus is the committed table. What a transaction has pending is scored against it and is not part of it, so a
transaction sees one set of weights from its begin to its commit.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import Final
from weakref import WeakKeyDictionary

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.engine.store.lookup import pieces
from omnigraph_sql.engine.store.tables import OpenTable, Tables
from omnigraph_sql.run.search_score import Corpus
from omnigraph_sql.run.search_words import holding, word_counts

_COLUMNS_KEPT: Final = 64
_TERMS_KEPT: Final = 4096

_Key = tuple[str, str | None, int, str]


@dataclass(slots=True)
class _Counts:
    """What is known of one column at one version."""

    texts: int
    words: int
    holding: dict[str, int] = field(default_factory=dict)


class _Counted:
    """The counts of the columns asked for last; shared by the handles of a graph and safe for threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[_Key, _Counts] = OrderedDict()
        self._lock = Lock()

    def corpus(self, tables: Tables, table: OpenTable, column: str, terms: tuple[str, ...]) -> Corpus:
        key = (table.pin.path, table.pin.branch, table.pin.version, column)
        with self._lock:
            counts = self._kept.get(key)
            if counts is None:
                counts = self._kept[key] = _counts(tables, table, column)
                while len(self._kept) > _COLUMNS_KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            unknown = [term for term in terms if term not in counts.holding]
            if unknown:
                if len(counts.holding) + len(unknown) > _TERMS_KEPT:
                    counts.holding.clear()
                    unknown = list(terms)
                counts.holding.update(_holding(tables, table, column, unknown))
            return Corpus(counts.texts, counts.words, tuple(counts.holding[term] for term in terms))


_graphs: WeakKeyDictionary[Tables, _Counted] = WeakKeyDictionary()
_graphs_lock = Lock()


def stored_corpus(tables: Tables, table: OpenTable, column: str, terms: tuple[str, ...]) -> Corpus:
    """The corpus of a committed column. Reads the column when its version, or a term of it, is new."""
    with _graphs_lock:
        counted = _graphs.setdefault(tables, _Counted())
    return counted.corpus(tables, table, column, terms)


def corpus_of(texts: pa.ChunkedArray, terms: tuple[str, ...]) -> Corpus:
    """The corpus of texts in memory."""
    known = texts.drop_null()
    counts = pc.sum(word_counts(known)).as_py() or 0
    return Corpus(len(known), counts, tuple(pc.sum(holding(known, (term,))).as_py() or 0 for term in terms))


def _counts(tables: Tables, table: OpenTable, column: str) -> _Counts:
    made = _Counts(0, 0)
    for piece in pieces(tables, table, [column]):
        texts = piece[column]
        made.texts += len(texts) - texts.null_count
        made.words += pc.sum(word_counts(texts)).as_py() or 0
    return made


def _holding(tables: Tables, table: OpenTable, column: str, terms: list[str]) -> dict[str, int]:
    found = dict.fromkeys(terms, 0)
    for piece in pieces(tables, table, [column]):
        for term in terms:
            found[term] += pc.sum(holding(piece[column], (term,))).as_py() or 0
    return found
