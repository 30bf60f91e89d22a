"""The graph as it would be: the base and what is about to change, looked at without being put together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base.catalog import ID, Catalog, NodeType, TableType
from omnigraph_sql.base.errors import InternalError
from omnigraph_sql.engine.store.lookup import existing, joined, matching, pieces
from omnigraph_sql.engine.store.tables import OpenTable
from omnigraph_sql.engine.values import Snapshot, TableIdentity, table_key
from omnigraph_sql.engine.world import World
from omnigraph_sql.engine.write.staging import Mode, TableChanges


def without(ids: pa.Array, gone: pa.Array) -> pa.Array:
    """Those ids that are not among the others."""
    if not len(ids) or not len(gone):
        return ids
    return ids.filter(pc.invert(pc.is_in(ids, value_set=gone)))


@dataclass(frozen=True)
class TableView:
    """One table before and after. A row that is staged takes the place of the committed one with its id, and stays
    even if its id is also among the deleted ones."""

    world: World
    base: Snapshot
    type: TableType
    changes: TableChanges | None

    @cached_property
    def table(self) -> OpenTable:
        pin = self.base.pin(TableIdentity.of(self.type))
        if pin is None:
            raise InternalError(f"{table_key(self.type)} is not a table of this graph")
        return self.world.tables.open(pin)

    @property
    def overwritten(self) -> bool:
        return self.changes is not None and self.changes.mode is Mode.OVERWRITE

    @property
    def batches(self) -> tuple[pa.Table, ...]:
        return self.changes.batches if self.changes is not None else ()

    @cached_property
    def rows(self) -> pa.Table | None:
        """The staged images that stay, one per id; None when there are none."""
        return self.changes.rows() if self.changes is not None and self.changes.batches else None

    @cached_property
    def ids(self) -> pa.Array:
        """Ids of the staged images."""
        return joined([self.rows[ID]]) if self.rows is not None else pa.array([], pa.utf8())

    @cached_property
    def deleted(self) -> pa.Array:
        gone = pa.array(sorted(self.changes.deleted) if self.changes is not None else [], pa.utf8())
        return without(gone, self.ids)

    @cached_property
    def hidden(self) -> pa.Array:
        """Ids whose committed rows are not to be seen; ids that cannot be in the base are left out."""
        fresh = self.changes is not None and self.changes.generated
        return self.deleted if fresh else pa.concat_arrays([self.ids, self.deleted])

    def committed(self, columns: Sequence[str], where: str | None = None) -> Iterator[pa.Table]:
        """Committed rows that stay as they are; none of a table that is overwritten. The first column is `id`."""
        if not self.overwritten:
            yield from self._seen(pieces(self.world.tables, self.table, columns, where))

    def committed_with(self, columns: Sequence[str], column: str, values: pa.Array) -> Iterator[pa.Table]:
        """The same, of rows that hold one of the texts in a column."""
        if not self.overwritten and len(values):
            yield from self._seen(matching(self.world.tables, self.table, columns, column, values))

    def _seen(self, found: Iterator[pa.Table]) -> Iterator[pa.Table]:
        for piece in found:
            if len(self.hidden):
                piece = piece.filter(pc.invert(pc.is_in(piece[ID], value_set=self.hidden)))
            if piece.num_rows:
                yield piece

    def former(self, column: str) -> pa.Array:
        """What a text column of the rows that are replaced or go holds now, each value once."""
        tables = self.world.tables
        if self.overwritten:
            found = list(pieces(tables, self.table, [column]))
        else:
            found = list(matching(tables, self.table, [column], ID, self.hidden))
        return joined([piece[column] for piece in found]).unique()

    def missing(self, ids: pa.Array) -> pa.Array:
        """Those of the ids (each given once) that no row has afterwards."""
        left = without(ids, self.ids)
        if self.overwritten or not len(left):
            return left
        wanted = without(left, self.deleted)
        there = existing(self.world.tables, self.table, wanted)
        return without(left, there)

    @cached_property
    def removed(self) -> pa.Array:
        """Ids that the base has, or may have, and that no row has afterwards."""
        if not self.overwritten:
            return self.deleted
        held = joined([piece[ID] for piece in pieces(self.world.tables, self.table, [ID])])
        return without(held, self.ids)


@dataclass(frozen=True)
class GraphView:
    """All tables, each looked at only when somebody asks."""

    world: World
    base: Snapshot
    catalog: Catalog
    changes: Sequence[TableChanges]
    _views: dict[TableIdentity, TableView] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = {TableIdentity.of(table) for table in self.catalog.tables()}
        for changed in self.changes:
            identity = TableIdentity.of(changed.type)
            if identity not in known or identity in self._views:
                raise InternalError(f"{changed.key} is not in the catalog, or changes twice")
            self._views[identity] = TableView(self.world, self.base, changed.type, changed)

    def of(self, table: TableType) -> TableView:
        identity = TableIdentity.of(table)
        return self._views.setdefault(identity, TableView(self.world, self.base, table, None))

    def node(self, name: str) -> TableView:
        found = self.catalog.node(name)
        if found is None:
            raise InternalError(f"{name} is not a node type of the catalog")
        return self.of(found)

    def touched(self, table: TableType) -> bool:
        return self.of(table).changes is not None

    def changed_nodes(self) -> Iterator[NodeType]:
        return (node for node in self.catalog.nodes if self.touched(node))
