"""How a refused value reads in a message."""

from __future__ import annotations

from datetime import date, datetime
from typing import Final

import pyarrow as pa

_SHOWN_CHARACTERS: Final = 80


def python_value(of: pa.Scalar) -> object:
    """The value; a date too far away for Python as its text."""
    try:
        found: object = of.as_py()
    except (ValueError, OverflowError):
        return f"{of.type} {of.value}"
    return found


def shown(value: object) -> str:
    """A value for a person: texts in quotes, tuples in brackets, long ones cut."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            text = f"'{value}'" if len(value) <= _SHOWN_CHARACTERS else f"'{value[:_SHOWN_CHARACTERS]}…'"
            return text.replace("\n", "\\n")
        case datetime() | date():
            return value.isoformat()
        case tuple():
            return f"({', '.join(shown(v) for v in value)})"
        case _:
            return str(value)
