"""Reading the past: every state a graph had can be read again, by version, commit, instant and branch."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import lance
import pytest

from omnigraph_sql import graph as og
from omnigraph_sql.base.errors import ConflictError, StorageError, VersionReclaimed
from omnigraph_sql.engine.manifest.history import state_at
from omnigraph_sql.engine.values import GraphCommit

SCHEMA = "node A { k: String @key  n: I64? } edge E: A -> A { w: I64 }"


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    """Three commits after the first: one row, two rows with an edge, one row changed and one gone."""
    made = og.init(tmp_path / "g.omni", schema=SCHEMA)
    made.sql("INSERT INTO A VALUES ('a', 1)")
    made.sql("INSERT INTO A VALUES ('b', 2); INSERT INTO E VALUES ('a', 'b', 7)")
    made.sql("DELETE FROM A WHERE k = 'b'")
    made.sql("UPDATE A SET n = 10")
    return made


QUERY = "query q() { match { $a: A } return { $a.k as k, $a.n as n } order { $a.k } }"

EVER = [[], [("a", 1)], [("a", 1), ("b", 2)], [("a", 1)], [("a", 10)]]
"""The rows of A after every commit, oldest first."""


def history(graph: og.Graph) -> list[GraphCommit]:
    return graph.commits()[::-1]


@pytest.mark.parametrize("spelling", ["VERSION AS OF {}", "FOR VERSION AS OF {}", "AT (VERSION => {})"])
def test_every_commit_can_be_read_by_its_version_and_by_its_id(graph: og.Graph, spelling: str) -> None:
    for commit, rows in zip(history(graph), EVER, strict=True):
        for point in (str(commit.version), f"'{commit.id}'", "$p"):
            text = f"SELECT k, n FROM A {spelling.format(point)} ORDER BY k"
            params = {"p": commit.id} if point == "$p" else None
            assert graph.sql(text, params).fetchall() == rows


def test_an_instant_shows_the_newest_commit_that_is_not_younger(graph: og.Graph) -> None:
    for commit, rows in zip(history(graph), EVER, strict=True):
        found = graph.sql("SELECT k, n FROM A TIMESTAMP AS OF $t ORDER BY k", {"t": commit.created_at})
        assert found.fetchall() == rows


def test_tables_of_one_statement_may_be_read_at_different_points(graph: og.Graph) -> None:
    old = history(graph)[2]
    text = f"SELECT a.k, a.n, p.n FROM A a JOIN A VERSION AS OF '{old.id}' p ON p.k = a.k"
    assert graph.sql(text).fetchall() == [("a", 10, 1)]


def test_a_step_over_an_edge_is_taken_at_its_own_point(graph: og.Graph) -> None:
    old = history(graph)[2].id
    text = (
        f"SELECT x.k, e.w, y.k FROM A VERSION AS OF '{old}' x JOIN E VERSION AS OF '{old}' e ON e.src = x.id "
        f"JOIN A VERSION AS OF '{old}' y ON y.id = e.dst"
    )
    assert graph.sql(text).fetchall() == [("a", 7, "b")]
    assert graph.sql("SELECT * FROM E").fetchall() == []


def test_a_branch_is_read_from_another_one(graph: og.Graph) -> None:
    graph.create_branch("review/x")
    graph.checkout("review/x").sql("INSERT INTO A VALUES ('z', 26)")
    assert graph.sql('SELECT k FROM "review/x".A ORDER BY k').fetchall() == [("a",), ("z",)]
    assert graph.sql("SELECT k FROM A AT (BRANCH => 'review/x') ORDER BY k").fetchall() == [("a",), ("z",)]
    assert graph.sql("SELECT k FROM A").fetchall() == [("a",)]


def test_a_commit_made_before_a_branch_is_read_from_the_branch_too(graph: og.Graph) -> None:
    old = history(graph)[1].id
    graph.create_branch("review/x")
    branch = graph.checkout("review/x")
    branch.sql("INSERT INTO A VALUES ('z', 26)")
    assert branch.sql(f"SELECT k, n FROM A VERSION AS OF '{old}'").fetchall() == EVER[1]
    own = branch.commits()[0].id
    assert graph.sql(f"SELECT k FROM A VERSION AS OF '{own}' ORDER BY k").fetchall() == [("a",), ("z",)]


@pytest.mark.parametrize(
    ("point", "said"),
    [
        (0, "has versions 1 to 5, not 0"),
        (99, "has versions 1 to 5, not 99"),
        (True, "is no version"),
        ("nowhere", "there is no commit and no branch 'nowhere'"),
        ("0" * 26, "there is no commit 00000000000000000000000000"),
        (datetime(2000, 1, 1, tzinfo=UTC), "has no commit as old as 2000-01-01"),
        (datetime(2000, 1, 1), "has no time zone"),
    ],
)
def test_a_point_that_never_was_is_refused_by_name(graph: og.Graph, point: int | str | datetime, said: str) -> None:
    with pytest.raises(StorageError, match=said) as caught:
        state_at(graph._world.manifest, "main", point)
    assert caught.value.kind == "not_found"


def test_a_later_instant_shows_the_head(graph: og.Graph) -> None:
    later = history(graph)[-1].created_at + timedelta(days=1)
    assert state_at(graph._world.manifest, "main", later).head == graph.head


def test_the_past_does_not_change_when_the_manifest_is_compacted(graph: og.Graph) -> None:
    for number in range(40):
        graph.sql("INSERT INTO A VALUES ($k, 0)", {"k": f"more{number}"})
    for commit, rows in zip(history(graph)[:5], EVER, strict=True):
        assert graph.sql(f"SELECT k, n FROM A VERSION AS OF '{commit.id}' ORDER BY k").fetchall() == rows


# ---- Graph.at ---------------------------------------------------------------------------------------------------


def test_a_graph_at_a_commit_a_version_or_an_instant_is_that_state(graph: og.Graph) -> None:
    for commit, rows in zip(history(graph), EVER, strict=True):
        for point in (commit.id, commit.version, commit.created_at):
            past = graph.at(point)
            assert past.sql("SELECT k, n FROM A ORDER BY k").fetchall() == rows
            assert (
                past.gq("query q() { match { $a: A } return { $a.k as k, $a.n as n } order { $a.k } }").fetchall()
                == rows
            )
            assert past.head == commit.id
            assert past.commits()[0].id == commit.id


def test_a_past_state_stays_what_it_is_and_refuses_writes(graph: og.Graph) -> None:
    past = graph.at(history(graph)[1].id)
    graph.sql("INSERT INTO A VALUES ('late', 1)")
    assert past.sql("SELECT k, n FROM A").fetchall() == EVER[1]
    assert past.read_only
    for refused in (
        lambda: past.sql("INSERT INTO A VALUES ('x', 1)"),
        lambda: past.transaction(),
        lambda: past.create_branch("b"),
        lambda: past.load([], mode="append"),
    ):
        with pytest.raises(ConflictError, match="reading only"):
            refused()


@pytest.mark.parametrize("language", ["sql", "gq"])
def test_a_state_that_a_cleanup_took_away_is_told_and_is_not_empty(
    graph: og.Graph, tmp_path: Path, language: str
) -> None:
    old, new = history(graph)[1].id, graph.head
    for versions in (tmp_path / "g.omni" / "nodes").rglob("_versions"):
        lance.dataset(str(versions.parent)).cleanup_old_versions(timedelta(0), delete_unverified=True)
    fresh = og.open(tmp_path / "g.omni")
    asked = "SELECT k, n FROM A ORDER BY k" if language == "sql" else QUERY
    with pytest.raises(VersionReclaimed) as told:
        getattr(fresh.at(old), language)(asked).fetchall()
    assert (told.value.code, told.value.kind) == ("historical_version_reclaimed", "not_found")
    assert getattr(fresh.at(new), language)(asked).fetchall() == EVER[-1]
