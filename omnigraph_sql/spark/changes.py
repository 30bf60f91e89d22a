"""What the files of a load change, table by table: refused rows are taken out, and replaced rows marked as deleted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from omnigraph_sql.base.catalog import ID
from omnigraph_sql.base.errors import OmniError
from omnigraph_sql.engine.load.publishing import FilesChange
from omnigraph_sql.engine.load.report import LoadMode
from omnigraph_sql.engine.store.effects import AppendFiles, ReplaceFiles, ReplaceTable, SwapFiles, TableChange
from omnigraph_sql.engine.store.foreign import check_files, file_of
from omnigraph_sql.engine.store.loose import delete_files, move_files
from omnigraph_sql.engine.values import MAIN, TablePin
from omnigraph_sql.engine.write.txn import WriteTxn
from omnigraph_sql.foreign import PinnedTables
from omnigraph_sql.spark.loose import LooseFile, LooseTable, Tables


@dataclass(slots=True)
class Changes:
    """The files of one load on their way. `base` is the snapshot they were written beside."""

    base: PinnedTables
    mode: LoadMode
    rewritten: list[tuple[TablePin, list[LooseFile]]] = field(default_factory=list)
    moved: list[tuple[TablePin, str | None, tuple[Any, ...]]] = field(default_factory=list)
    named: set[str] = field(default_factory=set)
    """Paths of the files that the attempt names."""

    def of(self, rows: Tables, txn: WriteTxn, table: LooseTable) -> FilesChange:
        """What a table becomes on the base of an attempt."""
        written = self.base.pin(table.type)
        pin = txn.base.pin(written.identity)
        assert pin is not None
        files = rows.rewritten(table)
        held = [file for file in files if file.feed < 0]
        if held:
            self.rewritten.append((written, held))
        made = tuple(file_of(file.text) for file in files)
        self.named.update(_paths(made))
        branch = None if txn.branch == MAIN else txn.branch
        count = sum(file.rows for file in files)
        change, replaced = self._change(rows, table, pin, made, count, forks=pin.branch != branch)
        if made and written.branch != branch:
            move_files(self.base.tables, written.path, written.branch, branch, made)
            self.moved.append((written, branch, made))
        check_files(self.base.tables, pin, branch, made)
        return FilesChange(pin, change, count, replaced)

    def _change(
        self, rows: Tables, table: LooseTable, pin: TablePin, made: tuple[Any, ...], count: int, *, forks: bool
    ) -> tuple[TableChange | None, int]:
        if self.mode is LoadMode.OVERWRITE:
            return ReplaceTable(None, made), pin.row_count
        if not count:
            return None, 0
        if self.mode is LoadMode.APPEND or table.fresh or not pin.row_count:
            return AppendFiles(made, count), 0
        held = rows.committed(table.type, [ID], addresses=True)
        hits = held.join(rows.loose(table, [ID]).select(ID), ID, "left_semi").select("at")
        if forks:
            # Marks of deleted rows lie below the branch they are for, which is not there yet.
            replaced = tuple(int(row["at"]) for row in hits.collect())
            return (ReplaceFiles(made, count, replaced) if replaced else AppendFiles(made, count)), len(replaced)
        marked = rows.marked(table.type, hits)
        if not marked:
            return AppendFiles(made, count), 0
        updated = tuple(file_of(text) for _, text, _ in marked if text is not None)
        emptied = tuple(number for number, text, _ in marked if text is None)
        gone = sum(taken for _, _, taken in marked)
        return SwapFiles(made, count, updated, emptied, gone), gone

    def bring_back(self) -> None:
        """Files of an attempt that came to nothing lie below the branch they were meant for."""
        for pin, branch, files in self.moved:
            move_files(self.base.tables, pin.path, branch, pin.branch, files)
        self.moved, self.named = [], set()

    def tidy(self, tables: Sequence[LooseTable]) -> None:
        """Remove the files of a published load that were written anew without some of their rows, or for nothing."""
        for table in tables:
            if loose := self._unnamed(table.files):
                self.base.discard(table.type, loose)
        for pin, files in self.rewritten:
            if loose := self._unnamed(files):
                delete_files(self.base.tables, pin.path, pin.branch, loose)

    def _unnamed(self, files: Sequence[LooseFile]) -> list[Any]:
        return [found for found in map(_file, files) if not self.named.intersection(_paths([found]))]

    def discard(self, tables: Sequence[LooseTable]) -> None:
        """Remove the files of a load that nothing names."""
        with suppress(OmniError):
            self.bring_back()
        for table in tables:
            if table.files:
                self.base.discard(table.type, list(map(_file, table.files)))
        for pin, files in self.rewritten:
            delete_files(self.base.tables, pin.path, pin.branch, list(map(_file, files)))


def _file(file: LooseFile) -> Any:
    return file_of(file.text)


def _paths(files: Iterable[Any]) -> Iterator[str]:
    return (str(one.path) for file in files for one in file.files)
