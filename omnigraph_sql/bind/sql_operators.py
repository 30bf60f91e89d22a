"""Operators: comparisons, AND, OR, NOT, signs, and where arithmetic and operators that are functions are bound."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Final

from sqlglot import exp

from omnigraph_sql.base.expr import (
    Arithmetic,
    Call,
    Cast,
    Compare,
    Exists,
    Expr,
    InList,
    InSubquery,
    IsNull,
    Like,
    Literal,
    Logic,
    Negate,
    Not,
    is_boolean,
)
from omnigraph_sql.base.types import (
    BOOL,
    DATETIME,
    I64,
    INTERVAL,
    STRING,
    U8,
    U16,
    U32,
    U64,
    DecimalType,
    is_integer,
    is_number,
    is_open,
    is_text,
)
from omnigraph_sql.bind.sql_arithmetic import arithmetic, scaled
from omnigraph_sql.bind.sql_expr import Rule, Site
from omnigraph_sql.bind.sql_operands import as_moment, compare, shown
from omnigraph_sql.bind.sql_types import declared

# ---- logic ------------------------------------------------------------------------------------------------------


def _logic(word: str, of: type[exp.Expr]) -> Rule:
    def rule(site: Site, node: exp.Expr) -> Expr:
        # Chains lean left and may be long, so they are walked, not descended.
        waiting, operands = [node], list[Expr]()
        while waiting:
            at = waiting.pop().unnest()
            if isinstance(at, of):
                waiting += [at.args["expression"], at.this]
                continue
            operands.append(_truth(site, at, word.upper()))
        return Logic(word, tuple(operands))

    return rule


def _truth(site: Site, node: exp.Expr, word: str) -> Expr:
    bound = site.binder.infer(site.bind(node), BOOL)
    if not is_boolean(bound):
        message = f"{word} takes truth values; {shown(site, node)} is {declared(bound.type)}"
        raise site.binder.mismatch(message, node, "compare it with something")
    return bound


_OPPOSITES: Final = {"is distinct from": "is not distinct from", "is not distinct from": "is distinct from"}


def _not(site: Site, node: exp.Expr) -> Expr:
    return negated(_truth(site, node.this, "NOT"))


def negated(expr: Expr) -> Expr:
    """NOT of it, as the predicate's own negative form where it has one."""
    if isinstance(expr, IsNull | InList | Like | Exists | InSubquery):
        return replace(expr, negated=not expr.negated)
    if isinstance(expr, Compare) and expr.op in _OPPOSITES:
        return replace(expr, op=_OPPOSITES[expr.op])
    return Not(expr)


# ---- comparisons ------------------------------------------------------------------------------------------------


def _comparison(op: str) -> Rule:
    def rule(site: Site, node: exp.Expr) -> Expr:
        left, right = node.this, node.args["expression"]
        if isinstance(right, exp.Any | exp.All) or _is_quantified(right):
            from omnigraph_sql.bind.sql_quantified import quantified

            return quantified(site, op, left, right)
        if is_row(left) or is_row(right):
            return compare_rows(site, op, left, right, node)
        return compare(site, op, site.bind(left), site.bind(right), (left, right))

    return rule


def _is_quantified(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.lower() in ("all", "some")


def is_row(node: exp.Expr) -> bool:
    return isinstance(node, exp.Tuple) or (isinstance(node, exp.Anonymous) and node.name.lower() == "row")


def compare_rows(site: Site, op: str, left: exp.Expr, right: exp.Expr, node: exp.Expr) -> Expr:
    """`(a, b) = (1, 2)` is `a = 1 AND b = 2`."""
    if not (is_row(left) and is_row(right)):
        hint = "write EXISTS (SELECT … WHERE …) instead" if isinstance(right, exp.Query) else "write (a, b) = (1, 2)"
        raise site.binder.unsupported("a row is compared with a row of values only", node, hint)
    lefts, rights = left.expressions, right.expressions
    if len(lefts) != len(rights) or not lefts:
        raise site.binder.mismatch(f"a row of {len(lefts)} is compared with a row of {len(rights)}", node)
    if op in ("<", "<=", ">", ">="):
        raise site.binder.unsupported("rows are compared for equality only", node, "spell the comparison out with OR")
    made = tuple(compare(site, op, site.bind(a), site.bind(b), (a, b)) for a, b in zip(lefts, rights, strict=True))
    word = "and" if op in ("=", "is not distinct from") else "or"
    return made[0] if len(made) == 1 else Logic(word, made)


# ---- arithmetic ------------------------------------------------------------------------------------------------------


_UNSIGNED: Final = (U8, U16, U32, U64)
_SIGNED_MAX: Final = 2**63


def _arithmetic(op: str) -> Rule:
    def rule(site: Site, node: exp.Expr) -> Expr:
        left, right = node.this, node.args["expression"]
        return arithmetic(site, op, site.bind(left), site.bind(right), (left, right))

    return rule


def _minus(site: Site, node: exp.Expr) -> Expr:
    operand = site.bind(node.this)
    if isinstance(operand, Literal):
        made = _minus_literal(site, operand, node)
        if made is not None:
            return made
    of = operand.type
    if of in _UNSIGNED:
        operand = Cast(operand, I64)
    elif not (is_number(of) or is_open(of) or of == INTERVAL):
        raise site.binder.mismatch(f"'-' takes a number; {shown(site, node.this)} is {declared(of)}", node.this)
    return Negate(operand)


def _minus_literal(site: Site, operand: Literal, node: exp.Expr) -> Literal | None:
    value = operand.value
    if operand.of == INTERVAL:
        return scaled(site, operand, -1, (node.this, node.this))
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    if operand.of == U64:
        return Literal(-value, I64 if value <= _SIGNED_MAX else DecimalType(38, 0))
    return Literal(-value, operand.of)


def _complement(site: Site, node: exp.Expr) -> Expr:
    operand = site.binder.infer(site.bind(node.this), I64)
    if not (is_integer(operand.type) or is_open(operand.type)):
        message = f"'~' takes a whole number; {shown(site, node.this)} is {declared(operand.type)}"
        raise site.binder.mismatch(message, node.this)
    signed = Cast(operand, I64) if operand.type in _UNSIGNED else operand
    return Arithmetic("xor", signed, Literal(-1, I64), signed.type)


# ---- operators that are functions -------------------------------------------------------------------------------


def _called(function: str, swapped: bool = False) -> Rule:
    def rule(site: Site, node: exp.Expr) -> Expr:
        from omnigraph_sql.bind.sql_call import call

        arguments = [node.this, node.args["expression"]]
        return call(site, function, arguments[::-1] if swapped else arguments, node)

    return rule


def _zone(site: Site, node: exp.Expr) -> Expr:
    moment, zone = site.bind(node.this), site.binder.infer(site.bind(node.args["zone"]), STRING)
    moment = as_moment(site, site.binder.infer(moment, DATETIME), DATETIME, node.this)
    if not (moment.type == DATETIME or is_open(moment.type)):
        message = f"AT TIME ZONE takes an instant; {shown(site, node.this)} is {declared(moment.type)}"
        raise site.binder.mismatch(message, node.this)
    if not (is_text(zone.type) or is_open(zone.type)):
        raise site.binder.mismatch("a time zone is a text, as in 'Europe/Madrid'", node.args["zone"])
    return Call("at_time_zone", (moment, zone), DATETIME)


def _refused(message: str, hint: str) -> Rule:
    def rule(site: Site, node: exp.Expr) -> Expr:
        raise site.binder.unsupported(message, node, hint)

    return rule


_JSON: Final = _refused("JSON is not supported", "a property is a scalar, a list or a vector")

RULES: Final[dict[type[exp.Expr], Rule]] = {
    exp.And: _logic("and", exp.And),
    exp.Or: _logic("or", exp.Or),
    exp.Not: _not,
    exp.EQ: _comparison("="),
    exp.NEQ: _comparison("!="),
    exp.LT: _comparison("<"),
    exp.LTE: _comparison("<="),
    exp.GT: _comparison(">"),
    exp.GTE: _comparison(">="),
    exp.NullSafeEQ: _comparison("is not distinct from"),
    exp.NullSafeNEQ: _comparison("is distinct from"),
    exp.Add: _arithmetic("+"),
    exp.Sub: _arithmetic("-"),
    exp.Mul: _arithmetic("*"),
    exp.Div: _arithmetic("/"),
    exp.IntDiv: _arithmetic("//"),
    exp.Mod: _arithmetic("%"),
    exp.Pow: _arithmetic("**"),
    exp.DPipe: _arithmetic("||"),
    exp.BitwiseAnd: _arithmetic("&"),
    exp.BitwiseOr: _arithmetic("|"),
    exp.BitwiseXor: _arithmetic("xor"),
    exp.BitwiseLeftShift: _arithmetic("<<"),
    exp.BitwiseRightShift: _arithmetic(">>"),
    exp.Neg: _minus,
    exp.BitwiseNot: _complement,
    exp.ArrayContainsAll: _called("array_has_all"),
    exp.ArrayContainedBy: _called("array_has_all", swapped=True),
    exp.ArrayOverlaps: _called("array_has_any"),
    exp.StartsWith: _called("starts_with"),
    exp.AtTimeZone: _zone,
    exp.JSONExtract: _JSON,
    exp.JSONExtractScalar: _JSON,
    exp.Collate: _refused("COLLATE is not supported", "compare lower(x) with lower(y) to ignore case"),
    exp.Distance: _refused("<-> is not supported", "write nearest(column, query)"),
    exp.Overlaps: _refused("OVERLAPS is not supported", "compare the ends: a.start < b.stop AND b.start < a.stop"),
}
