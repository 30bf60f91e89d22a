"""SQL column types → property types."""

from __future__ import annotations

import re
from typing import Final

from sqlglot import exp

from omnigraph_sql.base import limits
from omnigraph_sql.base.types import (
    BLOB,
    BOOL,
    DATE,
    DATETIME,
    F32,
    F64,
    I32,
    I64,
    STORABLE,
    STRING,
    U32,
    U64,
    DataType,
    EnumType,
    ListType,
    ScalarType,
    VectorType,
    type_text,
)

D = exp.DType

# Lengths, as in VARCHAR(20), are not kept: a String has no length. Narrow integers are stored wider.
_SCALARS: Final[dict[exp.DType, ScalarType]] = {
    **dict.fromkeys((D.TEXT, D.VARCHAR, D.CHAR, D.NCHAR, D.NVARCHAR, D.BPCHAR, D.LONGTEXT, D.MEDIUMTEXT), STRING),
    D.BOOLEAN: BOOL,
    **dict.fromkeys((D.TINYINT, D.SMALLINT, D.INT), I32),
    D.BIGINT: I64,
    **dict.fromkeys((D.UTINYINT, D.USMALLINT, D.UINT), U32),
    D.UBIGINT: U64,
    D.FLOAT: F32,
    D.DOUBLE: F64,
    D.DATE: DATE,
    **dict.fromkeys((D.TIMESTAMP, D.TIMESTAMPTZ, D.TIMESTAMPLTZ, D.TIMESTAMPNTZ, D.DATETIME), DATETIME),
    **dict.fromkeys((D.BLOB, D.BINARY, D.VARBINARY, D.LONGBLOB), BLOB),
}

_WORDS: Final[dict[str, ScalarType]] = {
    **{of.kind.value.casefold(): of for of in STORABLE},
    "uint32": U32,
    "uinteger": U32,
    "uint64": U64,
    "ubigint": U64,
    "int32": I32,
    "int64": I64,
    "float32": F32,
    "float64": F64,
}

_INSTEAD: Final[dict[exp.DType, str]] = {
    D.DECIMAL: "store whole units in BIGINT, or use DOUBLE",
    D.DECIMAL32: "store whole units in BIGINT, or use DOUBLE",
    D.DECIMAL64: "store whole units in BIGINT, or use DOUBLE",
    D.MONEY: "store cents in BIGINT",
    D.TIME: "store seconds in INT, or a full TIMESTAMP",
    D.TIMETZ: "store seconds in INT, or a full TIMESTAMP",
    D.INTERVAL: "store seconds in BIGINT",
    D.JSON: "store the JSON text in TEXT, or make columns or an edge table of its parts",
    D.JSONB: "store the JSON text in TEXT, or make columns or an edge table of its parts",
    D.UUID: "use TEXT",
    D.STRUCT: "make a column of each field, or a node table of its own",
    D.MAP: "make a node table of the entries and an edge table to them",
    D.INT128: "use BIGINT, or TEXT",
    D.UINT128: "use UBIGINT, or TEXT",
}

_LISTED: Final = (
    "TEXT, BOOLEAN, INT, BIGINT, UINT, UBIGINT, REAL, DOUBLE, DATE, TIMESTAMP, BLOB, "
    "a list such as TEXT[], VECTOR(n) or ENUM('a', 'b')"
)
_LABEL: Final = re.compile(r"[A-Za-z0-9_-]+")


class Unstorable(Exception):
    """A column type no property can have; the caller knows the place."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def property_type(of: exp.DataType) -> DataType:
    """The type a property declared with `of` has. Raises Unstorable."""
    kind = of.this
    if kind in _SCALARS:
        return _SCALARS[kind]
    if kind == D.USERDEFINED:
        return _by_word(of)
    if kind in (D.ARRAY, D.LIST):
        return _list(of)
    if kind == D.VECTOR:
        return _vector(of, of.expressions[-1].this if of.expressions else None)
    if kind in (D.ENUM, D.ENUM8, D.ENUM16):
        return enum_type([_label(item, of) for item in of.expressions])
    raise _refused(of, _INSTEAD.get(kind, f"a column is one of {_LISTED}"))


def enum_type(labels: list[str]) -> EnumType:
    """Labels in any order; raises Unstorable when there are none or one comes twice."""
    if not labels:
        raise Unstorable("an enum has at least one label", "write ENUM('first', 'second')")
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise Unstorable(f"the label '{twice}' is written twice", "write every label once")
    odd = next((label for label in labels if not _LABEL.fullmatch(label)), None)
    if odd is not None:
        raise Unstorable(f"'{odd}' is no enum label", "labels are made of letters, digits, '_' and '-'; or use TEXT")
    return EnumType(tuple(sorted(labels)))


def _by_word(of: exp.DataType) -> DataType:
    word = of.args.get("kind")
    text = word.name if isinstance(word, exp.Identifier) else str(word or "")
    found = _WORDS.get(text.casefold())
    if found is None:
        raise Unstorable(f"'{text}' is no type", f"a column is one of {_LISTED}")
    return found


def _list(of: exp.DataType) -> DataType:
    item = of.expressions[0] if of.expressions else None
    if not isinstance(item, exp.DataType):
        raise _refused(of, "say what the list holds, as in TEXT[]")
    inner = property_type(item)
    size = of.args.get("values")
    if size:
        if inner not in (F32, F64):
            raise _refused(of, f"only vectors have a fixed length; write {item.sql()}[] or FLOAT[n]")
        return _vector(of, size[0])
    if not isinstance(inner, ScalarType) or inner == BLOB:
        raise Unstorable(
            f"a list cannot hold {type_text(inner)}", "lists hold text, booleans, numbers, dates and timestamps"
        )
    return ListType(inner)


def _vector(of: exp.DataType, size: object) -> VectorType:
    number = size.name if isinstance(size, exp.Literal) and not size.is_string else ""
    if not number.isdigit():
        raise _refused(of, "say how many numbers it has, as in VECTOR(384)")
    # Very long digit strings are refused here, before they become a number.
    if len(number) > 10 or not 1 <= int(number) <= limits.VECTOR_DIMENSIONS_MAX:
        raise Unstorable(f"a vector has 1 to {limits.VECTOR_DIMENSIONS_MAX} dimensions", "choose another length")
    return VectorType(int(number))


def _label(item: exp.Expr, of: exp.DataType) -> str:
    if not isinstance(item, exp.Literal) or not item.is_string:
        raise _refused(of, "enum labels are strings, as in ENUM('first', 'second')")
    return str(item.this)


def _refused(of: exp.DataType, hint: str) -> Unstorable:
    return Unstorable(f"a column cannot have the type {of.sql().upper()}", hint)
