"""From one schema to the next: which steps, in which order, and what is refused."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

from omnigraph_sql.base.catalog import Cardinality, Catalog, Check, Index, NodeType, Range, Unique
from omnigraph_sql.base.errors import LanguageError
from omnigraph_sql.base.types import F32, F64, I32, I64, U32, U64, DataType
from omnigraph_sql.bind.schema import SchemaIR, TypeKind, compile_schema
from omnigraph_sql.bind.schema_change import SchemaPlan
from omnigraph_sql.bind.schema_plan import plan_schema
from omnigraph_sql.bind.schema_steps import (
    AddConstraint,
    AddProperty,
    AddRequiredProperty,
    AddType,
    AllowNull,
    ChangeCardinality,
    DropMode,
    DropProperty,
    DropType,
    ExtendEnum,
    ForbidNull,
    RemoveConstraint,
    RemoveInterface,
    RenameProperty,
    RenameType,
    Step,
    Tier,
    Unsupported,
    UpdateMetadata,
    WidenType,
)
from tests.schemas import EXAMPLES
from tests.strategies_pg import Declared, drafts, schemas

NODE, EDGE, INTERFACE = TypeKind.NODE, TypeKind.EDGE, TypeKind.INTERFACE


def plan(before: str, after: str, *, allow_data_loss: bool = False) -> SchemaPlan:
    old = compile_schema(before)
    return plan_schema(old, compile_schema(after, previous=old), allow_data_loss=allow_data_loss)


def body(before: str, after: str) -> SchemaPlan:
    """A change of the properties and rules of node A."""
    return plan(f"node A {{ {before} }}", f"node A {{ {after} }}")


def only_refusal(found: SchemaPlan) -> Unsupported:
    assert not found.supported
    (step,) = found.steps
    assert isinstance(step, Unsupported)
    return step


# ---- nothing to do ----------------------------------------------------------------------------------------------


@given(schemas())
def test_pg_04_a_schema_needs_no_steps_to_itself(text: str) -> None:
    old = compile_schema(text)
    assert plan_schema(old, old).steps == ()
    assert plan_schema(old, compile_schema(text, previous=old)).steps == ()


@given(schemas(), schemas())
@settings(max_examples=60)
def test_pg_05_without_steps_two_schemas_mean_the_same(one: str, other: str) -> None:
    old = compile_schema(one)
    new = compile_schema(other, previous=old)
    found = plan_schema(old, new)
    assert (found.steps == ()) == (old.shape_hash == new.shape_hash)


@given(st.data())
@settings(max_examples=60)
def test_pg_05_holds_for_schemas_that_differ_in_little(data: st.DataObject) -> None:
    parts = data.draw(drafts())
    at = data.draw(st.sampled_from(range(len(parts))))
    items = parts[at].items
    assume(items)
    gone = data.draw(st.sampled_from(range(len(items))))
    fewer = Declared(parts[at].header, items[:gone] + items[gone + 1 :])
    old = compile_schema("\n".join(part.text() for part in parts))
    try:
        text = "\n".join(part.text() for part in (*parts[:at], fewer, *parts[at + 1 :]))
        new = compile_schema(text, previous=old)
    except LanguageError:
        reject()  # something else needed what was left out
    for before, after in ((old, new), (new, old)):
        assert (plan_schema(before, after).steps == ()) == (before.shape_hash == after.shape_hash)


@given(schemas(), schemas())
@settings(max_examples=60)
def test_a_plan_survives_json(one: str, other: str) -> None:
    found = plan(one, other)
    assert SchemaPlan.from_json(found.to_json()) == found


@pytest.mark.parametrize("text", EXAMPLES.values(), ids=EXAMPLES.keys())
def test_from_nothing_to_an_example_types_are_added(text: str) -> None:
    found = plan("", text)
    assert found.supported
    assert all(isinstance(step, AddType) for step in found.steps)


def test_reordering_is_no_change() -> None:
    found = plan(
        "interface I {} interface J {} node A implements I, J { x: enum(a, b) y: I32 z: I32 @key(y, z) @unique(x, y) }",
        "interface J {} node A implements J, I { z: I32 y: I32 x: enum(b, a) @unique(y, x) @key(z, y) } interface I {}",
    )
    assert found.steps == ()


# ---- safe steps -------------------------------------------------------------------------------------------------


def test_a_nullable_property_and_an_index_may_be_added() -> None:
    found = body("x: I32", "x: I32 @index y: String?")
    assert found.steps == (AddProperty(NODE, "A", "y", compile_type("String")), AddConstraint(NODE, "A", Index(("x",))))
    assert found.supported
    assert {step.tier for step in found.steps} == {Tier.SAFE}


def compile_type(of: str) -> DataType:
    return compile_schema(f"node A {{ x: {of} }}").catalog.nodes[0].properties[0].type


def test_types_of_every_kind_may_be_added() -> None:
    found = plan("node A {}", "node A {} node B {} edge E: A -> B interface I {}")
    assert found.steps == (AddType(INTERFACE, "I"), AddType(NODE, "B"), AddType(EDGE, "E"))


def test_renames_come_first_and_later_steps_use_the_new_names() -> None:
    found = plan(
        "node A { x: enum(a) } edge E: A -> A",
        'node B @rename_from("A") { y: enum(a, b) @rename_from("x") z: I32? } edge E: B -> B',
    )
    assert found.steps == (
        RenameType(NODE, "B", "A"),
        RenameProperty(NODE, "B", "y", "x"),
        AddProperty(NODE, "B", "z", I32),
        ExtendEnum(NODE, "B", "y", ("b",)),
    )


def test_an_edge_may_be_renamed() -> None:
    found = plan("node A {} edge E: A -> A", 'node A {} edge F: A -> A @rename_from("E")')
    assert found.steps == (RenameType(EDGE, "F", "E"),)


def test_rules_follow_a_renamed_property() -> None:
    found = body(
        'x: String @unique @check(x, "a") @index(x)', 'y: String @rename_from("x") @unique @index @check(y, "a")'
    )
    assert found.steps == (RenameProperty(NODE, "A", "y", "x"),)


def test_an_enum_may_get_more_labels() -> None:
    found = body("x: enum(b, c)", "x: enum(c, a, b, d)")
    assert found.steps == (ExtendEnum(NODE, "A", "x", ("a", "d")),)


def test_an_enum_in_another_order_is_no_change() -> None:
    assert body("x: enum(b, c)", "x: enum(c, b)").steps == ()


def test_documentation_is_metadata() -> None:
    found = plan(
        'node A @description("d") { x: I32 } edge E: A -> A',
        'node A @instruction("i") { x: I32 @description("p") } edge E: A -> A @description("e")',
    )
    assert found.steps == (
        UpdateMetadata(NODE, "A", "x", ("description",)),
        UpdateMetadata(NODE, "A", None, ("description", "instruction")),
        UpdateMetadata(EDGE, "E", None, ("description",)),
    )


def test_not_null_may_be_relaxed() -> None:
    assert body("x: I32", "x: I32?").steps == (AllowNull(NODE, "A", "x"),)


def test_rules_may_be_removed() -> None:
    found = body('x: String y: I32 @unique(x, y) @range(y, 1..) @check(x, "a")', "x: String y: I32")
    assert found.steps == (
        RemoveConstraint(NODE, "A", Unique(("x", "y"))),
        RemoveConstraint(NODE, "A", Range("y", 1, None)),
        RemoveConstraint(NODE, "A", Check("x", "a")),
    )
    assert not found.needs_validation


# ---- steps that need a look at the data -------------------------------------------------------------------------


def test_not_null_may_be_demanded_after_a_look() -> None:
    found = body("x: I32?", "x: I32")
    assert found.steps == (ForbidNull(NODE, "A", "x"),)
    assert found.steps[0].code == "OG-MF-104"
    assert found.needs_validation


@pytest.mark.parametrize(("before", "after"), [(I32, I64), (U32, U64), (U32, I64), (F32, F64)])
def test_a_number_may_be_widened(before: DataType, after: DataType) -> None:
    names: dict[DataType, str] = {I32: "I32", I64: "I64", U32: "U32", U64: "U64", F32: "F32", F64: "F64"}
    found = body(f"x: {names[before]}", f"x: {names[after]}")
    assert found.steps == (WidenType(NODE, "A", "x", before, after),)
    assert found.needs_validation


def test_an_integer_key_may_be_widened_because_its_text_stays() -> None:
    assert body("x: I32 @key", "x: I64 @key").supported


def test_a_float_key_may_not_be_widened_because_its_text_changes() -> None:
    assert only_refusal(body("x: F32 @key", "x: F64 @key")).code == "OG-MF-106"


def test_rules_may_be_added_after_a_look() -> None:
    found = body("x: String y: I32", 'x: String y: I32 @unique(x, y) @range(y, 1..) @check(x, "a")')
    assert found.steps == (
        AddConstraint(NODE, "A", Unique(("x", "y"))),
        AddConstraint(NODE, "A", Range("y", 1, None)),
        AddConstraint(NODE, "A", Check("x", "a")),
    )
    assert {step.tier for step in found.steps} == {Tier.VALIDATED}


def test_a_changed_range_is_removed_and_added() -> None:
    found = body("x: I32 @range(x, 1..40)", "x: I32 @range(x, 1..60)")
    assert found.steps == (RemoveConstraint(NODE, "A", Range("x", 1, 40)), AddConstraint(NODE, "A", Range("x", 1, 60)))


@pytest.mark.parametrize(
    ("before", "after", "tier"),
    [
        ("0..1", "0..", Tier.SAFE),
        ("1..2", "0..3", Tier.SAFE),
        ("0..", "0..1", Tier.VALIDATED),
        ("0..2", "0..1", Tier.VALIDATED),
        ("0..2", "1..2", Tier.VALIDATED),
    ],
)
def test_a_cardinality_may_change(before: str, after: str, tier: Tier) -> None:
    found = plan(f"node A {{}} edge E: A -> A @card({before})", f"node A {{}} edge E: A -> A @card({after})")
    (step,) = found.steps
    assert isinstance(step, ChangeCardinality)
    assert step.tier is tier


@pytest.mark.parametrize(
    ("of", "literal", "value"),
    [
        ("I32", "-7", -7),
        ("U64", "18446744073709551615", 2**64 - 1),
        ("F32", "1.5", 1.5),
        ("F64", "2", 2),
        ("Bool", "false", False),
        ("String", '""', ""),
        ("enum(a, b)", "a", "a"),
        ("Date", '"2024-02-29"', "2024-02-29"),
        ("DateTime", '"2024-02-29T12:00:00Z"', "2024-02-29T12:00:00Z"),
    ],
)
def test_a_required_property_may_be_added_with_a_default(of: str, literal: str, value: object) -> None:
    found = body("", f"x: {of} @default({literal})")
    (step,) = found.steps
    assert isinstance(step, AddRequiredProperty)
    assert (step.default, type(step.default)) == (value, type(value))
    assert step.tier is Tier.VALIDATED


# ---- drops ------------------------------------------------------------------------------------------------------


def test_drops_are_soft_unless_data_may_be_lost() -> None:
    before = "node A { x: I32? y: I32 } node B {} edge E: A -> B edge F: A -> A"
    after = "node A { y: I32 } edge F: A -> A"
    soft = plan(before, after)
    assert soft.steps == (DropProperty(NODE, "A", "x"), DropType(EDGE, "E"), DropType(NODE, "B"))
    assert [step.code for step in soft.steps] == ["OG-DS-104", "OG-DS-103", "OG-DS-102"]
    assert soft.supported
    assert soft.loses_data
    hard = plan(before, after, allow_data_loss=True)
    assert hard.steps == (
        DropProperty(NODE, "A", "x", DropMode.HARD),
        DropType(EDGE, "E", DropMode.HARD),
        DropType(NODE, "B", DropMode.HARD),
    )


def test_an_index_goes_with_its_property() -> None:
    assert body("x: I32 y: I32 @index", "x: I32").steps == (DropProperty(NODE, "A", "y"),)


def test_a_drop_step_survives_json_with_its_mode_in_snake_case() -> None:
    found = SchemaPlan((DropProperty(EDGE, "E", "x", DropMode.HARD), DropType(NODE, "A")))
    assert SchemaPlan.from_json(found.to_json()) == found
    first, second = json.loads(found.to_json())
    assert first == {"step": "drop_property", "kind": "edge", "type": "E", "property": "x", "mode": "hard"}
    assert second == {"step": "drop_type", "kind": "node", "type": "A", "mode": "soft"}


def test_an_interface_cannot_be_dropped_like_a_table() -> None:
    with pytest.raises(ValueError, match="removed, not dropped"):
        DropType(INTERFACE, "I")


# ---- interfaces -------------------------------------------------------------------------------------------------


def test_a_property_may_move_between_declared_and_injected() -> None:
    direct, injected = "node A { t: I32 }", "interface I { t: I32 } node A implements I {}"
    there, back = plan(direct, injected), plan(injected, direct)
    assert there.steps == (
        AddType(INTERFACE, "I"),
        UpdateMetadata(NODE, "A", "t", ("interfaces", "provenance")),
        UpdateMetadata(NODE, "A", None, ("implements",)),
    )
    assert back.steps == (
        UpdateMetadata(NODE, "A", "t", ("interfaces", "provenance")),
        UpdateMetadata(NODE, "A", None, ("implements",)),
        RemoveInterface("I"),
    )
    assert there.supported
    assert back.supported


def test_a_property_added_to_an_interface_is_added_to_its_nodes() -> None:
    found = plan("interface I {} node A implements I {}", "interface I { t: I32? } node A implements I {}")
    assert found.steps == (AddProperty(NODE, "A", "t", I32), UpdateMetadata(INTERFACE, "I", None, ("properties",)))


def test_a_required_property_added_to_an_interface_is_refused_at_its_nodes() -> None:
    found = plan("interface I {} node A implements I {}", "interface I { t: I32 } node A implements I {}")
    assert [step.entity for step in found.refusals] == ["node:A.t"]


def test_losing_one_of_two_contributors_is_metadata() -> None:
    both = "interface I { t: I32 } interface J { t: I32 } "
    found = plan(both + "node A implements I, J {}", both + "node A implements J {}")
    assert found.supported
    assert {type(step) for step in found.steps} == {UpdateMetadata}


# ---- refusals ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "entity", "code"),
    [
        ("", "x: I32", "node:A.x", "OG-MF-103"),
        ("", "x: I32 @default(1.5)", "node:A.x", "OG-MF-103"),
        ("", 'x: I32 @default("1")', "node:A.x", "OG-MF-103"),
        ("", "x: U32 @default(-1)", "node:A.x", "OG-MF-103"),
        ("", "x: I32 @default(true)", "node:A.x", "OG-MF-103"),
        ("", "x: Bool @default(1)", "node:A.x", "OG-MF-103"),
        ("", "x: String @default(1)", "node:A.x", "OG-MF-103"),
        ("", "x: enum(a) @default(b)", "node:A.x", "OG-MF-103"),
        ("", 'x: Date @default("soon")', "node:A.x", "OG-MF-103"),
        ("", 'x: DateTime @default("2024-01-01T00:00:00")', "node:A.x", "OG-MF-103"),
        ("", "x: Blob @default(b)", "node:A.x", "OG-MF-103"),
        ("", f"x: F64 @default({'9' * 399})", "node:A.x", "OG-MF-103"),
        ("", "x: F32 @default(1000000000000000000000000000000000000000)", "node:A.x", "OG-MF-103"),
        ("", "x: I32 @default", "node:A.x", "OG-MF-103"),
        ("x: I64", "x: I32", "node:A.x", "OG-MF-106"),
        ("x: I32", "x: String", "node:A.x", "OG-MF-106"),
        ("x: I32", "x: F64", "node:A.x", "OG-MF-106"),
        ("x: I32", "x: U32", "node:A.x", "OG-MF-106"),
        ("x: I32", "x: [I32]", "node:A.x", "OG-MF-106"),
        ("x: [I32]", "x: [I64]", "node:A.x", "OG-MF-106"),
        ("x: Vector(2)", "x: Vector(3)", "node:A.x", "OG-MF-106"),
        ("x: enum(a, b)", "x: enum(a)", "node:A.x", "OG-MF-106"),
        ("x: enum(a, b)", "x: enum(a, c)", "node:A.x", "OG-MF-106"),
        ("x: enum(a)", "x: String", "node:A.x", "OG-MF-106"),
        ("x: String", "x: enum(a)", "node:A.x", "OG-MF-106"),
        ("x: enum(a)", "x: enum(a, b)?", "node:A.x", "OG-MF-106"),
        ("x: enum(a)?", "x: enum(a, b)", "node:A.x", "OG-MF-106"),
        ("x: I32", "x: I64?", "node:A.x", "OG-MF-106"),
        ("x: I32", "x: I32 @key", "node:A", None),
        ("x: I32 @key", "x: I32", "node:A", None),
        ("x: I32 @index", "x: I32", "node:A", None),
        ("x: I32", "x: I32 @pii", "node:A.x", None),
        ("x: I32 @pii(1)", "x: I32 @pii(2)", "node:A.x", None),
        ("s: String v: Vector(2)", "s: String v: Vector(2) @embed(s)", "node:A.v", None),
        ("s: String t: String v: Vector(2) @embed(s)", "s: String t: String v: Vector(2) @embed(t)", "node:A.v", None),
        (
            's: String v: Vector(2) @embed(s, model="a")',
            's: String v: Vector(2) @embed(s, model="b")',
            "node:A.v",
            None,
        ),
    ],
)
def test_a_change_nobody_can_carry_out_is_refused(before: str, after: str, entity: str, code: str | None) -> None:
    found = only_refusal(body(before, after))
    assert (found.entity, found.code) == (entity, code)


@pytest.mark.parametrize(
    ("before", "after", "entity"),
    [
        ("edge E: A -> A", "edge E: B -> A", "edge:E"),
        ("edge E: A -> A", "edge E: A -> B", "edge:E"),
        ("edge E: A -> A", "edge E: A -> A @n", "edge:E"),
        ("edge E: A -> A", "edge E: A -> A { @key(src, dst) }", "edge:E"),
    ],
)
def test_a_change_of_an_edge_nobody_can_carry_out_is_refused(before: str, after: str, entity: str) -> None:
    both = "node A {} node B {} "
    assert only_refusal(plan(both + before, both + after)).entity == entity


def test_changing_the_key_to_other_members_is_refused() -> None:
    found = body("x: I32 y: I32 @key(x)", "x: I32 y: I32 @key(x, y)")
    assert {step.entity for step in found.refusals} == {"node:A"}


def test_an_embedded_text_may_be_renamed() -> None:
    found = body("s: String v: Vector(2) @embed(s)", 't: String @rename_from("s") v: Vector(2) @embed(t)')
    assert found.steps == (RenameProperty(NODE, "A", "t", "s"),)


def test_a_default_may_change_because_only_migrations_read_it() -> None:
    found = body("x: I32 @default(1)", "x: I32 @default(2)")
    assert found.steps == (UpdateMetadata(NODE, "A", "x", ("default",)),)


def test_one_refusal_blocks_the_plan_but_hides_no_other_step() -> None:
    found = body("x: I32", "x: String y: I32?")
    assert [type(step) for step in found.steps] == [AddProperty, Unsupported]
    assert not found.supported


# ---- the guard --------------------------------------------------------------------------------------------------


def with_node(ir: SchemaIR, change: Callable[[NodeType], NodeType]) -> SchemaIR:
    changed = change(ir.catalog.nodes[0])
    return SchemaIR(Catalog((changed,)), ir.next_identity_id + 5, ir.identity_domain)


@pytest.mark.parametrize(
    ("change", "entity"),
    [
        (lambda n: replace(n, incarnation_id=n.incarnation_id + 5), "node:A"),
        (lambda n: replace(n, renamed_from="B"), "node:A"),
        (lambda n: replace(n, properties=tuple(replace(p, renamed_from="y") for p in n.properties)), "node:A.x"),
    ],
)
def test_a_difference_no_rule_knows_is_refused(change: Callable[[NodeType], NodeType], entity: str) -> None:
    old = compile_schema("node A { x: I32 }")
    found = only_refusal(plan_schema(old, with_node(old, change)))
    assert found.entity == entity
    assert "unclassified" in found.reason


def test_a_difference_that_made_no_step_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omnigraph_sql.bind.schema_plan._Planner.steps", lambda _: iter(()))
    assert only_refusal(body("x: I32", "x: I64")) == Unsupported("schema", "unclassified change of shape")
    assert body("x: I32", "x: I32").steps == ()


def test_a_schema_of_another_graph_is_refused() -> None:
    one, other = compile_schema("node A {}", identity_domain="a"), compile_schema("node A {}", identity_domain="b")
    assert only_refusal(plan_schema(one, other)).entity == "schema"


def test_a_schema_compiled_on_its_own_is_refused() -> None:
    assert (
        only_refusal(plan_schema(compile_schema("node A { x: I32 }"), compile_schema("node A {}"))).entity == "schema"
    )


# ---- reading it -------------------------------------------------------------------------------------------------

READS: list[tuple[Step, str]] = [
    (AddType(INTERFACE, "I"), "add interface I"),
    (RenameType(EDGE, "F", "E"), "rename edge E to F"),
    (RemoveInterface("I"), "remove interface I"),
    (DropType(NODE, "A"), "drop node A (soft)"),
    (AddProperty(NODE, "A", "x", I32), "add property A.x: I32?"),
    (AddRequiredProperty(NODE, "A", "x", I32, 5), "add property A.x: I32, at first 5"),
    (RenameProperty(NODE, "A", "y", "x"), "rename property A.x to y"),
    (DropProperty(NODE, "A", "x", DropMode.HARD), "drop property A.x (hard)"),
    (ExtendEnum(NODE, "A", "x", ("c", "d")), "extend enum A.x by c, d"),
    (WidenType(NODE, "A", "x", I32, I64), "widen A.x from I32 to I64"),
    (AllowNull(NODE, "A", "x"), "allow null in A.x"),
    (ForbidNull(NODE, "A", "x"), "forbid null in A.x"),
    (AddConstraint(EDGE, "E", Unique(("src", "x"))), "add @unique(src, x) to edge E"),
    (RemoveConstraint(NODE, "A", Range("x", None, 4)), "remove @range(x, ..4) from node A"),
    (
        ChangeCardinality("E", Cardinality(), Cardinality(1, 2)),
        "change the cardinality of edge E from 0.. to 1..2",
    ),
    (UpdateMetadata(NODE, "A", "x", ("description",)), "update description of node A.x"),
    (Unsupported("node:A", "no", "OG-MF-106"), "unsupported: node:A: no [OG-MF-106]"),
]


@pytest.mark.parametrize(("step", "text"), READS, ids=[type(step).__name__ for step, _ in READS])
def test_a_step_reads_as_a_sentence_and_survives_json(step: Step, text: str) -> None:
    assert step.text() == text
    assert SchemaPlan((step,)).text() == text + "\n"
    assert SchemaPlan.from_json(SchemaPlan((step,)).to_json()).steps == (step,)
