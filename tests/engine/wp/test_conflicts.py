"""Every writer against every other from one base: the early one commits while the late one waits for its lease."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph_sql import graph as og
from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import OmniError
from omnigraph_sql.engine.opening import open_for_writing
from omnigraph_sql.engine.world import Seams
from tests.crash.oracle import broken_chain, drift, observe, rows_in, sidecars
from tests.crash.scenes import world_at
from tests.engine.wp.places import At

SCHEMA = "node P { name: String @key  n: I64 }\nnode Q { name: String @key  n: I64 }"
START = {"a": 1, "b": 2}
Rows = dict[str, int]


def _load(mode: str, rows: Rows) -> Callable[[og.Graph], object]:
    given = pa.table({"name": list(rows), "n": pa.array(rows.values(), pa.int64())})
    return lambda graph: graph.load(given, type="P", mode=mode)


def _says(text: str) -> Callable[[og.Graph], object]:
    return lambda graph: graph.sql(text)


# What a writer does, and what it makes of the rows it finds.
WRITERS: dict[str, tuple[Callable[[og.Graph], object], Callable[[Rows], Rows]]] = {
    "insert": (_says("insert into P (name, n) values ('new', 10)"), lambda rows: rows | {"new": 10}),
    "upsert": (
        _says("insert or replace into P (name, n) values ('new', 20), ('a', 20)"),
        lambda rows: rows | {"new": 20, "a": 20},
    ),
    "update": (_says("update P set n = n + 100 where name = 'a'"), lambda rows: rows | {"a": rows["a"] + 100}),
    "delete": (_says("delete from P where name = 'b'"), lambda rows: {k: n for k, n in rows.items() if k != "b"}),
    "append": (_load("append", {"new": 30}), lambda rows: rows | {"new": 30}),
    "merge": (_load("merge", {"new": 40, "a": 40}), lambda rows: rows | {"new": 40, "a": 40}),
    "overwrite": (_load("overwrite", {"a": 50}), lambda _: {"a": 50}),
    "elsewhere": (_says("insert into Q (name, n) values ('q', 1)"), lambda rows: rows),
    "column": (_says("alter table P add column more text"), lambda rows: rows),
    "index": (lambda graph: graph.ensure_indices(), lambda rows: rows),
}

# Rows: the late writer. Columns: the early one. `both`: it is prepared anew on what the early one left, and both count.
# `moved`: ReadSetChanged, since it depends on what it had read. `key`: KeyConflict, since the early one took the id.
# `there`: the early one made the column already. `done`: nothing is left to do.
MATRIX = """
           insert upsert update delete append merge overwrite elsewhere column index
insert     key    key    both   both   key    key   both      both      both   both
upsert     both   both   both   both   both   both  both      both      both   both
update     moved  moved  moved  moved  moved  moved moved     moved     moved  moved
delete     moved  moved  moved  moved  moved  moved moved     moved     moved  moved
append     key    key    both   both   key    key   both      both      moved  both
merge      both   both   both   both   both   both  both      both      moved  both
overwrite  moved  moved  moved  moved  moved  moved moved     moved     moved  moved
elsewhere  both   both   both   both   both   both  both      key       both   both
column     both   both   both   both   both   both  both      both      there  both
index      both   both   both   both   both   both  both      both      both   done
"""
_LINES = [line.split() for line in MATRIX.strip().splitlines()]
CELLS = [(line[0], early, told) for line in _LINES[1:] for early, told in zip(_LINES[0], line[1:], strict=True)]
_CODES = {"moved": "read_set_changed", "key": "key_conflict", "there": "type"}


def test_the_matrix_is_complete() -> None:
    assert {(late, early) for late, early, _ in CELLS} == {(late, early) for late in WRITERS for early in WRITERS}


def _code(act: Callable[[og.Graph], object], graph: og.Graph) -> str | None:
    try:
        act(graph)
    except OmniError as error:
        return error.code
    return None


@pytest.mark.parametrize(("late", "early", "told"), CELLS)
def test_two_writers_from_one_base_come_to_the_documented_end(
    late: str, early: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "INDEXED_ROWS_MIN", 1)
    root = tmp_path / "g"
    base = og.init(root, schema=SCHEMA)
    base.sql("insert into P (name, n) values ('a', 1), ('b', 2)")
    heads: list[str] = []

    def rival() -> None:
        WRITERS[early][0](og.open(root))
        heads.append(og.open(root).head)

    points = At("write.before_lease", rival)
    graph = og.open(root, seams=replace(Seams.system(), failpoints=points))
    assert _code(WRITERS[late][0], graph) == _CODES.get(told)
    assert len(heads) == 1, "the early writer must have come in between"
    rows = WRITERS[early][1](START)
    rows = WRITERS[late][1](rows) if told == "both" else rows
    seen = observe(root)
    assert {row["name"]: row["n"] for row in rows_in(seen.now["main"], "node:P")} == rows
    assert (og.open(root).head == heads[0]) == (told != "both"), "a refused writer leaves no commit"
    assert (sidecars(root), drift(root), broken_chain(seen.commits["main"])) == (frozenset(), [], [])
    assert open_for_writing(world_at(root)) == []


RULED = """
node P { name: String @key  u: String? @unique }
edge K: P -> P @card(0..1)
"""
# What the early writer does, and the row of the late one that was fine before it.
TAKEN = {
    "a value": ("insert into P (name, u) values ('early', 'v')", "P", {"name": "late", "u": "v"}),
    "an end": ("delete from P where name = 'b'", "K", {"src": "a", "dst": "b"}),
    "the last place": ("insert into K (src, dst) values ('a', 'a')", "K", {"src": "a", "dst": "b"}),
}


@pytest.mark.parametrize("how", ["insert", "append", "merge"])
@pytest.mark.parametrize("what", TAKEN)
def test_a_row_is_judged_anew_by_what_the_early_writer_left(what: str, how: str, tmp_path: Path) -> None:
    root = tmp_path / "g"
    og.init(root, schema=RULED).sql("insert into P (name) values ('a'), ('b')")
    text, name, row = TAKEN[what]
    points = At("write.before_lease", lambda: og.open(root).sql(text))
    graph = og.open(root, seams=replace(Seams.system(), failpoints=points))

    def late(graph: og.Graph) -> object:
        if how != "insert":
            return graph.load(pa.Table.from_pylist([row]), type=name, mode=how)
        return graph.sql(f"insert into {name} ({', '.join(row)}) values ({', '.join(f'${one}' for one in row)})", row)

    assert _code(late, graph) == "constraint"
    assert points.hits["arm.before"] == 0
    shown = og.open(root)
    assert len(shown.commits()) == 3, "what the early writer did is all there is"
    assert (sidecars(root), drift(root)) == (frozenset(), [])
