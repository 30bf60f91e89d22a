"""What the engine relies on in Lance, fact by fact: an upgrade that changes one is noticed here first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import lance
import pyarrow as pa
import pytest
from lance import LanceDataset, LanceOperation, Transaction
from lance.commit import CommitConflictError
from lance.fragment import write_fragments

from tests.surface.lance_tables import SCHEMA, Table, append, commit, deletion, held, merge, rows, update


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path)


# ---- staged commits -------------------------------------------------------------------------------------------------


def test_a_staged_change_moves_nothing_until_its_commit_and_carries_our_identity(table: Table) -> None:
    dataset = table.open()
    for operation in (deletion(dataset, "a"), append(dataset, rows(e=5)), update(dataset, rows(a=9), "a")):
        assert table.open().version == dataset.version, operation
    made = commit(dataset, deletion(dataset, "a"))
    assert (made.version, dataset.version) == (3, 2)
    found = made.read_transaction(3)
    assert found.uuid == "11111111-1111-4111-8111-111111111111"
    assert found.transaction_properties == {"who": "me"}
    assert isinstance(found.operation, LanceOperation.Delete)
    assert held(table.open()) == {"b": 2, "c": 3, "d": 4}


def test_the_transaction_of_the_first_version_can_be_asked_for(table: Table) -> None:
    assert table.open().read_transaction(1) is not None


@pytest.mark.parametrize("second", ["a", "b"])
def test_two_staged_deletes_in_one_fragment_conflict(table: Table, second: str) -> None:
    dataset = table.open()
    first, other = deletion(dataset, "a"), deletion(dataset, second)
    commit(dataset, first)
    with pytest.raises(CommitConflictError, match="Retryable commit conflict"):
        commit(dataset, other, "22222222-2222-4222-8222-222222222222")
    assert issubclass(CommitConflictError, OSError)
    assert table.open().version == 3


def test_staged_deletes_in_different_fragments_both_land(table: Table) -> None:
    dataset = table.open()
    first, other = deletion(dataset, "a"), deletion(dataset, "c")
    commit(dataset, first)
    assert commit(dataset, other).version == dataset.version + 2
    assert held(table.open()) == {"b": 2, "d": 4}


def test_a_staged_append_lands_behind_anybody_without_a_word(table: Table) -> None:
    dataset = table.open()
    staged = append(dataset, rows(e=5))
    commit(dataset, deletion(dataset, "a"))
    assert commit(dataset, staged).version == dataset.version + 2
    assert held(table.open()) == {"b": 2, "c": 3, "d": 4, "e": 5}


def test_a_staged_update_of_rows_in_one_fragment_conflicts_and_after_an_append_lands(table: Table) -> None:
    dataset = table.open()
    first, other = update(dataset, rows(a=9), "a"), update(dataset, rows(b=9), "b")
    third = update(dataset, rows(c=9), "c")
    commit(dataset, first)
    with pytest.raises(CommitConflictError):
        commit(dataset, other)
    assert commit(dataset, third).version == dataset.version + 2
    assert held(table.open()) == {"a": 9, "b": 2, "c": 9, "d": 4}


def test_a_staged_update_after_a_compaction_of_its_fragment_is_refused(table: Table) -> None:
    dataset = table.open()
    staged = update(dataset, rows(a=9), "a")
    table.open().optimize.compact_files(num_threads=1)
    with pytest.raises(CommitConflictError):
        commit(dataset, staged)


@pytest.mark.parametrize("empty", [True, False])
def test_a_staged_overwrite_on_an_old_base_is_refused_and_keeps_the_key_mark(table: Table, empty: bool) -> None:
    dataset = table.open()
    files = [] if empty else list(write_fragments(rows(z=1), dataset))
    commit(dataset, append(dataset, rows(e=5)))
    with pytest.raises(CommitConflictError):
        commit(dataset, LanceOperation.Overwrite(SCHEMA, files))
    made = commit(table.open(), LanceOperation.Overwrite(SCHEMA, files))
    assert held(made) == ({} if empty else {"z": 1})
    assert [f.is_unenforced_primary_key() for f in made.lance_schema.fields()] == [True, False]


@pytest.mark.parametrize("staged", ["append", "delete", "update"])
@pytest.mark.parametrize("foreign", ["overwrite", "restore"])
def test_anything_staged_before_an_overwrite_or_a_restore_is_refused(table: Table, staged: str, foreign: str) -> None:
    dataset = table.open()
    operation = {
        "append": lambda: append(dataset, rows(e=5)),
        "delete": lambda: deletion(dataset, "a"),
        "update": lambda: update(dataset, rows(a=9), "a"),
    }[staged]()
    if foreign == "overwrite":
        lance.write_dataset(rows(z=1), table.uri, mode="overwrite")
    else:
        table.open(1).restore()
    with pytest.raises(CommitConflictError) as caught:
        commit(dataset, operation)
    assert not caught.value.retryable


def test_committing_one_transaction_twice_doubles_its_rows(table: Table) -> None:
    dataset = table.open()
    staged = Transaction(dataset.version, append(dataset, rows(e=5)), uuid="1" * 8)
    for _ in range(2):
        LanceDataset.commit(dataset, staged, max_retries=0)
    assert table.open().count_rows("id = 'e'") == 2


def test_deleting_every_row_of_a_fragment_leaves_none(table: Table) -> None:
    dataset = table.open()
    assert dataset.get_fragment(0).delete_rows([0, 1]) is None
    assert dataset.get_fragment(0).delete_rows([0]) is not None
    made = commit(dataset, deletion(dataset, "a", "b"))
    assert [f.fragment_id for f in made.get_fragments()] == [1]


def test_an_update_may_remove_whole_fragments_and_bring_their_rows_elsewhere(table: Table) -> None:
    dataset = table.open()
    kept = dataset.scanner(fragments=dataset.get_fragments()[:1], with_row_address=True).to_table()
    operation = LanceOperation.Update(
        removed_fragment_ids=[0],
        updated_fragments=[],
        new_fragments=list(write_fragments(pa.concat_tables([kept.drop_columns(["_rowaddr"]), rows(e=5)]), dataset)),
        update_mode="rewrite_rows",
        fields_for_preserving_frag_bitmap=[],
    )
    made = commit(dataset, operation)
    assert held(made) == {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}
    assert [f.fragment_id for f in made.get_fragments()] == [1, 2]


def test_fragments_of_a_table_know_their_rows_without_deletions(table: Table) -> None:
    made = commit(table.open(), deletion(table.open(), "a"))
    assert [f.physical_rows for f in made.get_fragments()] == [2, 2]
    assert [f.count_rows() for f in made.get_fragments()] == [1, 2]


# ---- keyed merges ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [rows(a=9), rows(new=9), rows(a=9, new=9)], ids=["known", "new", "both"])
def test_of_two_merges_of_one_row_the_second_is_refused_with_a_known_text(table: Table, data: pa.Table) -> None:
    first, second = table.open(), table.open()
    merge(first, data)
    with pytest.raises(OSError, match=r"^Too many concurrent writers") as caught:
        merge(second, data)
    assert type(caught.value) is OSError
    assert table.open().version == 3


def test_merges_of_different_rows_both_land_and_move_their_handle(table: Table) -> None:
    first, second = table.open(), table.open()
    merge(first, rows(x=1))
    merge(second, rows(y=1))
    assert (first.version, second.version) == (3, 4)
    assert {"x", "y"} <= held(table.open()).keys()


MOVES: dict[str, tuple[Callable[[Table], object], str]] = {
    "append": (lambda t: lance.write_dataset(rows(q=1), t.uri, mode="append"), "^Too many concurrent writers"),
    "delete": (lambda t: t.open().delete("id = 'a'"), "^Too many concurrent writers"),
    "compaction": (lambda t: t.open().optimize.compact_files(num_threads=1), "^Too many concurrent writers"),
    "overwrite": (lambda t: lance.write_dataset(rows(q=1), t.uri, mode="overwrite"), "^Incompatible transaction"),
    "restore": (lambda t: t.open(1).restore(), "^Incompatible transaction"),
}


@pytest.mark.parametrize(("move", "text"), MOVES.values(), ids=MOVES.keys())
def test_a_merge_after_another_kind_of_commit_is_refused_with_a_known_text(
    table: Table, move: Callable[[Table], object], text: str
) -> None:
    dataset = table.open()
    move(table)
    with pytest.raises(OSError, match=text):
        merge(dataset, rows(a=9))


def test_staged_merges_of_one_new_row_both_land_so_they_are_not_used(table: Table) -> None:
    first, second = table.open(), table.open()
    staged = [
        d.merge_insert("id").when_not_matched_insert_all().use_index(False).execute_uncommitted(rows(new=1))[0]
        for d in (first, second)
    ]
    for dataset, transaction in zip((first, second), staged, strict=True):
        LanceDataset.commit(dataset, transaction, max_retries=0)
    assert table.open().count_rows("id = 'new'") == 2


def test_a_merge_inserts_a_new_row_twice_when_its_source_holds_it_twice(table: Table) -> None:
    twice = pa.concat_tables([rows(new=1), rows(new=2)])
    merge(table.open(), twice)
    assert table.open().count_rows("id = 'new'") == 2


def test_a_merge_with_an_id_of_the_table_twice_in_its_source_is_refused(table: Table) -> None:
    with pytest.raises(OSError, match=r"(?i)ambiguous|duplicate|multiple"):
        merge(table.open(), pa.concat_tables([rows(a=1), rows(a=2)]))


def test_a_strict_insert_of_a_known_id_is_refused_and_names_it(table: Table) -> None:
    strict = table.open().merge_insert("id").when_matched_fail().when_not_matched_insert_all().use_index(False)
    with pytest.raises(OSError, match="a"):
        strict.execute_uncommitted(rows(a=1))


def test_compacting_keeps_rows_metadata_and_old_versions(table: Table) -> None:
    table.open().update_schema_metadata({"stamp": "1"}, replace=True)
    before = table.open()
    before.optimize.compact_files(num_threads=1)
    after = table.open()
    assert len(after.get_fragments()) == 1
    assert held(after) == held(before)
    assert after.schema.metadata[b"stamp"] == b"1"
    assert held(table.open(1)) == {"a": 1, "b": 2}


# ---- versions, restores, branches -----------------------------------------------------------------------------------


def test_a_restore_is_a_new_version_of_its_own_kind(table: Table) -> None:
    old = table.open(1)
    old.restore()
    newest = table.open()
    assert newest.version == old.latest_version == 3
    assert isinstance(newest.read_transaction(3).operation, LanceOperation.Restore)
    assert held(newest) == {"a": 1, "b": 2}


def test_a_restore_puts_itself_over_whatever_came_in_between(table: Table) -> None:
    old = table.open(1)
    lance.write_dataset(rows(late=1), table.uri, mode="append")
    old.restore()
    assert "late" not in held(table.open())


def test_a_branch_continues_the_numbers_of_its_origin_and_lives_below_its_table(table: Table) -> None:
    table.open().create_branch("dev/x", (None, 1))
    branch = lance.dataset(f"{table.uri}/tree/dev/x")
    assert (branch.version, held(branch)) == (1, {"a": 1, "b": 2})
    made = commit(branch, append(branch, rows(e=5)))
    assert made.version == 2
    assert held(lance.dataset(f"{table.uri}/tree/dev/x")) == {"a": 1, "b": 2, "e": 5}
    assert held(table.open()) == {"a": 1, "b": 2, "c": 3, "d": 4}
    assert "dev/x" in branch.branches.list()
    branch.create_branch("deeper", ("dev/x", 2))
    assert lance.dataset(f"{table.uri}/tree/deeper").version == 2


def test_a_branch_made_anew_has_another_identifier(table: Table) -> None:
    found = []
    for _ in range(2):
        table.open().create_branch("dev", (None, 2))
        (entry,) = table.open().branches.list().values()
        found.append(entry["branch_identifier"])
        table.open().branches.delete("dev")
    assert found[0] != found[1]
    assert isinstance(found[0], list)


def test_a_table_a_branch_or_a_version_that_is_missing_is_a_value_error_that_says_so(table: Table) -> None:
    for uri, version in ((f"{table.uri}-no", None), (f"{table.uri}/tree/no", None), (table.uri, 99)):
        with pytest.raises(ValueError, match="was not found"):
            lance.dataset(uri, version=version)


def test_creating_a_table_where_there_is_one_is_refused(table: Table) -> None:
    with pytest.raises(OSError, match="already exists"):
        lance.write_dataset(rows(z=1), table.uri, mode="create")


def test_dropping_what_is_not_there_is_told_apart(tmp_path: Path) -> None:
    try:
        LanceDataset.drop(str(tmp_path / "no"), None, ignore_not_found=True)
    except (OSError, ValueError) as error:
        assert "not found" in str(error).casefold()  # noqa: PT017 - refusing and not refusing are both fine


def test_every_version_of_many_commits_stays_readable(table: Table) -> None:
    for number in range(25):
        lance.write_dataset(rows(**{f"k{number}": number}), table.uri, mode="append")
    assert [table.open(v).count_rows() for v in (1, 2, 10, 27)] == [2, 4, 12, 29]
