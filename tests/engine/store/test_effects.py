"""Staged changes of one table against a model, and what a commit says when somebody else was there."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import StorageError
from omnigraph_sql.base.seams import Fault, PlannedFaults, Raise
from omnigraph_sql.engine.store.effects import (
    AppendFiles,
    AppendRows,
    EffectConflict,
    ForeignEffect,
    RemoveRows,
    ReplaceRows,
    ReplaceTable,
    Staged,
    TableChange,
    commit,
    small_fragments,
    stage,
    write_files,
)
from omnigraph_sql.engine.store.root import GraphRoot
from omnigraph_sql.engine.store.tables import ROW_ADDRESS, OpenTable, Tables, table_schema
from omnigraph_sql.engine.values import TableIdentity, TablePin
from tests.case_files import airport_catalog
from tests.engine.worlds import node, people

Model = dict[str, int | None]
IDENTITY = TableIdentity(1, 1)
PATH = f"nodes/{1:016x}-{1:016x}"


class Bench:
    """One table, committed to step by step; the pin follows."""

    def __init__(self, folder: Path, *faults: Fault) -> None:
        self.tables = Tables(GraphRoot.parse(folder), PlannedFaults(faults))
        self.pin = TablePin(IDENTITY, "node:Person", PATH, self.tables.create(PATH, table_schema(node())), None, 0)
        self._count = 0

    def open(self) -> OpenTable:
        return self.tables.open(self.pin)

    def stage(self, change: TableChange, branch: str | None = None) -> Staged:
        self._count += 1
        return stage(self.tables, self.pin, branch, change, f"00000000-0000-4000-8000-{self._count:012d}", "op")

    def do(self, change: TableChange) -> None:
        staged = self.stage(change)
        version = commit(self.tables, staged)
        self.pin = replace(self.pin, version=version, row_count=staged.row_count)

    def at_ids(self, *ids: str) -> tuple[int, ...]:
        found = self.tables.addresses(self.open(), pa.array(ids, pa.utf8()))
        return tuple(found[ROW_ADDRESS].to_pylist())

    def upsert(self, rows: Model) -> None:
        self.do(ReplaceRows(people(rows), self.at_ids(*rows)))

    def rows(self) -> Model:
        """As somebody else reads it, who opens the table anew."""
        import lance

        found = lance.dataset(self.tables.address(PATH, self.pin.branch), version=self.pin.version).to_table()
        assert found.num_rows == self.pin.row_count
        return dict(zip(found["id"].to_pylist(), found["age"].to_pylist(), strict=True))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_rows_are_appended_replaced_removed_and_overwritten(bench: Bench) -> None:
    bench.do(AppendRows(people({"a": 1, "b": 2, "c": None})))
    assert bench.rows() == {"a": 1, "b": 2, "c": None}
    bench.upsert({"b": 20, "d": 4})
    assert bench.rows() == {"a": 1, "b": 20, "c": None, "d": 4}
    bench.do(RemoveRows(bench.at_ids("a", "d")))
    assert bench.rows() == {"b": 20, "c": None}
    bench.do(RemoveRows(bench.at_ids("b", "c")))
    assert bench.rows() == {}
    bench.do(AppendRows(people({"e": 5})))
    bench.do(ReplaceTable(people({"z": 26})))
    assert bench.rows() == {"z": 26}
    bench.do(ReplaceTable(people({})))
    assert bench.rows() == {}
    bench.do(AppendRows(people({"a": 1})))
    assert bench.rows() == {"a": 1}


def test_files_written_before_are_appended_or_become_the_table(bench: Bench) -> None:
    dataset = bench.open().dataset
    files = write_files(bench.tables, dataset, people({"a": 1, "b": 2}), dataset.schema)
    bench.do(AppendFiles(tuple(files), 2))
    assert bench.rows() == {"a": 1, "b": 2}
    other = write_files(bench.tables, dataset, people({"c": 3}).to_batches(), dataset.schema)
    bench.do(ReplaceTable(None, tuple(other)))
    assert bench.rows() == {"c": 3}


def test_nothing_moves_before_the_commit(bench: Bench) -> None:
    bench.do(AppendRows(people({"a": 1})))
    address = bench.at_ids("a")
    for change in (
        AppendRows(people({"b": 2})),
        ReplaceRows(people({"a": 3}), address),
        RemoveRows(address),
        ReplaceTable(people({})),
    ):
        bench.stage(change)
        assert bench.tables.newest(PATH, None, bench.pin.version) == bench.pin.version
    assert bench.rows() == {"a": 1}


def test_a_commit_carries_our_transaction_and_operation(bench: Bench) -> None:
    staged = bench.stage(AppendRows(people({"a": 1})))
    version = commit(bench.tables, staged)
    assert version == staged.planned_version == bench.tables.newest(PATH, None, bench.pin.version)
    assert bench.tables.transaction_uuid(PATH, None, version, bench.pin.version) == staged.uuid
    transaction = bench.open().dataset.read_transaction(version)
    assert transaction.transaction_properties == {"omnigraph.operation": "op"}


KEYS = [f"k{n}" for n in range(12)]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["upsert", "upsert", "upsert", "delete", "overwrite"]),
        st.dictionaries(st.sampled_from(KEYS), st.none() | st.integers(-9, 9), min_size=1, max_size=4),
    ),
    min_size=45,
    max_size=60,
)


@settings(
    max_examples=6,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # making sixty commits smaller takes minutes
)
@given(steps=STEPS)
def test_many_small_commits_are_a_dictionary(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, steps: list[tuple[str, Model]]
) -> None:
    monkeypatch.setattr(limits, "SMALL_FRAGMENTS_MAX", 6)
    bench = Bench(tmp_path_factory.mktemp("m"))
    model: Model = {}
    for number, (kind, rows) in enumerate(steps):
        fragments = len(bench.open().dataset.get_fragments())
        assert fragments <= 6 + 1
        if kind == "upsert":
            bench.upsert(rows)
            model |= rows
        elif kind == "delete":
            gone = bench.at_ids(*rows)
            assert len(gone) == len(rows.keys() & model.keys())
            if gone:
                bench.do(RemoveRows(gone))
            model = {k: v for k, v in model.items() if k not in rows}
        elif number % 9 == 0:
            bench.do(ReplaceTable(people(rows)))
            model = dict(rows)
        assert bench.rows() == model


def test_a_write_takes_small_files_in_and_leaves_large_ones_alone(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SMALL_FRAGMENTS_MAX", 5)
    monkeypatch.setattr(limits, "SMALL_FRAGMENT_ROWS_MAX", 10)
    large: Model = {f"l{n}": n for n in range(10)}
    bench.do(AppendRows(people(large)))
    (kept,) = bench.open().dataset.get_fragments()
    small: Model = {}
    for number in range(6):
        bench.do(AppendRows(people({f"s{number}": number})))
        small[f"s{number}"] = number
    assert len(small_fragments(bench.open().dataset, table_schema(node()))) == 6
    bench.do(AppendRows(people({"last": 0})))
    assert sorted(len(f.to_table()) for f in bench.open().dataset.get_fragments()) == [7, 10]
    assert kept.fragment_id in {f.fragment_id for f in bench.open().dataset.get_fragments()}
    assert bench.rows() == large | small | {"last": 0}


def test_replacing_while_taking_in_neither_loses_nor_doubles_a_row(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.do(AppendRows(people({f"l{n}": n for n in range(6)})))
    for number in range(4):
        bench.do(AppendRows(people({f"s{number}": number, f"t{number}": number})))
    bench.do(RemoveRows(bench.at_ids("t0", "s1", "t1")))
    monkeypatch.setattr(limits, "SMALL_FRAGMENTS_MAX", 2)
    monkeypatch.setattr(limits, "SMALL_FRAGMENT_ROWS_MAX", 5)
    assert len(small_fragments(bench.open().dataset, table_schema(node()))) == 3
    bench.upsert({"l0": -1, "s0": -1, "s3": -1, "new": -1})
    assert len(bench.open().dataset.get_fragments()) == 2
    wanted = {**{f"l{n}": n for n in range(1, 6)}, "s2": 2, "t2": 2, "t3": 3}
    assert bench.rows() == wanted | {"l0": -1, "s0": -1, "s3": -1, "new": -1}


# ---- somebody else was there ----------------------------------------------------------------------------------------


def test_a_conflicting_commit_has_no_effect_and_says_so(bench: Bench) -> None:
    bench.do(AppendRows(people({"a": 1, "b": 2})))
    first, second = (bench.stage(RemoveRows(bench.at_ids(k))) for k in ("a", "b"))
    commit(bench.tables, first)
    with pytest.raises(EffectConflict, match="moved past version"):
        commit(bench.tables, second)
    assert bench.tables.newest(PATH, None, bench.pin.version) == first.planned_version


def test_a_commit_that_lands_behind_somebody_else_s_is_told(bench: Bench) -> None:
    first, second = (bench.stage(AppendRows(people({k: 1}))) for k in ("a", "b"))
    commit(bench.tables, first)
    with pytest.raises(ForeignEffect, match="version 3 was made where 2 was planned"):
        commit(bench.tables, second)


def test_a_commit_whose_answer_was_lost_has_landed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    from lance import LanceDataset
    from lance.commit import CommitConflictError

    staged = bench.stage(AppendRows(people({"a": 1})))
    real = LanceDataset.commit

    def answer_lost(*given: Any, **more: Any) -> Any:
        real(*given, **more)
        raise CommitConflictError("Retryable commit conflict for version 2", retryable=True)

    monkeypatch.setattr(LanceDataset, "commit", answer_lost)
    assert commit(bench.tables, staged) == staged.planned_version


def test_any_other_failure_of_a_commit_leaves_its_outcome_open(tmp_path: Path) -> None:
    bench = Bench(tmp_path, Fault("store.commit", Raise(OSError("connection reset"))))
    staged = bench.stage(AppendRows(people({"a": 1})))
    with pytest.raises(StorageError, match="committing node:Person") as caught:
        commit(bench.tables, staged)
    assert caught.value.kind == "transient"
    assert commit(bench.tables, staged) == staged.planned_version


# ---- branches and old versions --------------------------------------------------------------------------------------


def test_a_fork_continues_the_numbers_and_leaves_main_alone(bench: Bench) -> None:
    bench.do(AppendRows(people({"a": 1})))
    main = bench.pin
    for _ in range(2):  # the second time it is there already
        fork = bench.tables.fork(PATH, "dev", None, main.version)
        assert int(fork.version) == main.version
    staged = bench.stage(AppendRows(people({"b": 2})), "dev")
    version = commit(bench.tables, staged)
    assert version == main.version + 1
    assert bench.tables.newest(PATH, None, main.version) == main.version
    assert bench.rows() == {"a": 1}
    bench.pin = replace(main, branch="dev", version=version, row_count=2)
    assert bench.rows() == {"a": 1, "b": 2}
    again = bench.tables.fork(PATH, "ops", "dev", version)
    assert int(again.version) == version


def test_restoring_makes_a_new_version_with_the_old_rows(bench: Bench) -> None:
    bench.do(AppendRows(people({"a": 1})))
    old = bench.pin
    bench.upsert({"a": 2, "b": 3})
    version = bench.tables.restore(PATH, None, old.version)
    assert version == bench.pin.version + 1
    assert bench.tables.is_restore(PATH, None, version, old.version)
    assert not bench.tables.is_restore(PATH, None, version - 1, old.version)
    bench.pin = replace(old, version=version)
    assert bench.rows() == {"a": 1}


@pytest.mark.parametrize(("branch", "version"), [(None, 99), ("nobranch", 1)])
def test_a_version_that_is_gone_is_not_found(bench: Bench, branch: str | None, version: int) -> None:
    with pytest.raises(StorageError, match=f"version {version} of .* is gone") as caught:
        bench.tables.dataset(PATH, branch, version)
    assert caught.value.kind == "not_found"


def test_dropping_a_table_twice_is_fine(bench: Bench, tmp_path: Path) -> None:
    bench.tables.drop(PATH)
    bench.tables.drop(PATH)
    assert not (tmp_path / PATH).exists()


@pytest.mark.parametrize("count", [1, 1024, 1025])
def test_looking_ids_up_by_list_and_by_scan_agree(bench: Bench, count: int) -> None:
    bench.do(AppendRows(people({f"i{n}": n for n in range(40)})))
    bench.do(RemoveRows(bench.at_ids("i7")))
    asked = pa.array([*(f"x'{n}" for n in range(count - 1)), "i3", "i7"][-count - 1 :], pa.utf8())
    table = bench.open()
    assert bench.tables.addresses(table, asked)["id"].to_pylist() == ["i3"]
    assert bench.tables.rows(table, asked).to_pylist() == [{"id": "i3", "name": "i3", "age": 3}]
    assert bench.tables.touching(table, "name", asked).to_pylist() == ["i3"]
    assert len(bench.tables.row_ids(table, asked)) == 1
    empty = pa.array([], pa.utf8())
    assert bench.tables.addresses(table, empty).num_rows == bench.tables.rows(table, empty).num_rows == 0


# ---- every kind of column -------------------------------------------------------------------------------------------

AIRPORTS = [
    {
        "id": "A",
        "code": "A",
        "city": "x'y",
        "elevation": -(2**31),
        "opened": date(1, 1, 1),
        "tags": ["a", "", None] * 2,
        "blurb": "",
        "pos": [0.5, -1.25, 0.0, 3.0],
        "photo": b"\x00\xff" * 5000,
    },
    {"id": "B", "code": "B", "city": "", "tags": [], "photo": b""},
    {"id": "C", "code": "C", "city": "日本"},
]
CARRIERS = [
    {
        "id": "K",
        "iata": "K",
        "name": "n",
        "rating": -0.0,
        "status": "active",
        "updated": datetime(2026, 1, 2, 3, 4, 5, 678901, UTC),
    },
    {"id": "L", "iata": "L", "name": "m", "rating": float("inf"), "status": "defunct"},
]


@pytest.mark.parametrize(("name", "given_rows"), [("Airport", AIRPORTS), ("Carrier", CARRIERS)])
def test_every_kind_of_column_comes_back_through_append_replace_and_fork(
    tmp_path: Path, name: str, given_rows: list[dict[str, Any]]
) -> None:
    of = airport_catalog().node(name)
    assert of is not None
    shape = table_schema(of)
    tables = Tables(GraphRoot.parse(tmp_path), PlannedFaults())
    pin = TablePin(IDENTITY, f"node:{name}", PATH, tables.create(PATH, shape), None, 0)
    rows = pa.Table.from_pylist(given_rows, schema=shape)
    version = commit(tables, stage(tables, pin, None, AppendRows(rows.slice(1)), "0" * 8, "op"))
    pin = replace(pin, version=version, row_count=rows.num_rows - 1)
    old = tables.addresses(tables.open(pin), pa.array([given_rows[1]["id"]]))[ROW_ADDRESS].to_pylist()
    tables.fork(PATH, "dev", None, version)
    staged = stage(tables, pin, "dev", ReplaceRows(rows.slice(0, 2), tuple(old)), "1" * 8, "op")
    pin = replace(pin, version=commit(tables, staged), row_count=staged.row_count, branch="dev")
    back = tables.rows(tables.open(pin), rows["id"].combine_chunks()).sort_by("id")
    assert pin.row_count == rows.num_rows
    assert back.to_pylist() == rows.to_pylist()
    assert back.schema.equals(shape, check_metadata=False)


def test_blobs_survive_any_number_of_small_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SMALL_FRAGMENTS_MAX", 3)
    of = airport_catalog().node("Airport")
    assert of is not None
    shape = table_schema(of)
    tables = Tables(GraphRoot.parse(tmp_path), PlannedFaults())
    pin = TablePin(IDENTITY, "node:Airport", PATH, tables.create(PATH, shape), None, 0)
    photos = {f"a{n}": bytes([n]) * (n * 1000) for n in range(8)}
    for name, photo in photos.items():
        row = pa.Table.from_pylist([{"id": name, "code": name, "city": "x", "photo": photo}], schema=shape)
        staged = stage(tables, pin, None, AppendRows(row), name, "op")
        pin = replace(pin, version=commit(tables, staged), row_count=staged.row_count)
    back = tables.rows(tables.open(pin), pa.array(list(photos)))
    assert dict(zip(back["id"].to_pylist(), back["photo"].to_pylist(), strict=True)) == photos
