"""What may have become of a small JSON file: every member of another kind or gone, and bodies that are none at all."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any, TypeAlias

Place: TypeAlias = tuple[str | int, ...]


def places(found: Any, here: Place = ()) -> Iterator[Place]:
    """Every member and element of a decoded file."""
    if isinstance(found, dict | list):
        for key in found if isinstance(found, dict) else range(len(found)):
            yield (*here, key)
            yield from places(found[key], (*here, key))


def deep(levels: int) -> Any:
    made: Any = 1
    for _ in range(levels):
        made = [made]
    return made


WRONG: dict[str, Any] = {
    "number": 1.5,
    "list": [1, 2],
    "empty list": [],
    "empty object": {},
    "object": {"a": 1},
    "huge": 2**70,
    "negative": -1,
    "nested": deep(60),
}
BODIES = {
    "empty": b"",
    "not UTF-8": b"\xff\xfe{}",
    "not JSON": b"{]",
    "a list": b"[]",
    "a number": b"1",
    "null": b"null",
    "deep": b"[" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "a long number": b'{"format": ' + b"9" * 5000 + b"}",
    "not a number": b'{"format": NaN}',
    "twice": b'{"format": 1, "format": 1}',
    "newer": b'{"format": 99}',
    "20 MB": b" " * 20_000_000 + b"{}",
}


def damaged(body: bytes) -> Iterator[tuple[str, bytes]]:
    """The file with one member of another kind, or gone, and what was done to it."""
    whole = json.loads(body)
    for place in places(whole):
        for name, value in {**WRONG, "null": None, "true": True, "text": "../.."}.items():
            made, inside = _inside(whole, place)
            if inside[place[-1]] is value or (value == [] and inside[place[-1]] == []):
                continue
            inside[place[-1]] = value
            yield f"{place} is {name}", json.dumps(made).encode()
        if isinstance(place[-1], str):
            made, inside = _inside(whole, place)
            del inside[place[-1]]
            yield f"{place} is gone", json.dumps(made).encode()


def _inside(whole: Any, place: Place) -> tuple[Any, Any]:
    """A copy of it all, and what in the copy holds the place."""
    made = inside = copy.deepcopy(whole)
    for step in place[:-1]:
        inside = inside[step]
    return made, inside
