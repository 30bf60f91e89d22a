"""Codes of schema errors, and the bridge from a fault in a catalog to a place in a text.

    S1   a type is declared twice                         S16  an edge key lacks src or dst
    S2   two edge names differ only in case               S17  @range on a property that is no number
    S3   a property is declared twice                     S18  a bound that does not fit, or swapped ends
    S4   an edge ends on an unknown node type             S19  @check on a property that is no String
    S5   an unknown interface                             S20  @check with a malformed regular expression
    S6   a property contradicts its interface             S21  a cardinality whose ends are swapped
    S7   an interface is implemented twice                S22  @embed on something that is no vector of a node
    S8   a reserved property name                         S23  @embed with wrong arguments
    S9   an enum label is written twice                   S24  @embed of something that is no String property
    S10  a vector dimension out of bounds                 S25  a note or rule where it may not stand
    S11  a rule names an unknown property                 S26  a malformed or repeated note
    S12  a rule names a property twice                    S27  a rename hint across kinds or owners
    S13  a second key                                     S28  two declarations claim one former name
    S14  a key member that may be null                    S29  an unnamed or inconsistent entry in a stored contract
    S15  a type that a rule cannot hold

A code keeps its meaning for ever; new faults get new numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import TypeAlias

from omnigraph_sql.base.catalog import Constraint
from omnigraph_sql.base.errors import LanguageError, TypeMismatch, UnknownName
from omnigraph_sql.grammar.source import Source, Span


class S(StrEnum):
    """See the table above."""

    DUPLICATE_TYPE = "S1"
    EDGES_FOLD = "S2"
    DUPLICATE_PROPERTY = "S3"
    UNKNOWN_ENDPOINT = "S4"
    UNKNOWN_INTERFACE = "S5"
    INTERFACE_MISMATCH = "S6"
    INTERFACE_TWICE = "S7"
    RESERVED_NAME = "S8"
    DUPLICATE_LABEL = "S9"
    VECTOR_DIMENSION = "S10"
    UNKNOWN_MEMBER = "S11"
    MEMBER_TWICE = "S12"
    SECOND_KEY = "S13"
    NULLABLE_KEY = "S14"
    MEMBER_TYPE = "S15"
    EDGE_KEY = "S16"
    RANGE_TYPE = "S17"
    RANGE_BOUND = "S18"
    CHECK_TYPE = "S19"
    CHECK_PATTERN = "S20"
    CARDINALITY = "S21"
    EMBED_TARGET = "S22"
    EMBED_ARGUMENTS = "S23"
    EMBED_SOURCE = "S24"
    MISPLACED = "S25"
    MALFORMED_NOTE = "S26"
    HINT_ACROSS = "S27"
    HINT_TWICE = "S28"
    CONTRACT = "S29"


_UNKNOWN = frozenset((S.UNKNOWN_ENDPOINT, S.UNKNOWN_INTERFACE, S.UNKNOWN_MEMBER))


class TypeKind(StrEnum):
    """The three namespaces of a schema, in the order identities are given out."""

    INTERFACE = "interface"
    NODE = "node"
    EDGE = "edge"


@dataclass(frozen=True, slots=True)
class Spot:
    """What a fault is about: a type, one of its properties or rules, a property's @embed, or one word in these."""

    kind: TypeKind
    type: str
    property: str | None = None
    rule: Constraint | None = None
    embedding: bool = False

    def wider(self) -> Spot | None:
        """The next larger thing, for when this one was never written down."""
        if self.embedding:
            return Spot(self.kind, self.type, self.property)
        if self.property is not None and self.rule is not None:
            return Spot(self.kind, self.type, rule=self.rule)
        if self.property is not None or self.rule is not None:
            return Spot(self.kind, self.type)
        return None

    def __str__(self) -> str:
        suffix = f".{self.property}" if self.property is not None else ""
        return f"{self.kind.value} {self.type}{suffix}"


@dataclass(frozen=True, slots=True)
class Problem:
    """A fault found in a catalog, wherever that catalog came from."""

    code: S
    message: str
    spot: Spot
    hint: str | None = None
    suggestion: str | None = None


Places: TypeAlias = dict[Spot, Span]


def refusal(
    source: Source, span: Span, code: S, message: str, *, hint: str | None = None, suggestion: str | None = None
) -> LanguageError:
    """The error for a fault at a known place."""
    kind = UnknownName if code in _UNKNOWN else TypeMismatch
    return kind(message, at=source.locate(span), code=code.value, hint=hint, suggestion=suggestion)


def place_of(problem: Problem, places: Places) -> Span:
    """The narrowest place that was written down for what the problem is about."""
    spot: Spot | None = problem.spot
    while spot is not None:
        if spot in places:
            return places[spot]
        spot = spot.wider()
    return Span(0, 0)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name that `word` was probably meant to be."""
    folded = {name.casefold(): name for name in sorted(known)}
    close = get_close_matches(word.casefold(), list(folded), n=1, cutoff=0.6)
    return folded[close[0]] if close else None
