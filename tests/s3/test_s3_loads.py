"""Loads, and storage that fails, on an object store: all of a write or nothing of it, as on a disk."""

from __future__ import annotations

import errno
import json
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph_sql import graph as og
from omnigraph_sql.base.errors import ConflictError, DataError, OmniError
from omnigraph_sql.base.seams import Fault, PlannedFaults, Raise
from omnigraph_sql.engine.store.root import GraphRoot
from omnigraph_sql.engine.world import Seams
from tests.crash.sweep import Tracing
from tests.s3.stores import Store

FULL = os.environ.get("OMNI_CRASH") == "full"
SCHEMA = "node A { k: String @key  n: I32? } node B { k: String @key } edge E: A -> B"
STORAGE = ("store.", "manifest.", "audit.")
Rows = list[tuple[object, ...]]


def opened(store: Store, root: GraphRoot, seams: Seams | None = None) -> og.Graph:
    return og.open(root.uri, storage_options=store.options, seams=seams)


def made(store: Store, root: GraphRoot) -> og.Graph:
    return og.init(root.uri, schema=SCHEMA, storage_options=store.options, durability="fsync")


def lines(place: Path, *facts: dict[str, object]) -> Path:
    file = place / f"{len(list(place.iterdir()))}.jsonl"
    file.write_text("".join(f"{json.dumps(fact)}\n" for fact in facts), encoding="utf-8")
    return file


def node(kind: str, key: str, **more: object) -> dict[str, object]:
    return {"type": kind, "data": {"k": key, **more}}


def edge(src: str, dst: str) -> dict[str, object]:
    return {"edge": "E", "from": src, "to": dst, "data": {}}


def rows(graph: og.Graph, text: str) -> Rows:
    return graph.sql(text).fetchall()


def test_loads_append_merge_and_overwrite_and_a_branch_has_its_own(
    store: Store, root: GraphRoot, tmp_path: Path
) -> None:
    graph = made(store, root)
    done = graph.load(lines(tmp_path, node("A", "a", n=1), node("B", "b"), edge("a", "b")), mode="append")
    assert done.commit_id == graph.head
    graph.load(pa.table({"k": ["a", "c"], "n": pa.array([2, 3], pa.int32())}), type="A", mode="merge")
    assert rows(opened(store, root), "SELECT k, n FROM A ORDER BY k") == [("a", 2), ("c", 3)]
    graph.create_branch("dev")
    other = graph.checkout("dev")
    other.load(pa.table({"k": ["d"]}), type="B", mode="append")
    graph.load(pa.table({"k": ["a", "z"], "n": pa.array([7, 8], pa.int32())}), type="A", mode="overwrite")
    assert rows(graph, "SELECT k, n FROM A ORDER BY k") == [("a", 7), ("z", 8)]
    assert rows(graph, "SELECT src, dst FROM E") == [("a", "b")]
    assert rows(other, "SELECT k FROM B ORDER BY k") == [("b",), ("d",)]
    assert rows(other, "SELECT k, n FROM A ORDER BY k") == [("a", 2), ("c", 3)]
    assert len(graph.commits()) == 4


@pytest.mark.parametrize(
    ("mode", "facts", "kind"),
    [
        ("append", [node("A", "new"), node("A", "a")], (DataError, ConflictError)),
        ("append", [node("A", "new"), edge("new", "nobody")], DataError),
        ("merge", [node("A", "new"), node("A", "a", n="much")], DataError),
        ("overwrite", [node("A", "new")], DataError),
    ],
    ids=["a key that exists", "an end that does not", "a value of another type", "nodes under edges that stay"],
)
def test_a_refused_load_leaves_no_object_behind(
    store: Store,
    root: GraphRoot,
    tmp_path: Path,
    mode: str,
    facts: list[dict[str, object]],
    kind: type[OmniError] | tuple[type[OmniError], ...],
) -> None:
    graph = made(store, root)
    graph.load(lines(tmp_path, node("A", "a", n=1), node("B", "b"), edge("a", "b")), mode="append")
    before, head = store.keys(root.uri.removeprefix("s3://graphs/")), graph.head
    with pytest.raises(kind):
        graph.load(lines(tmp_path, *facts), mode=mode)
    assert store.keys(root.uri.removeprefix("s3://graphs/")).keys() == before.keys()
    assert graph.head == head
    assert rows(graph, "SELECT k, n FROM A") == [("a", 1)]


# ---- every storage call fails once --------------------------------------------------------------------------------

Act = Callable[[og.Graph, str, Path], object]
WRITERS: dict[str, Act] = {
    "insert": lambda graph, key, _: graph.sql(f"INSERT INTO A (k) VALUES ('{key}'); INSERT INTO B VALUES ('{key}')"),
    "load": lambda graph, key, place: graph.load(lines(place, node("A", key), node("B", key)), mode="append"),
}


def seams_with(failpoints: Tracing | PlannedFaults) -> Seams:
    return replace(Seams.system(), failpoints=failpoints)


def calls(store: Store, root: GraphRoot, act: Act, place: Path) -> list[tuple[str, int]]:
    """Every storage call of a writer, as the name of its failpoint and which pass of it, opening not counted."""
    trace = Tracing()
    graph = opened(store, root, seams_with(trace))
    before, start = Counter(trace.passed), len(trace.passed)
    act(graph, "traced", place)
    found = []
    for name in trace.passed[start:]:
        before[name] += 1
        if name.startswith(STORAGE):
            found.append((name, before[name]))
    return found


@pytest.mark.timeout(900)
@pytest.mark.parametrize("writer", WRITERS)
def test_a_storage_call_that_fails_once_leaves_all_or_nothing(
    store: Store, root: GraphRoot, tmp_path: Path, writer: str
) -> None:
    act = WRITERS[writer]
    made(store, root)
    every = calls(store, root, act, tmp_path)
    assert len({name for name, _ in every}) > 8
    for number, (name, hit) in enumerate(every if FULL else every[::5]):
        key, faults = f"k{number}", PlannedFaults([Fault(name, Raise(OSError(errno.EIO, "planned")), hit)])
        error = None
        try:
            act(opened(store, root, seams_with(faults)), key, tmp_path)
        except OmniError as told:
            error = told
        again = opened(store, root)
        there = [bool(rows(again, f"SELECT 1 FROM {of} WHERE k = '{key}'")) for of in ("A", "B")]
        assert there[0] == there[1], f"half of {key} after {name}#{hit}: {error}"
        assert there[0] or error is not None, f"{name}#{hit} was acknowledged and is lost"
        assert again.stats()["pending_operations"] == 0
        act(again, f"next{number}", tmp_path)
