"""One statement for many sets of values: the same as one by one, in great parts, all or nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

import omnigraph_sql as og
from omnigraph_sql import transaction
from omnigraph_sql.plan.nodes import Values
from omnigraph_sql.run import sets
from omnigraph_sql.run.scene import Scene, Sets

SCHEMA = """
node Thing { k: String @key  n: I32?  f: F64?  t: DateTime?  v: Vector(2)?  l: [String]?  e: enum(a, b)? }
node Loose { n: I64? }
edge Link: Thing -> Thing { w: I32? }
"""
EVERYTHING = "SELECT k, n, f, t, v, l, e FROM Thing ORDER BY k"


@pytest.fixture
def con(tmp_path: Path) -> Iterator[og.Connection]:
    connection = og.connect(tmp_path / "many.omni", create=True, schema=SCHEMA)
    yield connection
    connection.close()


def test_ten_thousand_rows_are_compiled_and_staged_once(con: og.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def counting(plan: Values, given: Sets, scene: Scene) -> pa.Table:
        calls.append(given.count)
        return sets.rows_of_sets(plan, given, scene)

    monkeypatch.setattr("omnigraph_sql.run.write.rows_of_sets", counting)
    rows = ((f"k{i}", i, i / 2) for i in range(transaction._SETS_AT_ONCE + 5))
    cursor = con.executemany("INSERT INTO Thing (k, n, f) VALUES (?, ?, ?)", rows)
    assert (cursor.rowcount, cursor.description) == (transaction._SETS_AT_ONCE + 5, None)
    assert calls == [transaction._SETS_AT_ONCE, 5]
    con.commit()
    assert con.execute("SELECT count(*), sum(n), max(f) FROM Thing").fetchone() == (10_005, 50_045_010, 5002.0)


def test_every_type_of_value_is_bound_by_its_column(con: og.Connection) -> None:
    at = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
    rows: list[Any] = [("x", 1, 2, at, [1, 2], ["a", "ü"], "a"), ("y", None, None, None, None, None, None)]
    con.executemany("INSERT INTO Thing VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    con.commit()
    assert con.execute(EVERYTHING).fetchall() == [("x", 1, 2.0, at, [1.0, 2.0], ["a", "ü"], "a"), rows[1]]


def test_expressions_over_parameters_are_computed_for_every_set(con: og.Connection) -> None:
    text = "INSERT INTO Thing (k, n, t, e) VALUES (upper(:k) || '!', :n * 2 + length(:k), now(), 'b')"
    con.executemany(text, [{"k": f"a{i:03}", "n": i} for i in range(300)])
    con.commit()
    found = con.execute("SELECT k, n, e FROM Thing ORDER BY k").fetchall()
    assert found == [(f"A{i:03}!", 2 * i + 4, "b") for i in range(300)]
    assert con.execute("SELECT count(DISTINCT t) FROM Thing").fetchone() == (1,)


def test_generated_ids_edges_and_gq_go_the_same_way(con: og.Connection) -> None:
    con.executemany("INSERT INTO Loose (n) VALUES (?)", [(i,) for i in range(50)])
    con.executemany("query add($k: String) { insert Thing { k: $k } }", [{"k": "a"}, {"k": "b"}, {"k": "a"}])
    con.executemany("INSERT INTO Link (src, dst, w) VALUES (?, ?, ?)", [("a", "b", 1), ("b", "a", 2)])
    con.commit()
    assert con.execute("SELECT count(DISTINCT id), count(n) FROM Loose").fetchone() == (50, 50)
    assert con.execute("SELECT k FROM Thing ORDER BY k").fetchall() == [("a",), ("b",)]
    assert con.execute("SELECT src, dst, w FROM Link ORDER BY w").fetchall() == [("a", "b", 1), ("b", "a", 2)]


def test_updates_and_deletes_run_one_after_the_other(con: og.Connection) -> None:
    con.executemany("INSERT INTO Thing (k, n) VALUES (?, 0)", [("a",), ("b",), ("c",)])
    con.commit()
    update = "UPDATE Thing SET n = n + ? WHERE k = ?"
    assert con.executemany(update, [(1, "a"), (5, "a"), (2, "b"), (9, "nobody")]).rowcount == 3
    con.commit()
    assert con.execute("SELECT k, n FROM Thing ORDER BY k").fetchall() == [("a", 6), ("b", 2), ("c", 0)]
    assert con.executemany("DELETE FROM Thing WHERE k = ?", [("a",), ("c",)]).rowcount == 2
    con.commit()
    assert con.execute("SELECT k FROM Thing").fetchall() == [("b",)]


@pytest.mark.parametrize("pending", [False, True])
@pytest.mark.parametrize(
    ("text", "rows", "told"),
    [
        ("INSERT INTO Thing (k, n) VALUES (?, ?)", [("a", 1), ("b", "x")], "set 2: parameter 2"),
        ("INSERT INTO Thing (k, n) VALUES (?, ?)", [("a", 1), ("b",)], "set 2: the statement has 2 parameters"),
        ("INSERT INTO Thing (k, n) VALUES ($k, 1)", [{"k": "a"}, {"kk": "b"}], "set 2: no parameter is called kk"),
        ("INSERT INTO Thing (k, n) VALUES ($k, 1)", [{"k": "a"}, {}], "set 2: parameter k is missing"),
        ("INSERT INTO Thing (k, n) VALUES (?, ?)", [("a", 1), ("a", 2)], "a"),
        ("UPDATE Thing SET n = 7 // ? WHERE k = 'old'", [(1,), (0,)], "zero"),
    ],
)
def test_a_set_that_fails_leaves_nothing_of_the_others(
    con: og.Connection, text: str, rows: list[Any], told: str, pending: bool
) -> None:
    con.execute("INSERT INTO Thing (k, n) VALUES ('old', 1)")
    con.commit()
    if pending:
        con.execute("INSERT INTO Thing (k) VALUES ('mine')")
    with pytest.raises(og.DatabaseError, match=told):
        con.executemany(text, rows)
    assert con.in_transaction is pending
    con.commit()
    found = con.execute("SELECT k, n FROM Thing ORDER BY k").fetchall()
    assert found == ([("mine", None)] if pending else []) + [("old", 1)]


def test_no_sets_change_nothing(con: og.Connection) -> None:
    assert con.executemany("INSERT INTO Thing (k) VALUES (?)", []).rowcount == 0
    con.commit()
    assert con.execute("SELECT count(*) FROM Thing").fetchone() == (0,)


def test_a_mixture_is_refused(con: og.Connection) -> None:
    con.execute("INSERT INTO Thing (k) VALUES ('a')")
    with pytest.raises(og.ProgrammingError) as refused:
        con.executemany("DELETE FROM Thing WHERE k = ?", [("a",)])
    assert refused.value.code == "D2"
    assert con.executemany("INSERT INTO Thing (k) VALUES (?)", [("b",)]).rowcount == 1


def test_blind_inserts_are_replayed_when_another_commits_first(con: og.Connection, tmp_path: Path) -> None:
    other = og.connect(tmp_path / "many.omni", autocommit=True)
    con.executemany("INSERT INTO Thing (k, n) VALUES (?, ?)", [(f"k{i}", i) for i in range(20)])
    other.execute("INSERT INTO Thing (k) VALUES ('theirs')")
    con.commit()
    assert con.execute("SELECT count(*) FROM Thing").fetchone() == (21,)


STATEMENTS = (
    "INSERT INTO Thing (k, n) VALUES (?, ?)",
    "INSERT INTO Thing (n, k) VALUES ($2, $1) ON CONFLICT DO NOTHING",
    "INSERT OR REPLACE INTO Thing (k, n, f) VALUES (?, ?, 1.5)",
    "INSERT INTO Thing (k, n) VALUES (?, ?) ON CONFLICT (k) DO UPDATE SET n = Thing.n + excluded.n",
    "INSERT INTO Thing (k, n) VALUES (lower(?), ? + 1) ON CONFLICT DO NOTHING",
    "INSERT INTO Thing (k, n) VALUES (?, coalesce(?, (SELECT count(*) FROM Thing)))",
)
pairs = st.lists(st.tuples(st.sampled_from("aAbBcd"), st.none() | st.integers(-3, 3)), max_size=6)


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[og.Connection, og.Connection]]:
    """Two connections to two copies of one graph."""
    folder = tmp_path_factory.mktemp("twins")
    made = og.connect(folder / "one.omni", create=True, schema=SCHEMA)
    made.executemany("INSERT INTO Thing (k, n) VALUES (?, ?)", [("a", 10), ("d", None)])
    made.commit()
    shutil.copytree(folder / "one.omni", folder / "two.omni")
    other = og.connect(folder / "two.omni")
    yield made, other
    made.close()
    other.close()


@seed(20261118)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.sampled_from(STATEMENTS), rows=pairs)
def test_many_sets_mean_the_same_as_one_after_the_other(
    twins: tuple[og.Connection, og.Connection], text: str, rows: list[tuple[str, int | None]]
) -> None:
    def one_by_one(connection: og.Connection) -> int:
        return sum(connection.execute(text, row).rowcount for row in rows)

    def outcome(connection: og.Connection, many: bool) -> tuple[object, object]:
        try:
            told: object = connection.executemany(text, rows).rowcount if many else one_by_one(connection)
        except og.DatabaseError as error:
            told = error.sqlstate
            connection.rollback()
        found = connection.execute(EVERYTHING).fetchall()
        connection.rollback()
        return told, found

    many, each = outcome(twins[0], True), outcome(twins[1], False)
    assert many == each
