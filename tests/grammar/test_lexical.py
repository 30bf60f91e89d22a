"""Strings, and ceilings on raw texts."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import ParseError, TextLimitExceeded
from omnigraph_sql.grammar.lexical import decode_string, encode_string, refuse_if_unreasonable, shallow
from omnigraph_sql.grammar.source import Source, Span


def decode(literal: str) -> str:
    return decode_string(literal, Span(0, len(literal)), Source(literal))


@given(st.text())
def test_a_string_comes_back_as_it_was(value: str) -> None:
    assert decode(encode_string(value)) == value


@pytest.mark.parametrize(
    ("literal", "value"),
    [('""', ""), (r'"a\"b"', 'a"b'), (r'"\\"', "\\"), (r'"\n\r\t"', "\n\r\t"), (r'"\\n"', "\\n"), ('"a\nb"', "a\nb")],
)
def test_escapes_mean_what_they_say(literal: str, value: str) -> None:
    assert decode(literal) == value


@pytest.mark.parametrize("escape", ["\\d", "\\x", "\\u", "\\'", "\\0", "\\\n", "\\é"])
def test_other_escapes_are_refused_where_they_stand(escape: str) -> None:
    source = Source(f'  "\\\\ok{escape}"')
    with pytest.raises(ParseError) as caught:
        decode_string(source.text[2:], Span(2, len(source.text)), source)
    assert (caught.value.at.start, caught.value.at.end) == (7, 9)
    assert "\\n" in caught.value.expected


@pytest.mark.parametrize("brackets", ["()", "[]", "{}"])
def test_nesting_is_limited(brackets: str) -> None:
    def nested(levels: int) -> Source:
        return Source(brackets[0] * levels + brackets[1] * levels)

    refuse_if_unreasonable(nested(limits.NESTING_LEVELS_MAX - 1))
    refuse_if_unreasonable(nested(limits.NESTING_LEVELS_MAX))
    with pytest.raises(TextLimitExceeded) as caught:
        refuse_if_unreasonable(nested(limits.NESTING_LEVELS_MAX + 1))
    assert caught.value.resource == "nesting_levels"
    assert caught.value.at.start == limits.NESTING_LEVELS_MAX


def test_lists_are_limited() -> None:
    def listed(items: int) -> Source:
        return Source("x [" + "1," * (items - 1) + "1]")

    refuse_if_unreasonable(listed(limits.LIST_ITEMS_MAX - 1))
    refuse_if_unreasonable(listed(limits.LIST_ITEMS_MAX))
    with pytest.raises(TextLimitExceeded) as caught:
        refuse_if_unreasonable(listed(limits.LIST_ITEMS_MAX + 1))
    assert caught.value.resource == "list_items"
    assert caught.value.actual == limits.LIST_ITEMS_MAX + 1


def test_items_of_inner_lists_are_counted_apart() -> None:
    refuse_if_unreasonable(Source("[" + ",".join(["[1,2,3]"] * limits.LIST_ITEMS_MAX) + "]"))


def test_closed_brackets_do_not_add_up() -> None:
    refuse_if_unreasonable(Source("()" * 1000 + ")))"))


@pytest.mark.parametrize("around", ['"{}"', "// {}\n", "/* {} */"])
def test_brackets_in_strings_and_comments_open_nothing(around: str) -> None:
    refuse_if_unreasonable(Source(around.replace("{}", "(" * 1000)))


def test_a_recursion_that_runs_too_deep_is_a_limit() -> None:
    with pytest.raises(TextLimitExceeded), shallow(Source("x")):
        _sink(sys.getrecursionlimit() * 2)


def _sink(levels: int) -> int:
    return levels if levels == 0 else _sink(levels - 1)
