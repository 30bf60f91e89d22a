"""Small graphs to validate changes against, and changes written as plain rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa

from omnigraph_sql.base.catalog import Catalog, TableType
from omnigraph_sql.engine.opening import ContractFiles, init
from omnigraph_sql.engine.store.root import GraphRoot
from omnigraph_sql.engine.store.tables import table_schema
from omnigraph_sql.engine.values import Snapshot
from omnigraph_sql.engine.world import World
from omnigraph_sql.engine.write.ids import Ids
from omnigraph_sql.engine.write.staging import Mode, MutationStaging, TableChanges
from omnigraph_sql.engine.write.txn import Author, Contract, WriteTxn, write

Row = Mapping[str, object]


def type_of(catalog: Catalog, name: str) -> TableType:
    found = catalog.node(name) or catalog.edge(name)
    assert found is not None
    return found


def rows(table: TableType, given: Sequence[Row]) -> pa.Table:
    """Rows in the table's schema, whether or not they keep its rules; what is left out is null. Two to a chunk."""
    plain = pa.schema([pa.field(f.name, f.type) for f in table_schema(table)])
    whole = pa.Table.from_pylist([dict(r) for r in given], schema=plain)
    return pa.Table.from_batches(whole.to_batches(max_chunksize=2), plain)


def changed(
    table: TableType,
    mode: Mode,
    *batches: Sequence[Row],
    deleted: Sequence[str] = (),
    generated: bool = False,
) -> TableChanges:
    made = tuple(rows(table, batch) for batch in batches)
    fresh = {str(r["id"]) for batch in batches for r in batch} if mode is Mode.INSERT else set()
    return TableChanges(table, mode, made, Ids(fresh), frozenset(deleted), generated)


def build(folder: Path, catalog: Catalog, content: Mapping[str, Sequence[Row]]) -> tuple[World, Snapshot]:
    """A graph that holds exactly these rows, rules or no rules."""
    world = World.at(GraphRoot.parse(str(folder / "g.omni")))
    init(world, ContractFiles(b"text", b"ir", b"state"), catalog)

    def fill(txn: WriteTxn, staging: MutationStaging) -> None:
        del txn
        for name, given in content.items():
            table = type_of(catalog, name)
            staging.insert(table, rows(table, given).cast(table_schema(table)))

    with patch("omnigraph_sql.engine.write.txn.validate"):
        write(world, lambda: Contract(catalog, "domain", "hash", lambda: None), "main", Author(), fill)
    return world, world.manifest.current("main").snapshot
