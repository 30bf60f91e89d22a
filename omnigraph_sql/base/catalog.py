"""Immutable schema values: what a graph may contain, as every layer sees it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import TypeAlias

from omnigraph_sql.base.schema import Field, Schema
from omnigraph_sql.base.types import STRING, DataType

ID = "id"
SRC = "src"
DST = "dst"


@dataclass(frozen=True, slots=True)
class Note:
    """A free annotation `@name(value, key=value …)`; kept, never interpreted."""

    name: str
    value: str | int | float | bool | None = None
    arguments: tuple[tuple[str, str | int | float | bool], ...] = ()


@dataclass(frozen=True, slots=True)
class Embedding:
    """The text property a vector stands for, and the model that made it."""

    source: str
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Property:
    """A declared column. `stable_id` survives renames; 0 means not yet allocated."""

    name: str
    type: DataType
    nullable: bool
    stable_id: int = 0
    description: str | None = None
    embedding: Embedding | None = None
    notes: tuple[Note, ...] = ()
    renamed_from: str | None = None
    interfaces: tuple[str, ...] = ()
    """Interfaces that contribute this property, in `implements` order."""
    injected: bool = False
    """True when the type did not declare it itself."""


@dataclass(frozen=True, slots=True)
class Key:
    properties: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unique:
    properties: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Index:
    properties: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Range:
    """Inclusive bounds of a numeric property; either may be open."""

    property: str
    low: int | Decimal | None
    high: int | Decimal | None


@dataclass(frozen=True, slots=True)
class Check:
    """An unanchored regular expression a string property must match somewhere."""

    property: str
    pattern: str


Constraint: TypeAlias = Key | Unique | Index | Range | Check


@dataclass(frozen=True, slots=True)
class Cardinality:
    """Number of edges per source node; `maximum` None is unbounded."""

    minimum: int = 0
    maximum: int | None = None

    def __post_init__(self) -> None:
        if self.minimum < 0 or (self.maximum is not None and self.maximum < self.minimum):
            raise ValueError("a cardinality has 0 <= minimum <= maximum")


_VARIABLES_REMEMBERED = 256


@dataclass(frozen=True)
class _Type:
    name: str
    properties: tuple[Property, ...]
    constraints: tuple[Constraint, ...] = ()
    stable_id: int = 0
    incarnation_id: int = 0
    description: str | None = None
    instruction: str | None = None
    notes: tuple[Note, ...] = ()
    renamed_from: str | None = None

    @cached_property
    def _by_name(self) -> dict[str, Property]:
        return {p.name: p for p in self.properties}

    @cached_property
    def _by_fold(self) -> dict[str, list[Field]]:
        folded: dict[str, list[Field]] = {}
        for column in self.schema.fields:
            folded.setdefault(column.name.casefold(), []).append(column)
        return folded

    @property
    def schema(self) -> Schema:
        raise NotImplementedError

    def property(self, name: str) -> Property | None:
        """The property with exactly this name."""
        return self._by_name.get(name)

    def column(self, name: str) -> Field | None:
        """A physical column by exact name: id, src, dst or a property."""
        return self.schema.get(name)

    def columns_like(self, name: str) -> list[Field]:
        """Physical columns whose name equals `name` without regard to case."""
        return self._by_fold.get(name.casefold(), [])

    @cached_property
    def _qualified(self) -> dict[str, tuple[dict[str, Field], frozenset[str]]]:
        return {}

    def _qualify(self, variable: str) -> tuple[dict[str, Field], frozenset[str]]:
        found = self._qualified.get(variable)
        if found is None:
            if len(self._qualified) >= _VARIABLES_REMEMBERED:
                self._qualified.clear()
            columns = {f.name: Field(f"{variable}.{f.name}", f.type, f.nullable) for f in self.schema.fields}
            found = columns, frozenset(f.name for f in columns.values())
            self._qualified[variable] = found
        return found

    def qualified(self, variable: str) -> dict[str, Field]:
        """Physical columns by name, each as the field `variable.name`; remembered for variables used lately."""
        return self._qualify(variable)[0]

    def qualified_names(self, variable: str) -> frozenset[str]:
        """The names of those fields."""
        return self._qualify(variable)[1]

    @cached_property
    def key(self) -> tuple[str, ...]:
        """Members of the key in declared order; empty when ids are generated."""
        for rule in self.constraints:
            if isinstance(rule, Key):
                return rule.properties
        return ()

    @cached_property
    def indexed(self) -> frozenset[str]:
        """Columns that rules want an index on: members of the key and of every index rule."""
        return frozenset(n for rule in self.constraints if isinstance(rule, Key | Index) for n in rule.properties)


@dataclass(frozen=True)
class NodeType(_Type):
    """A node table: `id` first, then the properties."""

    implements: tuple[str, ...] = ()

    @cached_property
    def schema(self) -> Schema:
        own = tuple(Field(p.name, p.type, p.nullable) for p in self.properties)
        return Schema((Field(ID, STRING, False), *own))


@dataclass(frozen=True)
class EdgeType(_Type):
    """An edge table: `id`, `src`, `dst`, then the properties."""

    source: str = ""
    target: str = ""
    cardinality: Cardinality = field(default_factory=Cardinality)

    @cached_property
    def schema(self) -> Schema:
        own = tuple(Field(p.name, p.type, p.nullable) for p in self.properties)
        ends = (Field(ID, STRING, False), Field(SRC, STRING, False), Field(DST, STRING, False))
        return Schema((*ends, *own))


@dataclass(frozen=True, slots=True)
class Interface:
    """Reusable properties; not a table."""

    name: str
    properties: tuple[Property, ...]
    constraints: tuple[Constraint, ...] = ()
    stable_id: int = 0


TableType: TypeAlias = NodeType | EdgeType


@dataclass(frozen=True)
class Catalog:
    """Every type of a graph. Node and edge names are separate namespaces; edge words fold case."""

    nodes: tuple[NodeType, ...] = ()
    edges: tuple[EdgeType, ...] = ()
    interfaces: tuple[Interface, ...] = ()

    def __post_init__(self) -> None:
        names = [n.name for n in self.nodes]
        if len(set(names)) != len(names):
            raise ValueError("node type names must be distinct")
        folds = [e.name.casefold() for e in self.edges]
        if len(set(folds)) != len(folds):
            raise ValueError("edge type names must be distinct without regard to case")
        for edge in self.edges:
            for end in (edge.source, edge.target):
                if end not in names:
                    raise ValueError(f"edge {edge.name} ends on unknown node type {end}")

    @cached_property
    def _nodes(self) -> dict[str, NodeType]:
        return {n.name: n for n in self.nodes}

    @cached_property
    def _edges(self) -> dict[str, EdgeType]:
        return {e.name: e for e in self.edges}

    @cached_property
    def _edge_words(self) -> dict[str, EdgeType]:
        return {e.name.casefold(): e for e in self.edges}

    @cached_property
    def _tables(self) -> dict[str, list[TableType]]:
        folded: dict[str, list[TableType]] = {}
        for table in self.tables():
            folded.setdefault(table.name.casefold(), []).append(table)
        return folded

    def node(self, name: str) -> NodeType | None:
        return self._nodes.get(name)

    def edge(self, name: str) -> EdgeType | None:
        return self._edges.get(name)

    def edge_word(self, word: str) -> EdgeType | None:
        """How a traversal names an edge: exactly, else without regard to case."""
        return self._edges.get(word) or self._edge_words.get(word.casefold())

    def tables(self) -> Iterator[TableType]:
        """All tables, nodes first, in declared order."""
        yield from self.nodes
        yield from self.edges

    def tables_like(self, name: str) -> list[TableType]:
        """SQL lookup: tables whose name equals `name` without regard to case, nodes first."""
        return self._tables.get(name.casefold(), [])

    def incident_edges(self, node: str) -> tuple[EdgeType, ...]:
        """Edge types that touch this node type at either end."""
        return tuple(e for e in self.edges if node in (e.source, e.target))
