"""The parser of `.gq` beside its text cases: places, laziness, ceilings, and which texts are taken for `.gq` at all."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import LanguageError, ParseError, TextLimitExceeded
from omnigraph_sql.grammar import gq
from omnigraph_sql.grammar.ast import gq as ast
from omnigraph_sql.grammar.gq import looks_like_gq, parse_any, parse_body, parse_unit
from omnigraph_sql.grammar.gq_mistakes import BODY, UNIT
from omnigraph_sql.grammar.lark_errors import Language, Mistake, load_grammar
from omnigraph_sql.grammar.source import Source, Span
from tests.strategies_gq import units

SMALL = "query q() { match { $a: A } return { $a } }"


def error_of(text: str) -> LanguageError:
    with pytest.raises(LanguageError) as caught:
        parse_any(text)
    return caught.value


# ---- building the grammar ---------------------------------------------------------------------------------------


def test_importing_the_parser_builds_nothing_and_does_not_load_lark() -> None:
    code = (
        "import sys, omnigraph_sql.grammar.gq as gq\n"
        "assert not any(name.split('.')[0] == 'lark' for name in sys.modules), 'lark is loaded'\n"
        "assert gq._parser.cache_info().currsize == 0\n"
        f"gq.parse_unit({SMALL!r}); gq.parse_unit({SMALL!r})\n"
        "assert gq._parser.cache_info().misses == 1\n"
        "from omnigraph_sql.grammar.lark_errors import load_grammar\n"
        "assert load_grammar.cache_info().currsize == 0, 'a good text needs no second parser'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_parser_that_explains_is_built_once() -> None:
    assert load_grammar("gq", "unit", UNIT.lexer) is load_grammar("gq", "unit", UNIT.lexer)
    assert gq._parser() is gq._parser()


@pytest.mark.parametrize(
    ("language", "mistake"),
    [pytest.param(of, m, id=f"{of.start}: {m.message[:50]}") for of in (UNIT, BODY) for m in of.mistakes],
)
def test_every_labelled_example_gets_its_label(language: Language, mistake: Mistake) -> None:
    wanted = re.escape(mistake.message).replace(re.escape("{found}"), ".*")
    for example in mistake.examples:
        with pytest.raises(ParseError) as caught:
            language.parse(Source(example))
        assert re.fullmatch(wanted, caught.value.message), example


# ---- units ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", " \t\r\n", "// nothing", "/* nothing */ // at all"])
def test_a_file_may_hold_no_query(text: str) -> None:
    assert parse_unit(text).queries == ()


def test_queries_come_in_the_order_of_the_file() -> None:
    names = [q.name.text for q in parse_unit(f"{SMALL} query b() {{ delete A where x = 1 }} {SMALL}").queries if q.name]
    assert names == ["q", "b", "q"]


def test_a_bare_body_is_a_query_without_a_name() -> None:
    query = parse_body("match { $a: A } return { $a }")
    assert query.name is None
    assert isinstance(query.body, ast.ReadBody)
    assert isinstance(parse_any(" // first\n insert A { x: 1 }").queries[0].body, ast.WriteBody)


def test_a_bare_body_has_no_extensions_either_when_they_are_off() -> None:
    parse_body("delete A where x is null")
    with pytest.raises(ParseError, match="extensions are switched off"):
        parse_body("delete A where x is null", extensions=False)


def test_a_file_does_not_hold_bare_bodies() -> None:
    with pytest.raises(ParseError, match="queries in a file have a name"):
        parse_unit("match { $a: A } return { $a }")


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("query q() {", True),
        ("QUERY q() {", True),
        ("/* c */ match { $a: A }", True),
        ("insert A { x: 1 }", True),
        ("update A set { x: 1 }", True),
        ("delete A where x = 1", True),
        ("", False),
        ("select 1", False),
        ("insert into A values (1)", False),
        ("update a set x = 1", False),
        ("update A set x = 1", False),
        ("delete from A where x = 1", False),
        ("query", False),
        ("%", False),
    ],
)
def test_the_first_words_tell_the_language(text: str, taken: bool) -> None:
    assert looks_like_gq(text) is taken


# ---- places -----------------------------------------------------------------------------------------------------


def nodes_of(node: object) -> Iterator[tuple[object, Span]]:
    if isinstance(node, tuple):
        for item in node:
            yield from nodes_of(item)
    elif is_dataclass(node) and not isinstance(node, Span | Source):
        span = getattr(node, "span", None)
        if span is not None:
            yield node, span
        for part in fields(node):
            yield from nodes_of(getattr(node, part.name))


@settings(max_examples=150, deadline=None)
@given(units())
def test_every_node_has_its_text_at_its_span(text: str) -> None:
    for node, span in nodes_of(parse_unit(text)):
        written = text[span.start : span.end]
        match node:
            case ast.Name(word):
                assert written == word
            case ast.Var(name):
                assert written == f"${name}"
            case ast.IntLit(value):
                assert int(written) == value
            case ast.FloatLit(value, digits):
                assert (float(written), written) == (value, digits)
            case ast.StringLit() | ast.ListLit():
                assert written[0] + written[-1] in ('""', "[]")
            case ast.Hops():
                assert written[0] + written[-1] == "{}"
            case ast.ReadBody() | ast.Absence() | ast.Insert() | ast.Update() | ast.Delete():
                assert written.split()[0] == type(node).__name__.lower().replace("readbody", "match").replace(
                    "absence", "not"
                )
            case ast.BoolLit() if not written:
                assert text[: span.start].endswith(")")  # the true nobody wrote behind a text predicate
            case _:
                assert written.strip() == written != ""


@settings(max_examples=200, deadline=None)
@given(units().filter(bool), st.data())
def test_a_text_cut_anywhere_parses_or_is_refused_at_a_place_inside(text: str, data: st.DataObject) -> None:
    cut = text[: data.draw(st.integers(0, len(text)))]
    error: LanguageError | None = None
    try:
        parse_unit(cut)
    except LanguageError as caught:
        error = caught
    if error is not None:
        assert 0 <= error.at.start <= error.at.end <= len(cut)
        assert 0 <= error.at.byte_start <= error.at.byte_end <= len(cut.encode())
        assert error.at.line == cut[: error.at.start].count("\n") + 1


def test_places_count_lines_and_characters_and_bytes() -> None:
    error = error_of('query q() // é\n@description("東")\n{ match { $a: Ä } }')
    assert (error.at.line, error.at.column) == (3, 15)
    assert error.at.byte_start - error.at.start == 1 + 2


def test_the_place_behind_the_last_word_has_no_width() -> None:
    error = error_of("query q(  ")
    assert (error.at.start, error.at.end) == (8, 8)


def test_a_keyword_that_is_a_name_does_not_draw_the_blame() -> None:
    error = error_of("insert A { x: 1 null: 2 update: 3 y = 4 }")
    assert error.at.start == 36
    assert "an assignment is written" in error.message


@pytest.mark.parametrize("word", ["query", "match", "insert", "null", "true", "is", "not", "contains", "as", "asc"])
def test_any_word_is_a_property_wherever_one_stands(word: str) -> None:
    texts = (
        f"match {{ $a: A {{ x: 1, {word}: 2 }} $a.{word} = 1 }} return {{ $a.{word} as {word}, $a.{word} }}",
        f"insert A {{ x: 1 {word}: 2 }} insert A {{ x: $p {word}: $q }} insert A {{ x: now() {word}: now() y: 1 }}",
        f'insert A {{ x: "s" {word}: [1] y: true {word}: null z: 1.5 {word}: 1 }}',
        f"update A set {{ {word}: 1 }} where {word} = 1 delete A where {word} is not null",
    )
    for text in texts:
        assert parse_body(text).span == Span(0, len(text))


# ---- ceilings ---------------------------------------------------------------------------------------------------


def nested(levels: int) -> str:
    """Braces nest that deep: the ones of the query, of match, and of the blocks."""
    blocks = levels - 2
    return f"query q() {{ match {{ $a: Airport {'not { $a route $b ' * blocks}{'}' * blocks} }} return {{ $a }} }}"


def test_blocks_nest_as_deep_as_the_ceiling_says() -> None:
    parse_unit(nested(limits.NESTING_LEVELS_MAX - 1))
    parse_unit(nested(limits.NESTING_LEVELS_MAX))
    with pytest.raises(TextLimitExceeded) as caught:
        parse_unit(nested(limits.NESTING_LEVELS_MAX + 1))
    assert caught.value.resource == "nesting_levels"


@pytest.mark.parametrize(
    "text",
    [
        "match {{ {} }} return {{ $a }}".format("$a: A " * (limits.LIST_ITEMS_MAX + 1)),
        "match {{ $a: A }} return {{ {} }}".format("$a " * (limits.LIST_ITEMS_MAX + 1)),
        "insert A {{ {} }}".format("x: 1 " * (limits.LIST_ITEMS_MAX + 1)),
        "delete A where x = 1 " * (limits.LIST_ITEMS_MAX + 1),
        "match {{ [{}] contains 1 }} return {{ $a }}".format("1," * limits.LIST_ITEMS_MAX + "1"),
    ],
    ids=["clauses", "columns", "assignments", "statements", "items"],
)
def test_lists_are_as_long_as_the_ceiling_says(text: str) -> None:
    with pytest.raises(TextLimitExceeded) as caught:
        parse_body(text)
    assert caught.value.resource == "list_items"


def test_a_list_at_the_ceiling_is_read() -> None:
    body = parse_body("match {{ {} }} return {{ $a }}".format("$a: A " * limits.LIST_ITEMS_MAX)).body
    assert isinstance(body, ast.ReadBody)
    assert len(body.clauses) == limits.LIST_ITEMS_MAX


def test_names_are_as_long_as_the_ceiling_says() -> None:
    longest = "x" * limits.IDENTIFIER_CHARACTERS_MAX
    parse_body(f"match {{ $a: A {{ {longest}: ${longest} }} }} return {{ $a }}")
    for text in (f"{longest}x: 1", f"y: ${longest}x"):
        with pytest.raises(TextLimitExceeded, match=f"at most {limits.IDENTIFIER_CHARACTERS_MAX} characters"):
            parse_body(f"match {{ $a: A {{ {text} }} }} return {{ $a }}")


@pytest.mark.parametrize("digits", ["9" * 401, "9" * 100_000, "1." + "0" * 100_000, "9" * 399 + ".0"])
def test_long_digits_are_refused_at_once(digits: str) -> None:
    assert error_of(f"match {{ $a.x = {digits} }} return {{ $a }}").at.start == 15
