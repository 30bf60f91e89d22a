"""Rows as text: each form read back, or compared with what it must look like."""

import csv
import io
import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph_sql.base.spelling import plain
from omnigraph_sql.cli.formats import FORMS, Row, cell, distinct, width, written
from omnigraph_sql.result import Result

COLUMNS = ("code", "miles", "note")
ROWS: list[Row] = [("LIM", 363, None), ("CUZ", -1, 'a, "b"\n\tc\\|d'), ("", 0, " ")]
texts = st.one_of(st.none(), st.text(st.characters(codec="utf-8"), max_size=8))


def shown(form: str, rows: list[Row], columns: tuple[str, ...] = COLUMNS, batch: int = 2) -> str:
    parts = (rows[i : i + batch] for i in range(0, len(rows), batch))
    return "".join(f"{piece}\n" for piece in FORMS[form](columns, parts))


EXPECTED = {
    "table": """
code  miles  note
----  -----  --------------
LIM     363  NULL
CUZ      -1  a, "b"\\n\\tc\\|d
          0
""",
    "vertical": """
-- row 1
code   LIM
miles  363
note   NULL
-- row 2
code   CUZ
miles  -1
note   a, "b"\\n\\tc\\|d
-- row 3
code
miles  0
note
""",
    "markdown": """
| code | miles | note |
| --- | ---: | --- |
| LIM | 363 | NULL |
| CUZ | -1 | a, "b"\\\\n\\\\tc\\\\\\|d |
|  | 0 |   |
""",
    "csv": """
code,miles,note
LIM,363,
CUZ,-1,"a, ""b""
\tc\\|d"
"",0," "
""",
    "tsv": """
code\tmiles\tnote
LIM\t363\t\\N
CUZ\t-1\ta, "b"\\n\\tc\\\\|d
\t0\t\x20
""",
    "json": """
[
  {"code": "LIM", "miles": 363, "note": null},
  {"code": "CUZ", "miles": -1, "note": "a, \\"b\\"\\n\\tc\\\\|d"},
  {"code": "", "miles": 0, "note": " "}
]
""",
    "jsonl": """
{"code": "LIM", "miles": 363, "note": null}
{"code": "CUZ", "miles": -1, "note": "a, \\"b\\"\\n\\tc\\\\|d"}
{"code": "", "miles": 0, "note": " "}
""",
}


@pytest.mark.parametrize("form", FORMS)
def test_a_form_looks_like_this_in_batches_of_any_size(form: str) -> None:
    for batch in (1, 2, 3):
        assert shown(form, ROWS, batch=batch) == EXPECTED[form].removeprefix("\n")


@pytest.mark.parametrize(
    ("form", "empty"),
    [
        ("table", "a\n-\n"),
        ("vertical", ""),
        ("csv", "a\n"),
        ("tsv", "a\n"),
        ("json", "[]\n"),
        ("jsonl", ""),
        ("markdown", "| a |\n| --- |\n"),
    ],
)
def test_no_rows_are_shown_as_no_rows(form: str, empty: str) -> None:
    assert shown(form, [], ("a",)) == empty


@given(st.lists(st.tuples(texts, texts), max_size=5))
def test_json_holds_exactly_the_rows(rows: list[Row]) -> None:
    wanted = [{"a": a, "b": b} for a, b in rows]
    assert json.loads(shown("json", rows, ("a", "b"))) == wanted
    assert [json.loads(line) for line in shown("jsonl", rows, ("a", "b")).split("\n")[:-1]] == wanted


@given(st.lists(st.tuples(st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=8)), max_size=5))
def test_csv_is_read_back_by_the_library(rows: list[Row]) -> None:
    read = list(csv.reader(io.StringIO(shown("csv", rows, ("a",)), newline="")))
    assert read == [["a"], *([value] for (value,) in rows)]


@given(st.lists(st.tuples(texts, texts), max_size=5))
def test_tsv_has_one_line_per_row_and_one_tab_per_border(rows: list[Row]) -> None:
    lines = shown("tsv", rows, ("a", "b")).split("\n")[:-1]
    assert len(lines) == len(rows) + 1
    assert all(line.count("\t") == 1 for line in lines)


@given(texts)
def test_nothing_in_a_cell_moves_the_cursor(value: str | None) -> None:
    assert cell(value).isprintable()


def test_wide_characters_keep_columns_straight() -> None:
    lines = shown("table", [("東京", 1), ("Lima", 2)], ("city", "n")).splitlines()
    assert {width(line) for line in lines} == {7}


def test_a_result_without_columns_is_no_text() -> None:
    assert list(written(Result(pa.schema([]).empty_table().to_reader()), "json")) == []


@pytest.mark.parametrize(
    ("value", "json_value"),
    [
        (float("nan"), "NaN"),
        (float("-inf"), "-Infinity"),
        (1.5, 1.5),
        (date(2024, 2, 29), "2024-02-29"),
        (datetime(2024, 2, 29, 12, tzinfo=UTC), "2024-02-29T12:00:00Z"),
        (b"\x00\xff", "base64:AP8="),
        (Decimal("1.10"), "1.10"),
        ({"a": [b"\x00", None]}, {"a": ["base64:AA==", None]}),
        (True, True),
    ],
)
def test_a_value_json_lacks_becomes_text(value: object, json_value: object) -> None:
    assert plain(value) == json_value
    assert json.loads(shown("jsonl", [(value,)], ("v",))) == {"v": json_value}


def test_columns_of_one_name_stay_apart_in_objects() -> None:
    assert distinct(["a", "a", "a_2", "a"]) == ["a", "a_2", "a_2_2", "a_3"]


def test_rows_are_written_batch_by_batch() -> None:
    taken = []

    def batches() -> Iterator[list[Row]]:
        for number in range(3):
            taken.append(number)
            yield [(number,)]

    pieces = FORMS["csv"](("n",), batches())
    assert (next(pieces), next(pieces), taken) == ("n", "0", [0])
