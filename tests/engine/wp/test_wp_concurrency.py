"""Invariants of branches, of writers side by side, and of what a write costs."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread

import lance
import pytest

from omnigraph_sql import graph as og
from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import (
    KeyConflict,
    OmniError,
    PreconditionFailed,
    ReadSetChanged,
    RecoveryRequired,
    StorageError,
)
from omnigraph_sql.engine.load.loader import load
from omnigraph_sql.engine.load.values import LoadMode, Source
from omnigraph_sql.engine.store.root import MANIFEST, RECOVERY, GraphRoot
from omnigraph_sql.engine.world import Seams, World
from omnigraph_sql.engine.write.staging import MutationStaging
from omnigraph_sql.engine.write.txn import Author, Contract, WriteTxn, write
from tests.crash.oracle import at_rest, drift, observe, rows_in, sidecars
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
    person,
    stopped,
    thing,
    update,
    upsert,
    world_at,
    world_with,
)
from tests.crash.sweep import fresh
from tests.engine.worlds import NoPause
from tests.engine.wp.places import At, digest, world_doing

FULL = os.environ.get("OMNI_CRASH") == "full"
HISTORY = 1000 if FULL else 200
_JOIN_SECONDS = 60


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return fresh(tmp_path, SCENES["insert"])


def _one(key: str) -> Fill:
    return lambda _, staging: staging.insert(person(), nodes(person(), (key, 1)))


def _join(*threads: Thread) -> None:
    for thread in threads:
        thread.join(_JOIN_SECONDS)
    assert not any(thread.is_alive() for thread in threads), "a writer hangs"


def test_wp_28_making_a_branch_copies_nothing_and_costs_the_same_for_many_tables(tmp_path: Path) -> None:
    costs = []
    for types in (1, 12):
        text = "\n".join(f"node T{i} {{ k: String @key }}" for i in range(types))
        points = At()
        graph = og.init(tmp_path / str(types), schema=text, seams=replace(Seams.system(), failpoints=points))
        graph.sql("insert into T0 (k) values ('a')")
        before = digest(tmp_path / str(types) / "nodes")
        points.hits.clear()
        graph.create_branch("b")
        costs.append(points.requests())
        assert digest(tmp_path / str(types) / "nodes") == before
    assert costs[0] == costs[1]


def test_wp_29_writing_on_a_branch_changes_no_other(root: Path) -> None:
    make_branch(root)
    make_branch(root, "other")
    for writer in ("main", BRANCH, "other"):
        world = world_at(root)
        for fill in (insert, upsert, update(world), delete(world)):
            before = observe(root).now
            change(world, fill, writer)
            after = observe(root).now
            assert {b: t for b, t in after.items() if b != writer} == {b: t for b, t in before.items() if b != writer}
            assert after[writer] != before[writer]


def test_wp_39_indexes_change_no_answer(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g", schema=SCHEMA)
    for first in (1, 1001, 2001):  # a file each
        rows = f"generate_series({first}, {first + 999}) as s(x)"
        graph.sql(f"insert into Person (name, n) select 'p' || x, x from {rows}")
    questions = [
        "name = 'p7'",
        "n between 10 and 20",
        "name in ('p1', 'p2001', 'no')",
        "n = 2500",
        "name like 'p29%'",
        "n is null",
    ]
    asked = [f"select name, n from Person where {q} order by name" for q in questions]
    before = [graph.sql(text).fetchall() for text in asked]
    assert graph.ensure_indices().built
    assert [graph.sql(text).fetchall() for text in asked] == before
    graph.sql("update Person set n = n + 1 where name = 'p7'")
    assert graph.sql(asked[0]).fetchall() == [("p7", 8)]
    assert any(before)


def test_wp_40_a_wrong_expected_head_fails_even_a_write_of_nothing_and_is_not_retried(root: Path) -> None:
    fills: list[str] = []

    def nothing(txn: WriteTxn, _: MutationStaging) -> None:
        fills.append(txn.base.head)

    world = world_at(root)
    old = world.manifest.current("main").snapshot.head
    with pytest.raises(PreconditionFailed):
        write(world, contract, "main", Author(expected_head="01ARZ3NDEKTSV4RRFFQ69G5FAV"), nothing)
    assert fills == []
    moving = world_doing(root, "write.before_lease", lambda: change(world_at(root), _one("between")))

    def blind(txn: WriteTxn, staging: MutationStaging) -> None:
        fills.append(txn.base.head)
        staging.insert(person(), nodes(person(), ("late", 1)))

    with pytest.raises(OmniError) as refused:
        write(moving, contract, "main", Author(expected_head=old), blind)
    assert refused.value.code in ("read_set_changed", "precondition_failed")
    assert fills == [old]
    write(world, contract, "main", Author(expected_head=world.manifest.current("main").snapshot.head), blind)


def test_wp_42_writers_of_overlapping_tables_never_block_each_other_for_good(root: Path) -> None:
    make_branch(root)
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            world = world_at(root)
            for turn in range(4):
                key = f"k{number}-{turn}"
                order = [
                    lambda s, k=key: s.insert(person(), nodes(person(), (k, 0))),
                    lambda s, k=key: s.insert(thing(), nodes(thing(), (k, 0))),
                    lambda s, k=key: s.insert(likes(), edges((k, k, k, 0))),
                ]

                def fill(_: WriteTxn, staging: MutationStaging, order: list = order) -> None:  # type: ignore[type-arg]
                    for step in order if number % 2 else reversed(order):
                        step(staging)

                change(world, fill, BRANCH if number % 3 == 0 else "main")
        except BaseException as error:  # noqa: BLE001 (a thread's error must reach the test)
            failures.append(error)

    threads = [Thread(target=work, args=(n,), daemon=True) for n in range(8)]
    for thread in threads:
        thread.start()
    _join(*threads)
    assert failures == []
    assert list(at_rest(root, observe(root))) == []
    shown = observe(root).now["main"]
    assert sum(len(rows_in(shown, key)) for key in ("node:Person", "node:Thing", "edge:Likes")) == 11 + 3 * 4 * 5


def _unnamed_files(root: Path) -> list[str]:
    """Data files of tables that no version names."""
    found = []
    for table in (*(root / "nodes").iterdir(), *(root / "edges").iterdir()):
        newest = lance.dataset(table)
        known = [
            file.path
            for version in newest.versions()
            for fragment in newest.checkout_version(version["version"]).get_fragments()
            for file in fragment.metadata.files
        ]
        found += [file.name for file in (table / "data").glob("*.lance") if file.name not in known]
    return found


class _Beaten:
    """Failpoints of a writer before whom somebody else commits whenever it is about to take the lease."""

    def __init__(self, faster: Callable[[str], object]) -> None:
        self._faster, self.times = faster, 0

    def hit(self, name: str) -> None:
        if name == "write.before_lease":
            self.times += 1
            self._faster(f"faster{self.times}")


@pytest.mark.parametrize("kind", ["mutation", "transaction", "load"])
def test_wp_42_a_blind_write_that_keeps_losing_takes_its_turn_and_wins(kind: str, root: Path, tmp_path: Path) -> None:
    other = world_at(root)
    beaten = _Beaten(lambda key: change(other, _one(key)))
    world = world_with(root, beaten)
    match kind:
        case "mutation":
            change(world, _one("mine"))
        case "load":
            load(world, contract, "main", Author(), [Source(nodes(person(), ("mine", 1)), "Person")], LoadMode.APPEND)
        case _:
            quick = og.init(tmp_path / "g", schema=SCHEMA)
            beaten = _Beaten(lambda key: quick.sql("insert into Person (name, n) values ($k, 1)", {"k": key}))
            slow = og.open(tmp_path / "g", seams=replace(Seams.system(), failpoints=beaten))
            with slow.transaction() as open_one:
                open_one.sql("insert into Person (name, n) values ('mine', 1)")
            assert quick.sql("select count(*) from Person").fetchall() == [(beaten.times + 1,)]
    if kind != "transaction":
        assert "mine" in str(observe(root).now["main"])
        assert list(at_rest(root, observe(root))) == []
    assert _unnamed_files(root if kind != "transaction" else tmp_path / "g") == []
    beside = limits.LOAD_BESIDE_OTHERS_MAX if kind == "load" else limits.PREPARE_BESIDE_OTHERS_MAX
    assert beaten.times == beside + 1


def test_wp_02_a_refused_write_leaves_no_data_files(root: Path) -> None:
    def clash(_: WriteTxn, staging: MutationStaging) -> None:
        staging.insert(likes(), edges(("l77", "p1", "t1", 0)))
        staging.insert(person(), nodes(person(), ("p77", 1)))
        staging.insert(thing(), nodes(thing(), ("t0", 1)))

    with pytest.raises(KeyConflict):
        change(world_at(root), clash)
    moving = world_doing(root, "write.before_lease", lambda: change(world_at(root), _one("between")))
    with pytest.raises(ReadSetChanged):
        change(moving, update(moving))
    full = world_with(root, _Full())
    with pytest.raises(StorageError):
        change(full, insert)
    assert _unnamed_files(root) == []


def _cancelled(root: Path, _: ExitStack) -> World:
    return world_doing(root, "write.before_lease", _raise)


def _kept_waiting(root: Path, stack: ExitStack) -> World:
    stack.enter_context(world_at(root).leases.hold("main"))
    return World.at(GraphRoot.parse(root), replace(Seams.system(), pause=NoPause()))


def _unfinished(root: Path, _: ExitStack) -> World:
    stopped("commit.after_table")(root)
    return world_at(root)


_UNARMED: dict[str, tuple[Callable[[Path, ExitStack], World], type[BaseException]]] = {
    "an interrupt while it waits": (_cancelled, BaseException),
    "a lease that is not given back": (_kept_waiting, StorageError),
    "a write that somebody left half done": (_unfinished, RecoveryRequired),
}


def _loaded(world: World) -> object:
    rows = nodes(person(), ("mine", 1))
    return load(world, contract, "main", Author(), [Source(rows, "Person")], LoadMode.APPEND)


@pytest.mark.parametrize("act", [_loaded, lambda world: change(world, next_one)], ids=["load", "mutation"])
@pytest.mark.parametrize("what", _UNARMED)
def test_wp_02_a_write_that_ends_before_it_is_announced_leaves_no_data_files(
    what: str, act: Callable[[World], object], root: Path
) -> None:
    make, error = _UNARMED[what]
    with ExitStack() as stack:
        world = make(root, stack)
        before = digest(root)
        with pytest.raises(error):
            act(world)
        assert digest(root) == before


class _Full:
    """Failpoints of a disk that takes one file more."""

    def __init__(self) -> None:
        self._written = 0

    def hit(self, name: str) -> None:
        self._written += name == "store.write"
        if self._written > 1 and name == "store.write":
            raise OSError(errno.ENOSPC, "planned")


@pytest.mark.parametrize("place", ["arm.after", "commit.after_table", "publish.before"])
def test_wp_43_a_writer_that_waits_on_a_branch_blocks_nobody_elsewhere(place: str, root: Path) -> None:
    make_branch(root)
    there, go = Event(), Event()

    def park() -> None:
        there.set()
        assert go.wait(_JOIN_SECONDS)

    parked = Thread(target=lambda: change(world_doing(root, place, park), insert, BRANCH), daemon=True)
    parked.start()
    assert there.wait(_JOIN_SECONDS)
    assert len(sidecars(root)) == 1
    change(world_at(root), next_one)
    assert parked.is_alive()
    go.set()
    _join(parked)
    assert drift(root) == []
    assert "next" not in str(observe(root).now[BRANCH])
    assert "p10" in str(observe(root).now[BRANCH])


def _cost(root: Path, key: str) -> dict[str, int]:
    """What one insert of one row asks storage for, by a graph that is open."""
    points, checks = At(), []

    def checked() -> Contract:
        return contract(lambda: checks.append(1))

    world = world_with(root, points)
    write(world, checked, "main", Author(), _one(f"{key}-warm"))
    points.hits.clear()
    checks.clear()
    opened, folds = world.tables.opened, world.manifest.folds
    write(world, checked, "main", Author(), _one(key))
    assert world.tables.opened - opened <= 1, "a touched table is opened at most once"
    assert world.manifest.folds == folds, "the manifest is not read again"
    assert len(checks) == 1, "the contract is looked at once, under the lease"
    return dict(points.hits)


def _pieces(dataset: Path) -> int:
    return len(lance.dataset(str(dataset)).get_fragments())


def test_wp_44_a_write_costs_the_same_however_long_the_history(root: Path) -> None:
    world = world_at(root)
    done = 3

    def grow(to: int) -> None:
        nonlocal done
        while done < to:
            change(world, _one(f"h{done}"))
            done += 1

    grow(10)
    young = _cost(root, "young")
    grow(HISTORY)
    old = _cost(root, "old")
    merging = {"manifest.compact", "manifest.open"}  # every so often the writer tidies up
    assert {k: v for k, v in old.items() if k not in merging} == {k: v for k, v in young.items() if k not in merging}
    assert sum(young.values()) < 40
    assert _pieces(root / MANIFEST) <= limits.MANIFEST_FRAGMENTS_MAX + 1
    for table in (*(root / "nodes").iterdir(), *(root / "edges").iterdir()):
        assert _pieces(table) <= limits.SMALL_FRAGMENTS_MAX + 1
    print(f"{HISTORY} commits: {sum(young.values())} steps of one insert at 10, {sum(old.values())} now")


def test_wp_45_now_is_one_instant_over_every_preparation(root: Path, tmp_path: Path) -> None:
    instants: list[datetime] = []

    def fill(txn: WriteTxn, staging: MutationStaging) -> None:
        instants.append(txn.now)
        staging.insert(person(), nodes(person(), ("mine", 1)))

    world = world_doing(root, "write.before_lease", lambda: change(world_at(root), _one("theirs")))
    change(world, fill)
    assert len(instants) == 2
    assert instants[0] == instants[1]
    graph = og.init(tmp_path / "times", schema="node E { k: String @key  a: DateTime  b: DateTime }")
    graph.sql("insert into E (k, a, b) values ('x', now(), now()), ('y', now(), current_timestamp)")
    graph.sql("insert into E (k, a, b) values ('z', now(), now())")
    rows = graph.sql("select k, a, b from E order by k").fetchall()
    assert {rows[0][1], rows[0][2]} == {rows[1][1], rows[1][2]}
    assert rows[2][1] == rows[2][2]
    assert rows[2][1] > rows[0][1]
    assert rows[2][1] <= datetime.now(UTC)


class _Cancelled(BaseException):
    pass


def _raise() -> None:
    raise _Cancelled


def test_wp_48_a_mutation_that_is_dropped_before_it_is_announced_leaves_no_trace(root: Path, tmp_path: Path) -> None:
    before = observe(root)
    for place in ("store.write", "write.before_lease", "arm.before"):
        with pytest.raises(_Cancelled):
            change(world_doing(root, place, _raise), insert)
        assert observe(root) == before
        assert drift(root) == []
    change(world_at(root), insert)
    graph = og.init(tmp_path / "g", schema=SCHEMA)
    files = digest(tmp_path / "g")
    txn = graph.transaction()
    txn.sql("insert into Person (name, n) values ('a', 1)")
    txn.rollback()
    assert digest(tmp_path / "g") == files
    assert [p for p in (tmp_path / "g" / RECOVERY).iterdir() if not p.name.startswith(".")] == []


def test_wp_49_the_actor_is_in_the_commit(root: Path, tmp_path: Path) -> None:
    world = world_at(root)
    receipt = write(world, contract, "main", Author("zoë", "why"), insert)
    (made,) = [c for c in world.manifest.commits("main") if c.id == receipt.commit_id]
    assert (made.actor, made.message) == ("zoë", "why")
    graph = og.init(tmp_path / "g", schema=SCHEMA, actor="ana")
    og.open(tmp_path / "g", actor="bob").sql("insert into Person (name, n) values ('a', 1)")
    assert [c.actor for c in graph.commits()] == ["bob", "ana"]
