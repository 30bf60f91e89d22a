"""scan_with_pending: the committed rows of a table and the pending ones of a transaction, as one table."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from omnigraph_sql.engine.store.provider import CommittedDataset, Shadow, readable
from omnigraph_sql.engine.store.tables import OpenTable


def scan_with_pending(
    session: Any, table: OpenTable, pending: pa.Table | None, shadow: Shadow | None, within: str | None = None
) -> Any:
    """A DataFrame of `session`: committed rows but for those in `shadow`, then the pending rows.

    `within` is a filter that every wanted committed row passes. Pending rows are filtered by the engine itself: an
    Arrow expression treats null otherwise than SQL does.
    """
    from datafusion import Table

    committed = session.read_table(Table(CommittedDataset(table, shadow, within)))
    if pending is None or not pending.num_rows:
        return committed
    return committed.union(session.read_batches(readable_batches(pending)))


def readable_batches(rows: pa.Table) -> list[pa.RecordBatch]:
    """Rows in memory as the engine sees stored ones; at least one batch."""
    schema = pa.schema([readable(field) for field in rows.schema])
    plain = pa.table([rows.column(name) for name in schema.names], schema=schema)
    return plain.to_batches() or [pa.RecordBatch.from_pylist([], schema=schema)]
