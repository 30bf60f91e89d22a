"""The only renderer of Lance filter text. Values are quoted here and nowhere else."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import date, datetime
from typing import Final

import pyarrow as pa

from omnigraph_sql.base.catalog import ID

_I64_MIN: Final = -(2**63)


def string_literal(value: str) -> str:
    """A value as SQL text; doubling the quote is the only escape Lance knows."""
    return "'" + value.replace("'", "''") + "'"


def column_text(name: str) -> str:
    """A column name; the schema language lets no backtick into one."""
    if "`" in name:
        raise ValueError(f"{name!r} cannot be quoted")
    return f"`{name}`"


def literal(value: object, of: pa.DataType) -> str:
    """A value of an Arrow type as SQL text that stands for exactly this value.

    Raises ValueError for a number that is not finite and TypeError for a type that has no literal: such a column is
    read and compared, never filtered.
    """
    kinds = pa.types
    match value:
        case str() if kinds.is_string(of) or kinds.is_large_string(of):
            return string_literal(value)
        case bool() if kinds.is_boolean(of):
            return "TRUE" if value else "FALSE"
        case int() if kinds.is_integer(of) and not isinstance(value, bool):
            # The parser reads a sign and then a number, and the smallest number has no positive twin.
            return f"CAST('{value}' AS BIGINT)" if value == _I64_MIN else str(value)
        case float() if kinds.is_floating(of):
            if not math.isfinite(value):
                raise ValueError(f"{value} has no literal")
            return f"CAST('{value!r}' AS {'FLOAT' if kinds.is_float32(of) else 'DOUBLE'})"
        case datetime() if kinds.is_timestamp(of):
            return f"TIMESTAMP '{value.isoformat()}'"
        case date() if kinds.is_date(of) and not isinstance(value, datetime):
            return f"DATE '{value.isoformat()}'"
        case _:
            raise TypeError(f"{of} has no literal for {type(value).__name__}")


def id_in(ids: pa.Array) -> str:
    """`id` is one of these."""
    return member_of(ID, ids)


def member_of(column: str, values: pa.Array) -> str:
    """A column holds one of these values. Null is never one of them; to Lance the two zeros of a float are the same."""
    found = [v for v in values.to_pylist() if v is not None]
    if not found:
        return "FALSE"
    inside = ", ".join(literal(v, values.type) for v in found)
    return f"{column_text(column)} IN ({inside})"


_COMPARISONS: Final = ("=", "<", "<=", ">", ">=")


def compared(column: str, op: str, value: object, of: pa.DataType) -> str:
    """A column compared with a value that is not null. Raises as `literal` does."""
    if op not in _COMPARISONS:
        raise ValueError(f"{op!r} is not a comparison")
    return f"{column_text(column)} {op} {literal(value, of)}"


def begins_with(column: str, text: str) -> str:
    """A text column begins with exactly this text."""
    return f"starts_with({column_text(column)}, {string_literal(text)})"


def holds_text(column: str, text: str) -> str:
    """A text column has exactly this text in it."""
    return f"contains({column_text(column)}, {string_literal(text)})"


def holds_item(column: str, value: object, of: pa.DataType) -> str:
    """A list column has this value, which is not null, among its items. Raises as `literal` does."""
    return f"array_has({column_text(column)}, {literal(value, of)})"


def all_of(parts: Iterable[str]) -> str:
    """Every one of some conditions."""
    return " AND ".join(f"({part})" for part in parts)
