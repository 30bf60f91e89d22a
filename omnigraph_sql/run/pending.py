"""The pending changes of a table in the forms that reads want them in, made once for all reads of a transaction."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from threading import Lock
from weakref import ref

import pyarrow as pa

from omnigraph_sql.base.catalog import ID
from omnigraph_sql.engine.store.provider import Shadow
from omnigraph_sql.engine.store.tables import OpenTable, Tables
from omnigraph_sql.engine.write.staging import Mode, TableChanges


class Pending:
    """What is pending on one table, over the state it was opened at."""

    def __init__(self, tables: Tables, table: OpenTable, changes: TableChanges) -> None:
        self.version = table.pin.version
        self.replaces = changes.mode is Mode.OVERWRITE
        """No committed row is to be seen."""
        self.rows: pa.Table = changes.rows().combine_chunks()
        self._hidden = frozenset[str]() if self.replaces else changes.shadow()
        self.shadow = Shadow(tables, table, self._hidden) if self._hidden else None

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.rows[ID].to_pylist())}

    def hides(self, name: str) -> bool:
        """Whether the committed row with this id is not to be seen."""
        return self.replaces or name in self._hidden

    def rows_of(self, ids: Iterable[str]) -> pa.Table:
        """The pending rows with these ids."""
        found = (self._places.get(name) for name in ids)
        return self.rows.take(pa.array([place for place in found if place is not None], pa.int64()))


_kept: dict[int, tuple[ref[TableChanges], Pending]] = {}
"""By the identity of the changes, which are never changed in place; they take their entry with them."""
_lock = Lock()


def pending_of(tables: Tables, table: OpenTable, changes: TableChanges) -> Pending:
    """The changes as reads want them."""
    number = id(changes)
    with _lock:
        found = _kept.get(number)
    if found is not None and found[0]() is changes and found[1].version == table.pin.version:
        return found[1]
    made = Pending(tables, table, changes)
    with _lock:
        _kept[number] = ref(changes, lambda gone: _forget(number, gone)), made
    return made


def _forget(number: int, gone: ref[TableChanges]) -> None:
    found = _kept.get(number)
    if found is not None and found[0] is gone:
        _kept.pop(number, None)
