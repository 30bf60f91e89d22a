"""A connection: implicit transactions, cursors that share them, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

import omnigraph_sql as og
from tests.graph.airports import SCHEMA

COUNT = "SELECT count(*) FROM Airport"


def place(folder: Path) -> Path:
    return folder / "air.omni"


@pytest.fixture
def con(tmp_path: Path) -> Iterator[og.Connection]:
    connection = og.connect(place(tmp_path), create=True, schema=SCHEMA, actor="ana")
    yield connection
    connection.close()


@pytest.fixture
def other(con: og.Connection, tmp_path: Path) -> Iterator[og.Connection]:
    """A second connection to the same graph."""
    del con
    connection = og.connect(place(tmp_path))
    yield connection
    connection.close()


def airports(connection: og.Connection) -> int:
    found: int = connection.execute(COUNT).fetchone()[0]
    return found


# ---- transactions -----------------------------------------------------------------------------------------------


def test_a_change_is_seen_by_every_cursor_of_the_connection_and_by_nobody_else(
    con: og.Connection, other: og.Connection
) -> None:
    con.cursor().execute("INSERT INTO Airport VALUES ('LIM', 'Lima', 34)")
    assert (airports(con), con.cursor().execute(COUNT).fetchall(), airports(other)) == (1, [(1,)], 0)
    con.commit()
    assert airports(other) == 1


def test_several_statements_are_one_commit(con: og.Connection) -> None:
    before = len(con.graph.commits())
    con.execute("INSERT INTO Airport VALUES ('LIM', 'Lima', 34)")
    con.execute("INSERT INTO Airport VALUES ('CUZ', 'Cusco', 3310)")
    con.execute("INSERT INTO Route (src, dst, miles) VALUES ('LIM', 'CUZ', 363)")
    con.commit()
    assert len(con.graph.commits()) == before + 1
    assert con.graph.commits()[0].actor == "ana"


def test_rollback_drops_what_is_pending_and_never_raises(con: og.Connection) -> None:
    con.rollback()
    con.execute("INSERT INTO Airport VALUES ('LIM', 'Lima', 34)")
    assert con.in_transaction
    con.rollback()
    con.rollback()
    assert (con.in_transaction, airports(con)) == (False, 0)
    con.close()
    con.rollback()


def test_reads_alone_open_no_transaction_and_see_what_others_commit(con: og.Connection, other: og.Connection) -> None:
    assert airports(con) == 0
    other.execute("INSERT INTO Airport VALUES ('LIM', 'Lima', 34)")
    other.commit()
    assert (con.in_transaction, airports(con)) == (False, 1)


def test_a_first_change_that_fails_opens_no_transaction(con: og.Connection) -> None:
    with pytest.raises(og.DataError):
        con.execute("INSERT INTO Airport VALUES ('LIM', 'Lima', ?)", (2**40,))
    with pytest.raises(og.Error):
        con.execute("INSERT INTO Airport VALUES ('LIM', 'Lima', 1); INSERT INTO Airport VALUES ('LIM', 'Lima', 2)")
    assert (con.in_transaction, airports(con)) == (False, 0)


def test_a_mixture_is_refused_where_it_is_written_and_the_transaction_goes_on(con: og.Connection) -> None:
    con.execute("INSERT INTO Airport VALUES ('LIM', 'Lima', 34)")
    with pytest.raises(og.ProgrammingError) as refused:
        con.execute("DELETE FROM Airport WHERE code = 'LIM'")
    assert (refused.value.code, refused.value.sqlstate) == ("D2", "25000")
    con.execute("INSERT INTO Airport VALUES ('CUZ', 'Cusco', 3310)")
    con.commit()
    assert airports(con) == 2


def test_autocommit_publishes_every_statement(con: og.Connection, other: og.Connection) -> None:
    con.autocommit = True
    con.execute("INSERT INTO Airport VALUES ('LIM', 'Lima', 34)")
    assert (con.in_transaction, airports(other)) == (False, 1)
    con.executemany("INSERT INTO Airport VALUES (?, ?, ?)", [("CUZ", "Cusco", 3310), ("AQP", "Arequipa", 2560)])
    assert airports(other) == 3


def test_autocommit_cannot_change_while_something_is_pending(con: og.Connection) -> None:
    con.execute("INSERT INTO Airport VALUES ('LIM', 'Lima', 34)")
    with pytest.raises(og.ProgrammingError, match="inside a transaction"):
        con.autocommit = True
    con.commit()
    con.autocommit = True
    assert con.autocommit


def test_a_transaction_block_is_one_commit_with_autocommit_too(con: og.Connection, other: og.Connection) -> None:
    con.autocommit = True
    with con.transaction() as same:
        assert same is con
        con.execute("INSERT INTO Airport VALUES ('LIM', 'Lima', 34)")
        assert airports(other) == 0
    assert airports(other) == 1
    with pytest.raises(og.ProgrammingError), con.transaction():
        con.executescript("INSERT INTO Airport VALUES ('CUZ', 'Cusco', 3310); SELEC")
    assert (con.in_transaction, airports(con)) == (False, 1)


def test_a_transaction_block_inside_a_transaction_is_refused(con: og.Connection) -> None:
    con.execute("INSERT INTO Airport VALUES ('LIM', 'Lima', 34)")
    with pytest.raises(og.ProgrammingError, match="open already"), con.transaction():
        pass
    assert con.in_transaction


def test_begin_and_commit_in_sql_and_in_python_are_the_same(con: og.Connection, other: og.Connection) -> None:
    con.execute("BEGIN")
    con.execute("INSERT INTO Airport VALUES ('LIM', 'Lima', 34)")
    con.commit()
    con.execute("INSERT INTO Airport VALUES ('CUZ', 'Cusco', 3310)")
    con.execute("COMMIT")
    assert (con.in_transaction, airports(other)) == (False, 2)


def test_a_with_block_commits_or_rolls_back_and_closes(tmp_path: Path) -> None:
    where = tmp_path / "with.omni"
    with og.connect(where, create=True, schema=SCHEMA) as connection:
        connection.execute("INSERT INTO Airport VALUES ('LIM', 'Lima', 34)")
    assert connection.closed
    again = og.connect(where)
    again.execute("INSERT INTO Airport VALUES ('CUZ', 'Cusco', 3310)")
    with pytest.raises(og.ProgrammingError), again:
        again.execute("SELEC")
    assert again.closed
    with og.connect(where, read_only=True) as reader:
        assert airports(reader) == 1


def test_the_graph_of_a_connection_is_part_of_its_transaction(con: og.Connection) -> None:
    con.execute("INSERT INTO Airport VALUES ('LIM', 'Lima', 34)")
    assert con.graph.sql(COUNT).fetchone() == (1,)
    con.rollback()
    assert con.graph.sql(COUNT).fetchone() == (0,)


# ---- making, opening, closing -----------------------------------------------------------------------------------


def test_create_makes_an_empty_graph_once(tmp_path: Path) -> None:
    first = og.connect(tmp_path / "new.omni", create=True)
    assert list(first.graph.catalog.tables()) == []
    head = first.graph.head
    assert og.connect(tmp_path / "new.omni", create=True).graph.head == head


def test_a_place_without_a_graph_is_an_operational_error(tmp_path: Path) -> None:
    with pytest.raises(og.OperationalError) as refused:
        og.connect(tmp_path / "none.omni")
    assert (refused.value.code, refused.value.sqlstate, refused.value.hint) == (
        "storage",
        "58P01",
        "make one with init",
    )


@pytest.mark.parametrize("wrong", [{"schema": SCHEMA}, {"create": True, "read_only": True}])
def test_arguments_that_do_not_go_together_are_refused(wrong: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(og.InterfaceError):
        og.connect(tmp_path / "x.omni", **wrong)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_connection_for_reading_refuses_changes(con: og.Connection, tmp_path: Path) -> None:
    del con
    reader = og.connect(place(tmp_path), read_only=True)
    with pytest.raises(og.OperationalError) as refused:
        reader.execute("INSERT INTO Airport VALUES ('LIM', 'Lima', 34)")
    assert (refused.value.code, refused.value.sqlstate) == ("read_only", "25006")


def test_another_branch_is_another_connection(con: og.Connection, tmp_path: Path) -> None:
    con.graph.create_branch("review")
    review = og.connect(place(tmp_path), branch="review")
    review.execute("INSERT INTO Airport VALUES ('LIM', 'Lima', 34)")
    review.commit()
    assert (airports(review), airports(con)) == (1, 0)
    with pytest.raises(og.OperationalError, match="no branch"):
        og.connect(place(tmp_path), branch="nope")


def test_whatever_is_closed_says_so(con: og.Connection) -> None:
    cursor = con.execute(COUNT)
    con.close()
    con.close()
    for use in (con.commit, con.cursor, cursor.fetchone, cursor.fetchall, lambda: cursor.execute(COUNT)):
        with pytest.raises(og.InterfaceError, match="the connection is closed"):
            use()
    with pytest.raises(og.InterfaceError), con:
        pass
    assert "closed" in repr(con)


def test_closing_rolls_back(con: og.Connection, other: og.Connection) -> None:
    con.execute("INSERT INTO Airport VALUES ('LIM', 'Lima', 34)")
    con.close()
    assert airports(other) == 0


def test_a_closed_cursor_leaves_the_connection_open(con: og.Connection) -> None:
    with con.cursor() as cursor:
        cursor.execute(COUNT)
    with pytest.raises(og.InterfaceError, match="the cursor is closed"):
        cursor.fetchone()
    assert airports(con) == 0


# ---- cursors ----------------------------------------------------------------------------------------------------


def test_parameters_come_in_four_spellings(con: og.Connection) -> None:
    assert con.execute("SELECT ? + ?", (1, 2)).fetchone() == (3,)
    assert con.execute("SELECT $1 + $2 + $1", [1, 2]).fetchone() == (4,)
    assert con.execute("SELECT $a || ':b ?'", {"a": "x"}).fetchone() == ("x:b ?",)
    assert con.execute("SELECT :a || '?'", {"a": "x"}).fetchone() == ("x?",)


def test_gq_is_executed_too(con: og.Connection) -> None:
    con.execute("query add($c: String) { insert Airport { code: $c, city: 'Lima' } }".replace("'", '"'), {"c": "LIM"})
    con.commit()
    assert con.execute("match { $a: Airport } return { $a.city as city }").fetchall() == [("Lima",)]


def test_a_description_names_columns_and_types(con: og.Connection) -> None:
    cursor = con.execute(
        "SELECT 'a' AS s, 1 AS n, 1.5 AS f, true AS b, DATE '2026-01-02' AS d, now() AS t, [1] AS l, "
        "1.5::DECIMAL(9,2) AS x"
    )
    assert cursor.description is not None
    codes: dict[str, object] = {column[0]: column[1] for column in cursor.description}
    assert (codes["s"], codes["n"], codes["f"], codes["b"]) == (og.STRING, og.NUMBER, og.NUMBER, og.NUMBER)
    assert (codes["d"], codes["t"], codes["x"]) == (og.DATETIME, og.DATETIME, og.NUMBER)
    every = (og.STRING, og.BINARY, og.NUMBER, og.DATETIME, og.ROWID)
    assert [codes["l"] == one for one in every] == [False] * 5
    assert all(len(column) == 7 for column in cursor.description)
    assert cursor.description[-1][4:6] == (9, 2)
    assert codes["n"] != og.STRING
    assert codes["n"] in {og.NUMBER}


def test_a_change_has_a_row_count_and_no_description(con: og.Connection) -> None:
    cursor = con.execute("INSERT INTO Airport VALUES ('LIM', 'Lima', 34), ('CUZ', 'Cusco', 3310)")
    assert (cursor.rowcount, cursor.description, cursor.rownumber) == (2, None, None)
    with pytest.raises(og.ProgrammingError, match="no rows"):
        cursor.fetchall()
    con.commit()
    returning = con.execute("UPDATE Airport SET elevation = 1 WHERE code = 'LIM' RETURNING city")
    assert (returning.rowcount, returning.fetchall()) == (1, [("Lima",)])


def test_edges_that_go_with_a_node_are_not_counted(con: og.Connection) -> None:
    con.execute("INSERT INTO Airport VALUES ('LIM', 'Lima', 34), ('CUZ', 'Cusco', 3310)")
    con.execute("INSERT INTO Route (src, dst, miles) VALUES ('LIM', 'CUZ', 363), ('CUZ', 'LIM', 363)")
    con.commit()
    assert con.execute("DELETE FROM Airport WHERE code = 'LIM'").rowcount == 1
    con.commit()
    assert con.execute("SELECT count(*) FROM Route").fetchone() == (0,)


def test_a_statement_that_fails_leaves_no_rows_of_the_one_before(con: og.Connection) -> None:
    cursor = con.execute("SELECT 1")
    with pytest.raises(og.ProgrammingError):
        cursor.execute("SELEC 1")
    assert cursor.description is None
    with pytest.raises(og.ProgrammingError, match="no rows"):
        cursor.fetchone()


def test_rows_are_fetched_in_every_way(con: og.Connection) -> None:
    text = "SELECT n FROM generate_series(1, 6) AS s(n) ORDER BY n"
    cursor = con.execute(text)
    assert (cursor.fetchone(), cursor.fetchmany(), cursor.fetchmany(2), cursor.rownumber) == (
        (1,),
        [(2,)],
        [(3,), (4,)],
        4,
    )
    assert (list(cursor), cursor.fetchone(), cursor.fetchmany(3), cursor.fetchall()) == ([(5,), (6,)], None, [], [])
    cursor.arraysize = 4
    assert len(cursor.execute(text).fetchmany()) == 4
    assert cursor.fetch_arrow_table().to_pydict() == {"n": [5, 6]}
    assert sum(batch.num_rows for batch in cursor.execute(text).fetch_record_batch()) == 6
    assert cursor.execute(text).to_arrow_table().num_rows == 6


def test_a_row_factory_makes_the_rows(con: og.Connection) -> None:
    con.row_factory = og.dict_row
    cursor = con.execute("SELECT 1 AS one, 'x' AS word")
    assert cursor.fetchone() == {"one": 1, "word": "x"}
    cursor.row_factory = lambda _, row: row[1]
    assert list(cursor.execute("SELECT 1 AS one, 'x' AS word")) == ["x"]


def test_instants_and_days_come_back_as_they_went(con: og.Connection) -> None:
    at = og.Timestamp(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    con.execute("INSERT INTO Note (text, at) VALUES ('n', ?)", (at,))
    assert con.execute("SELECT at FROM Note").fetchone() == (at,)
    assert con.execute("SELECT ?::DATE", (og.Date(2026, 1, 2),)).fetchone() == (date(2026, 1, 2),)
    assert og.TimestampFromTicks(0) == datetime(1970, 1, 1, tzinfo=UTC)
    assert (og.DateFromTicks(86_400), og.TimeFromTicks(3_600).hour) == (date(1970, 1, 2), 1)


def test_a_script_gives_the_rows_of_its_last_statement(con: og.Connection) -> None:
    cursor = con.executescript("INSERT INTO Airport VALUES ('LIM', 'Lima', 34); SELECT city FROM Airport")
    assert (cursor.fetchall(), con.in_transaction) == ([("Lima",)], True)


def test_what_is_no_text_is_refused(con: og.Connection) -> None:
    with pytest.raises(og.ProgrammingError, match="a statement is a text"):
        con.execute(7)  # type: ignore[arg-type]


# ---- columns before running -------------------------------------------------------------------------------------


DESCRIBED = [
    "SELECT * FROM Airport",
    "SELECT code, elevation + 1, elevation * 1.5 AS up, elevation > 3 AS high, NULL AS nothing FROM Airport",
    "SELECT count(*), avg(elevation), array_agg(code) FROM Airport",
    "SELECT current_date, now(), DATE '2020-01-01' - DATE '2019-01-01' AS days",
    "SELECT a.city AS city, b.city AS city FROM Airport a, Route r, Airport b WHERE r.src = a.id AND r.dst = b.id",
    "match { $a: Airport } return { $a.code, $a.elevation as up }",
    "SHOW TABLES",
    "SHOW NODES",
    "SHOW SETTINGS",
    "SHOW COMMITS",
    "DESCRIBE Airport",
    "SUMMARIZE Airport",
    "EXPLAIN SELECT 1",
    "SELECT * FROM omni.indexes",
    "SELECT 1; SELECT 'last' AS word",
    "INSERT INTO Airport VALUES ('LIM', 'Lima', 34) RETURNING *, elevation / 2 AS half",
    "UPDATE Airport SET city = 'x' RETURNING code",
    "INSERT INTO Airport VALUES ('CUZ', 'Cusco', 3310)",
    "BEGIN",
    "",
]


@pytest.mark.parametrize("text", DESCRIBED)
def test_the_columns_of_a_text_are_known_before_it_runs(con: og.Connection, text: str) -> None:
    head, before = con.graph.head, airports(con)
    told = con.describe(text)
    assert (con.graph.head, con.in_transaction, airports(con)) == (head, False, before)
    assert told == con.cursor().describe(text) == con.execute(text).description


def test_a_column_whose_type_follows_from_a_parameter_is_described_without_one(con: og.Connection) -> None:
    (column,) = con.describe("SELECT $x AS it") or ()
    assert (column[0], str(column[1])) == ("it", "null")


def test_a_mistake_is_found_by_describing(con: og.Connection) -> None:
    with pytest.raises(og.ProgrammingError, match="citty"):
        con.describe("SELECT citty FROM Airport")
    con.close()
    with pytest.raises(og.InterfaceError):
        con.describe("SELECT 1")


# ---- options ----------------------------------------------------------------------------------------------------


def test_a_connection_takes_a_memory_limit_a_durability_and_a_way_to_embed(tmp_path: Path) -> None:
    schema = 'node Film { slug: String @key  blurb: String  mood: Vector(2)? @embed("blurb") }'
    asked: list[str] = []

    def embed(texts: list[str]) -> list[list[float]]:
        asked.extend(texts)
        return [[1.0, 0.0] for _ in texts]

    with og.connect(
        tmp_path / "f.omni", create=True, schema=schema, durability="fsync", memory_limit="64MiB", embed=embed
    ) as con:
        con.execute("INSERT INTO Film VALUES ('a', 'sea', [1.0, 0.0]), ('b', 'sand', [0.0, 1.0])")
        con.commit()
        nearest = "SELECT slug FROM nearest(Film, 'mood', ?, k => 1)"
        assert con.execute(nearest, ("a quiet sea",)).fetchall() == [("a",)]
        assert asked == ["a quiet sea"]
        limit = "SELECT value FROM omni.settings WHERE name = 'memory_limit'"
        assert con.execute(limit).fetchall() == [(str(64 * 2**20),)]
    with pytest.raises(og.DataError, match="amount"):
        og.connect(tmp_path / "f.omni", memory_limit="much")
    with pytest.raises(og.Error, match="durability"):
        og.connect(tmp_path / "f.omni", durability="hope")
