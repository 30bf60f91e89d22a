"""Small graphs on disk for tests of reads."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from omnigraph_sql.base.catalog import Catalog
from omnigraph_sql.base.expr import Value
from omnigraph_sql.bind.schema import compile_schema
from omnigraph_sql.engine.opening import init
from omnigraph_sql.engine.store.root import GraphRoot
from omnigraph_sql.engine.store.tables import table_schema
from omnigraph_sql.engine.values import MAIN
from omnigraph_sql.engine.world import World
from omnigraph_sql.engine.write.staging import MutationStaging
from omnigraph_sql.engine.write.txn import Author, Contract, WriteTxn, write
from omnigraph_sql.plan.compile import Compiled, compile_any
from omnigraph_sql.run.contract import contract_files
from omnigraph_sql.run.read import read
from omnigraph_sql.run.scene import Scene

NOW = datetime(2031, 2, 3, 4, 5, 6, tzinfo=UTC)
Rows = dict[str, list[dict[str, Any]]]


class Graph:
    """A graph of one schema, filled once, that answers statements with rows."""

    def __init__(self, folder: Path, schema: str, rows: Rows) -> None:
        self.ir = compile_schema(schema)
        self.catalog: Catalog = self.ir.catalog
        self.world = World.at(GraphRoot.parse(str(folder)))
        init(self.world, contract_files(self.ir), self.catalog)
        if any(rows.values()):
            self.write(rows)

    def write(self, rows: Rows) -> None:
        contract = Contract(self.catalog, self.ir.identity_domain, self.ir.ir_hash, lambda: None)

        def fill(_: WriteTxn, staging: MutationStaging) -> None:
            self.stage(staging, rows)

        write(self.world, lambda: contract, MAIN, Author(), fill)

    def stage(self, staging: MutationStaging, rows: Rows) -> None:
        """Rows by type name, staged as new."""
        for name, found in rows.items():
            of = self.catalog.node(name) or self.catalog.edge(name)
            assert of is not None
            if found:
                staging.insert(of, self.table(name, found))

    def table(self, name: str, rows: list[dict[str, Any]]) -> pa.Table:
        of = self.catalog.node(name) or self.catalog.edge(name)
        assert of is not None
        return pa.Table.from_pylist(rows, schema=table_schema(of))

    def scene(self, parameters: dict[str, Value] | None = None, staging: MutationStaging | None = None) -> Scene:
        snapshot = self.world.manifest.current(MAIN).snapshot
        return Scene(self.world, snapshot, self.catalog, NOW, staging, parameters or {})

    def compile(self, text: str) -> Compiled:
        return compile_any(text, self.catalog)

    def ask(
        self, text: str, parameters: dict[str, Value] | None = None, staging: MutationStaging | None = None
    ) -> list[tuple[Any, ...]]:
        """The rows of a statement, in order."""
        (program,) = self.compile(text).programs
        return rows_of(read(program.plan, self.scene(parameters, staging)))


def rows_of(reader: pa.RecordBatchReader) -> list[tuple[Any, ...]]:
    table = reader.read_all()
    columns = [column.to_pylist() for column in table.columns]
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows
