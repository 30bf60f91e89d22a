"""Values for declared parameters: JSON forms and Python's own, converted by the declared type or refused by name."""

from __future__ import annotations

import math
import operator
import re
import struct
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Final, TypeAlias, assert_never

from omnigraph_sql.base.errors import DataError, ValueOutOfRange
from omnigraph_sql.base.expr import NOW_PARAMETER, Param, Value
from omnigraph_sql.base.instants import parse_day, parse_instant, utc
from omnigraph_sql.base.types import (
    DATETIME,
    F32,
    F64,
    I64,
    STRING,
    DataType,
    DecimalType,
    EnumType,
    Kind,
    ListType,
    ScalarType,
    StructType,
    VectorType,
    integer_range,
    is_integer,
    type_text,
)
from omnigraph_sql.bind.suggest import closest

_SAFE_INTEGER: Final = 2**53 - 1
_UNSIGNED_MAX: Final = 2**63 - 1
"""Unsigned 64-bit parameters stop here, as in the reference: everything above would not survive a signed column."""
_DECIMAL_TEXT: Final = re.compile(r"-?[0-9]{1,20}")

PARAMETERS: Final = "parameters"
"""Code of a refusal that is about which values were handed over, not about what they are."""

Given: TypeAlias = "Mapping[str, object] | Sequence[object] | None"


def bind_parameters(
    params: tuple[Param, ...], values: Given, *, lenient: bool = False, javascript_safe: bool = False
) -> dict[str, Value]:
    """A typed value for every declared parameter.

    `values` is a mapping by name, or a sequence for positional parameters. A nullable parameter that is absent is null;
    any other is refused, and so is a value nobody declared, unless `lenient`, which infers its type. `javascript_safe`
    refuses integers that a JavaScript client cannot have meant exactly. Raises DataError, naming the parameter.
    """
    given = _by_name(params, values)
    declared = {param.name: param for param in params}
    # A misspelt name leaves another one missing; the misspelling is what helps.
    more = {name: value for name, value in given.items() if name not in declared}
    inferred = {name: _undeclared(name, value, declared, lenient, javascript_safe) for name, value in more.items()}
    return {**{name: _declared(param, given, javascript_safe) for name, param in declared.items()}, **inferred}


def bind_sets(params: tuple[Param, ...], sets: Sequence[Given], *, optional: bool) -> dict[str, list[Value]]:
    """Typed values of every parameter, one for each set; `optional` lets a set leave out what may be null.

    Raises DataError, naming the set, counted from 1, and the parameter.
    """
    columns: dict[str, list[object]] = {param.name: [] for param in params}
    for number, values in enumerate(sets, 1):
        if type(values) is tuple and len(values) == len(params) and all(name.isdecimal() for name in columns):
            for column, value in zip(columns.values(), values, strict=True):
                column.append(value)
            continue
        try:
            given = _by_name(params, values)
            if unknown := [name for name in given if name not in columns]:
                _undeclared(unknown[0], None, columns, False, False)
            for param in params:
                if param.name not in given and not (optional and param.nullable):
                    raise DataError(f"parameter {param.name} is missing", code=PARAMETERS)
                columns[param.name].append(given.get(param.name))
        except DataError as error:
            raise DataError(f"set {number}: {error.message}", hint=error.hint, code=error.code) from None
    return {param.name: _converted(param, columns[param.name]) for param in params}


def _converted(param: Param, values: list[object]) -> list[Value]:
    converter = _Converter(f"parameter {param.name}", False)
    made: list[Value] = []
    for value in values:
        try:
            if value is None and not param.nullable:
                raise DataError(f"parameter {param.name} is null, but declared without a question mark")
            made.append(None if value is None else converter.convert(value, param.of))
        except DataError as error:
            error.message = f"set {len(made) + 1}: {error.message}"
            raise
    return made


def _by_name(params: tuple[Param, ...], values: Given) -> Mapping[str, object]:
    if values is None:
        return {}
    if isinstance(values, Mapping):
        for name in values:
            if not isinstance(name, str):
                raise DataError(f"parameter names are strings, not {name!r}", code=PARAMETERS)
        return values
    if isinstance(values, str | bytes) or not isinstance(values, Sequence):
        raise DataError(
            f"parameters are an object of names and values, not {type(values).__name__}",
            hint="a single value is handed over as (value,)",
            code=PARAMETERS,
        )
    if not all(param.name.isdecimal() for param in params):
        names = ", ".join(param.name for param in params)
        raise DataError(
            f"these parameters have names ({names}); hand over an object, not an array",
            hint=f'in Python a dictionary, as in {{"{params[0].name}": …}}',
            code=PARAMETERS,
        )
    if len(values) != len(params):
        wanted = f"{len(params)} parameter{'' if len(params) == 1 else 's'}"
        given = f"{len(values)} value{' was' if len(values) == 1 else 's were'} given"
        raise DataError(f"the statement has {wanted}, {given}", hint="hand over one for each ?", code=PARAMETERS)
    return {param.name: value for param, value in zip(params, values, strict=True)}


def _declared(param: Param, given: Mapping[str, object], javascript_safe: bool) -> Value:
    if param.name not in given and not param.nullable:
        raise DataError(
            f"parameter {param.name} is missing", hint=f"it is declared as {type_text(param.of)}", code=PARAMETERS
        )
    value = given.get(param.name)
    if value is None:
        if param.nullable:
            return None
        raise DataError(f"parameter {param.name} is null, but declared without a question mark")
    of = STRING if param.embeds and isinstance(value, str) else param.of
    return _Converter(f"parameter {param.name}", javascript_safe).convert(value, of)


def _undeclared(name: str, value: object, declared: Iterable[str], lenient: bool, javascript_safe: bool) -> Value:
    if name == NOW_PARAMETER:
        raise DataError(f"parameter {name} is reserved", code=PARAMETERS)
    if not lenient:
        near = closest(name.removeprefix("$"), declared)
        hint = f"did you mean {near}?" if near is not None else None
        raise DataError(f"no parameter is called {name}", hint=hint, code=PARAMETERS)
    return _Converter(f"parameter {name}", javascript_safe).infer(value) if value is not None else None


class _Converter:
    """Conversions of one parameter; `owner` names it in every refusal."""

    __slots__ = ("javascript_safe", "owner")

    def __init__(self, owner: str, javascript_safe: bool) -> None:
        self.owner = owner
        self.javascript_safe = javascript_safe

    def convert(self, value: object, of: DataType) -> Value:
        match of:
            case ScalarType():
                return self._scalar(value, of)
            case EnumType():
                return self._label(value, of)
            case ListType():
                return tuple(self._item(item, of.item, i) for i, item in enumerate(self._items(value, of)))
            case VectorType():
                return self._vector(value, of)
            case DecimalType():
                return self._decimal(value, of)
            case StructType():
                raise self._unfit(value, of)
            case _:
                assert_never(of)

    def _scalar(self, value: object, of: ScalarType) -> Value:
        if is_integer(of):
            return self._integer(value, of)
        match of.kind:
            case Kind.F32 | Kind.F64:
                return self._float(value, of)
            case Kind.STRING if isinstance(value, str):
                return self._text(value)
            case Kind.BOOL if isinstance(value, bool):
                return value
            case Kind.BLOB if isinstance(value, str | bytes | bytearray | memoryview):
                return self._text(value) if isinstance(value, str) else bytes(value)
            case Kind.DATE | Kind.DATETIME:
                return self._moment(value, of)
            case Kind.TIME if isinstance(value, time):
                return value
            case Kind.ANY | Kind.NULL:
                return self.infer(value)
            case _:
                raise self._unfit(value, of)

    def _text(self, value: str) -> str:
        # JSON can spell half of a surrogate pair, which no stored text can hold.
        if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
            raise DataError(f"{self.owner}: the text holds half of a character (a lone surrogate)")
        return value

    def _integer(self, value: object, of: ScalarType) -> int:
        number = self._whole(value)
        if number is None:
            raise self._unfit(value, of)
        low, high = integer_range(of)
        high = min(high, _UNSIGNED_MAX)
        if not low <= number <= high:
            raise ValueOutOfRange(f"{self.owner}: {number} is outside {of.kind.value}, which goes from {low} to {high}")
        return number

    def _whole(self, value: object) -> int | None:
        if isinstance(value, str):
            return int(value) if _DECIMAL_TEXT.fullmatch(value) else None
        if isinstance(value, bool):
            return None
        if isinstance(value, Decimal):
            return int(value) if value.is_finite() and value == value.to_integral_value() else None
        try:
            number = operator.index(value)  # type: ignore[arg-type]
        except TypeError:
            return None
        return self._safe(number)

    def _safe(self, number: int) -> int:
        if self.javascript_safe and abs(number) > _SAFE_INTEGER:
            message = f"{self.owner}: {number} is beyond what a JavaScript number holds exactly"
            raise ValueOutOfRange(message, hint="hand it over as a string")
        return number

    def _float(self, value: object, of: ScalarType) -> float:
        if isinstance(value, bool | str | bytes):
            raise self._unfit(value, of)
        try:
            number = float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise self._unfit(value, of) from None
        except OverflowError:
            raise ValueOutOfRange(f"{self.owner}: {value} is too large for {of.kind.value}") from None
        if not math.isfinite(number):
            raise ValueOutOfRange(f"{self.owner}: {number} is not a finite number")
        if of != F32:
            return number
        try:
            return float(struct.unpack("<f", struct.pack("<f", number))[0])
        except OverflowError:
            raise ValueOutOfRange(f"{self.owner}: {number} is too large for F32") from None

    def _moment(self, value: object, of: ScalarType) -> date | datetime:
        day = of.kind is Kind.DATE
        try:
            if isinstance(value, str):
                return parse_day(value) if day else parse_instant(value)
            if isinstance(value, datetime) and not day:
                return utc(value)
        except ValueError as broken:
            raise DataError(f"{self.owner}: {broken}") from None
        # A datetime is a date to Python; cutting its time off silently would lose data.
        if day and isinstance(value, date) and not isinstance(value, datetime):
            return value
        raise self._unfit(value, of)

    def _label(self, value: object, of: EnumType) -> str:
        if not isinstance(value, str) or value not in of.labels:
            raise DataError(f"{self.owner}: {value!r} is none of the labels {', '.join(of.labels)}")
        return value

    def _decimal(self, value: object, of: DecimalType) -> Decimal:
        if isinstance(value, bool) or not isinstance(value, int | str | Decimal):
            raise self._unfit(value, of)
        try:
            number = Decimal(value)
        except ArithmeticError:
            raise self._unfit(value, of) from None
        if not number.is_finite():
            raise ValueOutOfRange(f"{self.owner}: {number} is not a finite number")
        return number

    def _items(self, value: object, of: DataType) -> Sequence[object]:
        tolist = getattr(value, "tolist", None)
        if callable(tolist):
            value = tolist()
        if isinstance(value, str | bytes) or not isinstance(value, Sequence):
            raise self._unfit(value, of)
        return value

    def _item(self, item: object, of: DataType, index: int) -> Value:
        if item is None:
            raise DataError(f"{self.owner}, element {index + 1} is null")
        return _Converter(f"{self.owner}, element {index + 1}", self.javascript_safe).convert(item, of)

    def _vector(self, value: object, of: VectorType) -> tuple[Value, ...]:
        items = self._items(value, of)
        if len(items) != of.dimensions:
            raise DataError(f"{self.owner} has {len(items)} numbers; {type_text(of)} needs {of.dimensions}")
        return tuple(self._item(item, F32, i) for i, item in enumerate(items))

    def infer(self, value: object) -> Value:
        """A value without a declared type: a scalar, or a list of scalars; an object is refused."""
        if isinstance(value, list | tuple):
            return tuple(self._inferred_item(item, i) for i, item in enumerate(value))
        return self._inferred_scalar(value)

    def _inferred_item(self, item: object, index: int) -> Value:
        of_item = _Converter(f"{self.owner}, element {index + 1}", self.javascript_safe)
        if item is None:
            raise DataError(f"{of_item.owner} is null")
        return of_item._inferred_scalar(item)

    def _inferred_scalar(self, value: object) -> Value:
        match value:
            case None | bool() | bytes() | Decimal() | time():
                return value
            case str():
                return self._text(value)
            case int():
                return self._integer(value, I64)
            case float():
                return self._float(value, F64)
            case datetime():
                return self._moment(value, DATETIME)
            case date():
                return value
            case _:
                raise DataError(f"{self.owner}: a {type(value).__name__} cannot be a parameter")

    def _unfit(self, value: object, of: DataType) -> DataError:
        shown = repr(value)
        shown = shown if len(shown) <= 60 else shown[:57] + "..."
        return DataError(f"{self.owner} is declared as {type_text(of)}; {shown} does not fit")
