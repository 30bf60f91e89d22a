"""The schema in force on a branch: part of its state, noticed by everybody, and never mixed with another."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph_sql import graph as og
from omnigraph_sql.base.errors import FormatError, ReadSetChanged
from omnigraph_sql.base.seams import Failpoints
from omnigraph_sql.engine.store.root import SCHEMAS
from omnigraph_sql.run.contract import ContractKeeper, StoredSchema, decode_schema, encode_schema
from tests.engine.worlds import At, seams

SCHEMA = "node A { k: String @key  n: I64? }"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "g.omni"


@pytest.fixture
def graph(place: Path) -> og.Graph:
    return og.init(place, schema=SCHEMA)


def slow(place: Path, failpoints: Failpoints) -> og.Graph:
    """Another handle, that something happens to on its way."""
    return og.open(place, seams=seams(failpoints=failpoints))


def test_a_change_of_the_schema_is_noticed_by_the_next_read_of_another_handle(graph: og.Graph, place: Path) -> None:
    other = og.open(place)
    graph.sql("ALTER TABLE A ADD COLUMN m INT")
    assert other.sql("SELECT m FROM A").fetchall() == []
    assert "m: I32?" in other.schema_text


def test_a_blind_insert_that_meets_a_changed_schema_is_prepared_anew(graph: og.Graph, place: Path) -> None:
    late = slow(place, At("write.before_lease", lambda: graph.sql("ALTER TABLE A ADD COLUMN m INT")))
    assert late.sql("INSERT INTO A (k, n) VALUES ('a', 1)").affected_nodes == 1
    assert graph.sql("SELECT * FROM A").fetchall() == [("a", 1, None)]


def test_a_write_that_depends_on_what_it_read_is_refused_when_the_schema_changed(graph: og.Graph, place: Path) -> None:
    graph.sql("INSERT INTO A VALUES ('a', 1)")
    late = slow(place, At("write.before_lease", lambda: graph.sql("ALTER TABLE A ADD COLUMN m INT")))
    with pytest.raises(ReadSetChanged) as caught:
        late.sql("UPDATE A SET n = n + 1")
    assert caught.value.member == "schema"
    assert graph.sql("SELECT * FROM A").fetchall() == [("a", 1, None)]
    assert late.sql("UPDATE A SET n = n + 1").affected_nodes == 1


def test_a_stored_schema_is_decoded_once(graph: og.Graph, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph.sql("ALTER TABLE A ADD COLUMN m INT")
    read: list[str | None] = []
    real = ContractKeeper._read

    def counted(keeper: ContractKeeper, name: str | None) -> StoredSchema:
        read.append(name)
        return real(keeper, name)

    monkeypatch.setattr(ContractKeeper, "_read", counted)
    other = og.open(place)
    for _ in range(3):
        other.sql("SELECT k FROM A").fetchall()
        other.sql("INSERT INTO A (k) VALUES ('a') ON CONFLICT DO NOTHING")
    assert len(read) == 1


def test_a_stored_schema_reads_back_as_it_was(graph: og.Graph) -> None:
    graph.sql("CREATE TABLE lower (Name TEXT, x INT CHECK (x > 0)); CREATE VIEW v AS SELECT Name FROM lower")
    found = ContractKeeper(graph._world).at(graph._world.manifest.current("main").snapshot)
    assert found.views == (("v", "CREATE VIEW v AS SELECT Name FROM lower"),)
    again = decode_schema(found.name or "", encode_schema(found))
    assert again == found
    assert again.ir.source_text == found.ir.source_text == graph.schema_text


@pytest.mark.parametrize(
    "spoil",
    [
        lambda _: None,
        lambda _: b"",
        lambda _: b"[]",
        lambda body: body[:-20],
        lambda body: body.replace(b'"format": 1', b'"format": 2', 1),
        lambda body: body.replace(b"m: I32?", b"m: I64?"),
        lambda body: body.replace(b'"views": []', b'"views": [[1, 2]]'),
    ],
)
def test_a_damaged_schema_is_refused_by_name(spoil: object, graph: og.Graph, place: Path) -> None:
    graph.sql("ALTER TABLE A ADD COLUMN m INT")
    (stored,) = (place / SCHEMAS).iterdir()
    body = spoil(stored.read_bytes())  # type: ignore[operator]
    if body is None:
        stored.unlink()
    else:
        stored.write_bytes(body)
    with pytest.raises(FormatError) as caught:
        og.open(place, read_only=True)
    assert caught.value.hint
