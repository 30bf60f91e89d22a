"""Statements of SQL about tables, indexes, views, property graphs and files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from sqlglot import exp

from omnigraph_sql.grammar.ast.sql_names import Ident, TableName
from omnigraph_sql.grammar.source import Span

# ---- tables -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reference:
    """`REFERENCES table [(columns)]`."""

    table: TableName
    columns: tuple[Ident, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class ColumnDef:
    name: Ident
    type: exp.DataType
    nullable: bool
    primary_key: bool
    unique: bool
    check: exp.Expr | None
    default: exp.Expr | None
    references: Reference | None
    span: Span


@dataclass(frozen=True, slots=True)
class TableConstraint:
    """`columns` of a key, `check` of a check; `references` of a foreign key only."""

    kind: Literal["primary_key", "unique", "check", "foreign_key"]
    name: Ident | None
    columns: tuple[Ident, ...]
    check: exp.Expr | None
    references: Reference | None
    span: Span


@dataclass(frozen=True, slots=True)
class CreateTable:
    """`CREATE [NODE|EDGE] TABLE`; a plain table is a node table, `source` and `target` belong to edges."""

    kind: Literal["node", "edge"]
    name: TableName
    if_not_exists: bool
    columns: tuple[ColumnDef, ...]
    constraints: tuple[TableConstraint, ...]
    source: Ident | None
    target: Ident | None
    cardinality: tuple[int, int | None] | None
    as_query: exp.Expr | None
    span: Span


@dataclass(frozen=True, slots=True)
class AddColumn:
    column: ColumnDef
    if_not_exists: bool
    span: Span


@dataclass(frozen=True, slots=True)
class DropColumn:
    name: Ident
    if_exists: bool
    span: Span


@dataclass(frozen=True, slots=True)
class RenameColumn:
    name: Ident
    to: Ident
    span: Span


@dataclass(frozen=True, slots=True)
class RenameTable:
    to: Ident
    span: Span


@dataclass(frozen=True, slots=True)
class AddConstraint:
    constraint: TableConstraint
    span: Span


@dataclass(frozen=True, slots=True)
class DropConstraint:
    name: Ident
    if_exists: bool
    span: Span


@dataclass(frozen=True, slots=True)
class AlterColumn:
    """One change of one column; `type` of set_type and `default` of set_default only."""

    name: Ident
    action: Literal["set_not_null", "drop_not_null", "set_type", "set_default", "drop_default"]
    type: exp.DataType | None
    default: exp.Expr | None
    span: Span


AlterAction: TypeAlias = (
    AddColumn | DropColumn | RenameColumn | RenameTable | AddConstraint | DropConstraint | AlterColumn
)


@dataclass(frozen=True, slots=True)
class AlterTable:
    name: TableName
    if_exists: bool
    actions: tuple[AlterAction, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class DropTable:
    name: TableName
    if_exists: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Truncate:
    table: TableName
    returning: exp.Returning | None
    span: Span


# ---- indexes, views, maintenance ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CreateIndex:
    """`using` is lower case; options are in text order, their names lower case."""

    name: Ident | None
    unique: bool
    table: TableName
    columns: tuple[Ident, ...]
    using: str | None
    options: tuple[tuple[str, exp.Expr], ...]
    if_not_exists: bool
    span: Span


@dataclass(frozen=True, slots=True)
class DropIndex:
    name: Ident
    table: TableName | None
    if_exists: bool
    span: Span


@dataclass(frozen=True, slots=True)
class CreateView:
    name: TableName
    or_replace: bool
    if_not_exists: bool
    query: exp.Expr
    columns: tuple[Ident, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class DropView:
    name: TableName
    if_exists: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Optimize:
    table: TableName | None
    span: Span


@dataclass(frozen=True, slots=True)
class Vacuum:
    """`retain` is a number of versions, an exp.Interval or any other expression."""

    table: TableName | None
    retain: exp.Expr | None
    span: Span


# ---- property graphs --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GraphProperty:
    """`expression [AS name]`."""

    expression: exp.Expr
    name: Ident | None
    span: Span


@dataclass(frozen=True, slots=True)
class GraphLabel:
    """`LABEL name`, or the default label without a name; `properties` None means all columns."""

    name: Ident | None
    properties: tuple[GraphProperty, ...] | None
    span: Span


@dataclass(frozen=True, slots=True)
class GraphEnd:
    """`SOURCE [KEY (columns) REFERENCES] table [(referenced)]`."""

    columns: tuple[Ident, ...]
    table: Ident
    referenced: tuple[Ident, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class GraphElement:
    """One vertex or edge table; `source` and `destination` belong to edge tables."""

    table: TableName
    alias: Ident | None
    key: tuple[Ident, ...]
    source: GraphEnd | None
    destination: GraphEnd | None
    labels: tuple[GraphLabel, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class CreatePropertyGraph:
    name: TableName
    or_replace: bool
    if_not_exists: bool
    vertex_tables: tuple[GraphElement, ...]
    edge_tables: tuple[GraphElement, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class DropPropertyGraph:
    name: TableName
    if_exists: bool
    span: Span


# ---- files ------------------------------------------------------------------------------------------------------

Options: TypeAlias = tuple[tuple[str, exp.Expr], ...]
"""In text order, names lower case; a bare option has the value TRUE, a bare word as value is an exp.Var."""


@dataclass(frozen=True, slots=True)
class CopyTo:
    """Of exactly one thing."""

    table: TableName | None
    query: exp.Expr | None
    path: exp.Expr
    options: Options
    span: Span


@dataclass(frozen=True, slots=True)
class CopyFrom:
    table: TableName
    columns: tuple[Ident, ...]
    path: exp.Expr
    options: Options
    span: Span


@dataclass(frozen=True, slots=True)
class ExportGraph:
    path: exp.Expr
    options: Options
    span: Span


@dataclass(frozen=True, slots=True)
class ImportGraph:
    path: exp.Expr
    options: Options
    span: Span
