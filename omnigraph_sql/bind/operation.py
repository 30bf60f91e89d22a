"""Facts about a bound query: the columns it returns, the tables it may read, the tables it writes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, assert_never

from omnigraph_sql.base.catalog import Catalog, EdgeType, NodeType, TableType
from omnigraph_sql.base.types import (
    DataType,
    DecimalType,
    EnumType,
    Kind,
    ListType,
    ScalarType,
    StructType,
    VectorType,
)
from omnigraph_sql.bind.bound import (
    BoundDelete,
    BoundInsert,
    BoundMutation,
    BoundPattern,
    BoundQuery,
    BoundSelect,
    BoundStatement,
    BoundUnit,
)

_SCALARS: Final = {
    Kind.STRING: "string",
    Kind.BOOL: "bool",
    Kind.I8: "int",
    Kind.I16: "int",
    Kind.I32: "int",
    Kind.U8: "int",
    Kind.U16: "int",
    Kind.U32: "int",
    Kind.I64: "bigint",
    Kind.U64: "bigint",
    Kind.F32: "float",
    Kind.F64: "float",
    Kind.DATE: "date",
    Kind.DATETIME: "datetime",
    Kind.BLOB: "blob",
}


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """`kind` is one of string, bool, int, bigint, float, date, datetime, blob, vector, list, object."""

    name: str
    kind: str
    nullable: bool


@dataclass(frozen=True, slots=True)
class Operation:
    """Tables are `node:Type` or `edge:Type`, sorted; reads may name more than a run touches, never less."""

    columns: tuple[ResultColumn, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        columns = [{"name": c.name, "kind": c.kind, "nullable": c.nullable} for c in self.columns]
        return {"columns": columns, "reads": list(self.reads), "writes": list(self.writes)}


@dataclass(slots=True)
class _Tables:
    catalog: Catalog
    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)

    def read(self, of: TableType) -> None:
        self.reads.add(_key(of))
        if isinstance(of, EdgeType):
            self.reads.update((f"node:{of.source}", f"node:{of.target}"))


def _key(of: TableType) -> str:
    return f"{'node' if isinstance(of, NodeType) else 'edge'}:{of.name}"


def kind_of(of: DataType) -> str:
    """The closed word for a type, for clients that know nothing of ours."""
    match of:
        case ScalarType(kind):
            return _SCALARS.get(kind, "object")
        case EnumType():
            return "string"
        case ListType():
            return "list"
        case VectorType():
            return "vector"
        case DecimalType() | StructType():
            return "object"
        case _:
            assert_never(of)


def operation_of(statement: BoundStatement, catalog: Catalog) -> Operation:
    """The facts of a `.gq` query."""
    tables = _Tables(catalog)
    columns: tuple[ResultColumn, ...] = ()
    if isinstance(statement, BoundQuery):
        columns = tuple(ResultColumn(f.name, kind_of(f.type), f.nullable) for f in statement.schema.fields)
        if isinstance(statement.body, BoundSelect) and isinstance(statement.body.source, BoundPattern):
            _pattern(tables, statement.body.source)
    elif isinstance(statement, BoundUnit):
        for mutation in statement.mutations:
            _mutation(tables, mutation)
    return Operation(columns, tuple(sorted(tables.reads)), tuple(sorted(tables.writes)))


def _pattern(tables: _Tables, pattern: BoundPattern) -> None:
    for node in pattern.nodes:
        tables.read(node.type)
    for edge in pattern.edges:
        tables.read(edge.type)
    for absence in pattern.absences:
        _pattern(tables, absence)


def _mutation(tables: _Tables, mutation: BoundMutation) -> None:
    tables.writes.add(_key(mutation.type))
    # An inserted edge looks its two ends up; a plain inserted node looks at nothing but its own table.
    if not isinstance(mutation, BoundInsert) or isinstance(mutation.type, EdgeType) or mutation.type.key:
        tables.read(mutation.type)
    if isinstance(mutation, BoundDelete):
        for edge in mutation.cascade:
            tables.reads.add(_key(edge))
            tables.writes.add(_key(edge))
