"""Rules about several rows, asked of everything at once: is there anything to look at more closely?

Values meet by their hashes, which tasks sort, cut into ranges and send as bytes: no row of Spark's is made for a row of
ours. A hash that two values share gives a false alarm, and whoever is alarmed looks at the values themselves. Only a
missing end could hide behind such a hash, with a chance of one in 2 to the power of 64 for every node there is; what
hashes begin with is a secret of every attempt, so that nobody can bring it about.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base.catalog import TableType
from omnigraph_sql.run.ids import Words, ascending
from omnigraph_sql.spark.digests import row_digests, seeds_of
from omnigraph_sql.spark.fragments import Part, part_batches
from omnigraph_sql.spark.loose import LooseTable, Tables, each_row, left_rows
from omnigraph_sql.spark.place import GraphPlace, tables_at
from omnigraph_sql.spark.questions import Kind, Question, Take

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TASK_VALUES: Final = 4_000_000
_WORD_BYTES: Final = 8
_MESSAGE_VALUES_MAX: Final = 16_000_000
"""Places in a message have 31 bits."""
_NONE: Final = np.zeros(0, np.uint64)
_RANGES_PER_TASK: Final = 4
_SENT: Final = pa.schema([("b", pa.int32()), ("q", pa.int32()), ("k", pa.int32()), ("h", pa.binary())])


@dataclass(slots=True)
class Meeting:
    """The questions of one attempt, and who takes part in them."""

    rows: Tables
    questions: list[Question]
    loose: list[tuple[LooseTable, list[Take]]]
    held: list[tuple[TableType, int, list[Take]]]
    """Tables of the base with the number of their rows."""

    def alarms(self) -> set[int]:
        """Questions whose answer may be that a rule is broken. One job, whatever the number of questions."""
        values = sum(table.rows * len(takes) for table, takes in self.loose)
        values += sum(count * len(takes) for _, count, takes in self.held)
        if not values or not self.questions:
            return set()
        tasks = max(1, -(-values // _TASK_VALUES))
        ranges, seed = tasks * _RANGES_PER_TASK, seeds_of(self.rows.secret)[0]
        sent = [self._loose(table, takes, ranges, seed) for table, takes in self.loose if takes and table.files]
        sent += [self._held(table, takes, ranges, seed) for table, _, takes in self.held if takes]
        whole = sent[0]
        for one in sent[1:]:
            whole = whole.union(one)
        met = whole.repartition(tasks, "b") if tasks > 1 else whole.coalesce(1)
        questions = list(self.questions)

        def judge(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return judged(questions, batches)

        return {row["q"] for row in met.mapInArrow(judge, "q int").collect()}

    def _loose(self, table: LooseTable, takes: list[Take], ranges: int, seed: int) -> DataFrame:
        place, key = self.rows.load, table.key

        def send(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return loose_hashes(place, key, takes, ranges, seed, batches)

        return self.rows.files(table).mapInArrow(send, "b int, q int, k int, h binary")

    def _held(self, table: TableType, takes: list[Take], ranges: int, seed: int) -> DataFrame:
        place, (key, parts) = self.rows.base, self.rows.parts(table)

        def send(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return held_hashes(place, key, takes, ranges, seed, batches)

        return parts.mapInArrow(send, "b int, q int, k int, h binary")


# ---- in tasks ---------------------------------------------------------------------------------------------------


def loose_hashes(
    place: GraphPlace, key: str, takes: Sequence[Take], ranges: int, seed: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """What loose files bring along."""
    tables = tables_at(place)
    of = tables.type(key)
    for file in each_row(batches):
        rows = (batch for batch, _ in left_rows(tables, of, file, _columns(takes)))
        yield from sent_hashes(rows, takes, ranges, seed)


def held_hashes(
    place: GraphPlace, key: str, takes: Sequence[Take], ranges: int, seed: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """What fragments of the base bring along."""
    tables = tables_at(place)
    pin = tables.pin(tables.type(key))
    for row in each_row(batches):
        yield from sent_hashes(part_batches(tables.tables, pin, Part(row["f"]), _columns(takes)), takes, ranges, seed)


def _columns(takes: Sequence[Take]) -> list[str]:
    return list(dict.fromkeys(name for take in takes for name in take.columns))


def sent_hashes(
    batches: Iterable[pa.RecordBatch], takes: Sequence[Take], ranges: int, seed: int
) -> Iterator[pa.RecordBatch]:
    """The hashes of what each question takes, in order and by ranges; of ends each once."""
    found: dict[tuple[str, ...], list[Words]] = {take.columns: [] for take in takes}
    for batch in batches:
        for columns, into in found.items():
            into.append(_hashed(batch.select(list(columns)), seed))
    ordered = {columns: np.sort(np.concatenate([_NONE, *parts])) for columns, parts in found.items()}
    bounds = np.array([(1 << 64) * n // ranges for n in range(1, ranges)], np.uint64)
    for take in takes:
        whole = ordered[take.columns]
        if take.kind is Kind.ENDED:
            whole = ascending(whole)
        for first in range(0, len(whole), _MESSAGE_VALUES_MAX):
            yield _in_ranges(take, whole[first : first + _MESSAGE_VALUES_MAX], bounds)


def _in_ranges(take: Take, ordered: Words, bounds: Words) -> pa.RecordBatch:
    """A row for every range that has values, with their bytes as they lie in memory."""
    cuts = np.concatenate(([0], np.searchsorted(ordered, bounds), [len(ordered)]))
    filled = np.flatnonzero(np.diff(cuts)).astype(np.int32)
    offsets = np.append(cuts[filled], len(ordered)).astype(np.int32) * np.int32(_WORD_BYTES)
    pieces = pa.Array.from_buffers(
        pa.binary(), len(filled), [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(ordered))]
    )
    same = [pa.array(np.full(len(filled), number, np.int32)) for number in (take.question, int(take.kind))]
    return pa.RecordBatch.from_arrays([pa.array(filled), *same, pieces], schema=_SENT)


def _hashed(values: pa.RecordBatch, seed: int) -> Words:
    """Hashes of the rows in which no value is null."""
    whole = whole_rows(values)
    return row_digests(values if whole is None else values.filter(whole), seed, as_compared=True)


def whole_rows(values: pa.RecordBatch) -> pa.BooleanArray | None:
    """Which rows have no null; None when none of them has one."""
    found = None
    for column in values.columns:
        if column.null_count:
            found = column.is_valid() if found is None else pc.and_(found, column.is_valid())
    return found


def judged(questions: Sequence[Question], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The questions that values of some ranges raise an alarm for."""
    met: dict[tuple[int, int], list[Words]] = {}
    for row in each_row(batches):
        met.setdefault((row["q"], row["k"]), []).append(np.frombuffer(row["h"], np.uint64))

    def sorted_values(question: int, kind: Kind) -> Words:
        return np.sort(np.concatenate([_NONE, *met.pop((question, int(kind)), [])]))

    alarmed = [n for n, one in enumerate(questions) if one.alarms(*(sorted_values(n, kind) for kind in Kind))]
    yield pa.RecordBatch.from_arrays([pa.array(alarmed, pa.int32())], names=["q"])
