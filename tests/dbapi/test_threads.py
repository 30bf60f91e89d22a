"""Threads: what may be shared, what may not, and what happens to those who try."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import omnigraph_sql as og
from tests.graph.airports import SCHEMA

FOREVER = "SELECT a.v::TEXT FROM generate_series(1, 100) AS a(v) CROSS JOIN generate_series(1, 1000000000) AS b(w)"
COUNT = "SELECT count(*) FROM Note"


@pytest.fixture
def where(tmp_path: Path) -> Path:
    og.init(tmp_path / "air.omni", schema=SCHEMA).close()
    return tmp_path / "air.omni"


@pytest.fixture
def con(where: Path) -> Iterator[og.Connection]:
    connection = og.connect(where)
    yield connection
    connection.close()


def in_threads(*works: Callable[[], object]) -> list[object]:
    """Run all at once; each gives its result or what it raised."""
    together = threading.Barrier(len(works))

    def one(work: Callable[[], object]) -> object:
        together.wait()
        try:
            return work()
        except og.Error as error:
            return error

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(one, works))


def test_two_cursors_read_side_by_side(con: og.Connection) -> None:
    first = con.execute("SELECT n FROM generate_series(1, 3) AS s(n) ORDER BY n")
    second = con.execute("SELECT n FROM generate_series(4, 6) AS s(n) ORDER BY n")
    pairs = [(first.fetchone(), second.fetchone()) for _ in range(4)]
    assert pairs == [((1,), (4,)), ((2,), (5,)), ((3,), (6,)), (None, None)]


def test_rows_that_were_asked_for_stay_what_they_were(con: og.Connection) -> None:
    con.execute("INSERT INTO Note (text) VALUES ('a')")
    before = con.execute(COUNT)
    con.execute("INSERT INTO Note (text) VALUES ('b')")
    con.commit()
    assert (before.fetchone(), con.execute(COUNT).fetchone()) == ((1,), (2,))


def test_a_connection_that_is_in_use_refuses_a_second_thread(con: og.Connection) -> None:
    inside, done = threading.Event(), threading.Event()

    def slow_sets() -> Iterator[tuple[str]]:
        inside.set()
        assert done.wait(60)
        yield ("a",)

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(con.executemany, "INSERT INTO Note (text) VALUES (?)", slow_sets())
        assert inside.wait(60)
        with pytest.raises(og.ProgrammingError) as refused:
            con.execute(COUNT)
        done.set()
        assert running.result().rowcount == 1
    assert (refused.value.code, refused.value.hint) == ("busy", "give every thread a connection of its own")
    assert con.execute(COUNT).fetchone() == (1,)


def test_connections_of_several_threads_write_without_losing_anything(where: Path) -> None:
    def work(name: str) -> Callable[[], object]:
        def write() -> None:
            with og.connect(where) as own:
                for number in range(4):
                    own.execute("INSERT INTO Note (text) VALUES (?)", (f"{name}{number}",))
                    own.commit()

        return write

    assert in_threads(work("a"), work("b"), work("c")) == [None, None, None]
    with og.connect(where, read_only=True) as reader:
        found = reader.execute("SELECT text FROM Note ORDER BY text").fetchall()
    assert found == [(f"{name}{number}",) for name in "abc" for number in range(4)]


def test_one_graph_serves_statements_of_several_threads(where: Path) -> None:
    graph = og.open(where)

    def write(name: str) -> Callable[[], object]:
        def work() -> None:
            for number in range(4):
                graph.sql("INSERT INTO Note (text) VALUES ($text)", {"text": f"{name}{number}"})

        return work

    def read() -> list[int]:
        return [graph.sql(COUNT).fetchall()[0][0] for _ in range(8)]

    first, second, seen, others = in_threads(write("a"), write("b"), read, read)
    assert (first, second) == (None, None)
    assert isinstance(seen, list)
    assert isinstance(others, list)
    assert seen == sorted(seen)
    assert others == sorted(others)
    assert graph.sql(COUNT).fetchone() == (8,)
    graph.close()


@pytest.mark.parametrize("fetches", [True, False])
def test_a_statement_that_runs_is_stopped_from_another_thread(con: og.Connection, fetches: bool) -> None:
    con.execute("INSERT INTO Note (text) VALUES ('pending')")
    stopped = threading.Event()

    def stop() -> None:
        while not stopped.wait(0.01):
            con.interrupt()

    poking = threading.Thread(target=stop)
    poking.start()
    try:
        with pytest.raises(og.OperationalError) as caught:
            con.execute(FOREVER if fetches else f"INSERT INTO Note (text) {FOREVER}").fetchall()
    finally:
        stopped.set()
        poking.join()
    assert (caught.value.code, caught.value.sqlstate) == ("interrupted", "57014")
    assert isinstance(caught.value.__cause__, og.Interrupted)
    assert (con.in_transaction, con.execute(COUNT).fetchone()) == (True, (1,))
    con.commit()


def test_transactions_of_one_graph_are_apart(where: Path) -> None:
    graph = og.open(where)
    with graph.transaction() as mine, graph.transaction() as yours:
        mine.sql("INSERT INTO Note (text) VALUES ('mine')")
        yours.sql("INSERT INTO Note (text) VALUES ('yours')")
        assert in_threads(lambda: mine.sql("SELECT text FROM Note").fetchall()) == [[("mine",)]]
        yours.rollback()
        assert graph.sql(COUNT).fetchone() == (0,)
        mine.rollback()
    graph.close()
