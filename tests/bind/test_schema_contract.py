"""The stored form of a schema: it comes back whole, and nothing damaged gets past it."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from omnigraph_sql.base.catalog import Catalog, NodeType, Property
from omnigraph_sql.base.errors import FormatError
from omnigraph_sql.base.types import I32
from omnigraph_sql.bind.schema import SchemaIR, compile_schema
from tests.schemas import EXAMPLES, KITCHEN
from tests.strategies_pg import schemas

Damage = Callable[[dict[str, Any]], object]


@given(schemas())
def test_a_stored_schema_comes_back_equal(text: str) -> None:
    compiled = compile_schema(text, identity_domain="01ARZ3NDEKTSV4RRFFQ69G5FAV")
    again = SchemaIR.from_json(compiled.to_json(), source_text=text)
    assert again == compiled
    assert (again.shape_hash, again.ir_hash) == (compiled.shape_hash, compiled.ir_hash)
    assert again.source_text == text


@pytest.mark.parametrize("text", EXAMPLES.values(), ids=EXAMPLES.keys())
def test_the_examples_come_back_equal(text: str) -> None:
    compiled = compile_schema(text)
    assert SchemaIR.from_json(compiled.to_json()) == compiled


def test_a_stored_schema_says_who_everything_is() -> None:
    body = json.loads(compile_schema(KITCHEN, identity_domain="01J").to_json())
    assert (body["format"], body["identity_domain"], body["next_identity_id"]) == (1, "01J", 33)
    recipe = next(n for n in body["nodes"] if n["name"] == "Recipe")
    ids = {p["name"]: p["stable_id"] for p in recipe["properties"]}
    assert {"kind": "key", "members": [ids["slug"]]} in recipe["constraints"]
    assert {"kind": "range", "property": ids["servings"], "low": "1", "high": "40"} in recipe["constraints"]
    uses = next(e for e in body["edges"] if e["name"] == "Uses")
    assert uses["source"] == recipe["stable_id"]
    assert uses["constraints"] == [{"kind": "unique", "members": ["src", "dst"]}]
    assert uses["cardinality"] == [1, 60]


def test_a_stored_unique_blob_still_opens() -> None:
    compiled = compile_schema("node A { x: Blob @unique }", lenient=True)
    assert SchemaIR.from_json(compiled.to_json()) == compiled


def damaged(text: str, damage: Damage) -> str:
    """A stored schema after somebody changed it, with a hash that fits the change as far as that can be."""
    body = json.loads(compile_schema(text).to_json())
    damage(body)
    return json.dumps(body)


def rename(name: str, at: int = 0, kind: str = "nodes") -> Damage:
    return lambda body: body[kind][0]["properties"][at].update(name=name)


TWO = (
    "interface I { t: I32 } node A implements I { x: I32 y: String } node B {} edge E: A -> B { w: I32 } edge F: A -> B"
)


@pytest.mark.parametrize("name", ["id", "_rowid", "_rowaddr", "_rowoffset", "_row_created_at_version"])
def test_pg_11_reserved_names_are_refused_in_a_stored_schema(name: str) -> None:
    with pytest.raises(FormatError, match=r"S8.*may not call a property"):
        SchemaIR.from_json(damaged(TWO, rename(name)))


@pytest.mark.parametrize("name", ["id", "src", "dst", "from", "to", "_row_last_updated_at_version"])
def test_pg_11_reserved_names_of_edges_are_refused_in_a_stored_schema(name: str) -> None:
    with pytest.raises(FormatError, match="S8"):
        SchemaIR.from_json(damaged(TWO, rename(name, kind="edges")))


DAMAGES: dict[str, Damage] = {
    "an identity twice": lambda b: b["nodes"][0]["properties"][0].update(stable_id=b["nodes"][0]["stable_id"]),
    "an identity of the future": lambda b: b.update(next_identity_id=3),
    "identity zero": lambda b: b["nodes"][1].update(stable_id=0),
    "a counter beyond the last identity": lambda b: b.update(next_identity_id=2**64 + 1),
    "a counter that is no number": lambda b: b.update(next_identity_id="9"),
    "two nodes of one name": lambda b: b["nodes"][1].update(name="A"),
    "two edges that fold": lambda b: b["edges"][1].update(name="e"),
    "edges that differ in case": lambda b: (b["edges"][0].update(name="Fa"), b["edges"][1].update(name="FA")),
    "two properties of one name": rename("y"),
    "an impossible type name": lambda b: b["nodes"][1].update(name="b c"),
    "an impossible property name": rename("x-y"),
    "an unknown end": lambda b: b["edges"][0].update(source=999),
    "an unknown interface": lambda b: b["nodes"][0].update(implements=[999]),
    "an interface that is not implemented": lambda b: b["nodes"][0].update(implements=[]),
    "a rule about an unknown property": lambda b: b["nodes"][0].update(constraints=[{"kind": "key", "members": [999]}]),
    "a rule about nothing": lambda b: b["nodes"][0].update(constraints=[{"kind": "key", "members": []}]),
    "a rule of an unknown kind": lambda b: b["nodes"][0].update(constraints=[{"kind": "lock", "members": []}]),
    "a node rule about an end": lambda b: b["nodes"][0].update(constraints=[{"kind": "key", "members": ["src"]}]),
    "two keys": lambda b: b["nodes"][0].update(
        constraints=[{"kind": "key", "members": [p["stable_id"]]} for p in b["nodes"][0]["properties"][:2]]
    ),
    "an injected property of another type": lambda b: b["nodes"][0]["properties"][2].update(type={"scalar": "I64"}),
    "a type that cannot be stored": lambda b: b["nodes"][0]["properties"][0].update(type={"scalar": "I8"}),
    "a list of blobs": lambda b: b["nodes"][0]["properties"][0].update(type={"list": {"scalar": "Blob"}}),
    "an unsorted enum": lambda b: b["nodes"][0]["properties"][0].update(type={"enum": ["b", "a"]}),
    "a vector without dimensions": lambda b: b["nodes"][0]["properties"][0].update(type={"vector": 0}),
    "a cardinality upside down": lambda b: b["edges"][0].update(cardinality=[3, 1]),
    "nullability that is no truth": lambda b: b["nodes"][0]["properties"][0].update(nullable="no"),
    "a note of lists": lambda b: b["nodes"][0].update(notes=[{"name": "n", "value": [], "arguments": []}]),
    "a missing part": lambda b: b.pop("edges"),
    "a change of meaning": lambda b: b["nodes"][0].update(description="new"),
    "another hash": lambda b: b.update(shape_hash="0" * 64),
    "another format": lambda b: b.update(format=2),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_contract_is_refused(damage: Damage) -> None:
    with pytest.raises(FormatError):
        SchemaIR.from_json(damaged(TWO, damage))


@pytest.mark.parametrize("text", ["", "[]", "null", "{", '"x"', "{}", "[" * 100_000])
def test_what_is_no_contract_at_all_is_refused(text: str) -> None:
    with pytest.raises(FormatError):
        SchemaIR.from_json(text)


def test_a_compiled_schema_cannot_be_built_with_an_identity_twice() -> None:
    ir = compile_schema("node A { x: I32 }")
    twice = replace(ir.catalog.nodes[0], properties=(Property("x", I32, False, stable_id=1),))
    with pytest.raises(ValueError, match="identity 1"):
        SchemaIR(Catalog((twice,)), ir.next_identity_id)
    with pytest.raises(ValueError, match="identity 0"):
        SchemaIR(Catalog((NodeType("A", ()),)), 5)
