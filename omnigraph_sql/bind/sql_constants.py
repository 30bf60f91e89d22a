"""Constants that settings, options, procedures and paths take: a literal, a bare word, or a parameter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from omnigraph_sql.base.expr import Expr, Literal
from omnigraph_sql.base.types import BOOL, F64, I64, STRING, DataType
from omnigraph_sql.bind.sql_binder import SqlBinder
from omnigraph_sql.bind.suggest import closest

_TRUTH = {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}
_WORDS: Final[dict[DataType, str]] = {STRING: "a text", I64: "a whole number", F64: "a number", BOOL: "true or false"}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What may stand there: a type, for whole numbers a range, for texts a closed set of words or a length.

    `numbers`: a whole number is taken for the text of it.
    """

    type: DataType = STRING
    low: int | None = None
    high: int | None = None
    words: tuple[str, ...] = ()
    length: int | None = None
    numbers: bool = False


def constant(binder: SqlBinder, node: exp.Expr, wanted: Wanted, owner: str) -> Expr:
    """The value as a Literal of the wanted type, or a Param of it. `owner` names the place in errors."""
    inner = node.unnest()
    if isinstance(inner, exp.Placeholder | exp.Parameter):
        return binder.infer(binder.placeholder(inner), wanted.type)
    value = _value(inner)
    if value is None:
        raise binder.mismatch(f"{owner} takes a constant", node, f"write {_WORDS[wanted.type]}, or a parameter")
    return Literal(_converted(binder, value, wanted, node, owner), wanted.type)


def _value(node: exp.Expr) -> str | int | float | bool | None:
    match node:
        case exp.Var():
            return str(node.name)
        case exp.Column() if len(node.parts) == 1:
            return str(node.name)
        case exp.Literal() if node.is_string:
            return str(node.this)
        case exp.Boolean():
            return bool(node.this)
        case exp.Literal():
            return _number(str(node.this))
        case exp.Neg():
            inner = _value(node.this)
            plain = isinstance(inner, int | float) and not isinstance(inner, bool)
            return -inner if plain and isinstance(inner, int | float) else None
        case _:
            return None


def _number(text: str) -> int | float | None:
    if text.isdecimal() and text.isascii():
        return int(text) if len(text) <= 38 else None
    try:
        return float(text)
    except ValueError:
        return None


def _converted(
    binder: SqlBinder, value: str | int | float | bool, wanted: Wanted, at: exp.Expr, owner: str
) -> str | int | float | bool:
    if wanted.type == BOOL:
        found = _TRUTH.get(str(value).casefold())
        if found is None and value not in (0, 1):
            raise _misfit(binder, value, wanted, at, owner)
        return bool(value) if found is None else found
    if wanted.type == I64 and isinstance(value, int) and not isinstance(value, bool):
        return _ranged(binder, value, wanted, at, owner)
    if wanted.type == F64 and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if wanted.numbers and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if wanted.type == STRING and isinstance(value, str):
        return _worded(binder, value, wanted, at, owner)
    raise _misfit(binder, value, wanted, at, owner)


def _misfit(binder: SqlBinder, value: object, wanted: Wanted, at: exp.Expr, owner: str) -> Exception:
    return binder.mismatch(f"{owner} takes {_WORDS[wanted.type]}, not {value}", at)


def _ranged(binder: SqlBinder, value: int, wanted: Wanted, at: exp.Expr, owner: str) -> int:
    too_low = wanted.low is not None and value < wanted.low
    if too_low or (wanted.high is not None and value > wanted.high):
        upper = f" to {wanted.high}" if wanted.high is not None else " or more"
        raise binder.mismatch(f"{owner} is {wanted.low}{upper}, not {value}", at)
    return value


def _worded(binder: SqlBinder, value: str, wanted: Wanted, at: exp.Expr, owner: str) -> str:
    if wanted.length is not None and len(value) != wanted.length:
        raise binder.mismatch(f"{owner} is one character", at)
    if not wanted.words:
        return value
    if value.casefold() not in wanted.words:
        error = binder.mismatch(f"{owner} is {either(wanted.words)}, not '{value}'", at)
        error.suggestion = closest(value, wanted.words)
        raise error
    return value.casefold()


def either(words: Iterable[str]) -> str:
    """`a, b or c`."""
    many = list(words)
    return many[0] if len(many) == 1 else f"{', '.join(many[:-1])} or {many[-1]}"
