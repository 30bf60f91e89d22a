"""Publishing what tasks wrote from a process without a Spark session: where Spark calls a writer's `commit`.

There the rules about several rows are checked by the local evaluator, over the columns they need, in the memory of the
driver.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph_sql.base.catalog import ID, TableType
from omnigraph_sql.base.errors import DataError, KeyConflict, ReadSetChanged
from omnigraph_sql.engine.load.loader import checked_changes
from omnigraph_sql.engine.load.publishing import Delivery, FilesChange, Published
from omnigraph_sql.engine.load.report import LoadMode
from omnigraph_sql.engine.load.staging import LoadedTable, kept_columns, last_of_each
from omnigraph_sql.engine.manifest.publisher import AGAIN
from omnigraph_sql.engine.store.foreign import check_files, file_of, loose_rows, without_rows
from omnigraph_sql.engine.store.loose import delete_files, move_files
from omnigraph_sql.engine.store.tables import table_schema
from omnigraph_sql.engine.values import MAIN, TablePin
from omnigraph_sql.engine.write.txn import Author, WriteTxn, begin
from omnigraph_sql.graph import Graph
from omnigraph_sql.graph import open as open_graph
from omnigraph_sql.spark.loose import pin_of
from omnigraph_sql.spark.place import GraphPlace, opened
from omnigraph_sql.spark.reading import table_of


@dataclass(frozen=True, slots=True)
class Written:
    """What all tasks of a write wrote for one table: bodies as `Work` gives them, of attempts that count."""

    place: GraphPlace
    table: str
    mode: LoadMode
    load_id: str
    named: bool
    author: Author
    bodies: tuple[dict[str, Any], ...]

    def files(self) -> list[str]:
        return [f["file"] for body in self.bodies for told in body["tables"] for f in told["files"]]


def publish(written: Written) -> None:
    """One commit with everything, or nothing. Published before: nothing. Raises DataError for the first bad row."""
    pinned = opened(written.place)
    graph = open_graph(
        written.place.uri,
        branch=written.place.branch,
        actor=written.author.actor,
        storage_options=written.place.storage() or None,
    )
    of = table_of(pinned, written.table)
    pin = pin_of(pinned, of)
    loose = [file_of(text) for text in written.files()]
    delivery: Delivery | None = None
    try:
        _refuse_rows(written.bodies)
        first = begin(graph._world, graph._contract(), written.place.branch, written.author)
        _refuse_other_schema(pinned, graph)
        loaded = _loaded(pinned, of, pin, written)
        loose += [f for f in loaded.files if not any(f is known for known in loose)]

        def prepare(txn: WriteTxn) -> list[FilesChange]:
            return checked_changes(graph._world, txn, written.mode, [loaded])

        delivery = Delivery(graph._world, written.author, written.mode, written.load_id, prepare, written.named)
        delivery.publish(graph._contract, first)
    except Published:
        discard(written)
    except BaseException:
        if delivery is None or delivery.loose:
            delete_files(graph._world.tables, pin.path, pin.branch, loose)
        raise
    finally:
        graph.close()


def discard(written: Written) -> None:
    """Remove the files of a write that will not be published."""
    pinned = opened(written.place)
    pin = pin_of(pinned, table_of(pinned, written.table))
    delete_files(pinned._world.tables, pin.path, pin.branch, [file_of(text) for text in written.files()])


def _refuse_rows(bodies: Sequence[dict[str, Any]]) -> None:
    for body in bodies:
        if "limit" in body:
            raise DataError(body["limit"]["error"])
        for bad in body["refused"]:
            more = sum(sum(b["counts"].values()) for b in bodies) - 1
            rest = f" (and {more} more rows)" if more else ""
            raise DataError(f"{bad['reason']}{rest}", hint="load() can skip refused rows and quarantine them")


def _refuse_other_schema(written: Graph, now: Graph) -> None:
    before, after = written._contract().ir_hash, now._contract().ir_hash
    if before != after:
        raise ReadSetChanged(
            "the schema was changed while tasks wrote", member="schema", expected=before, actual=after, hint=AGAIN
        )


def _loaded(graph: Graph, of: TableType, pin: TablePin, written: Written) -> LoadedTable:
    """The files with each id once. Raises KeyConflict where an id may not come twice."""
    tables = graph._world.tables
    texts = written.files()
    columns = kept_columns(of)
    schema = pa.schema([table_schema(of).field(name) for name in columns])
    parts = [pa.Table.from_batches(loose_rows(tables, pin, text, columns), schema) for text in texts]
    narrow = pa.concat_tables(parts) if parts else schema.empty_table()
    fresh = all(told["fresh"] for body in written.bodies for told in body["tables"])
    stay = None if fresh or not narrow.num_rows else last_of_each(narrow[ID])
    files = [file_of(text) for text in texts]
    if stay is not None:
        if written.mode is not LoadMode.MERGE:
            twice = narrow[ID][int(np.argmin(stay))].as_py()
            raise KeyConflict(f"{of.name} '{twice}' is in this load twice", type=of.name, id=twice)
        files = _with_last(graph, pin, of, texts, parts, stay)
        narrow = narrow.filter(pa.array(stay))
    wanted = None if graph.branch == MAIN else graph.branch
    if files and pin.branch != wanted:
        move_files(tables, pin.path, pin.branch, wanted, files)
    check_files(tables, pin, wanted, files)
    return LoadedTable(of, tuple(files), narrow, fresh)


def _with_last(graph: Graph, pin: TablePin, of: TableType, texts: list[str], parts: list[pa.Table], stay: Any) -> Any:
    """Files without rows that a later row with the same id replaces."""
    files, start = [], 0
    for text, part in zip(texts, parts, strict=True):
        gone = np.flatnonzero(~stay[start : start + part.num_rows]).astype(np.int64)
        start += part.num_rows
        same = [file_of(text)]
        files += without_rows(graph._world.tables, pin, text, gone, table_schema(of)) if len(gone) else same
    return files


def body_of(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    return found
