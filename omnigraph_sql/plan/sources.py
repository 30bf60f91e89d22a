"""Plan nodes without inputs: where rows begin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from omnigraph_sql.base.catalog import TableType
from omnigraph_sql.base.expr import Expr
from omnigraph_sql.base.schema import Field, Schema
from omnigraph_sql.base.travel import HEAD, ReadPoint
from omnigraph_sql.plan.node import Plan, PlanError, check, check_predicate, shape


def table_fields(of: TableType, variable: str, columns: tuple[str, ...]) -> list[Field]:
    """Fields `variable.column` of physical columns."""
    known = of.qualified(variable)
    try:
        return [known[name] for name in columns]
    except KeyError as unknown:
        raise PlanError(f"{of.name} has no column {unknown.args[0]}") from None


def check_table_filter(node: str, of: TableType, variable: str, predicate: Expr | None) -> None:
    """A filter that storage applies reads physical columns of the one table, projected or not."""
    if predicate is not None:
        check_predicate(node, of.qualified_names(variable), predicate)


@dataclass(frozen=True, slots=True)
class Scan(Plan):
    """Rows of one table that satisfy `filter`; physical column `c` is `variable.c`."""

    expr_fields: ClassVar[tuple[str, ...]] = ("filter",)
    type: TableType
    variable: str
    columns: tuple[str, ...]
    filter: Expr | None = None
    at: ReadPoint = HEAD

    def __post_init__(self) -> None:
        self._shape(shape("scan", table_fields(self.type, self.variable, self.columns)))
        check_table_filter("scan", self.type, self.variable, self.filter)


@dataclass(frozen=True, slots=True)
class Argument(Plan):
    """The row of the enclosing plan, inside the right side of an anti or semi join: exactly the columns used."""

    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        self._shape(shape("argument", self.fields))


@dataclass(frozen=True, slots=True)
class Values(Plan):
    """Constant rows."""

    expr_fields: ClassVar[tuple[str, ...]] = ("rows",)
    fields: tuple[Field, ...]
    rows: tuple[tuple[Expr, ...], ...]

    def __post_init__(self) -> None:
        self._shape(shape("values", self.fields))
        for row in self.rows:
            if len(row) != len(self.fields):
                raise PlanError(f"values promise {len(self.fields)} columns, a row has {len(row)}")
            check("values", _EMPTY.keys(), row)


_EMPTY = Schema(())


@dataclass(frozen=True, slots=True)
class OneRow(Plan):
    """One row without columns: what SELECT without FROM reads."""

    def __post_init__(self) -> None:
        self._shape(_EMPTY)


@dataclass(frozen=True, slots=True)
class FunctionScan(Plan):
    """Rows of a table function; field `f` is `variable.f`. Arguments read the enclosing row only as outer columns."""

    expr_fields: ClassVar[tuple[str, ...]] = ("arguments",)
    variable: str
    function: str
    arguments: tuple[Expr, ...]
    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        self._shape(shape("function", _qualified(self.variable, self.fields)))
        check("function", _EMPTY.keys(), self.arguments)


@dataclass(frozen=True, slots=True)
class CteScan(Plan):
    """Rows of a common table expression; field `f` is `variable.f`."""

    variable: str
    name: str
    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        self._shape(shape("common table expression", _qualified(self.variable, self.fields)))


def _qualified(variable: str, fields: tuple[Field, ...]) -> list[Field]:
    return [Field(f"{variable}.{f.name}", f.type, f.nullable) for f in fields]
