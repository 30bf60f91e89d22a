"""What planning a schema change promises about a graph that holds data."""

from __future__ import annotations

from datetime import date
from hashlib import sha256
from pathlib import Path

import pytest

from omnigraph_sql import graph as og
from omnigraph_sql.base.errors import LanguageError, OmniError, VersionReclaimed
from omnigraph_sql.bind.schema import compile_schema
from omnigraph_sql.bind.schema_plan import plan_schema
from omnigraph_sql.bind.schema_steps import DropMode, DropProperty, RenameProperty, RenameType
from omnigraph_sql.engine.store.versions import version_file
from omnigraph_sql.engine.values import TableIdentity, table_path

SCHEMA = "node Person { name: String @key  age: I32?  mail: String? } edge Knows: Person -> Person"


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = og.init(tmp_path / "g.omni", schema=SCHEMA)
    made.sql("INSERT INTO Person (name, age) VALUES ('Ana', 30), ('Bo', NULL)")
    made.sql("INSERT INTO Knows (src, dst) VALUES ('Ana', 'Bo')")
    return made


def digest(folder: Path) -> dict[str, str]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize(
    "after",
    [
        "node Person { name: String @key  age: String?  mail: String? } edge Knows: Person -> Person",
        "node Person { name: String @key  age: I32?  mail: String?  born: Date } edge Knows: Person -> Person",
        "node Person { name: String  age: I32 @key  mail: String? } edge Knows: Person -> Person",
    ],
)
def test_pg_06_an_unsupported_plan_changes_neither_the_manifest_nor_a_file(graph: og.Graph, after: str) -> None:
    before, version = digest(Path(graph.uri)), graph.stats()["manifest_version"]
    old = graph._keeper.ir
    found = plan_schema(old, compile_schema(after, previous=old))
    assert not found.supported
    assert (digest(Path(graph.uri)), graph.stats()["manifest_version"]) == (before, version)


def test_pg_07_a_pure_rename_leaves_path_version_and_rows_of_a_table(graph: og.Graph) -> None:
    old = graph._keeper.ir
    after = (
        'node Human @rename_from("Person") { name: String @key  years: I32? @rename_from("age")  mail: String? } '
        'edge Befriends: Human -> Human @rename_from("Knows")'
    )
    new = compile_schema(after, previous=old)
    found = plan_schema(old, new)
    assert found.supported
    assert {type(step) for step in found.steps} == {RenameType, RenameProperty}
    snapshot = graph._world.manifest.current("main").snapshot
    for before, renamed in (("Person", "Human"), ("Knows", "Befriends")):
        was = old.catalog.node(before) or old.catalog.edge(before)
        now = new.catalog.node(renamed) or new.catalog.edge(renamed)
        assert was is not None
        assert now is not None
        assert table_path(now) == table_path(was)
        pin = snapshot.pin(TableIdentity.of(now))
        assert pin is not None
        assert pin.key.endswith(before)
        assert graph._world.tables.open(pin).dataset.count_rows() == pin.row_count


def test_pg_08_a_drop_keeps_old_versions_unless_data_may_be_lost(graph: og.Graph) -> None:
    old = graph._keeper.ir
    new = compile_schema("node Person { name: String @key  age: I32? } edge Knows: Person -> Person", previous=old)
    (soft,) = plan_schema(old, new).steps
    (hard,) = plan_schema(old, new, allow_data_loss=True).steps
    assert isinstance(soft, DropProperty)
    assert isinstance(hard, DropProperty)
    assert (soft.mode, hard.mode) == (DropMode.SOFT, DropMode.HARD)
    # What a soft drop leaves alone is what the past is read from.
    past = graph.at(graph.commits()[-2].id)
    assert past.sql("SELECT name, mail FROM Person ORDER BY name").fetchall() == [("Ana", None), ("Bo", None)]


@pytest.mark.parametrize(
    "text",
    [
        "ALTER TABLE Person ADD COLUMN born DATE NOT NULL",
        "ALTER TABLE Person ADD COLUMN age TEXT",
        "ALTER TABLE Person ADD COLUMN id TEXT",
        "CREATE NODE TABLE Person (name TEXT PRIMARY KEY)",
        "CREATE EDGE TABLE Likes (FROM Person TO Nobody)",
        "DROP TABLE Person",
    ],
)
def test_pg_06_a_refused_change_of_a_graph_changes_neither_the_manifest_nor_a_file(graph: og.Graph, text: str) -> None:
    """A column that rows cannot have, names that are taken or unknown, a type that edges still end at."""
    before, version, head = digest(Path(graph.uri)), graph.stats()["manifest_version"], graph.head
    with pytest.raises(OmniError):
        graph.sql(text)
    assert (digest(Path(graph.uri)), graph.stats()["manifest_version"], graph.head) == (before, version, head)


def test_pg_08_after_a_drop_the_state_before_it_still_reads_the_rows(graph: og.Graph) -> None:
    before = graph.head
    graph.sql("DROP TABLE Knows")
    with pytest.raises(LanguageError):
        graph.sql("SELECT * FROM Knows")
    assert graph.at(before).sql("SELECT src, dst FROM Knows").fetchall() == [("Ana", "Bo")]
    # A table of the same name is another one: neither state shows the rows of the other.
    graph.sql("CREATE EDGE TABLE Knows (FROM Person TO Person)")
    assert graph.sql("SELECT count(*) FROM Knows").fetchone() == (0,)
    assert graph.at(before).sql("SELECT count(*) FROM Knows").fetchone() == (1,)


def test_pg_08_a_version_that_is_gone_is_a_typed_error(graph: og.Graph) -> None:
    """What a hard drop takes away: the versions of a table. Nothing reads as if it had been empty."""
    before = graph.commits()[0].id
    pin = graph._world.manifest.current("main").snapshot.named("edge:Knows")
    assert pin is not None
    graph.sql("INSERT INTO Knows (src, dst) VALUES ('Bo', 'Ana')")
    version_file(Path(graph.uri) / pin.path, pin.version).unlink()
    with og.open(graph.uri) as again:
        with pytest.raises(VersionReclaimed, match=f"version {pin.version} of edge:Knows is gone") as told:
            again.at(before).sql("SELECT src FROM Knows").fetchall()
        assert told.value.code == "historical_version_reclaimed"
        assert told.value.kind == "not_found"
        assert again.sql("SELECT count(*) FROM Knows").fetchone() == (2,)


def test_pg_08_a_dropped_node_table_and_a_column_not_yet_there_read_as_they_were(graph: og.Graph) -> None:
    """Every change of the schema that is applied leaves the states before it readable, for whoever opens the graph."""
    first = graph.head
    graph.sql("ALTER TABLE Person ADD COLUMN born DATE")
    graph.sql("UPDATE Person SET born = DATE '2001-02-03' WHERE name = 'Ana'")
    widened = graph.head
    graph.sql("DROP TABLE Knows")
    graph.sql("DROP TABLE Person")
    files = digest(Path(graph.uri))
    with og.open(graph.uri) as again:
        with pytest.raises(LanguageError):
            again.sql("SELECT name FROM Person")
        assert again.at(first).sql("SELECT * FROM Person ORDER BY name").fetchall() == [
            ("Ana", 30, None),
            ("Bo", None, None),
        ]
        with pytest.raises(LanguageError):
            again.at(first).sql("SELECT born FROM Person")
        assert again.at(widened).sql("SELECT name, born FROM Person ORDER BY name").fetchall() == [
            ("Ana", date(2001, 2, 3)),
            ("Bo", None),
        ]
        assert again.at(widened).sql("SELECT src, dst FROM Knows").fetchall() == [("Ana", "Bo")]
    kept = digest(Path(graph.uri))
    assert {name: kept.get(name) for name in files} == files
