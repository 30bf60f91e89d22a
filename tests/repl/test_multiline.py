"""When Enter sends a text."""

import pytest
from hypothesis import given, settings

from omnigraph_sql.base.errors import LanguageError
from omnigraph_sql.grammar.source import Source
from omnigraph_sql.grammar.sql.tokens import scan
from omnigraph_sql.repl.multiline import is_complete
from omnigraph_sql.repl.tokens import Kind, code
from tests.strategies_sql import statements

COMPLETE = [
    "",
    "  \n ",
    "SELECT 1;",
    "SELECT 1; -- done",
    "SELECT 1; /* done */  ",
    "-- only a comment",
    "SELECT ';';",
    "SELECT $$ ; ( $$;",
    "SELECT 'it''s';",
    "SELECT 1);",
    "BEGIN;",
    "\\d Airport",
    "  \\timing",
    "help",
    "Exit",
    " quit; ",
    "?",
    ".tables",
    ".schema Airport",
    "query q() { match { $a: A } return { $a } }",
    'query q() @description("d") { match { $a: A } return { $a } }',
    "match { $a: A } return { $a }",
    "match { $a: A } return { $a } limit 3",
    "match { $a: A }\nreturn { $a }\n",
    "match { $a: A }\nreturn { $a };",
    'insert A { k: "}" }',
    "delete A where k = 1",
    "update A set { k: 1 } where k = 2",
]
INCOMPLETE = [
    "SELECT 1",
    "SELECT (1;",
    "SELECT 'x;",
    'SELECT "x;',
    "SELECT 1 /* ;",
    "SELECT 1 /* /* */ ;",
    "SELECT $$ ;",
    "SELECT e'\\';",
    "SELECT 1; SELECT",
    "-- ;\nSELECT 1",
    "help me",
    "exits",
    "SELECT 1\nexit",
    "SELECT a\n.b",
    ".5",
    "query q() {",
    "query q()",
    'query q() @description("d")',
    "match { $a: A }",
    "match { $a: A } return { $a } limit",
    "match { $a: A }\nreturn { $a }",
    "match { $a: A",
    'insert A { k: "',
    "delete A",
    "delete A where k",
]


@pytest.mark.parametrize("text", COMPLETE)
def test_this_is_complete(text: str) -> None:
    assert is_complete(text)


@pytest.mark.parametrize("text", INCOMPLETE)
def test_this_is_not(text: str) -> None:
    assert not is_complete(text)


def test_a_forced_language_decides() -> None:
    assert is_complete("match { $a: A } return { $a }", "gq")
    assert not is_complete("match { $a: A } return { $a }", "sql")


@settings(max_examples=150, deadline=None)
@given(statements())
def test_tokens_are_those_of_the_parser(text: str) -> None:
    """The parser's own scanner is the judge wherever it accepts a text."""
    try:
        chunks = scan(Source(text))
    except LanguageError:
        return
    theirs = [(t.start, t.end + 1) for chunk in chunks for t in chunk.tokens]
    ours = {edge for t in code(text, "sql") for edge in (t.start, t.end)}
    assert not any(t.open for t in code(text, "sql"))
    # A pair such as GROUP BY is one token there; a parameter is two. The edges of theirs are edges of ours.
    parameters = {t.start + 1 for t in code(text, "sql") if t.kind is Kind.VARIABLE}
    assert {edge for place in theirs for edge in place} <= ours | parameters
    assert is_complete(text + "\n;")
