"""Control statements after names are resolved: what to do with a graph, its schema, its branches and its files.

Bound statements and plans share these values; `run` carries them out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from omnigraph_sql.base.catalog import Cardinality, Constraint, Property
from omnigraph_sql.base.expr import Expr
from omnigraph_sql.base.names import BranchName
from omnigraph_sql.base.travel import HEAD, ReadPoint

Options: TypeAlias = tuple[tuple[str, Expr], ...]

SHOWABLE = ("tables", "nodes", "edges", "branches", "commits", "conflicts", "indexes", "settings", "views")


@dataclass(frozen=True, slots=True)
class Begin:
    pass


@dataclass(frozen=True, slots=True)
class Commit:
    pass


@dataclass(frozen=True, slots=True)
class Rollback:
    pass


@dataclass(frozen=True, slots=True)
class CreateNodeType:
    name: str
    properties: tuple[Property, ...]
    constraints: tuple[Constraint, ...]
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateEdgeType:
    name: str
    source: str
    target: str
    cardinality: Cardinality
    properties: tuple[Property, ...]
    constraints: tuple[Constraint, ...]
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropType:
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class AddProperty:
    property: Property


@dataclass(frozen=True, slots=True)
class DropProperty:
    name: str


@dataclass(frozen=True, slots=True)
class RenameProperty:
    name: str
    new_name: str


@dataclass(frozen=True, slots=True)
class RenameType:
    new_name: str


@dataclass(frozen=True, slots=True)
class AddConstraint:
    constraint: Constraint


TypeChange: TypeAlias = AddProperty | DropProperty | RenameProperty | RenameType | AddConstraint


@dataclass(frozen=True, slots=True)
class AlterType:
    kind: str
    name: str
    changes: tuple[TypeChange, ...]


@dataclass(frozen=True, slots=True)
class CreateIndex:
    name: str | None
    type: str
    properties: tuple[str, ...]
    method: str | None
    unique: bool
    if_not_exists: bool
    options: Options = ()


@dataclass(frozen=True, slots=True)
class DropIndex:
    name: str
    if_exists: bool


@dataclass(frozen=True, slots=True)
class CreateView:
    """The query is the command's input; `text` is kept so that the view survives schema growth."""

    name: str
    text: str
    or_replace: bool
    if_not_exists: bool


@dataclass(frozen=True, slots=True)
class DropView:
    name: str
    if_exists: bool


@dataclass(frozen=True, slots=True)
class CreatePropertyGraph:
    name: str
    nodes: tuple[str, ...]
    edges: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DropPropertyGraph:
    name: str
    if_exists: bool


@dataclass(frozen=True, slots=True)
class CreateBranch:
    name: BranchName
    if_not_exists: bool
    start: ReadPoint = HEAD


@dataclass(frozen=True, slots=True)
class DropBranch:
    name: BranchName
    if_exists: bool


@dataclass(frozen=True, slots=True)
class MergeBranch:
    source: BranchName
    into: BranchName | None
    delete_source: bool


@dataclass(frozen=True, slots=True)
class UseBranch:
    name: BranchName


@dataclass(frozen=True, slots=True)
class SetOption:
    """`value` None resets the option to its default."""

    name: str
    value: Expr | None


@dataclass(frozen=True, slots=True)
class Show:
    what: str
    target: str | None = None

    def __post_init__(self) -> None:
        if self.what not in SHOWABLE:
            raise ValueError(f"cannot show {self.what!r}")


@dataclass(frozen=True, slots=True)
class Describe:
    """A table by name, or the command's input query."""

    type: str | None


@dataclass(frozen=True, slots=True)
class Summarize:
    """Statistics per column of the command's input query."""


@dataclass(frozen=True, slots=True)
class Explain:
    """Shows the plan of the command's input."""

    analyze: bool
    format: str


@dataclass(frozen=True, slots=True)
class CopyTo:
    """Writes the command's input query to a file."""

    path: Expr
    options: Options = ()


@dataclass(frozen=True, slots=True)
class CopyFrom:
    """`mode` is append, merge or overwrite."""

    type: str
    columns: tuple[str, ...]
    path: Expr
    mode: str = "append"
    options: Options = ()

    def __post_init__(self) -> None:
        if self.mode not in ("append", "merge", "overwrite"):
            raise ValueError(f"unknown load mode {self.mode!r}")


@dataclass(frozen=True, slots=True)
class ExportGraph:
    path: Expr


@dataclass(frozen=True, slots=True)
class ImportGraph:
    path: Expr
    mode: str = "append"


@dataclass(frozen=True, slots=True)
class Optimize:
    type: str | None


@dataclass(frozen=True, slots=True)
class Vacuum:
    type: str | None
    retain: Expr | None


@dataclass(frozen=True, slots=True)
class CallProcedure:
    name: str
    arguments: tuple[Expr, ...]


Command: TypeAlias = (
    Begin
    | Commit
    | Rollback
    | CreateNodeType
    | CreateEdgeType
    | DropType
    | AlterType
    | CreateIndex
    | DropIndex
    | CreateView
    | DropView
    | CreatePropertyGraph
    | DropPropertyGraph
    | CreateBranch
    | DropBranch
    | MergeBranch
    | UseBranch
    | SetOption
    | Show
    | Describe
    | Summarize
    | Explain
    | CopyTo
    | CopyFrom
    | ExportGraph
    | ImportGraph
    | Optimize
    | Vacuum
    | CallProcedure
)
