"""Large answers stream in bounded memory, a limited statement spills, and Ctrl-C stops what runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import omnigraph_sql as og
from omnigraph_sql.base import limits
from tests.graph.airports import CODES, airports, another, column

ROWS = int(os.environ.get("OMNI_STREAM_ROWS", "4000000"))
MEGABYTES = 2**20
ORDERED = "SELECT max(r) FROM (SELECT row_number() OVER (ORDER BY v * 7919 % 1000003) AS r FROM {series}) AS n"
GROUPED = "SELECT count(*) FROM (SELECT v % 300000 AS k, count(*) AS n FROM {series} GROUP BY 1) AS g"
JOINED = "SELECT count(*) FROM {series} JOIN generate_series(1, 400000) AS b(w) ON s.v = b.w"
SERIES = "generate_series(1, 400000) AS s(v)"


@pytest.mark.parametrize(("text", "expected"), [(ORDERED, 400_000), (GROUPED, 300_000), (JOINED, 400_000)])
def test_a_limited_statement_goes_on_on_disk(tmp_path: Path, text: str, expected: int) -> None:
    airports(tmp_path).close()
    graph = another(tmp_path, memory_limit=8 * MEGABYTES)
    assert graph.sql(text.format(series=SERIES)).fetchall() == [(expected,)]


def test_a_step_that_cannot_go_on_on_disk_says_which_limit_it_met(tmp_path: Path) -> None:
    airports(tmp_path).close()
    graph = another(tmp_path, memory_limit=MEGABYTES)
    crossed = "SELECT count(DISTINCT v), count(DISTINCT v + 1) FROM generate_series(1, 1000000) AS s(v)"
    with pytest.raises(og.ResourceLimitExceeded) as caught:
        graph.sql(crossed).fetchall()
    facts = caught.value.to_dict()
    assert (facts["resource"], facts["limit"]) == ("memory_limit", MEGABYTES)
    assert caught.value.actual > caught.value.limit
    assert column(graph, CODES) == ["AQP", "CUZ", "LIM"]
    assert column(graph.checkout("main"), "SELECT count(*) FROM Airport WHERE elevation > 0") == [3]


@pytest.mark.parametrize(
    ("given", "allowed"),
    [
        (limits.MEMORY_LIMIT_BYTES_MIN - 1, False),
        (limits.MEMORY_LIMIT_BYTES_MIN, True),
        (limits.MEMORY_LIMIT_BYTES_MIN + 1, True),
    ],
)
def test_a_memory_limit_has_a_smallest_value(tmp_path: Path, given: int, allowed: bool) -> None:
    airports(tmp_path).close()
    if allowed:
        assert column(another(tmp_path, memory_limit=given), CODES) == ["AQP", "CUZ", "LIM"]
        return
    with pytest.raises(og.ResourceLimitExceeded, match="smaller") as caught:
        another(tmp_path, memory_limit=given)
    assert caught.value.limit == limits.MEMORY_LIMIT_BYTES_MIN


STREAMING = """
import resource, sys
import omnigraph_sql as og

graph = og.open(sys.argv[1], read_only=True)
text = (
    "SELECT a.code, s.v, t.w FROM Airport AS a CROSS JOIN generate_series(1, 1000) AS s(v)"
    f" CROSS JOIN generate_series(1, {int(sys.argv[2]) // 3000}) AS t(w)"
)
graph.sql(text.replace("1000", "10")).batches().read_next_batch()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
rows = sum(batch.num_rows for batch in graph.sql(text).batches())
print(rows, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_many_rows_stream_in_little_memory(tmp_path: Path) -> None:
    graph = airports(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", STREAMING, graph.uri, str(ROWS)], capture_output=True, text=True, check=True
    )
    rows, megabytes = map(int, done.stdout.split())
    assert rows == ROWS // 3000 * 3000
    assert megabytes < 200


STOPPED = """
import os, signal, sys, threading
import omnigraph_sql as og

graph = og.open(sys.argv[1], read_only=True)
text = "SELECT count(*) FROM generate_series(1, 100) AS a(v) CROSS JOIN generate_series(1, 100000000000) AS b(w)"
if sys.argv[2] == "streaming":
    text = text.replace("count(*)", "w")
# Whoever started this may have had Ctrl-C switched off, as a job in the background has.
signal.signal(signal.SIGINT, signal.default_int_handler)
left = threading.Event()


def press() -> None:
    while not left.wait(0.3):
        os.kill(os.getpid(), signal.SIGINT)


def run() -> int:
    return sum(batch.num_rows for batch in graph.sql(text).batches())


thread = threading.Thread(target=press)
stopped = 0
try:
    thread.start()
    run()
except KeyboardInterrupt:
    stopped = 1
while not left.is_set():
    try:
        left.set()
        thread.join()
    except KeyboardInterrupt:
        pass
print(stopped, graph.sql("SELECT count(*) FROM Airport WHERE elevation > 0").fetchone()[0])
"""


@pytest.mark.parametrize("kind", ["streaming", "counting"])
def test_ctrl_c_stops_a_statement_and_the_process_lives(tmp_path: Path, kind: str) -> None:
    graph = airports(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", STOPPED, graph.uri, kind], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout.split()) == (0, ["1", "3"]), done.stderr


def test_a_session_may_change_its_memory_limit_and_go_back(tmp_path: Path) -> None:
    graph = airports(tmp_path)
    crossed = "SELECT count(DISTINCT v), count(DISTINCT v + 1) FROM generate_series(1, 1000000) AS s(v)"
    graph.sql("SET memory_limit = '1MiB'")
    with pytest.raises(og.ResourceLimitExceeded) as caught:
        graph.sql(crossed).fetchall()
    assert caught.value.limit == MEGABYTES
    with graph.transaction() as tx, pytest.raises(og.ResourceLimitExceeded):
        tx.sql(crossed).fetchall()
    graph.sql("RESET memory_limit")
    assert graph.sql(crossed).fetchall() == [(1_000_000, 1_000_000)]


@pytest.mark.parametrize(
    ("text", "bytes_"),
    [
        ("'512MB'", "512000000"),
        ("'1.5 GiB'", "1610612736"),
        ("'1048576'", "1048576"),
        ("2000000", "2000000"),
        ("'64mib'", "67108864"),
        ("'0.3TB'", "300000000000"),
        ("DEFAULT", None),
    ],
)
def test_an_amount_of_memory_is_written_as_people_write_it(tmp_path: Path, text: str, bytes_: str | None) -> None:
    graph = airports(tmp_path, rows=False)
    graph.sql(f"SET memory_limit = {text}")
    shown = {row["name"]: row["value"] for row in graph.sql("SHOW SETTINGS").dicts()}
    assert shown["memory_limit"] == bytes_


@pytest.mark.parametrize("text", ["'much'", "'12 parsecs'", "''", "'-5MB'", "'1e9'", "'1048575'", "5", "'0'"])
def test_what_is_no_usable_amount_is_refused_with_what_to_write(tmp_path: Path, text: str) -> None:
    graph = airports(tmp_path, rows=False)
    with pytest.raises(og.OmniError) as caught:
        graph.sql(f"SET memory_limit = {text}")
    assert isinstance(caught.value, og.DataError | og.ResourceLimitExceeded)
    assert caught.value.hint
