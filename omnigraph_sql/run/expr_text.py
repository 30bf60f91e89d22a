"""Expressions in the engine's text. Sub-queries, outer columns and parameters are gone before this stage."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from omnigraph_sql.base import expr as ex
from omnigraph_sql.base.errors import ExecutionError, InternalError
from omnigraph_sql.base.expr import Expr, SortKey
from omnigraph_sql.base.types import (
    ANY,
    BLOB,
    BOOL,
    DATE,
    DATETIME,
    F32,
    F64,
    I32,
    I64,
    INTERVAL,
    STRING,
    TIME,
    DataType,
    DecimalType,
    EnumType,
    ListType,
    ScalarType,
    arrow_type,
    is_float,
    is_integer,
    is_number,
    is_open,
    is_text,
)
from omnigraph_sql.bind.gq_values import exact
from omnigraph_sql.run.calls import aggregate_name, call_text
from omnigraph_sql.run.exact import is_held, told_exactly
from omnigraph_sql.run.relation import Build, quoted
from omnigraph_sql.run.scalars import engine_type, is_known, scalar
from omnigraph_sql.run.search_match import text_match

_INLINE: Final = 2**63
_CHECKED: Final = {"+": "add", "-": "subtract", "*": "multiply"}
_MOMENTS: Final = (DATE, DATETIME, TIME, INTERVAL)


def cast(text: str, of: DataType) -> str:
    """The text in a type; unchanged for a type known only at run time."""
    return f"arrow_cast({text}, '{engine_type(arrow_type(of))}')" if is_known(of) else text


def expr_text(expr: Expr, build: Build) -> str:
    """The expression over columns of one relation."""
    match expr:
        case ex.Column(name=name):
            return quoted(name)
        case ex.Literal():
            return _literal(expr, build)
        case ex.Compare():
            return _compare(expr, build)
        case ex.Logic(op=op, operands=operands):
            return f"({f' {op.upper()} '.join(expr_text(o, build) for o in operands)})"
        case ex.Not(operand=operand):
            return f"(NOT {expr_text(operand, build)})"
        case ex.IsNull(operand=operand, negated=negated):
            return f"({expr_text(operand, build)} IS {'NOT ' if negated else ''}NULL)"
        case ex.InList():
            return _in_list(expr, build)
        case ex.Like():
            return _like(expr, build)
        case ex.Arithmetic():
            return _arithmetic(expr, build)
        case ex.Negate(operand=operand):
            return _negative(operand, build)
        case ex.Case():
            return _case(expr, build)
        case ex.Cast():
            return _cast(expr, build)
        case ex.Call():
            return call_text(expr, [expr_text(a, build) for a in expr.arguments], build)
        case ex.Lambda(variables=variables, body=body):
            return f"({', '.join(map(quoted, variables))}) -> {expr_text(body, build)}"
        case ex.LambdaVariable(name=name):
            return quoted(name)
        case ex.TextMatch():
            return text_match(expr, expr_text(expr.field, build), build)
        case _:
            raise InternalError(f"{type(expr).__name__} is not a value here")


# ---- conditions ----------------------------------------------------------------------------------------------------

_STORED_TESTS: Final = (STRING, BOOL, I32, I64, F32, F64, DATE, DATETIME)
"""Types whose columns storage can test."""
_RISKS: Final = ("+", "-", "*", "/", "//", "%", "<<", ">>")


def predicate_text(condition: Expr, build: Build, *, kept: bool = False) -> str:
    """A condition that rows are kept by.

    What may fail is tested only on rows that pass the rest, and what storage cannot test is kept from it; all of it is
    with `kept`.
    """
    parts = ex.conjuncts(condition)
    fixed = [_apart("og_hold", expr_text(p, build), p) for p in parts if not ex.column_names(p)]
    safe = [_tested(p, build, kept) for p in parts if ex.column_names(p) and not _may_fail(p)]
    risky = [_tested(p, build, kept) for p in parts if ex.column_names(p) and _may_fail(p)]
    if safe and risky:
        risky = [f"(CASE WHEN {' AND '.join(safe)} THEN {_digit(' AND '.join(risky))} END = 1)"]
    return " AND ".join([*fixed, *safe, *risky]) or "TRUE"


def _digit(text: str) -> str:
    """A truth value as a number: of truth values the engine makes CASE a conjunction, which it computes in full."""
    return f"arrow_cast({text}, 'Int8')"


def _tested(part: Expr, build: Build, kept: bool) -> str:
    text = expr_text(part, build)
    if build.careful:
        return _apart("og_hold", text, part)
    columns = (c for c in ex.walk(part) if isinstance(c, ex.Column))
    if not kept and all(c.of in _STORED_TESTS or isinstance(c.of, EnumType) for c in columns):
        return text
    return _apart("og_test", text, part)


def _apart(function: str, text: str, part: Expr) -> str:
    """A condition that storage is not asked about.

    Functions of ours get columns under the names of what was computed, and no name holds a zero byte. Storage is not
    asked whether something is true either, so that will do for a text with one.
    """
    return f"(({text}) IS TRUE)" if _has_zero(part) else f"{function}({text})"


def _has_zero(part: Expr) -> bool:
    values = (e.value for e in ex.walk(part) if isinstance(e, ex.Literal))
    return any("\0" in text for v in values for text in (v if isinstance(v, tuple) else (v,)) if isinstance(text, str))


def _may_fail(part: Expr) -> bool:
    return any(
        (isinstance(e, ex.Arithmetic) and e.op in _RISKS)
        or (isinstance(e, ex.Cast) and not e.safe)
        or isinstance(e, ex.Negate)
        for e in ex.walk(part)
    )


# ---- constants --------------------------------------------------------------------------------------------------


def _literal(literal: ex.Literal, build: Build) -> str:
    value, of = literal.value, literal.of
    if value is None:
        return cast("NULL", of)
    if isinstance(value, bool) and not isinstance(of, ListType):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int) and (is_integer(of) or of == ANY) and abs(value) < _INLINE:
        return cast(str(value), of)
    made = scalar(value, of)
    return f"arrow_cast({build.bind(made)}, '{engine_type(made.type)}')"


# ---- predicates -------------------------------------------------------------------------------------------------


def fitted(left: Expr, right: Expr) -> tuple[Expr, Expr]:
    """Both sides of a comparison; a constant takes the other side's type where nothing is lost."""
    if isinstance(right, ex.Literal):
        return left, _exact(right, left.type)
    if isinstance(left, ex.Literal):
        return _exact(left, right.type), right
    return left, right


def _exact(literal: ex.Literal, of: DataType) -> ex.Literal:
    try:
        return exact(literal, of)
    except (OverflowError, ValueError):
        return literal  # infinite, or not a number


def _compare(expr: ex.Compare, build: Build) -> str:
    told = told_exactly(expr)
    if told is not expr:
        return expr_text(told, build)
    left, right = fitted(expr.left, expr.right)
    op = {"!=": "<>"}.get(expr.op, expr.op.upper())
    return f"({_wide_text(left, right, build)} {op} {_wide_text(right, left, build)})"


def _wide_text(side: Expr, other: Expr, build: Build) -> str:
    """A side of a comparison; 32 bits of fraction would round a whole number, so they are made 64."""
    text = expr_text(side, build)
    return cast(text, F64) if side.type == F32 and is_integer(other.type) else text


def _in_list(expr: ex.InList, build: Build) -> str:
    if not expr.items:
        return "TRUE" if expr.negated else "FALSE"
    held = [item for item in expr.items if is_held(item, expr.operand.type)]
    if not held:
        # None of them is a value of the type, so the first is as good as all.
        return _compare(ex.Compare("!=" if expr.negated else "=", expr.operand, expr.items[0]), build)
    items = [expr_text(fitted(expr.operand, item)[1], build) for item in held]
    word = "NOT IN" if expr.negated else "IN"
    return f"({expr_text(expr.operand, build)} {word} ({', '.join(items)}))"


def _like(expr: ex.Like, build: Build) -> str:
    """The engine's LIKE always escapes with a backslash, so patterns are rewritten to that."""
    pattern, escape = _one_text(expr.pattern), expr.escape
    word = f"{'NOT ' if expr.negated else ''}{'ILIKE' if expr.ignore_case else 'LIKE'}"
    if isinstance(pattern, ex.Literal) and (escape is None or isinstance(escape, ex.Literal)):
        text = pattern.value
        mark = None if escape is None else escape.value
        if isinstance(text, str) and (mark is None or isinstance(mark, str)):
            pattern = ex.Literal(_with_backslashes(text, mark), STRING)
        shown = expr_text(pattern, build)
    elif escape is None:
        shown = f"replace({expr_text(pattern, build)}, '\\', '\\\\')"
    else:
        raise ExecutionError("LIKE with ESCAPE takes a constant pattern", hint="leave ESCAPE out, or use regexp_like")
    return f"({expr_text(expr.operand, build)} {word} {shown})"


def _one_text(expr: Expr) -> Expr:
    """Constant texts that are joined, as one."""
    if isinstance(expr, ex.Arithmetic) and expr.op == "||":
        match _one_text(expr.left), _one_text(expr.right):
            case ex.Literal(value=str(left)), ex.Literal(value=str(right)):
                return ex.Literal(left + right, STRING)
            case _:
                pass
    return expr


def _with_backslashes(pattern: str, escape: str | None) -> str:
    made: list[str] = []
    signs = iter(pattern)
    for sign in signs:
        if escape and sign == escape:
            after = next(signs, None)
            if after is None:
                raise ExecutionError("a LIKE pattern does not end with its escape character")
            made.append(f"\\{after}" if after in "%_\\" else after)
        else:
            made.append("\\\\" if sign == "\\" else sign)
    return "".join(made)


# ---- arithmetic -------------------------------------------------------------------------------------------------


def _arithmetic(expr: ex.Arithmetic, build: Build) -> str:
    op, of = expr.op, expr.of
    left, right = expr_text(expr.left, build), expr_text(expr.right, build)
    if op == "||":
        return _joined(expr, left, right)
    if expr.left.type in _MOMENTS or expr.right.type in _MOMENTS:
        return _moments(expr, left, right)
    if op == "**":
        return f"power({cast(left, F64)}, {cast(right, F64)})"
    if op in _CHECKED and is_integer(of) and isinstance(of, ScalarType):
        return f"og_{_CHECKED[op]}_{arrow_type(of)}({cast(left, of)}, {cast(right, of)})"
    if op in ("/", "//", "%") and not (is_integer(of) or isinstance(of, DecimalType)):
        return _divided(op, of, left, right)
    if is_number(of) and not isinstance(of, DecimalType):
        left, right = cast(left, of), cast(right, of)
    sign = {"//": "/", "xor": "^"}.get(op, op)
    return f"({left} {sign} {right})"


def _divided(op: str, of: DataType, left: str, right: str) -> str:
    left, right = cast(left, F64), cast(right, F64)
    quotient = f"og_divide({left}, {right})"
    if op == "//":
        quotient = f"trunc({quotient})"
    elif op == "%":
        quotient = f"({left} - {right} * trunc({quotient}))"
    return cast(quotient, of) if is_float(of) and of != F64 else quotient


def _joined(expr: ex.Arithmetic, left: str, right: str) -> str:
    if isinstance(expr.of, ListType):
        # A missing list makes the whole missing, as with texts.
        both = f"{left} IS NULL OR {right} IS NULL"
        return f"(CASE WHEN {both} THEN NULL ELSE array_concat({left}, {right}) END)"
    if expr.of == BLOB:
        return f"({left} || {right})"
    texts = [
        text if is_text(side.type) else cast(text, STRING) for side, text in ((expr.left, left), (expr.right, right))
    ]
    return f"({texts[0]} || {texts[1]})"


def _moments(expr: ex.Arithmetic, left: str, right: str) -> str:
    of, op = expr.of, expr.op
    if of == I64 and expr.left.type == expr.right.type == DATE:
        days = [cast(f"arrow_cast({side}, 'Int32')", I64) for side in (left, right)]
        return f"({days[0]} - {days[1]})"
    if of == DATE and is_integer(expr.right.type):
        moved = f"og_{_CHECKED[op]}_int32(arrow_cast({left}, 'Int32'), arrow_cast({right}, 'Int32'))"
        return cast(moved, DATE)
    return cast(f"({left} {op} {right})", of)


def _negative(operand: Expr, build: Build) -> str:
    of, text = operand.type, expr_text(operand, build)
    if is_integer(of):
        return f"og_subtract_{arrow_type(of)}({cast('0', of)}, {cast(text, of)})"
    return f"(- {text})"


# ---- shapes -----------------------------------------------------------------------------------------------------


def _case(expr: ex.Case, build: Build) -> str:
    risky = expr.of == BOOL and _may_fail(expr)

    def shown(part: Expr) -> str:
        return _digit(expr_text(part, build)) if risky else _of(part, expr.of, build)

    parts = [f"WHEN {expr_text(when, build)} THEN {shown(then)}" for when, then in expr.whens]
    if expr.otherwise is not None:
        parts.append(f"ELSE {shown(expr.otherwise)}")
    text = f"CASE {' '.join(parts)} END"
    return f"({text} = 1)" if risky else f"({text})"


def _of(expr: Expr, of: DataType, build: Build) -> str:
    text = expr_text(expr, build)
    return text if expr.type == of or is_text(of) else cast(text, of)


def _cast(expr: ex.Cast, build: Build) -> str:
    text, of = expr_text(expr.operand, build), expr.of
    if is_open(of):
        return text
    if is_text(of) and expr.operand.type == ScalarType(DATETIME.kind):
        text = f"to_char({text}, '%Y-%m-%d %H:%M:%S%.f')"
    name = engine_type(arrow_type(of))
    return f"arrow_try_cast({text}, '{name}')" if expr.safe else f"arrow_cast({text}, '{name}')"


def direction(key: SortKey) -> str:
    return f"{'DESC' if key.descending else 'ASC'} NULLS {'FIRST' if key.nulls_first else 'LAST'}"


def order_text(keys: tuple[SortKey, ...], build: Build) -> str:
    return ", ".join(f"{expr_text(key.expr, build)} {direction(key)}" for key in keys)


# ---- aggregates and windows -------------------------------------------------------------------------------------


def aggregate_text(call: ex.Aggregate, build: Build, present: str | None = None) -> str:
    """The call; `present` is a column that is false where a row only keeps its asker alive."""
    tests = [expr_text(call.filter, build)] if call.filter is not None else []
    if present is not None:
        tests.insert(0, quoted(present))
    filter_ = f" FILTER (WHERE {' AND '.join(tests)})" if tests else ""
    made = _called(call, build, order=call.order)
    return _typed_sum(call, f"{made}{filter_}")


def _called(call: ex.Aggregate | ex.WindowCall, build: Build, order: tuple[SortKey, ...] = ()) -> str:
    texts = [expr_text(a, build) for a in call.arguments]
    if call.function == "sum" and is_integer(call.arguments[0].type):
        texts = [f"arrow_cast({texts[0]}, 'Decimal128(38, 0)')"]
    elif call.function == "avg":
        texts = [cast(texts[0], F64)]
    inner = ", ".join(texts) if texts else "*"
    if not texts and call.function != "count":
        inner = ""
    word = "DISTINCT " if call.distinct else ""
    ordering = f" ORDER BY {order_text(order, build)}" if order else ""
    return f"{aggregate_name(call.function)}({word}{inner}{ordering})"


def _typed_sum(call: ex.Aggregate | ex.WindowCall, text: str) -> str:
    """Sums of whole numbers are exact, and an error where 64 bits do not hold them."""
    exact_sum = call.function == "sum" and is_integer(call.arguments[0].type)
    return f"arrow_cast({text}, 'Int64')" if exact_sum else text


_TRUTHS: Final = {"bool_and": "min", "bool_or": "max"}


def window_text(call: ex.WindowCall, carried: tuple[str, ...], build: Build) -> str:
    """The call over its window; rows of different askers are in different partitions."""
    if call.function in _TRUTHS and call.frame is not None:
        # The engine has no moving version of these; of numbers it has.
        number = replace(
            call, function=_TRUTHS[call.function], arguments=(ex.Cast(call.arguments[0], I32, safe=False),)
        )
        return f"({window_text(number, carried, build)} = 1)"
    made = _called(call, build)
    if call.filter is not None:
        made += f" FILTER (WHERE {expr_text(call.filter, build)})"
    if call.ignore_nulls:
        made += " IGNORE NULLS"
    parts = [*map(quoted, carried), *(expr_text(p, build) for p in call.partition)]
    inside = [f"PARTITION BY {', '.join(parts)}"] if parts else []
    if call.order:
        inside.append(f"ORDER BY {order_text(call.order, build)}")
    if call.frame is not None:
        frame = call.frame
        start, end = (_bound(b) for b in (frame.start, frame.end))
        inside.append(f"{frame.unit.upper()} BETWEEN {start} AND {end}")
    return _typed_sum(call, f"{made} OVER ({' '.join(inside)})")


def _bound(bound: ex.FrameBound) -> str:
    if bound.side == "current":
        return "CURRENT ROW"
    return f"{_offset(bound.offset)} {bound.side.upper()}"


def _offset(offset: Expr | None) -> str:
    """Frames take constants only, so these are spelled; a number or an interval is safe to spell."""
    if offset is None:
        return "UNBOUNDED"
    if isinstance(offset, ex.Literal):
        value = offset.value
        if offset.of == INTERVAL and isinstance(value, str) and "'" not in value:
            return f"INTERVAL '{value}'"
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
    raise ExecutionError("the offset of a frame is a constant")
