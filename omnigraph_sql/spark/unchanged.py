"""Rows of a merge that the graph holds already, value by value: left out, so that merging again changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from omnigraph_sql.base.catalog import ID
from omnigraph_sql.engine.values import Snapshot, TableIdentity
from omnigraph_sql.spark.loose import LooseTable, Tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def drop_unchanged(rows: Tables, base: Snapshot, table: LooseTable) -> int:
    """Leave such rows out of a table; how many they were. Only digests of rows are brought together."""
    pin = base.pin(TableIdentity.of(table.type))
    if table.fresh or not table.rows or pin is None or not pin.row_count:
        return 0
    same = rows.digests(table).join(rows.committed_digests(table.type), [ID, "d1", "d2"], "left_semi")
    return drop_rows(table, same.select("f", "o"))


def drop_rows(table: LooseTable, gone: DataFrame) -> int:
    """Leave the rows at the places `o` in the files `f` out of a table; how many they are."""
    by_file = gone.groupBy("f").agg({"o": "collect_list"}).withColumnRenamed("collect_list(o)", "o")
    dropped = 0
    for row in by_file.mapInArrow(_packed, "f bigint, o binary").collect():
        places = np.frombuffer(bytes(row["o"]), np.uint32).astype(np.int64)
        table.drop(row["f"], places)
        dropped += len(places)
    return dropped


def _packed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Places in a file as four bytes each."""
    for batch in batches:
        packed = [places.values.to_numpy().astype(np.uint32).tobytes() for places in batch["o"]]
        yield pa.RecordBatch.from_arrays([batch["f"], pa.array(packed, pa.binary())], names=["f", "o"])
