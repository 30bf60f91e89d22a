"""Files of columns with types, right ones and wrong ones, and the local loader as the judge of their rows."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import omnigraph_sql as og
from omnigraph_sql.base.errors import DataError

SCHEMA = """
node Town {
    code: String @key
    name: String
    people: U32?
    level: I32?
    total: I64?
    height: F64?
    ratio: F32?
    kind: enum(big, small)?
    since: Date?
    seen: DateTime?
    tags: [String]?
    counts: [I32]?
    mood: Vector(2)?
    hub: Bool?
    body: Blob?
    @unique(name)
    @range(height, 0.0..9000.0)
}
node Stop { no: I32 @key }
edge Leg: Stop -> Town { miles: U64?  name: String?  @unique(name) }
"""
_FREE = re.compile(r"'[0-9A-Z]{26}'")
"""Ids that are made on the way differ from load to load."""
_PLACE = re.compile(r"(/\S*?\.parquet), row (\d+)")
_DAY, _THEN = date(2001, 2, 3), datetime(2020, 1, 2, 3, 4, 5, 678901, UTC)
_WHOLE = [0, 1, -1, 7, 2**31 - 1, 2**31, 2**32 - 1, 2**32, -(2**31), 2**40]
_REAL = [0.0, -0.0, 1.5, 9000.0, 9000.5, -0.1, 1e300, float("nan"), float("inf")]
_TEXT = ["", "a", "big", "small", "huge", "7", "2001-02-03", "ü"]


def _fits(of: pa.DataType) -> list[int]:
    low, high = (0, 2**of.bit_width - 1) if pa.types.is_unsigned_integer(of) else (-(2 ** (of.bit_width - 1)), 0)
    high = high or 2 ** (of.bit_width - 1) - 1
    return [value for value in [*_WHOLE, low, high] if low <= value <= high]


def _values(of: pa.DataType) -> list[Any]:
    """Values that a column of a file may hold."""
    kinds = pa.types
    if kinds.is_dictionary(of):
        return _values(of.value_type)
    if kinds.is_integer(of):
        return list(_fits(of))
    if kinds.is_decimal(of):
        return [Decimal(value) for value in (0, -1, 7, 2**32, 2**64 - 1, 10**19 * 9)]
    if kinds.is_floating(of):
        return [value for value in _REAL if of != pa.float32() or abs(value) < 1e38 or value != value or value > 1e308]
    if kinds.is_boolean(of):
        return [True, False]
    if kinds.is_date(of):
        return [_DAY, date(1, 1, 1), date(9999, 12, 31)]
    if kinds.is_timestamp(of):
        return [_THEN if of.tz else _THEN.replace(tzinfo=None)]
    if kinds.is_fixed_size_list(of):
        return [[0.0, 1.5], [-0.0, 1e30]]
    if kinds.is_list(of) or kinds.is_large_list(of):
        some = _values(of.value_type)
        return [[], some[:1], some[:2], [*some[:1], None], some[-2:]]
    if kinds.is_binary(of) or kinds.is_large_binary(of):
        return [b"", b"\x00\xff", b"a"]
    return _TEXT


TYPES: dict[str, list[pa.DataType]] = {
    "people": [
        pa.uint32(),
        pa.int64(),
        pa.int32(),
        pa.uint64(),
        pa.int16(),
        pa.float64(),
        pa.utf8(),
        pa.bool_(),
        pa.decimal128(20, 0),
    ],
    "level": [pa.int32(), pa.int64(), pa.uint32(), pa.uint8(), pa.int8(), pa.float32(), pa.large_utf8(), pa.date32()],
    "total": [pa.int64(), pa.uint64(), pa.int32(), pa.float64(), pa.utf8(), pa.timestamp("us", "UTC")],
    "height": [pa.float64(), pa.float32(), pa.int64(), pa.uint16(), pa.utf8(), pa.bool_()],
    "ratio": [pa.float32(), pa.float64(), pa.int32(), pa.utf8()],
    "kind": [pa.utf8(), pa.large_utf8(), pa.dictionary(pa.int32(), pa.utf8()), pa.int32(), pa.binary()],
    "since": [pa.date32(), pa.timestamp("us", "UTC"), pa.utf8(), pa.int32()],
    "seen": [
        pa.timestamp("us", "UTC"),
        pa.timestamp("ms", "UTC"),
        pa.timestamp("us", "America/Lima"),
        pa.timestamp("us", "+05:30"),
        pa.timestamp("us"),
        pa.date32(),
        pa.utf8(),
        pa.int64(),
    ],
    "tags": [pa.list_(pa.utf8()), pa.large_list(pa.utf8()), pa.list_(pa.large_utf8()), pa.list_(pa.int32()), pa.utf8()],
    "counts": [
        pa.list_(pa.int32()),
        pa.list_(pa.int64()),
        pa.list_(pa.uint32()),
        pa.list_(pa.uint64()),
        pa.list_(pa.float64()),
        pa.int32(),
    ],
    "mood": [
        pa.list_(pa.float32()),
        pa.list_(pa.float32(), 2),
        pa.list_(pa.float64()),
        pa.list_(pa.int32()),
        pa.float32(),
    ],
    "hub": [pa.bool_(), pa.int8(), pa.utf8()],
    "body": [pa.binary(), pa.large_binary(), pa.utf8(), pa.int32()],
}


ENDS: list[pa.DataType] = [
    pa.int32(),
    pa.int64(),
    pa.uint64(),
    pa.utf8(),
    pa.large_utf8(),
    pa.dictionary(pa.int32(), pa.utf8()),
    pa.float64(),
    pa.decimal128(20, 0),
    pa.bool_(),
    pa.date32(),
    pa.binary(),
]


def edge_files(chance: random.Random, folder: Path) -> list[Path]:
    """One or two files of edges: ends by id or by key, of right and wrong types, some of them missing."""
    source = chance.choice([pa.int32(), pa.int64(), pa.utf8()] if chance.random() < 0.6 else ENDS)
    target = chance.choice([pa.utf8(), pa.large_utf8()] if chance.random() < 0.6 else ENDS)
    miles = chance.choice([pa.uint64(), pa.int64(), pa.decimal128(20, 0), pa.utf8()])
    ends = chance.choice([("src", "dst"), ("from", "to")])
    schema = pa.schema([(ends[0], source), (ends[1], target), ("miles", miles), ("name", pa.utf8())])
    folder.mkdir()
    made = []
    for number in range(chance.choice([1, 2])):
        rows = [
            {
                ends[0]: _end(chance, source, ["1", "2", "3"]),
                ends[1]: _end(chance, target, ["old", "older"]),
                "miles": chance.choice(_values(miles)) if chance.random() < 0.2 else None,
                "name": f"L{number * 100 + n}" if chance.random() < 0.9 else chance.choice(["L0", "L1", "held", None]),
            }
            for n in range(20)
        ]
        path = folder / f"{number}.parquet"
        pq.write_table(pa.Table.from_pylist(rows, schema), path, row_group_size=chance.choice([7, 100]))
        made.append(path)
    return made


def _end(chance: random.Random, of: pa.DataType, known: list[str]) -> Any:
    """An end that is there, as far as the type has one; sometimes another value, sometimes none."""
    if chance.random() < 0.1:
        return chance.choice([*_values(of), None])
    end = chance.choice(known)
    if pa.types.is_string(of) or pa.types.is_large_string(of) or pa.types.is_dictionary(of):
        return end
    if end.isdigit() and (pa.types.is_integer(of) or pa.types.is_floating(of) or pa.types.is_decimal(of)):
        return Decimal(end) if pa.types.is_decimal(of) else int(end)
    return chance.choice(_values(of))


def files(chance: random.Random, folder: Path) -> list[Path]:
    """Two or three files with the same columns: about half of them as they should be, some of a wrong type."""
    chosen = {name: types[0] if chance.random() < 0.5 else chance.choice(types) for name, types in TYPES.items()}
    names = [name for name in chosen if chance.random() < 0.7]
    text = chance.choice([pa.utf8(), pa.large_utf8(), pa.dictionary(pa.int32(), pa.utf8())])
    schema = pa.schema([("code", text), ("name", pa.utf8()), *((name, chosen[name]) for name in names)])
    folder.mkdir()
    made = []
    for number in range(chance.choice([2, 3])):
        rows = [_row(chance, schema, number * 100 + n) for n in range(chance.choice([1, 20]))]
        path = folder / f"{number}.parquet"
        pq.write_table(pa.Table.from_pylist(rows, schema), path, row_group_size=chance.choice([3, 7, 100]))
        made.append(path)
    return made


def _row(chance: random.Random, schema: pa.Schema, number: int) -> dict[str, Any]:
    row: dict[str, Any] = {"code": f"c{number}", "name": f"N{number}"}
    if chance.random() < 0.1:
        row["code"] = chance.choice(["c0", "c1", "old", None])
    if chance.random() < 0.1:
        row["name"] = chance.choice(["N0", "N1", "Old", None])
    for field in schema:
        if field.name not in row:
            row[field.name] = chance.choice(_values(field.type)) if chance.random() < 0.25 else None
    return row


def graph(folder: Path, name: str) -> og.Graph:
    made = og.init(folder / f"{name}.omni", schema=SCHEMA)
    made.load(pa.table({"code": ["old", "older"], "name": ["Old", "Older"]}), type="Town", mode="append")
    made.load(pa.table({"no": [1, 2, 3]}), type="Stop", mode="append")
    made.load(pa.table({"src": [1], "dst": ["old"], "name": ["held"]}), type="Leg", mode="append")
    return made


@dataclass(frozen=True, slots=True)
class Told:
    """A refusal: the file, the row in it, the reason without them, and what else is said."""

    file: str
    row: int
    reason: str
    code: str
    hint: str | None


def told(file: str | None, row: int | None, reason: str, code: str, hint: str | None) -> Told:
    """A refusal as both loaders give it; where it lies is the same for all places in it."""
    assert file is not None
    assert row is not None
    folder = str(Path(file).parent)
    plain = _FREE.sub("'…'", reason.removeprefix(f"{file}, row {row}: ").replace(folder, ""))
    return Told(Path(file).name, row, plain, code, hint)


def judged(made: og.Graph, paths: list[Path], mode: str, of: str = "Town") -> list[Told]:
    """Load with the local loader, taking the refused row out each time, until nothing is refused."""
    tables = {str(path): pq.read_table(path) for path in paths}
    rows = {path: list(range(1, table.num_rows + 1)) for path, table in tables.items()}
    found: list[Told] = []
    for _ in range(1 + sum(table.num_rows for table in tables.values())):
        try:
            made.load(paths, type=of, mode=mode)
            return found
        except DataError as error:
            found.append(_taken_out(error, tables, rows))
    raise AssertionError("the local loader never came to an end")


def _taken_out(error: DataError, tables: dict[str, pa.Table], rows: dict[str, list[int]]) -> Told:
    """Places in a refusal are those of what is left; it is about the rows as they were."""
    named = re.match(r"(.*?), row (\d+): ", error.message)
    assert named is not None, error.message
    path, row = named[1], int(named[2]) - 1
    reason = _PLACE.sub(lambda p: f"{p[1]}, row {rows[p[1]][int(p[2]) - 1]}", error.message)
    own = rows[path].pop(row)
    tables[path] = pa.concat_tables([tables[path].slice(0, row), tables[path].slice(row + 1)])
    pq.write_table(tables[path], path)
    return told(path, own, reason, error.code, error.hint)
