"""`register`: a graph in a Spark session, every table and function at one pinned version."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from omnigraph_sql.engine.values import MAIN, table_key
from omnigraph_sql.spark.place import GraphPlace, pinned_at, place_of, tables_at
from omnigraph_sql.spark.source import OmnigraphSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrameReader, SparkSession


@dataclass(frozen=True, slots=True)
class Registered:
    """What a session knows of a graph: the version everything is read at, and the views that were made."""

    place: GraphPlace
    version: int
    commit_id: str
    views: tuple[str, ...]


def use_source(spark: SparkSession) -> None:
    """Make the data source known to a session; again is fine."""
    spark.dataSource.register(OmnigraphSource)


def register(
    spark: SparkSession,
    uri: str | os.PathLike[str],
    *,
    branch: str = MAIN,
    version: int | str | None = None,
    storage_options: Mapping[str, str] | None = None,
    prefix: str = "",
) -> Registered:
    """A temporary view per type, the functions over the graph and `gq`, all at one snapshot.

    `version` is a manifest version or the id of a commit; the newest one when left out. `prefix` comes before the name
    of every view and function, so that several graphs can be registered. A name that is both a node and an edge type
    gives the views `node_X` and `edge_X`. Registering again moves everything to the new snapshot.
    """
    from omnigraph_sql.spark.functions import register_functions
    from omnigraph_sql.spark.gq_table import register_gq

    use_source(spark)
    place = place_of(spark, uri, branch, storage_options)
    pinned = place.at(version) if isinstance(version, int) else pinned_at(place, version)
    tables = tables_at(pinned)
    views = []
    for of in tables.catalog.tables():
        twin = len([t for t in tables.catalog.tables() if t.name.casefold() == of.name.casefold()]) > 1
        name = f"{prefix}{table_key(of).replace(':', '_') if twin else of.name}"
        reading(spark, pinned).option("type", table_key(of)).load().createOrReplaceTempView(name)
        views.append(name)
    register_functions(spark, pinned, prefix)
    register_gq(spark, pinned, prefix)
    assert pinned.version is not None
    return Registered(pinned, pinned.version, tables.snapshot.head, tuple(views))


def reading(spark: SparkSession, place: GraphPlace) -> DataFrameReader:
    """A reader of the place with everything but what to read."""
    use_source(spark)
    reader = spark.read.format("omnigraph").option("graph", place.uri).option("branch", place.branch)
    if place.version is not None:
        reader = reader.option("version", str(place.version))
    if place.secrets is not None:
        reader = reader.option("credentials", place.secrets)
    for name, value in place.options:
        reader = reader.option(f"storage.{name}", value)
    return reader
