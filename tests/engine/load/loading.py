"""Graphs to load into, rows as they are stored, and files written on the fly."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from omnigraph_sql.base.catalog import TableType
from omnigraph_sql.engine.load.loader import load
from omnigraph_sql.engine.load.report import LoadReport, Watch
from omnigraph_sql.engine.load.values import LoadMode, Source
from omnigraph_sql.engine.store.tables import table_schema
from omnigraph_sql.engine.values import MAIN, TableIdentity
from omnigraph_sql.engine.world import Seams, World
from omnigraph_sql.engine.write.txn import Author
from tests.engine.worlds import contract, make, seams, small_schema

SCHEMA = """
node Town { code: String @key  name: String  height: I32?  mail: String? @unique  @range(height, -500..9000) }
node Year { number: I64 @key  note: String? }
node Day { on: Date @key }
node Cell { row: I32  column: String  @key(row, column) }
node Note { text: String  kind: enum(long, short)? }
node Kinds {
    name: String @key
    truth: Bool?  small: I32?  large: I64?  natural: U32?  huge: U64?  narrow: F32?  wide: F64?
    day: Date?  at: DateTime?  words: [String]?  numbers: [I64]?  pos: Vector(3)?  body: Blob?
}
edge Road: Town -> Town { miles: I32 }
edge Founded: Town -> Year @card(0..1)
edge On: Note -> Day
edge Near: Cell -> Cell { @unique(src, dst) }
"""

Lines = Sequence[Mapping[str, object] | str]


def graph(folder: Path, given: Seams | None = None) -> World:
    return make(folder / "g", given or seams(), schema=SCHEMA)


def put(
    world: World,
    *sources: Source | Path,
    mode: str = "append",
    branch: str = MAIN,
    author: Author | None = None,
    progress: Watch | None = None,
) -> LoadReport:
    given = [source if isinstance(source, Source) else Source(source) for source in sources]
    return load(world, lambda: contract(SCHEMA), branch, author or Author("ana"), given, LoadMode(mode), progress)


def jsonl(folder: Path, lines: Lines, name: str = "rows.jsonl") -> Path:
    path = folder / name
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return path


def town(code: str, **data: object) -> dict[str, object]:
    return {"type": "Town", "data": {"code": code, "name": code.title(), **data}}


def road(start: str, end: str, **more: object) -> dict[str, object]:
    return {"edge": "Road", "from": start, "to": end, "data": {"miles": 1}, **more}


def type_named(name: str) -> TableType:
    catalog = small_schema(SCHEMA).catalog
    found = catalog.node(name) or catalog.edge(name)
    assert found is not None
    return found


def stored(world: World, name: str, branch: str = MAIN) -> list[dict[str, Any]]:
    """What a branch shows of a table, by id."""
    of = type_named(name)
    pin = world.manifest.current(branch).snapshot.pin(TableIdentity.of(of))
    assert pin is not None
    table: pa.Table = world.tables.open(pin).dataset.scanner(blob_handling="all_binary").to_table()
    assert table.num_rows == pin.row_count
    rows = table.cast(pa.schema([f.remove_metadata() for f in table_schema(of)])).to_pylist()
    return sorted(rows, key=lambda row: str(row["id"]))


def ids(world: World, name: str, branch: str = MAIN) -> list[str]:
    return [row["id"] for row in stored(world, name, branch)]


def everything(world: World, branch: str = MAIN) -> dict[str, list[dict[str, Any]]]:
    return {table.name: stored(world, table.name, branch) for table in small_schema(SCHEMA).catalog.tables()}


def data_files(world: World) -> list[str]:
    assert world.root.local is not None
    return sorted(str(p) for p in world.root.local.glob("*/*/**/data/**/*") if p.is_file())
