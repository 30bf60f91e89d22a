"""Invariants of one write: what it makes visible, in which order, and what a failure leaves."""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pyarrow as pa
import pytest

from omnigraph_sql import graph as og
from omnigraph_sql.base.errors import (
    BoundaryViolation,
    ConstraintViolation,
    DataError,
    ExpectedVersionMismatch,
    KeyConflict,
    OmniError,
    PreconditionFailed,
    ReadSetChanged,
    RecoveryRequired,
    StorageError,
)
from omnigraph_sql.base.seams import Fault, Raise
from omnigraph_sql.engine.load.loader import load
from omnigraph_sql.engine.load.values import LoadMode, Source
from omnigraph_sql.engine.manifest.publisher import Delta, Lineage, Publication, publish
from omnigraph_sql.engine.opening import open_for_writing
from omnigraph_sql.engine.store.tables import table_schema
from omnigraph_sql.engine.world import Seams
from omnigraph_sql.engine.write.staging import MutationStaging
from omnigraph_sql.engine.write.txn import Author, WriteTxn, write
from tests.crash.oracle import at_rest, broken_chain, drift, engine_tables, observe, rows_in, sidecars
from tests.crash.scenes import (
    BRANCH,
    SCENES,
    SCHEMA,
    Fill,
    change,
    contract,
    delete,
    edges,
    insert,
    likes,
    make_branch,
    next_one,
    nodes,
    overwrite,
    person,
    thing,
    update,
    upsert,
    world_at,
)
from tests.crash.sweep import fresh
from tests.engine.wp.places import At, digest, world_doing

WRITTEN = ("node:Person", "node:Thing", "edge:Likes")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return fresh(tmp_path, SCENES["insert"])


def _orphan(_: WriteTxn, staging: MutationStaging) -> None:
    staging.insert(likes(), edges(("bad", "nobody", "t0", 0)))


def _without_ends(_: WriteTxn, staging: MutationStaging) -> None:
    staging.overwrite(thing(), nodes(thing(), ("t9", 9)))


def _known(_: WriteTxn, staging: MutationStaging) -> None:
    staging.insert(thing(), nodes(thing(), ("t50", 0)))
    staging.insert(person(), nodes(person(), ("p0", 0)))


def _one(key: str) -> Fill:
    return lambda _, staging: staging.insert(person(), nodes(person(), (key, 1)))


def _ids(root: Path, key: str = "node:Person") -> list[str]:
    return [row["id"] for row in rows_in(observe(root).now["main"], key)]


def test_wp_01_a_reader_sees_one_commit_and_never_a_mixture(root: Path) -> None:
    def work() -> None:
        world = world_at(root)
        for number in range(25):
            key = f"k{number}"

            def fill(_: WriteTxn, staging: MutationStaging, key: str = key) -> None:
                staging.insert(person(), nodes(person(), (key, 0)))
                staging.insert(thing(), nodes(thing(), (key, 0)))
                staging.insert(likes(), edges((key, key, key, 0)))

            change(world, fill)

    writer = Thread(target=work)
    writer.start()
    looks: set[int] = set()
    while writer.is_alive():
        tables = engine_tables(root, "main")
        seen = [{row["id"] for row in rows_in(tables, key) if row["id"].startswith("k")} for key in WRITTEN]
        assert seen[0] == seen[1] == seen[2]
        looks.add(len(seen[0]))
    writer.join(60)
    assert len(looks) > 2, "the reader must have looked while commits arrived"


_LOST = StorageError("planned", kind="transient")
_FAILURES: dict[str, tuple[Callable[[Path], object], type[OmniError]]] = {
    "a rule": (lambda root: change(world_at(root), _orphan), ConstraintViolation),
    "a known key": (lambda root: change(world_at(root), _known), KeyConflict),
    "a wrong head": (
        lambda root: write(world_at(root), contract, "main", Author(expected_head="x"), insert),
        PreconditionFailed,
    ),
    "storage before arming": (
        lambda root: change(world_at(root, Fault("store.write", Raise(OSError(errno.EIO, "planned")))), insert),
        OmniError,
    ),
    "storage once it is announced": (
        lambda root: change(world_at(root, Fault("arm.after", Raise(_LOST))), insert),
        StorageError,
    ),
    "storage before it is published": (
        lambda root: change(world_at(root, Fault("publish.before", Raise(_LOST))), insert),
        RecoveryRequired,
    ),
    "storage after one table": (
        lambda root: change(world_at(root, Fault("store.commit", Raise(OSError(errno.EIO, "planned")), 2)), insert),
        RecoveryRequired,
    ),
}


@pytest.mark.parametrize("what", _FAILURES)
def test_wp_02_a_failed_operation_changes_nothing_visible(what: str, root: Path) -> None:
    make_branch(root)
    before = observe(root)
    attempt, error = _FAILURES[what]
    with pytest.raises(error):
        attempt(root)
    after = observe(root)
    assert (after.now, after.commits, after.past) == (before.now, before.commits, before.past)


@pytest.mark.parametrize("what", _FAILURES)
def test_wp_03_the_next_write_succeeds_after_a_failure(what: str, root: Path) -> None:
    attempt, error = _FAILURES[what]
    with pytest.raises(error):
        attempt(root)
    world = world_at(root)
    if what == "storage after one table":
        with pytest.raises(RecoveryRequired):
            change(world, next_one)
        assert [one.kind for one in open_for_writing(world)] == ["RolledBack"]
    change(world, next_one)
    assert list(at_rest(root, observe(root))) == []


def test_wp_04_one_write_is_one_commit_and_at_most_one_version_of_a_table(root: Path) -> None:
    world, made = world_at(root), len(observe(root).commits["main"])
    for fill in (insert, upsert, update(world), delete(world), overwrite):
        before = world.manifest.current("main").snapshot
        receipt = change(world, fill)
        after = world.manifest.current("main").snapshot
        assert len(world.manifest.commits("main")) == len(observe(root).commits["main"])
        assert receipt.commit_id == after.head
        grown = [new.version - old.version for old, new in zip(before.tables, after.tables, strict=True)]
        assert set(grown) == {0, 1} or set(grown) == {1}
    assert len(observe(root).commits["main"]) == made + 5


def test_wp_05_a_mutation_that_changes_nothing_leaves_no_trace(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g", schema=SCHEMA)
    graph.sql("insert into Person (name, n) values ('a', 1)")
    before, head = digest(tmp_path), graph.head
    graph.sql("update Person set n = 2 where name = 'nobody'")
    graph.sql("delete from Person where n > 100")
    graph.sql("insert into Person (name, n) select name, n from Person where n > 100")
    assert graph.head == head
    assert digest(tmp_path) == before


@pytest.mark.parametrize(
    "fill",
    [
        lambda _, staging: staging.delete(person(), pa.array(["nobody"])),
        lambda _, staging: staging.upsert(person(), nodes(person())),
        lambda *_: None,
    ],
    ids=["ids that are not there", "rows of which there are none", "nothing at all"],
)
def test_wp_05_a_change_that_comes_to_nothing_leaves_no_trace(fill: Fill, root: Path) -> None:
    before = digest(root)
    assert change(world_at(root), fill).commit_id is None
    assert digest(root) == before


def test_wp_06_no_table_commits_before_its_intent_is_durable(root: Path) -> None:
    announced: list[bool] = []
    make_branch(root)
    for branch in ("main", BRANCH):
        for place in ("store.commit", "store.fork"):
            world = world_doing(root, place, lambda: announced.append(bool(sidecars(root))))
            change(world, insert if place == "store.commit" else upsert, branch)
    assert announced
    assert all(announced)


def test_wp_07_the_intent_is_gone_after_success(root: Path) -> None:
    world = world_at(root)
    for fill in (insert, upsert, update(world), delete(world), overwrite):
        change(world, fill)
        assert sidecars(root) == frozenset()


def test_wp_08_the_newest_version_is_the_shown_one_everywhere(root: Path) -> None:
    make_branch(root)
    world = world_at(root)
    for branch in ("main", BRANCH):
        for fill in (insert, upsert, update(world), delete(world), overwrite):
            change(world, fill, branch)
            assert drift(root) == []


def test_wp_09_the_parent_of_a_commit_is_the_head_before_it(root: Path) -> None:
    world = world_at(root)
    change(world, insert)
    make_branch(root)
    for fill, branch in ((upsert, "main"), (upsert, BRANCH), (_one("x"), "main"), (_one("x"), BRANCH)):
        head = world.manifest.current(branch).snapshot.head
        receipt = change(world, fill, branch)
        made = next(c for c in world.manifest.commits(branch) if c.id == receipt.commit_id)
        assert made.parent == head
    for commits in observe(root).commits.values():
        assert broken_chain(commits) == []


def test_wp_10_a_publish_with_a_stale_expectation_changes_nothing(root: Path) -> None:
    """Even if the table that moved is listed only and not touched."""
    world = world_at(root)
    snapshot = world.manifest.current("main").snapshot
    pins = {pin.key: pin for pin in snapshot.tables}
    before = digest(root)
    expected = ((pins["node:Person"].identity, pins["node:Person"].version), (pins["node:Thing"].identity, 1))
    lineage = Lineage(world.seams.ids.ulid(), None, None, world.seams.clock.now())
    with pytest.raises(ExpectedVersionMismatch):
        publish(world.manifest, Publication("main", Delta((pins["node:Person"],)), expected, None, lineage))
    assert digest(root) == before


def test_wp_11_of_two_inserts_of_one_id_one_wins_and_of_two_ids_both(root: Path) -> None:
    world = world_doing(root, "write.before_lease", lambda: change(world_at(root), _one("same")))
    with pytest.raises(KeyConflict):
        change(world, _one("same"))
    assert _ids(root).count("same") == 1
    world = world_doing(root, "write.before_lease", lambda: change(world_at(root), _one("left")))
    change(world, _one("right"))
    assert {"left", "right"} <= set(_ids(root))


def test_wp_12_of_two_updates_the_later_is_refused_and_none_is_lost(root: Path) -> None:
    world = world_doing(root, "write.before_lease", lambda: change(world_at(root), update(world_at(root))))
    with pytest.raises(ReadSetChanged):
        change(world, update(world))
    once = observe(root).now
    change(world, update(world))
    assert observe(root).now != once
    numbers = {row["id"]: row["n"] for row in rows_in(observe(root).now["main"], "node:Person")}
    assert numbers["p1"] == 1 + 2000


def test_wp_13_a_statement_sees_those_before_it_and_only_those(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g", schema=SCHEMA)
    other = og.open(tmp_path / "g")
    with graph.transaction() as txn:
        txn.sql("insert into Person (name, n) values ('a', 1), ('b', 2)")
        assert txn.sql("select sum(n) as s from Person").arrow()["s"].to_pylist() == [3]
        txn.sql("update Person set n = n * 10 where name = 'a'")
        assert txn.sql("select sum(n) as s from Person").arrow()["s"].to_pylist() == [12]
        assert other.sql("select count(*) as c from Person").arrow()["c"].to_pylist() == [0]
    assert other.sql("select sum(n) as s from Person").arrow()["s"].to_pylist() == [12]


@pytest.mark.parametrize("condition", ["n = 1", "n < 5", "n <> 99", "name = 'a' and n = 1", "n in (1, 7)"])
def test_wp_14_a_shadowed_row_never_appears_whatever_the_filter(condition: str, tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g", schema=SCHEMA)
    graph.sql("insert into Person (name, n) values ('a', 1)")
    with graph.transaction() as txn:
        txn.sql("update Person set n = 99 where name = 'a'")
        assert txn.sql(f"select name from Person where {condition}").arrow().num_rows == 0
        assert txn.sql("select n from Person").arrow()["n"].to_pylist() == [99]


_STATES = {
    "fine": ([("x", 1)], [("e", "x", "t0", 1)], None),
    "an edge to nowhere": ([("x", 1)], [("e", "x", "nowhere", 1)], ConstraintViolation),
    "an edge from nowhere": ([], [("e", "nowhere", "t0", 1)], ConstraintViolation),
}


@pytest.mark.parametrize("state", _STATES)
def test_wp_15_a_mutation_and_a_load_judge_a_state_alike(state: str, root: Path, tmp_path: Path) -> None:
    people, ends, refused = _STATES[state]

    def fill(_: WriteTxn, staging: MutationStaging) -> None:
        staging.insert(person(), nodes(person(), *people))
        staging.insert(likes(), edges(*ends))

    def loaded(place: Path) -> object:
        sources = [Source(nodes(person(), *people), "Person"), Source(edges(*ends), "Likes")]
        return load(world_at(place), contract, "main", Author(), sources, LoadMode.APPEND)

    (tmp_path / "other").mkdir()
    other = fresh(tmp_path / "other", SCENES["insert"])
    if refused is None:
        change(world_at(root), fill)
        loaded(other)
    else:
        with pytest.raises(refused):
            change(world_at(root), fill)
        with pytest.raises(refused):
            loaded(other)
    assert observe(root).now == observe(other).now


_RULES = """
node A {
    k: String @key
    kind: enum(left, right)?
    n: I32?
    t: String?
    u: String? @unique
    @range(n, 0..9)
    @check(t, "^[a-z]+$")
}
edge E: A -> A @card(0..1)
"""
_BROKEN: dict[str, tuple[str, dict[str, object]]] = {
    "a label outside of the set": ("A", {"k": "x", "kind": "up"}),
    "a number outside of the range": ("A", {"k": "x", "n": 10}),
    "a text of another form": ("A", {"k": "x", "t": "1"}),
    "a value that another row has": ("A", {"k": "x", "u": "taken"}),
    "an edge to nowhere": ("E", {"src": "a", "dst": "nowhere"}),
    "one edge too many": ("E", {"src": "a", "dst": "b"}),
}


def _put(graph: og.Graph, name: str, row: dict[str, object], how: str) -> None:
    if how == "insert":
        graph.sql(f"insert into {name} ({', '.join(row)}) values ({', '.join(f'${one}' for one in row)})", row)
    else:
        graph.load(pa.Table.from_pylist([row]), type=name, mode=how)


@pytest.mark.parametrize("how", ["insert", "append", "merge"])
@pytest.mark.parametrize("what", _BROKEN)
def test_wp_16_rules_are_checked_before_anything_is_announced(what: str, how: str, tmp_path: Path) -> None:
    made = og.init(tmp_path / "g", schema=_RULES)
    made.sql("insert into A (k, u) values ('a', 'taken'), ('b', null)")
    made.sql("insert into E (src, dst) values ('a', 'a')")
    points, before = At(), digest(tmp_path)
    graph = og.open(tmp_path / "g", seams=replace(Seams.system(), failpoints=points))
    points.hits.clear()
    name, row = _BROKEN[what]
    with pytest.raises(DataError):
        _put(graph, name, row, how)
    assert points.hits["arm.before"] == 0
    assert how != "insert" or points.hits["store.write"] == points.hits["store.lease"] == 0
    assert digest(tmp_path) == before


def test_wp_17_cardinality_counts_an_edge_once_however_often_it_is_sent(tmp_path: Path) -> None:
    schema = "node A { k: String @key }\nedge E: A -> A @card(0..1) { n: I64? }"
    graph = og.init(tmp_path / "g", schema=schema)
    graph.sql("insert into A (k) values ('x'), ('y')")
    of = next(t for t in graph.catalog.tables() if t.name == "E")

    def sent(one: str, number: int) -> pa.Table:
        return pa.Table.from_pylist([{"id": one, "src": "x", "dst": "y", "n": number}], schema=table_schema(of))

    for number in range(3):
        graph.load(sent("e", number), type="E", mode="merge")
    with pytest.raises(ConstraintViolation):
        graph.load(sent("f", 1), type="E", mode="merge")
    assert graph.sql("select n from E").arrow()["n"].to_pylist() == [2]


def test_wp_18_no_commit_shows_an_edge_without_its_nodes(root: Path) -> None:
    world, made = world_at(root), len(observe(root).past)
    for fill in (insert, delete(world), upsert, _orphan, next_one, _without_ends, overwrite):
        try:
            change(world, fill)
        except ConstraintViolation:
            assert fill in (_orphan, _without_ends)
    past = observe(root).past
    assert len(past) == made + 5
    for commit, tables in past.items():
        ids = {key: {row["id"] for row in rows_in(tables, key)} for key in WRITTEN}
        for row in rows_in(tables, "edge:Likes"):
            assert row["src"] in ids["node:Person"], commit
            assert row["dst"] in ids["node:Thing"], commit


def test_wp_19_a_mixture_of_insert_and_delete_is_refused_without_asking_storage(tmp_path: Path) -> None:
    og.init(tmp_path / "g", schema=SCHEMA)
    points = At()
    graph = og.open(tmp_path / "g", seams=replace(Seams.system(), failpoints=points))
    points.hits.clear()
    before = digest(tmp_path)
    text = 'query mixed() { insert Person { name: "a", n: 1 } delete Person where name = "a" }'
    with pytest.raises(BoundaryViolation):
        graph.compile(text)
    assert points.requests() == 0
    with pytest.raises(BoundaryViolation):
        graph.gq(text)
    assert points.hits == {}
    assert digest(tmp_path) == before


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO Person (name, n) VALUES ('a', 1); DELETE FROM Person WHERE name = 'a'",
        "DELETE FROM Person WHERE name = 'a'; UPDATE Person SET n = 2 WHERE name = 'b'",
        "MERGE INTO Person p USING Thing t ON p.name = t.tag WHEN MATCHED THEN DELETE "
        "WHEN NOT MATCHED THEN INSERT (name, n) VALUES (t.tag, t.n)",
    ],
    ids=["insert and delete", "delete and update", "merge"],
)
def test_wp_19_a_mixture_in_sql_is_refused_without_asking_storage(text: str, tmp_path: Path) -> None:
    og.init(tmp_path / "g", schema=SCHEMA)
    points = At()
    graph = og.open(tmp_path / "g", seams=replace(Seams.system(), failpoints=points))
    points.hits.clear()
    with pytest.raises(BoundaryViolation):
        graph.sql(text)
    assert points.hits == {}


def test_wp_19_a_statement_that_would_mix_a_transaction_is_refused_without_asking_storage(tmp_path: Path) -> None:
    og.init(tmp_path / "g", schema=SCHEMA)
    points = At()
    graph = og.open(tmp_path / "g", seams=replace(Seams.system(), failpoints=points))
    with graph.transaction() as unit:
        unit.sql("INSERT INTO Person (name, n) VALUES ('a', 1)")
        points.hits.clear()
        with pytest.raises(BoundaryViolation):
            unit.sql("DELETE FROM Person WHERE name = 'a'")
        assert points.hits == {}
    assert graph.sql("SELECT count(*) FROM Person").fetchone() == (1,)
