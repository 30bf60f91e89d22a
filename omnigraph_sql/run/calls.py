"""Functions by the engine's names, and those it has under none."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from omnigraph_sql.base import expr as ex
from omnigraph_sql.base.errors import ExecutionError
from omnigraph_sql.base.types import arrow_type
from omnigraph_sql.run.relation import Build
from omnigraph_sql.run.scalars import engine_type, is_known, scalar

_RENAMED: Final = {"truncate": "trunc", "any_value": "first_value"}
_NAME: Final = re.compile(r"[a-z_][a-z0-9_]*")
_ZONE: Final = re.compile(r"[A-Za-z0-9_+\-/:]{1,64}")
_AGGREGATES: Final = {"any_value": "first_value", "variance": "var"}
_TYPED: Final = ("date_part", "array_length", "cardinality", "ceil", "floor", "round", "trunc", "signum", "date_trunc")
"""Functions whose result the engine types otherwise than the statement does."""


def aggregate_name(name: str) -> str:
    return _checked(_AGGREGATES.get(name, name))


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ExecutionError(f"there is no function {name!r}")
    return name


def call_text(call: ex.Call, arguments: list[str], build: Build) -> str:
    """A call of a scalar function; `arguments` are rendered already."""
    arguments = _spelled(call, arguments)
    special = _SPECIAL.get(call.function)
    if special is not None:
        return special(call, arguments, build)
    name = _checked(_RENAMED.get(call.function, call.function))
    text = f"{name}({', '.join(arguments)})"
    if name in _TYPED and is_known(call.of):
        return f"arrow_cast({text}, '{engine_type(arrow_type(call.of))}')"
    return text


def _spelled(call: ex.Call, arguments: list[str]) -> list[str]:
    """Words that the engine wants to see before it runs: a field of a date, the name of a struct's field."""
    wanted = _WORDS.get(call.function)
    if wanted is None:
        return arguments
    made = list(arguments)
    for at, argument in enumerate(call.arguments):
        if wanted(at) and isinstance(argument, ex.Literal) and isinstance(argument.value, str):
            made[at] = "'" + argument.value.replace("'", "''") + "'"
    return made


def _at_time_zone(call: ex.Call, arguments: list[str], build: Build) -> str:
    """The wall clock of a zone at an instant, as an instant."""
    del build
    zone = call.arguments[1]
    if not isinstance(zone, ex.Literal) or not isinstance(zone.value, str) or not _ZONE.fullmatch(zone.value):
        raise ExecutionError("AT TIME ZONE takes a constant zone name", hint="write 'Europe/Madrid' or '+02:00'")
    local = f"""to_local_time(arrow_cast({arguments[0]}, 'Timestamp(µs, "{zone.value}")'))"""
    return f"""arrow_cast({local}, 'Timestamp(µs, "UTC")')"""


def _branch(call: ex.Call, arguments: list[str], build: Build) -> str:
    del arguments
    return f"arrow_cast({build.bind(scalar(build.scene.snapshot.branch, call.of))}, 'Utf8')"


def _commit(call: ex.Call, arguments: list[str], build: Build) -> str:
    del arguments
    return f"arrow_cast({build.bind(scalar(build.scene.snapshot.head, call.of))}, 'Utf8')"


def _membership(call: ex.Call, arguments: list[str], build: Build) -> str:
    """Whether a list holds a value. The engine is of two minds about lists with nulls in them: those do not count."""
    del call, build
    items, value = arguments
    found = f"coalesce(array_has({items}, {value}), FALSE)"
    return f"(CASE WHEN {items} IS NULL OR {value} IS NULL THEN NULL ELSE {found} END)"


def _version(call: ex.Call, arguments: list[str], build: Build) -> str:
    del arguments
    try:
        number = version("omnigraph-sql")
    except PackageNotFoundError:  # a checkout that was never installed
        number = "0+unknown"
    return f"arrow_cast({build.bind(scalar(f'omnigraph-sql {number}', call.of))}, 'Utf8')"


def _date(call: ex.Call, arguments: list[str], build: Build) -> str:
    del call, build
    year, month, day = (f"arrow_cast({a}, 'Int32')" for a in arguments)
    return f"make_date({year}, {month}, {day})"


def _time(call: ex.Call, arguments: list[str], build: Build) -> str:
    del call, build
    hour, minute, second = (f"arrow_cast({a}, 'Int32')" for a in arguments)
    return f"arrow_cast(make_time({hour}, {minute}, {second}), 'Time64(µs)')"


_WORDS: Final[dict[str, Callable[[int], bool]]] = {
    "date_part": lambda at: at == 0,
    "date_trunc": lambda at: at == 0,
    "get_field": lambda at: at == 1,
    "named_struct": lambda at: at % 2 == 0,
    "arrow_cast": lambda at: at == 1,
    "encode": lambda at: at == 1,
    "decode": lambda at: at == 1,
    "digest": lambda at: at == 1,
}
"""Which arguments have to be spelled in the text; quotes in them are doubled."""
_Special = Callable[[ex.Call, list[str], Build], str]
_SPECIAL: Final[dict[str, _Special]] = {
    "at_time_zone": _at_time_zone,
    "current_branch": _branch,
    "current_commit": _commit,
    "make_date": _date,
    "list_contains": _membership,
    "make_time": _time,
    "version": _version,
}
