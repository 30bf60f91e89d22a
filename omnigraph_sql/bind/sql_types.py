"""SQL type names → the types of expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot import exp

from omnigraph_sql.base import limits
from omnigraph_sql.base.types import (
    BLOB,
    BOOL,
    DATE,
    DATETIME,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    INTERVAL,
    NULL,
    STRING,
    TIME,
    U8,
    U16,
    U32,
    U64,
    DataType,
    DecimalType,
    EnumType,
    ListType,
    StructType,
    VectorType,
    type_text,
)

if TYPE_CHECKING:
    from omnigraph_sql.bind.sql_binder import SqlBinder

_SCALARS: Final[dict[str, DataType]] = {
    **dict.fromkeys(("TEXT", "VARCHAR", "CHAR", "NCHAR", "NVARCHAR", "BPCHAR", "NAME", "UUID"), STRING),
    "BOOLEAN": BOOL,
    "TINYINT": I8,
    "SMALLINT": I16,
    "INT": I32,
    "MEDIUMINT": I32,
    "BIGINT": I64,
    "UTINYINT": U8,
    "USMALLINT": U16,
    "UINT": U32,
    "UBIGINT": U64,
    "FLOAT": F32,
    "DOUBLE": F64,
    "DATE": DATE,
    "DATE32": DATE,
    "TIME": TIME,
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMPNTZ", "TIMESTAMPLTZ", "DATETIME", "DATETIME2"), DATETIME),
    **dict.fromkeys(("TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), DATETIME),
    "INTERVAL": INTERVAL,
    **dict.fromkeys(("BLOB", "BINARY", "VARBINARY", "BYTEA", "LONGBLOB", "MEDIUMBLOB", "TINYBLOB"), BLOB),
    "NULL": NULL,
}
_OWN: Final[dict[str, DataType]] = {
    "string": STRING,
    "bool": BOOL,
    "i8": I8,
    "i16": I16,
    "i32": I32,
    "i64": I64,
    "u8": U8,
    "u16": U16,
    "u32": U32,
    "u64": U64,
    "uint8": U8,
    "uint16": U16,
    "uint32": U32,
    "uint64": U64,
    "f32": F32,
    "f64": F64,
    "datetime": DATETIME,
}
_PRECISION, _SCALE, _PRECISION_MAX = 18, 3, 38


def declared(of: DataType) -> str:
    """A type with its article, for messages."""
    text = type_text(of)
    return "null" if of == NULL else f"{'an' if text[:1] in 'AEFIei' else 'a'} {text}"


def sql_type(binder: SqlBinder, node: exp.Expr, at: exp.Expr | None = None) -> DataType:
    """The type a CAST or a column definition names; refuses what expressions cannot hold.

    Types leave no trace in a tree, so `at` tells errors where to point.
    """
    at = at or node
    if not isinstance(node, exp.DataType):
        binder.refuse_node(node)
    kind = node.this.name if hasattr(node.this, "name") else str(node.this)
    if kind in _SCALARS:
        return _SCALARS[kind]
    if kind in ("DECIMAL", "BIGDECIMAL", "DECIMAL128"):
        return _decimal(binder, node, at)
    if kind in ("ARRAY", "LIST"):
        return _list(binder, node, at)
    if kind == "VECTOR":
        return _vector(binder, at, node.expressions[-1:])
    if kind == "ENUM":
        labels = tuple(sorted({e.name for e in node.expressions}))
        return EnumType(labels) if labels else STRING
    if kind == "STRUCT":
        return StructType(tuple((f.name, sql_type(binder, _kind(f), at)) for f in node.expressions))
    written = str(node.args.get("kind") or node.sql()).strip('"').casefold()
    if written in _OWN:
        return _OWN[written]
    if written.startswith("vector"):
        return _vector(binder, at, node.expressions[-1:])
    raise binder.unknown("type", written.upper(), at, [*(k.lower() for k in _SCALARS), *_OWN])


def _kind(field: exp.Expr) -> exp.Expr:
    found = field.args.get("kind") or field.args.get("to") or field.this
    return found if isinstance(found, exp.Expr) else field


def _number(node: exp.Expr | None) -> int | None:
    inner = node.this if isinstance(node, exp.DataTypeParam) else node
    text = inner.name if isinstance(inner, exp.Expr) else ""
    return int(text) if text.isdecimal() and len(text) <= 10 else None


def _decimal(binder: SqlBinder, node: exp.DataType, at: exp.Expr) -> DataType:
    sizes = [_number(e) for e in node.expressions]
    if None in sizes or len(sizes) > 2:
        raise binder.mismatch("DECIMAL takes a precision and a scale", at)
    precision = sizes[0] if sizes and sizes[0] is not None else _PRECISION
    scale = sizes[1] if len(sizes) > 1 and sizes[1] is not None else 0 if sizes else _SCALE
    if not 1 <= precision <= _PRECISION_MAX or scale > precision:
        raise binder.mismatch(f"DECIMAL({precision}, {scale}) is out of range: at most {_PRECISION_MAX} digits", at)
    return DecimalType(precision, scale)


def _list(binder: SqlBinder, node: exp.DataType, at: exp.Expr) -> DataType:
    if not node.expressions:
        raise binder.mismatch("a list type names the type of its items, as in INTEGER[]", at)
    item = sql_type(binder, node.expressions[0], at)
    if node.args.get("values") and item == F32:
        return _vector(binder, at, node.args["values"][:1])
    return ListType(item)


def _vector(binder: SqlBinder, at: exp.Expr, sizes: list[exp.Expr]) -> DataType:
    width = _number(sizes[0]) if sizes else None
    if width is None or not 1 <= width <= limits.VECTOR_DIMENSIONS_MAX:
        raise binder.mismatch("a vector type names its number of dimensions, as in VECTOR(384)", at)
    return VectorType(width)
