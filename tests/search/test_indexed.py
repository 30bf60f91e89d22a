"""Indexes decide how long a search takes and nothing else; of vectors, what is approximate is near enough."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import omnigraph_sql as og
from omnigraph_sql.base import limits
from omnigraph_sql.engine.store import search as store_search
from omnigraph_sql.engine.store.indexes import IndexKind
from omnigraph_sql.engine.store.search import text_rows
from omnigraph_sql.engine.values import TableIdentity
from omnigraph_sql.run import search_ids, search_top
from omnigraph_sql.run.search_corpus import is_indexed
from tests.search import oracle

SCHEMA = """
node Doc { code: String @key  text: String? @index  vec: Vector(8)? @index  n: I32 @index }
node Person { name: String @key }
edge Wrote: Person -> Doc
"""
ROWS = limits.INDEXED_ROWS_MIN + 300
WORDS = [f"w{n}" for n in range(60)]
Pair = tuple[og.Graph, og.Graph]


def docs(seed: int, first: int, count: int) -> pa.Table:
    rng = Random(seed)
    vectors = [None if n % 9 == 0 else [rng.gauss(0, 1) for _ in range(8)] for n in range(count)]
    return pa.table(
        {
            "code": [f"d{first + n:05}" for n in range(count)],
            "text": [None if n % 11 == 0 else " ".join(rng.choices(WORDS, k=rng.randrange(9))) for n in range(count)],
            "vec": pa.array(vectors, pa.list_(pa.float32(), 8)),
            "n": pa.array([rng.randrange(10) for _ in range(count)], pa.int32()),
        }
    )


def asked(graph: Any, rng: Random, suffix: str = "") -> Iterator[list[Any]]:
    """Answers to many questions, the same for two graphs and two generators in step."""
    for count in (1, 10, 200):
        v, q = [rng.gauss(0, 1) for _ in range(8)], " ".join(rng.choices([*WORDS, "zebra"], k=3))
        n = rng.randrange(10)
        table = f"Doc{suffix}"
        for text, values in (
            (f"SELECT code, nearest(vec, $v) d FROM {table} ORDER BY d, id LIMIT {count}", {"v": v}),
            (
                f"SELECT code, nearest(vec, $v) d, n FROM {table} WHERE n >= $n AND code <> 'd00003' "
                f"ORDER BY d, id LIMIT {count}",
                {"v": v, "n": n},
            ),
            (f"SELECT code, bm25(text, $q) s FROM {table} ORDER BY s DESC, id LIMIT {count}", {"q": q}),
            (
                f"SELECT code, bm25(text, $q) s FROM {table} WHERE search(text, $q) AND n IN (1, 2, $n) "
                f"ORDER BY s DESC, id LIMIT {count} OFFSET 2",
                {"q": q, "n": n},
            ),
            (f"SELECT code FROM {table} WHERE search(text, $q) AND n = $n ORDER BY code", {"q": q, "n": n}),
            (f"SELECT * FROM hybrid({table}, 'vec', $v, 'text', $q, k => {count})", {"v": v, "q": q}),
        ):
            yield graph.sql(text, values).fetchall()


def same(pair: Pair, suffix: str = "") -> None:
    for bare, indexed in zip(asked(pair[0], Random(5), suffix), asked(pair[1], Random(5), suffix), strict=True):
        assert bare == indexed
    assert len(bare) > 1


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    graphs = tuple(og.init(tmp_path / name, schema=SCHEMA) for name in ("bare", "indexed"))
    for graph in graphs:
        graph.load(docs(1, 0, ROWS), type="Doc", mode="append")
    built = {(index.column, index.kind) for index in graphs[1].ensure_indices().built}
    assert ("text", IndexKind.TEXT) in built
    return graphs[0], graphs[1]


def test_answers_are_the_same_with_and_without_an_index(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []

    def listening(name: str) -> Any:
        real = getattr(store_search, name)

        def call(*arguments: Any, **more: Any) -> Any:
            heard.append(name)
            return real(*arguments, **more)

        return call

    for name in ("text_rows", "nearest_rows"):
        monkeypatch.setattr(search_top, name, listening(name))
    same((pair[0], pair[0]))
    assert set(heard) == {"nearest_rows"}
    same(pair)
    assert set(heard) == {"nearest_rows", "text_rows"}


def test_answers_are_the_same_with_rows_that_no_index_covers(pair: Pair) -> None:
    before = [graph.head for graph in pair]
    for graph in pair:
        graph.load(docs(2, ROWS, 40), type="Doc", mode="append")
    same(pair)
    for graph in pair:
        graph.sql("UPDATE Doc SET text = 'w1 zebra w2', n = 4 WHERE n = 3")
    same(pair)
    for graph in pair:
        graph.sql("DELETE FROM Doc WHERE n = 7")
    same(pair)
    same((pair[0].at(before[0]), pair[1].at(before[1])))


def test_answers_are_the_same_when_the_index_holds_rows_that_are_gone(pair: Pair) -> None:
    assert is_whole(pair[1])
    for graph in pair:
        # What was a common word is a rare one now; an index that counts the rows still would weigh it as common.
        graph.sql("DELETE FROM Doc WHERE search(text, 'w1') AND n <> 5")
    assert not is_whole(pair[1])
    same(pair)


def is_whole(graph: og.Graph) -> bool:
    """Whether the store may rank texts by its own index."""
    world = graph._world
    of = next(t for t in graph.catalog.nodes if t.name == "Doc")
    pin = world.manifest.current("main").snapshot.pin(TableIdentity.of(of))
    assert pin is not None
    return is_indexed(world.tables, world.tables.open(pin), "text")


def test_answers_are_the_same_after_the_index_is_extended(pair: Pair) -> None:
    for graph in pair:
        graph.load(docs(3, ROWS, 4 * ROWS), type="Doc", mode="append")
    pair[1].ensure_indices()
    for graph in pair:
        graph.load(docs(4, 5 * ROWS, 2 * limits.INDEXED_ROWS_MIN), type="Doc", mode="append")
        graph.sql("DELETE FROM Doc WHERE n = 7")
    assert pair[1].ensure_indices().commit_id is not None
    same(pair)


def test_answers_are_the_same_on_a_branch_and_in_the_past(pair: Pair) -> None:
    for graph in pair:
        graph.create_branch("dev")
    work = pair[0].checkout("dev"), pair[1].checkout("dev")
    versions = [graph.stats()["manifest_version"] for graph in work]
    for graph in work:
        graph.sql("UPDATE Doc SET text = 'w1 zebra', vec = [1, 2, 3, 4, 5, 6, 7, 8] WHERE n < 2")
    same(work)
    same(pair)
    assert versions[0] <= versions[1]
    instant = work[1].commits(limit=1)[0].created_at
    same((work[0].at(work[0].commits(limit=1)[0].created_at), work[1].at(instant)))


def test_answers_are_the_same_with_pending_rows_of_each_kind(pair: Pair) -> None:
    with pair[0].transaction() as bare, pair[1].transaction() as indexed:
        for tx in (bare, indexed):
            tx.sql("UPDATE Doc SET text = 'w1 w1 zebra', vec = [1, 2, 3, 4, 5, 6, 7, 8] WHERE n = 3")
            tx.sql("INSERT INTO Doc (code, text, n) VALUES ('new', 'w1 w2 w3 zebra', 2)")
        same((bare, indexed))  # type: ignore[arg-type]
        bare.rollback()
        indexed.rollback()
    with pair[0].transaction() as bare, pair[1].transaction() as indexed:
        for tx in (bare, indexed):
            tx.sql("DELETE FROM Doc WHERE n IN (1, 2, 3)")
        same((bare, indexed))  # type: ignore[arg-type]
        bare.rollback()
        indexed.rollback()


def test_indexes_are_listed(pair: Pair) -> None:
    rows = pair[1].sql("SELECT table_name, columns, method FROM omni.indexes ORDER BY name").fetchall()
    assert ("Doc", ["text"], "inverted") in rows
    assert ("Doc", ["id"], "btree") in rows
    assert {row[1] for row in pair[1].sql("SHOW INDEXES")} == {"Doc"}
    assert pair[0].sql("SELECT count(*) FROM omni.indexes").fetchall() == [(0,)]


# ---- vectors --------------------------------------------------------------------------------------------------------


def test_a_vector_index_finds_nearly_all_of_the_nearest(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = pair[1]
    assert [i.column for i in graph.ensure_indices().pending] == ["vec"]
    monkeypatch.setattr(limits, "VECTOR_INDEXED_ROWS_MIN", 1000)
    assert [i.kind for i in graph.ensure_indices().built] == [IndexKind.VECTOR]
    assert graph.ensure_indices().pending == ()
    graph.load(docs(6, ROWS, 50), type="Doc", mode="append")
    pair[0].load(docs(6, ROWS, 50), type="Doc", mode="append")
    rng, found, wanted = Random(3), 0, 0
    for _ in range(20):
        v = {"v": [rng.gauss(0, 1) for _ in range(8)], "n": rng.randrange(10)}
        for text in (
            "SELECT code, nearest(vec, $v) d FROM Doc WHERE $n >= 0 ORDER BY d, id LIMIT 10",
            "SELECT code, nearest(vec, $v) d FROM Doc WHERE n = $n ORDER BY d, id LIMIT 10",
        ):
            exact, near = (set(g.sql(text, v).fetchall()) for g in pair)
            assert len(near) == len(exact)
            found, wanted = found + len(exact & near), wanted + len(exact)
    assert found / wanted >= 0.95


def test_a_vector_index_that_finds_too_few_gives_way_to_comparing_every_vector(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "VECTOR_INDEXED_ROWS_MIN", 1000)
    pair[1].ensure_indices()
    text = "SELECT code, nearest(vec, $v) d FROM Doc ORDER BY d, id LIMIT 5000"
    v = {"v": [1.0, 0, 0, 0, 0, 0, 0, 0]}
    assert pair[1].sql(text, v).fetchall() == pair[0].sql(text, v).fetchall()


def test_an_index_of_vectors_that_are_all_missing_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "VECTOR_INDEXED_ROWS_MIN", 1000)
    graph = og.init(tmp_path / "g", schema=SCHEMA)
    graph.load(docs(1, 0, ROWS).drop_columns(["vec"]), type="Doc", mode="append")
    report = graph.ensure_indices()
    assert ("vec", IndexKind.VECTOR) in {(i.column, i.kind) for i in report.pending}
    text = "SELECT code FROM hybrid(Doc, 'vec', $v, 'text', 'w1', k => 3)"
    assert len(graph.sql(text, {"v": [1.0] * 8}).fetchall()) == 3


# ---- against the oracle ---------------------------------------------------------------------------------------------


def test_an_indexed_table_gives_what_the_oracle_gives(pair: Pair) -> None:
    rows = docs(1, 0, ROWS).to_pylist()
    texts = [row["text"] for row in rows]
    for q in ("w1", "w1 w2 w59", "zebra", "", "w5 w5 W6"):
        scores = {row["code"]: oracle.bm25(row["text"], q, texts) for row in rows}
        best = oracle.ranks(scores, best_is_high=True)
        found = pair[1].sql("SELECT code, bm25(text, $q) s FROM Doc ORDER BY s DESC, id LIMIT 25", {"q": q}).fetchall()
        assert [row[0] for row in found] == list(best)[:25]
        assert [row[1] for row in found] == pytest.approx([scores[code] for code in list(best)[:25]])


@pytest.mark.parametrize("kind", ["search", "match_text"])
def test_a_text_predicate_is_answered_by_the_index_and_still_tests_what_no_index_knows(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    narrow: list[int] = []

    def listening(*arguments: Any) -> Any:
        found = text_rows(*arguments)
        narrow.append(found.num_rows)
        return found

    monkeypatch.setattr(search_ids, "text_rows", listening)
    rows = docs(1, 0, ROWS).to_pylist()
    for graph in pair:
        tail = pa.table({"code": ["tail"], "text": ["w1 w2"], "n": pa.array([1], pa.int32())})
        graph.load(tail, type="Doc", mode="append")
    with pair[1].transaction() as tx:
        tx.sql("INSERT INTO Doc (code, text, n) VALUES ('new', 'w2 w1 w2', 2), ('other', 'w3', 2)")
        tx.sql("UPDATE Doc SET text = 'none' WHERE code = 'd00001'")
        seen = [(row["code"], row["text"] if row["code"] != "d00001" else "none") for row in rows]
        seen += [("tail", "w1 w2"), ("new", "w2 w1 w2"), ("other", "w3")]
        for q in ("w1 w2", "zebra", "w59"):
            expected = sorted(code for code, text in seen if oracle.matches(kind, text, q))
            found = tx.sql(f"SELECT code FROM Doc WHERE {kind}(text, $q) ORDER BY code", {"q": q}).fetchall()
            assert [row[0] for row in found] == expected
        tx.rollback()
    assert min(narrow) == 0
    assert 0 < max(narrow) <= 257
