"""Spark: graphs loaded, read and asked on a cluster. Nothing here is imported unless it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnigraph_sql.spark.loading import load as load
    from omnigraph_sql.spark.place import credentials as credentials
    from omnigraph_sql.spark.registering import register as register
    from omnigraph_sql.spark.registering import use_source as use_source
    from omnigraph_sql.spark.report import RowsNotKept as RowsNotKept
    from omnigraph_sql.spark.report import RowsRefused as RowsRefused
    from omnigraph_sql.spark.report import SparkReport as SparkReport
    from omnigraph_sql.spark.sessions import session as session
    from omnigraph_sql.spark.stream import stable_id as stable_id

_HOMES = {
    "RowsNotKept": "report",
    "RowsRefused": "report",
    "SparkReport": "report",
    "credentials": "place",
    "load": "loading",
    "register": "registering",
    "session": "sessions",
    "stable_id": "stream",
    "use_source": "registering",
}
__all__ = [
    "RowsNotKept",
    "RowsRefused",
    "SparkReport",
    "credentials",
    "load",
    "register",
    "session",
    "stable_id",
    "use_source",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'omnigraph_sql.spark' has no attribute {name!r}")
    from importlib import import_module

    from omnigraph_sql.spark.sessions import refuse_missing

    if name != "session":
        refuse_missing()
    return getattr(import_module(f"omnigraph_sql.spark.{home}"), name)
