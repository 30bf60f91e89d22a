"""Frames and other engines over a connection: pandas, polars, duckdb."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import duckdb
import pandas as pd
import polars as pl
import pytest
import sqlalchemy as sa

import omnigraph_sql as og


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[sa.Engine]:
    made = sa.create_engine(f"omnigraph:///{tmp_path}/frames.omni?create=true")
    yield made
    made.dispose()


@pytest.fixture
def con(tmp_path: Path) -> Iterator[og.Connection]:
    made = og.connect(tmp_path / "frames.omni", create=True, schema="node City { name: String @key  people: I64? }")
    made.executemany("INSERT INTO City VALUES (?, ?)", [("Lima", 10_000_000), ("Cusco", 430_000), ("Ica", None)])
    made.commit()
    yield made
    made.close()


def frame() -> Any:
    return pd.DataFrame(
        {
            "i": [1, 2, 3],
            "s": ["a", None, "ü"],
            "f": [0.5, float("nan"), 0.1],
            "b": [True, False, True],
            "d": pd.to_datetime(["2026-01-02 03:04:05.000006", "2026-01-03", "2026-01-04"], utc=True, format="ISO8601"),
        }
    )


# ---- pandas -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [None, "multi"])
def test_a_frame_comes_back_as_it_went(engine: sa.Engine, method: Literal["multi"] | None) -> None:
    assert frame().to_sql("things", engine, index=False, method=method) == 3
    back = pd.read_sql_table("things", engine).sort_values("i", ignore_index=True)
    assert list(back.columns) == ["i", "s", "f", "b", "d"]
    pd.testing.assert_frame_equal(back, frame(), check_dtype=False, check_exact=True)
    assert back["f"].dtype == "float64"


def test_a_table_that_exists_fails_is_added_to_or_replaced(engine: sa.Engine) -> None:
    frame().to_sql("things", engine, index=False)
    with pytest.raises(ValueError, match="already exists"):
        frame().to_sql("things", engine, index=False)
    frame().to_sql("things", engine, index=False, if_exists="append")
    assert pd.read_sql("SELECT count(*) AS n FROM things", engine)["n"].tolist() == [6]
    frame()[["i", "s"]].to_sql("things", engine, index=False, if_exists="replace")
    assert list(pd.read_sql("things", engine).columns) == ["i", "s"]
    assert len(pd.read_sql("things", engine)) == 3


def test_an_index_is_a_column(engine: sa.Engine) -> None:
    frame().set_index("i").to_sql("things", engine)
    found = pd.read_sql("SELECT i, s FROM things WHERE i > ? ORDER BY i", engine, params=(1,), index_col="i")
    assert (found.index.tolist(), found["s"].tolist()) == ([2, 3], [None, "ü"])


def test_a_frame_is_read_in_parts(engine: sa.Engine) -> None:
    pd.DataFrame({"n": range(100)}).to_sql("numbers", engine, index=False, chunksize=30)
    parts = list(pd.read_sql("SELECT n FROM numbers ORDER BY n", engine, chunksize=40))
    assert [len(part) for part in parts] == [40, 40, 20]
    assert pd.concat(parts)["n"].tolist() == list(range(100))


def test_a_text_with_named_values_is_read(engine: sa.Engine) -> None:
    frame().to_sql("things", engine, index=False)
    found = pd.read_sql(sa.text("SELECT s FROM things WHERE i = :i"), engine, params={"i": 3})
    assert found["s"].tolist() == ["ü"]


def test_a_cursor_gives_a_pandas_frame(con: og.Connection) -> None:
    found = con.execute("SELECT name, people FROM City ORDER BY name").fetch_df()
    assert found["name"].tolist() == ["Cusco", "Ica", "Lima"]


# ---- polars -----------------------------------------------------------------------------------------------------


def test_polars_reads_from_a_connection(con: og.Connection) -> None:
    text = "SELECT name, people FROM City WHERE people > ? ORDER BY name"
    found = pl.read_database(text, con, execute_options={"parameters": (1_000_000,)})
    assert found.to_dicts() == [{"name": "Lima", "people": 10_000_000}]


def test_polars_reads_through_sqlalchemy(engine: sa.Engine) -> None:
    frame().to_sql("things", engine, index=False)
    found = pl.read_database("SELECT i, b FROM things ORDER BY i", engine)
    assert found.rows() == [(1, True), (2, False), (3, True)]


def test_a_cursor_is_an_arrow_stream(con: og.Connection) -> None:
    text = "SELECT name, people FROM City ORDER BY name"
    expected = {"name": ["Cusco", "Ica", "Lima"], "people": [430_000, None, 10_000_000]}
    assert con.execute(text).fetch_polars().to_dict(as_series=False) == expected
    assert pl.DataFrame(con.execute(text)).to_dict(as_series=False) == expected


def test_polars_writes_through_sqlalchemy(engine: sa.Engine) -> None:
    made = pl.DataFrame({"k": ["x", "y"], "n": [1, 2], "at": [datetime(2026, 1, 2, tzinfo=UTC)] * 2})
    made.write_database("things", engine, if_table_exists="append")
    found = pl.read_database("SELECT k, n, at FROM things ORDER BY k", engine)
    assert found.rows() == [("x", 1, datetime(2026, 1, 2, tzinfo=UTC)), ("y", 2, datetime(2026, 1, 2, tzinfo=UTC))]


# ---- duckdb -----------------------------------------------------------------------------------------------------


def test_duckdb_asks_what_a_cursor_gives(con: og.Connection) -> None:
    cities = con.execute("SELECT name, people FROM City").fetch_arrow_table()
    stream = con.execute("SELECT name, length(name) AS letters FROM City").fetch_record_batch()
    duck = duckdb.connect()
    duck.register("cities", cities)
    duck.register("stream", stream)
    asked = "SELECT c.name, letters, people FROM cities c JOIN stream s USING (name) WHERE people > 1 ORDER BY 1"
    assert duck.execute(asked).fetchall() == [("Cusco", 5, 430_000), ("Lima", 4, 10_000_000)]
    duck.close()


def test_what_duckdb_makes_can_be_loaded(con: og.Connection) -> None:
    duck = duckdb.connect()
    made = duck.sql("SELECT 'City ' || i AS name, i * 1000 AS people FROM range(5) AS r(i)")
    con.graph.load(made, type="City", mode="append")
    duck.close()
    assert con.execute("SELECT count(*) FROM City").fetchone() == (8,)


def test_pandas_may_name_the_branch_as_a_schema_and_fill_lists_of_a_table_that_is_there(engine: sa.Engine) -> None:
    frame = pd.DataFrame({"k": ["a", "b"], "n": [1, 2]})
    assert frame.to_sql("named", engine, index=False, schema="main") == 2
    assert pd.read_sql_table("named", engine, schema="main")["n"].tolist() == [1, 2]
    tagged = sa.Table("tagged", sa.MetaData(), sa.Column("k", sa.Text), sa.Column("tags", sa.ARRAY(sa.Text)))
    tagged.create(engine)
    lists = pd.DataFrame({"k": ["a", "b"], "tags": [["x", "y"], []]})
    assert lists.to_sql("tagged", engine, index=False, if_exists="append", dtype={"tags": sa.ARRAY(sa.Text)}) == 2
    with engine.connect() as connection:
        assert connection.execute(sa.select(tagged).order_by(tagged.c.k)).all() == [("a", ["x", "y"]), ("b", [])]
