"""Publishing what tasks wrote from a process without a Spark session: where Spark calls a writer's `commit`.

There the rules about several rows are checked without Spark. Over few rows the local evaluator does it in memory; many
are looked at range by range.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph_sql.base import limits
from omnigraph_sql.base.catalog import ID
from omnigraph_sql.base.errors import DataError, KeyConflict, ReadSetChanged
from omnigraph_sql.engine.load.loader import checked_changes
from omnigraph_sql.engine.load.publishing import FilesChange, Published
from omnigraph_sql.engine.load.report import LoadMode
from omnigraph_sql.engine.load.staging import LoadedTable, kept_columns, last_of_each
from omnigraph_sql.engine.manifest.publisher import AGAIN
from omnigraph_sql.engine.store.foreign import check_files, file_of, loose_rows
from omnigraph_sql.engine.store.lookup import LIST_VALUES_MAX
from omnigraph_sql.engine.store.loose import delete_files, move_files
from omnigraph_sql.engine.store.tables import table_schema
from omnigraph_sql.engine.values import MAIN, TablePin
from omnigraph_sql.engine.write.txn import Author, WriteTxn
from omnigraph_sql.foreign import ForeignLoad, PinnedTables
from omnigraph_sql.graph import open as open_graph
from omnigraph_sql.spark.digests import seeds_of
from omnigraph_sql.spark.large_write import LargeWrite, keep_last, rewritten, table_of
from omnigraph_sql.spark.loose import LooseTable
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


@dataclass(frozen=True, slots=True)
class Delivered:
    """Files in which each id occurs once, and what checks them on the base of an attempt."""

    files: list[Any]
    prepare: Callable[[WriteTxn], list[FilesChange]]


def publish(written: Written) -> None:
    """One commit with everything, or nothing. Published before: nothing. Raises DataError for the first bad row."""
    base = tables_at(written.place)
    of = base.type(written.table)
    pin = base.pin(of)
    loose = _by_name(map(file_of, written.files()))
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
        table = table_of(of, [told for body in written.bodies for told in body["tables"]])
        large = _is_large(table, pin, written.mode)
        delivered = _in_ranges(base, table, written) if large else _in_memory(base, table, pin, written)
        kept = _by_name(delivered.files)
        loose |= kept
        load.publish(delivered.prepare)
        _remove(base, pin, written.branch, [loose[name] for name in loose.keys() - kept.keys()])
    except Published:
        _remove(base, pin, written.branch, list(loose.values()))
    except BaseException:
        if load is None or load.is_loose:
            _remove(base, pin, written.branch, list(loose.values()))
        raise
    finally:
        graph.close()


def _by_name(files: Iterable[Any]) -> dict[str, Any]:
    return {str(file.files[0].path): file for file in files}


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


def _is_large(table: LooseTable, pin: TablePin, mode: LoadMode) -> bool:
    """Whether more rows meet than are looked at in memory; those of the base count where all of them are read."""
    whole = table.rows > LIST_VALUES_MAX or mode is LoadMode.OVERWRITE
    return table.rows + (pin.row_count if whole else 0) > limits.SPARK_WRITE_ROWS_IN_MEMORY


def _in_ranges(base: PinnedTables, table: LooseTable, written: Written) -> Delivered:
    seeds = seeds_of(base.ids.uuid())
    if written.mode is LoadMode.MERGE and not table.fresh:
        keep_last(base, table, seeds)
        table = rewritten(base, table)
    large = LargeWrite(base, table, written.mode, written.branch, seeds)
    return Delivered([file_of(file.text) for file in table.files], large.prepare)


def _in_memory(base: PinnedTables, table: LooseTable, pin: TablePin, written: Written) -> Delivered:
    """Raises KeyConflict where an id may not come twice."""
    of, columns = table.type, kept_columns(table.type)
    schema = pa.schema([table_schema(of).field(name) for name in columns])
    batches = (batch for file in table.files for batch in loose_rows(base.tables, pin, file.text, columns))
    narrow = pa.Table.from_batches(batches, schema)
    stay = None if table.fresh or not narrow.num_rows else last_of_each(narrow[ID])
    if stay is not None:
        if written.mode is not LoadMode.MERGE:
            twice = narrow[ID][int(np.argmin(stay))].as_py()
            raise KeyConflict(f"{of.name} '{twice}' is in this load twice", type=of.name, id=twice)
        table = rewritten(base, _with_last(table, stay))
        narrow = narrow.filter(pa.array(stay))
    files = [file_of(file.text) for file in table.files]
    if files and pin.branch != written.branch:
        move_files(base.tables, pin.path, pin.branch, written.branch, files)
    check_files(base.tables, pin, written.branch, files)
    loaded = LoadedTable(of, tuple(files), narrow, table.fresh)
    return Delivered(files, lambda txn: checked_changes(base.world, txn, written.mode, [loaded]))


def _with_last(table: LooseTable, stay: Any) -> LooseTable:
    """Without rows that a later row with the same id replaces."""
    start = 0
    for number, file in enumerate(table.files):
        gone = np.flatnonzero(~stay[start : start + file.rows]).astype(np.int64)
        start += file.rows
        if len(gone):
            table.drop(number, gone)
    return table


def body_of(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    return found
