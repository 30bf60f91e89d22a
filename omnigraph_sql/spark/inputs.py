"""Files and DataFrames → feeds: which rows there are, of which type, and how each is told from the others."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import pyarrow as pa

from omnigraph_sql.base.catalog import Catalog, TableType
from omnigraph_sql.base.errors import DataError
from omnigraph_sql.engine.load.columns_given import column_names
from omnigraph_sql.engine.load.readers import csv_header, source_type
from omnigraph_sql.engine.load.values import Source
from omnigraph_sql.engine.values import table_key
from omnigraph_sql.spark.feeds import Feed, Kind, Origins, Places
from omnigraph_sql.spark.place import GraphPlace
from omnigraph_sql.spark.shares import rows_for, shares_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_GLOB: Final = frozenset("*?[{")
_ONE_BY_ONE_MAX: Final = 32
_HASH: Final = "xxhash64(_metadata.file_path)"


@dataclass(frozen=True, slots=True)
class Given:
    """One source as it was given: a DataFrame, or the path of files, of a type or of lines that say theirs."""

    data: Any
    type: str | None = None
    shown: str | None = None


@dataclass(slots=True)
class Input:
    """A feed with the rows for it and what is known of their origins."""

    feed: Feed
    rows: DataFrame
    origins: Origins
    paths: tuple[str, ...] = ()
    type: TableType | None = None


def given_of(sources: Mapping[str, Any] | Sequence[Any] | Any) -> list[Given]:
    """Sources in any of the accepted shapes: a mapping of types to DataFrames or paths, or paths of `.jsonl` files."""
    if isinstance(sources, Mapping):
        return [Given(one, str(of)) for of, data in sources.items() for one in _each(data)]
    return [Given(one) for one in _each(sources)]


def _each(data: Any) -> Iterable[Any]:
    return data if isinstance(data, list | tuple) else (data,)


def input_of(
    spark: SparkSession, place: GraphPlace, catalog: Catalog, load_id: str, number: int, given: Given
) -> Input:
    """The input a source makes. Raises DataError when there is no such file, type or column."""
    if not isinstance(given.data, str | os.PathLike):
        return frame_input(place, catalog, load_id, number, given)
    path = os.fspath(given.data)
    if says_its_types(path):
        return _lines(spark, place, load_id, number, path)
    match _suffix(path):
        case ".csv":
            return _csv(spark, place, catalog, load_id, number, given, path)
        case ".parquet":
            return _parquet(spark, place, catalog, load_id, number, given, path)
        case ".zst":
            raise DataError(f"{path}: Spark does not unpack .zst", hint="unpack it, or pack it as .gz or .bz2")
        case _:
            raise DataError(
                f"{path} is none of .jsonl, .csv, .parquet",
                hint="read other formats with Spark and hand the DataFrame over, or write a pipeline file",
            )


def _suffix(path: str) -> str:
    """The ending that tells the form of files, of packed ones too."""
    return PurePosixPath(path.rstrip("*/").casefold().removesuffix(".gz").removesuffix(".bz2")).suffix


def says_its_types(path: str) -> bool:
    """Whether rows of these files name their types themselves."""
    return _suffix(path) in (".jsonl", ".ndjson")


# ---- DataFrames -------------------------------------------------------------------------------------------------


def frame_input(place: GraphPlace, catalog: Catalog, load_id: str, number: int, given: Given) -> Input:
    """A DataFrame: rows have no file, and their order is that of its partitions."""
    from pyspark.sql import functions as sf

    shown = given.shown or "the data frame"
    if not hasattr(given.data, "mapInArrow"):
        kind = type(given.data)
        library = kind.__module__.partition(".")[0]
        raise DataError(
            f"{library}.{kind.__name__} is neither a DataFrame of Spark nor the path of files",
            hint="spark.createDataFrame(…) makes one of rows, of pandas and of Arrow",
        )
    of = source_type(Source("", given.type), catalog, shown)
    names = tuple(column_names(of, given.data.columns, shown))
    numbered = given.data.select("*", sf.monotonically_increasing_id().alias("__at"))
    feed = Feed(place, load_id, number, Kind.TYPED, table_key(of), (names,))
    return Input(feed, numbered, Origins(shown), type=of)


# ---- files ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Files:
    """Files behind a path, in the order of their names: addresses, hashes of these, and how people call them."""

    addresses: tuple[str, ...]
    hashes: tuple[int, ...]
    names: tuple[str, ...]


def files_at(spark: SparkSession, path: str) -> Files:
    """What a path, a folder or a pattern stands for. Raises DataError when it stands for nothing."""
    from pyspark.errors import AnalysisException

    try:
        listed = spark.read.format("binaryFile").load(path)
        found = listed.selectExpr("_metadata.file_path AS path", f"{_HASH} AS hash").collect()
        everything = listed.inputFiles()
    except AnalysisException as error:
        if "PATH_NOT_FOUND" in str(error):
            raise DataError(f"there is no file {path}") from None
        raise
    numbers = {row["path"]: int(row["hash"]) for row in found}
    # Spark makes no row for a file without a byte, so no row will ever ask for the number of one.
    filled = set(map(file_name, numbers))
    numbers |= {one: -number for number, one in enumerate(everything, 1) if file_name(one) not in filled}
    if not numbers:
        raise DataError(f"there is no file {path}")
    addresses = tuple(sorted(numbers, key=file_name))
    alone = len(addresses) == 1 and not _GLOB & set(path)
    names = (path,) if alone else tuple(map(file_name, addresses))
    return Files(addresses, tuple(numbers[address] for address in addresses), names)


def file_name(address: str) -> str:
    """A local file as a path, others with their scheme. Spark writes one slash after it, or three."""
    if not address.startswith("file:/"):
        return address
    return unquote(address.removeprefix("file://" if address.startswith("file:///") else "file:"))


def _text(spark: SparkSession, path: str, *, whole: bool = False) -> DataFrame:
    rows = spark.read.text(path, wholetext=True) if whole else spark.read.option("lineSep", "\n").text(path)
    return rows.selectExpr(
        "CAST(value AS BINARY) AS value", f"{_HASH} AS __file", "_metadata.file_block_start AS __block"
    )


def _lines(spark: SparkSession, place: GraphPlace, load_id: str, number: int, path: str) -> Input:
    files = files_at(spark, path)
    feed = Feed(place, load_id, number, Kind.LINES, files=files.hashes)
    return Input(feed, _text(spark, path), Origins(path, files.names, Places.LINES), (path,))


def _csv(
    spark: SparkSession, place: GraphPlace, catalog: Catalog, load_id: str, number: int, given: Given, path: str
) -> Input:
    files = files_at(spark, path)
    of = source_type(Source("", given.type), catalog, path)
    headers = _headers(spark, path, files)
    names = tuple(
        tuple(column_names(of, csv_header(headers.get(found, b""), name), name))
        for found, name in zip(files.hashes, files.names, strict=True)
    )
    feed = Feed(place, load_id, number, Kind.CSV, table_key(of), names, files.hashes)
    return Input(feed, _text(spark, path), Origins(path, files.names, Places.LINES), (path,), of)


def whole_csv(spark: SparkSession, held: Input) -> Input:
    """The same input read file by file, because values span lines."""
    feed = held.feed
    (path,) = held.paths
    again = Feed(feed.place, feed.load_id, feed.number, Kind.CSV_WHOLE, feed.type, feed.names, feed.files)
    origins = Origins(held.origins.shown, held.origins.names, held.origins.places)
    return Input(again, _text(spark, path, whole=True), origins, held.paths, held.type)


def _headers(spark: SparkSession, path: str, files: Files) -> dict[int, bytes]:
    """The first line of every file, by its hash. Few files are looked at one by one, many in one pass."""
    found: list[Any] = []
    if len(files.addresses) <= _ONE_BY_ONE_MAX:
        for address in files.addresses:
            found += _text(spark, unquote(address)).limit(1).collect()
    else:
        begun = _text(spark, path).where("__block = 0")
        found = begun.mapInArrow(_first_lines, "value binary, __file bigint").collect()
    return {row["__file"]: bytes(row["value"]) for row in found}


def _first_lines(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The first row of each file among rows that come file after file."""
    seen: set[int] = set()
    for batch in batches:
        files = batch["__file"].to_pylist()
        places = []
        for place, file in enumerate(files):
            if file not in seen:
                seen.add(file)
                places.append(place)
        if places:
            yield batch.select(["value", "__file"]).take(pa.array(places))


def _parquet(
    spark: SparkSession, place: GraphPlace, catalog: Catalog, load_id: str, number: int, given: Given, path: str
) -> Input:
    files = files_at(spark, path)
    of = source_type(Source("", given.type), catalog, path)
    origins = Origins(path, files.names, Places.ROWS)
    if all(map(_lies_on_disk, files.addresses)):
        shares = shares_of(spark, [file_name(address) for address in files.addresses])
        each = tuple(
            tuple(column_names(of, footer.names, name))
            for footer, name in zip(shares.footers, files.names, strict=True)
        )
        feed = Feed(place, load_id, number, Kind.PARQUET, table_key(of), each, shares=shares)
        return Input(feed, rows_for(spark, shares), origins, (path,), of)
    rows = spark.read.parquet(path)
    names = tuple(column_names(of, rows.columns, path))
    numbered = rows.selectExpr("*", "_metadata.row_index AS __at", f"{_HASH} AS __file")
    feed = Feed(place, load_id, number, Kind.TYPED, table_key(of), (names,), files.hashes)
    return Input(feed, numbered, origins, (path,), of)


def _lies_on_disk(address: str) -> bool:
    """Whether every worker can open a file itself. Folders like `year=2020` hold a column that only Spark sees."""
    return address.startswith("file:/") and "=" not in address.rpartition("/")[0]
