"""Two compiled schemas → the steps from one to the other. Pure: nothing is read, nothing is carried out.

Things are compared by identity, field by field. A field that differs and that no rule below classifies blocks the plan,
so a change can be refused but never overlooked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Final, TypeVar

from omnigraph_sql.base.catalog import (
    Check,
    Constraint,
    EdgeType,
    Index,
    Interface,
    Key,
    NodeType,
    Note,
    Property,
    Range,
    Unique,
)
from omnigraph_sql.base.types import F32, F64, I32, I64, U32, U64, DataType, EnumType, type_text
from omnigraph_sql.bind.schema_change import SchemaPlan
from omnigraph_sql.bind.schema_default import default_of
from omnigraph_sql.bind.schema_errors import TypeKind
from omnigraph_sql.bind.schema_identity import AnyType, types_of
from omnigraph_sql.bind.schema_ir import SchemaIR
from omnigraph_sql.bind.schema_shape import rule_shape
from omnigraph_sql.bind.schema_steps import (
    ORDER,
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
    Unsupported,
    UpdateMetadata,
    WidenType,
)

_WIDER: Final[frozenset[tuple[DataType, DataType]]] = frozenset(
    ((I32, I64), (U32, U64), (U32, I64), (F32, F64)),
)
"""Changes of a number's type that keep every value."""

_TYPE_CHANGE: Final = "OG-MF-106"
_REQUIRED: Final = "OG-MF-103"


def plan_schema(old: SchemaIR, new: SchemaIR, *, allow_data_loss: bool = False) -> SchemaPlan:
    """How to get from `old` to `new`, which must have been compiled with `previous=old`.

    `allow_data_loss` makes every drop a hard one. A plan with an unsupported step is to be refused as a whole.
    """
    planner = _Planner(old, new, DropMode.HARD if allow_data_loss else DropMode.SOFT)
    steps = sorted(planner.steps(), key=_rank)
    if not steps and old.shape_hash != new.shape_hash:
        steps = [_unclassified("schema", "shape")]
    return SchemaPlan(tuple(steps))


def _rank(step: Step) -> tuple[int, bool]:
    # Edges go before nodes: while a node type goes, nothing must point at it any more.
    return ORDER.index(type(step)), isinstance(step, DropType) and step.kind is TypeKind.NODE


def _unclassified(entity: str, field: str) -> Unsupported:
    return Unsupported(entity, f"unclassified change of {field}")


_Thing = TypeVar("_Thing", Interface, NodeType, EdgeType, Property)


def _pair(old: Iterable[_Thing], new: Iterable[_Thing]) -> Iterator[tuple[_Thing | None, _Thing | None]]:
    """Things of equal identity side by side: those of `new` by name, then those only `old` has."""
    before = {thing.stable_id: thing for thing in old}
    now = sorted(new, key=lambda thing: thing.name)
    for thing in now:
        yield before.get(thing.stable_id), thing
    kept = {thing.stable_id for thing in now}
    for thing in sorted(before.values(), key=lambda thing: thing.name):
        if thing.stable_id not in kept:
            yield thing, None


class _Planner:
    def __init__(self, old: SchemaIR, new: SchemaIR, mode: DropMode) -> None:
        self._old, self._new, self._mode = old, new, mode
        self._old_ids = {kind: _ids(old, kind) for kind in TypeKind}
        self._new_ids = {kind: _ids(new, kind) for kind in TypeKind}

    def steps(self) -> Iterator[Step]:
        old, new = self._old, self._new
        if old.identity_domain != new.identity_domain or new.next_identity_id < old.next_identity_id:
            yield Unsupported("schema", "the new schema was not compiled as a change of the old one")
            return
        for interface in _pair(old.catalog.interfaces, new.catalog.interfaces):
            yield from self._type(TypeKind.INTERFACE, *interface)
        for node in _pair(old.catalog.nodes, new.catalog.nodes):
            yield from self._type(TypeKind.NODE, *node)
        for edge in _pair(old.catalog.edges, new.catalog.edges):
            yield from self._type(TypeKind.EDGE, *edge)

    def _type(self, kind: TypeKind, old: AnyType | None, new: AnyType | None) -> Iterator[Step]:
        if old is None:
            assert new is not None
            yield AddType(kind, new.name)
        elif new is None:
            yield RemoveInterface(old.name) if kind is TypeKind.INTERFACE else DropType(kind, old.name, self._mode)
        elif isinstance(old, Interface) or isinstance(new, Interface):
            yield from self._interface(old, new)
        else:
            yield from self._table(kind, old, new)

    def _interface(self, old: AnyType, new: AnyType) -> Iterator[Step]:
        """What an interface gives shows in its nodes and is judged there."""
        if old.name != new.name:
            yield RenameType(TypeKind.INTERFACE, new.name, old.name)
        changed = [f.name for f in fields(old) if f.name != "name" and _differs(old, new, f.name)]
        if changed:
            yield UpdateMetadata(TypeKind.INTERFACE, new.name, None, tuple(changed))

    # ---- tables ---------------------------------------------------------------------------------------------

    def _table(self, kind: TypeKind, old: NodeType | EdgeType, new: NodeType | EdgeType) -> Iterator[Step]:
        entity = f"{kind}:{new.name}"
        metadata: list[str] = []
        for field in fields(new):
            before, after = getattr(old, field.name), getattr(new, field.name)
            match field.name:
                case "properties":
                    yield from self._properties(kind, old, new)
                case "constraints":
                    yield from _constraints(kind, old, new)
                case _ if before == after:
                    pass
                case "name":
                    yield RenameType(kind, new.name, old.name)
                case "description" | "instruction":
                    metadata.append(field.name)
                case "implements":
                    if self._interfaces(before, self._old_ids) != self._interfaces(after, self._new_ids):
                        metadata.append("implements")
                case "notes":
                    yield from _notes(entity, before, after, metadata)
                case "source" | "target":
                    if self._old_ids[TypeKind.NODE][before] != self._new_ids[TypeKind.NODE][after]:
                        yield Unsupported(entity, f"its {field.name} changes from {before} to {after}")
                case "cardinality":
                    yield ChangeCardinality(new.name, before, after)
                case _:
                    yield _unclassified(entity, field.name)
        if metadata:
            yield UpdateMetadata(kind, new.name, None, tuple(metadata))

    def _interfaces(self, names: tuple[str, ...], ids: dict[TypeKind, dict[str, int]]) -> set[int]:
        return {ids[TypeKind.INTERFACE][name] for name in names}

    # ---- properties -----------------------------------------------------------------------------------------

    def _properties(self, kind: TypeKind, old: NodeType | EdgeType, new: NodeType | EdgeType) -> Iterator[Step]:
        for before, after in _pair(old.properties, new.properties):
            if before is None:
                assert after is not None
                yield _added(kind, new.name, after)
            elif after is None:
                yield DropProperty(kind, new.name, before.name, self._mode)
            else:
                yield from self._property(kind, old, new, before, after)

    def _property(
        self, kind: TypeKind, old: NodeType | EdgeType, new: NodeType | EdgeType, before: Property, after: Property
    ) -> Iterator[Step]:
        entity = f"{kind}:{new.name}.{after.name}"
        metadata: list[str] = []
        if (before.type, before.nullable) != (after.type, after.nullable):
            yield _retyped(kind, new, before, after)
        for field in fields(after):
            was, now = getattr(before, field.name), getattr(after, field.name)
            match field.name:
                case "type" | "nullable":
                    pass
                case _ if was == now:
                    pass
                case "name":
                    yield RenameProperty(kind, new.name, after.name, before.name)
                case "description":
                    metadata.append("description")
                case "injected":
                    metadata.append("provenance")
                case "interfaces":
                    if self._interfaces(was, self._old_ids) != self._interfaces(now, self._new_ids):
                        metadata.append("interfaces")
                case "notes":
                    yield from _notes(entity, was, now, metadata)
                case "embedding":
                    if _embedding(old, before) != _embedding(new, after):
                        yield Unsupported(entity, "its @embed changes, and with it the meaning of stored vectors")
                case _:
                    yield _unclassified(entity, field.name)
        if metadata:
            yield UpdateMetadata(kind, new.name, after.name, tuple(metadata))


def _ids(ir: SchemaIR, kind: TypeKind) -> dict[str, int]:
    return {of.name: of.stable_id for of in types_of(ir.catalog, kind)}


def _differs(old: AnyType, new: AnyType, field: str) -> bool:
    before, after = getattr(old, field), getattr(new, field)
    if field == "properties":
        return {p.stable_id: p for p in before} != {p.stable_id: p for p in after}
    return bool(before != after)


def _added(kind: TypeKind, owner: str, of: Property) -> Step:
    if of.nullable:
        return AddProperty(kind, owner, of.name, of.type)
    entity = f"{kind}:{owner}.{of.name}"
    default = default_of(of)
    if default is None:
        reason = "a new property that may not be null needs a @default(…) of its type for the rows there are"
        return Unsupported(entity, reason, _REQUIRED)
    return AddRequiredProperty(kind, owner, of.name, of.type, default)


def _retyped(kind: TypeKind, owner: NodeType | EdgeType, before: Property, after: Property) -> Step:
    where = (kind, owner.name, after.name)
    same_null = before.nullable == after.nullable
    if before.type == after.type:
        return AllowNull(*where) if after.nullable else ForbidNull(*where)
    if same_null and isinstance(before.type, EnumType) and isinstance(after.type, EnumType):
        added = set(after.type.labels) - set(before.type.labels)
        if set(before.type.labels) < set(after.type.labels):
            return ExtendEnum(*where, tuple(sorted(added)))
    # The id of a keyed row spells its floats at their stored width, so a wider float is another id.
    renames_rows = after.name in owner.key and after.type == F64
    if same_null and (before.type, after.type) in _WIDER and not renames_rows:
        return WidenType(*where, before.type, after.type)
    reason = f"its type changes from {_spelled(before)} to {_spelled(after)}"
    return Unsupported(f"{kind}:{owner.name}.{after.name}", reason, _TYPE_CHANGE)


def _spelled(of: Property) -> str:
    return type_text(of.type) + ("?" if of.nullable else "")


def _embedding(owner: NodeType | EdgeType, of: Property) -> tuple[int, str | None] | None:
    """An embedding by the identity of its text, so that renaming the text is no change."""
    if of.embedding is None:
        return None
    source = owner.property(of.embedding.source)
    return (source.stable_id if source is not None else 0), of.embedding.model


def _notes(entity: str, before: tuple[Note, ...], after: tuple[Note, ...], metadata: list[str]) -> Iterator[Step]:
    if _other(before, "default") != _other(after, "default"):
        metadata.append("default")
    kept, wanted = _other(before, None), _other(after, None)
    if kept != wanted:
        names = sorted({note[0] for note in set(kept) ^ set(wanted)})
        yield Unsupported(entity, f"its notes change: {', '.join('@' + name for name in names)}")


_NoteKey = tuple[str, str, tuple[tuple[str, str], ...]]


def _other(notes: tuple[Note, ...], only: str | None) -> list[_NoteKey]:
    """Notes as sorted values: the ones called `only`, or all but the default, which only migrations read."""
    chosen = [n for n in notes if (n.name == only if only is not None else n.name != "default")]
    return sorted((n.name, repr(n.value), tuple((k, repr(v)) for k, v in n.arguments)) for n in chosen)


# ---- constraints ------------------------------------------------------------------------------------------------


def _constraints(kind: TypeKind, old: NodeType | EdgeType, new: NodeType | EdgeType) -> Iterator[Step]:
    before = {_by_identity(rule, old): rule for rule in old.constraints}
    after = {_by_identity(rule, new): rule for rule in new.constraints}
    kept = {p.stable_id for p in new.properties}
    for identity, rule in before.items():
        if identity not in after:
            gone = any(member not in kept for member in _members(rule, old))
            yield from _removed(kind, new.name, rule, gone)
    for identity, rule in after.items():
        if identity not in before:
            yield _constrained(kind, new.name, rule)


def _by_identity(rule: Constraint, owner: NodeType | EdgeType) -> str:
    ids = {p.name: f"{p.stable_id:020d}" for p in owner.properties}
    match rule:
        case Key(members):
            return str(rule_shape(Key(tuple(ids.get(m, m) for m in members))))
        case Unique(members):
            return str(rule_shape(Unique(tuple(ids.get(m, m) for m in members))))
        case Index(members):
            return str(rule_shape(Index(tuple(ids.get(m, m) for m in members))))
        case Range(name, low, high):
            return str(rule_shape(Range(ids.get(name, name), low, high)))
        case Check(name, pattern):
            return str(rule_shape(Check(ids.get(name, name), pattern)))


def _members(rule: Constraint, owner: NodeType | EdgeType) -> list[int]:
    """Identities of the properties a rule is about."""
    names = (rule.property,) if isinstance(rule, Range | Check) else rule.properties
    return [column.stable_id for name in names if (column := owner.property(name)) is not None]


def _removed(kind: TypeKind, owner: str, rule: Constraint, with_property: bool) -> Iterator[Step]:
    match rule:
        case Key():
            yield Unsupported(f"{kind}:{owner}", "its key changes, and with it the ids of its rows")
        case Index() if not with_property:
            yield Unsupported(f"{kind}:{owner}", f"an index over {', '.join(rule.properties)} is removed")
        case Index():
            pass  # goes with the property that is dropped
        case Unique() | Range() | Check():
            yield RemoveConstraint(kind, owner, rule)


def _constrained(kind: TypeKind, owner: str, rule: Constraint) -> Step:
    if isinstance(rule, Key):
        return Unsupported(f"{kind}:{owner}", "its key changes, and with it the ids of its rows")
    return AddConstraint(kind, owner, rule)
