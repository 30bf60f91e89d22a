"""Rows on a screen."""

from datetime import date
from time import perf_counter

import pyarrow as pa
import pytest

from omnigraph_sql.cli.formats import cell
from omnigraph_sql.repl.render import Look, box, cut, is_wide, kind_text, rows_that_fit, vertical, width

WIDE = "東京"


def test_the_box_counts_wide_letters_twice() -> None:
    table = pa.table({"city": [WIDE, "Lima", None], "n": [1, 22, None]})
    assert box(table, cell, Look()) == [
        "┌────────┬──────┐",
        "│ city   │    n │",
        "│ String │  I64 │",
        "├────────┼──────┤",
        "│ 東京   │    1 │",
        "│ Lima   │   22 │",
        "│ NULL   │ NULL │",
        "└────────┴──────┘",
        "3 rows",
    ]


@pytest.mark.parametrize("lines", [15, 16, 24, 30, 40, 51, 52, 100])
@pytest.mark.parametrize("rows", [1, 4, 7, 8, 19, 40, 43, 44, 100_000])
def test_a_box_leaves_room_for_the_prompt_and_needs_no_pager(lines: int, rows: int) -> None:
    shown = box(pa.table({"n": range(rows)}), cell, Look(rows=rows_that_fit(lines)))
    assert len(shown) + 2 <= lines


@pytest.mark.parametrize("columns", range(20, 130, 7))
def test_no_line_of_a_box_is_wider_than_the_screen(columns: int) -> None:
    table = pa.table({f"name{i}": [WIDE * i, "x" * i * 5, None] for i in range(8)} | {"n": [1, 2, 10**15]})
    lines = box(table, cell, Look(columns=columns))
    assert max(width(line) for line in lines[:-1]) <= columns
    assert len({width(line) for line in lines[:-1]}) == 1


@pytest.mark.parametrize(
    ("rows", "most", "shown"), [(5, 10, 5), (13, 10, 13), (14, 10, 10), (100, 1, 1), (100, 0, 100)]
)
def test_long_results_show_their_first_and_last_rows(rows: int, most: int, shown: int) -> None:
    lines = box(pa.table({"i": list(range(rows))}), cell, Look(rows=most))
    body = [line for line in lines[4:-2] if "·" not in line]
    assert len(body) == shown
    if most > 1 or most == 0:
        assert body[-1].strip("│ ") == str(rows - 1)
    assert lines[-1] == (f"{rows} rows" if shown == rows else f"{rows} rows ({shown} shown)")


def test_nothing_in_a_value_moves_the_cursor() -> None:
    text = "\n".join(box(pa.table({"a\x1b[2J": ["x\x1b[31m\r\ny\x00"]}), cell, Look()))
    assert "\x1b" not in text
    assert "\r" not in text
    assert text.count("\n") == 6


def test_null_is_dim_and_a_text_that_says_null_is_not() -> None:
    lines = box(pa.table({"a": [None, "NULL"]}), cell, Look(colour=True))
    assert "\x1b[2mNULL  \x1b[0m" in lines[4]
    assert "\x1b" not in lines[5]


def test_rows_below_each_other_keep_their_numbers() -> None:
    lines = vertical(pa.table({"a": list(range(100)), "name": [WIDE] * 100}), cell, Look(rows=4))
    assert [line for line in lines if "row " in line and "─" in line] == [f"──────── row {n}" for n in (1, 2, 99, 100)]
    assert "a    │ 99" in lines


def test_a_table_is_wide_when_a_box_would_leave_out_columns() -> None:
    many = pa.table({f"column_{i}": ["xxxxxxxxxxxx"] for i in range(20)})
    assert is_wide(many, cell, Look(columns=80))
    assert not is_wide(many, cell, Look(columns=500))
    assert not is_wide(pa.table({"a": ["x" * 500]}), cell, Look(columns=80))


@pytest.mark.parametrize(
    ("of", "text"),
    [
        (pa.int32(), "I32"),
        (pa.list_(pa.string()), "[String]"),
        (pa.list_(pa.float32(), 4), "Vector(4)"),
        (pa.timestamp("us", "UTC"), "DateTime"),
        (pa.date32(), "Date"),
        (pa.struct([("a", pa.int8())]), "Struct"),
        (pa.large_binary(), "Blob"),
    ],
)
def test_types_are_named_as_in_a_schema(of: pa.DataType, text: str) -> None:
    assert kind_text(of) == text


@pytest.mark.parametrize(
    ("text", "to", "shown"), [("abc", 3, "abc"), ("abcd", 3, "ab…"), (WIDE, 4, WIDE), (WIDE, 3, "東…")]
)
def test_a_text_is_cut_by_the_room_it_takes(text: str, to: int, shown: str) -> None:
    assert cut(text, to) == shown


SPEED_SECONDS = 0.75
"""Five times the ceiling: test machines are busy. bench/shell.py measures against the ceiling itself."""


def test_two_thousand_rows_are_quick() -> None:
    table = pa.table(
        {
            "i": list(range(2000)),
            "f": [i / 7 for i in range(2000)],
            "name": [f"name {i}" for i in range(2000)],
            "city": [WIDE] * 2000,
            "day": [date(2031, 2, 3)] * 2000,
        }
    )
    box(table.slice(0, 10), cell, Look())
    before = perf_counter()
    assert len(box(table, cell, Look(columns=120, rows=0))) == 2006
    assert perf_counter() - before < SPEED_SECONDS
