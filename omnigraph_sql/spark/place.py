"""Where a graph is, as it travels: an address, a branch, a version. Never an open table, and never a secret."""

from __future__ import annotations

import atexit
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, Final

from omnigraph_sql.base.errors import StorageError
from omnigraph_sql.base.seams import SystemClock, UlidSource
from omnigraph_sql.engine.store.root import GraphRoot
from omnigraph_sql.engine.values import MAIN
from omnigraph_sql.foreign import PinnedTables
from omnigraph_sql.spark.by_place import ByPlace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from omnigraph_sql.graph import Graph

_PREFIX: Final = "omnigraph-storage-"


@dataclass(frozen=True, slots=True)
class GraphPlace:
    """A graph and a branch of it. `secrets` names a file that Spark hands to every process of a session.

    `version` is the manifest version that is read; None means the newest one, which only a driver may ask for.
    """

    uri: str
    branch: str = MAIN
    options: tuple[tuple[str, str], ...] = ()
    secrets: str | None = None
    version: int | None = None

    def storage(self) -> dict[str, str]:
        """Every storage option, in a process that may know them."""
        return {**dict(self.options), **(_secrets(self.secrets) if self.secrets is not None else {})}

    def root(self) -> GraphRoot:
        return GraphRoot.parse(self.uri, self.storage() or None)

    def open(self) -> Graph:
        """The graph, for reading; pinned when there is a version. Only for what runs statements."""
        from omnigraph_sql.graph import open as open_graph

        found = open_graph(self.uri, branch=self.branch, read_only=True, storage_options=self.storage() or None)
        return found if self.version is None else found.at(self.version)

    def at(self, version: int) -> GraphPlace:
        return replace(self, version=version)


@ByPlace
def opened(place: GraphPlace) -> Graph:
    """The graph of a pinned place, opened once."""
    return place.open()


@ByPlace
def tables_at(place: GraphPlace) -> PinnedTables:
    """The tables of a pinned place, opened once."""
    return PinnedTables.at(place.root(), place.branch, place.version)


def pinned_at(place: GraphPlace, point: str | datetime | None) -> GraphPlace:
    """The place at the version of a commit or an instant; at the newest one when there is no point."""
    found = PinnedTables.at(place.root(), place.branch, point)
    made = place.at(found.version)
    tables_at.put(made, found)
    return made


def place_of(
    spark: SparkSession, uri: str | os.PathLike[str], branch: str, storage_options: Mapping[str, str] | None
) -> GraphPlace:
    """The place of a graph for this session. Values that are secret go the way of `credentials`."""
    root = GraphRoot.parse(uri, dict(storage_options or {}))
    hidden = set(root.secrets)
    public = tuple((name, value) for name, value in root.options if value not in hidden)
    secret = {name: value for name, value in root.options if value in hidden}
    return GraphPlace(root.uri, branch, public, credentials(spark, secret) if secret else None)


_known: dict[str, dict[str, str]] = {}
_handed: dict[str, str] = {}
"""The session of each of these files that was handed over here."""


def credentials(spark: SparkSession, storage_options: Mapping[str, str]) -> str:
    """Hand secret storage options to all processes of a session; the name to give as the option `credentials`.

    They travel as a file, not in plans, closures or logs. The same options again have the same name.
    """
    options, own = dict(storage_options), _session_id(spark)
    for name, whose in _handed.items():
        if whose == own and _known[name] == options:
            return name
    name = f"{_PREFIX}{UlidSource(SystemClock()).ulid()}.json"
    path = _folder() / name
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump(options, file)
    session: Any = spark
    if is_connect(spark):
        session.addArtifacts(str(path), file=True)
    else:
        session.sparkContext.addFile(str(path))
    _known[name], _handed[name] = options, own
    return name


def _session_id(spark: Any) -> str:
    """What files are handed to: a session of a server, or the application of a driver."""
    return str(spark.session_id if is_connect(spark) else spark.sparkContext.applicationId)


def is_connect(spark: SparkSession) -> bool:
    """Whether the session talks to a server instead of being the driver."""
    return ".connect." in f"{type(spark).__module__}."


@cache
def _folder() -> Path:
    folder = Path(mkdtemp(prefix="omnigraph-spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _secrets(name: str) -> dict[str, str]:
    found = _known.get(name)
    if found is None:
        from pyspark import SparkFiles

        try:
            found = json.loads(Path(SparkFiles.get(name)).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise StorageError(
                "the storage options of this graph did not reach this process",
                kind="configuration",
                hint="hand them over with credentials() in the session that reads",
            ) from error
        _known[name] = found
    return found
