"""The root of all expressions and its leaves: columns, constants and parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from decimal import Decimal
from typing import ClassVar, Final, Self, TypeAlias

from omnigraph_sql.base.types import ANY, DATETIME, DataType

Value: TypeAlias = "bool | int | float | Decimal | str | bytes | date | datetime | time | tuple[Value, ...] | None"

NOW_PARAMETER: Final = "__now__"
"""Name of the reserved parameter that carries the instant of the statement; users may not declare it."""


class _Remembering:
    """A place beside the fields for what never changes about an expression and is asked for all the time."""

    __slots__ = ("_every",)
    _every: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Expr(_Remembering):
    """Root of all expressions. `parts` names the fields that hold child expressions (one, a tuple, or None)."""

    parts: ClassVar[tuple[str, ...]] = ()

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
                found.extend(flat_exprs(part))
        return found

    def every_part(self) -> tuple[Expr, ...]:
        """The expression and everything below it, outside in, without entering sub-queries."""
        try:
            return self._every
        except AttributeError:
            found: list[Expr] = []
            stack: list[Expr] = [self]
            while stack:
                at = stack.pop()
                found.append(at)
                if at.parts:
                    stack += at.child_list()[::-1]
            object.__setattr__(self, "_every", tuple(found))
            return self._every

    def map_children(self, change: Callable[[Expr], Expr]) -> Self:
        """The same expression over changed children; `self` itself when nothing changed."""
        changes: dict[str, object] = {}
        for name in self.parts:
            old = getattr(self, name)
            new = map_exprs(old, change)
            if new is not old:
                changes[name] = new
        return replace(self, **changes) if changes else self


def flat_exprs(part: object) -> Iterator[Expr]:
    """The expressions in a field: one, a sort key's, or those of a tuple of any depth."""
    if isinstance(part, Expr):
        yield part
    elif isinstance(part, SortKey):
        yield part.expr
    elif isinstance(part, tuple):
        for item in part:
            yield from flat_exprs(item)


def map_exprs(part: object, change: Callable[[Expr], Expr]) -> object:
    """The field over changed expressions; `part` itself when nothing changed."""
    if isinstance(part, Expr):
        return change(part)
    if isinstance(part, SortKey):
        new = change(part.expr)
        return part if new is part.expr else replace(part, expr=new)
    if isinstance(part, tuple):
        items = tuple(map_exprs(item, change) for item in part)
        return part if all(a is b for a, b in zip(items, part, strict=True)) else items
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
