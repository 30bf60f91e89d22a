"""From schema text to catalog: what each construct of the language means."""

from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph_sql.base.catalog import (
    Cardinality,
    Check,
    EdgeType,
    Embedding,
    Index,
    Key,
    NodeType,
    Note,
    Property,
    Range,
    Unique,
)
from omnigraph_sql.base.errors import LanguageError, UnknownName
from omnigraph_sql.base.types import (
    BLOB,
    BOOL,
    DATE,
    DATETIME,
    F32,
    F64,
    I32,
    I64,
    STRING,
    U32,
    U64,
    DataType,
    EnumType,
    ListType,
    VectorType,
    arrow_type,
)
from omnigraph_sql.bind.schema import compile_schema
from tests.schemas import EXAMPLES, KITCHEN
from tests.strategies_pg import Declared, drafts


def node(text: str, name: str = "A", *, lenient: bool = False) -> NodeType:
    found = compile_schema(text, lenient=lenient).catalog.node(name)
    assert found is not None
    return found


def edge(text: str, name: str = "E") -> EdgeType:
    found = compile_schema("node A {} node B {} " + text).catalog.edge(name)
    assert found is not None
    return found


def column(text: str, name: str = "x") -> Property:
    found = node(f"node A {{ {text} }}").property(name)
    assert found is not None
    return found


# ---- types and tables -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("String", STRING),
        ("Blob", BLOB),
        ("Bool", BOOL),
        ("I32", I32),
        ("I64", I64),
        ("U32", U32),
        ("U64", U64),
        ("F32", F32),
        ("F64", F64),
        ("Date", DATE),
        ("DateTime", DATETIME),
        ("[String]", ListType(STRING)),
        ("[DateTime]", ListType(DATETIME)),
        ("Vector(1)", VectorType(1)),
        ("Vector(2147483647)", VectorType(2147483647)),
        ("enum(b, a)", EnumType(("a", "b"))),
        ("enum(Ω)", None),
        ("enum(0-1, _x, -)", EnumType(("-", "0-1", "_x"))),
    ],
)
def test_a_type_is_what_it_is_called(written: str, meant: DataType | None) -> None:
    if meant is None:
        with pytest.raises(LanguageError):
            column(f"x: {written}")
        return
    assert column(f"x: {written}") == Property("x", meant, False, stable_id=3)
    assert column(f"x: {written}?").nullable


def test_a_node_table_has_its_id_first_then_properties_then_injected_ones() -> None:
    schema = node("interface I { late: Date } node A implements I { b: I32 a: String? }").schema
    assert schema.order == ("id", "b", "a", "late")
    first = schema.fields[0]
    assert arrow_type(first.type) == pa.utf8()
    assert not first.nullable


def test_an_edge_table_has_id_and_ends_before_its_properties() -> None:
    found = edge("edge E: A -> B { weight: F64? }")
    assert found.schema.order == ("id", "src", "dst", "weight")
    assert [f.nullable for f in found.schema.fields] == [False, False, False, True]
    assert (found.source, found.target) == ("A", "B")


def test_nodes_and_edges_are_found_in_the_catalog() -> None:
    catalog = compile_schema(KITCHEN).catalog
    assert [n.name for n in catalog.nodes] == ["Recipe", "Ingredient", "Shelf"]
    assert [e.name for e in catalog.edges] == ["Uses", "StoredAt", "VariantOf"]
    assert [i.name for i in catalog.interfaces] == ["Titled"]


def test_a_node_an_edge_and_an_interface_may_share_a_name() -> None:
    catalog = compile_schema("interface A {} node A implements A {} edge A: A -> A").catalog
    assert catalog.node("A") is not None
    assert catalog.edge("A") is not None


def test_a_name_with_a_letter_outside_of_ascii_is_looked_up_without_harm() -> None:
    catalog = compile_schema(KITCHEN).catalog
    assert catalog.node("Ärzte") is None
    assert catalog.edge_word("ß") is None
    assert catalog.edge_word("uSES") is catalog.edge("Uses")


def test_other_names_with_the_prefix_of_the_storage_are_ordinary() -> None:
    assert node("node A { _row: I32 _rowids: I32 }").schema.order == ("id", "_row", "_rowids")


@pytest.mark.parametrize("name", ["src", "dst", "from", "to"])
def test_a_node_may_have_what_only_edges_reserve(name: str) -> None:
    assert column(f"{name}: String", name).type == STRING


@pytest.mark.parametrize("name", ["node", "edge", "interface", "implements", "enum", "true", "key", "match"])
def test_a_property_may_be_called_like_a_word_of_the_language(name: str) -> None:
    found = node(f"node A {{ a: I32 @n(1) {name}: String @index z: I32 @unique({name}) @index({name}, z) }}")
    assert found.schema.order == ("id", "a", name, "z")
    assert Unique((name,)) in found.constraints


# ---- keys, unique, index ----------------------------------------------------------------------------------------


def test_a_key_behind_a_property_is_a_key_rule() -> None:
    found = node("node A { x: I32 @key }")
    assert found.constraints == (Key(("x",)),)
    assert found.key == ("x",)


def test_a_key_in_the_body_keeps_its_members_together() -> None:
    assert node("node A { x: I32 y: Date @key(y, x) }").key == ("y", "x")


@pytest.mark.parametrize(
    "of", ["String", "enum(a)", "Bool", "I32", "I64", "U32", "U64", "F32", "F64", "Date", "DateTime"]
)
def test_every_scalar_but_a_blob_may_be_a_key(of: str) -> None:
    assert node(f"node A {{ x: {of} @key }}").key == ("x",)


def test_a_key_implies_an_index() -> None:
    assert node("node A { x: I32 y: I32 z: I32 @key(x, y) @index(z) }").indexed == {"x", "y", "z"}
    assert node("node A { x: I32 @unique }").indexed == frozenset()


def test_a_rule_over_several_properties_is_one_rule() -> None:
    found = node("node A { x: I32? y: I32 @unique(y, x) @index(y, x) }")
    assert found.constraints == (Unique(("x", "y")), Index(("y", "x")))


def test_the_same_rule_written_twice_is_one_rule() -> None:
    found = node("node A { x: I32 @index y: I32 @index(x) @unique(x, y) @unique(y, x) }")
    assert found.constraints == (Unique(("x", "y")), Index(("x",)))


def test_an_index_over_a_list_is_only_written_in_the_body() -> None:
    assert node("node A { x: [I32] @index(x) }").constraints == (Index(("x",)),)


def test_a_vector_may_be_indexed() -> None:
    assert node("node A { x: Vector(2) @index }").indexed == {"x"}


def test_an_edge_may_be_unique_by_its_ends() -> None:
    assert edge("edge E: A -> B { @unique(dst, src) }").constraints == (Unique(("src", "dst")),)


def test_an_edge_may_index_its_ends() -> None:
    assert edge("edge E: A -> B { x: I32 @index(src, x) }").constraints == (Index(("src", "x")),)


def test_properties_of_edges_may_be_unique_and_indexed() -> None:
    found = edge("edge E: A -> B { x: I32 @unique y: I32 @index }")
    assert found.constraints == (Unique(("x",)), Index(("y",)))


def test_the_key_of_an_edge_starts_with_its_ends() -> None:
    assert edge("edge E: A -> B { x: I32 y: I32 @key(y, dst, x, src) }").key == ("src", "dst", "y", "x")
    assert edge("edge E: A -> B { @key(src, dst) }").key == ("src", "dst")


def test_a_rule_word_may_be_followed_by_blanks_and_comments() -> None:
    found = node("node A { x: I32 @ key /* of ) x */ // (\n (x) y: I32 @unique\n\n@index (x) }")
    assert found.constraints == (Key(("x",)), Unique(("y",)), Index(("x",)))


def test_a_unique_blob_is_accepted_in_a_stored_text_only() -> None:
    text = "node A { x: Blob @unique }"
    with pytest.raises(LanguageError, match="cannot hold a Blob"):
        compile_schema(text)
    assert node(text, lenient=True).constraints == (Unique(("x",)),)


@pytest.mark.parametrize("rule", ["@key", "@index"])
def test_a_stored_text_gets_no_other_licence(rule: str) -> None:
    with pytest.raises(LanguageError, match="cannot hold a Blob"):
        compile_schema(f"node A {{ x: Blob {rule} }}", lenient=True)


# ---- ranges and checks ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("of", "written", "low", "high"),
    [
        ("I32", "1..40", 1, 40),
        ("I32", "-5..-1", -5, -1),
        ("I32", "1..", 1, None),
        ("I32", "..40", None, 40),
        ("I32", "7..7", 7, 7),
        ("I32", "- 5 .. 5", -5, 5),
        ("U64", "0..18446744073709551615", 0, 2**64 - 1),
        ("I64", "-9223372036854775808..", -(2**63), None),
        ("F64", "-0.5..0.5", Decimal("-0.5"), Decimal("0.5")),
        ("F32", "1.0..2.50", 1, Decimal("2.5")),
        ("F64", "0.1234567890123456789012345678901234..", Decimal("0.1234567890123456789012345678901234"), None),
        ("F64", "-0.1234567890123456789012345678901234..", Decimal("-0.1234567890123456789012345678901234"), None),
    ],
)
def test_a_range_has_the_bounds_it_is_written_with(
    of: str, written: str, low: int | Decimal | None, high: int | Decimal | None
) -> None:
    found = node(f"node A {{ x: {of}? @range(x, {written}) }}")
    assert found.constraints == (Range("x", low, high),)


def test_a_whole_bound_of_a_float_has_one_spelling() -> None:
    texts = ["node A { x: F32 @range(x, 1..2) }", "node A { x: F32 @range(x, 1.0..2.000) }"]
    assert len({compile_schema(text).shape_hash for text in texts}) == 1


def test_a_check_keeps_its_pattern() -> None:
    assert node(r'node A { x: String? @check(x, "^\\d\"$") }').constraints == (Check("x", r'^\d"$'),)


def test_ranges_and_checks_may_stand_on_edges() -> None:
    found = edge('edge E: A -> B { x: I32 y: String @range(x, 0..) @check(y, "a") }')
    assert found.constraints == (Range("x", 0, None), Check("y", "a"))


# ---- edges ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("", Cardinality(0, None)),
        ("@card(0..1)", Cardinality(0, 1)),
        ("@card(1..)", Cardinality(1, None)),
        ("@card(0..)", Cardinality()),
        ("@card(2..2)", Cardinality(2, 2)),
        ("@ card ( 0 .. 0 )", Cardinality(0, 0)),
    ],
)
def test_a_cardinality_has_a_minimum_and_maybe_a_maximum(written: str, meant: Cardinality) -> None:
    assert edge(f"edge E: A -> B {written}").cardinality == meant


def test_an_edge_needs_no_body() -> None:
    found = edge("edge E: A -> A edge F: A -> B {}")
    assert found.properties == ()


# ---- notes ------------------------------------------------------------------------------------------------------


def test_documentation_is_kept() -> None:
    text = 'node A @description("d") @instruction("i") { x: I32 @description("p\\n") }'
    found = node(text)
    assert (found.description, found.instruction) == ("d", "i")
    assert [p.description for p in found.properties] == ["p\n"]
    road = edge('edge E: A -> B @description("d") @instruction("i") { x: I32 @description("p") }')
    assert (road.description, road.instruction) == ("d", "i")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ('@embed("s")', Embedding("s")),
        ("@embed(s)", Embedding("s")),
        ('@embed("s", model="m")', Embedding("s", "m")),
    ],
)
def test_an_embedding_records_its_text_and_model(written: str, meant: Embedding) -> None:
    assert column(f"s: String x: Vector(2)? {written}").embedding == meant


def test_an_embedding_may_name_an_injected_text() -> None:
    found = node("interface I { s: String } node A implements I { x: Vector(2) @embed(s) }")
    assert found.property("x") == Property(
        "x", VectorType(2), False, found.properties[0].stable_id, None, Embedding("s")
    )


def test_an_interface_may_embed_a_text_its_nodes_have() -> None:
    text = "interface I { x: Vector(2) @embed(s) }"
    assert node(text + "node A implements I { s: String }").property("x") is not None
    with pytest.raises(LanguageError, match="has no property s for x to embed"):
        compile_schema(text + "node A implements I {}")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("@pii", Note("pii")),
        ('@owner("ana")', Note("owner", "ana")),
        ("@owner(ana)", Note("owner", "ana")),
        ("@weight(3)", Note("weight", 3)),
        ("@weight(-3)", Note("weight", -3)),
        ("@weight(1.50)", Note("weight", 1.5)),
        ("@flag(true)", Note("flag", True)),
        ('@n(false, a=1, b="x")', Note("n", False, (("a", 1), ("b", "x")))),
        ("@default(0)", Note("default", 0)),
    ],
)
def test_any_other_note_is_kept_as_it_is(written: str, meant: Note) -> None:
    assert column(f"x: I32 {written}").notes == (meant,)
    assert node(f"node A {written} {{}}").notes == (meant,)
    assert edge(f"edge E: A -> B {written}").notes == (meant,)


# ---- interfaces -------------------------------------------------------------------------------------------------


def test_an_interface_injects_properties_with_their_rules() -> None:
    found = node("interface I { k: String @key u: I32 @unique @index } node A implements I { own: Date }")
    assert found.schema.order == ("id", "own", "k", "u")
    assert found.constraints == (Key(("k",)), Unique(("u",)), Index(("u",)))
    assert [(p.name, p.injected, p.interfaces) for p in found.properties] == [
        ("own", False, ()),
        ("k", True, ("I",)),
        ("u", True, ("I",)),
    ]


def test_a_property_declared_again_brings_its_own_rules() -> None:
    found = node("interface I { t: String @index @unique } node A implements I { t: String }")
    assert found.constraints == ()
    assert [(p.injected, p.interfaces) for p in found.properties] == [(False, ("I",))]


def test_two_interfaces_both_contribute() -> None:
    found = node("interface I { a: I32 s: String @index } interface J { s: String @unique } node A implements J, I {}")
    assert found.implements == ("J", "I")
    assert found.schema.order == ("id", "s", "a")
    assert [p.interfaces for p in found.properties] == [("J", "I"), ("I",)]
    assert found.constraints == (Unique(("s",)), Index(("s",)))


def test_an_interface_may_be_declared_after_its_node() -> None:
    assert node("node A implements I {} interface I { t: String }").schema.order == ("id", "t")


def test_body_rules_may_name_injected_properties() -> None:
    found = node("interface I { t: String n: I32 } node A implements I { @key(t) @range(n, 0..) }")
    assert found.constraints == (Key(("t",)), Range("n", 0, None))


def test_an_interface_without_implementers_is_checked_too() -> None:
    with pytest.raises(LanguageError, match="interface I has x in @unique"):
        compile_schema("interface I { x: Blob @unique }")


def test_a_fault_of_an_interface_is_reported_where_it_was_made() -> None:
    with pytest.raises(LanguageError) as caught:
        compile_schema("node A implements I {}\ninterface I { x: [I32] @key }")
    assert caught.value.at.line == 2


# ---- suggestions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ("node Airport {} edge E: Airprt -> Airport", "Airport"),
        ("interface Titled {} node A implements Title {}", "Titled"),
        ("node A { name: String @key(nane) }", "name"),
        ("node A {} edge E: A -> A { @unique(scr) }", "src"),
        ("node A { summary: String v: Vector(2) @embed(sumary) }", "summary"),
        ("node A { x: Integer }", "I64"),
        ("node A { x: Sting }", "String"),
        ("node A { x: DATETIME }", "DateTime"),
        ("noed A {}", "node"),
        ("interfaec A {}", "interface"),
        ("node A implemets B {}", "implements"),
    ],
)
def test_a_near_miss_gets_a_suggestion(text: str, suggestion: str) -> None:
    with pytest.raises(LanguageError) as caught:
        compile_schema(text)
    assert caught.value.suggestion == suggestion
    assert f"did you mean '{suggestion}'?" in caught.value.report()


def test_a_name_like_no_other_gets_none() -> None:
    with pytest.raises(UnknownName) as caught:
        compile_schema("node Airport {} edge E: Qqq -> Airport")
    assert caught.value.suggestion is None


# ---- order and comments -----------------------------------------------------------------------------------------

BLANKS = st.sampled_from([" ", "\n", "\t\r\n ", ' // a comment with } and "\n', " /* many\n lines * / */ "])


@st.composite
def shuffled(draw: st.DrawFn) -> tuple[str, str]:
    """One schema written twice, in different orders and with different blanks."""
    parts = draw(drafts())
    mixed = [Declared(part.header, tuple(draw(st.permutations(part.items)))) for part in draw(st.permutations(parts))]
    blank = draw(BLANKS)
    return "\n".join(part.text() for part in parts), blank + blank.join(part.text(blank) for part in mixed)


@given(shuffled())
def test_pg_01_neither_order_nor_comments_change_the_shape_or_the_identities(texts: tuple[str, str]) -> None:
    one, other = (compile_schema(text) for text in texts)
    assert one.shape_hash == other.shape_hash
    assert one.ir_hash == other.ir_hash


@pytest.mark.parametrize(
    "other",
    [
        "node A { x: I64 }",
        "node A { x: I32? }",
        "node A { y: I32 }",
        "node B { x: I32 }",
        "node A { x: I32 @index }",
        'node A { x: I32 @description("d") }',
        'node A @instruction("d") { x: I32 }',
        "node A { x: I32 @n }",
        "node A { x: I32 } node B {}",
        "interface I {} node A { x: I32 }",
        "interface I { x: I32 } node A implements I {}",
        "interface I { x: I32 } node A implements I { x: I32 }",
        "node A { x: I32 @range(x, 1..) }",
    ],
)
def test_whatever_has_a_meaning_changes_the_shape(other: str) -> None:
    assert compile_schema(other).shape_hash != compile_schema("node A { x: I32 }").shape_hash


def test_the_order_of_enum_labels_and_key_members_has_no_meaning() -> None:
    one = compile_schema("node A { e: enum(a, b) x: I32 y: I32 @key(x, y) }")
    other = compile_schema("node A { y: I32 x: I32 e: enum(b, a) @key(y, x) }")
    assert one.shape_hash == other.shape_hash


@pytest.mark.parametrize("text", EXAMPLES.values(), ids=EXAMPLES.keys())
def test_a_text_compiles_the_same_way_every_time(text: str) -> None:
    assert compile_schema(text) == compile_schema(text)
    assert compile_schema(text).source_text == text


def test_pg_12_edges_whose_names_fold_to_the_same_word_are_refused() -> None:
    with pytest.raises(LanguageError) as caught:
        compile_schema("node A {} edge Route: A -> A edge RoutE: A -> A")
    assert caught.value.code == "S2"


def test_the_place_of_an_error_names_the_text_it_is_in() -> None:
    with pytest.raises(LanguageError) as caught:
        compile_schema("node A { x: Nope }", name="my.pg")
    assert "my.pg:1:13" in caught.value.report()
