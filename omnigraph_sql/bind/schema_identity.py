"""Identities: which parts of a new schema are the same things as before, and fresh numbers for the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar, assert_never

from omnigraph_sql.base import limits
from omnigraph_sql.base.catalog import Catalog, EdgeType, Interface, NodeType, Property
from omnigraph_sql.base.errors import Location, ResourceLimitExceeded
from omnigraph_sql.bind.schema_draft import Draft
from omnigraph_sql.bind.schema_errors import S, Spot, TypeKind, refusal
from omnigraph_sql.bind.schema_notes import Hint
from omnigraph_sql.grammar.source import Source

AnyType: TypeAlias = Interface | NodeType | EdgeType


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """Something about a text its author should know, which does not stop it from being compiled."""

    code: str
    message: str
    at: Location


@dataclass(frozen=True, slots=True)
class Identified:
    """A catalog with identities, and the allocator after them."""

    catalog: Catalog
    next_identity_id: int
    diagnostics: tuple[Diagnostic, ...] = ()


def identify(draft: Draft, source: Source, previous: Catalog | None, next_identity_id: int) -> Identified:
    """Give every type and property of `draft` the identity it had in `previous`, or a new one.

    New ones are given out by kind and name, types before their properties, so the order of a text does not matter.
    Without `previous` rename hints mean nothing.
    """
    return _Identifier(draft, source, previous, next_identity_id).run()


def types_of(catalog: Catalog, kind: TypeKind) -> Sequence[AnyType]:
    """The types of one namespace."""
    match kind:
        case TypeKind.INTERFACE:
            return catalog.interfaces
        case TypeKind.NODE:
            return catalog.nodes
        case TypeKind.EDGE:
            return catalog.edges
        case _:
            assert_never(kind)


_Named = TypeVar("_Named", Interface, NodeType, EdgeType, Property)


class _Identifier:
    def __init__(self, draft: Draft, source: Source, previous: Catalog | None, next_identity_id: int) -> None:
        self._draft, self._source = draft, source
        self._previous = previous if previous is not None else Catalog()
        self._hints: Mapping[Spot, Hint] = draft.hints if previous is not None else {}
        self._next = next_identity_id
        self._diagnostics: list[Diagnostic] = []

    def run(self) -> Identified:
        catalog = self._draft.catalog
        interfaces = self._all(TypeKind.INTERFACE, catalog.interfaces, self._previous.interfaces)
        nodes = self._all(TypeKind.NODE, catalog.nodes, self._previous.nodes)
        edges = self._all(TypeKind.EDGE, catalog.edges, self._previous.edges)
        return Identified(Catalog(nodes, edges, interfaces), self._next, tuple(self._diagnostics))

    def _fresh(self) -> int:
        if self._next > limits.IDENTITY_ID_MAX:
            raise ResourceLimitExceeded(
                "this graph has used up its identities",
                resource="identity_ids",
                limit=limits.IDENTITY_ID_MAX,
                actual=self._next,
                hint="export the graph and load it into a new one",
            )
        self._next += 1
        return self._next - 1

    def _all(self, kind: TypeKind, new: tuple[_Type, ...], old: tuple[_Type, ...]) -> tuple[_Type, ...]:
        before = self._matches({Spot(kind, t.name): t for t in new}, old)
        done: dict[str, _Type] = {}
        for of in sorted(new, key=lambda t: t.name):
            done[of.name] = self._one(kind, of, before.get(of.name))
        return tuple(done[of.name] for of in new)

    def _one(self, kind: TypeKind, of: _Type, before: _Type | None) -> _Type:
        stable = before.stable_id if before is not None else self._fresh()
        if isinstance(of, Interface):
            return replace(of, stable_id=stable, properties=self._properties(kind, of, before))
        incarnation = before.incarnation_id if before is not None and not isinstance(before, Interface) else 0
        incarnation = incarnation or self._fresh()
        properties = self._properties(kind, of, before)
        return replace(of, stable_id=stable, incarnation_id=incarnation, properties=properties)

    def _properties(self, kind: TypeKind, of: AnyType, before: AnyType | None) -> tuple[Property, ...]:
        old = before.properties if before is not None else ()
        matches = self._matches({Spot(kind, of.name, p.name): p for p in of.properties}, old)
        ids: dict[str, int] = {}
        for name in sorted(p.name for p in of.properties):
            ids[name] = matches[name].stable_id if name in matches else self._fresh()
        return tuple(replace(p, stable_id=ids[p.name]) for p in of.properties)

    # ---- who was who ----------------------------------------------------------------------------------------

    def _matches(self, new: Mapping[Spot, _Named], old: Iterable[_Named]) -> dict[str, _Named]:
        """For each new name the old thing it continues: the one of that name, else the one its hint names."""
        by_name = {thing.name: thing for thing in old}
        found = {thing.name: by_name[thing.name] for thing in new.values() if thing.name in by_name}
        claimed: dict[str, Spot] = {}
        for spot, thing in sorted(new.items(), key=lambda item: item[1].name):
            hint = self._hints.get(spot)
            if hint is None:
                continue
            if thing.name in found:
                self._stale(spot, hint, f"@rename_from({hint.text}) has no effect, there is one of this name already")
            elif hint.text in by_name and hint.text not in found:
                if hint.text in claimed:
                    text = f"{claimed[hint.text]} and {spot} both claim to have been {hint.text}"
                    raise refusal(self._source, hint.span, S.HINT_TWICE, text)
                claimed[hint.text] = spot
            else:
                self._refuse_across(spot, hint)
                self._stale(spot, hint, f"@rename_from({hint.text}) finds nothing to rename, so this is something new")
        return found | {_name(spot): by_name[former] for former, spot in claimed.items()}

    def _stale(self, spot: Spot, hint: Hint, why: str) -> None:
        # An interface passes its hints on to its nodes, where they are judged.
        if spot.kind is TypeKind.INTERFACE:
            return
        message = f"{spot}: {why}"
        self._diagnostics.append(Diagnostic("stale_rename_hint", message, self._source.locate(hint.span)))

    def _refuse_across(self, spot: Spot, hint: Hint) -> None:
        """A hint that names something of another kind or another owner wants data moved, which a rename never does."""
        if spot.kind is TypeKind.INTERFACE:
            return
        owner, _, member = hint.text.rpartition(".")
        for kind in TypeKind:
            for of in types_of(self._previous, kind):
                if spot.property is None and kind is not spot.kind and of.name == hint.text:
                    text = f"{spot} cannot have been {kind.value} {of.name}: a rename keeps the kind"
                    raise refusal(self._source, hint.span, S.HINT_ACROSS, text)
                names = {p.name for p in of.properties}
                # An interface hands its properties on, so it is no other owner of what its nodes have.
                foreign = kind is not TypeKind.INTERFACE and of.name != spot.type and owner in ("", of.name)
                if spot.property is not None and foreign and member in names:
                    text = f"{spot} cannot have been {of.name}.{member}: a rename stays within its type"
                    raise refusal(self._source, hint.span, S.HINT_ACROSS, text)


_Type = TypeVar("_Type", Interface, NodeType, EdgeType)


def _name(spot: Spot) -> str:
    return spot.property if spot.property is not None else spot.type
