"""Syntax tree of `.pg`. Every node carries its span; no name is resolved yet, no rule checked against a type."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import TypeAlias

from omnigraph_sql.base.types import ScalarType
from omnigraph_sql.grammar.source import Source, Span


@dataclass(frozen=True, slots=True)
class Word:
    """A name as written: of a type, a property, a label, a note."""

    text: str
    span: Span

    def __post_init__(self) -> None:
        if not self.text:
            raise ValueError("a word is not empty")


@dataclass(frozen=True, slots=True)
class Number:
    """A bound or a count; a Decimal when it was written with a point."""

    value: int | Decimal
    span: Span


@dataclass(frozen=True, slots=True)
class Scalar:
    """A literal given to a note."""

    value: str | int | float | bool
    span: Span


# ---- types ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SimpleShape:
    type: ScalarType
    span: Span


@dataclass(frozen=True, slots=True)
class ListShape:
    item: SimpleShape
    span: Span


@dataclass(frozen=True, slots=True)
class VectorShape:
    dimensions: Number
    span: Span


@dataclass(frozen=True, slots=True)
class ChoiceShape:
    labels: tuple[Word, ...]
    span: Span


Shape: TypeAlias = SimpleShape | ListShape | VectorShape | ChoiceShape


# ---- notes and rules --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NamedArgument:
    name: Word
    value: Scalar
    span: Span


@dataclass(frozen=True, slots=True)
class NoteNode:
    """`@name`, `@name(argument)` or `@name(argument, key=value …)`; `name.span` covers the `@` too."""

    name: Word
    argument: Scalar | Word | None
    named: tuple[NamedArgument, ...]
    span: Span


class MembersKind(StrEnum):
    KEY = "key"
    UNIQUE = "unique"
    INDEX = "index"


@dataclass(frozen=True, slots=True)
class MembersRule:
    """`@key(a, b)`, `@unique(a, b)` or `@index(a, b)` in a body."""

    kind: MembersKind
    members: tuple[Word, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class RangeRule:
    property: Word
    low: Number | None
    high: Number | None
    span: Span

    def __post_init__(self) -> None:
        if self.low is None and self.high is None:
            raise ValueError("a range has a bound")


@dataclass(frozen=True, slots=True)
class CheckRule:
    property: Word
    pattern: Scalar
    span: Span


Rule: TypeAlias = MembersRule | RangeRule | CheckRule


# ---- declarations -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PropertyDecl:
    name: Word
    shape: Shape
    nullable: bool
    notes: tuple[NoteNode, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class CardinalityDecl:
    minimum: Number
    maximum: Number | None
    span: Span


@dataclass(frozen=True, slots=True)
class InterfaceDecl:
    name: Word
    properties: tuple[PropertyDecl, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class NodeDecl:
    name: Word
    notes: tuple[NoteNode, ...]
    implements: tuple[Word, ...]
    properties: tuple[PropertyDecl, ...]
    rules: tuple[Rule, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class EdgeDecl:
    name: Word
    source: Word
    target: Word
    cardinality: CardinalityDecl | None
    notes: tuple[NoteNode, ...]
    properties: tuple[PropertyDecl, ...]
    rules: tuple[Rule, ...]
    span: Span


TableDecl: TypeAlias = NodeDecl | EdgeDecl
Declaration: TypeAlias = InterfaceDecl | NodeDecl | EdgeDecl


@dataclass(frozen=True, slots=True)
class SchemaText:
    """A whole `.pg` text in the order it was written."""

    source: Source
    declarations: tuple[Declaration, ...]
    span: Span
