"""Parse errors in words of people, and grammars that are built once."""

import re
from importlib.resources import files

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph_sql.base.errors import LanguageError, ParseError
from omnigraph_sql.grammar.lark_errors import Language, Mistake, load_grammar
from omnigraph_sql.grammar.pg import parse_schema
from omnigraph_sql.grammar.pg_mistakes import PG
from omnigraph_sql.grammar.source import Source
from tests.schemas import KITCHEN
from tests.strategies_pg import schemas


def error_of(text: str, language: Language = PG) -> ParseError:
    with pytest.raises(ParseError) as caught:
        language.parse(Source(text))
    return caught.value


def test_a_grammar_is_built_once() -> None:
    assert load_grammar("pg") is load_grammar("pg")


def test_the_grammar_is_a_file_of_the_package() -> None:
    assert (files("omnigraph_sql.grammar") / "pg.lark").is_file()


def test_few_possibilities_are_told_in_the_message() -> None:
    error = error_of("node A {} edge E: A >")
    assert error.message.startswith("expected '->', found '>'") or "joins" in error.message
    assert error_of("node A {} edge E: A").expected == ("'->'",)


def test_many_possibilities_are_told_apart_from_the_message() -> None:
    error = error_of("node A { x: I32 )")
    assert error.message == "unexpected ')'"
    assert {"'}'", "'?'", "a name", "@key(…)", "a note like @description(…)"} <= set(error.expected)


def test_only_what_would_really_help_is_expected() -> None:
    """A table row also lists tokens that other contexts of the same state accept."""
    error = error_of('node A @description("x") )')
    assert set(error.expected) == {"'{'", "'implements'", "a note like @description(…)"}


def test_the_end_of_the_text_is_behind_its_last_word() -> None:
    error = error_of("node A { x: I32  \n\n  ")
    assert (error.at.line, error.at.column) == (1, 16)
    assert error.message == "unexpected the end of the text"


def test_an_unprintable_character_is_spelled_out() -> None:
    assert "'\\x00'" in error_of("node A { \x00 }").message


def test_a_very_long_word_is_cut() -> None:
    assert len(error_of("x" * 5000).message) < 100


@pytest.mark.parametrize("mistake", PG.mistakes, ids=lambda mistake: mistake.message[:60])
def test_every_labelled_example_gets_its_label(mistake: Mistake) -> None:
    wanted = re.escape(mistake.message).replace(re.escape("{found}"), ".*")
    for example in mistake.examples:
        assert re.fullmatch(wanted, error_of(example).message), example


def test_an_example_that_is_no_mistake_is_noticed() -> None:
    careless = Language("pg", mistakes=(Mistake("m", ("node A {}",)),))
    with pytest.raises(ValueError, match="no mistake"):
        careless.parse(Source("node"))


def test_a_mistake_needs_a_message_and_examples() -> None:
    with pytest.raises(ValueError, match="at least one example"):
        Mistake("m", ())


def test_a_mistake_may_match_whatever_stands_at_its_place() -> None:
    language = Language("pg", mistakes=(Mistake("a type is named here, not {found}", ("node 1",), any_token=True),))
    assert error_of("node )", language).message == "a type is named here, not ')'"
    assert error_of("node", language).message == "a type is named here, not the end of the text"


def test_terminals_without_a_name_are_called_by_their_spelling() -> None:
    plain = Language("pg")
    assert error_of("nodes", plain).suggestion == "node"
    assert error_of("node 1", plain).expected == ("quoted", "type")


SCRAPS = st.sampled_from(
    [
        *"{}()[]:,;?@.-=#\"'\\/*\n\t\x00é$1",
        *("..", "->", "//", "/*", "*/", "node ", "edge ", "interface ", "implements ", "enum(", "A ", "x", ": ", "I32"),
        *("String", "@key", "@key(", "@range(", "@check(", "@card(", '"a"', "Vector(", "1"),
    ]
)


def check_refusal(text: str) -> None:
    """If the text is refused, then in good order."""
    refusal: LanguageError | None = None
    try:
        parse_schema(Source(text))
    except LanguageError as error:
        refusal = error
    if refusal is not None:
        assert refusal.report()
        assert refusal.to_dict()["code"]
        assert 0 <= refusal.at.start <= refusal.at.end <= len(text)


@given(st.lists(SCRAPS, max_size=30).map("".join))
@settings(max_examples=300)
def test_scraps_of_the_language_raise_language_errors_or_nothing(text: str) -> None:
    check_refusal(text)


@given(st.text(max_size=200))
def test_any_text_raises_a_language_error_or_nothing(text: str) -> None:
    check_refusal(text)


@given(schemas(), st.data())
@settings(max_examples=60)
def test_a_damaged_schema_raises_a_language_error_or_nothing(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))
    scrap = data.draw(SCRAPS)
    cut = data.draw(st.integers(0, 5))
    check_refusal(text[:at] + scrap + text[at + cut :])


@pytest.mark.parametrize("at", range(0, len(KITCHEN), 7))
def test_a_schema_that_breaks_off_raises_a_language_error_or_nothing(at: int) -> None:
    check_refusal(KITCHEN[:at])
