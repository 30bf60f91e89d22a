"""Syntax tree of SQL.

Queries and DML stay sqlglot trees; the few things sqlglot has no node for are defined here, as sqlglot nodes where they
stand inside a tree (`GraphTable`, `GqTable`, `Travel`) and as frozen dataclasses where they are whole statements.
Nothing is resolved yet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from sqlglot import exp

from omnigraph_sql.grammar.ast.sql_ddl import (
    AddColumn,
    AddConstraint,
    AlterAction,
    AlterColumn,
    AlterTable,
    ColumnDef,
    CopyFrom,
    CopyTo,
    CreateIndex,
    CreatePropertyGraph,
    CreateTable,
    CreateView,
    DropColumn,
    DropConstraint,
    DropIndex,
    DropPropertyGraph,
    DropTable,
    DropView,
    ExportGraph,
    GraphElement,
    GraphEnd,
    GraphLabel,
    GraphProperty,
    ImportGraph,
    Optimize,
    Options,
    Reference,
    RenameColumn,
    RenameTable,
    TableConstraint,
    Truncate,
    Vacuum,
)
from omnigraph_sql.grammar.ast.sql_names import Ident, TableName
from omnigraph_sql.grammar.source import Source, Span

# fmt: off
__all__ = [
    "AddColumn", "AddConstraint", "AlterAction", "AlterColumn", "AlterTable", "Call", "ColumnDef",
    "CopyFrom", "CopyTo", "CreateBranch", "CreateIndex", "CreatePropertyGraph", "CreateTable", "CreateView",
    "Describe", "DropBranch", "DropColumn", "DropConstraint", "DropIndex", "DropPropertyGraph", "DropTable",
    "DropView", "EdgePattern", "ExplainOptions", "ExportGraph", "GqTable", "GraphElement", "GraphEnd",
    "GraphLabel", "GraphProperty", "GraphTable", "HouseStatement", "Ident", "ImportGraph", "MergeBranch",
    "NodePattern", "Optimize", "Options", "PathPattern", "Placeholder", "Quantifier", "Reference",
    "RenameColumn", "RenameTable", "SetOption", "Show", "SqlStatement", "Summarize", "TableConstraint",
    "TableName", "Transaction", "Travel", "Truncate", "UseBranch", "Vacuum",
]
# fmt: on

# ---- nodes inside sqlglot trees ---------------------------------------------------------------------------------


class Travel(exp.Expression):
    """The point in history of one table: `table.args["version"]`, whatever way it was spelt.

    `kind` is the text 'version', 'timestamp' or 'branch'; `value` an expression.
    """

    arg_types = {"kind": True, "value": True}  # noqa: RUF012 - sqlglot reads a plain class attribute


class GraphTable(exp.Expression, exp.Func):
    """`GRAPH_TABLE ([graph] MATCH … [WHERE …] COLUMNS (…))`; stands as `this` of an exp.Table.

    `graph` is an exp.Identifier or absent, `paths` a tuple of PathPattern, `columns` a list of expressions (columns,
    aliases, `a.*`). sqlglot's walkers see `where` and `columns`, not what is inside the patterns: use `pattern_wheres`.
    """

    arg_types = {"graph": False, "paths": True, "where": False, "columns": True}  # noqa: RUF012

    @property
    def paths(self) -> tuple[PathPattern, ...]:
        found: tuple[PathPattern, ...] = self.args["paths"]
        return found

    @property
    def pattern_wheres(self) -> tuple[exp.Expr, ...]:
        """The conditions inside the patterns, in text order."""
        return tuple(e.where for path in self.paths for e in path.elements if e.where is not None)


class GqTable(exp.Expression, exp.Func):
    """`gq($$ … $$, name => value, …)`; stands as `this` of an exp.Table.

    `text` is the string literal, `body` the Span of the text between its quotes (offsets of a literal without
    escapes match the source one to one), `arguments` a list of exp.Kwarg.
    """

    arg_types = {"text": True, "body": True, "arguments": False}  # noqa: RUF012

    @property
    def body(self) -> Span:
        found: Span = self.args["body"]
        return found


@dataclass(frozen=True, slots=True)
class Quantifier:
    """`{minimum,maximum}`; no maximum means as far as the session allows."""

    minimum: int
    maximum: int | None
    span: Span


@dataclass(frozen=True, slots=True)
class NodePattern:
    variable: Ident | None
    labels: tuple[Ident, ...]
    where: exp.Expr | None
    span: Span


@dataclass(frozen=True, slots=True)
class EdgePattern:
    variable: Ident | None
    labels: tuple[Ident, ...]
    where: exp.Expr | None
    direction: Literal["out", "in", "any"]
    quantifier: Quantifier | None
    span: Span


@dataclass(frozen=True, slots=True)
class PathPattern:
    """Nodes and edges by turns, beginning and ending with a node."""

    path_variable: Ident | None
    shortest: bool
    elements: tuple[NodePattern | EdgePattern, ...]
    span: Span


# ---- branches and session ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CreateBranch:
    """`as_of` is a Travel node."""

    name: Ident
    if_not_exists: bool
    from_branch: Ident | None
    as_of: exp.Expr | None
    span: Span


@dataclass(frozen=True, slots=True)
class DropBranch:
    name: Ident
    if_exists: bool
    span: Span


@dataclass(frozen=True, slots=True)
class MergeBranch:
    source: Ident
    into: Ident | None
    delete_source: bool
    span: Span


@dataclass(frozen=True, slots=True)
class UseBranch:
    name: Ident
    span: Span


@dataclass(frozen=True, slots=True)
class Show:
    """`what` is upper case: TABLES, NODES, EDGES, BRANCHES, COMMITS, CONFLICTS, INDEXES, SETTINGS or VIEWS.

    `target` is the branch of SHOW COMMITS or the table of SHOW INDEXES.
    """

    what: str
    target: Ident | None
    span: Span


@dataclass(frozen=True, slots=True)
class Describe:
    """Of exactly one thing."""

    table: TableName | None
    query: exp.Expr | None
    span: Span


@dataclass(frozen=True, slots=True)
class Summarize:
    """Of exactly one thing."""

    table: TableName | None
    query: exp.Expr | None
    span: Span


@dataclass(frozen=True, slots=True)
class SetOption:
    """`SET name = value`; without a value, `RESET name`. A bare word as value is an exp.Var."""

    name: Ident
    value: exp.Expr | None
    span: Span


@dataclass(frozen=True, slots=True)
class Transaction:
    kind: Literal["begin", "commit", "rollback"]
    span: Span


@dataclass(frozen=True, slots=True)
class Call:
    """`CALL function(args)`; a named argument is an exp.Kwarg."""

    function: Ident
    args: tuple[exp.Expr, ...]
    span: Span


# ---- whole statements -------------------------------------------------------------------------------------------

HouseStatement: TypeAlias = (
    CreateBranch
    | DropBranch
    | MergeBranch
    | UseBranch
    | Show
    | Describe
    | Summarize
    | SetOption
    | Transaction
    | Call
    | CreateTable
    | AlterTable
    | DropTable
    | Truncate
    | CreateIndex
    | DropIndex
    | CreateView
    | DropView
    | Optimize
    | Vacuum
    | CreatePropertyGraph
    | DropPropertyGraph
    | CopyTo
    | CopyFrom
    | ExportGraph
    | ImportGraph
)


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A parameter: `?` has its number as name (from 1), as has `$1`; `$name` and `:name` have their name."""

    name: str
    positional: bool
    span: Span


@dataclass(frozen=True, slots=True)
class ExplainOptions:
    """`EXPLAIN [ANALYZE] [FORMAT text|json]`; `format` is lower case."""

    analyze: bool
    format: str
    span: Span


@dataclass(frozen=True, slots=True)
class SqlStatement:
    """One statement of a text; placeholders are in text order, one entry per occurrence."""

    source: Source
    span: Span
    tree: exp.Expr | HouseStatement
    placeholders: tuple[Placeholder, ...]
    explain: ExplainOptions | None = None
