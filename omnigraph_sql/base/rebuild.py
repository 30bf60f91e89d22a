"""Frozen values over changed fields, for those that rewrites rebuild all the time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final, TypeVar

_V = TypeVar("_V")
_FIELDS: Final[dict[type, tuple[str, ...]]] = {}


def rebuilt(value: _V, changes: Mapping[str, object]) -> _V:
    """As `dataclasses.replace`, and checked like every new value; which fields a class has is looked up once.

    The names in `changes` are those of fields of the class.
    """
    of: type[Any] = type(value)
    names = _FIELDS.get(of)
    if names is None:
        names = _FIELDS[of] = tuple(f.name for f in fields(of) if f.init)
    made: _V = of(*[changes[name] if name in changes else getattr(value, name) for name in names])
    return made
