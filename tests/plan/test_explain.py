"""EXPLAIN: one line per node, the same text for the same plan, and the same as nested values."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from omnigraph_sql.plan.compile import compile_any
from omnigraph_sql.plan.explain import explain, explain_json
from omnigraph_sql.plan.node import Plan
from tests.case_files import airport_catalog, read_cases

TEXTS = [text for f in ("reads", "writes") for case in read_cases(f"same/{f}.case") for name, text in case.sections[:1]]


def plan_of(text: str) -> Plan:
    (program,) = compile_any(text, airport_catalog()).programs
    return program.plan


def lines(node: dict[str, object], depth: int = 0) -> Iterator[str]:
    """The text that the nested values stand for."""
    label = f"{node['label']}: " if "label" in node else ""
    yield f"{'  ' * depth}{label}{node['text']}"
    inputs = node.get("inputs", [])
    assert isinstance(inputs, list)
    for child in inputs:
        yield from lines(child, depth + 1)


@pytest.mark.parametrize("text", TEXTS)
def test_nested_values_say_what_the_text_says(text: str) -> None:
    plan = plan_of(text)
    tree = json.loads(json.dumps(explain_json(plan)))
    assert "\n".join(lines(tree)) == explain(plan)


def test_nested_values_have_these_keys() -> None:
    plan = plan_of("SELECT a.code FROM Airport a WHERE NOT EXISTS (SELECT 1 FROM Hub h WHERE h.dst = a.id)")
    tree: Any = json.loads(json.dumps(explain_json(plan)))
    assert list(tree) == ["node", "text", "columns", "inputs"]
    assert tree["node"] == "Project"
    assert tree["columns"] == ["code"]
    anti = tree["inputs"][0]
    assert [child["label"] for child in anti["inputs"]] == ["input", "absent"]


def test_the_text_does_not_depend_on_the_run() -> None:
    text = "SELECT a.city, count(*) FROM Airport a JOIN Route r ON r.src = a.id GROUP BY a.city"
    assert len({explain(plan_of(text)) for _ in range(5)}) == 1


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("SELECT 1 AS x", "  OneRow"),
        ("VALUES (1), (2), (3), (4)", "Values (1), (2), (3), and 1 more"),
        ("SELECT a.code AS c FROM Airport a WHERE false", "Values none"),
        ("SELECT a.code AS c FROM Airport a LIMIT 3 OFFSET 2", "  Limit 3 offset 2"),
        ("SELECT DISTINCT a.city AS c FROM Airport a", "Distinct"),
        ("SELECT a.city AS c FROM Airport a UNION ALL SELECT b.name FROM Carrier b", "Union all"),
        ("WITH w AS (SELECT 1 AS x) SELECT x FROM w", "  w: Project 1 as x"),
        ("DELETE FROM Carrier WHERE iata = 'x'", "Delete Carrier  cascade Hub, Owns"),
        ("SELECT a.code, a.code FROM Airport a", "Relabel code, code"),
        ("SELECT r.miles AS m FROM Route AT (VERSION => 4) r", "  Scan Route as r  at version 4  columns miles"),
    ],
)
def test_a_node_is_described_in_one_line(text: str, line: str) -> None:
    assert line in explain(plan_of(text)).splitlines()


def test_a_value_of_two_lines_stays_on_its_line() -> None:
    plan = plan_of("SELECT a.code AS c FROM Airport a WHERE a.city = 'two\nlines'")
    assert explain(plan).splitlines() == [
        "Project a.code as c",
        "  Scan Airport as a  where a.city = 'two\\nlines'  columns code",
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("SHOW TABLES", "Control Show  what tables"),
        ("BEGIN", "Control Begin"),
        ("SET actor = 'ana'", "Control SetOption  name actor, value 'ana'"),
        ('CREATE BRANCH "review/x" FROM main', "Control CreateBranch  name review/x, start branch main"),
        (
            "CREATE NODE TABLE P (name TEXT PRIMARY KEY, age INT CHECK (age BETWEEN 0 AND 150))",
            "Control CreateNodeType  name P, properties (name: String, age: I32?), "
            "constraints (Key((name)), Range(age, 0, 150))",
        ),
        (
            "CREATE EDGE TABLE Knows (FROM Carrier TO Carrier, CARDINALITY 0..1, since DATE)",
            "Control CreateEdgeType  name Knows, source Carrier, target Carrier, cardinality 0..1, "
            "properties (since: Date?)",
        ),
        (
            "ALTER TABLE Airport ADD COLUMN pop BIGINT",
            "Control AlterType  kind node, name Airport, changes (AddProperty(pop: I64?))",
        ),
        ("DROP TABLE Route", "Control DropType  kind edge, name Route"),
    ],
)
def test_a_command_shows_what_it_is_about(text: str, shown: str) -> None:
    assert explain(plan_of(text)) == shown
