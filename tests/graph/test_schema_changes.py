"""CREATE TABLE, DROP TABLE and ADD COLUMN: one commit each, seen by everybody, and the past stays as it was."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from omnigraph_sql import graph as og
from omnigraph_sql.base.errors import BoundaryViolation, ConflictError, LanguageError, NotSupported, OmniError
from tests.engine.worlds import At, digest, seams

SCHEMA = """// airports of the world
node Airport {
    code: String @key  // three letters
    city: String
}
edge Route: Airport -> Airport
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "g.omni"


@pytest.fixture
def graph(place: Path) -> og.Graph:
    made = og.init(place, schema=SCHEMA)
    made.sql("INSERT INTO Airport VALUES ('LIM', 'Lima'), ('CUZ', 'Cusco')")
    return made


def rows(graph: og.Graph, text: str) -> list[tuple[object, ...]]:
    return graph.sql(text).fetchall()


# ---- creating -----------------------------------------------------------------------------------------------------


def test_a_new_table_takes_rows_at_once_in_every_handle(graph: og.Graph, place: Path) -> None:
    other = og.open(place)
    made = graph.sql("create table dbapi20test_booze (name varchar(20))")
    assert made.commit_id == graph.head == other.head
    other.sql("INSERT INTO dbapi20test_booze VALUES (?)", ["Victoria Bitter"])
    assert rows(graph, "SELECT * FROM DBAPI20TEST_BOOZE") == [("Victoria Bitter",)]
    assert rows(og.open(place), "SELECT name FROM dbapi20test_booze") == [("Victoria Bitter",)]


def test_what_follows_a_change_in_one_text_sees_it(graph: og.Graph) -> None:
    found = graph.sql(
        """CREATE NODE TABLE Plane (tail TEXT PRIMARY KEY, Seats INT CHECK (Seats > 0));
           CREATE EDGE TABLE Flies (FROM Plane TO Airport, CARDINALITY 0..1, since DATE);
           INSERT INTO Plane VALUES ($tail, 180);
           INSERT INTO Flies (src, dst) VALUES ($tail, 'LIM');
           ALTER TABLE Flies ADD COLUMN note TEXT;
           SELECT p.Seats, f.since, f.note FROM Plane p JOIN Flies f ON f.src = p.id""",
        {"tail": "OB-1"},
    )
    assert found.fetchall() == [(180, None, None)]
    with pytest.raises(OmniError):
        graph.sql("INSERT INTO Plane VALUES ('OB-2', 0)")
    with pytest.raises(OmniError):
        graph.sql("INSERT INTO Flies (src, dst) VALUES ('OB-1', 'CUZ')")


def test_the_text_around_a_change_stays_as_its_author_wrote_it(graph: og.Graph) -> None:
    graph.sql("ALTER TABLE Airport ADD COLUMN Height INT; ALTER TABLE Route ADD COLUMN miles INT")
    graph.sql("CREATE TABLE t (a INT)")
    assert graph.schema_text == (
        "// airports of the world\n"
        "node Airport {\n    code: String @key  // three letters\n    city: String\n    `Height`: I32?\n}\n"
        "edge Route: Airport -> Airport {\n    miles: I32?\n}\n\n"
        "node `t` {\n    a: I32?\n}\n"
    )
    graph.sql("DROP TABLE Route; DROP TABLE t")
    assert graph.schema_text == (
        "// airports of the world\n"
        "node Airport {\n    code: String @key  // three letters\n    city: String\n    `Height`: I32?\n}\n"
    )


@pytest.mark.parametrize(
    "text",
    ["CREATE TABLE IF NOT EXISTS Airport (x INT)", "DROP TABLE IF EXISTS Nothing", "ALTER TABLE IF EXISTS N ADD a INT"],
)
def test_a_change_of_nothing_is_no_commit(graph: og.Graph, place: Path, text: str) -> None:
    before = digest(place)
    assert graph.sql(text).commit_id is None
    assert digest(place) == before


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("CREATE TABLE airport (x INT)", LanguageError),
        ("DROP TABLE Airport", LanguageError),
        ("DROP TABLE Nothing", LanguageError),
        ("ALTER TABLE Airport ADD COLUMN must INT NOT NULL", NotSupported),
        ("ALTER TABLE Airport DROP COLUMN city", NotSupported),
        ("ALTER TABLE Airport RENAME TO Port", NotSupported),
        ("ALTER TABLE Airport ADD CONSTRAINT u UNIQUE (city)", NotSupported),
        ('CREATE TABLE "a b" (x INT)', LanguageError),
        ("CREATE TABLE money (x DECIMAL(10, 2))", LanguageError),
    ],
)
def test_a_refused_change_leaves_everything_as_it_is(
    graph: og.Graph, place: Path, text: str, error: type[OmniError]
) -> None:
    before = digest(place)
    with pytest.raises(error) as caught:
        graph.sql(text)
    assert caught.value.hint or caught.value.code == "unknown_name"
    assert digest(place) == before


# ---- the past -----------------------------------------------------------------------------------------------------


def test_a_past_state_has_the_schema_it_had(graph: og.Graph) -> None:
    first = graph.head
    graph.sql("ALTER TABLE Airport ADD COLUMN height INT; INSERT INTO Airport VALUES ('AQP', 'Arequipa', 2335)")
    second = graph.head
    graph.sql("DROP TABLE Route; DROP TABLE Airport; CREATE TABLE Airport (iata TEXT PRIMARY KEY)")
    assert rows(graph.at(first), "SELECT * FROM Airport ORDER BY code") == [("CUZ", "Cusco"), ("LIM", "Lima")]
    assert rows(graph.at(second), "SELECT code, height FROM Airport ORDER BY code") == [
        ("AQP", 2335),
        ("CUZ", None),
        ("LIM", None),
    ]
    assert rows(graph, "SELECT * FROM Airport") == []
    with pytest.raises(LanguageError):
        graph.at(first).sql("SELECT height FROM Airport")
    assert "Route" in graph.at(second).schema_text


def test_a_dropped_name_made_anew_is_another_table(graph: og.Graph) -> None:
    graph.sql("CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")
    before = graph.catalog.node("t")
    graph.sql("DROP TABLE t; CREATE TABLE t (a INT)")
    after = graph.catalog.node("t")
    assert before is not None
    assert after is not None
    assert {before.stable_id, before.incarnation_id}.isdisjoint({after.stable_id, after.incarnation_id})
    assert rows(graph, "SELECT * FROM t") == []


def test_a_column_keeps_its_identity_when_others_come(graph: og.Graph) -> None:
    before = graph.catalog.node("Airport")
    graph.sql("ALTER TABLE Airport ADD COLUMN aaa INT")
    after = graph.catalog.node("Airport")
    assert before is not None
    assert after is not None
    kept = {p.name: p.stable_id for p in after.properties}
    assert [kept[p.name] for p in before.properties] == [p.stable_id for p in before.properties]
    assert (after.stable_id, after.incarnation_id) == (before.stable_id, before.incarnation_id)


# ---- branches -----------------------------------------------------------------------------------------------------


def test_a_branch_keeps_the_schema_it_was_made_with(graph: og.Graph) -> None:
    graph.create_branch("review")
    review = graph.checkout("review")
    graph.sql("ALTER TABLE Airport ADD COLUMN height INT; DROP TABLE Route; CREATE TABLE t (a INT)")
    review.sql("INSERT INTO Airport VALUES ('AQP', 'Arequipa'); INSERT INTO Route (src, dst) VALUES ('AQP', 'LIM')")
    assert rows(review, "SELECT count(*) FROM Airport") == [(3,)]
    assert rows(graph, "SELECT count(height), count(*) FROM Airport") == [(0, 2)]
    with pytest.raises(LanguageError):
        review.sql("SELECT * FROM t")
    graph.create_branch("later")
    assert rows(graph.checkout("later"), "SELECT * FROM t") == []


def test_the_schema_is_changed_on_main_only(graph: og.Graph, place: Path) -> None:
    graph.create_branch("review")
    before = digest(place)
    with pytest.raises(ConflictError, match="main") as caught:
        graph.checkout("review").sql("CREATE TABLE t (a INT)")
    assert (caught.value.code, bool(caught.value.hint)) == ("schema_branch", True)
    assert digest(place) == before


# ---- transactions -------------------------------------------------------------------------------------------------


def test_a_change_commits_what_begin_opened_and_then_itself(graph: og.Graph) -> None:
    before = len(graph.commits())
    graph.sql("BEGIN; INSERT INTO Airport VALUES ('AQP', 'Arequipa'); CREATE TABLE t (a INT)")
    assert not graph.in_transaction
    assert len(graph.commits()) == before + 2
    graph.sql("ROLLBACK")
    assert rows(graph, "SELECT count(*) FROM Airport") == [(3,)]
    with pytest.raises(BoundaryViolation):
        graph.sql("COMMIT")


def test_a_change_has_no_place_inside_a_python_transaction(graph: og.Graph) -> None:
    with graph.transaction() as tx:
        tx.sql("INSERT INTO Airport VALUES ('AQP', 'Arequipa')")
        with pytest.raises(BoundaryViolation, match="commit of its own"):
            tx.sql("CREATE TABLE t (a INT)")
    assert rows(graph, "SELECT count(*) FROM Airport") == [(3,)]


def test_a_refused_change_leaves_the_transaction_open(graph: og.Graph) -> None:
    graph.sql("BEGIN; INSERT INTO Airport VALUES ('AQP', 'Arequipa')")
    with pytest.raises(LanguageError):
        graph.sql("CREATE TABLE Airport (a INT)")
    assert graph.in_transaction
    graph.sql("COMMIT")


# ---- several at once ----------------------------------------------------------------------------------------------


def test_a_change_that_meets_another_is_made_on_top_of_it(graph: og.Graph, place: Path) -> None:
    late = og.open(place, seams=seams(failpoints=At("write.before_lease", lambda: graph.sql("CREATE TABLE a (x INT)"))))
    late.sql("CREATE TABLE b (x INT)")
    assert {t.name for t in graph.catalog.nodes} == {"Airport", "a", "b"}


def test_of_two_that_make_one_table_one_wins(place: Path, graph: og.Graph) -> None:
    def attempt(number: int) -> str:
        try:
            og.open(place).sql(f"CREATE TABLE t (c{number} INT)")
        except LanguageError as error:
            return error.code
        return "made"

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(attempt, range(4)))
    assert sorted(found) == ["made", "type", "type", "type"]
    assert rows(graph, "SELECT * FROM t") == []


def test_an_insert_into_a_table_that_goes_meanwhile_is_refused(place: Path, graph: og.Graph) -> None:
    graph.sql("CREATE TABLE t (a INT)")
    late = og.open(place, seams=seams(failpoints=At("write.before_lease", lambda: graph.sql("DROP TABLE t"))))
    with pytest.raises(LanguageError):
        late.sql("INSERT INTO t VALUES (1)")
    with pytest.raises(LanguageError):
        late.sql("SELECT * FROM t")
