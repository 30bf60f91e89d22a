"""Text of a schema → syntax tree."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from difflib import get_close_matches
from math import isfinite
from typing import TYPE_CHECKING, Final

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import ParseError
from omnigraph_sql.base.types import STORABLE, Kind
from omnigraph_sql.grammar.ast.pg import (
    CardinalityDecl,
    CheckRule,
    ChoiceShape,
    Declaration,
    EdgeDecl,
    InterfaceDecl,
    ListShape,
    MembersKind,
    MembersRule,
    NamedArgument,
    NodeDecl,
    NoteNode,
    Number,
    PropertyDecl,
    RangeRule,
    Rule,
    Scalar,
    SchemaText,
    Shape,
    SimpleShape,
    VectorShape,
    Word,
)
from omnigraph_sql.grammar.lexical import decode_string, shallow, too_long_name
from omnigraph_sql.grammar.pg_mistakes import PG
from omnigraph_sql.grammar.source import Source, Span

if TYPE_CHECKING:
    from lark import Token, Tree

    Part = Tree[Token] | Token | None

_SCALARS: Final = {scalar.kind.value: scalar for scalar in STORABLE}
_ELSEWHERE: Final = {
    "Int": "I64",
    "Integer": "I64",
    "Int32": "I32",
    "Int64": "I64",
    "Long": "I64",
    "Float": "F64",
    "Double": "F64",
    "Number": "F64",
    "Decimal": "F64",
    "Boolean": "Bool",
    "Text": "String",
    "Str": "String",
    "Timestamp": "DateTime",
    "Bytes": "Blob",
    "Binary": "Blob",
}
"""What other languages call our types; spelling alone would not lead from one to the other."""

_NUMBER_CHARACTERS_MAX: Final = 400
"""Room for the largest float written out; longer digits only cost time."""


def parse_schema(source: Source) -> SchemaText:
    """The tree of a schema text. Raises LanguageError and nothing else, whatever the text."""
    tree = PG.parse(source)
    with shallow(source):
        declarations = _Builder(source).declarations(tree)
    return SchemaText(source, declarations, Span(0, len(source.text)))


def _tree(part: Part) -> Tree[Token]:
    from lark import Tree

    assert isinstance(part, Tree)
    return part


def _parts(tree: Tree[Token]) -> list[Part]:
    """Children, with None where an optional part is missing, which lark's own types do not tell."""
    return list(tree.children)


def _token(part: Part) -> Token:
    from lark import Token

    assert isinstance(part, Token)
    return part


def _span(part: Part) -> Span:
    from lark import Token

    if isinstance(part, Token):
        start = part.start_pos or 0
        return Span(start, start + len(part))
    meta = _tree(part).meta
    return Span(meta.start_pos, meta.end_pos)


class _Builder:
    """Turns lark's trees into ours; one per text."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def declarations(self, tree: Tree[Token]) -> tuple[Declaration, ...]:
        return tuple(self._declaration(_tree(child)) for child in tree.children)

    def _declaration(self, tree: Tree[Token]) -> Declaration:
        match tree.data:
            case "interface":
                _, name, *body = _parts(tree)
                return InterfaceDecl(self._word(name), self._properties(body), _span(tree))
            case "node":
                _, name, notes, implements, *body = _parts(tree)
                bases = tuple(self._word(t) for t in _tree(implements).children[1:]) if implements is not None else ()
                notes_read = self._notes(notes)
                properties, rules = self._properties(body), self._rules(body)
                return NodeDecl(self._word(name), notes_read, bases, properties, rules, _span(tree))
            case "edge":
                return self._edge(tree)
            case _:
                raise AssertionError(tree.data)

    def _edge(self, tree: Tree[Token]) -> EdgeDecl:
        _, name, source, target, card, notes, *body = _parts(tree)
        return EdgeDecl(
            self._word(name),
            self._word(source),
            self._word(target),
            self._cardinality(_tree(card)) if card is not None else None,
            self._notes(notes),
            self._properties(body),
            self._rules(body),
            _span(tree),
        )

    def _cardinality(self, tree: Tree[Token]) -> CardinalityDecl:
        _, low, high = _parts(tree)
        return CardinalityDecl(self._number(low), self._number(high) if high is not None else None, _span(tree))

    # ---- properties -----------------------------------------------------------------------------------------

    def _properties(self, body: Iterable[Part]) -> tuple[PropertyDecl, ...]:
        return tuple(self._property(_tree(p)) for p in body if p is not None and _tree(p).data == "property")

    def _property(self, tree: Tree[Token]) -> PropertyDecl:
        name, shape, nullable, notes = _parts(tree)
        return PropertyDecl(
            self._word(name), self._shape(_tree(shape)), nullable is not None, self._notes(notes), _span(tree)
        )

    def _shape(self, tree: Tree[Token]) -> Shape:
        span = _span(tree)
        match tree.data:
            case "simple":
                return self._simple(tree.children[0])
            case "list":
                item = self._simple(tree.children[0])
                if item.type.kind is Kind.BLOB:
                    raise self._error("a list cannot hold blobs", item.span)
                return ListShape(item, span)
            case "sized":
                word, size = tree.children
                if _token(word) != "Vector":
                    raise self._error(f"'{_token(word)}' takes no size, only Vector(n) does", _span(word))
                return VectorShape(self._number(size), span)
            case "choice":
                return ChoiceShape(tuple(self._word(label) for label in tree.children[1:]), span)
            case _:
                raise AssertionError(tree.data)

    def _simple(self, part: Part) -> SimpleShape:
        text, span = str(_token(part)), _span(part)
        if (scalar := _SCALARS.get(text)) is not None:
            return SimpleShape(scalar, span)
        if text == "Vector":
            raise self._error("a vector says how long it is, as in Vector(8), and is no list item", span)
        raise ParseError(
            f"there is no type '{text}'",
            at=self._source.locate(span),
            expected=(*_SCALARS, "[T]", "Vector(n)", "enum(a, b)"),
            suggestion=_likely_type(text),
            hint="a property holds a value; use an edge to point at another node" if text not in _ELSEWHERE else None,
        )

    # ---- rules and notes ------------------------------------------------------------------------------------

    def _rules(self, body: Iterable[Part]) -> tuple[Rule, ...]:
        return tuple(self._rule(_tree(r)) for r in body if r is not None and _tree(r).data != "property")

    def _rule(self, tree: Tree[Token]) -> Rule:
        span = _span(tree)
        word, name, *rest = _parts(tree)
        match tree.data:
            case "members":
                kind = MembersKind(_token(word).lstrip("@ \t\r\n"))
                return MembersRule(kind, tuple(self._word(w) for w in (name, *rest)), span)
            case "range":
                low, high = rest
                return RangeRule(self._word(name), self._bound(low), self._bound(high), span)
            case "check":
                return CheckRule(self._word(name), self._string(rest[0]), span)
            case _:
                raise AssertionError(tree.data)

    def _bound(self, part: Part) -> Number | None:
        if part is None or not _tree(part).children:
            return None
        return self._signed(_tree(part))

    def _notes(self, part: Part) -> tuple[NoteNode, ...]:
        return tuple(self._note(_tree(note)) for note in _tree(part).children)

    def _note(self, tree: Tree[Token]) -> NoteNode:
        at, argument, *named = _parts(tree)
        name = self._checked(_token(at).lstrip("@ \t\r\n"), _span(at))
        value = self._argument(_tree(argument)) if argument is not None else None
        return NoteNode(name, value, tuple(self._named(_tree(n)) for n in named), _span(tree))

    def _named(self, tree: Tree[Token]) -> NamedArgument:
        name, value = tree.children
        return NamedArgument(self._word(name), self._scalar(_tree(value)), _span(tree))

    def _argument(self, tree: Tree[Token]) -> Scalar | Word:
        return self._word(tree.children[0]) if tree.data == "word" else self._scalar(tree)

    # ---- leaves ---------------------------------------------------------------------------------------------

    def _scalar(self, tree: Tree[Token]) -> Scalar:
        last = _token(tree.children[-1])
        match last.type:
            case "STRING":
                return self._string(last)
            case "TRUE" | "FALSE":
                return Scalar(last.type == "TRUE", _span(last))
            case _:
                number = self._signed(tree)
                if isinstance(number.value, int):
                    return Scalar(number.value, number.span)
                if not isfinite(value := float(number.value)):
                    raise self._error("this number is too large for a float", number.span)
                return Scalar(value, number.span)

    def _signed(self, tree: Tree[Token]) -> Number:
        minus, digits = _parts(tree)
        number = self._number(digits)
        if minus is None:
            return number
        value = number.value
        # Not `-value` for decimals: that would round to the precision of the current context.
        return Number(value.copy_negate() if isinstance(value, Decimal) else -value, _span(minus).to(number.span))

    def _number(self, part: Part) -> Number:
        text, span = str(_token(part)), _span(part)
        if len(text) > _NUMBER_CHARACTERS_MAX:
            raise self._error(f"a number has at most {_NUMBER_CHARACTERS_MAX} digits", span)
        return Number(Decimal(text) if "." in text else int(text), span)

    def _string(self, part: Part) -> Scalar:
        span = _span(part)
        return Scalar(decode_string(str(_token(part)), span, self._source), span)

    def _word(self, part: Part) -> Word:
        return self._checked(str(_token(part)).strip("`"), _span(part))

    def _checked(self, text: str, span: Span) -> Word:
        if len(text) > limits.IDENTIFIER_CHARACTERS_MAX:
            raise too_long_name(self._source, span)
        return Word(text, span)

    def _error(self, message: str, span: Span) -> ParseError:
        return ParseError(message, at=self._source.locate(span))


def _likely_type(text: str) -> str | None:
    if text in _ELSEWHERE:
        return _ELSEWHERE[text]
    folded = {name.casefold(): name for name in _SCALARS}
    close = get_close_matches(text.casefold(), list(folded), n=1, cutoff=0.7)
    return folded[close[0]] if close else None
