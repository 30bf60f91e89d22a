"""The stored schema of an open graph: looked at as rarely as can be, and never missed when it changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph_sql import graph as og
from omnigraph_sql.base.errors import ReadSetChanged
from omnigraph_sql.bind.schema import compile_schema
from omnigraph_sql.engine.store.root import SCHEMA_IR, SCHEMA_STATE, SCHEMA_TEXT
from omnigraph_sql.engine.world import World
from omnigraph_sql.run.contract import ContractKeeper, contract_files

SCHEMA = "node A { k: String @key  n: I64? }"


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    return og.init(tmp_path / "g.omni", schema=SCHEMA)


def keeper_of(graph: og.Graph) -> ContractKeeper:
    return graph._keeper


def describe_anew(world: World, keeper: ContractKeeper) -> None:
    """What another process does that only changes a description: the tables stay as they are."""
    again = compile_schema('node A @description("a letter") { k: String @key  n: I64? }', previous=keeper.ir)
    files = contract_files(again)
    for name, body in ((SCHEMA_TEXT, files.source), (SCHEMA_IR, files.ir), (SCHEMA_STATE, files.state)):
        world.objects.put(name, body)


def looks(graph: og.Graph, text: str) -> int:
    keeper = keeper_of(graph)
    before = keeper.checks
    graph.sql(text).fetchall()
    return keeper.checks - before


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO A VALUES ('a', 1)",
        "INSERT INTO A VALUES ('b', 1); UPDATE A SET n = 2 WHERE k = 'b'",
        "SELECT k FROM A",
        "SELECT k FROM A; SELECT n FROM A",
    ],
)
def test_a_text_looks_at_the_stored_schema_once(graph: og.Graph, text: str) -> None:
    assert looks(graph, text) == 1


def test_a_change_of_the_schema_is_noticed_by_the_next_read(graph: og.Graph) -> None:
    keeper = keeper_of(graph)
    describe_anew(keeper.world, keeper)
    graph.sql("SELECT k FROM A").fetchall()
    assert "a letter" in graph.schema_text


def test_a_blind_insert_that_meets_a_changed_schema_is_prepared_anew(graph: og.Graph) -> None:
    keeper = keeper_of(graph)
    describe_anew(keeper.world, keeper)
    assert graph.sql("INSERT INTO A VALUES ('a', 1)").affected_nodes == 1
    assert "a letter" in graph.schema_text


def test_a_write_that_depends_on_what_it_read_is_refused_when_the_schema_changed(graph: og.Graph) -> None:
    graph.sql("INSERT INTO A VALUES ('a', 1)")
    head = graph.head
    keeper = keeper_of(graph)
    describe_anew(keeper.world, keeper)
    with pytest.raises(ReadSetChanged) as caught:
        graph.sql("UPDATE A SET n = n + 1")
    assert caught.value.member == "schema"
    assert graph.head == head
    assert graph.sql("UPDATE A SET n = n + 1").affected_nodes == 1
