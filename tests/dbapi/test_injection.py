"""Values, names and addresses that try to become text of a statement; none succeeds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from sqlalchemy import exc

import omnigraph_sql as og

SCHEMA = "node Note { k: I64 @key  text: String? }\nnode Kept { k: String @key }"
ATTEMPTS = [
    "'; DELETE FROM Kept; --",
    '"; DROP TABLE Kept; --',
    "' OR '1'='1",
    "x' UNION SELECT k FROM Kept --",
    "$1 ? :name /* */ -- \\' \\\\",
    "'); COMMIT; BEGIN; (",
    "\u2019; DROP TABLE Kept; --",
    "$$ ; DELETE FROM Kept $$",
    "\x00'; DROP TABLE Kept",
    "{{k}} ${k} %(k)s %s",
]


@pytest.fixture(scope="module")
def con(tmp_path_factory: pytest.TempPathFactory) -> Iterator[og.Connection]:
    made = og.connect(tmp_path_factory.mktemp("injection") / "g.omni", create=True, schema=SCHEMA)
    made.execute("INSERT INTO Kept VALUES ('here')")
    made.commit()
    yield made
    assert made.execute("SELECT k FROM Kept").fetchall() == [("here",)]
    made.close()


def round_trip(con: og.Connection, text: str) -> None:
    con.execute("INSERT INTO Note VALUES (?, ?)", (1, text))
    con.executemany("INSERT INTO Note VALUES ($k, $t)", [{"k": 2, "t": text}])
    con.execute("query q($t: String) { insert Note { k: 3, text: $t } }", {"t": text})
    assert con.execute("SELECT k FROM Note WHERE text = :t ORDER BY k", {"t": text}).fetchall() == [(1,), (2,), (3,)]
    assert con.execute("SELECT DISTINCT text FROM Note").fetchall() == [(text,)]
    assert con.execute("SELECT ?", (text,)).fetchone() == (text,)
    assert con.execute("SELECT k FROM Kept WHERE k = ?", (text,)).fetchall() == []
    con.rollback()


@pytest.mark.parametrize("text", ATTEMPTS)
def test_a_value_stays_a_value(con: og.Connection, text: str) -> None:
    round_trip(con, text)


@seed(20261118)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.sampled_from("'\";-$?:%\\ /*\n\tDROP ü\u202e"), max_size=30))
def test_any_text_stays_a_value(con: og.Connection, text: str) -> None:
    round_trip(con, text)


@pytest.mark.parametrize("name", ATTEMPTS)
def test_a_name_from_sqlalchemy_stays_a_name(con: og.Connection, name: str) -> None:
    engine = sa.create_engine(f"omnigraph:///{con.graph.uri}")
    assert not sa.inspect(engine).has_table(name)
    odd = sa.Table(name, sa.MetaData(), sa.Column(name, sa.String))
    with engine.connect() as other:
        for statement in (sa.select(odd), sa.insert(odd).values({name: "x"}), sa.delete(odd)):
            with pytest.raises(exc.DBAPIError):
                other.execute(statement)
    with pytest.raises(exc.DBAPIError):
        odd.create(engine)
    label = sa.select(sa.literal(1).label(name))
    with engine.connect() as other:
        if "\x00" in name:
            with pytest.raises(exc.DBAPIError):
                other.execute(label)
        else:
            assert list(other.execute(label).mappings().one().items()) == [(name, 1)]
    engine.dispose()


@pytest.mark.parametrize("name", [*ATTEMPTS, "../main", "a/../../b"])
def test_a_branch_is_a_name_and_nothing_else(con: og.Connection, name: str, tmp_path: Path) -> None:
    with pytest.raises(og.Error):
        og.connect(con.graph.uri, branch=name)
    with pytest.raises(og.Error):
        con.graph.create_branch(name)
    assert [branch.name for branch in con.graph.branches()] == ["main"]
    assert list(tmp_path.iterdir()) == []


def test_a_row_that_looks_like_a_page_is_shown_as_text(con: og.Connection) -> None:
    shown = con.graph.sql("SELECT '<script>alert(1)</script>' AS \"<b>\"")._repr_html_()
    assert "<script>" not in shown
    assert "<b>" not in shown
    assert "&lt;script&gt;" in shown
