"""Oversized texts are refused by name and quickly; never by a recursion error."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import LanguageError, LimitError, TextLimitExceeded
from omnigraph_sql.bind.schema import compile_schema
from omnigraph_sql.plan.compile import compile_gq, compile_sql
from tests.case_files import airport_catalog
from tests.limits.taken import seconds

Compile = Callable[[str], object]
LINKS, LEVELS, ITEMS = limits.OPERATOR_CHAIN_LINKS_MAX, limits.NESTING_LEVELS_MAX, limits.LIST_ITEMS_MAX
JOINS = [f" JOIN Airport a{i} ON a{i}.id = a.id" for i in range(limits.JOINS_MAX)]
HOPS = [f"-[:Route]->(n{i}:Airport)" for i in range(limits.JOINS_MAX - 1)]
STEPS = [f"$a{i} route $a{i + 1}" for i in range(limits.JOINS_MAX)]
DOUBLED = [f"t{i} AS (SELECT a.x FROM t{i - 1} a, t{i - 1} b)" for i in range(1, 41)]


def sql(text: str) -> object:
    return compile_sql(text, airport_catalog())


def gq(text: str) -> object:
    return compile_gq(text, airport_catalog())


def not_blocks(depth: int) -> str:
    inner = "$a route $b"
    for _ in range(depth):
        inner = f"$a route $b not {{ {inner} }}"
    return f"query q() {{ match {{ $a: Airport {inner} }} return {{ $a.code }} }}"


TOO_MUCH: list[tuple[str, Compile, str]] = [
    ("sql: 1 MB of comment", sql, "SELECT 1 -- " + "x" * 1_000_000),
    ("sql: 1 MB of values", sql, "SELECT " + "'abcdefgh'," * 100_000 + "1"),
    ("sql: nested brackets", sql, "SELECT " + "(" * 5000 + "1" + ")" * 5000),
    ("sql: nested sub-queries", sql, "SELECT (" * 400 + "SELECT 1" + ")" * 400),
    ("sql: nested CASE", sql, "SELECT " + "CASE WHEN true THEN " * 800 + "1" + " END" * 800),
    ("sql: nested lists", sql, "SELECT " + "[" * 3000 + "]" * 3000),
    ("sql: nested functions", sql, "SELECT " + "abs(" * 3000 + "1" + ")" * 3000),
    ("sql: NOT NOT NOT", sql, "SELECT " + "NOT " * 5000 + "true"),
    ("sql: minus minus", sql, "SELECT " + "- " * 5000 + "1"),
    (
        "sql: 10 000 items in a list",
        sql,
        "SELECT a.code FROM Airport a WHERE a.code IN (" + ",".join(["'x'"] * 10_000) + ")",
    ),
    ("sql: 10 000 rows", sql, "INSERT INTO Owns (src, dst) VALUES " + ",".join(["('a','b')"] * 10_000)),
    ("sql: 20 000 conditions", sql, "SELECT 1 WHERE " + " AND ".join(["1=1"] * 20_000)),
    ("sql: 20 000 terms", sql, "SELECT " + "+".join(["1"] * 20_000)),
    ("sql: 20 000 unions", sql, " UNION ALL ".join(["SELECT 1"] * 20_000)),
    ("sql: 20 000 joins", sql, "SELECT 1 FROM Airport" + " CROSS JOIN Airport" * 20_000),
    ("sql: 20 000 tables", sql, "SELECT 1 FROM Airport" + ", Airport" * 20_000),
    ("sql: 20 000 arrows", sql, "SELECT a" + " -> 'b'" * 20_000),
    ("sql: nested structs", sql, "SELECT " + "{'a': " * 3000 + "1" + "}" * 3000),
    ("sql: nested common tables", sql, "WITH t AS (" * 400 + "SELECT 1" + ") SELECT * FROM t" * 400),
    ("sql: nested patterns", sql, "SELECT 1 FROM GRAPH_TABLE (MATCH (a WHERE EXISTS (" * 100),
    ("sql: 20 000 columns of a pattern", sql, f"FROM GRAPH_TABLE (MATCH (a) COLUMNS ({'a.id, ' * 20_000} 1))"),
    ("sql: 20 000 casts", sql, "SELECT 1" + "::INT" * 20_000),
    ("sql: 20 000 dots", sql, "SELECT a" + ".b" * 20_000),
    ("gq: 1 MB of comment", gq, "// " + "x" * 1_000_000),
    (
        "gq: 10 000 items in a list",
        gq,
        'query q() { insert Airport { code: "x", city: "y", tags: [' + ",".join(['"t"'] * 10_000) + "] } }",
    ),
    ("gq: nested lists", gq, "query q() { insert Airport { tags: " + "[" * 5000 + "]" * 5000 + " } }"),
    ("gq: nested not blocks", gq, not_blocks(400)),
    ("pg: 1 MB of comment", compile_schema, "// " + "x" * 1_000_000),
    ("pg: 10 000 labels", compile_schema, "node A { k: enum(" + ", ".join(f"l{i}" for i in range(10_000)) + ") }"),
    ("pg: nested brackets", compile_schema, "node A { k: " + "[" * 5000 + "String" + "]" * 5000 + " }"),
]


@pytest.mark.parametrize(("compile_text", "text"), [(c, t) for _, c, t in TOO_MUCH], ids=[n for n, _, _ in TOO_MUCH])
def test_too_much_is_a_limit_error_within_a_second(compile_text: Compile, text: str) -> None:
    compile_text_warm = compile_text  # grammars are built on first use; that cost is not the text's
    with pytest.raises(LanguageError):
        compile_text_warm("select )")
    caught: list[LimitError] = []

    def refuse() -> None:
        with pytest.raises(LimitError) as found:
            compile_text(text)
        caught.append(found.value)

    assert seconds(refuse) < 1.0
    (error,) = caught
    assert isinstance(error, TextLimitExceeded)
    assert error.actual > error.limit
    assert error.hint


def test_deep_but_allowed_texts_compile_even_from_a_deep_stack() -> None:
    def deeper(levels: int) -> object:
        if levels:
            return deeper(levels - 1)
        return sql("SELECT " + "(" * 40 + "1" + ")" * 40)

    assert deeper(200)


NODE, EDGE = "(a:Airport)", "-[:Route]->"
JUST_ENOUGH: list[tuple[str, Compile, str]] = [
    ("sql: conditions", sql, "SELECT 1 FROM Airport WHERE true" + " OR elevation = 1 AND city = 'x'" * (LINKS // 2)),
    ("sql: terms", sql, "SELECT 1" + " + 1" * LINKS),
    ("sql: texts", sql, "SELECT 'a'" + " || 'b'" * LINKS),
    ("sql: casts", sql, "SELECT 1" + "::INT" * LINKS),
    ("sql: comparisons", sql, "SELECT true" + " = true" * LINKS),
    ("sql: joins", sql, "SELECT 1 FROM Airport a" + "".join(JOINS)),
    ("sql: hops", sql, f"FROM GRAPH_TABLE (MATCH (n:Airport){''.join(HOPS)} COLUMNS (n.code))"),
    ("gq: hops", gq, f"query q() {{ match {{ {' '.join(STEPS)} }} return {{ $a0 }} }}"),
    ("sql: unions", sql, "SELECT 1" + " UNION ALL SELECT 1" * LINKS),
    ("sql: brackets", sql, "SELECT " + "(" * LEVELS + "1" + ")" * LEVELS),
    ("sql: CASE", sql, "SELECT " + "CASE WHEN true THEN " * LEVELS + "1" + " END" * LEVELS),
    ("sql: sub-queries", sql, "SELECT " + "(SELECT " * LEVELS + "1" + ")" * LEVELS),
    ("sql: derived tables", sql, "SELECT * FROM " + "(SELECT * FROM " * LEVELS + "Airport" + ") AS t" * LEVELS),
    ("sql: EXISTS", sql, "SELECT 1 WHERE " + "EXISTS (SELECT 1 WHERE " * LEVELS + "true" + ")" * LEVELS),
    ("sql: common tables", sql, "WITH t AS (" * LEVELS + "SELECT 1 AS x" + ") SELECT * FROM t" * LEVELS),
    ("sql: lists", sql, "SELECT " + "[" * LEVELS + "1" + "]" * LEVELS),
    ("sql: structs", sql, "SELECT " + "{'a': " * LEVELS + "1" + "}" * LEVELS),
    ("sql: calls", sql, "SELECT " + "abs(" * LEVELS + "1" + ")" * LEVELS),
    ("sql: NOT", sql, "SELECT " + "NOT " * limits.PREFIX_OPERATORS_MAX + "true"),
    ("sql: minus", sql, "SELECT " + "- " * limits.PREFIX_OPERATORS_MAX + "1"),
    ("sql: IN", sql, f"SELECT 1 FROM Airport WHERE code IN ({', '.join(['NULL'] * ITEMS)})"),
    ("sql: list", sql, f"SELECT [{', '.join(['1'] * ITEMS)}]"),
    ("sql: select list", sql, f"SELECT {', '.join(['code'] * ITEMS)} FROM Airport"),
    ("sql: aggregates", sql, f"SELECT {', '.join(['count(*)'] * ITEMS)} FROM Airport"),
    ("sql: GROUP BY", sql, f"SELECT 1 FROM Airport GROUP BY {', '.join(['city'] * ITEMS)}"),
    ("sql: ORDER BY", sql, f"SELECT 1 FROM Airport ORDER BY {', '.join(['city'] * ITEMS)}"),
    ("sql: parameters", sql, "SELECT " + ", ".join(f"$p{i}::INT" for i in range(ITEMS))),
    ("sql: WHEN", sql, "SELECT CASE" + " WHEN true THEN 1" * ITEMS + " END"),
    ("sql: rows", sql, "INSERT INTO Owns (src, dst) VALUES " + ", ".join(["('a', 'b')"] * ITEMS)),
    ("sql: statements", sql, "SHOW TABLES;" * limits.SCRIPT_STATEMENTS_MAX),
    ("sql: doubled tables", sql, "WITH t0 AS (SELECT 1 AS x), " + ", ".join(DOUBLED) + " SELECT * FROM t40"),
    ("sql: paths", sql, f"FROM GRAPH_TABLE (MATCH {', '.join([f'{NODE}{EDGE}(b:Airport)'] * 500)} COLUMNS (a.code))"),
    ("gq: not blocks", gq, not_blocks(LEVELS - 2)),
    ("gq: filters", gq, f"query q() {{ match {{ $a: Airport {'$a.elevation > 3 ' * 5000} }} return {{ $a }} }}"),
    ("gq: queries", gq, "query q() { match { $a: Airport } return { $a } } " * 3000),
]


@pytest.mark.parametrize(
    ("compile_text", "text"), [(c, t) for _, c, t in JUST_ENOUGH], ids=[n for n, _, _ in JUST_ENOUGH]
)
def test_what_the_ceilings_let_through_compiles_quickly(compile_text: Compile, text: str) -> None:
    assert seconds(lambda: compile_text(text)) < 3.0
