"""Facts about queries: the kinds of their columns, the tables they read and the tables they write."""

from __future__ import annotations

import pytest

from omnigraph_sql.base.types import (
    ANY,
    BLOB,
    BOOL,
    DATE,
    DATETIME,
    F32,
    F64,
    I8,
    I32,
    I64,
    INTERVAL,
    STRING,
    U16,
    U32,
    U64,
    DataType,
    DecimalType,
    EnumType,
    ListType,
    StructType,
    VectorType,
    type_text,
)
from omnigraph_sql.bind.gq import bind_query
from omnigraph_sql.bind.operation import Operation, kind_of, operation_of
from omnigraph_sql.grammar.gq import parse_any
from tests.gq_cases import catalog_of

KINDS = {"string", "bool", "int", "bigint", "float", "date", "datetime", "blob", "vector", "list", "object"}


def facts(text: str, schema: str = "airports") -> Operation:
    catalog = catalog_of(schema)
    (query,) = parse_any(text).queries
    return operation_of(bind_query(query, catalog).statement, catalog)


@pytest.mark.parametrize(
    ("of", "kind"),
    [
        (STRING, "string"),
        (EnumType(("a",)), "string"),
        (BOOL, "bool"),
        (I8, "int"),
        (U16, "int"),
        (I32, "int"),
        (U32, "int"),
        (I64, "bigint"),
        (U64, "bigint"),
        (F32, "float"),
        (F64, "float"),
        (DATE, "date"),
        (DATETIME, "datetime"),
        (BLOB, "blob"),
        (VectorType(3), "vector"),
        (ListType(STRING), "list"),
        (StructType(()), "object"),
        (DecimalType(3, 1), "object"),
        (INTERVAL, "object"),
        (ANY, "object"),
    ],
    ids=lambda part: part if isinstance(part, str) else type_text(part),
)
def test_a_type_has_a_kind_out_of_a_closed_set(of: DataType, kind: str) -> None:
    assert kind_of(of) == kind
    assert kind in KINDS


def test_columns_of_a_read_have_names_kinds_and_nullability() -> None:
    found = facts(
        "match { $a: Airport  $c: Carrier } return { $a, $a.elevation, $a.opened, $a.tags, $a.pos, $c.rating, "
        '$c.status, $c.updated, 1 as one, search($a.blurb, "x") as hit }'
    )
    assert [(c.name, c.kind, c.nullable) for c in found.columns] == [
        ("a", "string", False),
        ("a.elevation", "int", True),
        ("a.opened", "date", True),
        ("a.tags", "list", True),
        ("a.pos", "vector", True),
        ("c.rating", "float", True),
        ("c.status", "string", False),
        ("c.updated", "datetime", True),
        ("one", "bigint", False),
        ("hit", "bool", True),
    ]
    assert found.writes == ()


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("match { $a: Airport } return { $a }", ["node:Airport"]),
        ("match { $a: Airport  $a route $b } return { $b }", ["edge:Route", "node:Airport"]),
        ("match { $a hub $_ } return { $a }", ["edge:Hub", "node:Airport", "node:Carrier"]),
        (
            "match { $a: Airport  not { $c: Carrier  $c hub $a } } return { $a }",
            ["edge:Hub", "node:Airport", "node:Carrier"],
        ),
        (
            "match { $a: Airport  not { $a route $b  not { $b hub $c  not { $c owns $d } } } } return { $a }",
            ["edge:Hub", "edge:Owns", "edge:Route", "node:Airport", "node:Carrier"],
        ),
        ("match { $a: Airport  $c: Carrier  $c.name = $a.city } return { 1 }", ["node:Airport", "node:Carrier"]),
    ],
)
def test_reads_hold_ends_of_edges_and_whatever_is_absent(text: str, reads: list[str]) -> None:
    assert facts(text).reads == tuple(reads)


@pytest.mark.parametrize(
    ("text", "reads", "writes"),
    [
        ('insert Airport { code: "x", city: "y" }', ["node:Airport"], ["node:Airport"]),
        ('insert Hub { from: "x", to: "y" }', ["edge:Hub", "node:Airport", "node:Carrier"], ["edge:Hub"]),
        ('update Airport set { city: "y" } where code = "x"', ["node:Airport"], ["node:Airport"]),
        ("delete Route where miles < 3", ["edge:Route", "node:Airport"], ["edge:Route"]),
        (
            'delete Airport where code = "x"',
            ["edge:Hub", "edge:Route", "node:Airport"],
            ["edge:Hub", "edge:Route", "node:Airport"],
        ),
        (
            'delete Carrier where iata = "x" delete Route where miles = 3',
            ["edge:Hub", "edge:Owns", "edge:Route", "node:Airport", "node:Carrier"],
            ["edge:Hub", "edge:Owns", "edge:Route", "node:Carrier"],
        ),
    ],
)
def test_writes_say_what_they_look_at_and_what_they_change(text: str, reads: list[str], writes: list[str]) -> None:
    found = facts(text)
    assert (list(found.reads), list(found.writes), found.columns) == (reads, writes, ())


def test_a_row_without_a_key_is_inserted_without_looking() -> None:
    found = facts("insert P { x: 1 }", "node P { x: I32 }")
    assert (found.reads, found.writes) == ((), ("node:P",))


def test_a_node_and_an_edge_of_one_name_are_told_apart() -> None:
    schema = "node Link { k: String @key } edge Link: Link -> Link"
    assert facts("match { $a link $b } return { $a }", schema).reads == ("edge:Link", "node:Link")
    assert facts('delete Link where k = "x"', schema).writes == ("edge:Link", "node:Link")


def test_facts_have_a_dictionary_form() -> None:
    assert facts("match { $a: Airport } return { count($a) as n }").to_dict() == {
        "columns": [{"name": "n", "kind": "bigint", "nullable": False}],
        "reads": ["node:Airport"],
        "writes": [],
    }
