"""Syntax tree of `.gq`. Every node carries its span; nothing is resolved yet."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from omnigraph_sql.grammar.source import Source, Span


class Relation(StrEnum):
    EQ = "="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    CONTAINS = "contains"
    STARTS_WITH = "starts_with"


@dataclass(frozen=True, slots=True)
class Name:
    """Any word as written: a property, an alias, a type, an edge word, a variable without its `$`."""

    text: str
    span: Span


# ---- values -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StringLit:
    value: str
    span: Span


@dataclass(frozen=True, slots=True)
class IntLit:
    value: int
    span: Span


@dataclass(frozen=True, slots=True)
class FloatLit:
    value: float
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class BoolLit:
    value: bool
    span: Span


@dataclass(frozen=True, slots=True)
class NullLit:
    """`null`, in assignments only (extension)."""

    span: Span


@dataclass(frozen=True, slots=True)
class DateLit:
    """`date("…")`; the text is checked by the binder."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class DateTimeLit:
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class ListLit:
    items: tuple[Literal, ...]
    span: Span


Literal: TypeAlias = StringLit | IntLit | FloatLit | BoolLit | NullLit | DateLit | DateTimeLit | ListLit


@dataclass(frozen=True, slots=True)
class Var:
    """`$name`; `$_` has the text `_`."""

    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class PropertyOf:
    """`$x.p`"""

    variable: Var
    property: Name
    span: Span


@dataclass(frozen=True, slots=True)
class AliasRef:
    """A bare word used as a value: the alias of a returned column."""

    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class Now:
    span: Span


@dataclass(frozen=True, slots=True)
class Nearest:
    field: PropertyOf
    query: Value
    span: Span


@dataclass(frozen=True, slots=True)
class Bm25:
    field: Value
    query: Value
    span: Span


@dataclass(frozen=True, slots=True)
class Fuse:
    """`rrf(r1, r2[, k])`"""

    rankers: tuple[Nearest | Bm25, ...]
    k: Value | None
    span: Span


@dataclass(frozen=True, slots=True)
class TextTest:
    """`search`, `fuzzy` or `match_text`."""

    kind: str
    field: Value
    query: Value
    max_edits: Value | None
    span: Span


@dataclass(frozen=True, slots=True)
class Aggregate:
    function: str
    argument: Value
    span: Span


Value: TypeAlias = (
    StringLit
    | IntLit
    | FloatLit
    | BoolLit
    | NullLit
    | DateLit
    | DateTimeLit
    | ListLit
    | Var
    | PropertyOf
    | AliasRef
    | Now
    | Nearest
    | Bm25
    | Fuse
    | TextTest
    | Aggregate
)


# ---- match ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FieldTest:
    property: Name
    value: Value
    span: Span


@dataclass(frozen=True, slots=True)
class NodeClause:
    """`$a: Type { field tests }`"""

    variable: Var
    type: Name
    tests: tuple[FieldTest, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Hops:
    """`{min,max}`; max None is the open right side the type checker refuses."""

    minimum: int
    maximum: int | None
    span: Span


@dataclass(frozen=True, slots=True)
class EdgeClause:
    """`$a [$r:]word{m,n} $b`; `undirected` for `<word>`. Kept as written; `hops` None means one hop."""

    left: Var
    edge_variable: Var | None
    word: Name
    undirected: bool
    hops: Hops | None
    right: Var
    span: Span


@dataclass(frozen=True, slots=True)
class Test:
    """`left relation right`; a stand-alone text predicate is `predicate = true`."""

    left: Value
    relation: Relation
    right: Value
    span: Span


@dataclass(frozen=True, slots=True)
class NullTest:
    """`value is [not] null` (extension)."""

    value: Value
    negated: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Absence:
    """`not { … }`"""

    clauses: tuple[Clause, ...]
    span: Span


Clause: TypeAlias = NodeClause | EdgeClause | Test | NullTest | Absence


# ---- bodies -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Returned:
    value: Value
    alias: Name | None
    span: Span


@dataclass(frozen=True, slots=True)
class SortTerm:
    value: Value
    descending: bool
    span: Span


@dataclass(frozen=True, slots=True)
class ReadBody:
    """`limit` is an integer literal, a parameter (extension) or absent."""

    clauses: tuple[Clause, ...]
    columns: tuple[Returned, ...]
    order: tuple[SortTerm, ...]
    limit: IntLit | Var | None
    span: Span


@dataclass(frozen=True, slots=True)
class Assignment:
    property: Name
    value: Value
    span: Span


@dataclass(frozen=True, slots=True)
class RowTest:
    """`property op input`; the other test of a row is NullRowTest."""

    property: Name
    relation: Relation
    value: Value
    span: Span


@dataclass(frozen=True, slots=True)
class NullRowTest:
    """`property is [not] null` (extension)."""

    property: Name
    negated: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Insert:
    type: Name
    assignments: tuple[Assignment, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Update:
    type: Name
    assignments: tuple[Assignment, ...]
    where: RowTest | NullRowTest
    span: Span


@dataclass(frozen=True, slots=True)
class Delete:
    type: Name
    where: RowTest | NullRowTest
    span: Span


WriteStatement: TypeAlias = Insert | Update | Delete


@dataclass(frozen=True, slots=True)
class WriteBody:
    statements: tuple[WriteStatement, ...]
    span: Span


# ---- queries ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FormalType:
    """`String`, `[I64]`, `Vector(4)`, each with an optional `?`. `name` is the scalar word or `Vector`."""

    name: Name
    is_list: bool
    dimensions: int | None
    nullable: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Formal:
    variable: Var
    type: FormalType
    span: Span


@dataclass(frozen=True, slots=True)
class Query:
    """A named query, or a bare body: then `name` is None, and parameters are whatever it uses."""

    source: Source
    name: Name | None
    formals: tuple[Formal, ...]
    description: str | None
    instruction: str | None
    body: ReadBody | WriteBody
    span: Span


@dataclass(frozen=True, slots=True)
class Unit:
    """A `.gq` text: queries in file order."""

    source: Source
    queries: tuple[Query, ...]
