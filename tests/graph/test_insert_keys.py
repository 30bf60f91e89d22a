"""INSERTs one by one in a transaction: a key that is held is refused at its statement, and others cost no look."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow.dataset import dataset

import omnigraph_sql as og
from omnigraph_sql.base.errors import ConstraintViolation, KeyConflict
from omnigraph_sql.base.seams import PlannedFaults
from omnigraph_sql.engine.store import held_ids
from omnigraph_sql.engine.store.held_ids import Hashes, HeldIds
from omnigraph_sql.engine.world import Seams
from omnigraph_sql.graph import Graph
from omnigraph_sql.statements import Request

SCHEMA = """
node P { k: String @key  n: I64? }
node Free { a: I64? }
edge E: P -> P { w: I64?  @key(src, dst) }
"""
KEYS = [f"k{number}" for number in range(12)]


@dataclass(frozen=True, slots=True)
class Act:
    """One thing done: to the graph at large, or in the transaction that is open."""

    what: str
    key: str


ACTS = st.builds(
    Act,
    st.sampled_from(["insert"] * 6 + ["edge"] * 2 + ["commit", "rollback", "elsewhere", "delete"]),
    st.sampled_from(KEYS),
)


@contextmanager
def hashed(numbers: int | None) -> Iterator[None]:
    """Ids have one of so many hashes."""
    before = held_ids.hashes

    def few(ids: pa.Array) -> Hashes:
        return before(ids) % numbers if numbers is not None else before(ids)

    held_ids.hashes = few
    try:
        yield
    finally:
        held_ids.hashes = before


class Model:
    """What the transaction must do, by sets of keys."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.shown = {f"other{number}" for number in range(40)}
        graph.sql("INSERT INTO P SELECT 'other' || x, 0 FROM generate_series(0, 39) AS s(x)")
        self.begin()

    def begin(self) -> None:
        self.tx = self.graph.transaction()
        self.base, self.mine = set(self.shown), set[str]()

    def edge(self, key: str) -> str:
        return f'["{KEYS[0]}","{key}"]'

    def do(self, act: Act) -> None:
        match act.what:
            case "insert":
                self.insert(act.key, "INSERT INTO P VALUES ($k, 1)")
            case "edge":
                if {act.key, KEYS[0]} <= self.base | self.mine:
                    self.insert(self.edge(act.key), f"INSERT INTO E (src, dst) VALUES ('{KEYS[0]}', $k)", act.key)
            case "commit":
                self.commit()
            case "rollback":
                self.tx.rollback()
                self.begin()
            case "elsewhere":
                if act.key not in self.shown:
                    self.graph.sql("INSERT INTO P VALUES ($k, 2)", {"k": act.key})
                    self.shown.add(act.key)
            case _:
                self.graph.sql("DELETE FROM P WHERE k = $k", {"k": act.key})
                ends = {one for one in self.shown if one.startswith("[") and f'"{act.key}"' in one}
                self.shown -= {act.key} | ends

    def insert(self, own: str, text: str, key: str | None = None) -> None:
        given = {"k": key or own}
        if own in self.base | self.mine:
            with pytest.raises(KeyConflict) as caught:
                self.tx.sql(text, given)
            assert caught.value.id == own
        else:
            self.tx.sql(text, given)
            self.mine.add(own)

    def commit(self) -> None:
        """On the newest state: keys that came meanwhile are refused there, and so are edges whose ends went."""
        clash = self.mine & self.shown
        lost = any(
            f'"{key}"' in one
            for one in self.mine
            if one.startswith("[")
            for key in KEYS
            if key not in self.shown | self.mine
        )
        if clash or lost:
            with pytest.raises((KeyConflict, ConstraintViolation)):
                self.tx.commit()
        else:
            self.tx.commit()
            self.shown |= self.mine
        self.begin()


@settings(max_examples=30, deadline=None)
@given(
    acts=st.lists(ACTS, min_size=8, max_size=40),
    limit=st.sampled_from([0, 8, 400, 1 << 20]),
    rows_per_question=st.sampled_from([1, 20, 100]),
    numbers=st.sampled_from([None, None, 1, 3]),
)
def test_a_key_is_refused_exactly_when_it_is_held(
    acts: list[Act], limit: int, rows_per_question: int, numbers: int | None
) -> None:
    with tempfile.TemporaryDirectory() as folder, hashed(numbers), og.init(Path(folder) / "g", schema=SCHEMA) as graph:
        graph._world.tables.held_ids = HeldIds(limit, rows_per_question)
        model = Model(graph)
        for act in acts:
            model.do(act)
        model.commit()
        found = {k for (k,) in graph.sql("SELECT id FROM P UNION ALL SELECT id FROM E").fetchall()}
        assert found == model.shown
        assert graph.stats()["held_ids"]["bytes"] <= limit


@settings(max_examples=100)
@given(
    held=st.sets(st.text(max_size=5), max_size=60),
    asked=st.lists(st.text(max_size=5), max_size=20),
    numbers=st.sampled_from([None, 5]),
)
def test_an_id_that_is_held_is_always_possible(held: set[str], asked: list[str], numbers: int | None) -> None:
    table = dataset(pa.table({"id": pa.array(sorted(held), pa.utf8())}))
    wanted = [*asked, *sorted(held)]
    kept = HeldIds()
    with hashed(numbers):
        kept.read(table)
        found = kept.possible(table, pa.array(wanted, pa.utf8())).to_pylist()
    if numbers is None:
        assert found == [one for one in wanted if one in held]
    assert [one for one in found if one in held] == [one for one in wanted if one in held]


@pytest.mark.parametrize("language", ["sql", "gq", "many"])
def test_inserts_one_by_one_ask_storage_once_for_each_table(tmp_path: Path, language: str) -> None:
    og.init(tmp_path / "g", schema=SCHEMA).sql("INSERT INTO P VALUES ('hub', 1)")
    counting = PlannedFaults(())
    graph = og.open(tmp_path / "g", seams=replace(Seams.system(), failpoints=counting))
    graph.sql("INSERT INTO E (src, dst) VALUES ('hub', 'hub')")
    with graph.transaction() as tx:
        before = counting.hits("store.lookup")
        for number in range(100):
            key = {"k": f"k{number}"}
            match language:
                case "sql":
                    tx.sql("INSERT INTO P VALUES ($k, 1)", key)
                case "gq":
                    tx.gq("query add($k: String) { insert P { k: $k } }", key)
                case _:
                    tx.many(Request("INSERT INTO P VALUES ($k, 1)", None, "sql"), [key])
            tx.sql("INSERT INTO E (src, dst) VALUES ('hub', $k)", key)
            tx.sql("INSERT INTO Free VALUES (1)")
        assert counting.hits("store.lookup") - before <= 2
    assert graph.sql("SELECT count(*) FROM E").fetchall() == [(101,)]


def test_hashes_are_kept_within_their_bytes_and_a_larger_table_is_asked_each_time(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g", schema=SCHEMA)
    graph.sql("INSERT INTO P SELECT 'p' || x, x FROM generate_series(1, 100) AS s(x)")
    for limit, kept in ((799, 0), (800, 800), (801, 800)):
        graph._world.tables.held_ids = HeldIds(limit, 100)
        with graph.transaction() as tx:
            tx.sql("INSERT INTO P VALUES ('new', 1)")
            assert graph.stats()["held_ids"] == {"versions": int(kept > 0), "bytes": kept, "limit_bytes": limit}
            with pytest.raises(KeyConflict):
                tx.sql("INSERT INTO P VALUES ('p7', 1)")
            tx.rollback()


def test_a_version_is_read_when_it_was_asked_as_often_as_reading_it_is_worth(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g", schema=SCHEMA)
    graph.sql("INSERT INTO P SELECT 'p' || x, x FROM generate_series(1, 100) AS s(x)")
    for per_question, at in ((99, 2), (100, 1), (101, 1), (34, 3)):
        graph._world.tables.held_ids = HeldIds(1 << 20, per_question)
        with graph.transaction() as tx:
            read = []
            for number in range(4):
                tx.sql("INSERT INTO P VALUES ($k, 1)", {"k": f"n{number}"})
                read.append(graph.stats()["held_ids"]["versions"])
            tx.rollback()
        assert read == [int(number >= at) for number in range(1, 5)]


def test_the_least_used_versions_go_first() -> None:
    kept = HeldIds(limit_bytes=64, rows_per_question=1)
    versions = [dataset(pa.table({"id": [f"{name}{n}" for n in range(4)]})) for name in "abc"]
    first, second, third = versions
    for version in (first, second):
        kept.read(version)
    absent = pa.array(["zz"])
    assert len(kept.possible(first, absent)) == 0
    kept.read(third)
    assert [len(kept.possible(version, absent)) for version in versions] == [0, 1, 0]
    assert kept.facts().bytes == 64
    assert np.array_equal(kept.possible(third, pa.array(["c1", "zz", "c3"])), ["c1", "c3"])
