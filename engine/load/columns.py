"""Values as they were read → exactly the column's type, or a refusal. No value changes and none becomes null."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Final, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base.errors import DataError, ValueOutOfRange
from omnigraph_sql.base.instants import parse_day, parse_instant
from omnigraph_sql.base.types import (
    BLOB,
    BOOL,
    DATE,
    DATETIME,
    F32,
    F64,
    STRING,
    DataType,
    DecimalType,
    EnumType,
    ListType,
    ScalarType,
    StructType,
    VectorType,
    arrow_type,
    integer_range,
    is_integer,
    type_text,
)
from omnigraph_sql.engine.load.shapes import raw_type, shaped
from omnigraph_sql.engine.load.values import Spelling

_DAY: Final = r"^[12]\d{3}-\d{2}-\d{2}$"
_INSTANT: Final = (
    r"^(?:19|20|21)\d{2}-\d{2}-\d{2}[T ](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d"
    r"(?:\.\d{1,6})?(?:Z|[+-](?:0\d|1[0-4]):[0-5]\d)$"
)
"""Texts that Arrow reads as `parse_instant` does; any other is left to that."""
_WHOLE: Final = r"^-?\d{1,20}$"
_BASE64: Final = "base64:"
_SHOWN_CHARACTERS_MAX: Final = 60

_Test = Callable[[pa.DataType], bool]
_TEXTS: Final = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
_BYTES: Final = (
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_fixed_size_binary,
    pa.types.is_binary_view,
)
_LISTS: Final = (
    pa.types.is_list,
    pa.types.is_large_list,
    pa.types.is_fixed_size_list,
    pa.types.is_list_view,
    pa.types.is_large_list_view,
)

_FAMILIES: Final[tuple[tuple[tuple[_Test, ...], str], ...]] = (
    (_TEXTS, "string"),
    (_BYTES, "binary"),
    (_LISTS, "list"),
    ((pa.types.is_integer,), "int64"),
    ((pa.types.is_floating,), "double"),
    ((pa.types.is_timestamp,), "timestamp"),
    ((pa.types.is_date,), "date"),
)
_RANGE: Final = re.compile(r"not in range: .*")


def is_text_array(of: pa.DataType) -> bool:
    return any(test(of) for test in _TEXTS)


def converted(values: pa.Array, of: DataType, spelling: Spelling) -> pa.Array:
    """The values in the Arrow type of `of`. Raises ValueOutOfRange or DataError, which name no row."""
    plain = whole_numbers(_plain(values))
    wanted = arrow_type(of)
    if plain.type == wanted:
        return plain
    if pa.types.is_null(plain.type):
        return pa.nulls(len(plain), wanted)
    if spelling is not Spelling.TYPED and is_text_array(plain.type):
        return _from_text(plain.cast(pa.utf8()), of, spelling)
    try:
        return _from_typed(plain, of, spelling)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, OverflowError) as error:
        raise ValueOutOfRange(f"{_first_shown(plain)} does not fit {type_text(of)}: {_reason(error, of)}") from error


def _plain(values: pa.Array) -> pa.Array:
    """Without a dictionary or an extension around the values."""
    if isinstance(values, pa.ExtensionArray):
        return _plain(values.storage)
    if pa.types.is_dictionary(values.type):
        return values.dictionary_decode()
    return values


def whole_numbers(values: pa.Array) -> pa.Array:
    """Decimals without a fraction as integers, where one type of these holds them all; anything else as it is."""
    if not pa.types.is_decimal(values.type) or values.type.scale != 0:
        return values
    texts = values.cast(pa.utf8())
    for wanted in (pa.int64(), pa.uint64()):
        with suppress(pa.ArrowInvalid):
            return texts.cast(wanted)
    return values


def _reason(error: BaseException, of: DataType) -> str:
    text = str(error).strip().partition("\n")[0] or "it is of another type"
    if isinstance(of, ScalarType) and is_integer(of):
        # Arrow names the range that both types have.
        low, high = integer_range(of)
        text = _RANGE.sub(f"not in range: {low} to {high}", text)
    return text[:1].lower() + text[1:]


def _first_shown(values: pa.Array) -> str:
    """The value, once the rows are narrowed down to one."""
    if len(values) != 1:
        return "a value"
    try:
        whole = values.cast(pa.timestamp("us", "UTC")) if getattr(values.type, "tz", None) else values
        shown = repr(whole[0].as_py()) if whole[0].is_valid else "null"
    except (ValueError, OverflowError):
        return "a value"
    return shown if len(shown) <= _SHOWN_CHARACTERS_MAX else shown[: _SHOWN_CHARACTERS_MAX - 3] + "..."


# ---- values that have a type ------------------------------------------------------------------------------------


def _from_typed(values: pa.Array, of: DataType, spelling: Spelling) -> pa.Array:
    match of:
        case ScalarType():
            return _scalars(values, of)
        case EnumType():
            return _cast(values, of, _TEXTS)
        case ListType(item):
            return _lists(values, of, lambda items: converted(items, item, spelling))
        case VectorType():
            return _vectors(values, of)
        case DecimalType() | StructType():
            raise _unfit(values, of)
        case _:
            assert_never(of)


def _scalars(values: pa.Array, of: ScalarType) -> pa.Array:
    if of == STRING:
        return _cast(values, of, _TEXTS)
    if of == BOOL:
        return _cast(values, of, (pa.types.is_boolean,))
    if of in (F32, F64):
        return _floats(values, of)
    if of == DATE:
        return _cast(values, of, (pa.types.is_date,))
    if of == DATETIME:
        return _cast(values, of, (pa.types.is_timestamp,))
    if of == BLOB:
        return _cast(values, of, _BYTES)
    return _cast(values, of, (pa.types.is_integer,))


def _cast(values: pa.Array, of: DataType, families: tuple[_Test, ...]) -> pa.Array:
    if not any(test(values.type) for test in families):
        raise _unfit(values, of)
    return values.cast(arrow_type(of))


def _unfit(values: pa.Array, of: DataType) -> DataError:
    return DataError(f"{_first_shown(values)} ({_family(values.type)}) is no {type_text(of)}")


def _family(of: pa.DataType) -> str:
    """What a type is called in a refusal, which no other width, unit or time zone would have avoided."""
    for tests, name in _FAMILIES:
        if any(test(of) for test in tests):
            return name
    return str(of)


def _floats(values: pa.Array, of: DataType) -> pa.Array:
    made = _cast(values, of, (pa.types.is_integer, pa.types.is_floating))
    if of == F32 and pa.types.is_floating(values.type):
        lost = pc.and_(pc.is_inf(made), pc.is_finite(values))
        if pc.any(lost).as_py():
            raise ValueOutOfRange(f"{_first_shown(values)} is too large for F32")
    return made


def _lists(values: pa.Array, of: DataType, convert: Callable[[pa.Array], pa.Array]) -> pa.Array:
    if not any(test(values.type) for test in _LISTS):
        raise _unfit(values, of)
    plain = values.cast(pa.list_(values.type.value_type))
    if plain.offset:
        plain = pa.concat_arrays([plain])
    first, last = plain.offsets[0].as_py(), plain.offsets[-1].as_py()
    offsets = pc.subtract(plain.offsets, first)
    # The engine refuses texts that begin behind the first place and are none.
    items = convert(plain.values.slice(first, last - first) if last > first else pa.array([], plain.values.type))
    return pa.ListArray.from_arrays(
        offsets, items, type=pa.list_(pa.field("item", items.type)), mask=plain.is_null() if plain.null_count else None
    )


def _vectors(values: pa.Array, of: VectorType) -> pa.Array:
    lists = _lists(values, of, lambda items: converted(items, F32, Spelling.TYPED))
    lengths = pc.list_value_length(lists)
    wrong = pc.fill_null(pc.not_equal(lengths, of.dimensions), False)
    if pc.any(wrong).as_py():
        found = lengths.filter(wrong)[0].as_py()
        raise ValueOutOfRange(f"the vector has {found} numbers; {type_text(of)} needs {of.dimensions}")
    if lists.null_count == len(lists):
        # Arrow's own cast reads the numbers of a null, and of columns that came over a pipe there may be none.
        return pa.nulls(len(lists), arrow_type(of))
    if not lists.null_count:
        return pa.FixedSizeListArray.from_arrays(lists.flatten(), type=arrow_type(of))
    return lists.cast(arrow_type(of))


# ---- values that are text ---------------------------------------------------------------------------------------


def _from_text(texts: pa.Array, of: DataType, spelling: Spelling) -> pa.Array:
    if of == STRING or isinstance(of, EnumType):
        return texts
    if of == DATE:
        return _days(texts)
    if of == DATETIME:
        return _instants(texts)
    if of == BLOB:
        return _each(texts, _blob, pa.large_binary())
    if spelling is Spelling.JSON:
        raise DataError(f"{_first_shown(texts)} is a text, not {type_text(of)}")
    if isinstance(of, ListType | VectorType):
        return converted(_each(texts, lambda text: _json_list(text, of), raw_type(of)), of, Spelling.JSON)
    if of == BOOL:
        return _each(texts, _truth, pa.bool_())
    return _numbers(texts, of)


def _each(texts: pa.Array, read: Callable[[str], object], of: pa.DataType) -> pa.Array:
    return pa.array([None if text is None else read(text) for text in texts.to_pylist()], of)


def _days(texts: pa.Array) -> pa.Array:
    if pc.all(pc.match_substring_regex(texts, _DAY)).as_py() is not False:
        try:
            return texts.cast(pa.date32())
        except pa.ArrowInvalid:
            pass  # the slow way says why
    return _each(texts, _reading(parse_day), pa.date32())


def _instants(texts: pa.Array) -> pa.Array:
    of = arrow_type(DATETIME)
    if pc.all(pc.match_substring_regex(texts, _INSTANT)).as_py() is not False:
        try:
            return texts.cast(of)
        except pa.ArrowInvalid:
            pass  # the slow way says why
    return _each(texts, _reading(parse_instant), of)


def _reading(parse: Callable[[str], object]) -> Callable[[str], object]:
    def read(text: str) -> object:
        try:
            return parse(text)
        except ValueError as error:
            raise DataError(str(error)) from None

    return read


def _blob(text: str) -> bytes:
    if not text.startswith(_BASE64):
        raise DataError("a blob is written as base64:… here", hint="links to other files are not followed")
    try:
        return base64.b64decode(text[len(_BASE64) :], validate=True)
    except (binascii.Error, ValueError):
        raise DataError("the text after base64: is not base64") from None


def _truth(text: str) -> bool:
    match text.casefold():
        case "true":
            return True
        case "false":
            return False
        case _:
            raise DataError(f"{text!r} is neither true nor false")


def _json_list(text: str, of: ListType | VectorType) -> object:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise DataError(f"a {type_text(of)} is written as a JSON array here") from None
    return shaped(found, of)


def _numbers(texts: pa.Array, of: DataType) -> pa.Array:
    # Arrow also reads hexadecimal digits.
    if is_integer(of) and pc.all(pc.match_substring_regex(texts, _WHOLE)).as_py() is False:
        raise DataError(f"{_first_shown(texts)} is no {type_text(of)}")
    try:
        if of == F32:
            return _floats(texts.cast(pa.float64()), F32)
        return texts.cast(arrow_type(of))
    except pa.ArrowInvalid as error:
        if is_integer(of):
            raise ValueOutOfRange(f"{_first_shown(texts)} is outside {type_text(of)}") from error
        raise DataError(f"{_first_shown(texts)} is no {type_text(of)}") from error
