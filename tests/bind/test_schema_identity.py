"""Identities: who keeps one, who gets a new one, and that none is ever given twice."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph_sql.base import limits
from omnigraph_sql.base.catalog import Catalog, Property
from omnigraph_sql.base.errors import LanguageError, ResourceLimitExceeded
from omnigraph_sql.base.identity import derive_id, key_members
from omnigraph_sql.bind.schema import SchemaIR, compile_schema
from omnigraph_sql.bind.schema_ir import identities
from tests.schemas import KITCHEN
from tests.strategies_pg import schemas


def evolve(*texts: str) -> list[SchemaIR]:
    """Compile each text as a change of the one before."""
    found: list[SchemaIR] = []
    for text in texts:
        found.append(compile_schema(text, previous=found[-1] if found else None, identity_domain="d"))
    return found


def type_ids(ir: SchemaIR, name: str) -> tuple[int, int]:
    of = ir.catalog.node(name) or ir.catalog.edge(name)
    assert of is not None
    return of.stable_id, of.incarnation_id


def property_id(ir: SchemaIR, owner: str, name: str) -> int:
    of = ir.catalog.node(owner) or ir.catalog.edge(owner)
    assert of is not None
    found = of.property(name)
    assert found is not None
    return found.stable_id


def test_identities_come_from_one_counter_in_an_order_of_their_own() -> None:
    ir = compile_schema("edge E: B -> A { w: I32 } node B { z: I32 a: I32 } node A {} interface I { p: I32 }")
    assert list(identities(ir.catalog)) == [1, 2, 5, 6, 8, 7, 3, 4, 9, 10, 11]
    assert ir.next_identity_id == 12
    assert type_ids(ir, "A") == (3, 4)
    assert type_ids(ir, "B") == (5, 6)
    assert property_id(ir, "B", "a") == 7
    assert property_id(ir, "E", "w") == 11


def test_the_same_text_gives_the_same_identities() -> None:
    assert compile_schema(KITCHEN).ir_hash == compile_schema(KITCHEN).ir_hash


def test_two_graphs_differ_in_their_identity_domain_only() -> None:
    one, other = compile_schema(KITCHEN, identity_domain="a"), compile_schema(KITCHEN, identity_domain="b")
    assert one.shape_hash == other.shape_hash
    assert one.ir_hash != other.ir_hash
    assert one.catalog == other.catalog


def test_a_change_stays_in_the_identity_domain_of_its_graph() -> None:
    first, second = evolve("node A {}", "node A {} node B {}")
    assert second.identity_domain == first.identity_domain == "d"


def test_a_renamed_type_keeps_its_identities() -> None:
    old, new = evolve("node A { x: I32 } edge E: A -> A", 'node B @rename_from("A") { x: I32 } edge E: B -> B')
    assert type_ids(new, "B") == type_ids(old, "A")
    assert property_id(new, "B", "x") == property_id(old, "A", "x")
    assert new.next_identity_id == old.next_identity_id


def test_a_renamed_edge_keeps_its_identities() -> None:
    old, new = evolve("node A {} edge E: A -> A", 'node A {} edge F: A -> A @rename_from("E")')
    assert type_ids(new, "F") == type_ids(old, "E")


def test_a_renamed_property_keeps_its_identity() -> None:
    old, new = evolve("node A { x: I32 }", 'node A { y: I32 @rename_from("x") }')
    assert property_id(new, "A", "y") == property_id(old, "A", "x")


def test_type_and_property_may_be_renamed_together() -> None:
    old, new = evolve("node A { x: I32 }", 'node B @rename_from("A") { y: I32 @rename_from("x") }')
    assert property_id(new, "B", "y") == property_id(old, "A", "x")


def test_a_hint_of_an_interface_renames_the_property_of_its_nodes() -> None:
    old, new = evolve(
        "interface I { t: I32 } node A implements I {}",
        'interface I { u: I32 @rename_from("t") } node A implements I {}',
    )
    assert property_id(new, "A", "u") == property_id(old, "A", "t")
    assert new.diagnostics == ()


def test_a_dropped_type_that_comes_back_is_another_one() -> None:
    old, gone, new = evolve("node A { x: I32 } node B {}", "node B {}", "node A { x: I32 } node B {}")
    assert type_ids(new, "B") == type_ids(old, "B")
    assert not set(type_ids(new, "A")) & set(identities(old.catalog))
    assert property_id(new, "A", "x") not in set(identities(old.catalog))
    assert gone.next_identity_id == old.next_identity_id
    assert new.shape_hash == old.shape_hash
    assert new.ir_hash != old.ir_hash


def test_a_dropped_property_that_comes_back_is_another_one() -> None:
    old, _, new = evolve("node A { x: I32 }", "node A {}", "node A { x: I32 }")
    assert property_id(new, "A", "x") > property_id(old, "A", "x")
    assert type_ids(new, "A") == type_ids(old, "A")


def test_at_the_beginning_hints_mean_nothing_and_are_not_kept() -> None:
    hinted = compile_schema('node A @rename_from("Z") { x: I32 @rename_from("y") }')
    assert hinted == compile_schema("node A { x: I32 }")
    assert hinted.diagnostics == ()
    assert "rename" not in hinted.to_json()


def test_an_exact_name_beats_a_hint() -> None:
    old, new = evolve("node A { x: I32 y: I32 }", 'node A { x: I32 @rename_from("y") y: I32 }')
    assert property_id(new, "A", "x") == property_id(old, "A", "x")
    assert property_id(new, "A", "y") == property_id(old, "A", "y")
    assert [d.code for d in new.diagnostics] == ["stale_rename_hint"]
    assert new.diagnostics[0].at.column == 30


def test_a_hint_that_was_carried_out_is_stale_afterwards() -> None:
    text = 'node B @rename_from("A") { x: I32 }'
    _, second, third = evolve("node A { x: I32 }", text, text)
    assert second.diagnostics == ()
    assert third == second
    assert "has no effect" in third.diagnostics[0].message


def test_a_hint_that_finds_nothing_is_a_diagnostic() -> None:
    old, new = evolve("node A {}", 'node A { x: I32 @rename_from("gone") }')
    assert "finds nothing" in new.diagnostics[0].message
    assert property_id(new, "A", "x") == old.next_identity_id


def test_a_hint_loses_against_the_one_who_still_has_the_name() -> None:
    old, new = evolve("node A { x: I32 }", 'node A { x: I32 y: I32 @rename_from("x") }')
    assert property_id(new, "A", "x") == property_id(old, "A", "x")
    assert property_id(new, "A", "y") == old.next_identity_id
    assert len(new.diagnostics) == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("node A {} edge E: A -> A", 'node A {} node F @rename_from("E") {}'),
        ("node A {} node B {}", 'node A {} edge F: A -> A @rename_from("B")'),
        ("interface I {} node A {}", 'node A {} node J @rename_from("I") {}'),
        ("node A { x: I32 } node B {}", 'node A {} node B { y: I32 @rename_from("x") }'),
        ("node A { x: I32 } node B {}", 'node A {} node B { y: I32 @rename_from("A.x") }'),
        ("node A {} edge E: A -> A { x: I32 }", 'node A { y: I32 @rename_from("x") } edge E: A -> A'),
    ],
)
def test_a_hint_across_kinds_or_owners_is_refused(before: str, after: str) -> None:
    with pytest.raises(LanguageError) as caught:
        evolve(before, after)
    assert caught.value.code == "S27"
    assert caught.value.at.excerpt[caught.value.at.column - 1] == '"'


def test_two_heirs_of_one_name_are_refused() -> None:
    with pytest.raises(LanguageError) as caught:
        evolve("node A { x: I32 }", 'node A { y: I32 @rename_from("x") z: I32 @rename_from("x") }')
    assert caught.value.code == "S28"


def test_removing_one_of_two_contributors_keeps_the_property() -> None:
    interfaces = "interface I { t: I32 } interface J { t: I32 } "
    old, new = evolve(interfaces + "node A implements I, J {}", interfaces + "node A implements J {}")
    assert property_id(new, "A", "t") == property_id(old, "A", "t")


def test_declaring_what_was_injected_keeps_the_property() -> None:
    old, new = evolve("interface I { t: I32 } node A implements I {}", "node A { t: I32 }")
    assert property_id(new, "A", "t") == property_id(old, "A", "t")


def test_the_last_identity_may_be_used_and_no_further_one() -> None:
    nearly = SchemaIR(Catalog(), limits.IDENTITY_ID_MAX - 1)
    full = compile_schema("node A {}", previous=nearly)
    assert full.next_identity_id == limits.IDENTITY_ID_MAX + 1
    assert compile_schema("node A {}", previous=full) == full
    with pytest.raises(ResourceLimitExceeded) as caught:
        compile_schema("node A { x: I32 }", previous=full)
    assert caught.value.resource == "identity_ids"


@given(st.lists(schemas(), min_size=2, max_size=4))
@settings(max_examples=40)
def test_pg_03_no_identity_is_ever_used_twice(texts: list[str]) -> None:
    """An identity belongs to one thing for ever; here: to one kind of thing, and is never seen again once gone."""
    retired: set[int] = set()
    before: set[int] = set()
    previous: SchemaIR | None = None
    for text in texts:
        previous = compile_schema(text, previous=previous)
        now = list(identities(previous.catalog))
        assert len(set(now)) == len(now)
        assert not retired & set(now)
        assert max(now, default=0) < previous.next_identity_id
        retired |= before - set(now)
        before = set(now)


def id_of(ir: SchemaIR, values: dict[int, object]) -> str:
    """The id of a row of A whose values are known by property identity."""
    of = ir.catalog.node("A")
    assert of is not None
    members: list[tuple[Property, object]] = [(p, values[p.stable_id]) for p in key_members(of)]
    return derive_id(members)


@given(st.permutations(["a", "b", "c"]), st.permutations(["a", "b", "c"]))
def test_pg_09_renaming_key_members_changes_no_id(names: list[str], order: list[str]) -> None:
    """Names are even swapped: through names of their own in between, as a name in use beats a hint."""
    first = "node A { a: I32 b: I32 c: I32 @key(a, b, c) }"
    between = " ".join(f'{n}_: I32 @rename_from("{n}")' for n in order)
    last = " ".join(f'{n}: I32 @rename_from("{old}_")' for n, old in zip(names, ["a", "b", "c"], strict=True))
    key = ", ".join(order)
    irs = evolve(first, f"node A {{ {between} @key(a_, b_, c_) }}", f"node A {{ {last} @key({key}) }}")
    values: dict[int, object] = {property_id(irs[0], "A", name): at for at, name in enumerate("abc")}
    assert {id_of(ir, values) for ir in irs} == {'["0","1","2"]'}
    for name, old in zip(names, "abc", strict=True):
        assert property_id(irs[2], "A", name) == property_id(irs[0], "A", old)


def test_a_rename_that_crosses_the_alphabet_changes_no_id() -> None:
    old, new = evolve(
        "node A { aisle: I32 slot: I32 @key(aisle, slot) }",
        'node A { zone: I32 @rename_from("aisle") bin: I32 @rename_from("slot") @key(bin, zone) }',
    )
    values: dict[int, object] = {property_id(old, "A", "aisle"): 4, property_id(old, "A", "slot"): 12}
    assert id_of(old, values) == id_of(new, values) == '["4","12"]'
