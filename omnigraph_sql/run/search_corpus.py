"""What BM25 knows of a stored text column: counted once per file of its table and remembered.

The corpus is the committed table. What a transaction has pending is scored against it and is not part of it, so a
transaction sees one set of weights from its begin to its commit.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.engine.store.search import holding_count, is_text_index_whole, text_parts, texts_of
from omnigraph_sql.engine.store.tables import OpenTable, Tables
from omnigraph_sql.run.search_score import Corpus
from omnigraph_sql.run.search_words import holding, spelled, word_counts

_PARTS_KEPT: Final = 16_384
_VERSIONS_KEPT: Final = 64
_TERMS_KEPT: Final = 4096
T = TypeVar("T")


@dataclass(slots=True)
class _Counts:
    """What is known of one column in one file of a table."""

    texts: int
    words: int
    holding: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Version:
    """What is known of one column at one version; `indexed` when an index holds exactly its texts."""

    texts: int
    words: int
    indexed: bool
    holding: dict[str, int] = field(default_factory=dict)


class _Counted:
    """The counts of the columns asked for last; shared by the handles of a graph and safe for threads."""

    def __init__(self) -> None:
        self._parts: OrderedDict[tuple[object, ...], _Counts] = OrderedDict()
        self._versions: OrderedDict[tuple[object, ...], _Version] = OrderedDict()
        self._lock = Lock()

    def version(self, tables: Tables, table: OpenTable, column: str, terms: tuple[str, ...]) -> _Version:
        pin = table.pin
        key = (pin.path, pin.branch, pin.version, column)
        with self._lock:
            known = self._versions.get(key)
            if known is None:
                parts = [self._part(tables, table, column, *part) for part in text_parts(table).items()]
                texts, words = sum(p.texts for p in parts), sum(p.words for p in parts)
                whole = is_text_index_whole(tables, table, column, texts)
                known = _kept(self._versions, key, _Version(texts, words, whole), _VERSIONS_KEPT)
            self._versions.move_to_end(key)
            if len(known.holding) + len(terms) > _TERMS_KEPT:
                known.holding.clear()
            self._count_terms(tables, table, column, known, [t for t in terms if t not in known.holding])
            return known

    def _part(self, tables: Tables, table: OpenTable, column: str, key: tuple[object, ...], fragment: Any) -> _Counts:
        place = (table.pin.path, column, *key)
        known = self._parts.get(place)
        if known is None:
            counts = _sizes(texts_of(tables, table, column, fragment))
            known = _kept(self._parts, place, _Counts(*counts), _PARTS_KEPT)
        self._parts.move_to_end(place)
        return known

    def _count_terms(
        self, tables: Tables, table: OpenTable, column: str, version: _Version, unknown: list[str]
    ) -> None:
        if version.indexed:
            version.holding |= {t: holding_count(tables, table, column, spelled(t)) for t in unknown}
            return
        if not unknown:
            return
        version.holding |= dict.fromkeys(unknown, 0)
        for key, fragment in text_parts(table).items():
            part = self._part(tables, table, column, key, fragment)
            missing = [term for term in unknown if term not in part.holding]
            if missing:
                texts = texts_of(tables, table, column, fragment)
                if len(part.holding) + len(missing) > _TERMS_KEPT:
                    part.holding.clear()
                    missing = unknown
                part.holding |= {term: pc.sum(holding(texts, (term,))).as_py() or 0 for term in missing}
            for term in unknown:
                version.holding[term] += part.holding[term]


def _kept(cache: OrderedDict[tuple[object, ...], T], key: tuple[object, ...], made: T, most: int) -> T:
    cache[key] = made
    while len(cache) > most:
        cache.popitem(last=False)
    return made


_graphs: WeakKeyDictionary[Tables, _Counted] = WeakKeyDictionary()
_graphs_lock = Lock()


def _counted(tables: Tables) -> _Counted:
    with _graphs_lock:
        return _graphs.setdefault(tables, _Counted())


def stored_corpus(tables: Tables, table: OpenTable, column: str, terms: tuple[str, ...]) -> Corpus:
    """The corpus of a committed column. Reads the files of the column that are new, or new to a term."""
    known = _counted(tables).version(tables, table, column, terms)
    return Corpus(known.texts, known.words, tuple(known.holding[term] for term in terms))


def is_indexed(tables: Tables, table: OpenTable, column: str) -> bool:
    """Whether an index of the texts weighs words as the corpus does."""
    return _counted(tables).version(tables, table, column, ()).indexed


def corpus_of(texts: pa.ChunkedArray, terms: tuple[str, ...]) -> Corpus:
    """The corpus of texts in memory."""
    known = texts.drop_null()
    return Corpus(*_sizes(known), tuple(pc.sum(holding(known, (term,))).as_py() or 0 for term in terms))


def _sizes(texts: pa.ChunkedArray) -> tuple[int, int]:
    """How many of the texts have words, and how many words; a text without any is none."""
    counts = word_counts(texts)
    return pc.sum(pc.greater(counts, 0)).as_py() or 0, pc.sum(counts).as_py() or 0
