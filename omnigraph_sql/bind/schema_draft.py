"""Syntax tree → catalog without identities, and where in the text each part of it stands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import assert_never

from omnigraph_sql.base import limits
from omnigraph_sql.base.catalog import (
    DST,
    SRC,
    Cardinality,
    Catalog,
    Check,
    Constraint,
    EdgeType,
    Index,
    Interface,
    Key,
    NodeType,
    Property,
    Range,
    Unique,
)
from omnigraph_sql.base.errors import LanguageError
from omnigraph_sql.base.types import DataType, EnumType, ListType, VectorType, is_float, type_text
from omnigraph_sql.bind.schema_errors import Places, S, Spot, TypeKind, nearest, refusal
from omnigraph_sql.bind.schema_notes import Hint, Notes, read_notes
from omnigraph_sql.bind.schema_rules import mismatch
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
    NodeDecl,
    Number,
    PropertyDecl,
    RangeRule,
    Rule,
    SchemaText,
    Shape,
    SimpleShape,
    VectorShape,
    Word,
)
from omnigraph_sql.grammar.source import Span


@dataclass(frozen=True, slots=True)
class Draft:
    """A catalog whose identities are all 0, with the places and the rename hints of its text."""

    catalog: Catalog
    places: Places
    hints: dict[Spot, Hint]


def draft_schema(text: SchemaText) -> Draft:
    """Resolve names and interfaces. Raises LanguageError with an S-code."""
    return _Drafter(text).draft()


@dataclass(slots=True)
class _Body:
    """Properties and rules of one type while they are collected."""

    kind: TypeKind
    name: Word
    properties: dict[str, Property] = field(default_factory=dict)
    constraints: dict[Constraint, None] = field(default_factory=dict)

    def spot(self, member: str | None = None, rule: Constraint | None = None) -> Spot:
        return Spot(self.kind, self.name.text, member, rule)

    @property
    def title(self) -> str:
        return f"{self.kind.value} {self.name.text}"


class _Drafter:
    def __init__(self, text: SchemaText) -> None:
        self._text = text
        self._places: Places = {}
        self._hints: dict[Spot, Hint] = {}
        self._interfaces: dict[str, Interface] = {}

    def draft(self) -> Draft:
        declarations = self._text.declarations
        self._refuse_twice(declarations)
        interfaces = tuple(self._interface(d) for d in declarations if isinstance(d, InterfaceDecl))
        self._interfaces = {i.name: i for i in interfaces}
        nodes = tuple(self._node(d) for d in declarations if isinstance(d, NodeDecl))
        known = {n.name for n in nodes}
        edges = tuple(self._edge(d, known) for d in declarations if isinstance(d, EdgeDecl))
        return Draft(Catalog(nodes, edges, interfaces), self._places, self._hints)

    def _error(
        self, span: Span, code: S, message: str, *, hint: str | None = None, suggestion: str | None = None
    ) -> LanguageError:
        return refusal(self._text.source, span, code, message, hint=hint, suggestion=suggestion)

    def _refuse_twice(self, declarations: tuple[Declaration, ...]) -> None:
        seen: dict[tuple[TypeKind, str], str] = {}
        for declaration in declarations:
            kind, name = _kind(declaration), declaration.name
            # An edge is called by its word without regard to case, so its fold must be free.
            fold = name.text.casefold() if kind is TypeKind.EDGE else name.text
            earlier = seen.get((kind, fold))
            if earlier == name.text:
                raise self._error(name.span, S.DUPLICATE_TYPE, f"{kind.value} {name.text} is declared twice")
            if earlier is not None:
                text = f"edges {earlier} and {name.text} differ only in case, which a traversal cannot tell apart"
                raise self._error(name.span, S.EDGES_FOLD, text)
            seen[kind, fold] = name.text
            self._places[Spot(kind, name.text)] = name.span

    # ---- types ----------------------------------------------------------------------------------------------

    def _interface(self, of: InterfaceDecl) -> Interface:
        body = _Body(TypeKind.INTERFACE, of.name)
        self._declare(body, of.properties)
        return Interface(of.name.text, tuple(body.properties.values()), _ordered(body.constraints))

    def _node(self, of: NodeDecl) -> NodeType:
        body = _Body(TypeKind.NODE, of.name)
        notes = self._header(body, of)
        self._declare(body, of.properties)
        self._implement(body, of)
        self._rules(body, of.rules)
        return NodeType(
            of.name.text,
            tuple(body.properties.values()),
            _ordered(body.constraints),
            description=notes.description,
            instruction=notes.instruction,
            notes=notes.free,
            implements=tuple(word.text for word in of.implements),
        )

    def _edge(self, of: EdgeDecl, nodes: set[str]) -> EdgeType:
        for end in (of.source, of.target):
            if end.text not in nodes:
                text = f"edge {of.name.text} ends on {end.text}, which is no node type"
                raise self._error(end.span, S.UNKNOWN_ENDPOINT, text, suggestion=nearest(end.text, nodes))
        body = _Body(TypeKind.EDGE, of.name)
        notes = self._header(body, of)
        self._declare(body, of.properties)
        self._rules(body, of.rules)
        return EdgeType(
            of.name.text,
            tuple(body.properties.values()),
            _ordered(body.constraints),
            description=notes.description,
            instruction=notes.instruction,
            notes=notes.free,
            source=of.source.text,
            target=of.target.text,
            cardinality=self._cardinality(body, of.cardinality),
        )

    def _header(self, body: _Body, of: NodeDecl | EdgeDecl) -> Notes:
        notes = read_notes(of.notes, self._text.source, owner=body.title, on_property=False, kind=body.kind)
        if notes.hint is not None:
            self._hints[body.spot()] = notes.hint
        return notes

    def _cardinality(self, body: _Body, of: CardinalityDecl | None) -> Cardinality:
        if of is None:
            return Cardinality()
        low, high = of.minimum.value, of.maximum.value if of.maximum is not None else None
        assert isinstance(low, int)
        assert not isinstance(high, Decimal)
        if high is not None and high < low:
            text = f"{body.title} has a cardinality whose ends are swapped: {low} is above {high}"
            raise self._error(of.span, S.CARDINALITY, text)
        return Cardinality(low, high)

    # ---- properties -----------------------------------------------------------------------------------------

    def _declare(self, body: _Body, declarations: Iterable[PropertyDecl]) -> None:
        for of in declarations:
            name = of.name.text
            owner = f"{body.title}, property {name}"
            if name in body.properties:
                raise self._error(of.name.span, S.DUPLICATE_PROPERTY, f"{body.title} has two properties {name}")
            notes = read_notes(of.notes, self._text.source, owner=owner, on_property=True, kind=body.kind)
            body.properties[name] = Property(
                name,
                self._type(owner, of.shape),
                of.nullable,
                description=notes.description,
                embedding=notes.embedding,
                notes=notes.free,
            )
            self._places[body.spot(name)] = of.name.span
            if notes.embedding is not None:
                self._places[replace(body.spot(name), embedding=True)] = notes.embedding_span or of.name.span
            if notes.hint is not None:
                self._hints[body.spot(name)] = notes.hint
            for kind, span in notes.rules:
                self._property_rule(body, body.properties[name], kind, span)

    def _type(self, owner: str, of: Shape) -> DataType:
        match of:
            case SimpleShape(scalar):
                return scalar
            case ListShape(item):
                return ListType(item.type)
            case VectorShape(Number(size, span)):
                if not isinstance(size, int) or not 1 <= size <= limits.VECTOR_DIMENSIONS_MAX:
                    text = f"{owner}: a vector has 1 to {limits.VECTOR_DIMENSIONS_MAX} dimensions, not {size}"
                    raise self._error(span, S.VECTOR_DIMENSION, text)
                return VectorType(size)
            case ChoiceShape(labels):
                seen: set[str] = set()
                for label in labels:
                    if label.text in seen:
                        raise self._error(label.span, S.DUPLICATE_LABEL, f"{owner} has the label {label.text} twice")
                    seen.add(label.text)
                return EnumType(tuple(sorted(seen)))
            case _:
                assert_never(of)

    def _property_rule(self, body: _Body, of: Property, kind: MembersKind, span: Span) -> None:
        if kind is MembersKind.INDEX and isinstance(of.type, ListType):
            text = f"{body.title} has @index on {of.name}, which cannot hold a {type_text(of.type)}"
            raise self._error(span, S.MEMBER_TYPE, text)
        self._add(body, _members_rule(kind, (of.name,), body.kind), span)

    # ---- interfaces -----------------------------------------------------------------------------------------

    def _implement(self, body: _Body, of: NodeDecl) -> None:
        declared = set(body.properties)
        seen: set[str] = set()
        for word in of.implements:
            interface = self._interfaces.get(word.text)
            if interface is None:
                text = f"node {of.name.text} implements {word.text}, which is no interface"
                hint = nearest(word.text, self._interfaces)
                raise self._error(word.span, S.UNKNOWN_INTERFACE, text, suggestion=hint)
            if word.text in seen:
                text = f"node {of.name.text} implements {word.text} twice"
                raise self._error(word.span, S.INTERFACE_TWICE, text)
            seen.add(word.text)
            self._contribute(body, word, interface, declared)

    def _contribute(self, body: _Body, word: Word, interface: Interface, declared: set[str]) -> None:
        """Inject what the node lacks, remember the contributor of what it has."""
        for wanted in interface.properties:
            name = wanted.name
            own = body.properties.get(name)
            if own is not None and (own.type, own.nullable) != (wanted.type, wanted.nullable):
                span = self._places[body.spot(name)] if name in declared else word.span
                text = mismatch(body.name.text, own, wanted, interface.name)
                raise self._error(span, S.INTERFACE_MISMATCH, text)
            if own is None:
                own = replace(wanted, injected=True)
                self._places[body.spot(name)] = word.span
                hint = self._hints.get(Spot(TypeKind.INTERFACE, interface.name, name))
                if hint is not None:
                    self._hints[body.spot(name)] = hint
            body.properties[name] = replace(own, interfaces=(*own.interfaces, interface.name))
            if name not in declared:
                for rule in interface.constraints:
                    if _members(rule) == (name,) and rule not in body.constraints:
                        self._add(body, rule, word.span)

    # ---- rules ----------------------------------------------------------------------------------------------

    def _rules(self, body: _Body, rules: Iterable[Rule]) -> None:
        for of in rules:
            match of:
                case MembersRule(kind, members, span):
                    rule: Constraint = _members_rule(kind, tuple(m.text for m in members), body.kind)
                    words: tuple[Word, ...] = members
                case RangeRule(word, low, high, span):
                    rule, words = self._range(body, word, low, high), (word,)
                case CheckRule(word, pattern, span):
                    rule, words = Check(word.text, str(pattern.value)), (word,)
                case _:
                    assert_never(of)
            self._add(body, rule, span)
            for word in words:
                self._places[body.spot(word.text, rule)] = word.span

    def _range(self, body: _Body, word: Word, low: Number | None, high: Number | None) -> Range:
        column = body.properties.get(word.text)
        whole = column is not None and is_float(column.type)
        return Range(word.text, _bound(low, whole), _bound(high, whole))

    def _add(self, body: _Body, rule: Constraint, span: Span) -> None:
        if isinstance(rule, Key) and any(isinstance(other, Key) for other in body.constraints):
            text = f"{body.title} has a key already"
            hint = "write one @key(a, b) in the body for a key of several properties"
            raise self._error(span, S.SECOND_KEY, text, hint=hint)
        body.constraints.setdefault(rule)
        self._places.setdefault(body.spot(rule=rule), span)


def _kind(of: Declaration) -> TypeKind:
    match of:
        case InterfaceDecl():
            return TypeKind.INTERFACE
        case NodeDecl():
            return TypeKind.NODE
        case EdgeDecl():
            return TypeKind.EDGE
        case _:
            assert_never(of)


def _members_rule(kind: MembersKind, members: tuple[str, ...], owner: TypeKind) -> Key | Unique | Index:
    ends: tuple[str, ...] = ()
    if owner is TypeKind.EDGE:
        ends = tuple(m for end in (SRC, DST) for m in members if m == end)
    others = tuple(m for m in members if m not in ends)
    match kind:
        case MembersKind.KEY:
            # Ends come first in the id of a keyed edge, so they come first in its key, however it was written.
            return Key((*ends, *others))
        case MembersKind.UNIQUE:
            # A set of columns: one spelling for all orders, so that the same rule is never there twice.
            return Unique((*ends, *sorted(others)))
        case MembersKind.INDEX:
            return Index(members)
        case _:
            assert_never(kind)


def _members(rule: Constraint) -> tuple[str, ...]:
    match rule:
        case Key(members) | Unique(members) | Index(members):
            return members
        case Range(name) | Check(name):
            return (name,)
        case _:
            assert_never(rule)


def _bound(of: Number | None, of_float: bool) -> int | Decimal | None:
    """A bound in its one spelling: `2.0` on a float property is the same rule as `2`."""
    if of is None or isinstance(of.value, int) or not of_float:
        return of.value if of is not None else None
    whole = int(of.value)
    # Not normalize(): that would round to the precision of the current decimal context.
    return whole if whole == of.value else Decimal(f"{of.value:f}".rstrip("0"))


_RANK: dict[type, int] = {Key: 0, Unique: 1, Index: 2, Range: 3, Check: 4}


def _ordered(rules: Iterable[Constraint]) -> tuple[Constraint, ...]:
    """Rules in an order of their own, so that the order in the text does not matter."""
    return tuple(sorted(rules, key=lambda rule: (_RANK[type(rule)], _members(rule), str(rule))))
