"""What of a condition storage can test by itself: the ids that rows must have, and a filter every wanted row passes.

The filter only narrows what is read. The condition is tested in full on whatever comes back, so a part that has no
text here, or whose text would let more rows through, costs time and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Final

import pyarrow as pa

from omnigraph_sql.base import expr as ex
from omnigraph_sql.base.catalog import DST, ID, SRC, TableType
from omnigraph_sql.base.errors import ValueOutOfRange
from omnigraph_sql.base.expr import Expr, Value
from omnigraph_sql.base.identity import derive_edge_id, derive_id, key_members
from omnigraph_sql.base.types import (
    DATE,
    DATETIME,
    I32,
    I64,
    STRING,
    DataType,
    EnumType,
    ListType,
    ScalarType,
    arrow_type,
    integer_range,
    is_text,
)
from omnigraph_sql.bind.gq_values import exact
from omnigraph_sql.engine.store import predicate
from omnigraph_sql.engine.store.lookup import LIST_VALUES_MAX
from omnigraph_sql.run.scalars import NotConstant, constant
from omnigraph_sql.run.scene import Scene

_FLIPPED: Final = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A table as a scan names it: column `c` is `variable.c`."""

    type: TableType
    variable: str
    scene: Scene

    def column(self, expr: Expr) -> str | None:
        """The stored column an expression is."""
        lead = f"{self.variable}."
        return expr.name.removeprefix(lead) if isinstance(expr, ex.Column) and expr.name.startswith(lead) else None

    def type_of(self, column: str) -> DataType:
        found = self.type.schema.get(column)
        assert found is not None
        return found.type

    def value(self, expr: Expr, of: DataType) -> Value | NotConstant:
        """The constant in a column's own type; NOT_CONSTANT as well for one that this type cannot hold exactly."""
        found = constant(expr, self.scene)
        if isinstance(found, NotConstant) or found is None:
            return found
        fitted = exact(ex.Literal(found, expr.type), of)
        return fitted.value if _holds(fitted.value, of) else NotConstant()


def _holds(value: Value, of: DataType) -> bool:
    """Whether a value is one of the type, in the one form in which it is compared and spelled."""
    kind = type(value).__name__
    if of == STRING or isinstance(of, EnumType):
        return kind == "str"
    if isinstance(of, ScalarType) and of in (I32, I64):
        low, high = integer_range(of)
        return isinstance(value, int) and kind == "int" and low <= value <= high
    return kind == {DATE: "date", DATETIME: "datetime"}.get(of)  # type: ignore[arg-type]


# ---- ids --------------------------------------------------------------------------------------------------------


def choices(table: StoredTable, part: Expr) -> tuple[str, tuple[Value, ...]] | None:
    """A column and the values of which it must have one, for an equality or a list of constants."""
    match part:
        case ex.Compare(op="=", left=left, right=right):
            column, other = (table.column(left), right) if table.column(left) else (table.column(right), left)
            items: tuple[Expr, ...] = (other,)
        case ex.InList(operand=operand, items=items, negated=False):
            column = table.column(operand)
        case _:
            return None
    if column is None:
        return None
    found = [table.value(item, table.type_of(column)) for item in items]
    if any(isinstance(value, NotConstant) for value in found):
        return None
    return column, tuple(value for value in found if value is not None and not isinstance(value, NotConstant))


def wanted_ids(table: StoredTable, parts: tuple[Expr, ...]) -> tuple[frozenset[str], bool] | None:
    """Ids of which every row that passes must have one, and whether having one is all that is asked; None when the
    condition does not say."""
    known: dict[str, set[Value]] = {}
    whole = True
    for part in parts:
        found = choices(table, part)
        if found is None:
            whole = False
            continue
        column, values = found
        known[column] = known[column] & set(values) if column in known else set(values)
    ids = frozenset(str(name) for name in known[ID]) if ID in known else None
    key = table.type.key
    if key and all(name in known for name in key):
        derived = _derived(table.type, known)
        if derived is None:
            whole = False
        else:
            ids = derived if ids is None else ids & derived
    whole = whole and set(known) <= {ID, *key} and (set(known) == {ID} or set(key) <= set(known))
    return None if ids is None or len(ids) > LIST_VALUES_MAX else (ids, whole)


def _derived(of: TableType, known: dict[str, set[Value]]) -> frozenset[str] | None:
    """The ids of all keys that can be made of the values."""
    members = key_members(of)
    ends = [known[name] for name in (SRC, DST) if name in of.key]
    sets = [*ends, *(known[p.name] for p in members)]
    count = 1
    for values in sets:
        count *= len(values)
    if count > LIST_VALUES_MAX:
        return None
    try:
        return frozenset(_id(of, combined, len(ends)) for combined in product(*sets))
    except ValueOutOfRange:
        return None


def _id(of: TableType, values: tuple[Value, ...], ends: int) -> str:
    members = list(zip(key_members(of), values[ends:], strict=True))
    return derive_edge_id(str(values[0]), str(values[1]), members) if ends else derive_id(members)


# ---- filters ----------------------------------------------------------------------------------------------------


def narrowing(table: StoredTable, condition: Expr | None) -> str | None:
    """A filter that every row passes for which the condition is true; None when the engine's own hand-down does it."""
    parts = ex.conjuncts(condition)
    found = wanted_ids(table, parts)
    special = [text for part in parts if (text := _special(table, part)) is not None]
    derived = found is not None and any(table.column(c) != ID for part in parts for c in part.children())
    if not special and not derived:
        return None
    ids = [predicate.id_in(pa.array(sorted(found[0]), pa.utf8()))] if found is not None else []
    return predicate.all_of([*ids, *special, *_ordinary(table, parts)])


def _special(table: StoredTable, part: Expr) -> str | None:
    """Conditions the engine does not hand down: beginnings, parts and items."""
    match part:
        case ex.Like(operand=operand, pattern=pattern, escape=None, ignore_case=False, negated=False):
            column, text = table.column(operand), constant(pattern, table.scene)
            if column is None or not isinstance(text, str) or not is_text(table.type_of(column)):
                return None
            return _like(column, text)
        case ex.Call(function="starts_with" | "contains" as function, arguments=(whole, inner)):
            column, text = table.column(whole), constant(inner, table.scene)
            if column is None or not isinstance(text, str) or not is_text(table.type_of(column)) or not text:
                return None
            made = predicate.begins_with if function == "starts_with" else predicate.holds_text
            return made(column, text)
        case ex.Call(function="list_contains", arguments=(whole, item)):
            column = table.column(whole)
            of = table.type_of(column) if column is not None else None
            if column is None or not isinstance(of, ListType):
                return None
            value = table.value(item, of.item)
            if value is None or isinstance(value, NotConstant):
                return None
            return predicate.holds_item(column, value, arrow_type(of.item))
        case _:
            return None


def _like(column: str, pattern: str) -> str | None:
    if "\\" in pattern:
        return None
    begins = pattern.replace("_", "%").partition("%")[0]
    if begins:
        return predicate.begins_with(column, begins)
    inner = pattern.strip("%")
    whole = pattern.startswith("%") and pattern.endswith("%") and inner and not set(inner) & set("%_")
    return predicate.holds_text(column, inner) if whole else None


def _ordinary(table: StoredTable, parts: tuple[Expr, ...]) -> Iterator[str]:
    """Comparisons with constants; together with the others they are handed down as text."""
    for part in parts:
        match part:
            case ex.Compare(op=op, left=left, right=right) if op in _FLIPPED:
                column, other = table.column(left), right
                if column is None:
                    column, other, op = table.column(right), left, _FLIPPED[op]
                if column is None or column == ID:
                    continue
                of = table.type_of(column)
                value = table.value(other, of)
                if value is not None and not isinstance(value, NotConstant):
                    yield predicate.compared(column, op, value, arrow_type(of))
            case _:
                continue
