"""Transaction: several statements, one commit."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from omnigraph_sql.base.errors import (
    BoundaryViolation,
    ConflictError,
    ConstraintViolation,
    KeyConflict,
    OmniError,
    PreconditionFailed,
    ReadSetChanged,
)
from omnigraph_sql.graph import Graph
from tests.engine.worlds import digest
from tests.graph.airports import CODES, NOTES, airports, another, column, place


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return airports(tmp_path)


ROUTES = "SELECT miles FROM Route ORDER BY miles"
UPSERT = """INSERT INTO Airport (code, city) VALUES ('LIM', 'Callao'), ('TRU', 'Trujillo')
    ON CONFLICT (code) DO UPDATE SET city = excluded.city"""


# ---- what it sees -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statements", "question", "answer"),
    [
        (["INSERT INTO Airport (code, city) VALUES ('TRU', 'Trujillo')"], CODES, ["AQP", "CUZ", "LIM", "TRU"]),
        (
            [
                "UPDATE Airport SET elevation = elevation + 1",
                "UPDATE Airport SET elevation = elevation * 2 WHERE code = 'LIM'",
            ],
            "SELECT elevation FROM Airport WHERE code = 'LIM'",
            [70],
        ),
        (
            ["INSERT INTO Airport (code, city) VALUES ('TRU', 'x')", "UPDATE Airport SET city = 'y' WHERE city = 'x'"],
            "SELECT city FROM Airport WHERE code = 'TRU'",
            ["y"],
        ),
        ([UPSERT], "SELECT city FROM Airport ORDER BY 1", ["Arequipa", "Callao", "Cusco", "Trujillo"]),
        (["DELETE FROM Airport WHERE code = 'AQP'"], ROUTES, [363]),
        (["DELETE FROM Airport WHERE code = 'AQP'", "DELETE FROM Airport WHERE code = 'LIM'"], ROUTES, []),
        (["DELETE FROM Airport WHERE code = 'AQP'"], CODES, ["CUZ", "LIM"]),
        (["DELETE FROM Route WHERE miles > 200"], ROUTES, [190]),
    ],
)
def test_a_transaction_reads_what_it_wrote_and_nobody_else_does(
    graph: Graph, tmp_path: Path, statements: list[str], question: str, answer: list[object]
) -> None:
    before = column(graph, question)
    assert before != answer
    with graph.transaction() as tx:
        for statement in statements:
            tx.sql(statement)
        assert column(tx, question) == answer
        assert column(graph, question) == before
    assert column(graph, question) == answer
    assert column(another(tmp_path), question) == answer


def test_gq_and_sql_share_a_transaction(graph: Graph) -> None:
    with graph.transaction() as tx:
        tx.gq('query add() { insert Airport { code: "TRU", city: "Trujillo" } }')
        tx.sql("INSERT INTO Route (src, dst, miles) VALUES ('LIM', 'TRU', 300)")
        reached = 'query q() { match { $a: Airport { code: "LIM" } $a route $b } return { $b.code } }'
        assert sorted(tx.gq(reached)) == [("CUZ",), ("TRU",)]
    assert len(graph.commits()) == 4


def test_rows_that_were_asked_for_are_those_of_that_moment(graph: Graph) -> None:
    with graph.transaction() as tx:
        early = tx.sql(CODES)
        tx.sql("INSERT INTO Airport (code, city) VALUES ('AAA', 'x')")
        assert [row[0] for row in early] == ["AQP", "CUZ", "LIM"]


def test_statements_count_their_own_changes_and_the_receipt_counts_all(graph: Graph) -> None:
    tx = graph.transaction(message="spring cleaning")
    first = tx.sql("INSERT INTO Airport (code, city) VALUES ('A', 'x'), ('B', 'x')")
    second = tx.sql("INSERT INTO Route (src, dst, miles) VALUES ('A', 'B', 1)")
    assert (first.affected_nodes, first.affected_edges, first.commit_id) == (2, 0, None)
    assert (second.affected_nodes, second.affected_edges, second.commit_id) == (0, 1, None)
    receipt = tx.commit()
    assert (receipt.affected_nodes, receipt.affected_edges, receipt.commit_id) == (2, 1, graph.head)
    newest = graph.commits(limit=1)[0]
    assert (newest.actor, newest.message) == ("ana", "spring cleaning")


# ---- how it ends ------------------------------------------------------------------------------------------------


def test_rolling_back_leaves_no_trace(graph: Graph, tmp_path: Path) -> None:
    before = digest(place(tmp_path))
    tx = graph.transaction()
    tx.sql("INSERT INTO Airport (code, city) VALUES ('TRU', 'x')")
    tx.sql("UPDATE Airport SET city = 'y' WHERE code = 'TRU'")
    assert column(tx, CODES) == ["AQP", "CUZ", "LIM", "TRU"]
    tx.rollback()
    assert not tx.is_open
    tx.rollback()
    assert digest(place(tmp_path)) == before


def test_raising_rolls_back(graph: Graph, tmp_path: Path) -> None:
    before = digest(place(tmp_path))
    begun = graph.transaction()
    with suppress(ZeroDivisionError), begun as tx:
        tx.sql("INSERT INTO Note (text) VALUES ('x')")
        raise ZeroDivisionError
    assert not begun.is_open
    assert digest(place(tmp_path)) == before


def test_a_transaction_without_changes_makes_no_commit(graph: Graph, tmp_path: Path) -> None:
    before = digest(place(tmp_path))
    with graph.transaction() as tx:
        tx.sql(CODES).fetchall()
    assert graph.transaction().commit().commit_id is None
    assert digest(place(tmp_path)) == before


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_a_transaction_that_is_over_refuses_everything(graph: Graph, end: str) -> None:
    with graph.transaction() as tx:
        result = tx.sql("INSERT INTO Note (text) VALUES ('x')")
        getattr(tx, end)()
    assert result.rowcount == 1
    calls = [lambda: tx.sql(CODES), lambda: tx.gq("query q() { match { $a: Airport } return { $a.code } }"), tx.commit]
    for call in calls:
        with pytest.raises(ConflictError) as caught:
            call()
        assert caught.value.code == "transaction_closed"
    assert column(graph, NOTES) == (["x"] if end == "commit" else [])


def test_a_transaction_whose_commit_fails_is_over(graph: Graph, tmp_path: Path) -> None:
    tx = graph.transaction()
    tx.sql("INSERT INTO Note (text) VALUES ('kept back')")
    tx.sql("INSERT INTO Route (src, dst, miles) VALUES ('LIM', 'NOWHERE', 1)")
    before = digest(place(tmp_path))
    with pytest.raises(ConstraintViolation):
        tx.commit()
    assert not tx.is_open
    assert digest(place(tmp_path)) == before


@pytest.mark.parametrize("word", ["BEGIN", "COMMIT", "ROLLBACK"])
def test_words_of_transactions_have_no_place_inside_one(graph: Graph, word: str) -> None:
    with graph.transaction() as tx:
        tx.sql("INSERT INTO Note (text) VALUES ('a')")
        with pytest.raises(BoundaryViolation, match=word):
            tx.sql(word)
        assert tx.is_open
    assert column(graph, NOTES) == ["a"]


# ---- a statement that fails ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("INSERT INTO Airport (code, city) VALUES ('NEW', 'x'), ('SEE', 'y'), ('SEE', 'z')", KeyConflict),
        ("SELECT nothing FROM Airport", OmniError),
        ("DELETE FROM Airport WHERE code = 'LIM'", BoundaryViolation),
        ("INSERT INTO Note (text) VALUES ($missing)", OmniError),
        ("INSERT INTO Airport VALUES ('Z', 'z', 34) RETURNING 1 / (elevation - 34)", OmniError),
        ("INSERT INTO Airport (code, city, elevation) SELECT 'Z', 'z', 1 / (elevation - 34) FROM Airport", OmniError),
    ],
)
def test_a_statement_that_fails_leaves_the_others(graph: Graph, statement: str, error: type[Exception]) -> None:
    with graph.transaction() as tx:
        tx.sql("INSERT INTO Airport (code, city) VALUES ('A', 'x')")
        with pytest.raises(error):
            tx.sql(statement)
        assert column(tx, CODES) == ["A", "AQP", "CUZ", "LIM"]
        tx.sql("INSERT INTO Airport (code, city) VALUES ('B', 'x')")
    assert column(graph, CODES) == ["A", "AQP", "B", "CUZ", "LIM"]
    assert column(graph, ROUTES) == [190, 363]


def test_an_insert_after_a_delete_is_refused_and_the_delete_goes_on(graph: Graph) -> None:
    with graph.transaction() as tx:
        tx.sql("DELETE FROM Airport WHERE code = 'LIM'")
        with pytest.raises(BoundaryViolation):
            tx.sql("INSERT INTO Airport (code, city) VALUES ('LIM', 'again')")
    assert column(graph, CODES) == ["AQP", "CUZ"]


# ---- a branch that moves ----------------------------------------------------------------------------------------


def test_blind_inserts_follow_a_branch_that_moved_and_keep_their_instant(graph: Graph, tmp_path: Path) -> None:
    other = another(tmp_path, actor="bo")
    with graph.transaction() as tx:
        tx.sql("INSERT INTO Note (text, at) VALUES ('first', now())")
        other.sql("INSERT INTO Note (text) VALUES ('between')")
        tx.sql("INSERT INTO Note (text, at) VALUES ($text, now())", {"text": "second"})
        tx.gq("query q($t: String) { insert Note { text: $t, at: now() } }", {"t": "third"})
        began = tx._txn.now
    assert column(graph, NOTES) == ["between", "first", "second", "third"]
    assert column(graph, "SELECT DISTINCT at FROM Note WHERE at IS NOT NULL") == [began]
    assert [commit.actor for commit in graph.commits(limit=2)] == ["ana", "bo"]


def test_a_replayed_insert_meets_the_rows_of_the_other(graph: Graph, tmp_path: Path) -> None:
    tx = graph.transaction()
    tx.sql("INSERT INTO Airport (code, city) VALUES ('TRU', 'mine')")
    another(tmp_path).sql("INSERT INTO Airport (code, city) VALUES ('TRU', 'theirs')")
    with pytest.raises(KeyConflict):
        tx.commit()
    assert column(graph, "SELECT city FROM Airport WHERE code = 'TRU'") == ["theirs"]


@pytest.mark.parametrize(
    "statement",
    [
        CODES,
        "INSERT INTO Note (text) VALUES ('r') RETURNING text",
        "UPDATE Airport SET city = 'y' WHERE code = 'LIM'",
        "INSERT INTO Note (text) SELECT city FROM Airport",
    ],
)
def test_a_transaction_that_has_read_fails_on_a_branch_that_moved(graph: Graph, tmp_path: Path, statement: str) -> None:
    other = another(tmp_path)
    tx = graph.transaction()
    tx.sql("INSERT INTO Note (text) VALUES ('mine')")
    tx.sql(statement)
    other.sql("INSERT INTO Airport (code, city) VALUES ('TRU', 'x')")
    before = digest(place(tmp_path))
    with pytest.raises(ReadSetChanged):
        tx.commit()
    after = digest(place(tmp_path))
    # Staged files that nothing refers to may stay; no table has a new version, and nothing that was there changed.
    assert {path: after.get(path) for path in before} == before
    assert {Path(path).suffix for path in after.keys() - before.keys()} <= {"", ".lance", ".arrow", ".txn"}
    assert column(other, NOTES) == []
    assert other.stats()["pending_operations"] == 0


def test_a_transaction_reads_one_state_while_others_write(graph: Graph, tmp_path: Path) -> None:
    tx = graph.transaction()
    another(tmp_path).sql("INSERT INTO Airport (code, city) VALUES ('TRU', 'x')")
    assert column(tx, CODES) == ["AQP", "CUZ", "LIM"]
    assert column(graph, CODES) == ["AQP", "CUZ", "LIM", "TRU"]
    tx.rollback()


def test_an_expected_head_holds_from_beginning_to_commit(graph: Graph, tmp_path: Path) -> None:
    head = graph.head
    tx = graph.transaction(expected_head=head)
    tx.sql("INSERT INTO Note (text) VALUES ('mine')")
    another(tmp_path).sql("INSERT INTO Note (text) VALUES ('theirs')")
    with pytest.raises(ConflictError):
        tx.commit()
    with pytest.raises(PreconditionFailed) as caught:
        graph.transaction(expected_head=head)
    assert (caught.value.expected, caught.value.actual) == (head, graph.head)
    assert column(graph, NOTES) == ["theirs"]
