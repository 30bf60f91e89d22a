"""Searches against the bare Lance scanner on the same table: top k by vector, by words, and both fused.

    .venv/bin/python bench/search.py [--rows 200000]

Every number is the median of warm rounds, interleaved; the ratio is ours to the scanner's.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import omnigraph_sql as og
from omnigraph_sql.base import limits
from omnigraph_sql.engine.store.search import SCORE

SCHEMA = "node Doc { code: String @key  body: String @index  kind: I32 @index  vec: Vector(64) @index }"
WORDS, TEXT_WORDS, KINDS, K = 5000, 60, 20, 10


def documents(rows: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, WORDS + 1)
    chosen = rng.choice(WORDS, (rows, TEXT_WORDS), p=share / share.sum())
    lengths = rng.integers(TEXT_WORDS // 6, TEXT_WORDS + 1, rows)
    vectors = rng.normal(size=(rows, 64)).astype(np.float32)
    return pa.table(
        {
            "code": [f"s{seed}-{n}" for n in range(rows)],
            "body": [" ".join(f"w{w}" for w in words[:n]) for words, n in zip(chosen, lengths, strict=True)],
            "kind": pa.array(rng.integers(0, KINDS, rows), pa.int32()),
            "vec": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), 64),
        }
    )


def medians(runs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds + 2):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            taken[name].append(time.perf_counter() - start)
    return {name: statistics.median(times[2:]) * 1000 for name, times in taken.items()}


def bare(dataset: Any, point: Any, words: str, index: bool) -> dict[str, Callable[[], Any]]:
    from lance.query import MatchQuery

    near = {"column": "vec", "q": point, "metric": "cosine"} | ({"nprobes": 27} if index else {"use_index": False})

    def vectors(k: int, **more: Any) -> Any:
        return dataset.scanner(columns=["id", "code", "_distance"], nearest={**near, "k": k}, **more).to_table()

    def texts(k: int, **more: Any) -> Any:
        query = MatchQuery(words, "body")
        return dataset.scanner(columns=["id", "code", SCORE], full_text_query=query, limit=k, **more).to_table()

    def fused() -> Any:
        scores: dict[str, float] = {}
        for found in (vectors(limits.FUSION_DEPTH), texts(limits.FUSION_DEPTH)):
            for place, one in enumerate(found["id"].to_pylist(), 61):
                scores[one] = scores.get(one, 0.0) + 1 / place
        best = sorted(scores, key=lambda one: (-scores[one], one))[:K]
        listed = ", ".join(f"'{one}'" for one in best)
        return dataset.scanner(columns=["id", "code"], filter=f"id IN ({listed})").to_table()

    only = {"filter": "kind = 3", "prefilter": True}
    return {
        "nearest": lambda: vectors(K),
        "nearest, filtered": lambda: vectors(K, **only),
        "bm25": lambda: texts(K),
        "bm25, filtered": lambda: texts(K, **only),
        "hybrid": fused,
    }


def ours(sql: Callable[..., og.Result], point: list[float], words: str) -> dict[str, Callable[[], Any]]:
    near = "SELECT code, nearest(vec, $v) AS d FROM Doc {} ORDER BY d, id LIMIT 10"
    said = "SELECT code, bm25(body, $q) AS s FROM Doc {} ORDER BY s DESC, id LIMIT 10"
    both = "SELECT code, _hybrid_score FROM hybrid(Doc, 'vec', $v, 'body', $q, k => 10)"
    return {
        "nearest": lambda: sql(near.format(""), {"v": point}).arrow(),
        "nearest, filtered": lambda: sql(near.format("WHERE kind = 3"), {"v": point}).arrow(),
        "bm25": lambda: sql(said.format(""), {"q": words}).arrow(),
        "bm25, filtered": lambda: sql(said.format("WHERE kind = 3"), {"q": words}).arrow(),
        "hybrid": lambda: sql(both, {"v": point, "q": words}).arrow(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--pending", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=15)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        graph = og.init(Path(folder) / "g.omni", schema=SCHEMA)
        graph.load(documents(asked.rows, 1), type="Doc", mode="append")
        started = time.perf_counter()
        built = graph.ensure_indices().built
        print(f"{asked.rows} rows, {len(built)} indexes built in {time.perf_counter() - started:.1f} s")
        dataset = _dataset(graph)
        point, words = np.random.default_rng(7).normal(size=64).astype(np.float32), "w10 w200"
        indexed = asked.rows >= limits.VECTOR_INDEXED_ROWS_MIN
        scanner = bare(dataset, point, words, indexed)
        with graph.transaction() as tx:
            _stage(tx, asked.pending)
            runs = {f"bare {name}": run for name, run in scanner.items()}
            runs |= {f"ours {name}": run for name, run in ours(graph.sql, point.tolist(), words).items()}
            runs |= {f"pending {name}": run for name, run in ours(tx.sql, point.tolist(), words).items()}
            found = medians(runs, asked.rounds)
            tx.rollback()
    print(f"{'':20}{'bare ms':>10}{'ours ms':>10}{'ratio':>8}{'pending ms':>12}{'ratio':>8}")
    for name in scanner:
        alone, own, held = (found[f"{who} {name}"] for who in ("bare", "ours", "pending"))
        print(f"{name:20}{alone:10.2f}{own:10.2f}{own / alone:8.2f}{held:12.2f}{held / alone:8.2f}")


def _stage(tx: Any, rows: int) -> None:
    """Half of the pending rows replace committed ones."""
    made = documents(rows, 2)
    codes = [f"s1-{n * 7}" if n % 2 else f"new-{n}" for n in range(rows)]
    made = made.set_column(0, "code", pa.array(codes))
    for row in made.to_pylist():
        tx.sql(
            "INSERT INTO Doc (code, body, kind, vec) VALUES ($code, $body, $kind, $vec) "
            "ON CONFLICT (code) DO UPDATE SET body = excluded.body, kind = excluded.kind, vec = excluded.vec",
            row,
        )


def _dataset(graph: og.Graph) -> Any:
    from omnigraph_sql.engine.values import TableIdentity

    world = graph._world
    pin = world.manifest.current("main").snapshot.pin(TableIdentity.of(graph.catalog.nodes[0]))
    assert pin is not None
    return world.tables.open(pin).dataset


if __name__ == "__main__":
    main()
