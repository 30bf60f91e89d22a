"""`ogsql lint`: findings with their places on stdout, a summary on stderr, a verdict as exit code."""

import json
from pathlib import Path

import pytest

from omnigraph_sql.bind.lint import lint
from omnigraph_sql.bind.schema import compile_schema
from tests.cli.conftest import QUERIES, SCHEMA, Command

MISSPELT = "query q() {\n    match  { $a: Airport }\n    return { $a.citty }\n}\n"
HARD_CODED = 'query open() { insert Airport { code: "CUZ", city: "Cusco" } }\n'


def test_a_correct_file_says_nothing_on_stdout_and_ends_with_0(ogsql: Command) -> None:
    done = ogsql("lint", "air.gq", "--schema", "air.pg")
    assert (done.code, done.out, done.err) == (0, "", "air.gq: 2 queries, 0 errors, 0 warnings\n")


def test_an_error_is_drawn_with_its_place_and_its_suggestion_and_ends_with_1(ogsql: Command, folder: Path) -> None:
    (folder / "bad.gq").write_text(MISSPELT)
    done = ogsql("lint", "bad.gq", "--schema", "air.pg")
    assert done.code == 1
    assert done.out.splitlines()[0].startswith("error[T6]: ")
    assert done.out.splitlines()[1] == " --> bad.gq:3:17"
    assert done.out.splitlines()[3:5] == ["3 |     return { $a.citty }", "  |                 ^^^^^"]
    assert "  = did you mean 'city'?\n" in done.out
    assert done.err == "bad.gq: 1 query, 1 error, 0 warnings\n"


def test_warnings_alone_end_with_0(ogsql: Command, folder: Path) -> None:
    (folder / "hard.gq").write_text(HARD_CODED)
    done = ogsql("lint", "hard.gq", "--schema", "air.pg")
    assert done.code == 0
    assert done.out.startswith("warning[L202]: ")
    assert done.err == "hard.gq: 1 query, 0 errors, 1 warning\n"


def test_a_finding_about_the_schema_names_the_file(ogsql: Command, folder: Path) -> None:
    (folder / "some.gq").write_text("query q($c: String) { update Airport set { city: $c } where code = $c }\n")
    done = ogsql("lint", "some.gq", "--schema", "air.pg")
    assert done.code == 0
    assert done.out.splitlines() == [
        "warning[L201]: Airport.elevation is set by no update query",
        " --> some.gq",
    ]


def test_every_file_is_checked_and_the_total_comes_last(ogsql: Command, folder: Path) -> None:
    (folder / "bad.gq").write_text(MISSPELT)
    (folder / "broken.gq").write_text("query {\n")
    done = ogsql("lint", "broken.gq", "bad.gq", "air.gq", "--schema", "air.pg")
    assert done.code == 1
    assert "error[Q000]: " in done.out
    assert "error[T6]: " in done.out
    assert done.err.splitlines() == [
        "broken.gq: 0 queries, 1 error, 0 warnings",
        "bad.gq: 1 query, 1 error, 0 warnings",
        "air.gq: 2 queries, 0 errors, 0 warnings",
        "3 files: 3 queries, 2 errors, 0 warnings",
    ]


def test_json_is_the_list_of_reports_and_nothing_else(ogsql: Command, folder: Path) -> None:
    (folder / "bad.gq").write_text(MISSPELT)
    done = ogsql("lint", "air.gq", "bad.gq", "--schema", "air.pg", "--format", "json")
    catalog = compile_schema(SCHEMA).catalog
    expected = [lint(QUERIES, catalog, name="air.gq"), lint(MISSPELT, catalog, name="bad.gq")]
    assert json.loads(done.out) == [report.to_dict() for report in expected]
    assert (done.code, done.err) == (1, "")


def test_queries_come_from_standard_input(ogsql: Command) -> None:
    done = ogsql("lint", "-", "--schema", "air.pg", stdin=MISSPELT.encode())
    assert done.code == 1
    assert " --> <stdin>:3:17" in done.out


def test_a_file_that_is_not_utf8_is_a_finding_with_its_place(ogsql: Command, folder: Path) -> None:
    (folder / "latin.gq").write_bytes("query q() {\n    // caf\xe9\n}".encode("latin-1"))
    done = ogsql("lint", "latin.gq", "air.gq", "--schema", "air.pg")
    assert done.code == 1
    assert done.out.splitlines()[0].startswith("error[Q000]: the text is not UTF-8")
    assert done.out.splitlines()[1] == " --> latin.gq:2:11"
    assert "air.gq: 2 queries, 0 errors" in done.err


def test_a_byte_order_mark_in_front_is_not_part_of_the_text(ogsql: Command, folder: Path) -> None:
    (folder / "marked.gq").write_bytes(b"\xef\xbb\xbf" + QUERIES.encode())
    (folder / "marked.pg").write_bytes(b"\xef\xbb\xbf" + SCHEMA.encode())
    assert ogsql("lint", "marked.gq", "--schema", "marked.pg").code == 0


def test_a_schema_with_a_fault_is_reported_with_carets(ogsql: Command, folder: Path) -> None:
    (folder / "bad.pg").write_text("node Airport { code: String? @key }\n")
    done = ogsql("lint", "air.gq", "--schema", "bad.pg")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error[S14]: ")
    assert "--> bad.pg:1:" in done.err
    assert "^" in done.err


def test_a_fault_of_the_schema_is_json_on_request(ogsql: Command, folder: Path) -> None:
    (folder / "bad.pg").write_text("node Airport { code: String? @key }\n")
    done = ogsql("lint", "air.gq", "--schema", "bad.pg", "--format", "json")
    assert (done.code, done.out, json.loads(done.err)["code"]) == (1, "", "S14")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("lint", "nope.gq", "--schema", "air.pg"), "error: there is no file 'nope.gq'\n  = hint: looked in {}\n"),
        (
            ("lint", "air.gq", "--schema", "airr.pg"),
            "error: there is no file 'airr.pg'\n  = hint: did you mean 'air.pg'?\n",
        ),
        (("lint", "some", "--schema", "air.pg"), "error: 'some' is a directory; name a file in it\n"),
        (("lint", "air.gq", "--schema", "some"), "error: 'some' is a directory; name a file in it\n"),
        (("lint", "a\0b", "--schema", "air.pg"), "error: 'a\0b' cannot be read: embedded null byte\n"),
    ],
)
def test_a_file_that_cannot_be_read_is_wrong_usage_said_in_one_sentence(
    ogsql: Command, folder: Path, arguments: tuple[str, ...], complaint: str
) -> None:
    (folder / "some").mkdir()
    done = ogsql(*arguments)
    assert (done.code, done.out, done.err) == (2, "", complaint.format(folder))


def test_nothing_is_linted_when_one_of_the_files_is_missing(ogsql: Command, folder: Path) -> None:
    (folder / "bad.gq").write_text(MISSPELT)
    done = ogsql("lint", "bad.gq", "nope.gq", "--schema", "air.pg")
    assert (done.code, done.out) == (2, "")
