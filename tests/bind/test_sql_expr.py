"""SQL expressions: what each spelling is bound to, and how what does not fit is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from omnigraph_sql.base.errors import LanguageError
from omnigraph_sql.base.expr import (
    NOW,
    Aggregate,
    Call,
    Cast,
    Column,
    Compare,
    Expr,
    InList,
    Lambda,
    LambdaVariable,
    Literal,
    Param,
    walk,
)
from omnigraph_sql.base.types import (
    BOOL,
    DATE,
    DATETIME,
    F64,
    I32,
    I64,
    STRING,
    DataType,
    ListType,
    VectorType,
)
from omnigraph_sql.bind.bound import BoundPattern, BoundProgram, BoundQuery, BoundSelect
from omnigraph_sql.bind.gq import bind_query
from omnigraph_sql.bind.sql_expr import Clause
from omnigraph_sql.bind.sql_moments import Interval, parse_interval
from omnigraph_sql.grammar.gq import parse_any
from tests.case_files import CASES, airport_catalog
from tests.sql_sites import SELECT, WHERE, bound, refusal, shown

CITY = Column("a.city", STRING, False)
ELEVATION = Column("a.elevation", I32, True)
TAGS = Column("a.tags", ListType(STRING), True)


def _table(name: str) -> list[tuple[str, str]]:
    """Pairs of lines: an expression, and indented what becomes of it."""
    lines = (CASES / "sql_expr" / name).read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line and not line.startswith("## ")]
    assert all(row.startswith("    ") == bool(i % 2) for i, row in enumerate(rows))
    return [(rows[i], rows[i + 1].strip()) for i in range(0, len(rows), 2)]


# ---- tables -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("expression", "expected"), _table("bound.txt"))
def test_an_expression_is_bound_to_this_text_and_type(expression: str, expected: str) -> None:
    assert shown(expression) == expected


@pytest.mark.parametrize(("expression", "expected"), _table("refused.txt"))
def test_an_expression_is_refused_at_this_place_in_these_words(expression: str, expected: str) -> None:
    error, under = refusal(expression)
    suggestion = f" ? {error.suggestion}" if error.suggestion else ""
    hint = f" ! {error.hint}" if error.hint else ""
    assert f"{error.code} `{under}` {error.message}{suggestion}{hint}" == expected


@pytest.mark.parametrize(
    ("expression", "clause", "words", "hint"),
    [
        ("count(*) > 1", "WHERE", "count is an aggregate and cannot stand in WHERE", "HAVING"),
        ("sum(a.elevation)", "GROUP BY", "sum is an aggregate and cannot stand in GROUP BY", "HAVING"),
        ("max(a.elevation) = 1", "ON", "max is an aggregate and cannot stand in ON", "sub-query"),
        ("count_if(a.elevation > 1)", "VALUES", "count_if is an aggregate and cannot stand in VALUES", "sub-query"),
        ("row_number() over () = 1", "WHERE", "the window function row_number cannot stand in WHERE", "QUALIFY"),
        ("sum(a.elevation) over ()", "HAVING", "the window function sum cannot stand in HAVING", "QUALIFY"),
        ("a.city", "LIMIT", None, ""),
    ],
)
def test_aggregates_and_windows_stand_only_where_the_clause_lets_them(
    expression: str, clause: str, words: str | None, hint: str
) -> None:
    if words is None:
        assert bound(expression, Clause(clause)) == CITY
        return
    error, _ = refusal(expression, Clause(clause))
    assert (error.code, error.message) == ("not_supported", words)
    assert hint in (error.hint or "")


# ---- one expression, many spellings -----------------------------------------------------------------------------

SAME = [
    ["a.elevation BETWEEN 1 AND 2", "a.elevation >= 1 AND a.elevation <= 2", "(a.elevation >= 1) AND a.elevation <= 2"],
    ["a.elevation <> 5", "a.elevation != 5", "a.elevation <> 5.0"],
    ["NOT a.city LIKE 'x'", "a.city NOT LIKE 'x'", "a.city !~~ 'x'", "NOT (a.city LIKE 'x')"],
    ["a.elevation IS NOT NULL", "NOT a.elevation IS NULL", "a.elevation NOTNULL", "NOT (a.elevation ISNULL)"],
    ["a.city NOT IN ('x', 'y')", "NOT (a.city IN ('x', 'y'))", "a.city <> ALL(['x', 'y'])"],
    ["a.city IN ('x', 'y')", "a.city = ANY(['x', 'y'])", "a.city IN ['x', 'y']", "a.city = SOME(['x', 'y'])"],
    [
        "list_contains(a.tags, 'x')",
        "'x' = ANY(a.tags)",
        "array_has(a.tags, 'x')",
        "'x' IN a.tags",
        "list_has(a.tags, 'x')",
    ],
    [
        "a.opened = '2020-01-01'",
        "a.opened = DATE '2020-01-01'",
        "a.opened = '2020-01-01'::DATE",
        "a.opened = date('2020-01-01')",
    ],
    ["CASE a.city WHEN 'x' THEN 1 ELSE 2 END", "CASE WHEN a.city = 'x' THEN 1 ELSE 2 END", "if(a.city = 'x', 1, 2)"],
    ["INTERVAL '1 day'", "INTERVAL 1 DAY", "'1 day'::INTERVAL", "INTERVAL '1' DAY", "INTERVAL '1 d'"],
    ["INTERVAL '90 minutes'", "INTERVAL '1 hour 30 minutes'", "INTERVAL '01:30:00'", "INTERVAL '1.5 hours'"],
    [
        "EXTRACT(year FROM a.opened)",
        "date_part('year', a.opened)",
        "datepart('YEAR', a.opened)",
        "EXTRACT(years FROM a.opened)",
    ],
    ["now()", "current_timestamp", "CURRENT_TIMESTAMP", "current_timestamp()", "localtimestamp"],
    ["today()", "current_date", "CAST(now() AS DATE)", "now()::DATE"],
    ["position('x' IN a.city)", "strpos(a.city, 'x')", "instr(a.city, 'x')"],
    ["substring(a.city FROM 2 FOR 3)", "substr(a.city, 2, 3)", "SUBSTRING(a.city, 2, 3)"],
    ["trim(LEADING 'x' FROM a.city)", "ltrim(a.city, 'x')"],
    ["a.tags @> ['x']", "list_has_all(a.tags, ['x'])", "['x'] <@ a.tags"],
    ["a.city ^@ 'x'", "starts_with(a.city, 'x')", "prefix(a.city, 'x')"],
    ["mod(a.elevation, 2)", "a.elevation % 2"],
    ["count(*)", "count()", "COUNT(*)"],
    ["count_if(a.elevation > 1)", "count(*) FILTER (WHERE a.elevation > 1)"],
    ["[x || '!' FOR x IN a.tags]", "list_transform(a.tags, x -> x || '!')", "list_apply(a.tags, lambda x: x || '!')"],
    ["[1, 2]", "ARRAY[1, 2]", "list_value(1, 2)", "make_array(1, 2)"],
    ["percentile_cont(0.5) WITHIN GROUP (ORDER BY a.elevation)", "quantile_cont(a.elevation, 0.5)"],
    ["string_agg(a.city, ',' ORDER BY a.code)", "listagg(a.city, ',') WITHIN GROUP (ORDER BY a.code)"],
    ["nearest(a.pos, $q)", "distance(a.pos, $q)"],
    ["nearest(a.pos, [1, 2, 3, 4])", "nearest(a.pos, [1, 2, 3, 4]::FLOAT[4])", "nearest(a.pos, [1.0, 2, 3, 4])"],
    ["{'x': 1}", "struct_pack(x := 1)"],
]


@pytest.mark.parametrize("spellings", SAME, ids=lambda spellings: spellings[0])
def test_spellings_of_one_thing_are_one_expression(spellings: list[str]) -> None:
    first, *others = (bound(spelling) for spelling in spellings)
    assert others == [first] * len(others)


# ---- `.gq` says the same ----------------------------------------------------------------------------------------

_PATTERN = "match {{ $a: Airport {tests} {clauses} }} return {{ $a.code }}"


def _gq(text: str) -> BoundSelect:
    program: BoundProgram = bind_query(parse_any(text).queries[0], airport_catalog())
    assert isinstance(program.statement, BoundQuery)
    body = program.statement.body
    assert isinstance(body, BoundSelect)
    return body


def _gq_predicate(tests: str, clauses: str) -> Expr:
    select = _gq(_PATTERN.format(tests=tests, clauses=clauses))
    assert isinstance(select.source, BoundPattern)
    (predicate,) = select.source.predicates
    return predicate


@pytest.mark.parametrize(
    ("sql", "tests", "clauses"),
    [
        ("'x' = ANY(a.tags)", "", '$a.tags contains "x"'),
        ("list_contains(a.tags, 'x')", '{ tags: "x" }', ""),
        ("array_has(a.tags, $t)", "", "$a.tags contains $t"),
        ("contains(a.tags, 'x')", "", '$a.tags contains "x"'),
        ("contains(a.city, 'x')", "", '$a.city contains "x"'),
        ("starts_with(a.city, $p)", "", "$a.city starts_with $p"),
        ("a.city = 'Lima'", '{ city: "Lima" }', ""),
        ("a.city = $c", "{ city: $c }", ""),
        ("a.elevation = 5.0", "", "$a.elevation = 5.0"),
        ("a.elevation = 5.5", "", "$a.elevation = 5.5"),
        ("a.elevation < 3000000000", "", "$a.elevation < 3000000000"),
        ("30 < a.elevation", "", "30 < $a.elevation"),
        ("a.elevation > -5", "", "$a.elevation > -5"),
        ("a.elevation != $h", "", "$a.elevation != $h"),
        ("a.elevation IS NULL", "", "$a.elevation is null"),
        ("a.opened >= '2020-01-01'", "", '$a.opened >= date("2020-01-01")'),
        ("search(a.blurb, 'sea')", "", 'search($a.blurb, "sea")'),
        ("fuzzy(a.blurb, $q, 1)", "", "fuzzy($a.blurb, $q, 1)"),
        ("fuzzy(a.blurb, 'sea')", "", 'fuzzy($a.blurb, "sea")'),
        ("match_text(a.blurb, 'sea')", "", 'match_text($a.blurb, "sea")'),
    ],
)
def test_a_predicate_is_the_one_that_gq_makes(sql: str, tests: str, clauses: str) -> None:
    assert bound(sql, WHERE) == _gq_predicate(tests, clauses)


@pytest.mark.parametrize(
    ("sql", "gq"),
    [
        ("nearest(a.pos, [0.1, 2, 3, 4])", "nearest($a.pos, [0.1, 2, 3, 4])"),
        ("nearest(a.pos, 'near the sea')", 'nearest($a.pos, "near the sea")'),
        ("distance(a.pos, $q)", "nearest($a.pos, $q)"),
        ("bm25(a.blurb, $w)", "bm25($a.blurb, $w)"),
        ("rrf(nearest(a.pos, $q), bm25(a.blurb, $w))", "rrf(nearest($a.pos, $q), bm25($a.blurb, $w))"),
        ("rrf(nearest(a.pos, $q), bm25(a.blurb, $w), k => 9)", "rrf(nearest($a.pos, $q), bm25($a.blurb, $w), 9)"),
        ("count(a.city)", "count($a.city)"),
        ("sum(a.elevation)", "sum($a.elevation)"),
        ("avg(a.elevation)", "avg($a.elevation)"),
        ("max(a.city)", "max($a.city)"),
        ("now()", "now()"),
    ],
)
def test_a_score_or_an_aggregate_is_the_one_that_gq_makes(sql: str, gq: str) -> None:
    select = _gq(f"match {{ $a: Airport }} return {{ {gq} as it }}")
    assert bound(sql) == select.items[0].expr


# ---- what texts do not show -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("a.elevation = 5.0", Compare("=", ELEVATION, Literal(5, I32))),
        ("5 = a.elevation", Compare("=", Literal(5, I32), ELEVATION)),
        ("a.elevation = 5.5", Compare("=", ELEVATION, Literal(5.5, F64))),
        ("a.elevation < 3000000000", Compare("<", ELEVATION, Literal(3_000_000_000, I64))),
        ("a.elevation IN (1, 2.5)", InList(ELEVATION, (Literal(1, I32), Literal(2.5, F64)))),
        ("current_date", Cast(NOW, DATE)),
        ("$1::INTEGER", Param("1", I32)),
        ("[1, 2]", Literal((1, 2), ListType(I64))),
        ("[1, 2.5]", Literal((1.0, 2.5), ListType(F64))),
        ("[1, 2]::VECTOR(2)", Literal((1.0, 2.0), VectorType(2))),
        ("-9223372036854775808", Literal(-(2**63), I64)),
        ("count(*)", Aggregate("count", (), I64)),
        ("'x' = ANY(a.tags)", Call("list_contains", (TAGS, Literal("x", STRING)), BOOL)),
        (
            "list_filter(a.tags, (x, i) -> i > 1)",
            Call(
                "array_filter",
                (TAGS, Lambda(("x", "i"), Compare(">", LambdaVariable("i", I64), Literal(1, I64)))),
                ListType(STRING),
            ),
        ),
    ],
)
def test_literals_take_the_type_of_their_neighbour_only_when_nothing_is_lost(expression: str, expected: Expr) -> None:
    assert bound(expression) == expected


@pytest.mark.parametrize(
    ("expression", "name", "of"),
    [
        ("a.elevation = $1", "1", I32),
        ("$x < c.rating", "x", F64),
        ("a.city LIKE $p", "p", STRING),
        ("c.status = $s", "s", STRING),
        ("$d BETWEEN a.opened AND a.opened", "d", DATE),
        ("a.city IN ($1, 'x')", "1", STRING),
        ("$1 IN ('x', $2)", "2", STRING),
        ("a.city IN $all", "all", ListType(STRING)),
        ("a.city = ANY($all)", "all", ListType(STRING)),
        ("$t = ANY(a.tags)", "t", STRING),
        ("coalesce($1, a.opened)", "1", DATE),
        ("CASE WHEN $b THEN 1 END", "b", BOOL),
        ("CASE WHEN true THEN a.elevation ELSE $n END", "n", I32),
        ("CASE $c WHEN 'x' THEN 1 WHEN 'y' THEN 2 END", "c", STRING),
        ("a.elevation + $1", "1", I32),
        ("a.tags[$i]", "i", I64),
        ("lower($t)", "t", STRING),
        ("list_append(a.tags, $t)", "t", STRING),
        ("nearest(a.pos, $q)", "q", VectorType(4)),
        ("$k = $j AND $k = a.elevation", "k", I32),
        ("c.updated > $since", "since", DATETIME),
        ("NOT $flag", "flag", BOOL),
    ],
)
def test_a_parameter_gets_its_type_from_what_it_meets(expression: str, name: str, of: DataType) -> None:
    uses = [part for part in walk(bound(expression)) if isinstance(part, Param) and part.name == name]
    assert uses
    assert {use.of for use in uses} == {of}


@given(st.integers(-40_000, 40_000), st.integers(-90_000, 90_000), st.integers(-(10**15), 10**15))
def test_an_interval_is_read_back_from_its_one_spelling(months: int, days: int, micros: int) -> None:
    interval = Interval(months, days, micros)
    assert parse_interval(interval.text) == interval


def test_an_alias_of_an_aggregate_is_refused_where_aggregates_are() -> None:
    aliases = {"n": (("n", bound("count(*)")),)}
    error, under = refusal("n > 1", Clause("WHERE", aliases=aliases))
    assert under == "n"
    assert "stands for count(…), which cannot stand in WHERE" in error.message
    assert bound("n", Clause("HAVING", aggregates=True, aliases=aliases)) == Aggregate("count", (), I64)
    inside, _ = refusal("sum(n)", replace(SELECT, aliases=aliases))
    assert "cannot stand in sum" in inside.message


def test_functions_of_paths_are_asked_of_the_pattern_first() -> None:
    asked: list[str] = []

    def graph(name: str, node: exp.Expr) -> Expr | None:
        asked.append(f"{name} of {node.expressions[0].name}")
        return Literal(3, I64) if name == "path_length" else None

    clause = Clause("COLUMNS", graph=graph)
    assert bound("path_length(p) + lower('x')::INT", clause).type == I64
    error, _ = refusal("vertices(p)", clause)
    assert error.message == "vertices stands only inside GRAPH_TABLE"
    assert asked == ["path_length of p", "vertices of p"]


# ---- anything at all --------------------------------------------------------------------------------------------

_ATOMS = st.sampled_from(
    [
        "a.elevation",
        "a.city",
        "a.tags",
        "a.opened",
        "a.pos",
        "a.photo",
        "c.updated",
        "c.status",
        "c.rating",
        "1",
        "2.5",
        "'x'",
        "'2020-01-01'",
        "NULL",
        "TRUE",
        "$1",
        "$p",
        "[1,2]",
        "['x']",
        "DATE'2020-01-01'",
        "INTERVAL'1_day'",
        "{'k':1}",
        "now()",
        "count(*)",
        "(SELECT_1)",
        "(1,2)",
        "*",
        ":n",
        "?",
    ]
).map(lambda atom: atom.replace("_", " ") if atom[0] in "I(" else atom)
_FRAMES = st.sampled_from(
    [
        *(
            f"({{0}} {op} {{1}})"
            for op in [
                "+",
                "-",
                "*",
                "/",
                "//",
                "%",
                "**",
                "||",
                "&",
                "|",
                "<<",
                ">>",
                "=",
                "<>",
                "<",
                "<=",
                ">",
                ">=",
                "AND",
                "OR",
                "@>",
                "&&",
                "^@",
                "~",
                "!~*",
            ]
        ),
        *(f"({{0}} {op} {{1}})" for op in ("IS DISTINCT FROM", "LIKE", "NOT ILIKE", "SIMILAR TO", "GLOB", "IN", "->")),
        *("(NOT {0})", "(- {0})", "(~ {0})", "({0} IS NULL)", "({0} IS NOT TRUE)", "({0} BETWEEN {1} AND {0})"),
        *("({0} IN ({1}, {0}))", "({0} = ANY({1}))", "({0} < ALL({1}))", "({0} LIKE {1} ESCAPE {0})"),
        *("CASE {0} WHEN {1} THEN {0} ELSE {1} END", "CASE WHEN {0} THEN {1} END", "CAST({0} AS INTEGER)"),
        *("TRY_CAST({0} AS DATE)", "{0}::TEXT", "{0}::FLOAT[4]", "[{0}, {1}]", "{{'k': {0}}}", "({0})[{1}]"),
        *("({0})[{1}:]", "({0}).k", "[x FOR x IN {0} IF {1}]", "list_transform({0}, x -> {1})", "if({0}, {1})"),
        *("coalesce({0}, {1})", "lower({0})", "round({0}, {1})", "list_append({0}, {1})", "date_part({0}, {1})"),
        *("sum({0})", "count(DISTINCT {0})", "string_agg({0}, {1})", "array_agg({0} ORDER BY {1})"),
        *("max({0}) FILTER (WHERE {1})", "percentile_cont({0}) WITHIN GROUP (ORDER BY {1})"),
        *("sum({0}) OVER (PARTITION BY {1})", "lag({0}) OVER (ORDER BY {1} ROWS {0} PRECEDING)", "rank() OVER ()"),
        *("search({0}, {1})", "nearest({0}, {1})", "rrf({0}, {1})", "fuzzy({0}, {1}, {0})", "EXISTS (SELECT {0})"),
        *("EXTRACT(day FROM {0})", "({0} AT TIME ZONE {1})", "INTERVAL ({0}) DAY", "trim(BOTH {0} FROM {1})"),
        *("nosuch({0})", "unnest({0})", "path_length({0})", "range({0}, {1})", "({0}, {1}) = ({1}, {0})"),
    ]
)


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(lambda frame, left, right: frame.format(left, right), _FRAMES, inner, inner)


def _outcome(expression: str, clause: Clause) -> Expr | LanguageError:
    try:
        return bound(expression, clause)
    except LanguageError as error:
        return error


@settings(max_examples=400, deadline=None)
@given(st.recursive(_ATOMS, _grown, max_leaves=8), st.sampled_from([SELECT, WHERE]))
def test_every_expression_is_bound_or_refused_at_a_place_in_its_text(expression: str, clause: Clause) -> None:
    made = _outcome(expression, clause)
    if isinstance(made, LanguageError):
        assert made.message
        assert 0 <= made.at.start <= made.at.end <= len(f"SELECT {expression}")
        return
    again = bound(expression, clause)
    assert made == again
    assert hash(made) == hash(again)
