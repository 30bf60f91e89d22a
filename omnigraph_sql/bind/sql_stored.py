"""Values on their way into columns: literals take the column's own type, the rest is checked for fitness."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal

from sqlglot import exp

from omnigraph_sql.base.catalog import SRC, EdgeType, Property, TableType
from omnigraph_sql.base.errors import TypeMismatch
from omnigraph_sql.base.expr import Cast, Expr, Literal, Negate, Value
from omnigraph_sql.base.instants import parse_day
from omnigraph_sql.base.schema import Field
from omnigraph_sql.base.types import (
    BLOB,
    BOOL,
    DATE,
    DATETIME,
    F32,
    F64,
    STRING,
    DataType,
    EnumType,
    ListType,
    ScalarType,
    VectorType,
    comparable,
    integer_range,
    is_float,
    is_integer,
    is_number,
    is_open,
    is_text,
    type_text,
)
from omnigraph_sql.bind.gq_values import single
from omnigraph_sql.bind.sql_binder import SqlBinder
from omnigraph_sql.bind.sql_moments import sql_instant
from omnigraph_sql.bind.sql_targets import listed
from omnigraph_sql.bind.suggest import closest
from omnigraph_sql.grammar.source import Span

Place = exp.Expr | Span | None


class _Unfit(Exception):
    """Why a literal cannot stand in a column."""

    def __init__(self, reason: str, suggestion: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.suggestion = suggestion


def stored(binder: SqlBinder, value: Expr, table: TableType, column: Field, at: Place) -> Expr:
    """`value` as it is assigned to `column`. Raises TypeMismatch at `at`."""
    return assigned(binder, value, f"{table.name}.{column.name}", column, at)


def assigned(binder: SqlBinder, value: Expr, owner: str, column: Field, at: Place) -> Expr:
    """As `stored`, for anything with a type and a name: a column, or a parameter of another text."""
    value = _folded(binder.infer(value, column.type))
    if isinstance(value, Literal):
        if value.value is None:
            if not column.nullable:
                raise binder.mismatch(f"{owner} cannot be null", at, "give it a value")
            return Literal(None, column.type)
        try:
            made = _converted(value.value, value.of, column.type)
            # A label and the text of a blob stay texts, as everywhere else.
            kept = isinstance(made, str) and (isinstance(column.type, EnumType) or column.type == BLOB)
            return Literal(made, STRING if kept else column.type)
        except _Unfit as unfit:
            message = f"{owner} is {_declared(column.type)}; {unfit.reason}"
            raise TypeMismatch(message, at=binder.location(at), suggestion=unfit.suggestion) from None
    if value.type == DATE and column.type == DATETIME:
        return Cast(value, DATETIME)
    if not assignable(value.type, column.type):
        hint = f"convert it: CAST(… AS {type_text(column.type)})" if not isinstance(column.type, VectorType) else ""
        raise binder.mismatch(f"{owner} is {_declared(column.type)}; this is {_declared(value.type)}", at, hint)
    return value


def assignable(given: DataType, of: DataType) -> bool:
    """Whether a value known only at run time may go into a column of type `of`; it is checked again when it does."""
    if is_open(given):
        return True
    if isinstance(of, VectorType):
        return given == of or (isinstance(given, ListType) and (is_number(given.item) or is_open(given.item)))
    if isinstance(of, ListType):
        return isinstance(given, ListType) and assignable(given.item, of.item)
    if isinstance(given, ListType | VectorType):
        return False
    if of == BLOB:
        return given in (STRING, BLOB)
    return given != BLOB and (comparable(given, of) or (given, of) == (DATE, DATETIME))


def refuse_missing(binder: SqlBinder, table: TableType, given: set[str], at: Place) -> None:
    """Every column that cannot be null must be given."""
    missing = [name for name in (SRC, "dst") if isinstance(table, EdgeType) and name not in given]
    missing += [p.name for p in table.properties if _needed(p, given)]
    if missing:
        verb = "it" if len(missing) == 1 else "they"
        raise binder.mismatch(f"{table.name} needs {listed(missing)}; {verb} cannot be null", at)


def _needed(column: Property, given: set[str]) -> bool:
    if column.nullable or column.name in given:
        return False
    # A vector that is made from a text is made when the row is written.
    return column.embedding is None or column.embedding.source not in given


# ---- literals ---------------------------------------------------------------------------------------------------


def _folded(value: Expr) -> Expr:
    """`-5` as one literal, so that its range can be checked."""
    if isinstance(value, Negate):
        inner = _folded(value.operand)
        if isinstance(inner, Literal) and isinstance(inner.value, int | float | Decimal) and inner.of != BOOL:
            return Literal(-inner.value, inner.of)
    return value


def _converted(value: Value, given: DataType, of: DataType) -> Value:
    """The value in exactly type `of`. Raises _Unfit."""
    match of:
        case EnumType(labels):
            return _label(value, given, labels)
        case VectorType(dimensions):
            items = _items(value, given)
            if len(items) != dimensions:
                raise _Unfit(f"this has {len(items)} numbers")
            return tuple(_item(item, given, F32) for item in items)
        case ListType(item_type):
            return tuple(_item(item, given, item_type) for item in _items(value, given))
        case ScalarType():
            return _scalar(value, given, of)
        case _:
            raise _Unfit(f"{_shown(value)} is {_declared(given)}")


def _label(value: Value, given: DataType, labels: tuple[str, ...]) -> str:
    if not isinstance(value, str) or not is_text(given):
        raise _Unfit(f"{_shown(value)} is {_declared(given)}")
    if value not in labels:
        raise _Unfit(f"{_shown(value)} is none of its labels", closest(value, labels))
    return value


def _items(value: Value, given: DataType) -> tuple[Value, ...]:
    if not isinstance(value, tuple):
        raise _Unfit(f"{_shown(value)} is {_declared(given)}")
    return value


def _item(value: Value, given: DataType, of: DataType) -> Value:
    if value is None:
        return None
    inner = given.item if isinstance(given, ListType) else F32
    return _converted(value, inner, of)


def _scalar(value: Value, given: DataType, of: ScalarType) -> Value:
    if is_number(of):
        return _number(value, given, of)
    if of in (DATE, DATETIME):
        return _moment(value, given, of)
    if of == BLOB and isinstance(value, str | bytes):
        return value
    fits = isinstance(value, str) if of == STRING else isinstance(value, bool) and of == BOOL
    if not fits:
        raise _Unfit(f"{_shown(value)} is {_declared(given)}")
    return value


def _number(value: Value, given: DataType, of: ScalarType) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise _Unfit(f"{_shown(value)} is {_declared(given)}")
    if is_integer(of):
        if value != value or value in (float("inf"), float("-inf")) or value != int(value):
            raise _Unfit(f"{value} is no whole number")
        low, high = integer_range(of)
        if not low <= value <= high:
            raise _Unfit(f"{value} is outside of {low} to {high}")
        return int(value)
    assert is_float(of)
    try:
        made = float(value) if of == F64 else single(float(value))
    except OverflowError:
        made = None
    if made is None or made - made != 0:
        raise _Unfit(f"{_shown(value)} is too large for it")
    return made


def _moment(value: Value, given: DataType, of: ScalarType) -> date | datetime:
    try:
        if isinstance(value, str):
            return parse_day(value) if of == DATE else sql_instant(value)
    except ValueError as broken:
        raise _Unfit(str(broken)) from None
    if isinstance(value, datetime) and of == DATETIME:
        return value
    if isinstance(value, date) and not isinstance(value, datetime):
        return value if of == DATE else datetime.combine(value, time(), UTC)
    raise _Unfit(f"{_shown(value)} is {_declared(given)}")


def _shown(value: Value) -> str:
    text = f"'{value}'" if isinstance(value, str) else str(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _declared(of: DataType) -> str:
    text = type_text(of)
    return f"an {text}" if text[:1] in "AIaei" else f"a {text}"
