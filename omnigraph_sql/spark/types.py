"""Arrow types of a graph and of Spark: what a column is called on either side, and its values on their way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base.catalog import DST, ID, SRC, TableType
from omnigraph_sql.base.errors import DataError
from omnigraph_sql.base.types import DataType, ListType, is_integer
from omnigraph_sql.engine.load.columns import whole_numbers

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

U64: Final = pa.decimal128(20, 0)
"""Spark has no unsigned numbers; this one holds them all."""
_UNSIGNED: Final = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): U64}


def spark_twin(of: pa.DataType) -> pa.DataType:
    """The Arrow type under which Spark takes values of a type. Raises DataError when it has none."""
    kinds = pa.types
    if isinstance(of, pa.BaseExtensionType):
        return pa.binary() if "blob" in of.extension_name else spark_twin(of.storage_type)
    if of in _UNSIGNED:
        return _UNSIGNED[of]
    if kinds.is_float16(of):
        return pa.float32()
    if kinds.is_large_string(of) or kinds.is_string_view(of):
        return pa.utf8()
    if kinds.is_large_binary(of) or kinds.is_fixed_size_binary(of) or kinds.is_binary_view(of):
        return pa.binary()
    if kinds.is_date64(of):
        return pa.date32()
    if kinds.is_timestamp(of):
        return pa.timestamp("us", "UTC" if of.tz else None)
    if kinds.is_time(of):
        return pa.time64("ns")
    if kinds.is_duration(of):
        return pa.duration("us")
    if kinds.is_dictionary(of):
        return spark_twin(of.value_type)
    if kinds.is_list(of) or kinds.is_large_list(of) or kinds.is_fixed_size_list(of) or kinds.is_list_view(of):
        return pa.list_(pa.field("element", spark_twin(of.value_type), True))
    if kinds.is_struct(of):
        return pa.struct([pa.field(f.name, spark_twin(f.type), f.nullable) for f in of])
    if kinds.is_interval(of) or kinds.is_decimal256(of) or kinds.is_map(of) or kinds.is_union(of):
        raise DataError(f"Spark has no type for {of}", hint="leave the column out, or cast it to String")
    return of


def spark_schema(schema: pa.Schema) -> StructType:
    """The columns as Spark declares them. All of them may be null there: Spark plans wrongly on what it believes."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(pa.schema([pa.field(f.name, spark_twin(f.type), True) for f in schema]))


def arrow_of(schema: StructType) -> pa.Schema:
    """What batches of these columns have to look like for Spark."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(schema, timezone="UTC")


def to_spark(batch: pa.RecordBatch, wanted: pa.Schema) -> pa.RecordBatch:
    """The batch in exactly the types Spark wants; no value changes."""
    if batch.schema == wanted:
        return batch
    columns = [_turned(batch.column(place), wanted.field(place).type) for place in range(len(wanted))]
    return pa.RecordBatch.from_arrays(columns, schema=wanted)


def _turned(values: pa.Array, of: pa.DataType) -> pa.Array:
    if values.type == of:
        return values
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_uint64(values.type):
        # Arrow casts no unsigned number to a decimal in one step that holds them all.
        return values.cast(pa.utf8()).cast(of)
    if pa.types.is_list(of) and pa.types.is_nested(values.type):
        return _list(values, of)
    return values.cast(of)


def _list(values: pa.Array, of: pa.DataType) -> pa.Array:
    lists = values.cast(pa.list_(pa.field("element", values.type.value_type)))
    if lists.offset:
        lists = pa.concat_arrays([lists])
    first, last = lists.offsets[0].as_py(), lists.offsets[-1].as_py()
    items = _turned(lists.values.slice(first, last - first), of.value_type)
    mask = lists.is_null() if lists.null_count else None
    return pa.ListArray.from_arrays(pc.subtract(lists.offsets, first), items, type=of, mask=mask)


def from_spark(batch: pa.RecordBatch, table: TableType) -> pa.RecordBatch:
    """Columns named as those of a table, with whole numbers where Spark had to write decimals. Others stay."""
    columns = []
    for name, values in zip(batch.schema.names, batch.columns, strict=True):
        column = table.column(name)
        whole = column is not None and (name in (ID, SRC, DST) or _whole(column.type))
        columns.append(_undecimal(values) if whole else values)
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _whole(of: DataType) -> bool:
    return is_integer(of) or (isinstance(of, ListType) and is_integer(of.item))


def _undecimal(values: pa.Array) -> pa.Array:
    """Decimals without a fraction as whole numbers, where these hold them all; the loader decides whether they fit."""
    if not pa.types.is_list(values.type):
        return whole_numbers(values)
    if not pa.types.is_decimal(values.type.value_type):
        return values
    items = whole_numbers(values.flatten())
    offsets = pc.subtract(values.offsets, values.offsets[0])
    mask = values.is_null() if values.null_count else None
    return pa.ListArray.from_arrays(offsets, items, mask=mask)
