"""CAST, TRY_CAST and typed literals; constants are converted at once."""

from __future__ import annotations

from decimal import Decimal

from sqlglot import exp

from omnigraph_sql.base.expr import Cast, Expr, Literal, Value
from omnigraph_sql.base.types import (
    BLOB,
    BOOL,
    DATE,
    DATETIME,
    F32,
    INTERVAL,
    STRING,
    TIME,
    DataType,
    EnumType,
    ListType,
    ScalarType,
    StructType,
    VectorType,
    integer_range,
    is_float,
    is_integer,
    is_number,
    is_open,
    is_text,
    type_text,
)
from omnigraph_sql.bind.gq_values import single
from omnigraph_sql.bind.sql_expr import Site
from omnigraph_sql.bind.sql_moments import MOMENTS, moment
from omnigraph_sql.bind.sql_operands import as_instant, refuse_label, shown
from omnigraph_sql.bind.sql_types import declared, sql_type


def bind_cast(site: Site, node: exp.Expr) -> Expr:
    safe = isinstance(node, exp.TryCast)
    if node.args.get("format") is not None or node.args.get("default") is not None:
        raise site.binder.unsupported("CAST has no FORMAT and no DEFAULT", node, "write to_char(…) or to_timestamp(…)")
    of = sql_type(site.binder, node.args["to"], node)
    return cast(site, site.binder.infer(site.bind(node.this), of), of, node.this, safe)


def cast(site: Site, operand: Expr, of: DataType, node: exp.Expr, safe: bool = False) -> Expr:
    """The operand as a value of type `of`."""
    if operand.type == of:
        return operand
    if not _castable(operand.type, of):
        message = f"{shown(site, node)} is {declared(operand.type)}, which cannot become {declared(of)}"
        raise site.binder.mismatch(message, node)
    if isinstance(operand, Literal):
        refuse_label(site, of, operand, node, exp.Var(this=type_text(of)))
        return _constant(site, operand, of, node, safe)
    if operand.type == DATE and of == DATETIME:
        return as_instant(operand)
    return Cast(operand, of, safe)


def _constant(site: Site, operand: Literal, of: DataType, node: exp.Expr, safe: bool) -> Expr:
    value = operand.value
    if value is None:
        return Literal(None, of)
    if isinstance(value, str) and operand.of == STRING and of in MOMENTS:
        try:
            return Literal(moment(value, of), of)
        except ValueError as broken:
            if safe:
                return Literal(None, of)
            raise site.binder.mismatch(str(broken), node) from None
    if isinstance(of, VectorType):
        made = vector_literal(operand, of)
        if made is None:
            raise site.binder.mismatch(f"this is not a list of {of.dimensions} numbers", node)
        return made
    if operand.of == DATE and of == DATETIME:
        return as_instant(operand)
    number = _number(value, of) if is_number(of) else None
    return Literal(number, of) if number is not None else Cast(operand, of, safe)


def _number(value: Value, of: DataType) -> int | float | None:
    """A number that survives the cast unchanged, or as a float; None leaves the cast to the engine."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    if is_integer(of) and isinstance(of, ScalarType) and isinstance(value, int):
        low, high = integer_range(of)
        return value if low <= value <= high else None
    if is_float(of):
        return single(float(value)) if of == F32 else float(value)
    return None


def vector_literal(value: Literal, of: VectorType) -> Literal | None:
    """A list of numbers as a vector of exactly that many dimensions, or None."""
    items = value.value
    if not isinstance(value.of, ListType) or not isinstance(items, tuple) or len(items) != of.dimensions:
        return None
    made = [_number(item, F32) for item in items]
    done = tuple(item for item in made if item is not None)
    return Literal(done, of) if len(done) == len(made) else None


def _castable(given: DataType, of: DataType) -> bool:
    if is_open(given) or is_open(of) or given == of:
        return True
    if isinstance(of, VectorType) or isinstance(given, VectorType):
        other = given if isinstance(of, VectorType) else of
        return isinstance(other, ListType) and (is_number(other.item) or is_open(other.item))
    if isinstance(of, ListType) and isinstance(given, ListType):
        return _castable(given.item, of.item)
    if is_text(of):
        return given != BLOB or of == STRING
    if isinstance(given, ListType | StructType) or isinstance(of, ListType | StructType):
        return isinstance(given, StructType) and isinstance(of, StructType)
    if is_text(given):
        return not isinstance(given, EnumType) or of not in MOMENTS
    if is_number(given) or given == BOOL:
        return is_number(of) or of == BOOL or (is_integer(given) and of == DATETIME)
    return {given, of} <= {DATE, DATETIME} or (given, of) == (DATETIME, TIME) or (given, of) == (TIME, INTERVAL)
