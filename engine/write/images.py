"""Row images: values on their way into a table's full schema, with the ids that follow from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base.catalog import DST, ID, SRC, EdgeType, Property, TableType
from omnigraph_sql.base.errors import ConstraintViolation, ValueOutOfRange
from omnigraph_sql.base.identity import canonical_text, derive_edge_id, derive_id, key_members
from omnigraph_sql.base.seams import IdSource
from omnigraph_sql.base.types import BOOL, DATE, DATETIME, STRING, DataType, EnumType, is_integer, type_text
from omnigraph_sql.engine.store.tables import table_schema

_ESCAPED: Final = '["\\\\\\x00-\\x1f]'
"""What JSON writes differently inside a text."""


def images(of: TableType, given: Mapping[str, pa.Array], rows: int, ids: IdSource) -> tuple[pa.Table, bool]:
    """Rows of `of` from some of its columns; what is not given is null. Also whether all ids are fresh.

    Raises ValueOutOfRange for a value its column cannot hold, ConstraintViolation for a null in the key.
    """
    schema = table_schema(of)
    columns: dict[str, pa.Array] = {}
    for field in schema:
        if field.name == ID:
            continue
        if field.name in given:
            columns[field.name] = fitted(given[field.name], field, of)
        else:
            columns[field.name] = pa.nulls(rows, field.type)
    own, fresh = _ids(of, given, columns, rows, ids)
    arrays = [own if name == ID else columns[name] for name in schema.names]
    return pa.Table.from_arrays(arrays, schema=schema), fresh


def fitted(values: pa.Array | pa.ChunkedArray, field: pa.Field, of: TableType) -> pa.Array:
    """The values in exactly the column's type. Raises ValueOutOfRange."""
    whole = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if isinstance(whole, pa.ChunkedArray):
        whole = pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], whole.type)
    if whole.type == field.type:
        return whole
    try:
        if pa.types.is_fixed_size_list(field.type):
            return _vectors(whole, field.type)
        return whole.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        column = of.column(field.name)
        shown = type_text(column.type) if column is not None else str(field.type)
        raise ValueOutOfRange(f"{of.name}.{field.name} is {shown}: {_reason(error)}") from error


def _vectors(values: pa.Array, of: pa.DataType) -> pa.Array:
    if values.null_count == len(values):
        # Arrow's own cast reads the numbers of a null, and of columns from elsewhere there may be none.
        return pa.nulls(len(values), of)
    items = values.cast(pa.list_(pa.field("item", pa.float32())))
    for length in pc.unique(pc.list_value_length(items)).to_pylist():
        if length is not None and length != of.list_size:
            raise pa.ArrowInvalid(f"a list of {length} does not fit")
    return items.cast(of)


def _reason(error: Exception) -> str:
    text = str(error).strip().splitlines()[0] if str(error).strip() else "it does not fit"
    return text[:1].lower() + text[1:]


def _ids(
    of: TableType, given: Mapping[str, pa.Array], columns: Mapping[str, pa.Array], rows: int, ids: IdSource
) -> tuple[pa.Array, bool]:
    if of.key:
        return derived_ids(of, columns, rows), False
    if ID in given:
        own = fitted(given[ID], pa.field(ID, pa.utf8()), of)
        if own.null_count:
            own = pc.coalesce(own, ids.ulids(rows))
        return own, False
    return ids.ulids(rows), True


def derived_ids(of: TableType, columns: Mapping[str, pa.Array], rows: int) -> pa.Array:
    """Ids that follow from the key. Raises ConstraintViolation for a null member."""
    for name in of.key:
        if columns[name].null_count:
            raise ConstraintViolation(
                f"{of.name}.{name} belongs to the key and cannot be null",
                rule="not null",
                type=of.name,
                properties=(name,),
            )
    members = key_members(of)
    texts = [canonical_column(columns[p.name], p.type) for p in members]
    if isinstance(of, EdgeType):
        return _edge_ids(members, columns, rows, texts)
    if len(members) == 1:
        return texts[0]
    joined = _joined(texts)
    if joined is not None:
        return joined
    values = [column_values(columns[p.name]) for p in members]
    made = [derive_id(list(zip(members, row, strict=True))) for row in zip(*values, strict=True)]
    return pa.array(made, pa.utf8())


def canonical_column(values: pa.Array, of: DataType) -> pa.Array:
    """The one spelling of every key value, as `canonical_text` has it; nulls stay. Raises ValueOutOfRange."""
    if of == STRING or isinstance(of, EnumType):
        return values
    if of == DATE:
        return values.cast(pa.int32()).cast(pa.utf8())
    if of == DATETIME:
        return values.cast(pa.int64()).cast(pa.utf8())
    if of == BOOL or is_integer(of):
        return values.cast(pa.utf8())
    return pa.array([None if v is None else canonical_text(v, of) for v in values.to_pylist()], pa.utf8())


def _joined(texts: Sequence[pa.Array]) -> pa.Array | None:
    """Texts as JSON arrays, one per row; None when one of them has to be escaped."""
    if any(pc.any(pc.match_substring_regex(text, _ESCAPED)).as_py() for text in texts):
        return None
    inside = pc.binary_join_element_wise(*texts, '","')
    return pc.binary_join_element_wise('["', inside, '"]', "")


def _edge_ids(
    members: Sequence[Property], columns: Mapping[str, pa.Array], rows: int, texts: Sequence[pa.Array]
) -> pa.Array:
    joined = _joined([columns[SRC], columns[DST], *texts])
    if joined is not None:
        return joined
    values = [column_values(columns[p.name]) for p in members]
    ends = zip(columns[SRC].to_pylist(), columns[DST].to_pylist(), strict=True)
    others = zip(*values, strict=True) if values else iter([()] * rows)
    pairs = zip(ends, others, strict=True)
    made = [derive_edge_id(s, d, list(zip(members, row, strict=True))) for (s, d), row in pairs]
    return pa.array(made, pa.utf8())


def column_values(column: pa.Array) -> list[object]:
    """Python values; instants as microseconds since 1970, which years beyond Python's own can have too."""
    if pa.types.is_timestamp(column.type):
        return list(column.cast(pa.int64()).to_pylist())
    if pa.types.is_date32(column.type):
        return list(column.cast(pa.int32()).to_pylist())
    return list(column.to_pylist())
