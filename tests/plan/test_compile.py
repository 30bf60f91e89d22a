"""From text to plans: which language, what a program says of itself, and texts that go deep."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from omnigraph_sql.base.errors import InternalError, LanguageError
from omnigraph_sql.plan.compile import compile_any, compile_gq, compile_sql, language_of
from omnigraph_sql.plan.explain import explain
from omnigraph_sql.plan.lower import lower, output_fields
from omnigraph_sql.plan.optimizer import optimize
from tests.case_files import CASES, airport_catalog
from tests.fuzz.corpus import corpus_texts


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("query q() { match { $a: Airport } return { $a } }", "gq"),
        ("QUERY q() {}", "gq"),
        ("match { $a: Airport } return { $a }", "gq"),
        ("// a note\n/* another */ match { }", "gq"),
        ("-- a note of the other language\nquery q() {}", "gq"),
        ("insert Airport { code: 'x' }", "gq"),
        ("insert Airport\n{", "gq"),
        ("update Airport set { city: 1 } where code = 1", "gq"),
        ("delete Airport where code = 1", "gq"),
        ("DELETE Airport WHERE code = 1", "sql"),
        ("INSERT Airport { code: 1 }", "sql"),
        ("INSERT INTO Airport (code) VALUES ('x')", "sql"),
        ("INSERT OR REPLACE INTO Airport VALUES ('x')", "sql"),
        ("insert into match { }", "sql"),
        ("UPDATE Airport SET city = 'x'", "sql"),
        ('UPDATE "main".Airport SET city = 1', "sql"),
        ("DELETE FROM Airport WHERE code = 1", "sql"),
        ("SELECT 1", "sql"),
        ("FROM Airport", "sql"),
        ("/* match */ SELECT 1", "sql"),
        ("WITH query AS (SELECT 1) SELECT 1", "sql"),
        ("", "sql"),
        ("/* never closed", "sql"),
        ("$$", "sql"),
    ],
)
def test_the_first_words_tell_the_language(text: str, language: str) -> None:
    assert language_of(text) == language


def test_a_program_knows_its_name_parameters_and_columns() -> None:
    text = "query by_code($c: String, $n: I32) { match { $a: Airport { code: $c } } return { $a.city as town } }"
    compiled = compile_any(text, airport_catalog())
    (program,) = compiled.programs
    assert compiled.language == "gq"
    assert program.name == "by_code"
    assert [p.name for p in program.parameters] == ["c", "n"]
    assert [f.name for f in program.fields] == ["town"]


def test_columns_of_a_program_are_the_names_a_client_sees() -> None:
    (program,) = compile_sql("SELECT a.code, a.code FROM Airport a", airport_catalog()).programs
    assert [f.name for f in program.fields] == ["code", "code"]


def test_a_text_of_many_statements_has_many_programs() -> None:
    both = compile_sql("SELECT 1 AS a; SELECT 2 AS b", airport_catalog())
    assert [p.fields[0].name for p in both.programs] == ["a", "b"]
    two = "query a() { match { $x: Airport } return { $x } } query b() { match { $x: Airport } return { $x } }"
    assert [p.name for p in compile_gq(two, airport_catalog()).programs] == ["a", "b"]
    assert compile_sql("", airport_catalog()).programs == ()


LONG = {
    "or": "SELECT a.code FROM Airport a WHERE " + " OR ".join(f"elevation = {i}" for i in range(900)),
    "and": "SELECT a.code FROM Airport a WHERE " + " AND ".join(f"elevation <> {i}" for i in range(900)),
    "plus": "SELECT " + " + ".join(["elevation"] * 1990) + " AS x FROM Airport",
    "constants": "SELECT " + " + ".join(["1"] * 1990) + " AS x",
    "grouped": "SELECT count(*) + " + " + ".join(["1"] * 1900) + " AS x FROM Airport",
    "text": "SELECT " + " || ".join(["code"] * 1990) + " AS x FROM Airport",
    "union": " UNION ALL ".join(["SELECT 1 AS x"] * 1500),
    "joins": "SELECT 1 AS x FROM Airport a0 " + " ".join(f"JOIN Route r{i} ON r{i}.src = a0.id" for i in range(150)),
    "derived": "SELECT * FROM " + "(SELECT x + x AS x FROM " * 40 + "(SELECT 1 AS x) q" + ") t" * 40,
    "exists": "SELECT a.code FROM Airport a WHERE "
    + "EXISTS (SELECT 1 FROM Airport b WHERE b.id = a.id AND " * 20
    + "TRUE"
    + ")" * 20,
}


@pytest.mark.parametrize("name", LONG)
def test_long_and_deep_texts_compile_and_explain_on_an_ordinary_stack(name: str) -> None:
    before = sys.getrecursionlimit()
    (program,) = compile_sql(LONG[name], airport_catalog()).programs
    assert explain(program.plan)
    assert sys.getrecursionlimit() == before


def corpus() -> list[str]:
    docs = Path(__file__).parents[2] / "docs"
    fenced = [
        block
        for path in sorted(docs.rglob("*.md"))
        for block in re.findall(r"```(?:sql|gq)\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    ]
    return [*corpus_texts("sql", CASES), *corpus_texts("gq", CASES), *fenced]


def test_over_all_texts_we_have_optimising_keeps_the_columns_and_is_done_once() -> None:
    catalog = airport_catalog()
    planned = 0
    for text in corpus():
        try:
            programs = compile_any(text, catalog).programs
        except InternalError:
            raise
        except LanguageError:
            continue
        for program in programs:
            before = output_fields(lower(program.bound.statement))
            assert [(f.name, f.type) for f in before] == [(f.name, f.type) for f in program.fields], text
            assert explain(optimize(program.plan, catalog)) == explain(program.plan), text
            assert optimize(program.plan, catalog) == program.plan, text
            planned += 1
    assert planned > 100
