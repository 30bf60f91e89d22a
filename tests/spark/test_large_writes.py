"""A write of any size, checked range by range, is taken and refused as one that is checked in memory. Without Spark."""

from __future__ import annotations

import os
import pickle
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import omnigraph_sql as og
from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import OmniError, ReadSetChanged
from omnigraph_sql.base.seams import SystemClock, UlidSource
from omnigraph_sql.engine.load.report import LoadMode
from omnigraph_sql.engine.write.txn import Author
from omnigraph_sql.spark import large_rules
from omnigraph_sql.spark.committing import Written, publish
from omnigraph_sql.spark.digests import row_digests
from omnigraph_sql.spark.large_write import LargeWrite
from omnigraph_sql.spark.place import GraphPlace, tables_at
from omnigraph_sql.spark.range_file import RangeFile
from omnigraph_sql.spark.reading import pinned
from omnigraph_sql.spark.writing import Target
from tests.spark.air import content

FULL = os.environ.get("OMNI_SPARK") == "full"
SCHEMA = """
node Town {
    code: String @key
    name: String?
    a: I32?
    b: F64?
    @unique(name)
    @unique(a, b)
}
node Tag { label: String }
edge Road: Town -> Town @card(1..3) { no: I32?  @unique(no) }
edge Marks: Tag -> Town
"""
TOWNS = pa.schema([("code", pa.utf8()), ("name", pa.utf8()), ("a", pa.int32()), ("b", pa.float64())])
TAGS = pa.schema([("id", pa.utf8()), ("label", pa.utf8())])
ROADS = pa.schema([("id", pa.utf8()), ("src", pa.utf8()), ("dst", pa.utf8()), ("no", pa.int32())])
MARKS = pa.schema([("src", pa.utf8()), ("dst", pa.utf8())])
SCHEMAS = {"Town": TOWNS, "Tag": TAGS, "Road": ROADS, "Marks": MARKS}


def graph(folder: Path, name: str = "g") -> og.Graph:
    """Eight towns, with two roads from each of the first four; some tags that mark some of the towns."""
    made = og.init(folder / f"{name}.omni", schema=SCHEMA)
    towns = [{"code": f"t{n}", "name": f"N{n}", "a": n // 2, "b": float(n % 2)} for n in range(8)]
    made.load(pa.Table.from_pylist(towns, TOWNS), type="Town", mode="append")
    made.load(pa.Table.from_pylist([{"id": f"g{n}", "label": "l"} for n in range(4)], TAGS), type="Tag", mode="append")
    roads = [{"id": f"r{n}", "src": f"t{n // 2}", "dst": f"t{n}", "no": n} for n in range(8)]
    made.load(pa.Table.from_pylist(roads, ROADS), type="Road", mode="append")
    made.load(pa.Table.from_pylist([{"src": "g0", "dst": "t5"}], MARKS), type="Marks", mode="append")
    return made


def rows_of(chance: random.Random, of: str, count: int) -> list[dict[str, Any]]:
    """Rows of which few or many are wrong, depending on how much there is to choose from."""
    wide = chance.choice([6, 40, 400])

    def town() -> str:
        return f"t{chance.randrange(8)}" if chance.random() < 0.97 else f"t{chance.randrange(8, 12)}"

    def one(number: int) -> dict[str, Any]:
        match of:
            case "Town":
                code = f"t{chance.randrange(wide)}" if chance.random() < 0.5 else f"u{number}"
                name = chance.choice([None, f"N{chance.randrange(4 * wide)}"])
                b = chance.choice([None, 0.0, -0.0, 0.5, float(number)])
                return {"code": code, "name": name, "a": chance.choice([None, chance.randrange(wide)]), "b": b}
            case "Tag":
                return {"id": f"g{chance.randrange(wide)}", "label": "new"}
            case "Road":
                own = f"r{chance.randrange(wide)}"
                no = chance.choice([None, chance.randrange(2 * wide)])
                return {"id": own, "src": town(), "dst": town(), "no": no}
            case _:
                return {"src": f"g{chance.randrange(4)}", "dst": town()}

    return [one(number) for number in range(count)]


def written(made: og.Graph, of: str, mode: str, parts: list[pa.Table], branch: str = "main") -> Written:
    """What tasks wrote, one for each part."""
    place = pinned(GraphPlace(made.uri, branch), {})
    kind = "node" if of in ("Town", "Tag") else "edge"
    target = Target(place, f"{kind}:{of}", tuple(parts[0].schema.names), LoadMode(mode), Author("ana", None))
    return target.written("01M7QENZ8T6C00C8TCED7HQSX6", [target.write(iter(part.to_batches())) for part in parts])


def outcome(wish: Written) -> dict[str, Any]:
    """What came of a publish: the refusal, or everything that is in the graph."""
    try:
        publish(wish)
    except OmniError as error:
        return {"class": type(error).__name__, "ids": getattr(error, "ids", None), **error.to_dict()}
    return content(og.open(wish.place.uri, branch=wish.place.branch, read_only=True))


def both(folder: Path, made: og.Graph, wish: Written, monkeypatch: pytest.MonkeyPatch, at_once: int) -> Any:
    """The outcome in memory, after seeing that range by range it is the same one."""
    twin = folder / "twin.omni"
    shutil.copytree(made.uri, twin)
    monkeypatch.setattr(limits, "SPARK_WRITE_ROWS_IN_MEMORY", at_once)
    far = outcome(replace(wish, place=replace(wish.place, uri=str(twin))))
    monkeypatch.undo()
    near = outcome(wish)
    assert far == near
    if "class" not in near:
        both_files = [sorted(p.name for p in Path(uri).rglob("data/*.lance")) for uri in (made.uri, twin)]
        assert len(both_files[0]) == len(both_files[1])
    shutil.rmtree(twin)
    return near


def parts_of(chance: random.Random, rows: list[dict[str, Any]], schema: pa.Schema) -> list[pa.Table]:
    cuts = sorted(chance.randrange(len(rows)) for _ in range(chance.randrange(3)))
    edges = [0, *cuts, len(rows)]
    return [pa.Table.from_pylist(rows[a:b], schema) for a, b in pairwise(edges)]


@pytest.mark.parametrize("seed", range(300) if FULL else range(12))
@pytest.mark.parametrize("of", list(SCHEMAS))
def test_range_by_range_writes_are_taken_and_refused_as_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, of: str
) -> None:
    print(f"seed {seed}")
    chance = random.Random(f"{seed} {of}")
    made = graph(tmp_path)
    rows, schema = rows_of(chance, of, chance.choice([2, 5, 30])), SCHEMAS[of]
    mode = chance.choice(["append", "merge", "merge", "overwrite"])
    if of == "Road" and chance.random() < 0.3:
        schema = ROADS.remove(0)
    wish = written(made, of, mode, parts_of(chance, rows, schema))
    both(tmp_path, made, wish, monkeypatch, chance.choice([1, 4]))


@pytest.mark.parametrize("seed", range(60) if FULL else range(6))
def test_values_that_share_a_hash_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """False alarms: the rows are looked at themselves, and only a rule that is broken refuses."""
    print(f"seed {seed}")
    chance = random.Random(seed)
    made = graph(tmp_path)
    rows, mode = rows_of(chance, "Town", 20), chance.choice(["append", "merge"])
    wish = written(made, "Town", mode, parts_of(chance, rows, TOWNS))
    real = row_digests
    asked: list[int] = []

    def few(batch: pa.RecordBatch, start: int, **more: bool) -> Any:
        asked.append(batch.num_rows)
        return real(batch, start, **more) & np.uint64(7)

    monkeypatch.setattr(large_rules, "row_digests", few)
    twin = tmp_path / "twin.omni"
    shutil.copytree(made.uri, twin)
    near = outcome(wish)
    assert not asked
    monkeypatch.setattr(limits, "SPARK_WRITE_ROWS_IN_MEMORY", 3)
    assert outcome(replace(wish, place=replace(wish.place, uri=str(twin)))) == near
    assert asked


@pytest.mark.parametrize(("more", "by_ranges"), [(-1, False), (0, False), (1, True)])
@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_one_row_more_than_the_limit_goes_range_by_range(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: int, by_ranges: bool, mode: str
) -> None:
    """Rows of the base count where the local evaluator would read all of them."""
    made = og.init(tmp_path / "g.omni", schema="node A { k: I32 @key }")
    made.load(pa.table({"k": pa.array(range(7), pa.int32())}), type="A", mode="append")
    base = 7 if mode == "overwrite" else 0
    place = pinned(GraphPlace(made.uri), {})
    target = Target(place, "node:A", ("k",), LoadMode(mode), Author())
    rows = pa.table({"k": pa.array(range(10, 20), pa.int32())})
    wish = target.written("01M7QENZ8T6C00C8TCED7HQSX6", [target.write(iter(rows.to_batches()))])
    seen: list[object] = []
    prepare = LargeWrite.prepare

    def watched(one: LargeWrite, txn: Any) -> Any:
        seen.append(one)
        return prepare(one, txn)

    monkeypatch.setattr(LargeWrite, "prepare", watched)
    monkeypatch.setattr(limits, "SPARK_WRITE_ROWS_IN_MEMORY", 10 + base - more)
    publish(wish)
    assert bool(seen) is by_ranges
    assert made.sql("SELECT count(*) FROM A").fetchone() == (17 - base,)


@pytest.mark.parametrize("branch", ["main", "side"])
def test_a_writer_in_between_is_seen_by_a_large_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, branch: str
) -> None:
    """A merge checks again on the new head, wherever its files lie; an overwrite gives up and leaves no file."""
    made = graph(tmp_path)
    made.create_branch("side")
    at = made.checkout(branch)
    moves = iter(["between", "again"])
    prepare = LargeWrite.prepare

    def meanwhile(one: LargeWrite, txn: Any) -> Any:
        found = prepare(one, txn)
        code = next(moves, None)
        if code is not None:
            at.sql("INSERT INTO Town (code, name) VALUES ($code, $code)", {"code": code})
        return found

    monkeypatch.setattr(LargeWrite, "prepare", meanwhile)
    monkeypatch.setattr(limits, "SPARK_WRITE_ROWS_IN_MEMORY", 2)
    rows = pa.Table.from_pylist([{"code": "t1", "name": "new"}, {"code": "t1"}, {"code": "t99", "name": "N99"}], TOWNS)
    publish(written(at, "Town", "merge", [rows.slice(0, 1), rows.slice(1)], branch))
    moves = iter(["late"])
    found = dict(at.sql("SELECT code, name FROM Town").fetchall())
    assert (found["t1"], found["t99"], found["t2"], len(found)) == (None, "N99", "N2", 11)
    other = made if branch == "side" else made.checkout("side")
    assert other.sql("SELECT count(*) FROM Town").fetchone() == (8,)
    before, moves = data_files(made, "Tag"), iter(["late"])
    tags = pa.Table.from_pylist([{"id": "g0", "label": "a"}, {"id": "x", "label": "b"}], TAGS)
    late = replace(written(at, "Tag", "overwrite", [tags], branch), load_id="01M7QENZ8T6C00C8TCED7HQSX7")
    assert data_files(made, "Tag") != before
    with pytest.raises(ReadSetChanged):
        publish(late)
    assert data_files(made, "Tag") == before


def data_files(made: og.Graph, of: str) -> list[str]:
    tables = tables_at(pinned(GraphPlace(made.uri), {}))
    return sorted(str(path) for path in (Path(made.uri) / tables.pin(tables.type(of)).path).rglob("*.lance"))


def test_a_merge_leaves_no_file_behind_that_it_wrote_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = graph(tmp_path)
    for at_once in (2, 100):
        monkeypatch.setattr(limits, "SPARK_WRITE_ROWS_IN_MEMORY", at_once)
        before = data_files(made, "Tag")
        rows = pa.Table.from_pylist([{"id": f"new{at_once}", "label": text} for text in "abc"], TAGS)
        wish = replace(written(made, "Tag", "merge", [rows]), load_id=UlidSource(SystemClock()).ulid())
        publish(wish)
        assert len(data_files(made, "Tag")) == len(before) + 1
        assert made.sql("SELECT label FROM Tag WHERE id = $id", {"id": f"new{at_once}"}).fetchall() == [("c",)]


@pytest.mark.parametrize("ranges", [1, 2, 8])
def test_a_range_file_gives_back_every_row_once_in_the_range_of_its_hash(ranges: int) -> None:
    rows = 200
    parted = RangeFile(rows, 2, rows // ranges)
    assert parted.ranges == ranges
    numbers = np.random.default_rng(ranges).integers(0, 1 << 64, rows, np.uint64, endpoint=False)
    for start in range(0, rows, 13):
        some = numbers[start : start + 13]
        parted.put(start % 2, (some, np.arange(start, start + len(some))))
    found: list[tuple[int, int]] = []
    for kind in (0, 1):
        for number in range(ranges):
            for part in parted.read(kind, number):
                assert (part[:, 0].astype(object) * ranges >> 64 == number).all()
                assert (part[:, 1] // 13 * 13 % 2 == kind).all()
                found += [(int(value), int(row)) for value, row in part.tolist()]
    parted.close()
    assert sorted(found, key=lambda pair: pair[1]) == [(int(value), row) for row, value in enumerate(numbers.tolist())]


_ROWS, _WIDTH = 1_600_000, 300
_PEAK = """
import pickle, sys
from pathlib import Path
from omnigraph_sql.base import limits
from omnigraph_sql.spark.committing import publish

def memory(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))

small, wish = pickle.loads(Path(sys.argv[1]).read_bytes())
limits.SPARK_WRITE_ROWS_IN_MEMORY = int(sys.argv[2])
publish(small)
Path("/proc/self/clear_refs").write_text("5")
before = memory("VmRSS")
publish(wish)
print(memory("VmHWM") - before)
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak of a process is read from /proc")
@pytest.mark.parametrize("mode", ["append", "merge"])
def test_the_memory_of_a_large_write_does_not_follow_its_rows(tmp_path: Path, mode: str) -> None:
    """The ids alone are three times of what the whole publish may take."""
    made = og.init(tmp_path / "g.omni", schema="node A { k: String @key }  edge E: A -> A @card(0..5)")
    clock, base = UlidSource(SystemClock()), _ROWS // 8

    def wish(first: int, rows: int, how: str) -> Written:
        target = Target(pinned(GraphPlace(made.uri), {}), "node:A", ("k",), LoadMode(how), Author())
        return target.written(clock.ulid(), [target.write(_keys(first, rows))])

    publish(wish(0, base, "append"))
    wishes = (wish(20_000_000, 1000, mode), wish(base if mode == "append" else 0, _ROWS, mode))
    (tmp_path / "wishes").write_bytes(pickle.dumps(wishes))
    told = subprocess.run(
        [sys.executable, "-c", _PEAK, str(tmp_path / "wishes"), "50000"], capture_output=True, text=True, check=True
    )
    print(mode, told.stdout)
    assert int(told.stdout) < _ROWS * _WIDTH / 3
    more = base if mode == "append" else 0
    assert made.sql("SELECT count(*) FROM A").fetchone() == (_ROWS + 1000 + more,)


def _keys(first: int, rows: int) -> Iterator[pa.RecordBatch]:
    for start in range(first, first + rows, 65_536):
        numbers = pa.array(range(start, min(start + 65_536, first + rows)))
        yield pa.RecordBatch.from_arrays([pc.utf8_lpad(numbers.cast(pa.utf8()), _WIDTH, "x")], names=["k"])
