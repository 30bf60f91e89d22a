"""What every catalog must obey, checked on the value alone: the same for a text and for a stored contract."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, assert_never

from omnigraph_sql.base.catalog import (
    DST,
    ID,
    SRC,
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
from omnigraph_sql.base.types import (
    BLOB,
    F32,
    STRING,
    DataType,
    ListType,
    ScalarType,
    VectorType,
    integer_range,
    is_float,
    is_integer,
    is_number,
    type_text,
)
from omnigraph_sql.bind.schema_errors import Problem, S, Spot, TypeKind, nearest

LANCE_COLUMNS: Final = frozenset(
    ("_rowid", "_rowaddr", "_rowoffset", "_row_created_at_version", "_row_last_updated_at_version")
)
"""Columns the storage makes up itself. Other names that begin with `_row` are ordinary."""

_NODE_COLUMNS: Final = frozenset((ID,))
_EDGE_COLUMNS: Final = frozenset((ID, SRC, DST, "from", "to"))

_F32_MAX: Final = Decimal((2**24 - 1) * 2**104)
_F64_MAX: Final = Decimal((2**53 - 1) * 2**971)


def problems(catalog: Catalog, *, lenient: bool = False) -> Iterator[Problem]:
    """Every fault of `catalog`. `lenient` lets pass what stored contracts were once allowed to say."""
    for interface in catalog.interfaces:
        yield from _Subject.of(interface, TypeKind.INTERFACE, lenient).problems()
    for node in catalog.nodes:
        yield from _Subject.of(node, TypeKind.NODE, lenient).problems()
        yield from _provenance(node, catalog)
    for edge in catalog.edges:
        yield from _Subject.of(edge, TypeKind.EDGE, lenient).problems()


def is_reserved(name: str, kind: TypeKind) -> bool:
    """Whether a property of this name would clash with a column every such table has."""
    if name in LANCE_COLUMNS:
        return True
    match kind:
        case TypeKind.EDGE:
            return name in _EDGE_COLUMNS
        case TypeKind.NODE | TypeKind.INTERFACE:
            return name in _NODE_COLUMNS
        case _:
            assert_never(kind)


def _provenance(node: NodeType, catalog: Catalog) -> Iterator[Problem]:
    """A node has every property of its interfaces, with exactly their types."""
    known = {i.name: i for i in catalog.interfaces}
    for name in node.implements:
        interface = known.get(name)
        if interface is None:
            text = f"node {node.name} implements {name}, which is no interface"
            yield Problem(S.UNKNOWN_INTERFACE, text, Spot(TypeKind.NODE, node.name), suggestion=nearest(name, known))
            continue
        for wanted in interface.properties:
            own = node.property(wanted.name)
            if own is None or (own.type, own.nullable) != (wanted.type, wanted.nullable):
                spot = Spot(TypeKind.NODE, node.name, wanted.name)
                yield Problem(S.INTERFACE_MISMATCH, mismatch(node.name, own, wanted, name), spot)


def mismatch(node: str, own: Property | None, wanted: Property, interface: str) -> str:
    """How to say that a property does not fit its interface."""
    has = f"is {declared(own)} here" if own is not None else "is missing here"
    return f"node {node}: property {wanted.name} {has}, but interface {interface} has {declared(wanted)}"


def declared(of: Property) -> str:
    """The type as it is written behind a property's name."""
    return type_text(of.type) + ("?" if of.nullable else "")


@dataclass(frozen=True, slots=True)
class _Subject:
    """One type under examination."""

    kind: TypeKind
    name: str
    properties: Mapping[str, Property]
    constraints: tuple[Constraint, ...]
    lenient: bool

    @classmethod
    def of(cls, what: Interface | NodeType | EdgeType, kind: TypeKind, lenient: bool) -> _Subject:
        return cls(kind, what.name, {p.name: p for p in what.properties}, what.constraints, lenient)

    def problems(self) -> Iterator[Problem]:
        for column in self.properties.values():
            yield from self._column(column)
        keys = [rule for rule in self.constraints if isinstance(rule, Key)]
        if len(keys) > 1:
            yield self._problem(S.SECOND_KEY, "has more than one key", rule=keys[1])
        for rule in self.constraints:
            yield from self._rule(rule)

    def _problem(
        self,
        code: S,
        text: str,
        *,
        member: str | None = None,
        rule: Constraint | None = None,
        hint: str | None = None,
        suggestion: str | None = None,
    ) -> Problem:
        spot = Spot(self.kind, self.name, member, rule, embedding=code in (S.EMBED_TARGET, S.EMBED_SOURCE))
        return Problem(code, f"{self.kind.value} {self.name} {text}", spot, hint, suggestion)

    # ---- properties -----------------------------------------------------------------------------------------

    def _column(self, of: Property) -> Iterator[Problem]:
        if is_reserved(of.name, self.kind):
            hint = (
                f"every table has this column already; call yours otherwise, as in {of.name}_of_mine"
                if of.name not in LANCE_COLUMNS
                else "choose another name"
            )
            yield self._problem(S.RESERVED_NAME, f"may not call a property '{of.name}'", member=of.name, hint=hint)
        if of.embedding is not None:
            yield from self._embedding(of, of.embedding.source)

    def _embedding(self, of: Property, source: str) -> Iterator[Problem]:
        if self.kind is TypeKind.EDGE or not isinstance(of.type, VectorType):
            text = f"has @embed on {of.name}, only vectors of nodes may have it"
            yield self._problem(S.EMBED_TARGET, text, member=of.name)
            return
        text_property = self.properties.get(source)
        # An interface may leave the text to the types that implement it.
        if text_property is None and self.kind is TypeKind.INTERFACE:
            return
        if text_property is None:
            text = f"has no property {source} for {of.name} to embed"
            strings = [p.name for p in self.properties.values() if p.type == STRING]
            yield self._problem(S.EMBED_SOURCE, text, member=of.name, suggestion=nearest(source, strings))
        elif text_property.type != STRING:
            text = f"cannot embed {source} in {of.name}: it is {type_text(text_property.type)}, not String"
            yield self._problem(S.EMBED_SOURCE, text, member=of.name)

    # ---- rules ----------------------------------------------------------------------------------------------

    def _rule(self, rule: Constraint) -> Iterator[Problem]:
        match rule:
            case Key(members):
                yield from self._key(rule, members)
            case Unique(members):
                allowed = (BLOB,) if self.lenient else ()
                yield from self._members(rule, members, "unique", allowed)
            case Index(members):
                yield from self._members(rule, members, "index", ())
            case Range(name):
                if (column := self.properties.get(name)) is None:
                    yield self._unknown(rule, name, "@range")
                else:
                    yield from self._range(rule, column)
            case Check(name):
                if (column := self.properties.get(name)) is None:
                    yield self._unknown(rule, name, "@check")
                else:
                    yield from self._check(rule, column)
            case _:
                assert_never(rule)

    def _unknown(self, rule: Constraint, name: str, word: str) -> Problem:
        known = [*self.properties, *((SRC, DST) if self.kind is TypeKind.EDGE else ())]
        text = f"has no property {name}, which {word} names"
        return self._problem(S.UNKNOWN_MEMBER, text, member=name, rule=rule, suggestion=nearest(name, known))

    def _key(self, rule: Key, members: tuple[str, ...]) -> Iterator[Problem]:
        if self.kind is TypeKind.EDGE and members[:2] != (SRC, DST):
            hint = "write @key(src, dst) in the body, with further properties behind"
            yield self._problem(S.EDGE_KEY, "has a key without src and dst", rule=rule, hint=hint)
        yield from self._members(rule, members, "key", ())
        for name in members:
            column = self.properties.get(name)
            if column is not None and column.nullable:
                text = f"has {name} in its key, which may be null"
                yield self._problem(S.NULLABLE_KEY, text, member=name, rule=rule, hint="remove the '?' of its type")

    def _members(
        self, rule: Constraint, members: tuple[str, ...], word: str, allowed: tuple[DataType, ...]
    ) -> Iterator[Problem]:
        for position, name in enumerate(members):
            if name in members[:position]:
                text = f"names {name} twice in one @{word}"
                yield self._problem(S.MEMBER_TWICE, text, member=name, rule=rule)
            if self.kind is TypeKind.EDGE and name in (SRC, DST):
                continue
            column = self.properties.get(name)
            if column is None:
                yield self._unknown(rule, name, f"@{word}")
            elif column.type not in allowed and not _may_be_member(column.type, word):
                text = f"has {name} in @{word}, which cannot hold a {type_text(column.type)}"
                yield self._problem(S.MEMBER_TYPE, text, member=name, rule=rule)

    def _range(self, rule: Range, column: Property) -> Iterator[Problem]:
        if not is_number(column.type):
            text = f"has @range on {column.name}, which is {type_text(column.type)} and no number"
            yield self._problem(S.RANGE_TYPE, text, member=column.name, rule=rule)
            return
        for bound in (rule.low, rule.high):
            if bound is not None and (why := _misfit(bound, column.type)) is not None:
                text = f"has the bound {bound} on {column.name}, {why}"
                yield self._problem(S.RANGE_BOUND, text, rule=rule)
        if rule.low is not None and rule.high is not None and rule.low > rule.high:
            text = f"has a range on {column.name} that nothing fits: {rule.low} is above {rule.high}"
            yield self._problem(S.RANGE_BOUND, text, rule=rule)

    def _check(self, rule: Check, column: Property) -> Iterator[Problem]:
        if column.type != STRING:
            text = f"has @check on {column.name}, which is {type_text(column.type)} and not String"
            yield self._problem(S.CHECK_TYPE, text, member=column.name, rule=rule)
        if (why := _pattern_fault(rule.pattern)) is not None:
            text = f"has a malformed regular expression on {rule.property}: {why}"
            yield self._problem(S.CHECK_PATTERN, text, rule=rule)


def _may_be_member(of: DataType, word: str) -> bool:
    if of == BLOB:
        return False
    return word == "index" or not isinstance(of, ListType | VectorType)


def _misfit(bound: int | Decimal, of: DataType) -> str | None:
    """Why a number cannot be a bound of a property of this type."""
    assert isinstance(of, ScalarType)
    if is_integer(of):
        if not isinstance(bound, int):
            return f"but a bound of {type_text(of)} is a whole number"
        low, high = integer_range(of)
        return None if low <= bound <= high else f"outside of {type_text(of)}"
    assert is_float(of)
    largest = _F32_MAX if of == F32 else _F64_MAX
    return None if abs(Decimal(bound)) <= largest else f"outside of {type_text(of)}"


def _pattern_fault(pattern: str) -> str | None:
    with warnings.catch_warnings():
        # A pattern that will mean something else one day is still a pattern today.
        warnings.simplefilter("ignore")
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            return str(error)
    return None
