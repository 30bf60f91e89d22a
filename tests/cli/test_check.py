"""`ogsql check`: a whole graph is whole, every kind of damage is found, and nothing is ever written."""

import json
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from threading import Event
from typing import Any

import lance
import pyarrow as pa
import pytest

import omnigraph_sql
from omnigraph_sql.base import limits
from omnigraph_sql.engine.store.root import AUDIT, MANIFEST, RECOVERY, SCHEMA_IR, SCHEMA_STATE
from omnigraph_sql.graph import Graph
from tests.cli.conftest import Command, Outcome
from tests.cli.test_upkeep import leave_behind

SCHEMA = """node Airport {
    code: String @key
    city: String
    elevation: I32?
    kind: enum(large, small)?
    @range(elevation, -500..6000)
    @unique(city, kind)
    @check(city, "^[A-Z]")
}
node Note { text: String  score: F64? }
node Day { at: Date  port: String  @key(at, port) }
edge Route: Airport -> Airport @card(0..2) { miles: I32 }
edge Tag: Note -> Airport { since: DateTime  @key(src, dst, since) }
"""

Damage = Callable[[Path], object]


def digest(folder: Path) -> str:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return sha256(b"".join(str(f.relative_to(folder)).encode() + f.read_bytes() for f in files)).hexdigest()


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph in which much has happened, on two branches."""
    path = tmp_path_factory.mktemp("whole") / "air.omni"
    with omnigraph_sql.init(path, schema=SCHEMA, actor="ana") as graph:
        fill(graph)
        graph.create_branch("review")
        review = graph.checkout("review")
        review.sql("INSERT INTO Route (src, dst, miles) VALUES ('TRU', 'LIM', 463)")
        graph.sql("INSERT INTO Note (text) VALUES ('on main')")
    return path


def fill(graph: Graph) -> None:
    graph.sql("INSERT INTO Airport (code, city) VALUES ('LIM', 'Lima'), ('CUZ', 'Cusco'), ('TRU', 'Trujillo')")
    graph.sql("INSERT INTO Airport (code, city) VALUES ('GRU', 'Nowhere')")
    graph.sql("INSERT INTO Route (src, dst, miles) VALUES ('LIM', 'CUZ', 363), ('LIM', 'TRU', 463), ('CUZ', 'GRU', 1)")
    graph.sql("INSERT INTO Day (at, port) VALUES (DATE '2026-01-31', 'LIM'), (DATE '1969-12-31', 'a \"quoted\" one')")
    graph.sql("INSERT INTO Note (text, score) VALUES ('first', 0.5), ('second', NULL)")
    graph.sql("INSERT INTO Tag (src, dst, since) SELECT id, 'LIM', TIMESTAMP '2026-01-31T12:00:00Z' FROM Note")
    graph.sql("UPDATE Airport SET elevation = 3310, kind = 'small' WHERE code = 'CUZ'")
    graph.sql("DELETE FROM Airport WHERE code = 'GRU'")
    graph.sql("ALTER TABLE Airport ADD COLUMN runways INTEGER")
    graph.sql("CREATE TABLE Carrier (iata VARCHAR PRIMARY KEY, name VARCHAR)")
    graph.sql("INSERT INTO Carrier VALUES ('H2', 'SKY')")
    graph.ensure_indices()


@pytest.fixture
def graph(folder: Path, whole: Path) -> Path:
    return Path(shutil.copytree(whole, folder / "air.omni"))


@pytest.fixture
def found(ogsql: Command, graph: Path) -> Callable[..., list[dict[str, Any]]]:
    """What is found, the same as text and as JSON, without a byte being written."""

    def run(*options: str) -> list[dict[str, Any]]:
        before = digest(graph)
        text, values = ogsql("check", "air.omni", *options), ogsql("check", "air.omni", *options, "--format", "json")
        assert digest(graph) == before
        shown = json.loads(values.out)
        assert (text.code, values.code) == ((1, 1) if shown["findings"] else (0, 0))
        assert shown["whole"] is (not shown["findings"])
        assert len(text.out.splitlines()) == len(shown["findings"])
        for line, finding in zip(text.out.splitlines(), shown["findings"], strict=True):
            assert all(part in line for part in (finding["message"], finding["hint"], f"[{finding['about']}]"))
            assert finding["hint"]
        return list(shown["findings"])

    return run


def told(findings: list[dict[str, Any]]) -> list[tuple[str, str | None, str | None]]:
    return [(one["about"], one["branch"], one["table"]) for one in findings]


# ---- damage ---------------------------------------------------------------------------------------------------------


def manifest(root: Path, branch: str = "main") -> Any:
    return lance.dataset(str(root / MANIFEST if branch == "main" else root / MANIFEST / "tree" / branch))


def home(root: Path, key: str) -> Path:
    rows = manifest(root).to_table().to_pylist()
    return root / str(next(r["location"] for r in rows if r["object_type"] == "table" and r["table_key"] == key))


def show_newest(root: Path, key: str) -> None:
    """Let the manifest show what is newest, as if a commit had led there."""
    table = lance.dataset(str(home(root, key)))
    rows = manifest(root).to_table().to_pylist()
    versions = [row for row in rows if row["object_type"] == "table_version" and row["table_key"] == key]
    last = max(versions, key=lambda row: row["table_version"])
    new = {"table_version": str(table.version), "row_count": str(table.count_rows())}
    manifest(root).update(new, where=f"object_id = '{last['object_id']}'")


def put(root: Path, key: str, *rows: dict[str, Any]) -> None:
    """Rows that nobody checked."""
    place = str(home(root, key))
    schema = lance.dataset(place).schema
    lance.write_dataset(pa.Table.from_pylist(list(rows), schema=schema), place, mode="append")
    show_newest(root, key)


def set_row(root: Path, key: str, where: str, **values: str) -> None:
    lance.dataset(str(home(root, key))).update(values, where=where)
    show_newest(root, key)


def drop(root: Path, key: str, where: str) -> None:
    lance.dataset(str(home(root, key))).delete(where)
    show_newest(root, key)


def data_files(root: Path, key: str) -> list[Path]:
    table = lance.dataset(str(home(root, key)))
    names = [file.path for fragment in table.get_fragments() for file in fragment.metadata.files]
    return [home(root, key) / "data" / name for name in names]


def port(code: str, **more: Any) -> dict[str, Any]:
    return {"id": code, "code": code, "city": f"City {code}", **more}


def route(own: str, src: str, dst: str) -> dict[str, Any]:
    return {"id": own, "src": src, "dst": dst, "miles": 1}


def test_a_whole_graph_is_whole_on_all_branches(found: Callable[..., list[dict[str, Any]]], ogsql: Command) -> None:
    assert found() == []
    done = ogsql("check", "air.omni")
    assert (done.code, done.out, done.err) == (0, "", "whole: 2 branches, 8 tables, 18 rows\n")
    assert ogsql("check", "air.omni", "-q").err == ""


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def empty(file: Path) -> None:
    file.write_bytes(b"")


def noise(file: Path) -> None:
    file.write_bytes(bytes(range(256)) * (file.stat().st_size // 256 + 1))


@pytest.mark.parametrize("harm", [Path.unlink, cut, empty, noise])
@pytest.mark.parametrize("key", ["node:Airport", "edge:Route"])
def test_a_data_file_that_cannot_be_read(
    found: Callable[..., list[dict[str, Any]]], graph: Path, harm: Callable[[Path], None], key: str
) -> None:
    harm(data_files(graph, key)[0])
    findings = found("--branch", "main")
    assert told(findings) == [("table", "main", key)]
    assert findings[0]["hint"] == "restore the graph's folder from a backup"


def test_a_version_that_is_gone(found: Callable[..., list[dict[str, Any]]], graph: Path) -> None:
    place = home(graph, "node:Note")
    shown = lance.dataset(str(place)).version
    (place / "_versions" / f"{2**64 - 1 - shown:020d}.manifest").unlink()
    findings = found("--branch", "main")
    assert told(findings) == [("table", "main", "node:Note")]
    assert findings[0]["message"] == f"version {shown} of node:Note is gone"


def test_another_number_of_rows_than_was_recorded(found: Callable[..., list[dict[str, Any]]], graph: Path) -> None:
    manifest(graph).update({"row_count": "7"}, where="object_type = 'table_version' AND table_key = 'node:Carrier'")
    findings = found("--branch", "main")
    assert told(findings) == [("table", "main", "node:Carrier")]
    assert "has 1 rows, the graph recorded 7" in findings[0]["message"]


def test_columns_that_the_type_has_not(found: Callable[..., list[dict[str, Any]]], graph: Path) -> None:
    lance.dataset(str(home(graph, "node:Carrier"))).drop_columns(["name"])
    show_newest(graph, "node:Carrier")
    findings = found("--branch", "main")
    assert told(findings) == [("table", "main", "node:Carrier")]
    assert "have no column name" in findings[0]["message"]


ROWS: list[tuple[str, Damage, list[tuple[str, str]], str]] = [
    (
        "an edge from nowhere",
        lambda root: put(root, "edge:Route", route("r", "ZZZ", "LIM")),
        [("endpoint", "edge:Route")],
        "Route 'r' comes from Airport 'ZZZ', which does not exist",
    ),
    (
        "an edge to nowhere",
        lambda root: put(root, "edge:Route", route("r", "TRU", "ZZZ")),
        [("endpoint", "edge:Route")],
        "Route 'r' goes to Airport 'ZZZ', which does not exist",
    ),
    (
        "a node that went alone",
        lambda root: drop(root, "node:Airport", "id = 'TRU'"),
        [("endpoint", "edge:Route")],
        "goes to Airport 'TRU', which does not exist",
    ),
    (
        "an id twice",
        lambda root: put(root, "node:Airport", port("LIM")),
        [("id", "node:Airport")],
        "2 rows of Airport have the id 'LIM'",
    ),
    (
        "an edge id twice",
        lambda root: put(root, "edge:Route", route("r", "TRU", "LIM"), route("r", "CUZ", "LIM")),
        [("id", "edge:Route")],
        "2 rows of Route have the id 'r'",
    ),
    (
        "an id that the key does not make",
        lambda root: put(root, "node:Airport", port("PIU") | {"id": "IQT"}),
        [("id", "node:Airport")],
        "the id of Airport 'IQT' is not the one that its key makes, 'PIU'",
    ),
    (
        "a composite key",
        lambda root: set_row(root, "node:Day", "port = 'LIM'", port="'CUZ'"),
        [("id", "node:Day")],
        'is not the one that its key makes, \'["20484","CUZ"]\'',
    ),
    (
        "the key of an edge",
        lambda root: set_row(root, "edge:Tag", "dst = 'LIM'", dst="'CUZ'"),
        [("id", "edge:Tag"), ("id", "edge:Tag")],
        "is not the one that its key makes, '[",
    ),
    (
        "a value out of range",
        lambda root: set_row(root, "node:Airport", "id = 'LIM'", elevation="9000"),
        [("rule", "node:Airport")],
        "Airport.elevation of 'LIM' is 9000, outside -500..6000",
    ),
    (
        "a label that is none",
        lambda root: set_row(root, "node:Airport", "id = 'LIM'", kind="'huge'"),
        [("rule", "node:Airport")],
        "Airport.kind of 'LIM' is 'huge', not one of large, small",
    ),
    (
        "a text that does not match",
        lambda root: set_row(root, "node:Airport", "id = 'LIM'", city="'lima'"),
        [("rule", "node:Airport")],
        "does not match",
    ),
    (
        "a number that is none",
        lambda root: set_row(root, "node:Note", "text = 'first'", score="CAST('NaN' AS DOUBLE)"),
        [("rule", "node:Note")],
        "not a finite number",
    ),
    (
        "a tuple twice",
        lambda root: put(root, "node:Airport", port("PIU", kind="small") | {"city": "Cusco"}),
        [("rule", "node:Airport")],
        "Airport.(city, kind) is ('Cusco', 'small') in both 'CUZ' and 'PIU', but it must be unique",
    ),
    (
        "too many edges",
        lambda root: put(root, "edge:Route", route("r", "LIM", "LIM")),
        [("rule", "edge:Route")],
        "Airport 'LIM' would have 3 Route edges, at most 2 are allowed",
    ),
]


@pytest.mark.parametrize(("harm", "where", "text"), [case[1:] for case in ROWS], ids=[case[0] for case in ROWS])
def test_rows_that_nobody_checked(
    found: Callable[..., list[dict[str, Any]]], graph: Path, harm: Damage, where: list[tuple[str, str]], text: str
) -> None:
    harm(graph)
    findings = found("--branch", "main")
    assert told(findings) == [(about, "main", table) for about, table in where]
    assert all(text in one["message"] for one in findings)


def test_null_in_a_tuple_is_no_duplicate(found: Callable[..., list[dict[str, Any]]], graph: Path) -> None:
    put(graph, "node:Airport", port("PIU") | {"city": "Lima"})
    assert found("--branch", "main") == []


@pytest.mark.parametrize("extra", [-1, 0, 1])
def test_of_many_rows_the_first_are_named_and_the_others_counted(
    found: Callable[..., list[dict[str, Any]]], graph: Path, extra: int
) -> None:
    count = limits.CHECK_FINDINGS_MAX + extra
    put(graph, "node:Airport", *(port(f"P{n:03d}", elevation=9000) for n in range(count)))
    findings = found("--branch", "main")
    assert len(findings) == count
    more = [one["message"] for one in findings if "more" in one["message"]]
    assert more == (["at least 1 more row breaks it: range of elevation"] if extra > 0 else [])


# ---- the rest of a graph --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("place", "phase"), [("commit.before_table", "Armed"), ("publish.before", "EffectsConfirmed")])
def test_an_operation_that_is_not_finished_is_no_drift(
    found: Callable[..., list[dict[str, Any]]], graph: Path, ogsql: Command, place: str, phase: str
) -> None:
    leave_behind(str(graph), place)
    findings = found()
    assert told(findings) == [("intent", "main", None)]
    assert f"(Mutation, {phase}) is not finished" in findings[0]["message"]
    assert findings[0]["hint"].startswith("ogsql recover finishes or undoes it")
    assert ogsql("recover", "air.omni").code == 0
    assert found() == []


def test_an_intent_that_nobody_can_read(found: Callable[..., list[dict[str, Any]]], graph: Path) -> None:
    (graph / RECOVERY / "01M7QDBWXD227NZRX78XEG1FA8.json").write_text("{")
    findings = found()
    assert told(findings) == [("intent", None, None)]
    assert "cannot be read" in findings[0]["message"]


def test_a_version_that_somebody_else_made(found: Callable[..., list[dict[str, Any]]], graph: Path) -> None:
    place = str(home(graph, "node:Note"))
    shown = lance.dataset(place).version
    lance.dataset(place).delete("text = 'first'")
    findings = found()
    assert told(findings) == [("drift", "main", "node:Note")]
    assert findings[0]["message"] == f"its newest version is {shown + 1}, but the graph shows version {shown}"


def test_a_log_that_is_gone(found: Callable[..., list[dict[str, Any]]], graph: Path) -> None:
    shutil.rmtree(graph / AUDIT)
    assert told(found()) == [("log", None, None)]


@pytest.mark.parametrize("branch", [(), ("--branch", "main")])
def test_a_schema_that_is_gone_or_damaged(
    found: Callable[..., list[dict[str, Any]]], graph: Path, branch: tuple[str, ...]
) -> None:
    schemas = sorted((graph / "__schema").iterdir(), key=lambda path: path.name)
    schemas[-1].write_text("{")
    names = ["main", "review"] if not branch else ["main"]
    assert told(found(*branch)) == [("schema", name, None) for name in names]
    schemas[-1].unlink()
    assert told(found(*branch)) == [("schema", name, None) for name in names]


@pytest.mark.parametrize("name", [SCHEMA_IR, SCHEMA_STATE])
def test_the_first_schema_files_of_a_graph(ogsql: Command, air: str, folder: Path, name: str) -> None:
    (folder / air / name).unlink()
    done = ogsql("check", air)
    assert done.code == 1
    assert done.out.startswith(f"main: schema files are missing: {name} [schema]; ")


def test_a_commit_that_is_missing(found: Callable[..., list[dict[str, Any]]], graph: Path) -> None:
    rows = manifest(graph).to_table().to_pylist()
    commits = sorted((r for r in rows if r["object_type"] == "graph_commit"), key=lambda r: r["table_version"])
    gone = commits[3]["object_id"]
    manifest(graph).delete(f"object_id = '{gone}'")
    findings = found("--branch", "main")
    assert told(findings) == [("history", "main", None)]
    assert f"follows commit {gone}, which is not in the history" in findings[0]["message"]


def test_a_format_that_this_version_does_not_know(found: Callable[..., list[dict[str, Any]]], graph: Path) -> None:
    opened = manifest(graph)
    metadata = {k.decode(): v.decode() for k, v in opened.schema.metadata.items()}
    stamp = next(name for name in metadata if "schema_version" in name)
    opened.update_schema_metadata(metadata | {stamp: "99"}, replace=True)
    findings = found()
    assert told(findings) == [("manifest", "main", None)]
    assert "99" in findings[0]["message"]


@pytest.mark.parametrize("harm", [Path.unlink, cut])
def test_a_manifest_that_cannot_be_read(
    found: Callable[..., list[dict[str, Any]]], graph: Path, harm: Callable[[Path], None]
) -> None:
    for file in (graph / MANIFEST / "data").iterdir():
        harm(file)
    assert told(found()) == [("manifest", "main", None)]


def test_damage_of_one_branch_is_found_there_alone(found: Callable[..., list[dict[str, Any]]], graph: Path) -> None:
    file = next((home(graph, "edge:Route") / "tree" / "review" / "data").iterdir())
    file.unlink()
    assert told(found()) == [("table", "review", "edge:Route")]
    assert found("--branch", "main") == []
    assert told(found("--branch", "review")) == [("table", "review", "edge:Route")]


def test_several_kinds_of_damage_are_all_found(found: Callable[..., list[dict[str, Any]]], graph: Path) -> None:
    put(graph, "edge:Route", route("r", "TRU", "ZZZ"))
    data_files(graph, "node:Day")[0].unlink()
    shutil.rmtree(graph / AUDIT)
    findings = told(found())
    assert ("log", None, None) in findings
    assert ("endpoint", "main", "edge:Route") in findings
    assert ("table", "main", "node:Day") in findings


# ---- calls ----------------------------------------------------------------------------------------------------------


def test_a_graph_or_a_branch_that_is_not_there(ogsql: Command, graph: Path) -> None:
    assert graph.exists()
    calls: list[tuple[tuple[str, ...], str]] = [
        (("air.omnj",), "error: there is no graph at 'air.omnj'"),
        (("air.pg",), "error: 'air.pg' is a file; a graph is a folder"),
        (("air.omni", "--branch", "nope"), "error: there is no branch nope"),
    ]
    for arguments, text in calls:
        done = ogsql("check", *arguments)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(text)
        assert "  = hint: " in done.err


def test_storage_that_does_not_answer_is_no_damage(ogsql: Command) -> None:
    options = {
        "aws_endpoint": "http://127.0.0.1:9",
        "aws_access_key_id": "k",
        "aws_secret_access_key": "s",
        "aws_region": "us-east-1",
        "allow_http": "true",
    }
    given = [part for name, value in options.items() for part in ("--storage-option", f"{name}={value}")]
    done: Outcome = ogsql("check", "s3://graphs/air.omni", *given)
    assert (done.code, done.out) == (3, "")
    assert done.err.startswith("error[storage]: ")


@pytest.mark.skipif(os.geteuid() == 0, reason="whoever may do everything is refused nothing")
def test_a_folder_that_may_not_be_read_is_no_damage(ogsql: Command, graph: Path) -> None:
    home(graph, "node:Note").chmod(0o000)
    done = ogsql("check", "air.omni")
    home(graph, "node:Note").chmod(0o700)
    assert (done.code, done.out) == (1, "")


def test_a_writer_at_work_is_no_damage(ogsql: Command, graph: Path) -> None:
    stop = Event()

    def write() -> int:
        with omnigraph_sql.open(graph) as own:
            number = 0
            while not stop.is_set():
                number += 1
                own.sql("INSERT INTO Note (text) VALUES ($text)", {"text": f"note {number}"})
            return number

    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(write)
        try:
            shown = [json.loads(ogsql("check", "air.omni", "--format", "json").out) for _ in range(12)]
        finally:
            stop.set()
        assert writer.result() > 1
    assert len({values["rows"] for values in shown}) > 1
    assert {one["about"] for values in shown for one in values["findings"]} <= {"intent"}
