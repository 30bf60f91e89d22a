"""Plan nodes that change a graph or command it; their inputs are read plans."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Self

from omnigraph_sql.base.catalog import ID, EdgeType, TableType
from omnigraph_sql.base.commands import Command
from omnigraph_sql.base.expr import Expr
from omnigraph_sql.base.schema import Field, Schema
from omnigraph_sql.base.travel import HEAD, ReadPoint
from omnigraph_sql.bind.bound import Assign, MergeArm, OnConflict
from omnigraph_sql.plan.node import Plan, PlanError, shape

MERGE_SOURCE: Final = "__source__"
"""Column of a merge's input that is true where a source row stands, and null where only the target does."""


def _returned(returning: tuple[tuple[str, Expr], ...]) -> Schema:
    return shape("returning", (Field(name, e.type, e.nullable) for name, e in returning))


def _known(node: str, of: TableType, columns: tuple[str, ...]) -> None:
    if unknown := [c for c in columns if of.schema.get(c) is None]:
        raise PlanError(f"{node}: {of.name} has no column {unknown[0]}")
    if len(set(columns)) != len(columns):
        raise PlanError(f"{node} assigns a column twice")


def _positions(node: str, of: TableType, columns: tuple[str, ...], input: Plan) -> None:
    _known(node, of, columns)
    if len(columns) != len(input.schema):
        raise PlanError(f"{node} feeds {len(columns)} columns from {len(input.schema)}")


@dataclass(frozen=True, slots=True)
class Insert(Plan):
    """Rows of `input` become rows of `type`: its column i feeds `columns[i]`.

    On conflict UPDATE `assignments` read the stored row as `variable.column` and the new one as `excluded.column`.
    """

    plan_fields: ClassVar[tuple[str, ...]] = ("input",)
    expr_fields: ClassVar[tuple[str, ...]] = ("returning",)
    type: TableType
    variable: str
    columns: tuple[str, ...]
    input: Plan
    on_conflict: OnConflict = OnConflict.ERROR
    assignments: tuple[Assign, ...] = ()
    where: Expr | None = None
    returning: tuple[tuple[str, Expr], ...] = ()
    at: ReadPoint = HEAD

    def __post_init__(self) -> None:
        _positions("insert", self.type, self.columns, self.input)
        if (self.on_conflict is OnConflict.UPDATE) != bool(self.assignments):
            raise PlanError("an insert assigns exactly when a conflict updates")
        self._shape(_returned(self.returning))


@dataclass(frozen=True, slots=True)
class Upsert(Plan):
    """Whole-row replace by key: rows of `input` take the place of rows with the same key, or are added."""

    plan_fields: ClassVar[tuple[str, ...]] = ("input",)
    expr_fields: ClassVar[tuple[str, ...]] = ("returning",)
    type: TableType
    variable: str
    columns: tuple[str, ...]
    input: Plan
    returning: tuple[tuple[str, Expr], ...] = ()
    at: ReadPoint = HEAD

    def __post_init__(self) -> None:
        _positions("upsert", self.type, self.columns, self.input)
        if missing := [k for k in self.type.key if k not in self.columns]:
            raise PlanError(f"upsert lacks the key column {missing[0]}")
        if not self.type.key:
            raise PlanError(f"upsert needs a key, {self.type.name} has none")
        self._shape(_returned(self.returning))


@dataclass(frozen=True, slots=True)
class Update(Plan):
    """Rows of `type` named by column `id` of the input take its columns named in `columns`."""

    plan_fields: ClassVar[tuple[str, ...]] = ("input",)
    expr_fields: ClassVar[tuple[str, ...]] = ("returning",)
    type: TableType
    variable: str
    columns: tuple[str, ...]
    input: Plan
    returning: tuple[tuple[str, Expr], ...] = ()
    at: ReadPoint = HEAD

    def __post_init__(self) -> None:
        _known("update", self.type, self.columns)
        if missing := [c for c in (ID, *self.columns) if c not in self.input.schema]:
            raise PlanError(f"update lacks the input column {missing[0]}")
        self._shape(_returned(self.returning))


@dataclass(frozen=True, slots=True)
class Delete(Plan):
    """Rows of `type` named by column `id` of the input go, and edges of `cascade` that touch them."""

    plan_fields: ClassVar[tuple[str, ...]] = ("input",)
    expr_fields: ClassVar[tuple[str, ...]] = ("returning",)
    type: TableType
    variable: str
    input: Plan
    cascade: tuple[EdgeType, ...] = ()
    returning: tuple[tuple[str, Expr], ...] = ()
    at: ReadPoint = HEAD

    def __post_init__(self) -> None:
        if ID not in self.input.schema:
            raise PlanError("delete lacks the input column id")
        for edge in self.cascade:
            if self.type.name not in (edge.source, edge.target):
                raise PlanError(f"{edge.name} does not touch {self.type.name}")
        self._shape(_returned(self.returning))


@dataclass(frozen=True, slots=True)
class Merge(Plan):
    """Each input row is a source row with its target, one alone, or the other alone; the first fitting arm acts.

    The target row is `variable.column` with a null `variable.id` where there is none; see MERGE_SOURCE. Edges of
    `cascade` go with the nodes that an arm deletes.
    """

    plan_fields: ClassVar[tuple[str, ...]] = ("input",)
    expr_fields: ClassVar[tuple[str, ...]] = ("returning",)
    type: TableType
    variable: str
    input: Plan
    arms: tuple[MergeArm, ...]
    returning: tuple[tuple[str, Expr], ...] = ()
    at: ReadPoint = HEAD
    cascade: tuple[EdgeType, ...] = ()

    def __post_init__(self) -> None:
        for column in (MERGE_SOURCE, f"{self.variable}.{ID}"):
            if column not in self.input.schema:
                raise PlanError(f"merge lacks the input column {column}")
        if not self.arms:
            raise PlanError("merge needs an arm")
        self._shape(_returned(self.returning))


@dataclass(frozen=True, slots=True)
class Unit(Plan):
    """Mutations that commit as one; each sees what those before it did."""

    name: str
    statements: tuple[Plan, ...]

    def __post_init__(self) -> None:
        kinds = (Insert, Upsert, Update, Delete, Merge)
        if not self.statements or not all(isinstance(s, kinds) for s in self.statements):
            raise PlanError("a unit holds mutations, at least one")
        self._shape(Schema(()))

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return self.statements

    def map_inputs(self, change: Callable[[Plan], Plan]) -> Self:
        new = tuple(change(s) for s in self.statements)
        return self if all(a is b for a, b in zip(new, self.statements, strict=True)) else replace(self, statements=new)


@dataclass(frozen=True, slots=True)
class Control(Plan):
    """A command, with the plan it explains, copies, describes or summarises."""

    command: Command
    input: Plan | None = None

    def __post_init__(self) -> None:
        self._shape(self.input.schema if self.input is not None else Schema(()))

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return () if self.input is None else (self.input,)

    def map_inputs(self, change: Callable[[Plan], Plan]) -> Self:
        new = None if self.input is None else change(self.input)
        return self if new is self.input else replace(self, input=new)
