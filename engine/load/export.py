"""A graph as lines of JSON, which a load turns back into an equal graph: nodes first, then edges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from omnigraph_sql.base.catalog import DST, ID, SRC, Catalog, EdgeType, TableType
from omnigraph_sql.base.errors import InternalError
from omnigraph_sql.base.spelling import as_json
from omnigraph_sql.engine.load.report import Phase, Progress, Watch
from omnigraph_sql.engine.values import Snapshot, TableIdentity, table_key
from omnigraph_sql.engine.world import World


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What was exported: the commit, and the rows of each table in the order they were written."""

    commit_id: str
    tables: tuple[tuple[str, int], ...]

    @property
    def rows(self) -> int:
        return sum(count for _, count in self.tables)


def export_lines(
    world: World, snapshot: Snapshot, types: Sequence[TableType], watch: Watch | None = None
) -> Iterator[str]:
    """The rows of some types in one state, a line each without its line break. Holds one batch at a time."""
    done: list[tuple[str, int]] = []
    for of in types:
        key, count = table_key(of), 0
        for batch in _batches(world, snapshot, of):
            yield from (_line(of, row) for row in batch.to_pylist())
            count += batch.num_rows
            if watch is not None:
                watch(Progress(Phase.READING, sum(n for _, n in done) + count, 0, (*done, (key, count))))
        done.append((key, count))


def exported_types(catalog: Catalog) -> tuple[TableType, ...]:
    """Every type, in an order in which edges find the nodes they end on."""
    return (*catalog.nodes, *catalog.edges)


def _batches(world: World, snapshot: Snapshot, of: TableType) -> Iterator[pa.RecordBatch]:
    pin = snapshot.pin(TableIdentity.of(of))
    if pin is None:
        raise InternalError(f"{table_key(of)} is not a table of this state")
    return world.tables.batches(world.tables.open(pin))


def _line(of: TableType, row: dict[str, Any]) -> str:
    data = {p.name: row[p.name] for p in of.properties if row[p.name] is not None}
    if isinstance(of, EdgeType):
        return as_json({"edge": of.name, "id": row[ID], "from": row[SRC], "to": row[DST], "data": data})
    # The id of a keyed row follows from its key.
    return as_json({"type": of.name, "data": data} if of.key else {"type": of.name, "id": row[ID], "data": data})
