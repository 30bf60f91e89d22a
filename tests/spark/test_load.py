"""Loading on Spark: what the local loader takes and refuses, in the same words, published once."""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import omnigraph_sql as og
from omnigraph_sql.base.errors import ConstraintViolation, DataError, OmniError, ReadSetChanged
from omnigraph_sql.engine.load.publishing import Delivery
from omnigraph_sql.spark import loading
from omnigraph_sql.spark.crossing import plain
from omnigraph_sql.spark.loading import load
from omnigraph_sql.spark.registering import register, use_source
from omnigraph_sql.spark.report import RowsRefused
from tests.spark import dirty, dirty_columns
from tests.spark.air import SCHEMA as AIR
from tests.spark.air import air, airports, content
from tests.spark.dirty import Told

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FULL = os.environ.get("OMNI_SPARK") == "full"
SCHEMA = "node A { k: I32 @key  name: String? }  edge E: A -> A @card(0..2) { w: I32? }"


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = og.init(tmp_path / "g.omni", schema=SCHEMA)
    made.sql("INSERT INTO A (k, name) VALUES (1, 'one'), (2, 'two')")
    return made


def frame(spark: SparkSession, rows: list[tuple[Any, ...]], schema: str) -> Any:
    return spark.createDataFrame(rows, schema)


@pytest.mark.parametrize("seed", range(40) if FULL else [3])
@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
def test_spark_takes_and_refuses_what_the_local_loader_does(
    spark: SparkSession, tmp_path: Path, seed: int, mode: str
) -> None:
    print(f"seed {seed}")
    rows = dirty.lines(random.Random(seed), 60)
    path = tmp_path / "far.jsonl"
    path.write_text("".join(line + "\n" for line in rows))
    near, far = dirty.graph(tmp_path, "near"), dirty.graph(tmp_path, "far")
    wanted = dirty.judged(tmp_path, near, rows, mode)
    report = load(spark, far.uri, [str(path)], mode=mode, on_error="skip")
    found = [Told.by_spark(path, refusal) for refusal in report.refusals]
    assert sorted(found, key=repr) == sorted(wanted, key=repr)
    assert content(far) == content(near)
    assert report.rows_refused == len(wanted)


@pytest.mark.parametrize("seed", range(20) if FULL else [1])
def test_spark_takes_and_refuses_lines_of_csv_as_the_local_loader_does(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    print(f"seed {seed}")
    chance = random.Random(seed)
    rows, mode = dirty.csv_lines(chance, 60), chance.choice(["append", "merge"])
    path = tmp_path / "far.csv"
    path.write_text("".join(line + "\n" for line in rows))
    near, far = dirty.graph(tmp_path, "near"), dirty.graph(tmp_path, "far")
    wanted = dirty.judged(tmp_path, near, rows, mode, type="Town")
    report = load(spark, far.uri, {"Town": str(path)}, mode=mode, on_error="skip")
    found = [Told.by_spark(path, refusal) for refusal in report.refusals]
    assert sorted(found, key=repr) == sorted(wanted, key=repr)
    assert content(far) == content(near)


@pytest.mark.parametrize("seed", range(60) if FULL else [31, 55])
@pytest.mark.parametrize("given", ["files", "files that Spark reads", "frames"] if FULL else ["files"])
@pytest.mark.parametrize("of", ["Town", "Leg"])
def test_spark_takes_and_refuses_columns_with_types_as_the_local_loader_does(
    spark: SparkSession, tmp_path: Path, seed: int, given: str, of: str
) -> None:
    print(f"seed {seed}")
    chance = random.Random(seed)
    folder = tmp_path / ("a=b" if given == "files that Spark reads" else "ab")
    folder.mkdir()
    make = dirty_columns.files if of == "Town" else dirty_columns.edge_files
    paths = make(chance, folder / "far")
    mode = chance.choice(["append", "merge"] if of == "Town" else ["append", "overwrite"])
    shutil.copytree(folder / "far", tmp_path / "near")
    near, far = dirty_columns.graph(tmp_path, "near-graph"), dirty_columns.graph(tmp_path, "far-graph")
    wanted = dirty_columns.judged(near, [tmp_path / "near" / path.name for path in paths], mode, of)
    pattern = str(folder / "far" / "*.parquet")
    sources = pattern if given != "frames" else [spark.read.parquet(str(path)) for path in paths]
    report = load(spark, far.uri, {of: sources}, mode=mode, on_error="skip")
    if given != "frames":
        found = [dirty_columns.told(r.file, r.row, r.reason, r.code, r.hint) for r in report.refusals]
        assert sorted(found, key=repr) == sorted(wanted, key=repr)
    assert content(far) == content(near)
    assert report.rows_refused == len(wanted)


def test_a_refused_row_refuses_the_load_and_leaves_no_trace(
    spark: SparkSession, tmp_path: Path, graph: og.Graph
) -> None:
    path = tmp_path / "a.csv"
    path.write_text('k,name\n3,three\n\nx,four\n5,"fi\nve"\n6,six,6\n')
    before = (graph.head, files(graph))
    with pytest.raises(RowsRefused) as caught:
        load(spark, graph.uri, {"A": str(path)}, mode="append", quarantine=str(tmp_path / "q"))
    with pytest.raises(DataError) as local:
        graph.load(path, type="A", mode="append")
    assert (caught.value.load.rows_refused, caught.value.load.commit_id) == (2, None)
    reasons = [r.reason for r in caught.value.load.refusals]
    assert reasons == [
        f"{path}, line 4: A.k: 'x' is no I32",
        f"{path}, line 7: 3 values where the header names 2 columns",
    ]
    assert local.value.message in reasons
    assert (graph.head, files(graph)) == before
    kept = pq.read_table(tmp_path / "q").to_pylist()
    assert [(r["type"], r["row"], r["data"]) for r in kept] == [("node:A", 4, "x,four"), ("node:A", 7, "6,six,6")]
    assert {r["load"] for r in kept} == {caught.value.load.load_id}
    assert [(r["file"], r["rule"], r["reason"]) for r in kept] == [(str(path), "data", reason) for reason in reasons]
    report = load(spark, graph.uri, {"A": str(path)}, mode="append", on_error="skip")
    assert dict(graph.sql("SELECT k, name FROM A WHERE k > 2").fetchall()) == {3: "three", 5: "fi\nve"}
    assert json.loads(report.json())["rules"] == {"data": 2}


def files(graph: og.Graph) -> list[str]:
    """Data files and what a load keeps while it lasts."""
    root = Path(graph.uri)
    return sorted(str(p.relative_to(root)) for p in root.rglob("*") if p.suffix in (".lance", ".parquet", ".arrow"))


def test_merging_replaces_adds_and_keeps_the_last_and_again_changes_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    graph = air(tmp_path)
    rows = airports().set_column(1, "city", pa.array(["Callao", "Cusco", "La Paz", "Arequipa"]))
    more = pa.concat_tables(
        [rows.slice(0, 1), rows.set_column(0, "code", pa.array(["LIM", "X1", "X2", "X3"])).slice(1)]
    )
    parquet = tmp_path / "rows.parquet"
    pq.write_table(more.set_column(1, "city", pa.array(["Callao", "B", "C", "D"])), parquet)
    report = load(spark, graph.uri, {"Airport": str(parquet)}, mode="merge")
    assert [(t.table, t.read, t.written, t.replaced, t.total) for t in report.tables] == [("node:Airport", 4, 4, 1, 7)]
    assert graph.sql("SELECT city, passengers FROM Airport WHERE code = 'LIM'").fetchone() == ("Callao", 2**64 - 1)
    before = (graph.head, content(graph), files(graph))
    again = load(spark, graph.uri, {"Airport": str(parquet)}, mode="merge")
    assert (graph.head, content(graph), files(graph)) == before
    assert again.commit_id is None
    assert [(t.read, t.unchanged, t.written, t.total) for t in again.tables] == [(4, 4, 0, 7)]
    pq.write_table(more.set_column(1, "city", pa.array(["Lima", "B", "C", "D"])), parquet)
    third = load(spark, graph.uri, {"Airport": str(parquet)}, mode="merge")
    assert [(t.read, t.unchanged, t.written, t.replaced, t.total) for t in third.tables] == [(4, 3, 1, 1, 7)]
    assert graph.sql("SELECT city FROM Airport WHERE code = 'LIM'").fetchone() == ("Lima",)
    assert graph.sql("SELECT count(*) FROM Route r JOIN Airport a ON r.src = a.id").fetchone() == (4,)


def test_every_type_goes_through_spark_and_back_without_loss(spark: SparkSession, tmp_path: Path) -> None:
    old, new = air(tmp_path, "old"), og.init(tmp_path / "new.omni", schema=AIR)
    known = register(spark, old.uri, prefix="trip_")
    rows = {of.name: spark.table(f"trip_{of.name}") for of in old.catalog.tables()}
    for of in old.catalog.tables():
        if of.key:
            rows[of.name] = rows[of.name].drop("id")
    load(spark, new.uri, rows, mode="append")
    assert content(new) == content(old)
    assert known.views == tuple(f"trip_{of.name}" for of in old.catalog.tables())


@pytest.mark.parametrize(
    ("schema", "value", "words"),
    [
        ("k int, u bigint", 2**32, "4294967296"),
        ("k int, u bigint", -1, "-1"),
        ("k int, u decimal(20,0)", 2**64 - 1, "18446744073709551615"),
        ("k int, u double", 1.5, "1.5"),
        ("k int, w decimal(20,0)", -1, "-1"),
        ("k int, v array<float>", [1.0], "Vector(2)"),
    ],
)
def test_a_value_that_its_type_cannot_hold_is_refused_with_its_row(
    spark: SparkSession, tmp_path: Path, schema: str, value: Any, words: str
) -> None:
    from decimal import Decimal

    graph = og.init(tmp_path / "g.omni", schema="node P { k: I32 @key  u: U32?  w: U64?  v: Vector(2)? }")
    given = Decimal(value) if "decimal" in schema else value
    report = load(spark, graph.uri, {"P": frame(spark, [(1, given)], schema)}, mode="append", on_error="skip")
    (refused,) = report.refusals
    assert words in refused.reason
    assert report.tables[0].refused == 1


def test_overwriting_replaces_a_table_and_refuses_to_leave_edges_behind(spark: SparkSession, graph: og.Graph) -> None:
    graph.sql("INSERT INTO E (src, dst) VALUES ('1', '2')")
    with pytest.raises(ConstraintViolation, match=r"A '1' goes, but E .* comes from it"):
        load(spark, graph.uri, {"A": frame(spark, [(2, "b")], "k int, name string")}, mode="overwrite", on_error="skip")
    both = {
        "A": frame(spark, [(7, "b")], "k int, name string"),
        "E": frame(spark, [(7, 7)], "src int, dst int"),
    }
    load(spark, graph.uri, both, mode="overwrite")
    assert content(graph) == {"A": [(7, "b")], "E": [("7", "7", None)]}


def test_a_load_on_a_branch_leaves_the_others_alone(spark: SparkSession, graph: og.Graph) -> None:
    graph.create_branch("side")
    rows = frame(spark, [(2, "TWO"), (3, "three")], "k int, name string")
    load(spark, graph.uri, {"A": rows}, mode="merge", branch="side")
    side = graph.checkout("side")
    assert content(side)["A"] == [(1, "one"), (2, "TWO"), (3, "three")]
    assert content(graph)["A"] == [(1, "one"), (2, "two")]


def test_rows_with_large_values_can_be_left_out_too(spark: SparkSession, tmp_path: Path) -> None:
    graph = og.init(tmp_path / "b.omni", schema="node P { k: I32 @key  body: Blob? }")
    big = bytes(range(256)) * 500
    rows = frame(spark, [(1, b"old"), (2, None), (1, big)], "k int, body binary").coalesce(1)
    load(spark, graph.uri, {"P": rows}, mode="merge")
    found = graph.sql("SELECT k, body FROM P ORDER BY k").fetchall()
    assert found == [(1, big), (2, None)]
    assert not list(Path(graph.uri).rglob("d*.manifest"))


def test_a_load_with_an_id_is_published_once(spark: SparkSession, graph: og.Graph) -> None:
    own = "01M7QENZ8T6C00C8TCED7HQSX6"
    rows = frame(spark, [(3, "three")], "k int, name string")
    first = load(spark, graph.uri, {"A": rows}, mode="append", load_id=own, actor="ana")
    assert (first.commit_id, first.already, graph.head) == (own, False, own)
    again = load(spark, graph.uri, {"A": rows}, mode="append", load_id=own)
    assert (again.commit_id, again.already, graph.head) == (own, True, own)
    assert graph.sql("SELECT count(*) FROM A").fetchone() == (3,)
    pin = graph._session.snapshot().named("node:A")
    assert pin is not None
    transaction = graph._world.tables.open(pin).dataset.read_transaction(pin.version)
    assert transaction.transaction_properties["omnigraph.operation"] == own


@pytest.mark.parametrize(
    "own", ["", "7", "01M7QENZ8T6C00C8TCED7HQSX", "01M7QENZ8T6C00C8TCED7HQSXU", "../" * 8 + "xx", "8" + "0" * 25]
)
def test_an_id_that_no_commit_could_have_is_refused(spark: SparkSession, graph: og.Graph, own: str) -> None:
    before = graph.head
    rows = frame(spark, [(3, "three")], "k int, name string")
    with pytest.raises(DataError, match="is no id of a load"):
        load(spark, graph.uri, {"A": rows}, mode="append", load_id=own)
    use_source(spark)
    with pytest.raises(Exception, match="is no id of a load"):
        rows.write.format("omnigraph").options(graph=graph.uri, type="A", load_id=own).mode("append").save()
    assert graph.head == before


@pytest.mark.parametrize(
    ("texts", "type"),
    [
        ({"a.jsonl": ""}, None),
        ({"a.jsonl": "", "b.jsonl": '{"type": "A", "data": {"k": 5}}\n', "c.jsonl": ""}, None),
        ({"a.csv": ""}, "A"),
        ({"a.csv": "k,name"}, "A"),
        ({"a.csv": "k,name\n5,five\n", "b.csv": "k\n"}, "A"),
        ({"a.csv": "k,name\n5,five\n", "b.csv": ""}, "A"),
        ({"a.parquet": ""}, "A"),
    ],
)
def test_files_without_a_row_or_a_byte_are_taken_as_the_local_loader_takes_them(
    spark: SparkSession, tmp_path: Path, texts: dict[str, str], type: str | None
) -> None:
    (tmp_path / "in").mkdir()
    for name, text in texts.items():
        (tmp_path / "in" / name).write_text(text)
    graphs = [og.init(tmp_path / f"{name}.omni", schema=SCHEMA) for name in ("near", "far")]
    pattern = str(tmp_path / "in" / f"*{Path(next(iter(texts))).suffix}")
    outcomes = []
    for act in (
        lambda: graphs[0].load(sorted((tmp_path / "in").iterdir()), type=type, mode="append").tables,
        lambda: load(spark, graphs[1].uri, [pattern] if type is None else {type: pattern}, mode="append").tables,
    ):
        try:
            outcomes.append([table.table for table in act()])
        except DataError as error:
            outcomes.append([error.message])
    assert outcomes[0] == outcomes[1]
    assert content(graphs[1]) == content(graphs[0])


@pytest.mark.parametrize(
    ("name", "words"), [("a.csv.zst", "does not unpack .zst"), ("a.txt", "is none of .jsonl, .csv")]
)
def test_a_form_that_is_not_read_is_refused(spark: SparkSession, graph: og.Graph, name: str, words: str) -> None:
    with pytest.raises(DataError, match=words):
        load(spark, graph.uri, {"A": name}, mode="append")


def test_what_is_no_source_is_refused_with_what_is_one(spark: SparkSession, graph: og.Graph) -> None:
    for wrong, name in ((pa.table({"k": [1]}), "pyarrow.Table"), (None, "builtins.NoneType")):
        with pytest.raises(DataError, match=f"{name} is neither a DataFrame of Spark nor the path") as caught:
            load(spark, graph.uri, {"A": wrong}, mode="append")
        assert "spark.createDataFrame" in str(caught.value.hint)


def test_the_same_files_cannot_be_committed_twice(
    spark: SparkSession, graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even by a driver that believes it has to repeat the whole publish."""
    publish = Delivery.publish
    outcomes: list[object] = []

    def twice(delivery: Any, contract: Any, first: Any) -> Any:
        delivery.named = True
        done = publish(delivery, contract, first)
        with pytest.raises(OmniError) as caught:
            publish(delivery, contract, first)
        outcomes.append(caught.value.code)
        return done

    monkeypatch.setattr(Delivery, "publish", twice)
    load(spark, graph.uri, {"A": frame(spark, [(3, "three")], "k int, name string")}, mode="append")
    assert outcomes == ["already_loaded"]
    assert graph.sql("SELECT count(*) FROM A").fetchone() == (3,)


def write_between(monkeypatch: pytest.MonkeyPatch, graph: og.Graph, keys: list[int]) -> None:
    """Insert one of the keys whenever the rows of a load were checked and are about to be published."""
    prepare = loading.LoadRun._prepare

    def meanwhile(run: Any, txn: Any) -> Any:
        found = prepare(run, txn)
        if keys:
            graph.sql("INSERT INTO A (k, name) VALUES ($k, 'in between')", {"k": keys.pop(0)})
        return found

    monkeypatch.setattr(loading.LoadRun, "_prepare", meanwhile)


def test_a_writer_in_between_is_seen_and_nothing_is_lost(
    spark: SparkSession, graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The branch moves after the rows were checked: appending checks again on the new head, overwriting gives up."""
    keys = [4, 5]
    write_between(monkeypatch, graph, keys)
    rows = frame(spark, [(2, "TWO"), (3, "three")], "k int, name string")
    load(spark, graph.uri, {"A": rows}, mode="merge")
    kept = [(1, "one"), (2, "TWO"), (3, "three"), (4, "in between"), (5, "in between")]
    assert content(graph)["A"] == kept
    keys.append(6)
    with pytest.raises(ReadSetChanged):
        load(spark, graph.uri, {"A": rows}, mode="overwrite")
    assert content(graph)["A"] == [*kept, (6, "in between")]


def test_rows_are_judged_by_what_a_writer_in_between_left(
    spark: SparkSession, graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = frame(spark, [(3, "three")], "k int, name string")
    with monkeypatch.context() as patch:
        write_between(patch, graph, [3])
        with pytest.raises(DataError, match="A '3': it exists already"):
            load(spark, graph.uri, {"A": rows}, mode="append")
    with monkeypatch.context() as patch:
        write_between(patch, graph, [5])
        later = frame(spark, [(3, "THREE"), (5, "five")], "k int, name string")
        report = load(spark, graph.uri, {"A": later}, mode="merge")
    assert [(t.written, t.replaced, t.total) for t in report.tables] == [(2, 2, 4)]
    assert content(graph)["A"] == [(1, "one"), (2, "two"), (3, "THREE"), (5, "five")]


@pytest.mark.parametrize("branch", ["main", "side"])
@pytest.mark.parametrize("mode", ["append", "merge"])
def test_a_load_leaves_no_file_behind_that_it_wrote_anew(
    spark: SparkSession, graph: og.Graph, monkeypatch: pytest.MonkeyPatch, mode: str, branch: str
) -> None:
    """Neither the files that held refused or replaced rows, nor those of an attempt that lost to another writer."""
    graph.create_branch("side")
    there = graph.checkout(branch)
    write_between(monkeypatch, there, [4])
    rows = frame(spark, [(3, "a"), (5, "b"), (3, "c"), (6, "d")], "k int, name string").coalesce(1)
    alone = frame(spark, [(3, "e")], "k int, name string").coalesce(1)
    ends = frame(spark, [(1, 3), (1, 9)], "src int, dst int").coalesce(1)
    sources = {"A": [rows, alone], "E": ends}
    report = load(spark, graph.uri, sources, mode=mode, on_error="skip", branch=branch)
    assert report.rows_refused == (3 if mode == "append" else 1)
    there.refresh()
    kept = {2: "two", 3: "a" if mode == "append" else "e", 4: "in between", 5: "b", 6: "d"}
    assert {row[0]: row[1] for row in content(there)["A"]} == {1: "one", **{int(k): v for k, v in kept.items()}}
    for key in ("node:A", "edge:E"):
        pin = there._session.snapshot().named(key)
        assert pin is not None
        dataset = there._world.tables.open(pin).dataset
        named = {file.path for fragment in dataset.get_fragments() for file in fragment.data_files()}
        below = Path(graph.uri) / pin.path / ("data" if branch == "main" else f"tree/{branch}/data")
        assert {path.name for path in below.glob("*.lance")} <= named
        everything = {path.name for path in (Path(graph.uri) / pin.path).rglob("*.lance")}
        first = graph._world.tables.open(graph._session.snapshot().named(key)).dataset  # type: ignore[arg-type]
        assert everything == named | {f.path for fragment in first.get_fragments() for f in fragment.data_files()}


def test_a_data_frame_is_written_through_the_source(spark: SparkSession, graph: og.Graph) -> None:
    use_source(spark)

    def write(rows: Any, save: str, **options: str) -> None:
        rows.write.format("omnigraph").options(graph=graph.uri, type="A", **options).mode(save).save()

    write(frame(spark, [(3, "three"), (4, None)], "k int, name string"), "append")
    assert content(graph)["A"] == [(1, "one"), (2, "two"), (3, "three"), (4, None)]
    write(frame(spark, [(3, "a"), (3, "b"), (5, "c")], "k int, name string").coalesce(1), "append", mode="merge")
    assert graph.sql("SELECT name FROM A WHERE k IN (3, 5) ORDER BY k").fetchall() == [("b",), ("c",)]
    with pytest.raises(Exception) as caught:  # noqa: PT011
        write(frame(spark, [(1, "again")], "k int, name string"), "append")
    assert "[key_conflict] A '1': it exists already" in str(plain(caught.value))
    write(frame(spark, [(9, "only")], "k int, name string"), "overwrite")
    assert content(graph)["A"] == [(9, "only")]


def test_a_replayed_batch_of_a_stream_changes_nothing(spark: SparkSession, tmp_path: Path, graph: og.Graph) -> None:
    use_source(spark)
    source, checkpoint = tmp_path / "in", tmp_path / "checkpoint"
    source.mkdir()

    def run() -> None:
        rows = spark.readStream.schema("k int, name string").json(str(source))
        sink = rows.writeStream.format("omnigraph").options(graph=graph.uri, type="A", app="nightly")
        query = sink.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
        query.awaitTermination()

    (source / "1.json").write_text('{"k": 3, "name": "three"}\n')
    run()
    head = graph.head
    assert content(graph)["A"] == [(1, "one"), (2, "two"), (3, "three")]
    (checkpoint / "commits" / "0").unlink()
    (checkpoint / "commits" / ".0.crc").unlink(missing_ok=True)
    run()
    assert graph.head == head
    (source / "2.json").write_text('{"k": 4, "name": "four"}\n')
    run()
    assert content(graph)["A"] == [(1, "one"), (2, "two"), (3, "three"), (4, "four")]


def test_a_task_that_fails_and_one_that_is_killed_leave_only_files_that_nobody_names(
    spark: SparkSession, tmp_path: Path, graph: og.Graph
) -> None:
    """The first attempt raises after half of its rows, the second takes its process with it, the third passes."""
    marks = tmp_path / "marks"
    marks.mkdir()

    def stumbling(batches: Any) -> Any:
        import signal

        from pyspark import TaskContext

        context = TaskContext.get()
        attempt = context.attemptNumber() if context is not None else 0
        for batch in batches:
            yield batch.slice(0, 1)
            if batch.num_rows > 1 and attempt == 0:
                (marks / "raised").touch()
                raise RuntimeError("planned")
            if batch.num_rows > 1 and attempt == 1:
                (marks / "killed").touch()
                os.kill(os.getpid(), signal.SIGKILL)
            yield batch.slice(1)

    rows = spark.range(3, 300, numPartitions=2).selectExpr("CAST(id AS INT) AS k", "'n' AS name")
    report = load(spark, graph.uri, {"A": rows.mapInArrow(stumbling, "k int, name string")}, mode="append")
    assert sorted(p.name for p in marks.iterdir()) == ["killed", "raised"]
    assert report.rows_read == 297
    assert graph.sql("SELECT count(*), count(DISTINCT k) FROM A").fetchone() == (299, 299)
    pin = graph._session.snapshot().named("node:A")
    assert pin is not None
    fragments = graph._world.tables.open(pin).dataset.get_fragments()
    assert len(fragments) == 3, "one of before, and one of each task however often it ran"
    assert sum(fragment.count_rows() for fragment in fragments) == 299
