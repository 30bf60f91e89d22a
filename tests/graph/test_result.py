"""Result: every way to take rows, and what a mutation came to."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from omnigraph_sql.result import Counts, Result
from tests.graph.airports import airports

SCHEMA = pa.schema([("n", pa.int64()), ("word", pa.utf8())])


class Stream:
    """Batches that are made when they are asked for; `made` counts them."""

    def __init__(self, *sizes: int) -> None:
        self.made = 0
        self._sizes = sizes

    def result(self) -> Result:
        return Result(pa.RecordBatchReader.from_batches(SCHEMA, self._batches()))

    def _batches(self) -> Iterator[pa.RecordBatch]:
        at = 0
        for size in self._sizes:
            self.made += 1
            numbers = range(at, at + size)
            at += size
            yield pa.record_batch([pa.array(numbers, pa.int64()), pa.array([f"w{n}" for n in numbers])], schema=SCHEMA)


def rows(start: int, stop: int) -> list[tuple[Any, ...]]:
    return [(n, f"w{n}") for n in range(start, stop)]


def of(**columns: list[Any]) -> Result:
    return Result(pa.table(columns).to_reader())


# ---- fetching ---------------------------------------------------------------------------------------------------


def test_fetching_goes_on_where_it_stopped() -> None:
    result = Stream(2, 0, 3).result()
    assert result.fetchone() == (0, "w0")
    assert result.fetchmany(2) == rows(1, 3)
    assert result.fetchmany() == rows(3, 4)
    assert list(result) == rows(4, 5)
    assert (result.fetchone(), result.fetchmany(3), result.fetchall()) == (None, [], [])


def test_batches_are_made_only_as_rows_are_fetched() -> None:
    stream = Stream(2, 2, 2)
    result = stream.result()
    assert stream.made == 0
    result.fetchmany(2)
    assert stream.made == 1
    result.fetchone()
    assert stream.made == 2


def test_batches_stream() -> None:
    stream = Stream(1, 2, 3)
    reader = stream.result().batches()
    assert [reader.read_next_batch().num_rows for _ in range(2)] == [1, 2]
    assert stream.made == 2


@pytest.mark.parametrize("fetched", range(8))
def test_whatever_was_not_fetched_is_left_for_arrow_and_batches(fetched: int) -> None:
    for take in (Result.arrow, _streamed, pa.table):
        result = Stream(2, 0, 3, 2).result()
        assert result.fetchmany(fetched) == rows(0, fetched)
        assert [tuple(row.values()) for row in take(result).to_pylist()] == rows(fetched, 7)


def _streamed(result: Result) -> pa.Table:
    return result.batches().read_all()


@pytest.mark.parametrize("fetched", range(8))
@pytest.mark.parametrize("look", [repr, Result._repr_html_, Result.arrow, Result.dicts], ids=lambda f: f.__name__)
def test_looking_at_a_result_takes_no_rows_from_it(look: Any, fetched: int) -> None:
    result = Stream(2, 0, 3, 2).result()
    first = result.fetchmany(fetched)
    seen = look(result)
    assert first + result.fetchall() == rows(0, 7)
    assert str(look(result)) == str(seen)


def test_arrow_can_be_asked_for_again_and_again() -> None:
    result = Stream(2, 3).result()
    table = result.arrow()
    assert table.num_rows == 5
    assert result.arrow() is table
    assert result.fetchall() == rows(0, 5)
    assert result.arrow() is table
    assert pa.table(result).equals(table)
    assert result.batches().read_all().equals(table)


def test_a_result_is_an_arrow_stream() -> None:
    assert pa.table(Stream(2, 3).result()).to_pydict() == {"n": [0, 1, 2, 3, 4], "word": ["w0", "w1", "w2", "w3", "w4"]}


def test_rows_are_counted_once_they_are_there() -> None:
    result = Stream(2, 3).result()
    assert result.rowcount == -1
    result.arrow()
    assert result.rowcount == 5


def test_dicts_take_the_last_of_columns_with_one_name() -> None:
    table = pa.Table.from_arrays([pa.array([1, 2]), pa.array([3, None])], names=["a", "a"])
    result = Result(table.to_reader())
    assert result.columns == ("a", "a")
    assert result.dicts() == [{"a": 3}, {"a": None}]
    assert result.fetchall() == [(1, 3), (2, None)]
    assert repr(result) == "a  a\n-  ----\n1  3\n2  NULL"


def test_data_frames_come_from_libraries_that_are_installed() -> None:
    if find_spec("pandas") is None:
        pytest.skip("pandas is not installed")
    assert Stream(2).result().df().to_dict("list") == {"n": [0, 1], "word": ["w0", "w1"]}


def test_polars_frames_come_from_libraries_that_are_installed() -> None:
    if find_spec("polars") is None:
        pytest.skip("polars is not installed")
    assert Stream(2).result().pl().rows() == rows(0, 2)


# ---- showing ----------------------------------------------------------------------------------------------------


def test_a_result_shows_as_a_table() -> None:
    assert repr(of(n=[1, None], word=["a", "longer"])) == "n     word\n----  ------\n1     a\nNULL  longer"


def test_indentation_is_shown_and_line_breaks_are_not() -> None:
    shown = repr(of(**{"a\nb": ["  in", "x\ty\x1b[31m\r\n"]}))
    assert shown == "a b\n----------\n  in\nx y [31m"


@pytest.mark.parametrize(("count", "tail"), [(20, ""), (21, "… 1 more row"), (25, "… 5 more rows")])
def test_twenty_rows_are_shown_and_the_others_counted(count: int, tail: str) -> None:
    lines = repr(of(n=list(range(count)))).splitlines()
    assert lines[2:22] == [str(n) for n in range(20)]
    assert lines[22:] == ([tail] if tail else [])
    html = of(n=list(range(count)))._repr_html_()
    assert html.count("<td>") == 20
    assert html.endswith(f"<p>{tail}</p>" if tail else "</table>")


def test_long_cells_are_cut() -> None:
    whole, cut = "x" * 60, "x" * 59 + "…"
    assert repr(of(c=[whole, "x" * 61])).splitlines()[2:] == [whole, cut]
    assert of(c=["x" * 10_000])._repr_html_().count("x") == 59


def test_html_is_escaped() -> None:
    html = of(**{"<b>": ["<script>alert('&')</script>", None]})._repr_html_()
    assert "<th>&lt;b&gt;</th>" in html
    assert "<td>&lt;script&gt;alert(&#x27;&amp;&#x27;)&lt;/script&gt;</td>" in html
    assert "<td>NULL</td>" in html
    assert "<script" not in html


def test_a_result_without_columns_and_rows_can_be_asked_for_everything() -> None:
    result = Result(pa.schema([]).empty_table().to_reader())
    assert (result.columns, result.fetchone(), result.fetchall(), result.dicts()) == ((), None, [], [])
    assert (result.arrow().shape, result.rowcount, result.affected_nodes, result.commit_id) == ((0, 0), 0, 0, None)
    assert repr(result).strip() == ""
    assert result._repr_html_().startswith("<table>")


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        (Counts(), "0 nodes and 0 edges changed"),
        (Counts(1, 1), "1 node and 1 edge changed"),
        (Counts(2, 0), "2 nodes and 0 edges changed"),
    ],
)
def test_a_mutation_shows_what_it_changed(counts: Counts, text: str) -> None:
    result = Result(pa.schema([]).empty_table().to_reader(), counts=counts)
    assert repr(result) == text
    assert result._repr_html_() == f"<p>{text}</p>"
    assert result.rowcount == counts.affected_nodes + counts.affected_edges


# ---- from a graph -----------------------------------------------------------------------------------------------


def test_results_of_statements(tmp_path: Path) -> None:
    graph = airports(tmp_path)
    names = graph.sql("SELECT a.city, b.city FROM Airport a, Airport b WHERE a.code = 'LIM' AND b.code = 'CUZ'")
    assert names.columns == ("city", "city")
    assert names.fetchall() == [("Lima", "Cusco")]
    empty = graph.sql("SELECT code, elevation, elevation > 3 AS high FROM Airport WHERE code = 'none'")
    assert [str(field.type) for field in empty.schema] == ["string", "int32", "bool"]
    assert empty.arrow().schema == empty.schema
    assert (empty.fetchall(), empty.rowcount) == ([], 0)


def test_results_of_mutations(tmp_path: Path) -> None:
    graph = airports(tmp_path)
    changed = graph.sql("UPDATE Airport SET elevation = 0 WHERE elevation > 100")
    assert (changed.affected_nodes, changed.affected_edges, changed.rowcount) == (2, 0, 2)
    assert changed.commit_id == graph.head
    assert repr(changed) == f"2 nodes and 0 edges changed, commit {graph.head}"
    cascade = graph.sql("DELETE FROM Airport WHERE code = 'CUZ'")
    assert (cascade.affected_nodes, cascade.affected_edges, cascade.rowcount) == (1, 2, 3)
    nothing = graph.sql("UPDATE Airport SET elevation = 0 WHERE code = 'none'")
    assert (nothing.rowcount, nothing.commit_id) == (0, None)
    returned = graph.sql("INSERT INTO Note (text) VALUES ('b'), ('a') RETURNING text AS said")
    assert (returned.columns, returned.fetchall(), returned.rowcount) == (("said",), [("b",), ("a",)], 2)
    assert returned.commit_id == graph.head


def test_a_table_in_text_lines_up_for_wide_characters_and_for_marks_on_others() -> None:
    table = pa.table({"town": ["東京", "Lima", "Cuzco\u0301"], "n": [1, 22, 333]})
    lines = repr(Result(table.to_reader())).splitlines()
    assert lines[2:] == ["東京   1", "Lima   22", "Cuzco\u0301  333"]


def test_showing_a_long_result_reads_no_more_than_its_beginning_and_leaves_all_rows() -> None:
    read: list[int] = []

    def batches() -> Iterator[pa.RecordBatch]:
        for number in range(100):
            read.append(number)
            yield pa.RecordBatch.from_pydict({"n": list(range(number * 1000, (number + 1) * 1000))})

    result = Result(pa.RecordBatchReader.from_batches(pa.schema([("n", pa.int64())]), batches()))
    assert result.fetchone() == (0,)
    assert repr(result).splitlines()[2] == "1"
    assert repr(result).endswith("… more rows")
    assert "<p>… more rows</p>" in result._repr_html_()
    assert len(read) < 20
    assert [row[0] for row in result] == list(range(1, 100_000))
