"""Parquet files that tasks open themselves: how row groups are shared out, and the graphs and refusals they make."""

from __future__ import annotations

import random
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import omnigraph_sql as og
from omnigraph_sql.base.errors import DataError, StorageError
from omnigraph_sql.engine.load.parquet_files import Footer, read_footer
from omnigraph_sql.spark.loading import load
from omnigraph_sql.spark.shares import (
    SHARE_BYTES,
    SHARE_BYTES_MAX,
    SHARE_BYTES_MIN,
    ParquetShares,
    Part,
    share_bytes,
    shared,
    shares_of,
)
from tests.spark.air import content

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "node A { k: I32 @key  name: String?  w: I64? }"


@pytest.fixture
def graphs(tmp_path: Path) -> tuple[og.Graph, og.Graph]:
    return tuple(og.init(tmp_path / f"{name}.omni", schema=SCHEMA) for name in ("near", "far"))  # type: ignore[return-value]


def footer(*groups: tuple[int, int]) -> Footer:
    return Footer(("k",), tuple(rows for rows, _ in groups), tuple(size for _, size in groups))


@pytest.mark.parametrize(
    ("total", "size"),
    [
        (0, SHARE_BYTES_MIN),
        (16 * SHARE_BYTES_MIN, SHARE_BYTES_MIN),
        (16 * SHARE_BYTES_MIN + 16, SHARE_BYTES_MIN + 1),
        (16 * SHARE_BYTES, SHARE_BYTES),
        (16 * SHARE_BYTES + 16, SHARE_BYTES),
        (64 * SHARE_BYTES + 64, SHARE_BYTES + 1),
        (64 * SHARE_BYTES_MAX, SHARE_BYTES_MAX),
        (64 * SHARE_BYTES_MAX + 64, SHARE_BYTES_MAX),
    ],
)
def test_a_share_grows_with_what_there_is_between_its_limits(total: int, size: int) -> None:
    assert share_bytes(total) == size


@pytest.mark.parametrize("seed", range(20))
def test_every_row_group_with_rows_is_in_one_share_in_order_and_no_share_is_too_large(seed: int) -> None:
    print(f"seed {seed}")
    chance = random.Random(seed)
    sizes = [0, 1, SHARE_BYTES_MIN // 3, SHARE_BYTES_MIN, SHARE_BYTES]
    footers = [
        footer(*((chance.choice([0, 1, 9]), chance.choice(sizes)) for _ in range(chance.choice([0, 1, 5, 40]))))
        for _ in range(chance.choice([0, 1, 7]))
    ]
    shares = shared(footers)
    most = share_bytes(sum(sum(one.bytes) for one in footers))
    met = [[(part.file, group) for part in share for group in range(part.first, part.stop)] for share in shares]
    wanted = [(file, group) for file, one in enumerate(footers) for group, rows in enumerate(one.rows) if rows]
    assert [place for share in met for place in share] == wanted
    for share in met:
        assert share
        assert len(share) == 1 or sum(footers[file].bytes[group] for file, group in share) <= most


def test_rows_of_a_share_know_their_file_and_place(tmp_path: Path) -> None:
    for number, count in enumerate((5, 0, 4)):
        rows = pa.table({"k": pa.array(range(count), pa.int32())})
        pq.write_table(rows, tmp_path / f"{number}.parquet", row_group_size=2)
    paths = tuple(str(tmp_path / f"{number}.parquet") for number in range(3))
    footers = tuple(read_footer(Path(path)) for path in paths)
    shares = tuple(
        (Part(file, group, group + 1),) for file, one in enumerate(footers) for group in range(len(one.rows))
    )
    found = ParquetShares(paths, footers, shares)
    read = [
        (file, before, rows[0].to_pylist()) for share in range(len(shares)) for file, before, rows in found.rows(share)
    ]
    rows = [(file, before + n, k) for file, before, keys in read for n, k in enumerate(keys)]
    assert rows == [(0, n, n) for n in range(5)] + [(2, n, n) for n in range(4)]


def test_a_file_that_changes_while_it_is_read_refuses_the_load(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"k": [1, 2]}), path)
    footers = (read_footer(path),)
    found = ParquetShares((str(path),), footers, shared(footers))
    pq.write_table(pa.table({"k": [1, 2, 3]}), path)
    with pytest.raises(DataError, match=r"a\.parquet was changed while it was read"):
        list(found.rows(0))


def test_a_worker_that_does_not_see_a_file_says_so(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"a worker of Spark's has no file .*a\.parquet") as caught:
        shares_of(spark, [str(tmp_path / "a.parquet")])
    assert caught.value.kind == "not_found"
    assert "all of it sees them" in str(caught.value.hint)


def test_a_damaged_file_is_refused_in_the_words_of_the_local_loader(
    spark: SparkSession, tmp_path: Path, graphs: tuple[og.Graph, og.Graph]
) -> None:
    path = tmp_path / "a.parquet"
    path.write_text("no parquet at all")
    near, far = graphs
    with pytest.raises(DataError) as local:
        near.load(path, type="A", mode="append")
    with pytest.raises(DataError) as caught:
        load(spark, far.uri, {"A": str(path)}, mode="append")
    assert caught.value.message == local.value.message


def test_files_may_have_columns_of_their_own_and_none_at_all(
    spark: SparkSession, tmp_path: Path, graphs: tuple[og.Graph, og.Graph]
) -> None:
    folder = tmp_path / "rows.parquet"
    folder.mkdir()
    pq.write_table(pa.table({"k": pa.array([1, 2], pa.int32()), "name": ["a", "b"]}), folder / "0.parquet")
    pq.write_table(pa.table({"w": [7], "k": pa.array([3], pa.int64())}), folder / "1.parquet")
    pq.write_table(pa.table({"k": pa.array([], pa.int32())}), folder / "2.parquet")
    near, far = graphs
    near.load(sorted(folder.iterdir()), type="A", mode="append")
    report = load(spark, far.uri, {"A": str(folder)}, mode="append")
    assert content(far) == content(near)
    assert [(t.read, t.written) for t in report.tables] == [(3, 3)]
    assert far.sql("SELECT k, name, w FROM A ORDER BY k").fetchall() == [(1, "a", None), (2, "b", None), (3, None, 7)]


def test_a_column_that_one_file_alone_has_is_refused_with_that_file(
    spark: SparkSession, tmp_path: Path, graphs: tuple[og.Graph, og.Graph]
) -> None:
    folder = tmp_path / "rows.parquet"
    folder.mkdir()
    pq.write_table(pa.table({"k": pa.array([1], pa.int32())}), folder / "0.parquet")
    pq.write_table(pa.table({"k": pa.array([2], pa.int32()), "age": [1]}), folder / "1.parquet")
    with pytest.raises(DataError, match=r"1\.parquet: A has no column 'age'"):
        load(spark, graphs[1].uri, {"A": str(folder)}, mode="append")


def test_files_without_rows_make_an_empty_load(
    spark: SparkSession, tmp_path: Path, graphs: tuple[og.Graph, og.Graph]
) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"k": pa.array([], pa.int32())}), path)
    near, far = graphs
    near.load(path, type="A", mode="append")
    report = load(spark, far.uri, {"A": str(path)}, mode="append")
    assert [(t.table, t.read, t.written) for t in report.tables] == [("node:A", 0, 0)]
    assert content(far) == content(near)


def test_a_column_in_the_names_of_folders_is_read_by_spark(
    spark: SparkSession, tmp_path: Path, graphs: tuple[og.Graph, og.Graph]
) -> None:
    for w in (3, 4):
        folder = tmp_path / "rows.parquet" / f"w={w}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"k": pa.array([w * 10], pa.int32())}), folder / "a.parquet")
    load(spark, graphs[1].uri, {"A": str(tmp_path / "rows.parquet")}, mode="append")
    assert graphs[1].sql("SELECT k, w FROM A ORDER BY k").fetchall() == [(30, 3), (40, 4)]


def test_instants_of_any_century_in_the_form_of_old_writers_are_kept(spark: SparkSession, tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g.omni", schema="node A { k: I32 @key  at: DateTime }")
    days = [datetime(1500, 1, 1), datetime(2020, 2, 3, 4, 5, 6, 789), datetime(9999, 12, 31)]
    rows = pa.table({"k": pa.array([1, 2, 3], pa.int32()), "at": pa.array(days, pa.timestamp("us"))})
    path = tmp_path / "a.parquet"
    pq.write_table(rows, path, use_deprecated_int96_timestamps=True)
    load(spark, graph.uri, {"A": str(path)}, mode="append")
    assert [at.replace(tzinfo=None) for (at,) in graph.sql("SELECT at FROM A ORDER BY k").fetchall()] == days
