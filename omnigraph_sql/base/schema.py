"""Row shapes: what every relation of a bound statement or a plan promises about its rows."""

from __future__ import annotations

from collections.abc import KeysView
from dataclasses import dataclass
from typing import Protocol

from omnigraph_sql.base.types import DataType


@dataclass(frozen=True, slots=True)
class Field:
    """One column: its name, type, and whether it may hold null."""

    name: str
    type: DataType
    nullable: bool


class Schema:
    """An ordered list of fields with distinct names."""

    __slots__ = ("_by_name", "_names", "fields")

    def __init__(self, fields: tuple[Field, ...]) -> None:
        self.fields = fields
        self._by_name = {field.name: field for field in fields}
        self._names: frozenset[str] | None = None
        if len(self._by_name) != len(fields):
            names = [field.name for field in fields]
            twice = sorted({name for name in names if names.count(name) > 1})
            raise ValueError(f"column names must be distinct, these are not: {twice}")

    @property
    def names(self) -> frozenset[str]:
        if self._names is None:
            self._names = frozenset(self._by_name)
        return self._names

    @property
    def order(self) -> tuple[str, ...]:
        """Names in column order."""
        return tuple(self._by_name)

    def keys(self) -> KeysView[str]:
        """Names in column order, as a set to compare with."""
        return self._by_name.keys()

    def get(self, name: str) -> Field | None:
        return self._by_name.get(name)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __len__(self) -> int:
        return len(self.fields)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self.fields == other.fields

    def __hash__(self) -> int:
        return hash(self.fields)

    def __repr__(self) -> str:
        return f"Schema({', '.join(self.order)})"


class Relation(Protocol):
    """Anything with rows of a known shape: a bound query or a plan."""

    @property
    def schema(self) -> Schema: ...
