"""Lint: findings with their codes and order, records of queries, and nothing that depends on chance."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings

from omnigraph_sql.base.catalog import Catalog
from omnigraph_sql.bind.gq import GqOptions
from omnigraph_sql.bind.lint import Finding, LintReport, Severity, lint
from tests.case_files import airport_catalog
from tests.gq_cases import catalog_of
from tests.schemas import AIRPORTS
from tests.strategies_gq import units

GOOD = "query good($c: String) { match { $a: Airport { code: $c } } return { $a.city } }"
BAD = "query bad() { match { $p: Airprot } return { $p } }"
MIXED = 'query mixed($i: String) { insert Hub { from: $i, to: "LIM" } delete Hub where from = $i }'


def found(text: str, catalog: Catalog | None = None, *, codes: str = "") -> list[Finding]:
    report = lint(text, catalog or airport_catalog())
    return [finding for finding in report.findings if finding.code.startswith(codes)]


# ---- errors -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["query q() {", "match { $a: Airport } return { $a }", "%", '"'])
def test_a_text_that_does_not_parse_is_one_finding(text: str) -> None:
    report = lint(text, airport_catalog(), name="broken.gq")
    (finding,) = report.findings
    assert (finding.code, finding.severity, report.status) == ("Q000", Severity.ERROR, "error")
    assert report.queries == ()
    assert finding.at is not None
    assert finding.at.source == "broken.gq"
    body = report.to_dict()
    assert body["counts"] == {"queries": 0, "errors": 1, "warnings": 0}
    assert json.loads(json.dumps(body)) == body


def test_a_text_that_is_too_deep_does_not_parse_either() -> None:
    (finding,) = found("query q() { match " + "{" * 1000)
    assert finding.code == "Q000"


def test_an_empty_text_is_fine() -> None:
    report = lint("// nothing", airport_catalog())
    assert (report.status, report.queries, report.findings) == ("ok", (), ())


def test_queries_are_checked_apart_from_each_other() -> None:
    report = lint(f"{BAD}\n{GOOD}\n{MIXED}", airport_catalog())
    assert [(record.name, record.kind, record.status) for record in report.queries] == [
        ("bad", "read", "error"),
        ("good", "read", "ok"),
        ("mixed", "mutation", "error"),
    ]
    assert [record.error.code if record.error else None for record in report.queries] == ["T1", None, "D2"]
    assert [record.operation is None for record in report.queries] == [True, False, True]
    assert (report.status, report.errors, report.warnings) == ("error", 2, 0)


def test_a_finding_has_the_facts_of_its_error() -> None:
    (finding,) = found(f"{GOOD}\n{BAD}")
    assert finding.to_dict() == {
        "severity": "error",
        "code": "T1",
        "message": "there is no node type Airprot",
        "query": "bad",
        "suggestion": "Airport",
        "line": 2,
        "column": 27,
        "span": [len(GOOD) + 1 + 26, len(GOOD) + 1 + 33],
    }


def test_a_mixture_of_inserts_and_deletes_is_found() -> None:
    (finding,) = found(MIXED)
    assert (finding.code, finding.query) == ("D2", "mixed")
    assert "query mixed" in finding.message
    assert finding.hint is not None
    assert "split" in finding.hint


def test_switches_reach_the_parser_and_the_binder() -> None:
    text = "query q() { match { $a: Airport  $a.elevation > -1  $a.opened is null } return { sum($a.elevation) } }"
    assert lint(text, airport_catalog()).status == "ok"
    (finding,) = lint(text, airport_catalog(), options=GqOptions(extensions=False)).findings
    assert finding.code == "Q000"
    (record,) = lint(text, airport_catalog(), options=GqOptions(exact_sum=False)).queries
    assert record.operation is not None
    assert record.operation.columns[0].kind == "float"


# ---- warnings ---------------------------------------------------------------------------------------------------


def test_a_mutation_without_parameters_has_its_values_hard_coded() -> None:
    (finding,) = found('query q() { delete Airport where code = "LIM" }')
    assert (finding.code, finding.severity, finding.query) == ("L202", Severity.WARNING, "q")
    assert finding.at is not None
    assert finding.at.start == 6
    assert "mutation q" in finding.message


def test_reads_and_mutations_with_parameters_are_not_warned_about() -> None:
    assert not found("query q() { match { $a: Airport } return { $a } }")
    assert not found("query q($c: String) { delete Airport where code = $c }")


def test_a_wrong_mutation_is_still_warned_about() -> None:
    report = lint("query q() { delete Plane where code = 1 }", airport_catalog())
    assert [finding.code for finding in report.findings] == ["T10", "L202"]
    assert [warning.code for warning in report.queries[0].warnings] == ["L202"]
    assert report.status == "error"


def test_warnings_alone_leave_the_status_good() -> None:
    report = lint('query q() { delete Airport where code = "LIM" }', airport_catalog())
    assert (report.status, report.errors, report.warnings) == ("ok", 0, 1)


UPDATE = "query u($c: String, $b: String) { update Airport set { blurb: $b, opened: null } where code = $c }"


def properties(text: str, catalog: Catalog | None = None) -> list[tuple[str | None, str | None]]:
    return [(finding.type, finding.property) for finding in found(text, catalog, codes="L201")]


def test_nullable_properties_that_no_update_sets_are_listed() -> None:
    assert properties(UPDATE) == [
        ("Airport", "elevation"),
        ("Airport", "photo"),
        ("Airport", "pos"),
        ("Airport", "tags"),
    ]
    (first, *_) = found(UPDATE, codes="L201")
    assert first.message == "Airport.elevation is set by no update query"
    assert (first.severity, first.query, first.at) == (Severity.WARNING, None, None)


def test_all_updates_of_a_file_count() -> None:
    more = "query v($c: String, $e: I32) { update Airport set { elevation: $e, tags: [] } where code = $c }"
    assert properties(f"{UPDATE}\n{more}") == [("Airport", "photo"), ("Airport", "pos")]


def test_types_without_a_valid_update_are_left_alone() -> None:
    insert = "query i($c: String) { insert Airport { code: $c, city: $c } }"
    wrong = "query w($c: String) { update Airport set { nope: $c } where code = $c }"
    mixed = "query m($c: String) { update Airport set { blurb: $c } where code = $c delete Hub where to = $c }"
    assert properties(f"{insert}\n{wrong}\n{mixed}\n{GOOD}") == []


def test_keys_and_embedded_vectors_and_required_properties_are_left_out() -> None:
    catalog = catalog_of(
        'node Note { tag: String @key  title: String  body: String?  rank: I32?  v: Vector(3)? @embed("body") }'
    )
    text = "query u($t: String, $b: String) { update Note set { body: $b } where tag = $t }"
    assert properties(text, catalog) == [("Note", "rank")]


# ---- order ------------------------------------------------------------------------------------------------------

MANY = "\n".join(
    [
        "query z() { match { $a: Zebra } return { $a } }",
        "query u($i: String) { update Carrier set { rating: 1.5 } where iata = $i }",
        "query a() { match { $a: Apple } return { $a } }",
        UPDATE,
        'query h() { delete Hub where from = "x" }',
    ]
)


def test_findings_are_sorted_by_severity_type_property_and_message() -> None:
    report = lint(MANY, airport_catalog())
    keys = [(f.severity != Severity.ERROR, f.type or "", f.property or "", f.message) for f in report.findings]
    assert keys == sorted(keys)
    assert [f.code for f in report.findings] == ["T1", "T1", "L202", "L201", "L201", "L201", "L201", "L201"]
    assert [record.name for record in report.queries] == ["z", "u", "a", "u", "h"]


def test_two_runs_say_the_same() -> None:
    assert lint(MANY, airport_catalog()) == lint(MANY, airport_catalog())


def test_the_order_of_declarations_and_of_queries_leaves_no_trace() -> None:
    def remarks(report: LintReport) -> list[tuple[str, str, str | None]]:
        return [(f.code, f.message, f.query) for f in report.findings]

    declarations = [f"node{part}" for part in AIRPORTS.split("edge")[0].split("node")[1:]]
    edges = [f"edge{part}" for part in AIRPORTS.split("edge")[1:]]
    wanted = remarks(lint(MANY, airport_catalog()))
    for seed in range(10):
        parts, lines = [*declarations, *edges], MANY.split("\n")
        random.Random(seed).shuffle(parts)
        random.Random(seed).shuffle(lines)
        assert remarks(lint("\n".join(lines), catalog_of("\n".join(parts)))) == wanted


@settings(max_examples=200, deadline=None)
@given(units())
def test_any_file_is_linted_and_the_report_is_json(text: str) -> None:
    report = lint(text, airport_catalog())
    assert json.loads(json.dumps(report.to_dict())) == report.to_dict()
    assert (report.status == "error") == any(f.severity is Severity.ERROR for f in report.findings)
    for record in report.queries:
        assert (record.operation is None) == (record.error is not None)
