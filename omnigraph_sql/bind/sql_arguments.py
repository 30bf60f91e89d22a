"""Arguments of calls: how many there are, and whether each is what the function takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from sqlglot import exp

from omnigraph_sql.base.expr import Expr
from omnigraph_sql.base.types import (
    BLOB,
    BOOL,
    DATE,
    DATETIME,
    I64,
    STRING,
    TIME,
    DataType,
    ListType,
    StructType,
    VectorType,
    is_integer,
    is_number,
    is_open,
    is_text,
)
from omnigraph_sql.bind.sql_expr import Site
from omnigraph_sql.bind.sql_functions import Signature
from omnigraph_sql.bind.sql_operands import as_moment, name_span, shown
from omnigraph_sql.bind.sql_types import declared

Arguments: TypeAlias = list[exp.Expr]

_DECORATED: Final[dict[type[exp.Expr], str]] = {
    exp.Distinct: "DISTINCT",
    exp.Order: "ORDER BY",
    exp.IgnoreNulls: "IGNORE NULLS",
    exp.RespectNulls: "RESPECT NULLS",
    exp.Limit: "LIMIT",
    exp.HavingMax: "HAVING",
}


def plain(site: Site, name: str, arguments: Arguments) -> Arguments:
    """The arguments, when none of them has what only aggregates take."""
    for argument in arguments:
        word = _DECORATED.get(type(argument))
        if word is not None:
            raise site.binder.unsupported(f"{name} is not an aggregate and takes no {word}", argument)
        if isinstance(argument, exp.Alias):
            raise site.binder.unsupported("an argument has no alias", argument)
    return arguments


def refuse_arity(site: Site, name: str, signature: Signature, count: int, node: exp.Expr) -> None:
    if not signature.takes(count):
        raise site.binder.mismatch(f"{name} takes {signature.arity}, not {count}", name_span(site, node))


def fitting(site: Site, name: str, signature: Signature, bound: list[Expr], nodes: Arguments) -> list[Expr]:
    """The arguments in the types the function takes; TypeMismatch for one that does not fit."""
    return [fit(site, name, signature.kind(i), i, bound[i], nodes[i], len(bound)) for i in range(len(bound))]


_WORDS: Final = {
    "n": "a number",
    "i": "a whole number",
    "t": "a text",
    "l": "a list",
    "d": "a day or an instant",
    "b": "a truth value",
    "c": "something with an order",
}
_MEETS: Final[dict[str, DataType]] = {"i": I64, "t": STRING, "d": DATETIME, "b": BOOL}


def fit(site: Site, name: str, kind: str, at: int, expr: Expr, node: exp.Expr, count: int) -> Expr:
    if kind == ".":
        return expr
    if kind in _MEETS:
        expr = site.binder.infer(expr, _MEETS[kind])
    if kind == "d":
        expr = as_moment(site, expr, DATETIME, node) if is_text(expr.type) else expr
    if is_open(expr.type) or _FITS[kind](expr.type):
        return expr
    which = f" as argument {at + 1}" if count > 1 else ""
    message = f"{name} takes {_WORDS[kind]}{which}; {shown(site, node)} is {declared(expr.type)}"
    raise site.binder.mismatch(message, node)


def _has_order(of: DataType) -> bool:
    return of != BLOB and not isinstance(of, VectorType | ListType | StructType)


_FITS: Final[dict[str, Callable[[DataType], bool]]] = {
    "n": is_number,
    "i": is_integer,
    "t": is_text,
    "l": lambda of: isinstance(of, ListType | VectorType),
    "d": lambda of: of in (DATE, DATETIME, TIME),
    "b": lambda of: of == BOOL,
    "c": _has_order,
}
