"""CHECK conditions → the rules a schema has: ranges of numbers, patterns of text, closed sets of text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from typing import Final, TypeAlias

from sqlglot import exp

from omnigraph_sql.base.catalog import Check, Property, Range
from omnigraph_sql.base.types import STRING, EnumType, is_integer, is_number, type_text
from omnigraph_sql.bind.sql_ddl_types import Unstorable, enum_type

Bound: TypeAlias = int | Decimal
FindColumn: TypeAlias = Callable[[exp.Column], Property]

_FLIPPED: Final[Mapping[type[exp.Expr], type[exp.Expr]]] = {
    exp.GT: exp.LT,
    exp.LT: exp.GT,
    exp.GTE: exp.LTE,
    exp.LTE: exp.GTE,
    exp.EQ: exp.EQ,
}
_MATCHES: Final = ("regexp_like", "regexp_matches")
_KNOWN_FORMS: Final = (
    "a CHECK is `age BETWEEN 0 AND 150`, a comparison of a number column with a constant, "
    "`regexp_like(code, '^[A-Z]+$')`, or `kind IN ('a', 'b')`; several are joined by AND"
)


@dataclass(slots=True)
class CheckRules:
    """What the checks of one table amount to; ranges of one column are narrowed into one."""

    ranges: dict[str, Range] = field(default_factory=dict)
    patterns: list[Check] = field(default_factory=list)
    enums: dict[str, EnumType] = field(default_factory=dict)

    def constraints(self) -> tuple[Range | Check, ...]:
        return (*self.ranges.values(), *self.patterns)

    def add(self, condition: exp.Expr, find: FindColumn) -> None:
        """Take one CHECK; raises Unstorable for a condition that no rule of the schema can express."""
        for part in _parts(condition):
            match part:
                case exp.Between() if not part.args.get("symmetric"):
                    column = _number(part.this, find)
                    self._narrow(Range(column.name, _bound(part.args["low"]), _bound(part.args["high"])))
                case exp.GT() | exp.LT() | exp.GTE() | exp.LTE() | exp.EQ():
                    self._narrow(_comparison(part, find))
                case exp.RegexpLike() if part.args.get("flag") is None:
                    self.patterns.append(_pattern(part, part.this, part.expression, find))
                case exp.Anonymous() if part.name.casefold() in _MATCHES and len(part.expressions) == 2:
                    self.patterns.append(_pattern(part, part.expressions[0], part.expressions[1], find))
                case exp.In() if part.expressions:
                    name, labels = _choice(part, find)
                    self.enums[name] = labels
                case _:
                    raise _unknown_form(part)

    def _narrow(self, to: Range) -> None:
        old = self.ranges.get(to.property, to)
        lows = [b for b in (old.low, to.low) if b is not None]
        highs = [b for b in (old.high, to.high) if b is not None]
        self.ranges[to.property] = replace(to, low=max(lows) if lows else None, high=min(highs) if highs else None)


def _parts(condition: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(condition, exp.Paren):
        yield from _parts(condition.this)
    elif isinstance(condition, exp.And):
        for part in condition.flatten():
            yield from _parts(part)
    else:
        yield condition


def _comparison(part: exp.Expr, find: FindColumn) -> Range:
    left, right, op = part.this, part.expression, type(part)
    if not isinstance(left, exp.Column):
        left, right, op = right, left, _FLIPPED[op]
    column, bound = _number(left, find), _bound(right)
    if op is exp.EQ:
        return Range(column.name, bound, bound)
    if op in (exp.GT, exp.LT):
        bound = _inclusive(column, bound, above=op is exp.GT)
    return Range(column.name, bound, None) if op in (exp.GT, exp.GTE) else Range(column.name, None, bound)


def _inclusive(column: Property, bound: Bound, *, above: bool) -> Bound:
    """Ranges are inclusive: for whole numbers the next one is taken, for others there is none."""
    if not is_integer(column.type):
        raise Unstorable(
            f"a range of {column.name} includes its bounds, because {type_text(column.type)} has no next value",
            "write >= or <=",
        )
    if isinstance(bound, Decimal):
        raise Unstorable(f"a bound of {column.name} is a whole number", "write >= or <= with a whole number")
    return bound + 1 if above else bound - 1


def _number(of: object, find: FindColumn) -> Property:
    if not isinstance(of, exp.Column):
        raise _unknown_form(of)
    column = find(of)
    if not is_number(column.type):
        raise Unstorable(f"{column.name} is {type_text(column.type)}; only numbers have a range", _KNOWN_FORMS)
    return column


def _bound(of: object) -> Bound:
    sign = 1
    while isinstance(of, exp.Neg | exp.Paren):
        sign = -sign if isinstance(of, exp.Neg) else sign
        of = of.this
    if not isinstance(of, exp.Literal) or of.is_string:
        raise _unknown_form(of)
    try:
        exact = Decimal(of.name)
    except InvalidOperation:
        raise _unknown_form(of) from None
    if not exact.is_finite() or abs(exact.adjusted()) > 400:
        raise Unstorable(f"the bound {of.name} is outside of every number type", _KNOWN_FORMS)
    whole = "." not in of.name and "e" not in of.name.lower()
    return sign * (int(exact) if whole else exact)


def _pattern(part: exp.Expr, column: exp.Expr, pattern: exp.Expr, find: FindColumn) -> Check:
    if not isinstance(column, exp.Column) or not _is_text(pattern):
        raise _unknown_form(part)
    return Check(find(column).name, pattern.name)


def _choice(part: exp.In, find: FindColumn) -> tuple[str, EnumType]:
    if not isinstance(part.this, exp.Column) or not all(_is_text(item) for item in part.expressions):
        raise _unknown_form(part)
    column = find(part.this)
    if column.type != STRING:
        raise Unstorable(
            f"{column.name} is {type_text(column.type)}; only TEXT has a closed set of values", _KNOWN_FORMS
        )
    return column.name, enum_type([item.name for item in part.expressions])


def _is_text(of: exp.Expr) -> bool:
    return isinstance(of, exp.Literal) and of.is_string


def _unknown_form(of: object) -> Unstorable:
    shown = of.sql() if isinstance(of, exp.Expr) else "this"
    return Unstorable(f"the schema has no rule for the condition {shown}", _KNOWN_FORMS)
