"""Values of `.gq` texts: literals with their static types, inputs of tests and assignments, comparisons."""

from __future__ import annotations

import struct
from typing import assert_never

from omnigraph_sql.base.expr import NOW, Call, Column, Compare, Expr, Literal
from omnigraph_sql.base.instants import parse_day, parse_instant
from omnigraph_sql.base.types import (
    BLOB,
    BOOL,
    DATE,
    DATETIME,
    F32,
    F64,
    I64,
    STRING,
    DataType,
    EnumType,
    ListType,
    ScalarType,
    VectorType,
    common_type,
    comparable,
    integer_range,
    is_float,
    is_integer,
    is_number,
    is_open,
    is_text,
    type_text,
)
from omnigraph_sql.bind.gq_scope import ANONYMOUS, Scope, Work, a
from omnigraph_sql.grammar.ast import gq as ast
from omnigraph_sql.grammar.source import Span

LITERALS = (
    ast.StringLit,
    ast.IntLit,
    ast.FloatLit,
    ast.BoolLit,
    ast.NullLit,
    ast.DateLit,
    ast.DateTimeLit,
    ast.ListLit,
)


# ---- literals ---------------------------------------------------------------------------------------------------


def literal(work: Work, value: ast.Literal) -> Literal:
    """The literal with its static type."""
    match value:
        case ast.StringLit():
            return Literal(value.value, STRING)
        case ast.IntLit():
            _refuse_negative(work, value.value, value.span)
            return Literal(value.value, I64)
        case ast.FloatLit():
            _refuse_negative(work, value.value, value.span)
            return Literal(value.value, F64)
        case ast.BoolLit():
            return Literal(value.value, BOOL)
        case ast.NullLit():
            work.extension(value.span, "null")
            return Literal(None, STRING)
        case ast.DateLit():
            return _moment(work, value)
        case ast.DateTimeLit():
            return _moment(work, value)
        case ast.ListLit():
            return _list(work, value)
        case _:
            assert_never(value)


def _refuse_negative(work: Work, value: float, span: Span) -> None:
    if value < 0:
        work.extension(span, "a negative literal")


def _moment(work: Work, value: ast.DateLit | ast.DateTimeLit) -> Literal:
    try:
        if isinstance(value, ast.DateLit):
            return Literal(parse_day(value.text), DATE)
        return Literal(parse_instant(value.text), DATETIME)
    except ValueError as broken:
        raise work.wrong("T0", value.span, str(broken)) from None


def _list(work: Work, value: ast.ListLit) -> Literal:
    if not value.items:
        return Literal((), ListType(STRING))
    items: list[Literal] = []
    of: DataType | None = None
    for item in value.items:
        if isinstance(item, ast.ListLit | ast.NullLit):
            what = "a list" if isinstance(item, ast.ListLit) else "null"
            raise work.wrong("T0", item.span, f"a list literal cannot hold {what}")
        made = literal(work, item)
        both = made.of if of is None else common_type(of, made.of)
        # A day among instants has a common type, but not one the reader of the list would expect.
        if both is None or (of is not None and both != of and not is_number(both)):
            message = (
                f"a list holds one type of element; this one mixes {type_text(of or made.of)} and {type_text(made.of)}"
            )
            raise work.wrong("T0", item.span, message)
        of = both
        items.append(made)
    assert of is not None
    as_float = of == F64
    values = tuple(float(i.value) if as_float and isinstance(i.value, int) else i.value for i in items)
    return Literal(values, ListType(of))


def single(value: float) -> float | None:
    """`value` as a 32-bit float, or None when it is too large for one."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return None


def exact(value: Literal, of: DataType) -> Literal:
    """The literal in the type of the column it is compared with when nothing is lost, else unchanged.

    A fraction against a 32-bit float column is rounded to it all the same: `= 0.1` has to match a stored 0.1.
    """
    number = value.value
    if value.of == of or isinstance(number, bool) or not isinstance(number, int | float) or not is_number(of):
        return value
    if is_integer(of):
        assert isinstance(of, ScalarType)
        low, high = integer_range(of)
        whole = number == int(number) if isinstance(number, float) else True
        return Literal(int(number), of) if whole and low <= number <= high else value
    if of == F32:
        rounded = single(float(number)) if abs(number) < 2**128 else None
        if rounded is not None and (isinstance(number, float) or rounded == number):
            return Literal(rounded, F32)
    # An integer that 32 bits would round is compared as a double, where that is exact.
    if isinstance(number, int) and int(float(number)) == number:
        return Literal(float(number), F64)
    return value


# ---- inputs -----------------------------------------------------------------------------------------------------


def instant(work: Work, value: ast.Now) -> Expr:
    if not work.writes and not work.options.read_now:
        raise work.wrong("T0", value.span, "now() is not available in reads", "switch gq.read_now on")
    return NOW


def input_value(work: Work, scope: Scope, value: ast.Value, meets: DataType) -> Expr:
    """A literal, a parameter or `now()`: all that may stand in a field test, an assignment or a row test."""
    if isinstance(value, LITERALS):
        return literal(work, value)
    if isinstance(value, ast.Now):
        return instant(work, value)
    if isinstance(value, ast.Var):
        bound = scope.find(value.name) if value.name != ANONYMOUS else None
        if bound is None:
            return work.parameter(value, meets, scope.names())
        if bound.is_edge:
            message = f"${value.name} is an edge; it is used as ${value.name}.property only"
            raise work.wrong("T23", value.span, message)
    hint = "compare two variables in a clause of their own, for instance $a.p = $b.q"
    written = work.written(value.span)
    raise work.wrong("T25", value.span, f"{written} cannot stand here: only literals, parameters and now() can", hint)


def is_vector_or_list(of: DataType) -> bool:
    return isinstance(of, ListType | VectorType)


def refuse_label(work: Work, of: DataType, value: Expr, span: Span, owner: str) -> None:
    """T3 for a literal outside the set of an enum."""
    if not (isinstance(of, EnumType) and isinstance(value, Literal) and isinstance(value.value, str)):
        return
    if value.value not in of.labels:
        message = f"{value.value!r} is not a label of {owner}; the labels are {', '.join(of.labels)}"
        raise work.unknown("T3", span, message, value.value, of.labels)


def comparison(work: Work, op: str, left: Expr, right: Expr, spans: tuple[Span, Span], code: str = "T7") -> Expr:
    """`left op right` for scalars; `code` is raised when the types do not fit."""
    for side, span in zip((left, right), spans, strict=True):
        if is_vector_or_list(side.type) or side.type == BLOB:
            message = f"{work.written(span)} is {a(side.type)}, which cannot be compared"
            hint = "test membership with contains" if isinstance(side.type, ListType) else None
            raise work.wrong(code, span, message, hint)
    if _is_null(right) or _is_null(left):
        span = spans[1] if _is_null(right) else spans[0]
        raise work.wrong(code, span, "nothing equals null", "write is null or is not null")
    if not comparable(left.type, right.type):
        texts = [f"{work.written(s)} ({type_text(e.type)})" for e, s in zip((left, right), spans, strict=True)]
        raise work.wrong(code, spans[1], f"{texts[0]} cannot be compared with {texts[1]}")
    if op in ("=", "!="):
        refuse_label(work, left.type, right, spans[1], work.written(spans[0]))
        refuse_label(work, right.type, left, spans[0], work.written(spans[1]))
    if isinstance(right, Literal):
        right = exact(right, left.type)
    elif isinstance(left, Literal):
        left = exact(left, right.type)
    return Compare(op, left, right)


def _is_null(value: Expr) -> bool:
    return isinstance(value, Literal) and value.value is None


def membership(work: Work, left: Expr, right: Expr, spans: tuple[Span, Span], code: str = "T7") -> Expr:
    """`left contains right` for a list on the left."""
    assert isinstance(left.type, ListType)
    item = left.type.item
    if not comparable(item, right.type) or _is_null(right):
        owner, value = work.written(spans[0]), work.written(spans[1])
        message = f"{owner} is {a(left.type)}; it holds {type_text(item)}, not {_kind(right)} {value}"
        raise work.wrong(code, spans[1], message)
    refuse_label(work, item, right, spans[1], work.written(spans[0]))
    if isinstance(right, Literal):
        right = exact(right, item)
    return Call("list_contains", (left, right), BOOL)


def _kind(value: Expr) -> str:
    return "null" if _is_null(value) else type_text(value.type)


def text_relation(work: Work, function: str, left: Expr, right: Expr, spans: tuple[Span, Span]) -> Expr:
    """`contains` and `starts_with` between two texts."""
    for side, span in zip((left, right), spans, strict=True):
        if not (is_text(side.type) or is_open(side.type)) or _is_null(side):
            text = work.written(span)
            raise work.wrong("T7", span, f"{function} takes two texts; {text} is {a(side.type)}")
    return Call(function, (left, right), BOOL)


# ---- stored values ----------------------------------------------------------------------------------------------


def stored(work: Work, value: Expr, of: DataType, nullable: bool, span: Span, owner: str) -> Expr:
    """`value` as it is assigned to a column: literals in the column's own type, the rest checked for compatibility."""
    if isinstance(value, Literal):
        return _stored_literal(work, value, of, nullable, span, owner)
    if not assignable(value.type, of):
        message = f"{owner} is {a(of)}; {work.written(span)} is {a(value.type)}"
        raise work.wrong("T7", span, message)
    return value


def assignable(given: DataType, of: DataType) -> bool:
    if is_open(given):
        return True
    if isinstance(of, VectorType):
        return given == of
    if isinstance(of, ListType) or isinstance(given, ListType):
        return isinstance(of, ListType) and isinstance(given, ListType) and comparable(given.item, of.item)
    if of == BLOB:
        return given in (STRING, BLOB)
    return comparable(given, of)


def _stored_literal(work: Work, value: Literal, of: DataType, nullable: bool, span: Span, owner: str) -> Literal:
    if value.value is None:
        if not nullable:
            raise work.wrong("T3", span, f"{owner} cannot be null")
        return Literal(None, of)
    refuse_label(work, of, value, span, owner)
    made = cast(value, of)
    if made is None:
        written = work.written(span)
        raise work.wrong("T3", span, f"{owner} is {a(of)}; {written} ({type_text(value.of)}) does not fit")
    return made


def cast(value: Literal, of: DataType) -> Literal | None:
    """The literal in exactly type `of`, or None."""
    if isinstance(of, ListType | VectorType):
        return _cast_items(value, of)
    if isinstance(of, EnumType) or of == BLOB:
        return value if value.of == STRING else None
    if value.of == of:
        return value
    number = value.value
    if not is_number(of) or isinstance(number, bool) or not isinstance(number, int | float):
        return None
    if is_float(of):
        as_float = float(number) if of == F64 else single(float(number))
        return Literal(as_float, of) if as_float is not None else None
    made = exact(value, of)
    return made if made.of == of else None


def _cast_items(value: Literal, of: ListType | VectorType) -> Literal | None:
    if not isinstance(value.of, ListType) or not isinstance(value.value, tuple):
        return None
    if isinstance(of, VectorType) and len(value.value) != of.dimensions:
        return None
    item = F32 if isinstance(of, VectorType) else of.item
    made = [cast(Literal(v, value.of.item), item) for v in value.value]
    done = [m.value for m in made if m is not None]
    return Literal(tuple(done), of) if len(done) == len(made) else None


def property_column(work: Work, scope: Scope, value: ast.PropertyOf, code: str = "T6") -> Column:
    """`$x.p` as a column; T6 (or `code`) when either is unknown."""
    name = value.variable.name
    ranged = scope.find(name) if name != ANONYMOUS else None
    if ranged is None:
        if name == ANONYMOUS:
            raise work.wrong(code, value.variable.span, "$_ is anonymous and cannot be mentioned again")
        message = f"${name} is a parameter and has no properties" if name in work.params else f"${name} is not bound"
        raise work.unknown(code, value.variable.span, message, name, scope.names(), sigil="$")
    column = ranged.column(value.property.text)
    if column is None:
        word = value.property.text
        known = [p.name for p in ranged.type.properties]
        raise work.no_property(code, value.property.span, ranged.type.name, word, known)
    return column
