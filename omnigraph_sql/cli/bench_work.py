"""What `ogsql bench` measures: made-up people, the steps, and the bare call that each of them cannot do without."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base.seams import NoFailpoints, SystemClock, UlidSource
from omnigraph_sql.engine.store.durable import Durability
from omnigraph_sql.engine.store.objects import Objects, objects_at
from omnigraph_sql.engine.store.scratch import BareTable, Scratch
from omnigraph_sql.graph import Graph, init
from omnigraph_sql.graph import open as open_graph

if TYPE_CHECKING:
    from omnigraph_sql.result import Result

SCHEMA: Final = """node Person { handle: String @key  name: String  city: String  age: I32 }
edge Knows: Person -> Person { since: I32 }
"""
KNOWN_BY_EACH: Final = 5
IN_A_TRANSACTION: Final = 100
LOADS_MAX: Final = 3
TRANSACTIONS_MAX: Final = 5
_CITIES: Final = 100
_BATCH_ROWS: Final = 65_536
_NOTE_BYTES: Final = 1000
_FIRST: Final = np.uint64(0x5EED * 0x9E3779B97F4A7C15 % 2**64)
"""Where the drawing begins; it never changes, so every run has the same people."""

Numbers = npt.NDArray[np.uint64]

INSERT: Final = "INSERT INTO Person (handle, name, city, age) VALUES ($handle, 'New', 'City 1', 30)"
UPSERT: Final = f"""{INSERT}
    ON CONFLICT (handle) DO UPDATE SET name = excluded.name, city = excluded.city, age = excluded.age"""
BY_KEY: Final = "SELECT name, city, age FROM Person WHERE handle = $handle"
AGGREGATE: Final = "SELECT city, count(*) AS people, avg(age) AS age FROM Person GROUP BY city"
ONE_HOP_GQ: Final = """query bench($handle: String) {
    match  { $p: Person { handle: $handle }  $p knows $a }
    return { count($a) as n }
}"""
ONE_HOP_SQL: Final = "SELECT count(*) AS n FROM Person p JOIN Knows a ON a.src = p.id WHERE p.handle = $handle"
THREE_HOPS_GQ: Final = """query bench($handle: String) {
    match  { $p: Person { handle: $handle }  $p knows $a  $a knows $b  $b knows $c }
    return { count($c) as n }
}"""
THREE_HOPS_SQL: Final = """SELECT count(*) AS n FROM Person p JOIN Knows a ON a.src = p.id
    JOIN Knows b ON b.src = a.dst JOIN Knows c ON c.src = b.dst WHERE p.handle = $handle"""


# ---- people ---------------------------------------------------------------------------------------------------------


def mixed(numbers: Numbers) -> Numbers:
    """Numbers that look random and are the same in every run: splitmix64."""
    x = numbers + _FIRST
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def handle(number: int) -> str:
    return f"p{number:08d}"


def _handles(numbers: Numbers) -> pa.Array:
    digits = pc.utf8_lpad(pc.cast(pa.array(numbers.astype(np.int64)), pa.utf8()), 8, "0")
    return pc.binary_join_element_wise("p", digits, "")


PEOPLE_COLUMNS: Final = pa.schema(
    [("handle", pa.utf8()), ("name", pa.utf8()), ("city", pa.utf8()), ("age", pa.int32())]
)
KNOWS_COLUMNS: Final = pa.schema([("src", pa.utf8()), ("dst", pa.utf8()), ("since", pa.int32())])


def people(count: int) -> pa.RecordBatchReader:
    """So many people, some rows at a time."""

    def batches() -> Iterator[pa.RecordBatch]:
        for numbers in _ranges(count):
            drawn = mixed(numbers)
            names = pc.binary_join_element_wise("Person", pc.cast(pa.array(numbers), pa.utf8()), " ")
            city = pc.cast(pa.array(drawn % np.uint64(_CITIES)), pa.utf8())
            age = pa.array((np.uint64(18) + (drawn >> np.uint64(32)) % np.uint64(70)).astype(np.int32))
            columns = [_handles(numbers), names, pc.binary_join_element_wise("City", city, " "), age]
            yield pa.RecordBatch.from_arrays(columns, schema=PEOPLE_COLUMNS)

    return pa.RecordBatchReader.from_batches(PEOPLE_COLUMNS, batches())


def knows(count: int) -> pa.RecordBatchReader:
    """Whom they know: everybody some others, and a few are known by many."""

    def batches() -> Iterator[pa.RecordBatch]:
        for numbers in _ranges(count * KNOWN_BY_EACH):
            drawn = mixed(numbers ^ np.uint64(1 << 63))
            share = (drawn >> np.uint64(11)).astype(np.float64) / float(1 << 53)
            # Each of them from another part of the people: nobody knows somebody twice.
            part = (numbers % np.uint64(KNOWN_BY_EACH)).astype(np.float64)
            place = ((part + share * share) / KNOWN_BY_EACH * count).astype(np.uint64)
            known = np.minimum(place, np.uint64(count - 1))
            since = pa.array((np.uint64(1980) + drawn % np.uint64(45)).astype(np.int32))
            columns = [_handles(numbers // np.uint64(KNOWN_BY_EACH)), _handles(known), since]
            yield pa.RecordBatch.from_arrays(columns, schema=KNOWS_COLUMNS)

    return pa.RecordBatchReader.from_batches(KNOWS_COLUMNS, batches())


def _ranges(count: int) -> Iterator[Numbers]:
    for first in range(0, count, _BATCH_ROWS):
        yield np.arange(first, min(first + _BATCH_ROWS, count), dtype=np.uint64)


def with_ids(rows: pa.RecordBatchReader, own: Callable[[pa.RecordBatch], pa.Array]) -> pa.RecordBatchReader:
    """The same rows with an `id` in front, as a bare table keeps them."""
    schema = pa.schema([pa.field("id", pa.utf8()), *rows.schema])
    made = (pa.RecordBatch.from_arrays([own(batch), *batch.columns], schema=schema) for batch in rows)
    return pa.RecordBatchReader.from_batches(schema, made)


def _new_people(handles: list[str]) -> pa.Table:
    values = [{"id": one, "handle": one, "name": "New", "city": "City 1", "age": 30} for one in handles]
    return pa.Table.from_pylist(values, schema=pa.schema([pa.field("id", pa.utf8()), *PEOPLE_COLUMNS]))


# ---- steps ----------------------------------------------------------------------------------------------------------

Act = Callable[[int], object]


@dataclass(frozen=True, slots=True)
class Step:
    """Something to do again and again; its argument is the number of the round. `each` units are done at a time."""

    name: str
    unit: str
    act: Act
    floor: Act | None = None
    each: int = 1
    rounds_max: int | None = None
    warm: bool = True
    """Whether a round goes before that is not counted."""


@dataclass(frozen=True)
class Work:
    """A graph of its own in a scratch place, and the same rows in bare tables beside it."""

    scratch: Scratch
    count: int
    durability: Durability
    graph: Graph = field(init=False)

    def __post_init__(self) -> None:
        made = init(
            self.scratch.child("graph.omni"),
            schema=SCHEMA,
            durability=self.durability,
            storage_options=self.scratch.root.storage_options,
        )
        object.__setattr__(self, "graph", made)

    @cached_property
    def bare_people(self) -> BareTable:
        return BareTable(self.scratch, "people.lance", self.durability)

    @cached_property
    def bare_knows(self) -> BareTable:
        return BareTable(self.scratch, "knows.lance", self.durability)

    @cached_property
    def _objects(self) -> Objects:
        return objects_at(self.scratch.root, NoFailpoints(), UlidSource(SystemClock()))

    def someone(self, number: int) -> str:
        return handle(int(mixed(np.array([number], np.uint64))[0]) % self.count)

    def steps(self) -> Iterator[Step]:
        """In the order in which they must be done: each needs what those before it left."""
        yield from self._loads()
        yield from self._questions()
        yield from self._writes()
        yield Step("open to read", "openings", self._open, lambda _: self.bare_people.reopen())

    def _loads(self) -> Iterator[Step]:
        edges = self.count * KNOWN_BY_EACH
        yield Step(
            "load people",
            "rows",
            lambda _: self.graph.load(people(self.count), type="Person", mode="overwrite"),
            lambda _: self.bare_people.replace(with_ids(people(self.count), lambda batch: batch["handle"])),
            self.count,
            LOADS_MAX,
            warm=False,
        )
        yield Step(
            "load who knows whom",
            "rows",
            lambda _: self.graph.load(knows(self.count), type="Knows", mode="overwrite"),
            lambda _: self.bare_knows.replace(with_ids(knows(self.count), lambda batch: batch["dst"])),
            edges,
            LOADS_MAX,
            warm=False,
        )
        rows = self.count + edges
        yield Step("build indexes", "rows", lambda _: self._index(), None, rows, 1, warm=False)

    def _index(self) -> None:
        self.graph.ensure_indices()

    def _questions(self) -> Iterator[Step]:
        self.bare_people.index()
        yield Step("look up by key", "questions", self._asked(BY_KEY), self._bare_row)
        yield Step(
            "aggregate all people", "questions", lambda _: self.rows(AGGREGATE), lambda _: self._bare_aggregate()
        )
        yield Step("one hop, .gq", "questions", self._asked(ONE_HOP_GQ))
        yield Step("one hop, SQL", "questions", self._asked(ONE_HOP_SQL))
        yield Step("three hops, .gq", "questions", self._asked(THREE_HOPS_GQ))
        yield Step("three hops, SQL", "questions", self._asked(THREE_HOPS_SQL))

    def _writes(self) -> Iterator[Step]:
        yield Step("insert one row", "commits", self._insert, self._bare_insert)
        yield Step(
            f"insert {IN_A_TRANSACTION}, one commit",
            "rows",
            self._insert_many,
            self._bare_insert_many,
            IN_A_TRANSACTION,
            TRANSACTIONS_MAX,
        )
        yield Step("upsert one row", "commits", self._upsert, self._bare_upsert)

    # ---- what is done -----------------------------------------------------------------------------------------------

    def ask(self, text: str, whom: str) -> list[tuple[object, ...]]:
        return self.rows(text, {"handle": whom})

    def rows(self, text: str, given: dict[str, object] | None = None) -> list[tuple[object, ...]]:
        result: Result = self.graph.gq(text, given) if text.startswith("query") else self.graph.sql(text, given)
        return result.fetchall()

    def _asked(self, text: str) -> Act:
        return lambda number: self.ask(text, self.someone(number))

    def _bare_row(self, number: int) -> list[dict[str, object]]:
        found: list[dict[str, object]] = self.bare_people.row(self.someone(number), ["name", "city", "age"]).to_pylist()
        return found

    def _bare_aggregate(self) -> list[dict[str, object]]:
        grouped = (
            self.bare_people.read(["city", "age"]).group_by("city").aggregate([([], "count_all"), ("age", "mean")])
        )
        found: list[dict[str, object]] = grouped.to_pylist()
        return found

    def _insert(self, number: int) -> None:
        self.graph.sql(INSERT, {"handle": f"new{number}"})

    def _bare_insert(self, number: int) -> None:
        self._announce()
        self.bare_people.append(_new_people([f"new{number}"]))

    def _announce(self) -> None:
        """A durable note of what is about to happen: without one, nobody could finish or undo it."""
        self._objects.put("note", b"x" * _NOTE_BYTES)
        self._objects.delete("note")

    def _insert_many(self, number: int) -> None:
        with self.graph.transaction() as transaction:
            for place in range(IN_A_TRANSACTION):
                transaction.sql(INSERT, {"handle": f"many{number}-{place}"})

    def _bare_insert_many(self, number: int) -> None:
        self._announce()
        self.bare_people.append(_new_people([f"many{number}-{place}" for place in range(IN_A_TRANSACTION)]))

    def _upsert(self, number: int) -> None:
        self.graph.sql(UPSERT, {"handle": self.someone(number)})

    def _bare_upsert(self, number: int) -> None:
        self._announce()
        self.bare_people.upsert(_new_people([self.someone(number)]))

    def _open(self, _: int) -> None:
        root = self.scratch.root
        with open_graph(self.graph.uri, read_only=True, storage_options=root.storage_options) as opened:
            opened.sql("SELECT count(*) FROM Person").fetchall()

    def close(self) -> None:
        self.graph.close()
