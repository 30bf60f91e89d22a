"""Values as texts and as JSON, in the spelling that the loader reads back without loss."""

from __future__ import annotations

import base64
import json
import math
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal


def plain(value: object) -> object:
    """A value as JSON knows it. Instants are ISO 8601 in UTC, bytes `base64:…`; what JSON has no number for is text."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else _beyond_json(value)
        case datetime():
            return (value if value.tzinfo is None else value.astimezone(UTC)).isoformat().replace("+00:00", "Z")
        case date() | time():
            return value.isoformat()
        case bytes():
            return "base64:" + base64.b64encode(value).decode()
        case Decimal() | timedelta():
            return str(value)
        case dict():
            return {str(name): plain(of) for name, of in value.items()}
        case list() | tuple():
            return [plain(of) for of in value]
        case _:
            return str(value)


def _beyond_json(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def as_json(value: object) -> str:
    """One line of JSON."""
    return json.dumps(plain(value), ensure_ascii=False, separators=(",", ":"))


def as_text(value: object) -> str:
    """A value that is not null as plain text; lists and structs are JSON."""
    if isinstance(value, str):
        return value
    shown = plain(value)
    return shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False)
