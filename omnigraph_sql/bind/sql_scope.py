"""What names mean at one place of a SQL statement: range variables, their columns, and the scopes around.

A table's system columns (`_rowid`, `_row_created_at_version`, `_row_last_updated_at_version`) have names of their own,
never shown by `*`. A scan reads physical columns only, so a use of one is refused by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from omnigraph_sql.base.catalog import ID, TableType
from omnigraph_sql.base.expr import Column, Expr, transform
from omnigraph_sql.base.schema import Field
from omnigraph_sql.base.types import U64

SYSTEM_COLUMNS: Final = (
    Field("_rowid", U64, False),
    Field("_row_created_at_version", U64, True),
    Field("_row_last_updated_at_version", U64, True),
)


@dataclass(frozen=True, slots=True)
class Name:
    """A name as written: unquoted names match without regard to case, quoted ones exactly."""

    text: str
    quoted: bool = False

    def matches(self, declared: str) -> bool:
        return declared == self.text or (not self.quoted and declared.casefold() == self.text.casefold())


@dataclass(frozen=True, slots=True)
class ScopeColumn:
    """A column by the name the text uses, and what it stands for; `starred` when `*` includes it.

    `held` is False for a column that exists and that no plan can read.
    """

    name: str
    expr: Expr
    starred: bool = True
    held: bool = True

    def optional(self) -> ScopeColumn:
        expr = _nullable(self.expr) if isinstance(self.expr, Column) else transform(self.expr, _nullable)
        return self if expr is self.expr else replace(self, expr=expr)


def _nullable(expr: Expr) -> Expr:
    return Column(expr.name, expr.of, True) if isinstance(expr, Column) and not expr.null else expr


class RangeTable:
    """One range variable: the name the text gives it, its unique variable, its columns."""

    __slots__ = ("_columns", "_exact", "_folded", "name", "type", "variable")

    def __init__(self, name: str, variable: str, columns: tuple[ScopeColumn, ...], of: TableType | None = None) -> None:
        self.name = name
        self.variable = variable
        self.type = of
        """The graph type behind it, when it is a table of the graph."""
        self._columns = columns
        self._exact: dict[str, list[ScopeColumn]] = {}
        self._folded: dict[str, list[ScopeColumn]] = {}
        for column in columns:
            self._exact.setdefault(column.name, []).append(column)
            self._folded.setdefault(column.name.casefold(), []).append(column)

    @property
    def columns(self) -> tuple[ScopeColumn, ...]:
        return self._columns

    @staticmethod
    def of_table(name: str, variable: str, of: TableType) -> RangeTable:
        """A node or edge table: its physical columns, then the system columns."""
        return _TypeTable(name, variable, of)

    @classmethod
    def of_fields(cls, name: str, variable: str, fields: Iterable[Field]) -> RangeTable:
        return cls(name, variable, tuple(_column(variable, f, True) for f in fields))

    def optional(self) -> RangeTable:
        """The same table where an outer join may leave it without a row: every column may be null."""
        return RangeTable(self.name, self.variable, tuple(c.optional() for c in self.columns), self.type)

    def find(self, name: Name) -> list[ScopeColumn]:
        """Columns the name may mean; an exact match beats those that differ in case."""
        exact = self._exact.get(name.text)
        if exact or name.quoted:
            return exact or []
        return self._folded.get(name.text.casefold(), [])


def _column(variable: str, of: Field, starred: bool) -> ScopeColumn:
    return ScopeColumn(of.name, Column(f"{variable}.{of.name}", of.type, of.nullable), starred)


class _TypeTable(RangeTable):
    """A table of the graph: a text names few of its columns, so each is made when it is asked for."""

    __slots__ = ("_of", "_padded")

    def __init__(self, name: str, variable: str, of: TableType, padded: bool = False) -> None:
        self.name = name
        self.variable = variable
        self.type = self._of = of
        self._padded = padded

    @property
    def columns(self) -> tuple[ScopeColumn, ...]:
        return tuple(self._made([*self._of.schema.fields, *self._system()]))

    def _system(self) -> list[Field]:
        return [f for f in SYSTEM_COLUMNS if self._of.column(f.name) is None]

    def _made(self, fields: Iterable[Field]) -> list[ScopeColumn]:
        known = self._of.schema
        return [
            ScopeColumn(
                f.name,
                Column(f"{self.variable}.{f.name}", f.type, f.nullable or self._padded),
                f.name in known and f.name != ID,
                f.name in known,
            )
            for f in fields
        ]

    def optional(self) -> RangeTable:
        return _TypeTable(self.name, self.variable, self._of, True)

    def find(self, name: Name) -> list[ScopeColumn]:
        exact = self._of.column(name.text)
        if exact is not None:
            return self._made((exact,))
        system = [f for f in self._system() if name.matches(f.name)]
        if name.quoted or any(f.name == name.text for f in system):
            return self._made(system)
        return self._made([*self._of.columns_like(name.text), *system])


@dataclass(frozen=True, slots=True)
class MergedColumn:
    """One column that USING or NATURAL made out of two.

    `stands_for` are the (variable, column name) pairs that a bare name and `*` no longer show; in `*` it comes before
    the columns of the range variable `before`, the first of its join.
    """

    column: ScopeColumn
    stands_for: frozenset[tuple[str, str]]
    before: str


@dataclass(slots=True)
class Scope:
    """The range variables of one FROM clause; `parent` is the scope of the query around.

    `merged` holds columns that USING or NATURAL made one out of two, the latest join first.
    `outer` collects the columns of scopes around that were used from here.
    """

    parent: Scope | None = None
    tables: list[RangeTable] = field(default_factory=list)
    merged: list[MergedColumn] = field(default_factory=list)
    outer: set[str] = field(default_factory=set)

    def tables_named(self, name: Name) -> list[RangeTable]:
        text, folded = name.text, None if name.quoted else name.text.casefold()
        return [t for t in self.tables if t.name == text or t.name.casefold() == folded]

    def find(self, name: Name) -> list[ScopeColumn]:
        """What a bare column name may mean in this scope alone; more than one is ambiguous."""
        if not self.merged:
            return [column for table in self.tables for column in table.find(name)]
        hidden = self._hidden()
        own = [c for t in self.tables for c in t.find(name) if (t.variable, c.name) not in hidden]
        return [*(m.column for m in self.merged if name.matches(m.column.name)), *own]

    def _hidden(self) -> set[tuple[str, str]]:
        return {pair for merged in self.merged for pair in merged.stands_for}

    def starred(self) -> Iterator[tuple[RangeTable | None, ScopeColumn]]:
        """The columns of `*`: table by table, a merged column once, in front of its join."""
        hidden = self._hidden()
        for table in self.tables:
            for merged in self.merged:
                if merged.before == table.variable:
                    yield None, merged.column
            for column in table.columns:
                if column.starred and (table.variable, column.name) not in hidden:
                    yield table, column

    def column_names(self) -> Iterator[str]:
        """Every name a bare column could have been, scopes around included; for suggestions."""
        at: Scope | None = self
        while at is not None:
            for table in at.tables:
                yield from (c.name for c in table.columns)
            at = at.parent

    def table_names(self) -> Iterator[str]:
        at: Scope | None = self
        while at is not None:
            yield from (t.name for t in at.tables)
            at = at.parent

    def joined(self, other: Scope) -> Scope:
        """Both sides of a join side by side, under the same scope around."""
        return Scope(
            self.parent, [*self.tables, *other.tables], [*self.merged, *other.merged], self.outer | other.outer
        )

    def optional(self) -> Scope:
        """The scope on the side of an outer join that may be missing: every column may be null."""
        merged = [replace(m, column=m.column.optional()) for m in self.merged]
        return Scope(self.parent, [t.optional() for t in self.tables], merged, self.outer)
