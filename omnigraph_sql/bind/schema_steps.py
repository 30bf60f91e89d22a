"""Steps of a schema change: what each one does, how dangerous it is, and how it reads."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final, TypeAlias, get_args

from omnigraph_sql.base.catalog import Cardinality, Constraint, Index
from omnigraph_sql.base.types import DataType, type_text
from omnigraph_sql.bind.schema_errors import TypeKind
from omnigraph_sql.grammar.unparse_pg import render_rule


class Tier(StrEnum):
    """Safe steps always succeed, validated ones after a look at the data, destructive ones lose some."""

    SAFE = "safe"
    VALIDATED = "validated"
    DESTRUCTIVE = "destructive"


class DropMode(StrEnum):
    """Soft keeps older versions readable, hard removes them as well."""

    SOFT = "soft"
    HARD = "hard"


@dataclass(frozen=True, slots=True)
class AddType:
    kind: TypeKind
    type: str
    tier: ClassVar[Tier] = Tier.SAFE
    code: ClassVar[str | None] = None

    def text(self) -> str:
        return f"add {self.kind} {self.type}"


@dataclass(frozen=True, slots=True)
class RenameType:
    kind: TypeKind
    type: str
    former: str
    tier: ClassVar[Tier] = Tier.SAFE
    code: ClassVar[str | None] = None

    def text(self) -> str:
        return f"rename {self.kind} {self.former} to {self.type}"


@dataclass(frozen=True, slots=True)
class RemoveInterface:
    """An interface is no table: nothing is lost with it, whatever happens to the properties it gave."""

    type: str
    tier: ClassVar[Tier] = Tier.SAFE
    code: ClassVar[str | None] = None

    def text(self) -> str:
        return f"remove interface {self.type}"


@dataclass(frozen=True, slots=True)
class DropType:
    kind: TypeKind
    type: str
    mode: DropMode = DropMode.SOFT
    tier: ClassVar[Tier] = Tier.DESTRUCTIVE

    def __post_init__(self) -> None:
        if self.kind is TypeKind.INTERFACE:
            raise ValueError("an interface is removed, not dropped")

    @property
    def code(self) -> str:
        return "OG-DS-102" if self.kind is TypeKind.NODE else "OG-DS-103"

    def text(self) -> str:
        return f"drop {self.kind} {self.type} ({self.mode})"


@dataclass(frozen=True, slots=True)
class AddProperty:
    """A new column that is null in every row there is."""

    kind: TypeKind
    type: str
    property: str
    of: DataType
    tier: ClassVar[Tier] = Tier.SAFE
    code: ClassVar[str | None] = None

    def text(self) -> str:
        return f"add property {self.type}.{self.property}: {type_text(self.of)}?"


@dataclass(frozen=True, slots=True)
class AddRequiredProperty:
    """A new column that holds `default` in every row there is."""

    kind: TypeKind
    type: str
    property: str
    of: DataType
    default: str | int | float | bool
    tier: ClassVar[Tier] = Tier.VALIDATED
    code: ClassVar[str | None] = None

    def text(self) -> str:
        return f"add property {self.type}.{self.property}: {type_text(self.of)}, at first {self.default!r}"


@dataclass(frozen=True, slots=True)
class RenameProperty:
    kind: TypeKind
    type: str
    property: str
    former: str
    tier: ClassVar[Tier] = Tier.SAFE
    code: ClassVar[str | None] = None

    def text(self) -> str:
        return f"rename property {self.type}.{self.former} to {self.property}"


@dataclass(frozen=True, slots=True)
class DropProperty:
    kind: TypeKind
    type: str
    property: str
    mode: DropMode = DropMode.SOFT
    tier: ClassVar[Tier] = Tier.DESTRUCTIVE
    code: ClassVar[str | None] = "OG-DS-104"

    def text(self) -> str:
        return f"drop property {self.type}.{self.property} ({self.mode})"


@dataclass(frozen=True, slots=True)
class ExtendEnum:
    kind: TypeKind
    type: str
    property: str
    added: tuple[str, ...]
    tier: ClassVar[Tier] = Tier.SAFE
    code: ClassVar[str | None] = None

    def text(self) -> str:
        return f"extend enum {self.type}.{self.property} by {', '.join(self.added)}"


@dataclass(frozen=True, slots=True)
class WidenType:
    """A number gets a larger type that holds every value of the old one."""

    kind: TypeKind
    type: str
    property: str
    before: DataType
    after: DataType
    tier: ClassVar[Tier] = Tier.VALIDATED
    code: ClassVar[str | None] = None

    def text(self) -> str:
        return f"widen {self.type}.{self.property} from {type_text(self.before)} to {type_text(self.after)}"


@dataclass(frozen=True, slots=True)
class AllowNull:
    kind: TypeKind
    type: str
    property: str
    tier: ClassVar[Tier] = Tier.SAFE
    code: ClassVar[str | None] = None

    def text(self) -> str:
        return f"allow null in {self.type}.{self.property}"


@dataclass(frozen=True, slots=True)
class ForbidNull:
    kind: TypeKind
    type: str
    property: str
    tier: ClassVar[Tier] = Tier.VALIDATED
    code: ClassVar[str | None] = "OG-MF-104"

    def text(self) -> str:
        return f"forbid null in {self.type}.{self.property}"


@dataclass(frozen=True, slots=True)
class AddConstraint:
    kind: TypeKind
    type: str
    rule: Constraint
    code: ClassVar[str | None] = None

    @property
    def tier(self) -> Tier:
        return Tier.SAFE if isinstance(self.rule, Index) else Tier.VALIDATED

    def text(self) -> str:
        return f"add {render_rule(self.rule)} to {self.kind} {self.type}"


@dataclass(frozen=True, slots=True)
class RemoveConstraint:
    """`rule` is spelled with the names of before."""

    kind: TypeKind
    type: str
    rule: Constraint
    tier: ClassVar[Tier] = Tier.SAFE
    code: ClassVar[str | None] = None

    def text(self) -> str:
        return f"remove {render_rule(self.rule)} from {self.kind} {self.type}"


@dataclass(frozen=True, slots=True)
class ChangeCardinality:
    type: str
    before: Cardinality
    after: Cardinality
    code: ClassVar[str | None] = None

    @property
    def tier(self) -> Tier:
        most = self.after.maximum
        roomier = most is None or (self.before.maximum is not None and most >= self.before.maximum)
        return Tier.SAFE if roomier and self.after.minimum <= self.before.minimum else Tier.VALIDATED

    def text(self) -> str:
        return f"change the cardinality of edge {self.type} from {_span(self.before)} to {_span(self.after)}"


@dataclass(frozen=True, slots=True)
class UpdateMetadata:
    """Facts that no row depends on: documentation, defaults, interfaces, where a property comes from."""

    kind: TypeKind
    type: str
    property: str | None
    facts: tuple[str, ...]
    tier: ClassVar[Tier] = Tier.SAFE
    code: ClassVar[str | None] = None

    def text(self) -> str:
        member = "" if self.property is None else f".{self.property}"
        return f"update {', '.join(self.facts)} of {self.kind} {self.type}{member}"


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A change nobody can carry out; it blocks the whole plan."""

    entity: str
    reason: str
    code: str | None = None
    tier: ClassVar[Tier] = Tier.DESTRUCTIVE

    def text(self) -> str:
        return f"unsupported: {self.entity}: {self.reason}" + (f" [{self.code}]" if self.code else "")


Step: TypeAlias = (
    RenameType
    | AddType
    | RenameProperty
    | AddProperty
    | AddRequiredProperty
    | ExtendEnum
    | WidenType
    | AllowNull
    | ForbidNull
    | ChangeCardinality
    | RemoveConstraint
    | AddConstraint
    | UpdateMetadata
    | DropProperty
    | DropType
    | RemoveInterface
    | Unsupported
)

ORDER: Final[tuple[type[Step], ...]] = get_args(Step)
"""Kinds of steps in the order a plan has them: later ones use the names earlier ones made."""


def _span(of: Cardinality) -> str:
    return f"{of.minimum}..{'' if of.maximum is None else of.maximum}"
