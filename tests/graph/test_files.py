"""COPY and export: rows out to files and back in, without loss, whole or not at all."""

from __future__ import annotations

import csv
import gzip
import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph_sql import graph as og
from omnigraph_sql.base.errors import BoundaryViolation, DataError, ExecutionError, KeyConflict, OmniError, StorageError
from omnigraph_sql.cli.formats import written
from tests.engine.worlds import digest

SCHEMA = """
node P {
    k: I64 @key
    t: String?  b: Bool?  i: I32?  u: U64?  f: F64?  g: F32?  d: Date?  at: DateTime?
    l: [String]?  e: enum(red, blue)?  v: Vector(2)?  x: Blob?
}
node Free { t: String? }
edge E: P -> P { w: F64?  since: Date? }
"""
ROWS = """INSERT INTO P (k, t, b, i, f, d, at, l, e, v) VALUES
    (1, 'a,b"c', true, -5, 0.1, DATE '2024-02-29', TIMESTAMP '2024-01-02 03:04:05.678901Z', ['x', ''], 'red', [1, 2]),
    (2, '', false, NULL, NULL, NULL, NULL, [], NULL, NULL),
    (3, NULL, NULL, 7, -1.5e300, NULL, NULL, NULL, 'blue', [0.1, -3]),
    (4, E'two\\nlines', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"""


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = og.init(tmp_path / "g.omni", schema=SCHEMA)
    made.sql(ROWS.replace("E'two\\nlines'", "$t"), {"t": "two\nlines"})
    made.sql("INSERT INTO E (src, dst, w) VALUES ('1', '2', 0.5), ('2', '3', NULL)")
    made.sql("INSERT INTO Free VALUES ('x'), (NULL)")
    return made


def contents(graph: og.Graph) -> dict[str, list[Any]]:
    """Every row of every table with its id, whatever the order."""
    found = {}
    for of in graph.catalog.tables():
        columns = ", ".join(f'"{f.name}"' for f in of.schema.fields)
        found[of.name] = sorted(map(repr, graph.sql(f'SELECT {columns} FROM "{of.name}"').fetchall()))
    return found


FORMS = ["csv", "csv.gz", "tsv", "jsonl", "jsonl.zst", "parquet", "arrow"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("table", ["P", "E"])
def test_what_is_copied_out_comes_back_in(graph: og.Graph, tmp_path: Path, form: str, table: str) -> None:
    path = tmp_path / f"rows.{form}"
    written = graph.sql(f"COPY {table} TO '{path}'").fetchall()
    other = og.init(tmp_path / "h.omni", schema=SCHEMA)
    if table == "E":
        other.sql("INSERT INTO P (k) VALUES (1), (2), (3)")
    taken = other.sql(f"COPY {table} FROM '{path}'")
    count = graph.sql(f"SELECT count(*) FROM {table}").fetchall()
    assert written == count == [(taken.affected_nodes + taken.affected_edges,)]
    assert taken.commit_id == other.head
    show = f"SELECT * FROM {table} ORDER BY 1"
    assert other.sql(show).fetchall() == graph.sql(show).fetchall()


def test_a_query_is_copied_with_the_names_it_has(graph: og.Graph, tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    graph.sql(f"COPY (SELECT k, t AS k, count(*) OVER () AS n FROM P WHERE P.k < 3 ORDER BY P.k) TO '{path}'")
    assert path.read_text() == 'k,k,n\n1,"a,b""c",2\n2,"",2\n'
    with pytest.raises(DataError, match="two columns") as caught:
        graph.sql(f"COPY (SELECT k, t AS k FROM P) TO '{tmp_path / 'q.parquet'}'")
    assert "AS" in (caught.value.hint or "")


def test_options_shape_a_csv_file_both_ways(graph: og.Graph, tmp_path: Path) -> None:
    path = tmp_path / "odd.txt"
    options = "(FORMAT csv, DELIMITER ';', QUOTE '''', ESCAPE '\\', NULL 'none', HEADER false)"
    graph.sql("INSERT INTO Free VALUES ('none'), ('a;b'), ('it''s \\ so')")
    graph.sql(f"COPY Free TO '{path}' {options}")
    other = og.init(tmp_path / "h.omni", schema=SCHEMA)
    other.sql(f"COPY Free FROM '{path}' {options}")
    show = "SELECT t FROM Free ORDER BY t"
    assert other.sql(show).fetchall() == graph.sql(show).fetchall()


def test_named_columns_of_a_file_without_a_header(graph: og.Graph, tmp_path: Path) -> None:
    path = tmp_path / "two.csv"
    path.write_text("# about\nseven,7\n,8\n")
    graph.sql(f"COPY P (t, k) FROM '{path}' (HEADER false, SKIP 1)")
    assert graph.sql("SELECT k, t FROM P WHERE k > 4 ORDER BY k").fetchall() == [(7, "seven"), (8, None)]


def test_a_path_and_options_may_be_parameters(graph: og.Graph, tmp_path: Path) -> None:
    path = tmp_path / "it's; DROP TABLE Free --.csv"
    graph.sql("COPY Free TO $path (FORMAT csv, DELIMITER $sign)", {"path": str(path), "sign": "|"})
    assert path.read_text().splitlines()[0] == "t"
    graph.sql("COPY Free FROM ? (FORMAT csv, DELIMITER '|')", [str(path)])
    assert graph.sql("SELECT count(*) FROM Free").fetchall() == [(4,)]


@pytest.mark.parametrize(
    ("name", "body", "say"),
    [
        ("a.csv", "k,t\n1,a\n2,b,c\n", "line 3"),
        ("a.tsv", "k\tt\n1\ta\n2\tb\tc\n", "line 3"),
        ("a.tsv", 'k\tt\n1\t"open\n', "never ends"),
        ("a.tsv", "k\tt\nx\ta\n", "line 2"),
        ("a.jsonl", '{"k": 1}\n{"k": "x"}\n', "line 2"),
        ("a.jsonl", '{"k": 1, "nothing": 2}\n', "nothing"),
        ("a.jsonl", '{"k": 1}\n[1]\n', "line 2"),
        ("a.parquet", "nonsense", "Parquet"),
        ("a.arrow", "nonsense", "Arrow"),
        ("a.csv.gz", "nonsense", "a.csv.gz"),
    ],
)
def test_a_bad_file_is_refused_with_its_place_and_changes_nothing(
    graph: og.Graph, tmp_path: Path, name: str, body: str, say: str
) -> None:
    path = tmp_path / name
    path.write_text(body)
    head = graph.head
    with pytest.raises(DataError, match=say):
        graph.sql(f"COPY P FROM '{path}'")
    assert graph.head == head


def test_a_copy_in_obeys_its_mode(graph: og.Graph, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("k,t\n1,new\n9,nine\n")
    with pytest.raises(KeyConflict):
        graph.sql(f"COPY P FROM '{path}'")
    graph.sql(f"COPY P FROM '{path}' (MODE merge)")
    assert graph.sql("SELECT t, b FROM P WHERE k IN (1, 9) ORDER BY k").fetchall() == [("new", None), ("nine", None)]
    graph.sql("DELETE FROM E")
    graph.sql(f"COPY P FROM '{path}' (MODE overwrite)")
    assert graph.sql("SELECT k FROM P ORDER BY k").fetchall() == [(1,), (9,)]


def test_a_copy_in_has_no_place_in_a_transaction_and_ends_a_part_of_a_script(graph: og.Graph, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("k\n9\n")
    with graph.transaction() as tx, pytest.raises(BoundaryViolation):
        tx.sql(f"COPY P FROM '{path}'")
    graph.sql("BEGIN")
    with pytest.raises(BoundaryViolation, match="inside a transaction"):
        graph.sql(f"INSERT INTO P (k) VALUES (8); COPY P FROM '{path}'")
    graph.sql("ROLLBACK")
    before = len(graph.commits())
    graph.sql(f"INSERT INTO P (k) VALUES (8); COPY P FROM '{path}'; INSERT INTO P (k) VALUES (10)")
    assert len(graph.commits()) == before + 3


def test_a_copy_out_inside_a_transaction_has_what_is_pending(graph: og.Graph, tmp_path: Path) -> None:
    with graph.transaction() as tx:
        tx.sql("INSERT INTO Free VALUES ('pending')")
        tx.sql(f"COPY (SELECT t FROM Free WHERE t = 'pending') TO '{tmp_path / 'f.csv'}'")
    assert (tmp_path / "f.csv").read_text() == "t\npending\n"


def test_a_file_appears_when_it_is_complete(graph: og.Graph, tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text("before")
    with pytest.raises(ExecutionError):
        graph.sql(f"COPY (SELECT 1 / (k - 3) FROM P ORDER BY k) TO '{path}'")
    assert path.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []
    (tmp_path / "folder.csv").mkdir()
    for wrong in (tmp_path / "folder.csv", tmp_path / "no" / "such" / "f.csv"):
        with pytest.raises(StorageError):
            graph.sql(f"COPY P TO '{wrong}'")
    graph.sql(f"COPY Free TO '{path}'")
    assert path.read_text().splitlines()[0] == "t"


@pytest.mark.parametrize("path", ["s3://bucket/x.csv", "https://host/x.csv", "x.lance"])
def test_places_that_are_no_local_files_are_refused(graph: og.Graph, path: str) -> None:
    for text in (f"COPY P TO '{path}'", f"COPY P FROM '{path}'"):
        with pytest.raises(ExecutionError) as caught:
            graph.sql(text)
        assert caught.value.hint


def test_parquet_and_gzip_are_what_other_programs_read(graph: og.Graph, tmp_path: Path) -> None:
    graph.sql(f"COPY (SELECT k, v FROM P) TO '{tmp_path / 'p.parquet'}' (COMPRESSION zstd, ROW_GROUP_SIZE 2)")
    file = pq.ParquetFile(tmp_path / "p.parquet")
    assert (file.metadata.num_rows, file.metadata.num_row_groups) == (4, 2)
    graph.sql(f"COPY (SELECT k, t FROM P WHERE k = 1) TO '{tmp_path / 'p.jsonl.gz'}'")
    assert json.loads(gzip.decompress((tmp_path / "p.jsonl.gz").read_bytes())) == {"k": 1, "t": 'a,b"c'}


# ---- the whole graph ----------------------------------------------------------------------------------------------


def test_an_export_is_a_graph_that_can_be_loaded(graph: og.Graph, tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    report = graph.export(path)
    assert (report.rows, report.commit_id) == (8, graph.head)
    assert dict(report.tables) == {"node:P": 4, "node:Free": 2, "edge:E": 2}
    other = og.init(tmp_path / "h.omni", schema=graph.schema_text)
    other.load(path, mode="append")
    assert contents(other) == contents(graph)
    third = og.init(tmp_path / "i.omni", schema=graph.schema_text)
    assert graph.sql(f"EXPORT GRAPH '{tmp_path / 'o.jsonl'}'").fetchall() == [(8,)]
    assert third.sql(f"IMPORT GRAPH '{tmp_path / 'o.jsonl'}'").affected_nodes == 6
    assert contents(third) == contents(graph)


def test_an_export_of_some_types_of_a_past_state(graph: og.Graph, tmp_path: Path) -> None:
    then = graph.head
    graph.sql("INSERT INTO Free VALUES ('later')")
    graph.at(then).export(tmp_path / "f.jsonl", type="Free")
    lines = [json.loads(line) for line in (tmp_path / "f.jsonl").read_text().splitlines()]
    assert sorted((line["type"], line["data"].get("t", "")) for line in lines) == [("Free", ""), ("Free", "x")]
    with pytest.raises(DataError, match="Nothing"):
        graph.export(tmp_path / "g.jsonl", type=["Free", "Nothing"])


WORDS = st.text(st.characters(blacklist_categories=["Cs"]), max_size=12)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SINGLES = st.floats(allow_nan=False, allow_infinity=False, width=32)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "t": WORDS,
    "b": st.booleans(),
    "i": st.integers(-(2**31), 2**31 - 1),
    "u": st.integers(0, 2**64 - 1),
    "f": FLOATS,
    "g": SINGLES,
    "d": st.dates(date(1, 1, 1), date(9999, 12, 31)),
    "at": st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC)),
    "l": st.lists(WORDS, max_size=3),
    "e": st.sampled_from(["red", "blue"]),
    "v": st.lists(SINGLES, min_size=2, max_size=2),
    "x": st.binary(max_size=8),
}
PEOPLE = st.dictionaries(
    st.integers(-(2**63), 2**63 - 1), st.fixed_dictionaries({n: st.none() | of for n, of in VALUES.items()}), max_size=4
)


@settings(max_examples=12, deadline=timedelta(seconds=20), suppress_health_check=[HealthCheck.too_slow])
@given(PEOPLE, st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.none() | FLOATS), max_size=4), st.data())
def test_any_graph_survives_export_and_load(
    people: dict[int, dict[str, Any]], edges: list[tuple[int, int, float | None]], data: st.DataObject
) -> None:
    with TemporaryDirectory() as folder:
        graph = og.init(Path(folder) / "g.omni", schema=SCHEMA)
        if people:
            rows = pa.Table.from_pylist([{"k": k, **of} for k, of in people.items()], schema=_shape())
            graph.load(rows, mode="append", type="P")
            keys = list(people)
            for src, dst, weight in edges:
                ends = str(keys[src % len(keys)]), str(keys[dst % len(keys)])
                graph.sql("INSERT INTO E (src, dst, w) VALUES (?, ?, ?)", [*ends, weight])
        graph.sql("INSERT INTO Free VALUES (?)", [data.draw(st.none() | WORDS)])
        graph.export(Path(folder) / "out.jsonl")
        other = og.init(Path(folder) / "h.omni", schema=graph.schema_text)
        other.load(Path(folder) / "out.jsonl", mode="append")
        assert contents(other) == contents(graph)


def _shape() -> pa.Schema:
    types = {"t": pa.utf8(), "b": pa.bool_(), "i": pa.int32(), "u": pa.uint64(), "f": pa.float64(), "g": pa.float32()}
    types |= {"d": pa.date32(), "at": pa.timestamp("us", "UTC"), "l": pa.list_(pa.utf8()), "e": pa.utf8()}
    types |= {"v": pa.list_(pa.float32(), 2), "x": pa.large_binary()}
    return pa.schema([("k", pa.int64()), *types.items()])


def test_a_refused_copy_leaves_no_trace(graph: og.Graph, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("k\n1\n")
    before = digest(tmp_path / "g.omni")
    with pytest.raises(OmniError):
        graph.sql(f"COPY P FROM '{path}'")
    assert digest(tmp_path / "g.omni") == before


def test_a_file_and_the_command_line_spell_values_alike(tmp_path: Path) -> None:
    schema = "node K { k: String @key  at: DateTime?  day: Date?  body: Blob?  f: F64?  l: [F32]? }"
    graph = og.init(tmp_path / "k.omni", schema=schema)
    graph.sql(
        "INSERT INTO K VALUES ('a', TIMESTAMP '2024-02-29 12:00:00.5', DATE '2024-02-29', $b, 0.1, [1.5, NULL])",
        {"b": b"\x00\xff"},
    )
    graph.sql("INSERT INTO K (k) VALUES ('b')")
    asked = "SELECT k, at, day, body, f, l FROM K ORDER BY k"
    for form in ("csv", "jsonl"):
        path = tmp_path / f"out.{form}"
        graph.sql(f"COPY ({asked}) TO $p (FORMAT {form})", {"p": str(path)})
        shown = "\n".join(written(graph.sql(asked), form))
        if form == "csv":
            assert list(csv.reader(shown.splitlines())) == list(csv.reader(path.read_text().splitlines()))
        else:
            lines = [json.loads(line) for line in path.read_text().splitlines()]
            assert [json.loads(line) for line in shown.splitlines()] == lines
