"""Schema text to syntax tree: every node knows where it stands."""

import dataclasses
from collections.abc import Iterator
from decimal import Decimal

import pytest
from hypothesis import given

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import ParseError, TextLimitExceeded
from omnigraph_sql.base.types import I32, STRING
from omnigraph_sql.grammar.ast.pg import (
    CheckRule,
    ChoiceShape,
    EdgeDecl,
    InterfaceDecl,
    ListShape,
    MembersKind,
    MembersRule,
    NodeDecl,
    Number,
    RangeRule,
    Scalar,
    SchemaText,
    SimpleShape,
    VectorShape,
    Word,
)
from omnigraph_sql.grammar.pg import parse_schema
from omnigraph_sql.grammar.source import Source, Span
from tests.schemas import EXAMPLES
from tests.strategies_pg import schemas


def parse(text: str) -> SchemaText:
    return parse_schema(Source(text))


def one_node(text: str) -> NodeDecl:
    (found,) = parse(text).declarations
    assert isinstance(found, NodeDecl)
    return found


def nodes_of(value: object) -> Iterator[tuple[object, Span]]:
    """Every node of a tree with its span."""
    if isinstance(value, tuple):
        for item in value:
            yield from nodes_of(item)
    elif dataclasses.is_dataclass(value) and not isinstance(value, Span | Source):
        span = getattr(value, "span", None)
        if span is not None:
            yield value, span
        for field in dataclasses.fields(value):
            yield from nodes_of(getattr(value, field.name))


def test_an_empty_text_declares_nothing() -> None:
    assert parse("").declarations == ()
    assert parse(" \t\r\n// only\n/* comments * / */").declarations == ()


def test_declarations_keep_their_order() -> None:
    found = parse("node B {} edge E: B -> A interface I {} node A {}").declarations
    assert [type(d) for d in found] == [NodeDecl, EdgeDecl, InterfaceDecl, NodeDecl]


def test_a_property_has_a_shape() -> None:
    found = one_node("node A { a: I32 b: [String]? c: enum(x, y-1) d: Vector(3)? }")
    shapes = [p.shape for p in found.properties]
    assert isinstance(shapes[0], SimpleShape)
    assert shapes[0].type == I32
    assert isinstance(shapes[1], ListShape)
    assert shapes[1].item.type == STRING
    assert isinstance(shapes[2], ChoiceShape)
    assert [label.text for label in shapes[2].labels] == ["x", "y-1"]
    assert isinstance(shapes[3], VectorShape)
    assert shapes[3].dimensions.value == 3
    assert [p.nullable for p in found.properties] == [False, True, False, True]


def test_a_rule_word_with_a_parenthesis_is_a_rule_and_without_one_a_note() -> None:
    found = one_node("node A { a: I32 @key @unique\n b: I32 @index\n @index(a, b) @unique (b) }")
    assert [[n.name.text for n in p.notes] for p in found.properties] == [["key", "unique"], ["index"]]
    kinds = [(r.kind, [m.text for m in r.members]) for r in found.rules if isinstance(r, MembersRule)]
    assert kinds == [(MembersKind.INDEX, ["a", "b"]), (MembersKind.UNIQUE, ["b"])]


def test_a_rule_may_follow_a_property_directly() -> None:
    text = 'node A { a: String @check(a, "x") b: I32 @range(b, -1.50..2) @range(b, ..0) }'
    found = one_node(text)
    check, low_high, high = found.rules
    assert isinstance(check, CheckRule)
    assert check.pattern.value == "x"
    assert isinstance(low_high, RangeRule)
    at = text.index("-1.50..2")
    assert low_high.low == Number(Decimal("-1.50"), Span(at, at + 5))
    assert low_high.high == Number(2, Span(at + 7, at + 8))
    assert isinstance(high, RangeRule)
    assert high.low is None


def test_words_that_begin_like_rules_are_notes() -> None:
    found = one_node("node A { a: I32 @keyed(x) @indexes @card_x(1) @checks }")
    assert [n.name.text for n in found.properties[0].notes] == ["keyed", "indexes", "card_x", "checks"]


def test_a_note_has_one_plain_and_any_number_of_named_arguments() -> None:
    (note,) = one_node('node A @n(word, a="s", b=true, node=2.5) {}').notes
    assert isinstance(note.argument, Word)
    assert [(a.name.text, a.value.value) for a in note.named] == [("a", "s"), ("b", True), ("node", 2.5)]


@pytest.mark.parametrize("word", ["true", "false"])
def test_a_truth_value_is_no_name(word: str) -> None:
    (note,) = one_node(f"node A @n({word}) {{}}").notes
    assert isinstance(note.argument, Scalar)
    assert note.argument.value is (word == "true")
    (other,) = one_node(f"node A @n({word}ish) {{}}").notes
    assert isinstance(other.argument, Word)


def test_comments_may_stand_anywhere() -> None:
    text = "/**/node/* a */A//x\n{a/**/:/**/I32/* ) */@key// }\n}//"
    assert one_node(text).properties[0].notes[0].name.text == "key"


def test_comments_do_not_nest() -> None:
    with pytest.raises(ParseError):
        parse("/* /* */ */")


@pytest.mark.parametrize("text", EXAMPLES.values(), ids=EXAMPLES.keys())
def test_every_node_of_an_example_has_its_text_at_its_span(text: str) -> None:
    check_spans(parse(text), text)


@given(schemas())
def test_every_node_has_its_text_at_its_span(text: str) -> None:
    check_spans(parse(text), text)


def check_spans(tree: SchemaText, text: str) -> None:
    for node, span in nodes_of(tree):
        written = text[span.start : span.end]
        assert span.end <= len(text)
        match node:
            case Word(word):
                assert written in (word, f"@{word}")
            case Number(value):
                assert Decimal(written) == value
            case SimpleShape(of):
                assert written == of.kind.value
            case Scalar(str()):
                assert written[0] == written[-1] == '"'
            case NodeDecl() | EdgeDecl() | InterfaceDecl():
                assert written.split()[0] in ("node", "edge", "interface")
            case SchemaText():
                assert written == text
            case _:
                assert written


@pytest.mark.parametrize("size", [limits.IDENTIFIER_CHARACTERS_MAX - 1, limits.IDENTIFIER_CHARACTERS_MAX])
def test_a_name_may_be_long(size: int) -> None:
    name = "x" * size
    assert one_node(f"node A {{ {name}: I32 }}").properties[0].name.text == name


@pytest.mark.parametrize(
    "text", ["node {} {{}}", "node A {{ x{}: I32 }}", "node A @x{} {{}}", "node A {{ x: enum({}) }}"]
)
def test_a_name_may_not_be_too_long(text: str) -> None:
    with pytest.raises(TextLimitExceeded, match="at most 255 characters"):
        parse(text.format("A" * (limits.IDENTIFIER_CHARACTERS_MAX + 1)))


@pytest.mark.parametrize(
    "text", ["node A @n({}) {{}}", "node A {{ x: Vector({}) }}", "node A {{ x: I32 @range(x, {}..) }}"]
)
def test_a_number_may_not_be_too_long(text: str) -> None:
    with pytest.raises(ParseError, match="at most 400 digits"):
        parse(text.format("9" * 5000))


def test_a_number_too_large_for_a_float_is_refused() -> None:
    with pytest.raises(ParseError, match="too large for a float"):
        parse(f"node A @n({'9' * 350}.5) {{}}")


def test_a_text_that_nests_too_deep_is_refused() -> None:
    with pytest.raises(TextLimitExceeded):
        parse("node A " + "{" * 100_000)


def test_an_enum_with_too_many_labels_is_refused() -> None:
    def labels(count: int) -> str:
        return ", ".join(f"l{at}" for at in range(count))

    assert parse(f"node A {{ x: enum({labels(limits.LIST_ITEMS_MAX)}) }}").declarations
    with pytest.raises(TextLimitExceeded):
        parse(f"node A {{ x: enum({labels(limits.LIST_ITEMS_MAX + 1)}) }}")


def test_a_text_that_is_too_long_is_refused() -> None:
    with pytest.raises(TextLimitExceeded):
        parse("// " + "x" * limits.STATEMENT_TEXT_BYTES_MAX)
