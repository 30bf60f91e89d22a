"""The fold of manifest rows: a pure function, the same for rows as values and rows as stored, in any order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph_sql.base.errors import FormatError
from omnigraph_sql.engine.manifest.rows import (
    CommitRow,
    HeadRow,
    ManifestRow,
    TableRow,
    TombstoneRow,
    VersionRow,
    to_table,
)
from omnigraph_sql.engine.manifest.state import commits_stored, fold, fold_stored
from omnigraph_sql.engine.values import GraphCommit, TableIdentity, TablePin

DAY = datetime(2026, 5, 6, tzinfo=UTC)
A, B = TableIdentity(1, 1), TableIdentity(2, 1)

numbers = st.integers(1, 2**64 - 1) | st.integers(1, 3)
identities = st.sampled_from([A, B, TableIdentity(1, 2), TableIdentity(2**64 - 1, 2**64 - 1)])
"""Few, so that rows of one table meet."""
names = st.text(max_size=12)
branches = st.none() | st.sampled_from(["dev", "a/b"])
instants = st.builds(lambda n: DAY + timedelta(microseconds=n), st.integers(0, 10**15))
commits = st.builds(
    GraphCommit,
    id=st.text("0123456789ABCDEFGHJKMNPQRSTVWXYZ", min_size=26, max_size=26),
    parent=st.none() | names,
    merged_parent=st.none() | names,
    branch=st.sampled_from(["main", "dev"]),
    actor=st.none() | names,
    message=st.none() | names,
    created_at=instants,
    version=numbers,
)
rows = st.one_of(
    st.builds(TableRow, identities, names, names),
    st.builds(VersionRow, identities, names, numbers, branches, st.integers(0, 2**63), names),
    st.builds(TombstoneRow, identities, names, numbers),
    st.builds(CommitRow, commits),
    st.builds(HeadRow, st.sampled_from(["main", "dev", "a/b"]), names, st.none() | names, st.integers(0, 2**62)),
)
row_sets = st.lists(rows, max_size=25, unique_by=lambda row: row.object_id)


@given(row_sets.flatmap(lambda found: st.tuples(st.just(found), st.permutations(found), st.permutations(found))))
def test_stored_rows_and_values_fold_to_the_same_in_any_order(
    orders: tuple[list[ManifestRow], list[ManifestRow], list[ManifestRow]],
) -> None:
    first, second, third = orders
    assert fold(first) == fold(second) == fold_stored(to_table(third))


@given(row_sets)
def test_every_commit_survives_storage_newest_first(found: list[ManifestRow]) -> None:
    wanted = [row.commit for row in found if isinstance(row, CommitRow)]
    back = commits_stored(to_table(found))
    assert sorted(back, key=lambda c: c.id) == sorted(wanted, key=lambda c: c.id)
    assert [c.version for c in back] == sorted((c.version for c in wanted), reverse=True)


def version(identity: TableIdentity, number: int, count: int = 0, branch: str | None = None) -> VersionRow:
    return VersionRow(identity, "node:X", number, branch, count, "c")


def test_the_newest_version_of_each_identity_is_shown_by_name() -> None:
    made = fold_stored(
        to_table([version(A, 9, 4), version(B, 3), version(A, 11, 7, "dev"), version(A, 10), *named("b", "a")])
    )
    assert made.pins() == (
        TablePin(B, "node:a", "p2", 3, None, 0),
        TablePin(A, "node:b", "p1", 11, "dev", 7),
    )


def named(first: str, second: str) -> list[TableRow]:
    return [TableRow(A, f"node:{first}", "p1"), TableRow(B, f"node:{second}", "p2")]


@pytest.mark.parametrize(("dropped_at", "shown"), [(4, True), (5, False), (6, False)])
def test_a_tombstone_hides_every_version_up_to_its_own(dropped_at: int, shown: bool) -> None:
    made = fold([version(A, 5), TombstoneRow(A, "node:x", dropped_at), TombstoneRow(A, "node:x", 2), *named("x", "y")])
    assert bool(made.pins()) is shown
    assert made.seen_version(A) == max(5, dropped_at)


def test_the_seen_version_of_an_unknown_table_is_zero() -> None:
    assert fold([version(A, 5)]).seen_version(B) == 0


def test_two_live_tables_of_one_name_are_damage() -> None:
    with pytest.raises(FormatError, match="two tables are called node:x"):
        fold([version(A, 1), version(B, 1), *named("x", "x")]).pins()


def test_a_dropped_table_leaves_its_name_to_another() -> None:
    made = fold([version(A, 1), TombstoneRow(A, "node:x", 1), version(B, 1), *named("x", "x")])
    assert [pin.identity for pin in made.pins()] == [B]


def test_a_version_without_a_name_is_damage() -> None:
    with pytest.raises(FormatError, match="no name"):
        fold([version(A, 1)]).pins()


def test_rows_of_an_unknown_kind_are_skipped() -> None:
    table = to_table([TableRow(A, "node:x", "p"), version(A, 1)])
    later = table.set_column(1, "object_type", pa.array(["table", "view_from_the_future"]))
    assert fold_stored(later) == fold([TableRow(A, "node:x", "p")])


COMMIT = GraphCommit("C1", None, None, "main", None, None, DAY, 1)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("metadata", "{"),
        ("metadata", None),
        ("metadata", "[]"),
        ("metadata", "{}"),
        ("table_version", None),
        ("stable_table_id", None),
        ("stable_table_id", 0),
    ],
)
@pytest.mark.parametrize("rows", [1, 2])
def test_a_damaged_row_is_told_as_damage(column: str, value: object, rows: int) -> None:
    good: list[ManifestRow] = [version(A, 1), version(B, 7)] if column != "metadata" else [CommitRow(COMMIT)] * 2
    table = to_table(good[:rows])
    place = table.schema.get_field_index(column)
    values = [value, *table[column].to_pylist()[1:]]
    broken = table.set_column(place, table.schema.field(place), pa.array(values, table.schema.field(place).type))
    with pytest.raises(FormatError, match="damaged"):
        fold_stored(broken)


def test_a_branch_without_a_head_row_continues_the_newest_commit() -> None:
    older = GraphCommit("C0", None, None, "main", None, None, DAY + timedelta(days=9), 4)
    newest = GraphCommit("C2", "C0", None, "main", None, None, DAY, 5)
    made = fold([CommitRow(newest), CommitRow(older), HeadRow("main", "C2", "C0", 3)])
    fresh, main = made.snapshot("dev", "i", 6, 1), made.snapshot("main", "main", 6, 1)
    assert (fresh.own_head, fresh.head, fresh.fence) == (None, "C2", 0)
    assert (main.own_head, main.head, main.fence) == ("C2", "C2", 3)


def test_time_and_then_id_decide_between_commits_of_one_version() -> None:
    def commit(name: str, seconds: int) -> CommitRow:
        return CommitRow(GraphCommit(name, None, None, "main", None, None, DAY + timedelta(seconds=seconds), 5))

    assert fold([commit("C9", 0), commit("C1", 1)]).snapshot("x", "", 1, 1).head == "C1"
    assert fold([commit("C9", 1), commit("C1", 1)]).snapshot("x", "", 1, 1).head == "C9"


def test_a_manifest_without_a_commit_is_damage() -> None:
    with pytest.raises(FormatError, match="no commit"):
        fold([]).snapshot("main", "main", 1, 1)
