"""A statement can be stopped from another thread, and what stopped it stays usable."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import omnigraph_sql as og
from omnigraph_sql.run.interrupt import Running, Runs
from tests.graph.airports import CODES, airports, column

FOREVER = "SELECT a.value FROM generate_series(1, 100) AS a(value) CROSS JOIN generate_series(1, 1000000000) AS b(w)"
DEEP = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 9000) SELECT max(n) FROM r"


@contextmanager
def interrupting(graph: og.Graph) -> Iterator[None]:
    """Another thread that interrupts again and again until the block is left."""
    left = threading.Event()

    def poke() -> None:
        while not left.wait(0.01):
            graph.interrupt()

    thread = threading.Thread(target=poke)
    thread.start()
    try:
        yield
    finally:
        left.set()
        thread.join()


def drained(graph: og.Graph) -> int:
    return sum(batch.num_rows for batch in graph.sql(FOREVER).batches())


def collected(graph: og.Graph) -> int:
    return len(graph.sql(f"SELECT count(*) FROM ({FOREVER}) AS every").fetchall())


def rounds(graph: og.Graph) -> int:
    return len(graph.sql(DEEP).fetchall())


@pytest.mark.parametrize("run", [drained, collected, rounds])
def test_a_statement_that_runs_is_stopped_and_the_handle_stays_usable(
    tmp_path: Path, run: Callable[[og.Graph], int]
) -> None:
    graph = airports(tmp_path)
    with interrupting(graph), pytest.raises(og.Interrupted) as caught:
        run(graph)
    assert caught.value.code == "interrupted"
    assert isinstance(caught.value, og.ExecutionError)
    assert column(graph, CODES) == ["AQP", "CUZ", "LIM"]


def test_a_result_with_rows_left_is_stopped_where_it_is_read_next(tmp_path: Path) -> None:
    graph = airports(tmp_path)
    result = graph.sql(FOREVER)
    assert result.fetchone() == (1,)
    graph.interrupt()
    with pytest.raises(og.Interrupted):
        result.fetchall()
    assert column(graph, CODES) == ["AQP", "CUZ", "LIM"]


def test_interrupting_an_idle_handle_means_nothing_to_what_comes_later(tmp_path: Path) -> None:
    graph = airports(tmp_path)
    graph.interrupt()
    assert column(graph, CODES) == ["AQP", "CUZ", "LIM"]


def test_a_stopped_statement_leaves_its_transaction_as_it_was(tmp_path: Path) -> None:
    graph = airports(tmp_path)
    with graph.transaction() as tx:
        tx.sql("INSERT INTO Airport (code, city) VALUES ('PIU', 'Piura')")
        with interrupting(graph), pytest.raises(og.Interrupted):
            tx.sql(f"INSERT INTO Note (text) SELECT CAST(value AS VARCHAR) FROM ({FOREVER}) AS every").fetchall()
        assert column(tx, CODES) == ["AQP", "CUZ", "LIM", "PIU"]
    assert column(graph, CODES) == ["AQP", "CUZ", "LIM", "PIU"]
    assert column(graph, "SELECT count(*) FROM Note") == [0]


def test_interrupting_one_handle_does_not_stop_another(tmp_path: Path) -> None:
    graph = airports(tmp_path)
    other = graph.checkout("main")
    result = other.sql(CODES)
    graph.interrupt()
    assert [row[0] for row in result] == ["AQP", "CUZ", "LIM"]


def test_what_an_abandoned_worker_still_says_is_nobodys_answer() -> None:
    running = Running()
    said, may = threading.Event(), threading.Event()

    def slow() -> str:
        said.set()
        may.wait()
        return "late"

    caught: list[BaseException] = []

    def ask() -> None:
        try:
            running.wait(slow)
        except og.Interrupted as error:
            caught.append(error)

    asker = threading.Thread(target=ask)
    asker.start()
    said.wait()
    running.stop()
    asker.join()
    assert len(caught) == 1
    may.set()
    fresh = Runs().begin()
    assert [fresh.wait(lambda n=n: n) for n in range(100)] == list(range(100))  # type: ignore[misc]


def test_an_error_of_the_work_reaches_whoever_waits_as_it_is() -> None:
    with pytest.raises(KeyError, match="gone"):
        Running().wait(lambda: dict[str, int]()["gone"])


def test_the_work_of_a_stopped_statement_ends_too(tmp_path: Path) -> None:
    graph = airports(tmp_path)
    for run in (drained, collected):
        before = {thread.ident for thread in threading.enumerate()}
        with interrupting(graph), pytest.raises(og.Interrupted):
            run(graph)
        begun = [t for t in threading.enumerate() if t.name == "omnigraph-worker" and t.ident not in before]
        for thread in begun:
            thread.join(60)
        assert not any(thread.is_alive() for thread in begun)


EARLY = """
import sys, threading
import omnigraph_sql as og

graph = og.open(sys.argv[1], read_only=True)
text = "SELECT count(*) FROM generate_series(1, 100) AS a(v) CROSS JOIN generate_series(1, 100000000000) AS b(w)"


def stop_while_loading():
    while "datafusion" not in sys.modules:
        pass
    graph.interrupt()


assert "datafusion" not in sys.modules
threading.Thread(target=stop_while_loading).start()
try:
    graph.sql(text).fetchall()
except og.Interrupted:
    print("stopped", graph.sql("SELECT sum(v) FROM generate_series(1, 3) AS s(v)").fetchone()[0])
"""


def test_a_statement_that_is_stopped_while_the_engine_loads_leaves_it_usable(tmp_path: Path) -> None:
    graph = airports(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", EARLY, graph.uri], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout.split()) == (0, ["stopped", "6"]), done.stderr
