"""The root of all expressions and its leaves: columns, constants and parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from typing import ClassVar, Final, Self, TypeAlias

from omnigraph_sql.base.rebuild import rebuilt
from omnigraph_sql.base.types import ANY, DATETIME, DataType

Value: TypeAlias = "bool | int | float | Decimal | str | bytes | date | datetime | time | tuple[Value, ...] | None"

NOW_PARAMETER: Final = "__now__"
"""Name of the reserved parameter that carries the instant of the statement; users may not declare it."""


@dataclass(frozen=True, slots=True)
class Expr:
    """Root of all expressions. `parts` names the fields that hold child expressions (one, a tuple, or None).

    Beside the fields there is room for what never changes about an expression and is asked for all the time.
    """

    parts: ClassVar[tuple[str, ...]] = ()
    _every: tuple[Expr, ...] | None = field(init=False, repr=False, compare=False, default=None)
    _names: frozenset[str] | None = field(init=False, repr=False, compare=False, default=None)
    _own: frozenset[str] | None = field(init=False, repr=False, compare=False, default=None)

    @property
    def type(self) -> DataType:
        raise NotImplementedError

    @property
    def nullable(self) -> bool:
        return True

    def children(self) -> Iterator[Expr]:
        """Direct child expressions, left to right; relations of sub-queries are not expressions."""
        return iter(self.child_list())

    def child_list(self) -> list[Expr]:
        """The same as a list of its own."""
        found: list[Expr] = []
        for name in self.parts:
            part = getattr(self, name)
            if isinstance(part, Expr):
                found.append(part)
            elif part:
                found += flat_exprs(part)
        return found

    def every_part(self) -> tuple[Expr, ...]:
        """The expression and everything below it, outside in, without entering sub-queries."""
        every = self._every
        if every is None:
            found: list[Expr] = []
            stack: list[Expr] = [self]
            while stack:
                at = stack.pop()
                found.append(at)
                if at.parts:
                    stack += at.child_list()[::-1]
            every = tuple(found)
            object.__setattr__(self, "_every", every)
        return every

    def own_columns(self) -> frozenset[str]:
        """Names of the columns in it, without those that its sub-queries read."""
        own = self._own
        if own is None:
            own = frozenset([part.name for part in self.every_part() if isinstance(part, Column)])
            object.__setattr__(self, "_own", own)
        return own

    def map_children(self, change: Callable[[Expr], Expr]) -> Self:
        """The same expression over changed children; `self` itself when nothing changed."""
        changes: dict[str, object] = {}
        for name in self.parts:
            old = getattr(self, name)
            new = map_exprs(old, change)
            if new is not old:
                changes[name] = new
        return rebuilt(self, changes) if changes else self


def flat_exprs(part: object) -> list[Expr]:
    """The expressions in a field, left to right: one, a sort key's, or those of a tuple of any depth."""
    if isinstance(part, Expr):
        return [part]
    if isinstance(part, SortKey):
        return [part.expr]
    if not isinstance(part, tuple):
        return []
    found: list[Expr] = []
    for item in part:
        if isinstance(item, Expr):
            found.append(item)
        elif not isinstance(item, str):
            found += flat_exprs(item)
    return found


def map_exprs(part: object, change: Callable[[Expr], Expr]) -> object:
    """The field over changed expressions; `part` itself when nothing changed."""
    if isinstance(part, Expr):
        return change(part)
    if isinstance(part, SortKey):
        term = change(part.expr)
        return part if term is part.expr else SortKey(term, part.descending, part.nulls_first)
    if isinstance(part, tuple):
        items = [change(item) if isinstance(item, Expr) else map_exprs(item, change) for item in part]
        for old, new in zip(part, items, strict=True):
            if new is not old:
                return tuple(items)
        return part
    return part


@dataclass(frozen=True, slots=True)
class Column(Expr):
    """A column of the input."""

    name: str
    of: DataType
    null: bool = True

    @property
    def type(self) -> DataType:
        return self.of

    @property
    def nullable(self) -> bool:
        return self.null


@dataclass(frozen=True, slots=True)
class OuterColumn(Expr):
    """A column of the query around this sub-query (correlation)."""

    name: str
    of: DataType
    null: bool = True

    @property
    def type(self) -> DataType:
        return self.of

    @property
    def nullable(self) -> bool:
        return self.null


@dataclass(frozen=True, slots=True)
class Literal(Expr):
    """A constant. Lists and vectors hold tuples; an interval holds its text."""

    value: Value
    of: DataType

    @property
    def type(self) -> DataType:
        return self.of

    @property
    def nullable(self) -> bool:
        return self.value is None


@dataclass(frozen=True, slots=True)
class Param(Expr):
    """A value handed over at run time. Positional ones are named by their 1-based number."""

    name: str
    of: DataType = ANY
    null: bool = True
    embeds: bool = False
    """A text may be handed over instead of a vector; it is embedded."""

    @property
    def type(self) -> DataType:
        return self.of

    @property
    def nullable(self) -> bool:
        return self.null


NOW: Final = Param(NOW_PARAMETER, DATETIME, False)
"""`now()`: one instant per statement, handed over at run time as a reserved parameter."""


@dataclass(frozen=True, slots=True)
class SortKey:
    """One ordering term; null placement is always spelled out."""

    expr: Expr
    descending: bool = False
    nulls_first: bool = False
