"""append, merge and overwrite; what a moving branch, a refusal or a fault does to a load."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph_sql.base.errors import (
    ConstraintViolation,
    KeyConflict,
    OmniError,
    PreconditionFailed,
    ReadSetChanged,
    StorageError,
)
from omnigraph_sql.base.seams import Fault, Raise
from omnigraph_sql.engine.load.report import Phase, Progress, TableCount
from omnigraph_sql.engine.load.values import Source
from omnigraph_sql.engine.opening import open_for_writing
from omnigraph_sql.engine.write.txn import Author
from tests.engine.load.loading import (
    data_files,
    everything,
    graph,
    ids,
    jsonl,
    put,
    road,
    stored,
    town,
)
from tests.engine.worlds import At, at, seams, sidecars


def heights(world: object, branch: str = "main") -> dict[str, int | None]:
    return {row["id"]: row["height"] for row in stored(world, "Town", branch)}  # type: ignore[arg-type]


def test_appending_adds_rows_and_reports_totals(tmp_path: Path) -> None:
    world = graph(tmp_path)
    put(world, jsonl(tmp_path, [town("a"), town("b")]))
    report = put(world, jsonl(tmp_path, [town("c"), road("a", "c"), road("a", "c")]), author=Author("bo", "more"))
    assert report.tables == (TableCount("edge:Road", 2, 0, 2), TableCount("node:Town", 1, 0, 3))
    assert (report.rows_read, report.actor, report.mode, report.branch) == (3, "bo", "append", "main")
    assert report.seconds > 0
    snapshot = world.manifest.current("main").snapshot
    assert snapshot.head == report.commit_id
    assert {pin.key: pin.row_count for pin in snapshot.tables if pin.row_count} == {"node:Town": 3, "edge:Road": 2}
    assert len(set(ids(world, "Road"))) == 2
    assert all(len(one) == 26 for one in ids(world, "Road"))
    assert sidecars(world) == []


def test_merging_replaces_whole_rows_and_adds_others(tmp_path: Path) -> None:
    world = graph(tmp_path)
    put(world, jsonl(tmp_path, [town("a", height=1, mail="m"), town("b", height=2), town("c", height=3)]))
    report = put(world, jsonl(tmp_path, [town("b", height=20), town("d"), town("a")]), mode="merge")
    assert report.tables == (TableCount("node:Town", 3, 2, 4),)
    assert heights(world) == {"a": None, "b": 20, "c": 3, "d": None}
    assert stored(world, "Town")[0]["mail"] is None


def test_merging_the_same_again_and_again_is_stable(tmp_path: Path) -> None:
    world = graph(tmp_path)
    path = jsonl(tmp_path, [town("a"), town("b"), road("a", "b", id="r")])
    for _ in range(3):
        put(world, path, mode="merge")
        assert (ids(world, "Town"), ids(world, "Road")) == (["a", "b"], ["r"])


@pytest.mark.parametrize("blob", [False, True])
def test_of_rows_with_one_id_the_last_one_is_merged(tmp_path: Path, blob: bool) -> None:
    world = graph(tmp_path)
    given = {"body": "base64:AA=="} if blob else {}
    lines = [{"type": "Kinds", "data": {"name": f"k{n % 3}", "small": n, **given}} for n in range(10)]
    report = put(world, jsonl(tmp_path, lines[:5], "1.jsonl"), jsonl(tmp_path, lines[5:], "2.jsonl"), mode="merge")
    assert report.tables == (TableCount("node:Kinds", 3, 0, 3),)
    assert [(r["id"], r["small"]) for r in stored(world, "Kinds")] == [("k0", 9), ("k1", 7), ("k2", 8)]


def test_the_last_line_wins_however_the_lines_are_spelled(tmp_path: Path) -> None:
    world = graph(tmp_path)
    line = '{"type":"Town","data":{"code":"a","name":"A","height":%d}}'
    put(world, jsonl(tmp_path, [line % 1, (line % 2).replace(":", " : "), line % 3]), mode="merge")
    assert heights(world) == {"a": 3}


def test_overwriting_replaces_the_tables_that_occur_and_no_others(tmp_path: Path) -> None:
    world = graph(tmp_path)
    put(world, jsonl(tmp_path, [town("a"), town("b"), {"type": "Year", "data": {"number": 7}}]))
    report = put(world, jsonl(tmp_path, [town("b"), town("c")]), mode="overwrite")
    assert report.tables == (TableCount("node:Town", 2, 2, 2),)
    assert (ids(world, "Town"), ids(world, "Year")) == (["b", "c"], ["7"])


def test_overwriting_with_a_table_of_no_rows_empties_it(tmp_path: Path) -> None:
    world = graph(tmp_path)
    put(world, jsonl(tmp_path, [town("a")]))
    (tmp_path / "none.csv").write_text("code,name\n")
    report = put(world, Source(tmp_path / "none.csv", "Town"), mode="overwrite")
    assert report.tables == (TableCount("node:Town", 0, 1, 0),)
    assert ids(world, "Town") == []


def test_overwriting_nodes_under_edges_that_stay_is_refused(tmp_path: Path) -> None:
    world = graph(tmp_path)
    put(world, jsonl(tmp_path, [town("a"), town("b"), road("a", "b", id="r")]))
    before = everything(world)
    with pytest.raises(ConstraintViolation, match="Town 'b' goes, but Road 'r' goes to it"):
        put(world, jsonl(tmp_path, [town("a")]), mode="overwrite")
    assert everything(world) == before
    put(world, jsonl(tmp_path, [town("a"), road("a", "a", id="s")]), mode="overwrite")
    assert (ids(world, "Town"), ids(world, "Road")) == (["a"], ["s"])


def test_overwriting_nodes_does_not_count_those_that_go_as_ends(tmp_path: Path) -> None:
    world = graph(tmp_path)
    put(world, jsonl(tmp_path, [town("a")]))
    with pytest.raises(ConstraintViolation, match="comes from Town 'a', which does not exist"):
        put(world, jsonl(tmp_path, [town("b"), road("a", "b")]), mode="overwrite")


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_an_id_that_occurs_twice_is_refused_before_anything_is_announced(tmp_path: Path, mode: str) -> None:
    world = graph(tmp_path)
    first, second = jsonl(tmp_path, [town("a"), town("b")], "1.jsonl"), jsonl(tmp_path, [town("a")], "2.jsonl")
    with pytest.raises(KeyConflict) as caught:
        put(world, first, second, mode=mode)
    assert str(caught.value) == f"{second}, line 1: Town 'a' is in this load already, at {first}, line 1"
    assert (sidecars(world), data_files(world)) == ([], [])


@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
def test_a_load_of_nothing_is_a_commit_without_changes(tmp_path: Path, mode: str) -> None:
    world = graph(tmp_path)
    put(world, jsonl(tmp_path, [town("a")]))
    before = world.manifest.current("main").snapshot
    report = put(world, jsonl(tmp_path, [""]), mode=mode)
    after = world.manifest.current("main").snapshot
    assert (after.head, after.tables, report.tables) == (report.commit_id, before.tables, ())
    assert put(world, mode=mode).commit_id != report.commit_id


def test_types_without_rows_are_left_alone_by_appending(tmp_path: Path) -> None:
    world = graph(tmp_path)
    (tmp_path / "none.csv").write_text("code,name\n")
    report = put(
        world, Source(tmp_path / "none.csv", "Town"), jsonl(tmp_path, [{"type": "Day", "data": {"on": "2026-01-01"}}])
    )
    assert [(t.table, t.rows) for t in report.tables] == [("node:Day", 1), ("node:Town", 0)]
    pin = world.manifest.current("main").snapshot.named("node:Town")
    assert pin is not None
    assert pin.version == 1


# ---- ids and ends -----------------------------------------------------------------------------------------------


def test_ids_follow_from_keys_and_explicit_ones_are_kept(tmp_path: Path) -> None:
    world = graph(tmp_path)
    lines: list[dict[str, object]] = [
        {"type": "Year", "data": {"number": -7}},
        {"type": "Day", "data": {"on": "1970-01-11"}},
        {"type": "Cell", "data": {"row": 4, "column": "x"}},
        {"type": "Cell", "data": {"row": 4, "column": 'q"\\'}},
        {"type": "Note", "id": "my id/1", "data": {"text": "t"}},
        {"type": "Note", "data": {"text": "made"}},
        {"type": "Note", "data": {"id": "inside", "text": "t"}},
    ]
    put(world, jsonl(tmp_path, lines))
    assert ids(world, "Year") == ["-7"]
    assert ids(world, "Day") == ["10"]
    assert ids(world, "Cell") == [r'["q\"\\","4"]', '["x","4"]']
    made = ids(world, "Note")
    assert made[1:] == ["inside", "my id/1"]
    assert len(made[0]) == 26


def test_ends_are_ids_or_values_of_the_only_key(tmp_path: Path) -> None:
    world = graph(tmp_path)
    put(
        world,
        jsonl(
            tmp_path,
            [
                *(town(code) for code in "abcdef"),
                *({"type": "Year", "data": {"number": n}} for n in range(6)),
                {"type": "Day", "data": {"on": "1970-01-11"}},
                {"type": "Note", "id": "n", "data": {"text": "t"}},
                {"edge": "Founded", "from": "a", "to": 0},
                {"edge": "Founded", "from": "b", "to": "1"},
                {"edge": "On", "from": "n", "to": "10"},
                {"edge": "On", "from": "n", "to": "1970-01-11"},
            ],
        ),
    )
    typed = pa.table({"src": ["c"], "dst": pa.array([2], pa.int8())})
    texts = pa.table({"from": pa.array(["d"]).dictionary_encode(), "to": ["3"]})
    (tmp_path / "e.csv").write_text("from,to\ne,004\n")
    days = pa.table({"src": ["n"], "dst": pa.array([10], pa.int32()).cast(pa.date32())})
    put(
        world,
        Source(typed, "Founded"),
        Source(texts, "edge:Founded"),
        Source(tmp_path / "e.csv", "Founded"),
        Source(days, "On"),
    )
    pairs = sorted((row["src"], row["dst"]) for row in stored(world, "Founded"))
    assert pairs == [("a", "0"), ("b", "1"), ("c", "2"), ("d", "3"), ("e", "4")]
    assert [row["dst"] for row in stored(world, "On")] == ["10", "10", "10"]


# ---- a world that moves -----------------------------------------------------------------------------------------


def racing(folder: Path, place: str, line: dict[str, object], mode: str = "merge") -> At:
    """Another process loads a row when `place` is reached."""
    return At(place, lambda: void(put(at(folder / "g"), jsonl(folder, [line], "race.jsonl"), mode=mode)))


def void(_: object) -> None:
    return None


@pytest.mark.parametrize("mode", ["append", "merge"])
def test_a_load_is_prepared_anew_when_the_branch_moves(tmp_path: Path, mode: str) -> None:
    graph(tmp_path)
    world = at(tmp_path / "g", seams(failpoints=racing(tmp_path, "write.before_lease", town("x", height=1))))
    lines = [town("a"), *([town("x", height=2)] if mode == "merge" else [])]
    report = put(world, jsonl(tmp_path, lines), mode=mode)
    assert heights(world) == {"a": None, "x": 2 if mode == "merge" else 1}
    assert report.tables[0].replaced == (1 if mode == "merge" else 0)


def test_appending_an_id_that_somebody_else_appends_meanwhile_is_a_conflict(tmp_path: Path) -> None:
    graph(tmp_path)
    world = at(tmp_path / "g", seams(failpoints=racing(tmp_path, "write.before_lease", town("a", height=1))))
    with pytest.raises(KeyConflict, match="Town 'a': it exists already"):
        put(world, jsonl(tmp_path, [town("a", height=2)]))
    assert heights(world) == {"a": 1}
    assert len(data_files(world)) == 1


def test_overwriting_is_not_repeated_on_another_base(tmp_path: Path) -> None:
    graph(tmp_path)
    world = at(tmp_path / "g", seams(failpoints=racing(tmp_path, "write.before_lease", town("x"))))
    with pytest.raises(ReadSetChanged):
        put(world, jsonl(tmp_path, [town("a")]), mode="overwrite")
    assert ids(world, "Town") == ["x"]
    assert len(data_files(world)) == 1


def test_an_author_who_insists_on_a_head_gets_no_second_attempt(tmp_path: Path) -> None:
    first = graph(tmp_path)
    head = first.manifest.current("main").snapshot.head
    world = at(tmp_path / "g", seams(failpoints=racing(tmp_path, "write.before_lease", town("x"))))
    with pytest.raises(ReadSetChanged):
        put(world, jsonl(tmp_path, [town("a")]), author=Author(expected_head=head))
    with pytest.raises(PreconditionFailed):
        put(world, jsonl(tmp_path, [town("a")]), author=Author(expected_head=head))


def test_a_branch_gets_its_own_copy_and_the_other_stays(tmp_path: Path) -> None:
    world = graph(tmp_path)
    put(world, jsonl(tmp_path, [town("a", height=1), {"type": "Kinds", "data": {"name": "k"}}]))
    world.manifest.table.create_branch("review/x", world.manifest.current("main").view)
    body = "base64:" + "QUJD" * 50_000
    lines: list[dict[str, object]] = [
        town("a", height=2),
        town("b"),
        {"type": "Kinds", "data": {"name": "k", "body": body}},
    ]
    for _ in range(2):
        put(world, jsonl(tmp_path, lines), mode="merge", branch="review/x")
        assert heights(world, "review/x") == {"a": 2, "b": None}
        assert [len(row["body"]) for row in stored(world, "Kinds", "review/x")] == [150_000]
    put(world, jsonl(tmp_path, [town("c")]), mode="overwrite", branch="review/x")
    put(world, jsonl(tmp_path, [town("d")]), branch="review/x")
    assert heights(world, "review/x") == {"c": None, "d": None}
    assert heights(world) == {"a": 1}


# ---- faults -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["store.write", "load.after_files", "write.before_lease", "arm.before"])
def test_a_fault_before_arming_shows_nothing_and_the_next_load_works(tmp_path: Path, place: str) -> None:
    graph(tmp_path)
    fault = Fault(place, Raise(StorageError("no", kind="transient")))
    world = at(tmp_path / "g", seams(fault))
    path = jsonl(tmp_path, [town("a"), town("b"), road("a", "b", id="r")])
    with pytest.raises(StorageError):
        put(world, path)
    assert (ids(world, "Town"), sidecars(world)) == ([], [])
    assert data_files(world) == [] or place in ("write.before_lease", "arm.before")
    put(world, path)
    assert (ids(world, "Town"), ids(world, "Road")) == (["a", "b"], ["r"])


@pytest.mark.parametrize(
    "error", [StorageError("no", kind="transient"), KeyboardInterrupt()], ids=["fault", "interrupt"]
)
@pytest.mark.parametrize("place", ["commit.after_table", "confirm.after", "publish.before", "publish.after_merge"])
def test_files_that_may_be_part_of_a_table_are_never_removed(tmp_path: Path, place: str, error: BaseException) -> None:
    graph(tmp_path)
    path = jsonl(tmp_path, [town("a"), town("b"), road("a", "b", id="r")])
    with pytest.raises((OmniError, KeyboardInterrupt)):
        put(at(tmp_path / "g", seams(Fault(place, Raise(error)))), path)
    again = at(tmp_path / "g")
    open_for_writing(again)
    found = (ids(again, "Town"), ids(again, "Road"))
    assert found == ([], []) if place == "commit.after_table" else found == (["a", "b"], ["r"])
    put(again, path, mode="merge")
    assert (ids(again, "Town"), ids(again, "Road")) == (["a", "b"], ["r"])


def test_a_writer_that_fails_in_the_middle_of_a_long_stream_ends_the_load(tmp_path: Path) -> None:
    graph(tmp_path)
    world = at(tmp_path / "g", seams(Fault("store.write", Raise(StorageError("full", kind="permanent")))))

    def batches() -> object:
        for n in range(50):
            yield pa.record_batch({"code": [f"{n}"], "name": ["x"]})

    stream = pa.RecordBatchReader.from_batches(pa.schema([("code", pa.utf8()), ("name", pa.utf8())]), batches())
    with pytest.raises(StorageError, match="full"):
        put(world, Source(stream, "Town"))


# ---- progress ---------------------------------------------------------------------------------------------------


def test_progress_only_grows_and_ends_with_everything(tmp_path: Path) -> None:
    told: list[Progress] = []
    path = jsonl(tmp_path, [town("a"), town("b"), road("a", "b")])
    put(graph(tmp_path), path, progress=told.append)
    assert told[-1] == Progress(Phase.DONE, 3, path.stat().st_size, (("edge:Road", 1), ("node:Town", 2)))
    order = list(Phase)
    steps = [(order.index(p.phase), p.rows_read, p.bytes_read) for p in told]
    assert steps == sorted(steps)
    assert {p.phase for p in told} == set(Phase)


def test_the_report_can_be_read_by_a_person(tmp_path: Path) -> None:
    world = graph(tmp_path)
    put(world, jsonl(tmp_path, [town("a")]))
    text = str(put(world, jsonl(tmp_path, [town("a"), town("b")]), mode="merge"))
    assert "2 rows in" in text
    assert "node:Town: 2 rows, 1 replaced, 2 in all" in text
