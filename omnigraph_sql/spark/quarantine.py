"""Refused rows, kept: what they held, and a folder of Parquet with all of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from omnigraph_sql.engine.store.foreign import loose_rows
from omnigraph_sql.foreign import PinnedTables
from omnigraph_sql.spark.loose import LooseTable
from omnigraph_sql.spark.report import Refusal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def with_data(base: PinnedTables, tables: Mapping[str, LooseTable], refused: Sequence[Refusal]) -> list[Refusal]:
    """The refusals with their rows as JSON; each `order` is (file, place in it)."""
    wanted: dict[tuple[str, int], set[int]] = {}
    for one in refused:
        wanted.setdefault((one.table or "", one.order[0]), set()).add(one.order[1])
    found: dict[tuple[str, int, int], str] = {}
    for (key, file), places in wanted.items():
        table = tables[key]
        start = 0
        for batch in loose_rows(base.tables, base.pin(table.type), table.files[file].text, None):
            here = sorted(place for place in places if start <= place < start + batch.num_rows)
            rows = batch.take(pa.array([place - start for place in here], pa.int64())).to_pylist() if here else []
            for place, row in zip(here, rows, strict=True):
                found[key, file, place] = json.dumps(row, default=str, ensure_ascii=False)
            start += batch.num_rows
    return [replace(one, data=found.get((one.table or "", one.order[0], one.order[1]), "")) for one in refused]


def write_quarantine(spark: SparkSession, folder: str, load_id: str, refused: Sequence[Refusal]) -> None:
    """Add the refused rows of a load to a folder of Parquet."""
    table = pa.table(
        {
            "load": pa.array([load_id] * len(refused), pa.utf8()),
            "type": pa.array([r.table for r in refused], pa.utf8()),
            "file": pa.array([r.file for r in refused], pa.utf8()),
            "row": pa.array([r.row for r in refused], pa.int64()),
            "rule": pa.array([r.rule for r in refused], pa.utf8()),
            "reason": pa.array([r.reason for r in refused], pa.utf8()),
            "data": pa.array([r.data for r in refused], pa.utf8()),
        }
    )
    spark.createDataFrame(table).coalesce(1).write.mode("append").parquet(folder)
