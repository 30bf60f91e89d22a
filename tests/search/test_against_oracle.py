"""Searches on random graphs give what a plain-Python oracle gives, with pending rows in half of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

import omnigraph_sql as og
from tests.search import oracle
from tests.search.oracle import Doc

SCHEMA = """
node Doc { code: String @key  text: String? @index  vec: Vector(3)? @index  n: I32 }
node Person { name: String @key }
edge Wrote: Person -> Doc { year: I32 }
"""
SEEDS = range(8)
DOCS = 40
WORDS = ["fox", "Fox", "red", "sea", "é", "x1", "FOXES", "foxy", "re-d", "Σας", "कि", "ß"]
Ask = Callable[[str, dict[str, Any]], og.Result]


@dataclass
class Scene:
    """A graph with what is in it: `docs` as they are seen, `corpus` the committed texts."""

    rng: Random
    graph: og.Graph
    docs: dict[str, Doc]
    corpus: list[str | None]
    wrote: list[tuple[str, str]]
    gq: Ask
    sql: Ask


def text(rng: Random) -> str | None:
    if rng.random() < 0.15:
        return None
    return " ".join(rng.choices(WORDS, k=rng.randrange(0, 7)))


def vector(rng: Random) -> tuple[float, ...] | None:
    if rng.random() < 0.15:
        return None
    # A coarse grid has many ties and the zero vector.
    return tuple(float(rng.randrange(-2, 3)) for _ in range(3))


def point(rng: Random) -> list[float]:
    return [float(rng.randrange(1, 5)), float(rng.randrange(-3, 3)), float(rng.randrange(-3, 3))]


def doc(rng: Random, code: str) -> Doc:
    return Doc(code, text(rng), vector(rng), rng.randrange(10))


def upsert(sql: Ask, one: Doc, *, insert: bool) -> None:
    values = {"c": one.code, "t": one.text, "v": list(one.vec) if one.vec is not None else None, "n": one.n}
    if insert:
        sql("INSERT INTO Doc (code, text, vec, n) VALUES ($c, $t, $v, $n)", values)
    else:
        sql("UPDATE Doc SET text = $t, vec = $v, n = $n WHERE code = $c", values)


@contextmanager
def scene(place: Path, seed: int) -> Iterator[Scene]:
    rng = Random(seed)
    graph = og.init(place, schema=SCHEMA)
    docs = {one.code: one for one in (doc(rng, f"d{n:02}") for n in range(DOCS))}
    people = [f"p{n}" for n in range(6)]
    wrote = [(rng.choice(people), rng.choice(sorted(docs))) for _ in range(50)]
    with graph.transaction() as tx:
        for one in docs.values():
            upsert(tx.sql, one, insert=True)
        for name in people:
            tx.sql("INSERT INTO Person (name) VALUES ($n)", {"n": name})
        for name, code in wrote:
            tx.sql("INSERT INTO Wrote (src, dst, year) VALUES ($s, $d, 1)", {"s": name, "d": code})
    corpus = [one.text for one in docs.values()]
    if seed % 2 == 0:
        yield Scene(rng, graph, docs, corpus, wrote, graph.gq, graph.sql)
        return
    seen = dict(docs)
    with graph.transaction() as tx:
        # A transaction builds or tears down, never both.
        for code in rng.sample(sorted(docs), 12):
            if seed % 4 == 1:
                seen[code] = doc(rng, code)
                upsert(tx.sql, seen[code], insert=False)
            else:
                del seen[code]
                tx.sql("DELETE FROM Doc WHERE code = $c", {"c": code})
        if seed % 4 == 1:
            for number in range(8):
                one = doc(rng, f"new{number}")
                seen[one.code] = one
                upsert(tx.sql, one, insert=True)
        yield Scene(rng, graph, seen, corpus, [w for w in wrote if w[1] in seen], tx.gq, tx.sql)
        tx.rollback()


@pytest.fixture(params=SEEDS, ids=lambda seed: f"seed{seed}")
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Scene]:
    with scene(tmp_path / "g", request.param) as made:
        yield made


def best(scores: dict[str, float | None], *, high: bool, count: int) -> list[tuple[str, float]]:
    order = oracle.ranks(scores, best_is_high=high)
    return [(code, scores[code] or 0.0) for code in list(order)[:count]]


def close(found: list[tuple[Any, ...]], expected: list[tuple[Any, ...]]) -> None:
    assert [row[:-1] for row in found] == [row[:-1] for row in expected]
    assert [row[-1] for row in found] == pytest.approx([row[-1] for row in expected], abs=1e-12)


def test_nearest_gives_the_closest_rows_that_pass_the_filters(world: Scene) -> None:
    rng = world.rng
    for _ in range(4):
        q, least, count = point(rng), rng.randrange(8), rng.choice([1, 5, 100])
        scores = {one.code: oracle.distance(one.vec, q) for one in world.docs.values() if one.n >= least}
        expected = best(scores, high=False, count=count)
        query = (
            "query q($v: Vector(3), $n: I32) { match { $a: Doc  $a.n >= $n } "
            f"return {{ $a.code, nearest($a.vec, $v) as d }} order {{ nearest($a.vec, $v) }} limit {count} }}"
        )
        close(world.gq(query, {"v": q, "n": least}).fetchall(), expected)
        sql = "SELECT code, nearest(vec, $v) AS d FROM Doc WHERE n >= $n ORDER BY d, id LIMIT $k"
        close(world.sql(sql, {"v": q, "n": least, "k": count}).fetchall(), expected)
        everything = {one.code: oracle.distance(one.vec, q) for one in world.docs.values()}
        function = "SELECT code, _distance FROM nearest(Doc, 'vec', $v, k => $k) ORDER BY _distance, code"
        close(world.sql(function, {"v": q, "k": count}).fetchall(), best(everything, high=False, count=count))


def test_bm25_is_scored_against_the_committed_texts(world: Scene) -> None:
    rng = world.rng
    for _ in range(4):
        q, least, count = " ".join(rng.choices(WORDS, k=3)), rng.randrange(8), rng.choice([1, 5, 100])
        scores = {one.code: oracle.bm25(one.text, q, world.corpus) for one in world.docs.values() if one.n >= least}
        expected = best(scores, high=True, count=count)
        query = (
            "query q($q: String, $n: I32) { match { $a: Doc  $a.n >= $n } "
            f"return {{ $a.code, bm25($a.text, $q) as s }} order {{ bm25($a.text, $q) }} limit {count} }}"
        )
        close(world.gq(query, {"q": q, "n": least}).fetchall(), expected)
        sql = "SELECT code, bm25(text, $q) AS s FROM Doc WHERE n >= $n ORDER BY s DESC, id LIMIT $k"
        close(world.sql(sql, {"q": q, "n": least, "k": count}).fetchall(), expected)


def test_text_predicates_keep_the_rows_that_match(world: Scene) -> None:
    rng = world.rng
    for kind in ("search", "fuzzy", "match_text"):
        for _ in range(3):
            q = " ".join(rng.choices([*WORDS, "fx", "rod", "'", "NOT"], k=rng.randrange(1, 3)))
            third, allowed = (", 1", 1) if kind == "fuzzy" else ("", 2)
            expected = sorted(c for c, one in world.docs.items() if oracle.matches(kind, one.text, q, allowed))
            query = (
                f"query q($q: String) {{ match {{ $a: Doc  {kind}($a.text, $q{third}) }} "
                "return { $a.code } order { $a.code } }"
            )
            assert [row[0] for row in world.gq(query, {"q": q})] == expected
            sql = f"SELECT code FROM Doc WHERE {kind}(text, $q{third}) ORDER BY code"
            assert [row[0] for row in world.sql(sql, {"q": q})] == expected
            rest = f"SELECT code FROM Doc WHERE NOT {kind}(text, $q{third}) ORDER BY code"
            assert [row[0] for row in world.sql(rest, {"q": q})] == sorted(set(world.docs) - set(expected))


def test_rrf_ranks_entities_and_keeps_all_their_rows(world: Scene) -> None:
    rng = world.rng
    for k in (60, 1):
        q, v, count = " ".join(rng.choices(WORDS, k=2)), point(rng), rng.choice([3, 100])
        reached = {code for _, code in world.wrote}
        docs = [one for one in world.docs.values() if one.code in reached]
        near = oracle.ranks({one.code: oracle.distance(one.vec, v) for one in docs}, best_is_high=False)
        said = oracle.ranks({one.code: oracle.bm25(one.text, q, world.corpus) for one in docs}, best_is_high=True)
        fused = oracle.fused(near, said, k=k)
        rows = [(code, name, fused[code]) for name, code in set(world.wrote) if code in fused]
        rows.sort(key=lambda row: (-row[2], row[0], row[1]))
        query = (
            "query q($v: Vector(3), $q: String, $k: I32) { match { $p: Person  $p wrote $a } "
            "return { $a.code, $p.name, rrf(nearest($a.vec, $v), bm25($a.text, $q), $k) as s } "
            f"order {{ rrf(nearest($a.vec, $v), bm25($a.text, $q), $k), $a.code, $p.name }} limit {count} }}"
        )
        close(world.gq(query, {"v": v, "q": q, "k": k}).fetchall(), rows[:count])


def test_hybrid_is_rrf_over_the_whole_table(world: Scene) -> None:
    rng = world.rng
    q, v = " ".join(rng.choices(WORDS, k=2)), point(rng)
    near = oracle.ranks({c: oracle.distance(one.vec, v) for c, one in world.docs.items()}, best_is_high=False)
    said = oracle.ranks({c: oracle.bm25(one.text, q, world.corpus) for c, one in world.docs.items()}, best_is_high=True)
    fused = sorted(oracle.fused(near, said).items(), key=lambda pair: (-pair[1], pair[0]))[:7]
    sql = "SELECT code, _hybrid_score FROM hybrid(Doc, 'vec', $v, 'text', $q, k => 7) ORDER BY 2 DESC, 1"
    close(world.sql(sql, {"v": v, "q": q}).fetchall(), fused)


def test_a_search_on_what_a_pattern_reaches_ranks_only_that(world: Scene) -> None:
    rng = world.rng
    for _ in range(3):
        q, v, name = " ".join(rng.choices(WORDS, k=2)), point(rng), f"p{rng.randrange(6)}"
        reached = {code for who, code in world.wrote if who == name}
        kept = [world.docs[c] for c in reached if oracle.matches("search", world.docs[c].text, q)]
        expected = best({one.code: oracle.distance(one.vec, v) for one in kept}, high=False, count=2)
        query = (
            "query q($v: Vector(3), $q: String, $p: String) { match { $p1: Person { name: $p }  $p1 wrote $a  "
            "search($a.text, $q) } return { $a.code, nearest($a.vec, $v) as d } order { nearest($a.vec, $v) } limit 2 }"
        )
        close(world.gq(query, {"v": v, "q": q, "p": name}).fetchall(), expected)
        sql = (
            "SELECT DISTINCT code, d FROM GRAPH_TABLE (MATCH (p:Person)-[w:Wrote]->(a:Doc) "
            "WHERE p.name = $p AND search(a.text, $q) COLUMNS (a.code, nearest(a.vec, $v) AS d)) "
            "WHERE d IS NOT NULL ORDER BY d, code LIMIT 2"
        )
        close(world.sql(sql, {"v": v, "q": q, "p": name}).fetchall(), expected)
        absent = (
            "query q($q: String) { match { $p: Person  not { $p wrote $a  search($a.text, $q) } } "
            "return { $p.name } order { $p.name } }"
        )
        saying = {who for who, code in world.wrote if oracle.matches("search", world.docs[code].text, q)}
        people = [f"p{n}" for n in range(6) if f"p{n}" not in saying]
        assert [row[0] for row in world.gq(absent, {"q": q})] == people


def test_a_write_finds_its_rows_by_search(tmp_path: Path) -> None:
    with scene(tmp_path / "g", 0) as made:
        found = [c for c, one in made.docs.items() if oracle.matches("search", one.text, "fox")]
        assert made.graph.sql("UPDATE Doc SET n = 99 WHERE search(text, 'fox')").affected_nodes == len(found)
        kept = {c: replace(one, n=99) if c in found else one for c, one in made.docs.items()}
        assert made.graph.sql("SELECT code, n FROM Doc ORDER BY code").fetchall() == sorted(
            (c, one.n) for c, one in kept.items()
        )
