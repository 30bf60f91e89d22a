"""Every ceiling on texts: exactly that much is taken, one more is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import LanguageError, TextLimitExceeded
from omnigraph_sql.bind.schema import compile_schema
from omnigraph_sql.grammar.gq import parse_unit
from omnigraph_sql.grammar.sql.parse import parse_script
from omnigraph_sql.plan.compile import compile_gq
from tests.case_files import airport_catalog
from tests.limits.taken import seconds

Read = Callable[[str], object]
Write = Callable[[int], str]


@dataclass(frozen=True, slots=True)
class Ceiling:
    """`write(n)` makes a text of that measure, which `read` takes up to `most`."""

    name: str
    read: Read
    resource: str
    most: int
    write: Write


def sized(text: str, comment: str) -> Write:
    """That many bytes."""
    return lambda n: text + comment + "é" * ((n - len(text + comment)) // 2) + "x" * ((n - len(text + comment)) % 2)


def nested(opening: str, inside: str, closing: str, around: str = "SELECT {}") -> Write:
    return lambda n: around.replace("{}", opening * n + inside + closing * n)


def chained(link: str, around: str = "SELECT 1{}") -> Write:
    return lambda n: around.replace("{}", link * n)


def listed(item: str, around: str) -> Write:
    return lambda n: around.replace("{}", ", ".join([item] * n))


def named(around: str) -> Write:
    return lambda n: around.replace("{}", "x" * n)


def not_blocks(n: int) -> str:
    # the query and its match are levels too
    return "query q() { match { $a: A " + "not { " * (n - 2) + "$a e $b" + " }" * (n - 2) + " } return { $a } }"


def patterns(n: int) -> str:
    """Patterns inside conditions of patterns: three levels for each, and one of EXISTS."""
    text = "1 = 1"
    for _ in range(n // 3):
        text = f"EXISTS (FROM GRAPH_TABLE (MATCH (a WHERE {text}) COLUMNS (1 AS x)))"
    return "SELECT " + "(" * (n % 3) + text + ")" * (n % 3)


def bare(clauses: str) -> str:
    return f"match {{ {clauses} }} return {{ $a }}"


def gq(text: str) -> object:
    """Patterns are measured when they are bound."""
    return compile_gq(text, airport_catalog())


DEEP = limits.NESTING_LEVELS_MAX
LONG = limits.OPERATOR_CHAIN_LINKS_MAX
WIDE = limits.LIST_ITEMS_MAX
NAME = limits.IDENTIFIER_CHARACTERS_MAX
BYTES = limits.STATEMENT_TEXT_BYTES_MAX

CEILINGS = [
    *(
        Ceiling(f"sql text of {name}", parse_script, "statement_text_bytes", BYTES, write)
        for name, write in {
            "one comment": sized("SELECT 1", " -- "),
            "one string": lambda n: "SELECT '" + "x" * (n - 9) + "'",
            "blanks": lambda n: "SELECT 1" + " " * (n - 8),
        }.items()
    ),
    Ceiling("gq text", parse_unit, "statement_text_bytes", BYTES, sized("", "// ")),
    Ceiling("pg text", compile_schema, "statement_text_bytes", BYTES, sized("node A {}", "// ")),
    *(
        Ceiling(f"sql nesting of {name}", parse_script, "nesting_levels", DEEP, write)
        for name, write in {
            "brackets": nested("(", "1", ")"),
            "lists": nested("[", "1", "]"),
            "structs": nested("{'a': ", "1", "}"),
            "calls": nested("f(", "1", ")"),
            "casts": nested("CAST(", "1", " AS INT)"),
            "CASE": nested("CASE WHEN true THEN ", "1", " END"),
            "CASE operands": nested("CASE ", "1", " WHEN 1 THEN 2 END"),
            "ELSE": nested("CASE WHEN a THEN b ELSE ", "1", " END"),
            "sub-queries": nested("(SELECT ", "1", ")"),
            "derived tables": nested("(SELECT * FROM ", "t", ")", "SELECT * FROM {}"),
            "EXISTS": nested("EXISTS (SELECT 1 WHERE ", "true", ")"),
            "IN": nested("a IN (SELECT a WHERE ", "true", ")"),
            "NOT": nested("NOT (", "a", ")"),
            "negations": nested("-(", "a", ")"),
            "common tables": nested("WITH t AS (", "SELECT 1", ") SELECT * FROM t", "{}"),
            "joins in brackets": nested("(a CROSS JOIN ", "b", ")", "SELECT * FROM {}"),
            "set operations": nested("(SELECT 1 UNION ", "SELECT 2", ")", "{}"),
            "indexes": nested("a[", "1", "]"),
            "lambdas": nested("f(x -> ", "1", ")"),
            "comprehensions": nested("[x FOR x IN ", "a", "]"),
            "windows": nested("sum(1) OVER (ORDER BY ", "a", ")"),
            "types": nested("STRUCT(a ", "INT", ")", "SELECT a::{}"),
            "patterns": patterns,
            "checks": lambda n: "CREATE TABLE t (a INT CHECK " + "(" * (n - 1) + "a" + ")" * (n - 1) + ")",
        }.items()
    ),
    Ceiling("gq not blocks", parse_unit, "nesting_levels", DEEP, not_blocks),
    *(
        Ceiling(f"sql chain of {name}", parse_script, "operator_chain_links", LONG, write)
        for name, write in {
            "additions": chained(" + 1"),
            "texts": chained(" || 'a'"),
            "ANDs": chained(" AND a"),
            "ORs": chained(" OR a"),
            "comparisons": chained(" = 1"),
            "IS DISTINCT FROM": chained(" IS DISTINCT FROM a"),
            "casts": chained("::INT"),
            "arrows": chained(" -> 'a'", "SELECT a{}"),
            "dots": chained(".a", "SELECT a{}"),
            "indexes": chained("[1]", "SELECT a{}"),
            "LIKEs": chained(" LIKE 'a'"),
            "unions": chained(" UNION ALL SELECT 1"),
            "exceptions": chained(" EXCEPT SELECT 1"),
        }.items()
    ),
    *(
        Ceiling(f"sql {name}", parse_script, "joins", limits.JOINS_MAX, write)
        for name, write in {
            "joins": chained(" JOIN t ON a", "SELECT 1 FROM t{}"),
            "crossed tables": chained(", t", "SELECT 1 FROM t{}"),
            "joins behind a union": chained(" JOIN t USING (a)", "SELECT 1 FROM t JOIN t UNION SELECT 1 FROM t{}"),
            "edges": chained("-[]->(b)", "FROM GRAPH_TABLE (MATCH (a){} COLUMNS (1 AS x))"),
            "nodes": listed("()", "FROM GRAPH_TABLE (MATCH {} COLUMNS (1 AS x))"),
        }.items()
    ),
    Ceiling("gq edges", gq, "joins", limits.JOINS_MAX, lambda n: bare("$a route $b " * n)),
    Ceiling("gq nodes", gq, "joins", limits.JOINS_MAX, lambda n: bare("$a: Airport " * n)),
    *(
        Ceiling(f"sql prefixes: {sign}", parse_script, "prefix_operators", limits.PREFIX_OPERATORS_MAX, write)
        for sign, write in {
            "minus": nested("- ", "1", ""),
            "plus": nested("+ ", "$p", ""),
            "tilde": nested("~ ", "1", ""),
            "NOT": nested("NOT ", "a", ""),
            "exclamation mark": nested("!", "a", ""),
            "behind an operator": nested("- ", "1", "", "SELECT 1 - {}"),
            "behind a keyword": nested("- ", "1", "", "SELECT DISTINCT {}"),
        }.items()
    ),
    *(
        Ceiling(f"sql list: {name}", parse_script, "list_items", WIDE, write)
        for name, write in {
            "IN": listed("1", "SELECT a IN ({})"),
            "list": listed("1", "SELECT [{}]"),
            "struct": listed("a: 1", "SELECT {" + "{}" + "}"),
            "arguments": listed("1", "SELECT f({})"),
            "select list": listed("1", "SELECT {}"),
            "GROUP BY": listed("a", "SELECT 1 FROM t GROUP BY {}"),
            "ORDER BY": listed("a", "SELECT 1 FROM t ORDER BY {}"),
            "row": listed("1", "INSERT INTO t VALUES ({})"),
            "columns": listed("a", "INSERT INTO t ({}) VALUES (1)"),
            "assignments": listed("a = 1", "UPDATE t SET {}"),
            "column definitions": listed("a INT", "CREATE TABLE t ({})"),
            "COLUMNS": listed("a.b", "SELECT 1 FROM GRAPH_TABLE (MATCH (a) COLUMNS ({}))"),
            "common tables": listed("t AS (SELECT 1)", "WITH {} SELECT 1"),
            "WHEN": lambda n: "SELECT CASE" + " WHEN a THEN b" * n + " END",
        }.items()
    ),
    Ceiling("gq list", parse_unit, "list_items", WIDE, listed("1", "query q() { insert A { a: [{}] } }")),
    Ceiling("pg labels", compile_schema, "list_items", WIDE, lambda n: f"node A {{ a: enum({labels(n)}) }}"),
    Ceiling("rows", parse_script, "values_rows", limits.VALUES_ROWS_MAX, listed("(1)", "VALUES {}")),
    Ceiling(
        "inserted rows", parse_script, "values_rows", limits.VALUES_ROWS_MAX, listed("(1)", "INSERT INTO t VALUES {}")
    ),
    Ceiling("script", parse_script, "script_statements", limits.SCRIPT_STATEMENTS_MAX, lambda n: "SHOW TABLES;" * n),
    *(
        Ceiling(f"sql name: {text}", parse_script, "identifier_characters", NAME, named(text))
        for text in ("SELECT {}", 'SELECT 1 AS "{}"', "SELECT ${}", "SELECT :{}", "USE BRANCH {}", "SHOW INDEXES ON {}")
    ),
    Ceiling("sql number", parse_script, "identifier_characters", NAME, lambda n: "SELECT " + "1" * n),
    *(
        Ceiling(f"gq name: {text}", parse_unit, "identifier_characters", NAME, named(text))
        for text in ("query {}() { match { $a: A } return { $a } }", "query q() { match { $a: A } return { $a.{} } }")
    ),
    *(
        Ceiling(f"pg name: {text}", compile_schema, "identifier_characters", NAME, named(text))
        for text in ("node A { {}: I32 }", "node A { a: enum({}) }", "node A @{} { }")
    ),
]


def labels(count: int) -> str:
    return ", ".join(f"l{number}" for number in range(count))


@pytest.fixture(scope="module", autouse=True)
def _grammars_are_built() -> None:
    """Grammars are built on first use; that cost is not the text's."""
    parse_script("SELECT 1")
    parse_unit("query q() { match { $a: A } return { $a } }")
    compile_schema("node A {}")


@pytest.mark.parametrize("ceiling", CEILINGS, ids=lambda ceiling: ceiling.name)
def test_just_as_much_is_taken(ceiling: Ceiling) -> None:
    text = ceiling.write(ceiling.most)
    assert seconds(lambda: ceiling.read(text)) < 2.0


@pytest.mark.parametrize("ceiling", CEILINGS, ids=lambda ceiling: ceiling.name)
@pytest.mark.parametrize("factor", ["one more", "ten times as much"])
def test_more_is_refused_by_name_and_quickly(ceiling: Ceiling, factor: str) -> None:
    text = ceiling.write(ceiling.most + 1 if factor == "one more" else ceiling.most * 10)

    def refuse() -> None:
        with pytest.raises(TextLimitExceeded) as caught:
            ceiling.read(text)
        error = caught.value
        if factor == "one more":
            assert (error.resource, error.limit) == (ceiling.resource, ceiling.most)
        assert error.actual > error.limit
        assert error.hint
        assert error.report()

    assert seconds(refuse) < 1.0


@pytest.mark.parametrize("depth", [10, 1000, 60_000])
def test_comments_may_be_nested_as_deep_as_they_like(depth: int) -> None:
    assert len(parse_script("SELECT 1 " + "/*" * depth + "*/" * depth)) == 1
    with pytest.raises(LanguageError, match="never closed"):
        parse_script("SELECT 1 " + "/*" * depth + "*/" * (depth - 1))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT " + ("(" + "- " * 48) * 48 + "1" + ")" * 48,
        "SELECT " + ("(" + "NOT " * 48) * 48 + "a" + ")" * 48,
        "SELECT " + "CASE WHEN (" * 24 + "a" + ") THEN b END" * 24,
        "SELECT " + "(SELECT 1 WHERE a + " * 48 + "1" + ")" * 48,
    ],
)
def test_ceilings_reached_together_are_taken_or_refused_by_name(text: str) -> None:
    try:
        parse_script(text)
    except TextLimitExceeded as error:
        refusal: TextLimitExceeded | None = error
    else:
        refusal = None
    assert refusal is None or refusal.resource == "nesting_levels"
