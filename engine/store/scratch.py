"""A place that is made for a trial and removed after it, and bare Lance in it: what storage takes without a graph."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from omnigraph_sql.base.seams import IdSource, NoFailpoints
from omnigraph_sql.engine.store.durable import Durability, disk_at
from omnigraph_sql.engine.store.failures import storage_error
from omnigraph_sql.engine.store.objects import remote_store
from omnigraph_sql.engine.store.predicate import member_of
from omnigraph_sql.engine.store.root import GraphRoot
from omnigraph_sql.engine.store.tables import FILE_VERSION

PREFIX: Final = "ogsql-bench-"
"""How every such place is called, before a ULID; nothing else is ever removed."""
_REMOVALS_MAX: Final = 3


@dataclass(frozen=True, slots=True)
class Scratch:
    """A folder, or a prefix of an object store, that nobody else has."""

    root: GraphRoot

    def __post_init__(self) -> None:
        if not self.root.uri.rpartition("/")[2].startswith(PREFIX):
            raise ValueError(f"{self.root.uri} was not made for a trial")

    @classmethod
    def below(cls, place: GraphRoot, ids: IdSource) -> Scratch:
        """A new one. A folder is made at once; a prefix exists when something is written below it.

        Raises StorageError.
        """
        made = cls(GraphRoot.parse(place.child(f"{PREFIX}{ids.ulid()}"), dict(place.options)))
        if made.root.local is not None:
            try:
                made.root.local.mkdir()
            except OSError as error:
                raise storage_error(error, f"making a folder in {place.uri}", place) from error
        return made

    def child(self, name: str) -> str:
        return self.root.child(name)

    def remove(self) -> None:
        """Remove it with everything in it; what is gone already is fine. Raises StorageError."""
        try:
            if self.root.local is not None:
                _remove_folder(self.root.local)
                return
            store: Any = remote_store(self.root)
            for batch in store.list():
                store.delete([str(item["path"]) for item in batch])
        except Exception as error:
            raise storage_error(error, f"removing {self.root.uri}", self.root) from error


def _remove_folder(folder: Path) -> None:
    """Work that was interrupted may write a last file meanwhile, so one look more does not hurt."""
    for _ in range(_REMOVALS_MAX):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
    shutil.rmtree(folder)


class BareTable:
    """One Lance table used by itself: no manifest, no intent, no lease, no rules, one commit per write.

    What is written is as durable as asked for. The first column is `id`.
    """

    def __init__(self, scratch: Scratch, name: str, durability: Durability) -> None:
        import lance

        self._lance: Any = lance
        self._root, self._name = scratch.root, name
        self._disk = disk_at(scratch.root, durability, NoFailpoints())
        self._session = self._lance.Session()
        self._dataset: Any = None

    def replace(self, rows: pa.RecordBatchReader) -> None:
        """The table becomes these rows."""
        self._write(rows, "overwrite" if self._dataset is not None else "create")

    def append(self, rows: pa.Table) -> None:
        self._write(rows, "append")

    def _write(self, rows: pa.Table | pa.RecordBatchReader, mode: str) -> None:
        with self._telling("writing"):
            self._dataset = self._lance.write_dataset(
                rows,
                self._root.child(self._name),
                mode=mode,
                data_storage_version=FILE_VERSION,
                enable_v2_manifest_paths=True,
                storage_options=self._root.storage_options,
                session=self._session,
            )
            self._disk.settle(self._name, self._dataset)

    def upsert(self, rows: pa.Table) -> None:
        """Rows with known ids are replaced, the others are added."""
        with self._telling("writing"):
            merge = self._dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
            merge.execute(rows)
            self._disk.settle(self._name, self._dataset)

    def index(self) -> None:
        """An index on `id`."""
        with self._telling("indexing"):
            self._dataset.create_scalar_index("id", "BTREE")

    def read(self, columns: Sequence[str]) -> pa.Table:
        return self._read(columns, None)

    def row(self, own: str, columns: Sequence[str]) -> pa.Table:
        """The row with this id."""
        return self._read(columns, member_of("id", pa.array([own])))

    def _read(self, columns: Sequence[str], where: str | None) -> pa.Table:
        with self._telling("reading"):
            found: pa.Table = self._dataset.scanner(columns=list(columns), filter=where).to_table()
            return found

    def reopen(self) -> int:
        """Open the table anew, as another process would; how many rows it has."""
        with self._telling("opening"):
            session = self._lance.Session()
            options = self._root.storage_options
            opened = self._lance.dataset(self._root.child(self._name), session=session, storage_options=options)
            return int(opened.count_rows())

    @contextmanager
    def _telling(self, doing: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            raise storage_error(error, f"{doing} {self._name}", self._root) from error
