"""`ogsql explain`: plans on stdout, errors on stderr, whatever the language and wherever the text comes from."""

import json
from pathlib import Path

import pytest

from omnigraph_sql.bind.schema import compile_schema
from omnigraph_sql.plan.compile import compile_any, compile_gq, compile_sql
from omnigraph_sql.plan.explain import explain, explain_json
from tests.cli.conftest import QUERIES, SCHEMA, Command

CATALOG = compile_schema(SCHEMA).catalog
SQL = "SELECT city FROM Airport WHERE code = 'LIM'"
GQ = 'match { $a: Airport { code: "LIM" } } return { $a.city }'


@pytest.mark.parametrize("text", [SQL, GQ, f"query q() {{ {GQ} }}", "SHOW TABLES", "DELETE FROM Route"])
def test_one_statement_of_either_language_is_shown_as_its_plan_alone(ogsql: Command, text: str) -> None:
    (program,) = compile_any(text, CATALOG).programs
    done = ogsql("explain", "--schema", "air.pg", text)
    assert (done.code, done.out, done.err) == (0, explain(program.plan) + "\n", "")


def test_several_statements_give_several_plans_each_under_its_number(ogsql: Command) -> None:
    first, second = compile_sql(f"{SQL}; SHOW TABLES", CATALOG).programs
    done = ogsql("explain", "--schema", "air.pg", f"{SQL}; SHOW TABLES")
    assert done.out == f"-- statement 1\n{explain(first.plan)}\n\n-- statement 2\n{explain(second.plan)}\n"


def test_the_queries_of_a_file_are_shown_under_their_names(ogsql: Command) -> None:
    reachable, rename = compile_gq(QUERIES, CATALOG).programs
    done = ogsql("explain", "--schema", "air.pg", "-f", "air.gq")
    assert done.out == f"-- reachable\n{explain(reachable.plan)}\n\n-- rename\n{explain(rename.plan)}\n"


def test_verbose_adds_the_parameters_and_the_columns(ogsql: Command) -> None:
    text = (
        "query q($up: I32?, $city: String) { match { $a: Airport { city: $city }  $a.elevation > $up }"
        " return { $a.code as c, $a.elevation as e } }"
    )
    done = ogsql("explain", "--schema", "air.pg", "--verbose", text)
    assert done.out.splitlines()[-2:] == [
        "parameters: $up I32?, $city String",
        "columns: c String, e I32?",
    ]
    written = ogsql("explain", "--schema", "air.pg", "-v", "DELETE FROM Route")
    assert written.out.splitlines()[-2:] == ["parameters: none", "columns: none"]


def test_json_is_one_list_with_a_plan_for_every_statement(ogsql: Command) -> None:
    text = "query q($c: String) { match { $a: Airport { code: $c } } return { $a.elevation as e } }"
    (program,) = compile_gq(text, CATALOG).programs
    done = ogsql("explain", "--schema", "air.pg", "--format", "json", text)
    assert json.loads(done.out) == [
        {
            "language": "gq",
            "name": "q",
            "parameters": [{"name": "c", "type": "String", "nullable": False}],
            "columns": [{"name": "e", "type": "I32", "nullable": True}],
            "plan": explain_json(program.plan),
        }
    ]


@pytest.mark.parametrize(
    ("name", "text"), [("a.sql", SQL), ("a.SQL", SQL), ("a.gq", GQ), ("a.txt", SQL), ("b.txt", GQ), ("noending", GQ)]
)
def test_a_file_in_either_language_is_explained(ogsql: Command, folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    assert ogsql("explain", "--schema", "air.pg", "-f", name).out == ogsql("explain", "--schema", "air.pg", text).out


@pytest.mark.parametrize("arguments", [("-",), ("-f", "-")])
def test_standard_input_is_explained(ogsql: Command, arguments: tuple[str, ...]) -> None:
    done = ogsql("explain", "--schema", "air.pg", *arguments, stdin=SQL.encode())
    assert done.out == ogsql("explain", "--schema", "air.pg", SQL).out


def test_the_ending_of_a_file_decides_the_language_before_its_first_words_do(ogsql: Command, folder: Path) -> None:
    (folder / "a.gq").write_text(SQL)
    done = ogsql("explain", "--schema", "air.pg", "-f", "a.gq")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error[parse]: ")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("SELECT citty FROM Airport", "unknown_name"),
        ("SELECT city FROM", "parse"),
        ("match { $a: Airport } return { $a.citty }", "T6"),
        ("INSERT INTO Route (src, dst, miles) VALUES ('a', 'b', 1); DELETE FROM Route", "D2"),
    ],
)
def test_an_error_is_drawn_on_stderr_and_ends_with_1(ogsql: Command, text: str, code: str) -> None:
    done = ogsql("explain", "--schema", "air.pg", text)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"error[{code}]: ")
    assert " --> <argument>:1:" in done.err
    assert "^" in done.err


def test_an_error_is_json_on_request(ogsql: Command) -> None:
    done = ogsql("explain", "--schema", "air.pg", "--format", "json", "SELECT citty FROM Airport")
    assert (done.code, done.out) == (1, "")
    error = json.loads(done.err)
    assert (error["code"], error["line"], error["column"], error["suggestion"]) == ("unknown_name", 1, 8, "city")


def test_an_error_in_a_file_names_the_file(ogsql: Command, folder: Path) -> None:
    (folder / "bad.sql").write_text("SELECT 1;\nSELECT citty FROM Airport")
    done = ogsql("explain", "--schema", "air.pg", "-f", "bad.sql")
    assert " --> bad.sql:2:8" in done.err


def test_a_fault_of_the_schema_comes_before_the_statement(ogsql: Command, folder: Path) -> None:
    (folder / "bad.pg").write_text("node Airport { code: String? @key }\n")
    done = ogsql("explain", "--schema", "bad.pg", "SELECT citty FROM Airport")
    assert done.code == 1
    assert done.err.startswith("error[S14]: ")
    assert "--> bad.pg:1:" in done.err


@pytest.mark.parametrize("text", ["", "  ", "-- nothing\n", "--nothing at all\n;", ";"])
@pytest.mark.parametrize("form", ["text", "json"])
def test_a_text_without_a_statement_is_no_success_in_silence(ogsql: Command, text: str, form: str) -> None:
    done = ogsql("explain", "--schema", "air.pg", "--format", form, text)
    assert (done.code, done.out, done.err) == (2, "", "error: there is no statement to explain\n")


@pytest.mark.parametrize("comment", ["-- first\n", "--\n", "--first -- second\n", "/* -- */ "])
def test_a_statement_may_begin_with_a_comment(ogsql: Command, comment: str) -> None:
    plain = ogsql("explain", SQL, "--schema=air.pg")
    assert ogsql("explain", comment + SQL, "--schema=air.pg", "--format", "text") == plain


def test_a_misspelt_option_is_not_taken_for_a_comment(ogsql: Command, folder: Path) -> None:
    (folder / "with blanks.pg").write_text(SCHEMA)
    assert ogsql("explain", "--schema=with blanks.pg", SQL).code == 0
    assert ogsql("explain", "--shema=with blanks.pg", SQL).code == 2
