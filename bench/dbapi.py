"""What the DB-API face costs, each line beside the bare way measured in the same run, round by round in turn.

Prints medians and ratios; exits with 1 when a stated bound is passed. `--quick` measures small numbers in seconds.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import omnigraph_sql as og

SCHEMA = "node Person { name: String @key  age: I32?  score: F64? }"
POINT = "SELECT age, score FROM Person WHERE name = ?"
INSERT = "INSERT INTO Person (name, age, score) VALUES (?, ?, ?)"
POINT_RATIO_MAX = 1.2
ROWS_PER_SECOND_MIN = 20_000
FETCH_RATIO_MAX = 2.0


@dataclass(frozen=True, slots=True)
class Sizes:
    people: int
    rounds: int
    inserts: int
    fetched: int


FULL = Sizes(people=100_000, rounds=200, inserts=10_000, fetched=100_000)
QUICK = Sizes(people=5_000, rounds=40, inserts=10_000, fetched=5_000)


def median_ms(rounds: int, *works: Callable[[int], object]) -> list[float]:
    """Median milliseconds of each work; they take turns, every other round backwards."""
    times: list[list[float]] = [[] for _ in works]
    for turn in range(rounds):
        order = list(enumerate(works))
        for place, work in order if turn % 2 else reversed(order):
            begun = time.perf_counter()
            work(turn)
            times[place].append((time.perf_counter() - begun) * 1000)
    return [statistics.median(one) for one in times]


def people(first: int, count: int) -> list[tuple[str, int, float]]:
    return [(f"person {number}", number % 90, number / 7) for number in range(first, first + count)]


def point(con: og.Connection, sizes: Sizes) -> tuple[str, bool]:
    graph = og.open(con.graph.uri)

    def by_connection(turn: int) -> object:
        return con.execute(POINT, (f"person {turn}",)).fetchall()

    def by_graph(turn: int) -> object:
        return graph.sql(POINT, (f"person {turn}",)).fetchall()

    face, bare = median_ms(sizes.rounds, by_connection, by_graph)
    graph.close()
    line = f"point SELECT        connection {face:8.2f} ms   graph.sql {bare:8.2f} ms   ratio {face / bare:5.2f}"
    return f"{line}   at most {POINT_RATIO_MAX}", face / bare <= POINT_RATIO_MAX


def executemany(con: og.Connection, sizes: Sizes) -> tuple[str, bool]:
    rates, alone = [], []
    for turn in range(5):
        rows = people(10_000_000 + turn * sizes.inserts, sizes.inserts)
        begun = time.perf_counter()
        con.executemany(INSERT, rows)
        rates.append(sizes.inserts / (time.perf_counter() - begun))
        con.rollback()
        begun = time.perf_counter()
        for row in rows[:200]:
            con.execute(INSERT, row)
        alone.append(200 / (time.perf_counter() - begun))
        con.rollback()
    rate, each = statistics.median(rates), statistics.median(alone)
    line = f"executemany         {rate:10,.0f} rows/s   one by one {each:8,.0f} rows/s   ratio {rate / each:5.1f}"
    return f"{line}   at least {ROWS_PER_SECOND_MIN:,} rows/s", rate >= ROWS_PER_SECOND_MIN


def committed(con: og.Connection, sizes: Sizes) -> tuple[str, bool]:
    begun = time.perf_counter()
    con.executemany(INSERT, people(20_000_000, sizes.inserts))
    con.commit()
    rate = sizes.inserts / (time.perf_counter() - begun)
    return f"with its commit     {rate:10,.0f} rows/s", True


def fetchall(con: og.Connection, sizes: Sizes) -> tuple[str, bool]:
    text = f"SELECT name, age, score FROM Person LIMIT {sizes.fetched}"
    table = con.execute(text).fetch_arrow_table()

    def by_cursor(_: int) -> object:
        return con.execute(text).fetchall()

    def by_arrow(_: int) -> object:
        return con.execute(text).fetch_arrow_table().to_pylist()

    face, bare = median_ms(7, by_cursor, by_arrow)
    line = f"fetchall {table.num_rows:>8,}   cursor     {face:8.2f} ms   to_pylist {bare:8.2f} ms"
    return f"{line}   ratio {face / bare:5.2f}   at most {FETCH_RATIO_MAX}", face / bare <= FETCH_RATIO_MAX


def main() -> int:
    sizes = QUICK if "--quick" in sys.argv else FULL
    with (
        tempfile.TemporaryDirectory() as folder,
        og.connect(Path(folder) / "b.omni", create=True, schema=SCHEMA) as con,
    ):
        con.executemany(INSERT, people(0, sizes.people))
        con.commit()
        passed = True
        for measure in (point, executemany, committed, fetchall):
            line, good = measure(con, sizes)
            passed &= good
            print(line if good else f"{line}   OUT OF BOUNDS", flush=True)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
