"""`gq(…)` in FROM: arguments, names, and errors that point into the SQL text."""

from __future__ import annotations

import pytest

from omnigraph_sql.base.errors import BoundaryViolation, ParseError, TextLimitExceeded
from omnigraph_sql.bind.bound import BoundDerived, BoundQuery
from omnigraph_sql.bind.gq import bind_query
from omnigraph_sql.bind.sql import bind_statement
from omnigraph_sql.grammar.gq import parse_any
from omnigraph_sql.grammar.sql.parse import parse_one
from tests.bind.bound_text import bound, lines, refusal, source_of, under_caret
from tests.case_files import airport_catalog

READS = [
    (
        "a bare body with an argument",
        "gq($$ match { $a: Airport { code: $c } } return { $a.city as town } $$, c => 'LIM') f",
        ["f(town)", "nodes a: Airport", "where a.code = 'LIM'", "select a.city as town"],
    ),
    (
        "a parameter of the statement as the value of one of the text",
        "gq($$ match { $a: Airport { code: $c } } return { $a.city as town } $$, c => $given) f",
        ["f(town)", "nodes a: Airport", "where a.code = $given", "select a.city as town"],
    ),
    (
        "a whole query; numbers take the declared type, and what may be null and is not given is null",
        "gq($$ query q($h: I32, $m: String?) { match { $a: Airport  $a.elevation > $h  $a.city = $m } "
        "return { $a.code } } $$, h => 100) AS f(x)",
        ["f(x)", "nodes a: Airport", "where a.elevation > 100", "where a.city = null", "select a.code as a.code"],
    ),
    (
        "absences, order and limit",
        "gq($$ match { $a: Airport  not { $c: Carrier  $c $h:hub $a  $c.iata = $i } } return { $a.code as code } "
        "order { $a.city desc } limit $n $$, n => 3, i => 'ZZ') f",
        [
            "f(code)",
            "nodes a: Airport",
            "not, with a",
            "nodes c: Carrier",
            "edge h: Hub c -> a",
            "where c.iata = 'ZZ'",
            "select a.code as code",
            "order a.city desc nulls last, a.id asc nulls first",
            "limit 3",
        ],
    ),
    (
        "variables that the statement has already are renamed everywhere",
        "Airport a, gq($$ match { $a: Airport  $b: Airport  $a $r:route $b  "
        "not { $a $s:route $x  $x.code = $b.code } } "
        "return { $a.code as code, count($r.miles) as n } order { n desc } $$) f",
        [
            "cross join",
            "table a: Airport",
            "f(code, n)",
            "nodes a_2: Airport, b: Airport",
            "edge r: Route a_2 -> b",
            "not, with a_2, b",
            "nodes x: Airport",
            "edge s: Route a_2 -> x",
            "where x.code = b.code",
            "select a_2.code as code, count(r.miles) as n",
            "order count(r.miles) desc nulls last, a_2.code asc nulls first",
        ],
    ),
    (
        "a value out of the item to the left",
        "Carrier c, "
        "gq($$ match { $k: Carrier { iata: $i } $k $h:hub $a } return { $a.code as code } $$, i => c.iata) f",
        [
            "cross join",
            "table c: Carrier",
            "lateral f(code)",
            "nodes k: Carrier, a: Airport",
            "edge h: Hub k -> a",
            "where k.iata = outer(c.iata)",
            "select a.code as code",
        ],
    ),
    (
        "a point in history",
        "gq('match { $a: Airport not { $a $r:route $b } } return { $a.code as code }') VERSION AS OF 4 AS f",
        [
            "f(code)",
            "nodes a: Airport at version 4",
            "not, with a",
            "nodes b: Airport at version 4",
            "edge r: Route a -> b",
            "select a.code as code",
        ],
    ),
]


@pytest.mark.parametrize(("item", "expected"), [r[1:] for r in READS], ids=[r[0] for r in READS])
def test_a_text_becomes_a_derived_table(item: str, expected: list[str]) -> None:
    assert lines(source_of(bound(f"SELECT * FROM {item}"))) == expected


def test_without_arguments_the_read_is_that_of_the_text_itself() -> None:
    text = (
        'match { $a: Airport { code: "LIM" }  $a route{1,2} $b } return { $b.code as code } order { $b.city } limit 3'
    )
    (query,) = parse_any(text).queries
    source = source_of(bound(f"SELECT * FROM gq($$ {text} $$) f"))
    assert isinstance(source, BoundDerived)
    read = bind_query(query, airport_catalog()).statement
    assert isinstance(read, BoundQuery)
    assert source.query == read


def test_a_parameter_learns_its_type_from_the_text() -> None:
    text = "SELECT * FROM gq($$ match { $a: Airport  $a.elevation > $h } return { $a.code as c } $$, h => $1) f"
    (param,) = bind_statement(parse_one(text), airport_catalog()).parameters
    elevation = airport_catalog().nodes[0].property("elevation")
    assert elevation is not None
    assert (param.name, param.of) == ("1", elevation.type)


BODY = "match { $a: Airport { code: $c } } return { $a.city as town }"
REFUSED = [
    (f"gq($$ {BODY} $$)", "type", "a value for the parameter c", f"$$ {BODY} $$"),
    (f"gq($$ {BODY} $$, cc => 'x')", "unknown_name", "unknown parameter 'cc'", "cc"),
    (f"gq($$ {BODY} $$, c => 'x', c => 'y')", "type", "given twice", "c"),
    (f"gq($$ {BODY} $$, c => 3)", "type", "parameter c is a String", "3"),
    (f"gq($$ {BODY} $$, c => x.y)", "unknown_name", "unknown table 'x'", "x"),
    ("gq($$ match { $a: Airprt } return { $a.code } $$)", "T1", "there is no node type Airprt", "Airprt"),
    ("gq('match { $a: Airport } return { $a.cod }')", "T6", "no property cod", "cod"),
    ("gq('match { $a: Airport { city: \"L''m\" } } return { $a.cod }')", "T6", "no property cod", None),
    ("gq($$ match { $a: Airport } return { $a.code } } $$)", "parse", "", "}"),
    ("gq($$ $$)", "parse", "gq takes one query, this text has none", " "),
    (
        "gq($$ query q($c: String) { match { $a: Airport { code: $c } } return { $a.code } } $$, c => NULL)",
        "type",
        "parameter c cannot be null",
        "NULL",
    ),
    (
        "Airport b, gq($$ match { $a: Airport } return { $a.code as c } order { nearest($a.pos, $q) } limit 3 $$, "
        "q => b.pos)",
        "not_supported",
        "cannot depend on a row",
        "b.pos",
    ),
]


@pytest.mark.parametrize(("item", "code", "message", "place"), REFUSED, ids=[r[0] for r in REFUSED])
def test_a_wrong_call_is_refused_at_its_place(item: str, code: str, message: str, place: str | None) -> None:
    statement = f"SELECT *\nFROM {item} AS f"
    error = refusal(statement)
    if place is None:
        # An escape inside the literal: offsets no longer match, so all of it is shown.
        place = statement[statement.index("'") : statement.rindex("'") + 1]
    assert (error.code, under_caret(statement, error)) == (code, place), error.report()
    assert message in error.message
    assert error.at.line == 2


def test_an_unknown_parameter_comes_with_the_nearest_one() -> None:
    assert refusal(
        "SELECT * FROM gq($$ match { $a: Airport { code: $code } } return { $a.city } $$, cod => 1) f"
    ).suggestion


def test_only_reads_stand_in_from() -> None:
    statement = 'SELECT * FROM gq($$ insert Owns { from: "a", to: "b" } $$) f'
    error = refusal(statement)
    assert isinstance(error, BoundaryViolation)
    assert under_caret(statement, error) == 'insert Owns { from: "a", to: "b" }'


def test_a_text_of_two_queries_is_refused() -> None:
    query = "query {} () {{ match {{ $a: Airport }} return {{ $a.code }} }}"
    error = refusal(f"SELECT * FROM gq($$ {query.format('q')} {query.format('r')} $$) f")
    assert isinstance(error, ParseError)
    assert "this text has 2" in error.message


def test_a_limit_of_the_text_stays_a_limit() -> None:
    blocks = "$a route $b " + "not { $a route $b " * 60 + "}" * 60
    statement = f"SELECT * FROM gq($q$ match {{ $a: Airport {blocks} }} return {{ $a.code }} $q$) f"
    error = refusal(statement)
    assert isinstance(error, TextLimitExceeded)
    assert error.at.start > statement.index("match")
