"""SQL texts and their trees."""

from __future__ import annotations

import dataclasses
import sys
import threading
from collections.abc import Iterator

import pytest
from sqlglot import exp

from omnigraph_sql.base.errors import LanguageError, ParseError
from omnigraph_sql.grammar.ast.sql import GqTable, GraphTable, Ident, SqlStatement
from omnigraph_sql.grammar.source import Span
from omnigraph_sql.grammar.sql.parse import parse_one, parse_script
from omnigraph_sql.grammar.sql.spans import span_of
from tests.case_files import Case, read_cases
from tests.grammar.sql_faults import fault
from tests.grammar.sql_outline import outline_statement

RIGHT = (*read_cases("sql/statements.case"), *read_cases("sql/queries.case"))
WRONG = read_cases("sql/mistakes.case")


@pytest.mark.parametrize("case", RIGHT, ids=lambda case: case.name)
def test_a_text_has_this_tree(case: Case) -> None:
    found = [outline_statement(statement) for statement in parse_script(case.only("sql"))]
    assert found == case.only("tree").split("\n")


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.name)
def test_a_wrong_text_is_explained(case: Case) -> None:
    assert fault(case.only("sql")) == case.only("error")


# ---- places -----------------------------------------------------------------------------------------------------


def parts(node: object) -> Iterator[object]:
    """A tree and everything below it, house nodes and sqlglot's."""
    yield node
    if isinstance(node, exp.Expr):
        for value in node.args.values():
            yield from parts(value)
    elif isinstance(node, (list, tuple)):
        for item in node:
            yield from parts(item)
    elif dataclasses.is_dataclass(node) and not isinstance(node, type):
        for field in dataclasses.fields(node):
            yield from parts(getattr(node, field.name))


def assert_named(text: str, written: str, quoted: bool) -> None:
    assert text == (f'"{written}"' if quoted else written)


def made_up(name: exp.Identifier) -> bool:
    """Names that sqlglot gives to VALUES, and the keys of a struct, which it takes out of strings."""
    return name.name == "_values" or isinstance(name.parent, exp.PropertyEQ)


def check_places(statement: SqlStatement) -> None:
    text = statement.source.text
    inside = statement.span
    for part in parts(statement.tree):
        if isinstance(part, Span):
            assert inside.start <= part.start <= part.end <= inside.end
        elif isinstance(part, Ident):
            cut = text[part.span.start : part.span.end]
            assert_named(cut.replace(" ", ""), part.text.replace(" ", ""), part.quoted)
        elif isinstance(part, exp.Identifier) and not made_up(part):
            cut = text[part.meta["start"] : part.meta["end"] + 1]
            assert_named(cut, part.name, part.quoted)
        elif isinstance(part, exp.Literal) and not isinstance(part.parent, exp.Interval):
            cut = text[part.meta["start"] : part.meta["end"] + 1]
            assert "'" in cut or "$" in cut if part.is_string else cut.replace("_", "") == part.name
        elif isinstance(part, (exp.Anonymous, GraphTable, GqTable)):
            cut = text[part.meta["start"] : part.meta["end"] + 1]
            assert cut.upper() == (part.name or {GraphTable: "GRAPH_TABLE", GqTable: "GQ"}[type(part)]).upper()


@pytest.mark.parametrize("case", RIGHT, ids=lambda case: case.name)
def test_names_and_values_know_where_they_stand(case: Case) -> None:
    for statement in parse_script(case.only("sql")):
        check_places(statement)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("SELECT a.b + 1, 2", "a.b + 1"),
        ("SELECT f(a, 'x'), 2", "f(a, 'x'"),
        ("SELECT a BETWEEN 1 AND 2, 3", "a BETWEEN 1 AND 2"),
        ("SELECT [1, 2], 3", "1, 2"),
        ("SELECT $p, 3", "$p"),
        ("SELECT :p, 3", ":p"),
        ("SELECT ?, 3", "?"),
        ("SELECT NULL, 3", "NULL"),
        ("SELECT true, 3", "true"),
        ("SELECT *, 3", "*"),
        ("SELECT 'é'||x, 3", "'é'||x"),
    ],
)
def test_a_span_covers_an_expression(text: str, found: str) -> None:
    tree = parse_one(text).tree
    assert isinstance(tree, exp.Select)
    span = span_of(tree.expressions[0], Span(0, 0))
    assert text[span.start : span.end] == found


def test_a_statement_spans_its_own_tokens_only() -> None:
    text = "  SELECT 1 ; -- nothing\n;; /* x */ SHOW TABLES ;"
    assert [text[s.span.start : s.span.end] for s in parse_script(text)] == ["SELECT 1", "SHOW TABLES"]


@pytest.mark.parametrize(
    ("written", "body"),
    [("$$ a $$", " a "), ("$q$ $$ $q$", " $$ "), ("'a b'", "a b"), ("E'a'", "a"), ("''", "")],
)
def test_the_text_of_a_gq_table_is_found_between_its_quotes(written: str, body: str) -> None:
    text = f"SELECT * FROM gq({written}, x => 1)"
    tree = parse_one(text).tree
    assert isinstance(tree, exp.Select)
    found = tree.find(GqTable)
    assert found is not None
    assert text[found.body.start : found.body.end] == body


# ---- parameters -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("SELECT ?, ?, ?", ["1", "2", "3"]),
        ("SELECT $2, $1, $2", ["2", "1", "2"]),
        ("SELECT $a, :b, $a", ["a", "b", "a"]),
        ("SELECT f($a,$b)", ["a", "b"]),
        ("SELECT a FROM t WHERE b=:b AND c IN (:c,:d) AND e=?AND f = :2", ["b", "c", "d", "1", "2"]),
        ("SELECT :x::INT, -:y, :z IS NULL", ["x", "y", "z"]),
        ("SELECT CASE WHEN :a THEN :b ELSE :c END", ["a", "b", "c"]),
        ("SELECT :from, $select", ["from", "select"]),
        ("SELECT $é, $_1", ["é", "_1"]),
        ("SELECT [:n, :m], {'a': :p}, MAP {'k': ?}", ["n", "m", "p", "1"]),
        ("SELECT f(x => :p, y := $q)", ["p", "q"]),
        ("SELECT a LIMIT :l OFFSET ?", ["l", "1"]),
        ("INSERT INTO t (a, b) VALUES (?, ?), (:c, $d)", ["1", "2", "c", "d"]),
        ("SELECT * FROM Airport VERSION AS OF :v", ["v"]),
        (
            "SELECT * FROM GRAPH_TABLE (MATCH (a:A WHERE a.x = :p)-[:R]->?(b) WHERE ? COLUMNS (a.y)) WHERE ?",
            list("p12"),
        ),
        ("COPY t TO $path (FORMAT csv)", ["path"]),
        ("SET actor = ?", ["1"]),
        ("CALL f(?, $x)", ["1", "x"]),
        ("EXPLAIN SELECT ?", ["1"]),
        # none of these are parameters
        ("SELECT '?', '$x', ':y', \"?\", \"$z\", E'\\'?', N'?', x'00'", []),
        ("SELECT 1 -- ? $x :y\n", []),
        ("SELECT 1 /* ? /* $x */ :y */", []),
        ("SELECT $$ ? :x $y $$, $t$ ? $$ $t$", []),
        ("SELECT a::TEXT, 1::INT[]", []),
        ("SELECT a[1:2], a[:n], a[b:n], a[:], f(x)[:n], (a)[:n]", []),
        ("SELECT {'a':x, 'b': 1, c:y}", []),
        ("SELECT x:1, y:z", []),
        ("SELECT * FROM t:Airport", []),
        ("SELECT * FROM GRAPH_TABLE (MATCH (:A)-[:R]->(b:B) COLUMNS (1 AS x))", []),
        ("SELECT f(a:=1)", []),
    ],
)
def test_parameters_are_found_where_they_are(text: str, found: list[str]) -> None:
    statement = parse_one(text)
    assert [placeholder.name for placeholder in statement.placeholders] == found
    for placeholder in statement.placeholders:
        written = text[placeholder.span.start : placeholder.span.end]
        assert written in ("?", f"${placeholder.name}", f":{placeholder.name}")
        assert placeholder.positional == placeholder.name.isdecimal()


def test_question_marks_are_counted_anew_in_every_statement() -> None:
    first, second = parse_script("SELECT ?, ?; SELECT ?")
    assert [p.name for p in first.placeholders] == ["1", "2"]
    assert [p.name for p in second.placeholders] == ["1"]


# ---- scripts ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", " \n\t", ";", ";;;", "-- only a comment", "/* a /* b */ c */ ;", "\ufeff"])
def test_a_text_may_hold_no_statement(text: str) -> None:
    assert parse_script(text) == ()
    with pytest.raises(ParseError, match="no statement"):
        parse_one(text)


def test_one_statement_is_not_two() -> None:
    text = "SELECT 1; SELECT 2"
    with pytest.raises(ParseError, match="the text has 2") as caught:
        parse_one(text)
    assert text[caught.value.at.start : caught.value.at.end] == "SELECT 2"


def test_a_semicolon_inside_quotes_ends_nothing() -> None:
    assert len(parse_script("SELECT ';', \";\", $$;$$ /* ; */ -- ;\n; SELECT 2")) == 2


def test_an_error_in_a_later_statement_is_placed_in_the_whole_text() -> None:
    text = "SELECT 1;\nSELECT é FROM;\n"
    with pytest.raises(ParseError) as caught:
        parse_script(text, name="x.sql")
    at = caught.value.at
    assert (at.source, at.line, at.column, at.byte_start - at.start) == ("x.sql", 2, 14, 1)


# ---- the stack --------------------------------------------------------------------------------------------------

DEEP = "SELECT " + "(" * 40 + "CASE WHEN true THEN (SELECT [1]) END" + ")" * 40


def test_many_threads_parse_deep_texts_and_leave_the_recursion_limit_alone() -> None:
    before = sys.getrecursionlimit()
    failures: list[BaseException] = []
    start = threading.Barrier(8)

    def work(number: int) -> None:
        try:
            start.wait()
            for _ in range(5):
                if number % 2:
                    parse_script(DEEP)
                else:
                    with pytest.raises(LanguageError):
                        parse_script(f"{DEEP} FROM FROM")
        except BaseException as error:  # noqa: BLE001 - reported by the test below
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert sys.getrecursionlimit() == before


def test_a_higher_recursion_limit_of_the_program_stays() -> None:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(50_000)
    try:
        parse_script(DEEP)
        assert sys.getrecursionlimit() == 50_000
    finally:
        sys.setrecursionlimit(before)


def test_a_text_is_parsed_at_the_bottom_of_a_deep_stack() -> None:
    def deeper(levels: int) -> int:
        return deeper(levels - 1) if levels else len(parse_script(DEEP))

    assert deeper(800) == 1
