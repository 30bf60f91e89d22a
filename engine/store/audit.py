"""The log of recoveries: append-only, one row per operation that somebody else had to finish."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from omnigraph_sql.base.errors import StorageError
from omnigraph_sql.base.seams import Failpoints
from omnigraph_sql.engine.store.durable import Disk, LeftToSystem
from omnigraph_sql.engine.store.failures import says_missing, storage_error
from omnigraph_sql.engine.store.predicate import member_of
from omnigraph_sql.engine.store.root import AUDIT, GraphRoot

SCHEMA: Final = pa.schema(
    [
        pa.field("operation_id", pa.utf8(), False),
        pa.field("kind", pa.utf8(), False),
        pa.field("writer", pa.utf8(), False),
        pa.field("branch", pa.utf8(), False),
        pa.field("commit_id", pa.utf8()),
        pa.field("actor", pa.utf8()),
        pa.field("tables", pa.utf8(), False),
        pa.field("created_at", pa.timestamp("us", "UTC"), False),
    ]
)


class AuditTable:
    def __init__(self, root: GraphRoot, failpoints: Failpoints, disk: Disk | None = None) -> None:
        self._root, self.failpoints, self._disk = root, failpoints, disk or LeftToSystem()

    def create(self) -> None:
        import lance

        try:
            self.failpoints.hit("audit.create")
            made = lance.write_dataset(
                SCHEMA.empty_table(),
                self._root.child(AUDIT),
                mode="create",
                storage_options=self._root.storage_options,
                enable_v2_manifest_paths=True,
            )
        except Exception as error:
            raise storage_error(error, "creating the log of recoveries", self._root) from error
        self._disk.settle(AUDIT, made)

    def has(self, operation_id: str) -> bool:
        audit = self._open()
        try:
            found: int = audit.count_rows(member_of("operation_id", pa.array([operation_id])))
        except Exception as error:
            raise storage_error(error, "reading the log of recoveries", self._root) from error
        return found > 0

    def append(self, row: dict[str, Any]) -> None:
        """Add a row, unless one for the same operation is there. Only under the lease of the operation's branch."""
        if self.has(str(row["operation_id"])):
            return
        import lance

        try:
            self.failpoints.hit("audit.append")
            made = lance.write_dataset(
                pa.Table.from_pylist([row], schema=SCHEMA),
                self._root.child(AUDIT),
                mode="append",
                storage_options=self._root.storage_options,
            )
        except Exception as error:
            raise storage_error(error, "writing the log of recoveries", self._root) from error
        self._disk.settle(AUDIT, made)

    def rows(self) -> list[dict[str, Any]]:
        audit = self._open()
        try:
            found: list[dict[str, Any]] = audit.to_table().to_pylist()
        except Exception as error:
            raise storage_error(error, "reading the log of recoveries", self._root) from error
        return sorted(found, key=lambda row: (row["created_at"], row["operation_id"]))

    def _open(self) -> Any:
        import lance

        try:
            self.failpoints.hit("audit.read")
            return lance.dataset(self._root.child(AUDIT), storage_options=self._root.storage_options)
        except ValueError as error:
            if not says_missing(error, self._root):
                raise storage_error(error, "reading the log of recoveries", self._root) from error
            raise StorageError(
                "the log of recoveries is missing", kind="not_found", hint="restore the graph from a backup"
            ) from error
        except Exception as error:
            raise storage_error(error, "reading the log of recoveries", self._root) from error
