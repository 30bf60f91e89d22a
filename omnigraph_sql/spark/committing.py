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
from omnigraph_sql.engine.load.publishing import FilesChange, Published
from omnigraph_sql.engine.load.report import LoadMode
from omnigraph_sql.engine.load.staging import LoadedTable, kept_columns, last_of_each
from omnigraph_sql.engine.manifest.publisher import AGAIN
from omnigraph_sql.engine.store.foreign import check_files, file_of, loose_rows, without_rows
from omnigraph_sql.engine.store.loose import delete_files, move_files
from omnigraph_sql.engine.store.tables import table_schema
from omnigraph_sql.engine.values import MAIN, TablePin
from omnigraph_sql.engine.write.txn import Author, WriteTxn
from omnigraph_sql.foreign import ForeignLoad, PinnedTables
from omnigraph_sql.graph import open as open_graph
from omnigraph_sql.spark.place import GraphPlace, tables_at


@dataclass(frozen=True, slots=True)
class Written:
    """What all tasks of a write wrote for one table: bodies as `Work` gives them, of attempts that count."""

    place: GraphPlace
    table: str
    mode: LoadMode
    load_id: str
    author: Author
    bodies: tuple[dict[str, Any], ...]

    @property
    def branch(self) -> str | None:
        """The Lance branch that the files are for."""
        return None if self.place.branch == MAIN else self.place.branch

    def files(self) -> list[str]:
        return [f["file"] for body in self.bodies for told in body["tables"] for f in told["files"]]


def publish(written: Written) -> None:
    """One commit with everything, or nothing. Published before: nothing. Raises DataError for the first bad row."""
    base = tables_at(written.place)
    of = base.type(written.table)
    pin = base.pin(of)
    loose = [file_of(text) for text in written.files()]
    load: ForeignLoad | None = None
    graph = open_graph(
        written.place.uri,
        branch=written.place.branch,
        actor=written.author.actor,
        storage_options=written.place.storage() or None,
    )
    try:
        _refuse_rows(written.bodies)
        load = ForeignLoad(graph.session, written.author, written.mode, written.load_id)
        _refuse_other_schema(base, load.base)
        loaded = _loaded(base, of, pin, written)
        loose += [f for f in loaded.files if not any(f is known for known in loose)]

        def prepare(txn: WriteTxn) -> list[FilesChange]:
            return checked_changes(base.world, txn, written.mode, [loaded])

        load.publish(prepare)
    except Published:
        _remove(base, pin, written.branch, loose)
    except BaseException:
        if load is None or load.is_loose:
            _remove(base, pin, written.branch, loose)
        raise
    finally:
        graph.close()


def discard(written: Written) -> None:
    """Remove the files of a write that will not be published."""
    base = tables_at(written.place)
    pin = base.pin(base.type(written.table))
    _remove(base, pin, written.branch, [file_of(text) for text in written.files()])


def _remove(base: PinnedTables, pin: TablePin, branch: str | None, files: Sequence[Any]) -> None:
    """They lie below the branch they were written through, or below the one they are for."""
    for owner in dict.fromkeys((pin.branch, branch)):
        delete_files(base.tables, pin.path, owner, list(files))


def _refuse_rows(bodies: Sequence[dict[str, Any]]) -> None:
    for body in bodies:
        if "limit" in body:
            raise DataError(body["limit"]["error"])
        for bad in body["refused"]:
            more = sum(sum(b["counts"].values()) for b in bodies) - 1
            rest = f" (and {more} more rows)" if more else ""
            raise DataError(f"{bad['reason']}{rest}", hint="load() can skip refused rows and quarantine them")


def _refuse_other_schema(written: PinnedTables, now: PinnedTables) -> None:
    before, after = written.schema_hash, now.schema_hash
    if before != after:
        raise ReadSetChanged(
            "the schema was changed while tasks wrote", member="schema", expected=before, actual=after, hint=AGAIN
        )


def _loaded(base: PinnedTables, of: TableType, pin: TablePin, written: Written) -> LoadedTable:
    """The files with each id once. Raises KeyConflict where an id may not come twice."""
    texts = written.files()
    columns = kept_columns(of)
    schema = pa.schema([table_schema(of).field(name) for name in columns])
    parts = [pa.Table.from_batches(loose_rows(base.tables, pin, text, columns), schema) for text in texts]
    narrow = pa.concat_tables(parts) if parts else schema.empty_table()
    fresh = all(told["fresh"] for body in written.bodies for told in body["tables"])
    stay = None if fresh or not narrow.num_rows else last_of_each(narrow[ID])
    files = [file_of(text) for text in texts]
    if stay is not None:
        if written.mode is not LoadMode.MERGE:
            twice = narrow[ID][int(np.argmin(stay))].as_py()
            raise KeyConflict(f"{of.name} '{twice}' is in this load twice", type=of.name, id=twice)
        files = _with_last(base, pin, of, texts, parts, stay)
        narrow = narrow.filter(pa.array(stay))
    if files and pin.branch != written.branch:
        move_files(base.tables, pin.path, pin.branch, written.branch, files)
    check_files(base.tables, pin, written.branch, files)
    return LoadedTable(of, tuple(files), narrow, fresh)


def _with_last(
    base: PinnedTables, pin: TablePin, of: TableType, texts: list[str], parts: list[pa.Table], stay: Any
) -> list[Any]:
    """Files without rows that a later row with the same id replaces."""
    files, start = [], 0
    for text, part in zip(texts, parts, strict=True):
        gone = np.flatnonzero(~stay[start : start + part.num_rows]).astype(np.int64)
        start += part.num_rows
        same = [file_of(text)]
        files += without_rows(base.tables, pin, text, gone, table_schema(of)) if len(gone) else same
    return files


def body_of(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    return found
