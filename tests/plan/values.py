"""Expressions over rows with SQL's three truth values, for the interpreter of plans."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from omnigraph_sql.base import expr as ex
from omnigraph_sql.base.expr import Expr
from omnigraph_sql.plan.node import Plan

Row = dict[str, Any]
Tables = dict[str, list[Row]]


@dataclass(frozen=True)
class World:
    """What a plan is run against: tables by type name, parameters, the rows around it, and named sub-plans."""

    tables: Tables
    parameters: Row = field(default_factory=dict)
    around: Row = field(default_factory=dict)
    argument: Row | None = None
    ctes: dict[str, list[list[Any]]] = field(default_factory=dict)
    run: Callable[[Plan, World], list[Row]] | None = None

    def inside(self, row: Row) -> World:
        """The world of a sub-query asked from that row."""
        return replace(self, around={**self.around, **row}, argument=None)

    def rows(self, plan: Plan) -> list[Row]:
        assert self.run is not None
        return self.run(plan, self)


_TESTS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compare(op: str, left: Any, right: Any) -> bool | None:
    if op.startswith("is"):
        same = (left is None and right is None) or (left is not None and right is not None and left == right)
        return same == (op == "is not distinct from")
    return None if left is None or right is None else _TESTS[op](left, right)


def both(values: Sequence[bool | None]) -> bool | None:
    return False if False in values else None if None in values else True


def either(values: Sequence[bool | None]) -> bool | None:
    return True if True in values else None if None in values else False


def opposite(value: bool | None) -> bool | None:
    return None if value is None else not value


def value_of(expr: Expr, row: Row, world: World) -> Any:
    """The value of the expression over one row."""

    def of(part: Expr) -> Any:
        return value_of(part, row, world)

    match expr:
        case ex.Column(name=name):
            return row[name]
        case ex.OuterColumn(name=name):
            return world.around[name]
        case ex.Literal(value=value):
            return value
        case ex.Param(name=name):
            return world.parameters.get(name)
        case ex.Compare(op=op, left=left, right=right):
            return compare(op, of(left), of(right))
        case ex.Logic(op=op, operands=operands):
            return (both if op == "and" else either)([of(o) for o in operands])
        case ex.Not(operand=operand):
            return opposite(of(operand))
        case ex.IsNull(operand=operand, negated=negated):
            return (of(operand) is None) != negated
        case ex.InList(operand=operand, items=items, negated=negated):
            found = either([compare("=", of(operand), of(item)) for item in items])
            return opposite(found) if negated else found
        case ex.Like():
            return _like(expr, of(expr.operand), of(expr.pattern))
        case ex.Arithmetic(op=op, left=left, right=right):
            return _arithmetic(op, of(left), of(right))
        case ex.Negate(operand=operand):
            return None if (value := of(operand)) is None else -value
        case ex.Case(whens=whens, otherwise=otherwise):
            for when, then in whens:
                if of(when) is True:
                    return of(then)
            return None if otherwise is None else of(otherwise)
        case ex.Cast(operand=operand):
            return of(operand)
        case ex.Call(function=function, arguments=arguments):
            return _CALLS[function](*map(of, arguments))
        case ex.ScalarSubquery() | ex.Exists() | ex.InSubquery():
            return _subquery(expr, row, world)
        case _:
            raise NotImplementedError(type(expr).__name__)


def _like(expr: ex.Like, value: Any, pattern: Any) -> bool | None:
    if value is None or pattern is None:
        return None
    text = "".join(".*" if c == "%" else "." if c == "_" else re.escape(c) for c in pattern)
    found = re.fullmatch(text, value, re.DOTALL | (re.IGNORECASE if expr.ignore_case else 0)) is not None
    return found != expr.negated


def _arithmetic(op: str, left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    return {"+": operator.add, "-": operator.sub, "*": operator.mul, "||": operator.add}[op](left, right)


def _strict(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given: None if None in given else function(*given)


_CALLS: Final[dict[str, Callable[..., Any]]] = {
    "contains": _strict(lambda text, part: part in text),
    "starts_with": _strict(lambda text, part: text.startswith(part)),
    "list_contains": _strict(lambda items, item: item in items),
    "coalesce": lambda *given: next((g for g in given if g is not None), None),
    "length": _strict(len),
    "abs": _strict(abs),
}


def _subquery(expr: ex.ScalarSubquery | ex.Exists | ex.InSubquery, row: Row, world: World) -> Any:
    plan = expr.relation
    assert isinstance(plan, Plan)
    rows = world.inside(row).rows(plan)
    if isinstance(expr, ex.Exists):
        return bool(rows) != expr.negated
    values = [next(iter(r.values())) for r in rows]
    if isinstance(expr, ex.ScalarSubquery):
        assert len(values) <= 1, "a scalar sub-query gave several rows"
        return values[0] if values else None
    operand = value_of(expr.operand, row, world)
    answers = [compare(expr.op, operand, v) for v in values]
    found = either(answers) if expr.quantifier == "any" else both(answers)
    return opposite(found) if expr.negated else found


def aggregate_of(call: ex.Aggregate, rows: list[Row], world: World) -> Any:
    """An aggregate over the rows of a group."""
    if call.filter is not None:
        rows = [r for r in rows if value_of(call.filter, r, world) is True]
    if not call.arguments:
        return len(rows)
    values = [v for r in rows if (v := value_of(call.arguments[0], r, world)) is not None]
    if call.distinct:
        values = list(dict.fromkeys(values))
    if call.function == "count":
        return len(values)
    if not values:
        return None
    return _AGGREGATES[call.function](values)


_AGGREGATES: Final[dict[str, Callable[[list[Any]], Any]]] = {
    "sum": sum,
    "min": min,
    "max": max,
    "avg": lambda values: sum(values) / len(values),
}
