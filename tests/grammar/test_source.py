"""Texts and places in them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import TextLimitExceeded
from omnigraph_sql.grammar.source import Source, Span


@pytest.mark.parametrize(
    ("text", "start", "line", "column", "excerpt"),
    [
        ("abc", 0, 1, 1, "abc"),
        ("abc", 3, 1, 4, "abc"),
        ("a\nbc\n", 2, 2, 1, "bc"),
        ("a\nbc\n", 5, 3, 1, ""),
        ("a\nbc\n", 1, 1, 2, "a"),
        ("a\r\nbc", 4, 2, 2, "bc"),
        ("a\r\nbc", 0, 1, 1, "a"),
        ("", 0, 1, 1, ""),
        ("\n\n\n", 2, 3, 1, ""),
        ("ä€😀x", 3, 1, 4, "ä€😀x"),
    ],
)
def test_an_offset_becomes_a_line_and_a_column(text: str, start: int, line: int, column: int, excerpt: str) -> None:
    at = Source(text, "t").locate(Span(start, start))
    assert (at.line, at.column, at.excerpt) == (line, column, excerpt)


def test_bytes_are_counted_as_utf8() -> None:
    at = Source("ä€😀x").locate(Span(2, 3))
    assert (at.start, at.end) == (2, 3)
    assert (at.byte_start, at.byte_end) == (5, 9)


def test_a_lone_surrogate_has_a_place_too() -> None:
    assert Source("\ud800x").locate(Span(1, 2)).byte_start == 3


def test_a_place_beyond_the_text_is_its_end() -> None:
    at = Source("ab").locate(Span(10, 20))
    assert (at.start, at.end, at.column) == (2, 2, 3)


def test_spans_join_to_the_smallest_that_covers_both() -> None:
    assert Span(3, 5).to(Span(1, 2)) == Span(1, 5)
    assert Span(1, 9).to(Span(2, 3)) == Span(1, 9)


@pytest.mark.parametrize(("start", "end"), [(-1, 0), (2, 1)])
def test_an_impossible_span_cannot_be_built(start: int, end: int) -> None:
    with pytest.raises(ValueError, match="bad span"):
        Span(start, end)


@given(st.text(st.characters(codec="utf-8")), st.integers(0, 50))
def test_line_and_column_lead_back_to_the_offset(text: str, start: int) -> None:
    at = Source(text).locate(Span(start, start))
    before = text.split("\n")[: at.line - 1]
    assert sum(len(line) + 1 for line in before) + at.column - 1 == min(start, len(text))
    assert at.byte_start == len(text[: at.start].encode())


@pytest.mark.parametrize("size", [limits.STATEMENT_TEXT_BYTES_MAX - 1, limits.STATEMENT_TEXT_BYTES_MAX])
def test_a_text_up_to_the_ceiling_is_accepted(size: int) -> None:
    Source("x" * size).refuse_if_too_long()


def test_a_text_above_the_ceiling_is_refused_in_bytes_not_characters() -> None:
    with pytest.raises(TextLimitExceeded) as caught:
        Source("ä" * (limits.STATEMENT_TEXT_BYTES_MAX // 2) + "x").refuse_if_too_long()
    assert caught.value.actual == limits.STATEMENT_TEXT_BYTES_MAX + 1
    assert caught.value.resource == "statement_text_bytes"
