"""The rules about several rows over a write that is not looked at as a whole.

Their order and their words are those of the local evaluator.

Every rule is asked about hashes first, range after range. The rows of the values that may break it, and only these, are
looked at themselves. The first that does break it is the refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from omnigraph_sql.base import limits
from omnigraph_sql.base.catalog import DST, ID, SRC, Catalog, EdgeType, NodeType, TableType, Unique
from omnigraph_sql.base.errors import InternalError, KeyConflict
from omnigraph_sql.engine.load.loader import exists_already
from omnigraph_sql.engine.load.report import LoadMode
from omnigraph_sql.engine.store.foreign import loose_rows
from omnigraph_sql.engine.store.lookup import existing
from omnigraph_sql.engine.values import Snapshot, TableIdentity, TablePin, table_key
from omnigraph_sql.engine.write.validate_cardinality import cardinality_violation
from omnigraph_sql.engine.write.validate_endpoints import absent_end, left_behind
from omnigraph_sql.engine.write.validate_unique import (
    HOLDERS_SHOWN,
    Tuples,
    refuse_incomparable,
    tuple_at,
    unique_violation,
)
from omnigraph_sql.foreign import PinnedTables
from omnigraph_sql.run.ids import Ints
from omnigraph_sql.spark.alarms import Asking, CountsOf, KeysOf, Rule, UniqueOf
from omnigraph_sql.spark.digests import row_digests
from omnigraph_sql.spark.fragments import part_batches, parts_of
from omnigraph_sql.spark.loose import Bits, LooseTable
from omnigraph_sql.spark.meeting import whole_rows
from omnigraph_sql.spark.questions import NOTHING, Kind, Named, Question, Suspects, Take, Tally
from omnigraph_sql.spark.range_file import RangeFile

Rows: TypeAlias = Callable[[Sequence[str]], Iterator[pa.RecordBatch]]
"""Columns of some rows, always in the same order."""
_ROW_BITS: Final = 40
BATCH_ROWS: Final = 16_384
_SUSPECTS_MAX: Final = 1024


@dataclass(frozen=True, slots=True)
class Replaced:
    """Rows of a table of the base that a merge replaces: a bit each, in their order. No bits: none of them."""

    pin: TablePin
    bits: Bits | None

    @classmethod
    def none(cls, pin: TablePin) -> Replaced:
        return cls(pin, None)

    def mask(self, start: int, count: int) -> Any:
        """Which of so many rows from `start` on are replaced."""
        if self.bits is None:
            return np.zeros(count, np.bool_)
        first = start // 8
        found = np.unpackbits(self.bits[first : (start + count + 7) // 8])
        return found[start - 8 * first :][:count].astype(np.bool_)

    def count(self) -> int:
        return 0 if self.bits is None else int(np.bitwise_count(self.bits).sum())


@dataclass(frozen=True, slots=True)
class Party:
    """Rows that take part in a question by some of their columns."""

    kind: Kind
    type: TableType
    columns: tuple[str, ...]
    rows: Rows
    counted: bool = True


@dataclass(frozen=True, slots=True)
class Asked:
    """Those who take part in a question, and what it suspects. Rows are numbered party after party."""

    parties: tuple[Party, ...]
    suspects: Suspects
    seed: int

    def rows(
        self, kind: Kind, values: Named, columns: tuple[str, ...] | None = None
    ) -> Iterator[tuple[Party, pa.Table]]:
        """Rows that have one of the values, in their order, one at a time: the id and the columns that took part."""
        for party in self.parties:
            if not len(values) or party.kind is not kind or columns not in (None, party.columns):
                continue
            for batch in party.rows(_with_id(party.columns)):
                hashes, places = _hashed(batch.select(list(party.columns)), 0, self.seed)
                for place in places[np.isin(hashes, values[:, 0])].tolist():
                    yield party, pa.Table.from_batches([batch.slice(place, 1)])


@dataclass(slots=True)
class LargeRules:
    """The rules over an attempt to write one table: `files` is what the files lie beside, `base` the graph as it is."""

    files: PinnedTables
    base: Snapshot
    catalog: Catalog
    mode: LoadMode
    table: LooseTable
    replaced: Replaced
    seed: int
    _rules: dict[Rule, int] = field(default_factory=dict, init=False)
    _asking: Asking = field(init=False)
    _asked: dict[Rule, Asked] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._asking = Asking(self.mode, self.catalog, self.base, {self.table.key: self.table})
        self._asking.ask()
        self._rules = {rule: number for number, rule in enumerate(self._asking.rules)}

    def check(self) -> None:
        """Raises KeyConflict or ConstraintViolation for the first row that breaks a rule."""
        of = self.table.type
        self._twice()
        self._existing()
        for rule in of.constraints:
            if isinstance(rule, Unique) and UniqueOf(self.table.key, rule.properties) in self._rules:
                refuse_incomparable(of, rule)
                self._unique(rule)
        if isinstance(of, EdgeType):
            for side, name in ((SRC, of.source), (DST, of.target)):
                self._ends(of, side, self._node(name))
            self._cardinality(of)
        elif self.mode is LoadMode.OVERWRITE:
            self._left_behind(of)

    # ---- one rule after the other -------------------------------------------------------------------------------

    def _twice(self) -> None:
        of = self.table.type
        asked = self._ask(KeysOf(self.table.key))
        for _, row in asked.rows(Kind.LOADED, asked.suspects.often):
            if len(list(islice(_same(self._loaded, (ID,), row), 2))) > 1:
                own = row[ID][0].as_py()
                raise KeyConflict(f"{of.name} '{own}' is in this load twice", type=of.name, id=own)

    def _existing(self) -> None:
        asked = self._ask(KeysOf(self.table.key))
        for _, row in asked.rows(Kind.LOADED, asked.suspects.again):
            if self._exists(self.table.type, row[ID]):
                raise exists_already(self.table.type, row[ID][0].as_py())

    def _unique(self, rule: Unique) -> None:
        of, names = self.table.type, rule.properties
        asked = self._ask(UniqueOf(self.table.key, names))
        for _, row in asked.rows(Kind.LOADED, asked.suspects.often):
            ids = [one[ID][0].as_py() for one in islice(_same(self._loaded, names, row), HOLDERS_SHOWN)]
            if len(ids) > 1:
                raise unique_violation(of, rule, tuple_at(row, rule, 0), tuple(dict.fromkeys(ids)))
        for _, row in asked.rows(Kind.HELD, asked.suspects.holders):
            for mine in _same(self._loaded, names, row):
                raise unique_violation(of, rule, tuple_at(mine, rule, 0), (mine[ID][0].as_py(), row[ID][0].as_py()))

    def _ends(self, edge: EdgeType, side: str, node: NodeType) -> None:
        asked = self._ask(KeysOf(table_key(node)))
        for _, row in asked.rows(Kind.ENDED, asked.suspects.lost, (side,)):
            if not self._exists(node, row[side]):
                raise absent_end(edge, node, side, row[ID][0].as_py(), row[side][0].as_py())

    def _left_behind(self, node: TableType) -> None:
        asked = self._ask(KeysOf(self.table.key))
        for party, row in asked.rows(Kind.ENDED, asked.suspects.lost):
            (side,) = party.columns
            raise left_behind(party.type, node, side, row[ID][0].as_py(), row[side][0].as_py())

    def _cardinality(self, edge: EdgeType) -> None:
        asked = self._ask(CountsOf(self.table.key))
        most = np.inf if edge.cardinality.maximum is None else edge.cardinality.maximum
        for _, row in asked.rows(Kind.LOADED, asked.suspects.often):
            found = (_alike(rows, (SRC,), row) for rows in (self._loaded, self._held(edge)))
            count = sum(len(places) for one in found for _, places in one)
            if not edge.cardinality.minimum <= count <= most:
                raise cardinality_violation(edge, row[SRC][0].as_py(), count)

    # ---- asking -------------------------------------------------------------------------------------------------

    def _ask(self, rule: Rule) -> Asked:
        if rule not in self._asked:
            number = self._rules.get(rule)
            if number is None:
                return Asked((), Suspects(), self.seed)
            parties = tuple(self._parties(number, rule))
            self._asked[rule] = Asked(parties, self._suspects(self._asking.questions[number], parties), self.seed)
        return self._asked[rule]

    def _parties(self, question: int, rule: Rule) -> Iterator[Party]:
        of = self.table.type
        for take in _takes(self._asking.loose.get(self.table.key, ()), question):
            yield Party(take.kind, of, take.columns, self._loaded)
        for key, takes in self._asking.held.items():
            held = next(one for one in self.catalog.tables() if table_key(one) == key)
            for take in _takes(takes, question):
                yield Party(take.kind, held, take.columns, self._held(held))
        if isinstance(rule, CountsOf) and self.mode is not LoadMode.APPEND:
            yield Party(Kind.LOADED, of, (SRC,), self._going, counted=False)

    def _suspects(self, question: Question, parties: Sequence[Party]) -> Suspects:
        values = sum(self._count(party) for party in parties)
        met = RangeFile(values, 2, limits.SPARK_WRITE_ROWS_IN_MEMORY)
        try:
            for number, party in enumerate(parties):
                start = number << _ROW_BITS
                for batch in party.rows(party.columns):
                    met.put(number, _hashed(batch, start, self.seed))
                    start += batch.num_rows
            found = Suspects()
            for part in range(met.ranges):
                tallies = dict.fromkeys(Kind, NOTHING)
                for number, party in enumerate(parties):
                    for rows in met.read(number, part):
                        tally = Tally.of(rows[:, 0], rows[:, 1].astype(np.int64))
                        tallies[party.kind] = tallies[party.kind].plus(tally if party.counted else tally.uncounted())
                new = question.suspects(tallies[Kind.LOADED], tallies[Kind.HELD], tallies[Kind.ENDED])
                found = found.plus(new, _SUSPECTS_MAX)
        finally:
            met.close()
        return found

    def _count(self, party: Party) -> int:
        pin = self._pin(party.type)
        return self.table.rows if party.rows == self._loaded else pin.row_count

    # ---- rows ---------------------------------------------------------------------------------------------------

    def _loaded(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        pin = self.files.pin(self.table.type)
        for file in self.table.files:
            for batch in loose_rows(self.files.tables, pin, file.text, columns):
                yield batch.select(list(columns))

    def _held(self, of: TableType) -> Rows:
        """Rows of the base that stay."""
        return lambda columns: self._of_base(of, columns, replaced=False)

    def _going(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Rows of the base that do not."""
        return self._of_base(self.table.type, columns, replaced=True)

    def _of_base(self, of: TableType, columns: Sequence[str], *, replaced: bool) -> Iterator[pa.RecordBatch]:
        tables, pin, start = self.files.tables, self._pin(of), 0
        own = table_key(of) == self.table.key
        if own and self.mode is LoadMode.OVERWRITE and not replaced:
            return
        for part in parts_of(tables, pin):
            for batch in part_batches(tables, pin, part, columns, batch_rows=BATCH_ROWS):
                if own and self.mode is not LoadMode.OVERWRITE:
                    gone = self.replaced.mask(start, batch.num_rows)
                    start += batch.num_rows
                    batch = batch.filter(pa.array(gone if replaced else ~gone))
                yield batch.select(list(columns))

    def _pin(self, of: TableType) -> TablePin:
        pin = self.base.pin(TableIdentity.of(of))
        if pin is None:
            raise InternalError(f"{table_key(of)} is not a table of this graph")
        return pin

    def _node(self, name: str) -> NodeType:
        found = self.catalog.node(name)
        assert found is not None
        return found

    def _exists(self, of: TableType, one: pa.ChunkedArray) -> bool:
        tables = self.files.tables
        return len(existing(tables, tables.open(self._pin(of)), one.combine_chunks())) > 0


def _takes(takes: Sequence[Take], question: int) -> Iterator[Take]:
    return (take for take in takes if take.question == question)


def _with_id(columns: Sequence[str]) -> list[str]:
    return list(dict.fromkeys((ID, *columns)))


def _hashed(batch: pa.RecordBatch, start: int, seed: int) -> tuple[Any, Any]:
    """Hashes of the rows in which no value is null, and the numbers of these rows."""
    rows, whole = np.arange(start, start + batch.num_rows, dtype=np.int64), whole_rows(batch)
    if whole is not None:
        batch, rows = batch.filter(whole), rows[whole.to_numpy(zero_copy_only=False)]
    return row_digests(batch, seed, as_compared=True), rows


def _same(rows: Rows, columns: Sequence[str], one: pa.Table) -> Iterator[pa.Table]:
    """Rows that hold the same in some columns, one at a time."""
    return (table.slice(place, 1) for table, places in _alike(rows, columns, one) for place in places.tolist())


def _alike(rows: Rows, columns: Sequence[str], one: pa.Table) -> Iterator[tuple[pa.Table, Ints]]:
    """The places of such rows, compared by value."""
    book, _ = Tuples.of([one[name] for name in columns])
    for batch in rows(_with_id(columns)):
        table = pa.Table.from_batches([batch])
        yield table, np.flatnonzero(book.find([table[name] for name in columns]) >= 0)
