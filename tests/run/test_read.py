"""Statements and the rows they give, over one small graph."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from omnigraph_sql.base.errors import StorageError
from omnigraph_sql.base.expr import Column, Compare, Expr, Literal, Negate, Param
from omnigraph_sql.base.types import I64, STRING, arrow_type
from omnigraph_sql.engine.values import TableIdentity
from omnigraph_sql.plan.lower import lower
from omnigraph_sql.run.query_engine import session
from omnigraph_sql.run.read import NOT_CONSTANT, constant, evaluate, read
from tests.run.graphs import NOW, Graph, rows_of
from tests.schemas import AIRPORTS


def airport(code: str, city: str, elevation: int | None, **more: Any) -> dict[str, Any]:
    rest = dict.fromkeys(("opened", "tags", "blurb", "pos", "photo"))
    return {"id": code, "code": code, "city": city, "elevation": elevation, **rest, **more}


def route(name: str, src: str, dst: str, miles: int) -> dict[str, Any]:
    return {"id": name, "src": src, "dst": dst, "miles": miles, "since": None}


ROWS: dict[str, list[dict[str, Any]]] = {
    "Airport": [
        airport("LIM", "Lima", 113, tags=["sea", "hub"], pos=[1, 0, 0, 0], opened=date(1960, 1, 2)),
        airport("CUZ", "Cusco", 3310, pos=[0, 1, 0, 0]),
        airport("AQP", "Arequipa", None, tags=[], pos=[1, 1, 0, 0]),
    ],
    "Carrier": [
        {"id": "LA", "iata": "LA", "name": "Latam", "rating": 3.5, "status": "active", "updated": NOW},
        {"id": "LIM", "iata": "LIM", "name": "O'Hara", "rating": None, "status": "dormant", "updated": None},
    ],
    "Route": [route("r1", "LIM", "CUZ", 363), route("r2", "CUZ", "AQP", 200), route("r3", "LIM", "CUZ", 370)],
    "Hub": [{"id": "h1", "src": "LA", "dst": "LIM"}],
    "Owns": [],
}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    folder: Path = tmp_path_factory.mktemp("read")
    return Graph(folder / "graph", AIRPORTS, ROWS)


STATEMENTS: list[tuple[str, list[tuple[Any, ...]]]] = [
    (
        "SELECT code, elevation FROM Airport ORDER BY elevation DESC NULLS LAST",
        [("CUZ", 3310), ("LIM", 113), ("AQP", None)],
    ),
    ("SELECT code FROM Airport ORDER BY elevation NULLS FIRST LIMIT 1 OFFSET 1", [("LIM",)]),
    ("SELECT x.code FROM (SELECT code FROM Airport ORDER BY code DESC LIMIT 2) x ORDER BY 1", [("CUZ",), ("LIM",)]),
    ("SELECT count(*), sum(miles), avg(miles), min(miles) FROM Route", [(3, 933, 311.0, 200)]),
    ("SELECT count(*), sum(miles) FROM Route WHERE miles < 0", [(0, None)]),
    ("SELECT src, count(DISTINCT dst) FROM Route GROUP BY src HAVING count(*) > 1", [("LIM", 1)]),
    (
        "SELECT src, sum(miles), grouping(src) FROM Route GROUP BY ROLLUP (src) ORDER BY 2",
        [("CUZ", 200, 0), ("LIM", 733, 0), (None, 933, 1)],
    ),
    ("SELECT string_agg(code, '-' ORDER BY code DESC) FROM Airport", [("LIM-CUZ-AQP",)]),
    ("SELECT array_agg(code ORDER BY code) FILTER (WHERE elevation > 0) FROM Airport", [(["CUZ", "LIM"],)]),
    ("SELECT DISTINCT ON (src) src, miles FROM Route ORDER BY src, miles DESC", [("CUZ", 200), ("LIM", 370)]),
    (
        "SELECT code, row_number() OVER (ORDER BY code), lag(code) OVER (ORDER BY code) FROM Airport ORDER BY code",
        [("AQP", 1, None), ("CUZ", 2, "AQP"), ("LIM", 3, "CUZ")],
    ),
    (
        "SELECT id, sum(miles) OVER (PARTITION BY src ORDER BY miles ROWS 1 PRECEDING) FROM Route ORDER BY id",
        [("r1", 363), ("r2", 200), ("r3", 733)],
    ),
    ("SELECT src FROM Route INTERSECT ALL (VALUES ('LIM'), ('LIM'), ('LIM'))", [("LIM",), ("LIM",)]),
    ("SELECT src FROM Route EXCEPT ALL SELECT 'LIM' ORDER BY 1", [("CUZ",), ("LIM",)]),
    ("SELECT src FROM Route UNION SELECT 'x' ORDER BY 1", [("CUZ",), ("LIM",), ("x",)]),
    (
        "SELECT a.code, b.code FROM Airport a LEFT JOIN Route r ON r.src = a.id LEFT JOIN Airport b ON b.id = r.dst "
        "AND r.miles > 365 ORDER BY 1, 2 NULLS LAST",
        [("AQP", None), ("CUZ", None), ("LIM", "CUZ"), ("LIM", None)],
    ),
    (
        "SELECT a.code, b.code FROM Airport a FULL JOIN Airport b ON a.code <> b.code AND EXISTS (SELECT 1 FROM Route "
        "WHERE src = a.id AND dst = b.id) ORDER BY 1 NULLS LAST, 2 NULLS LAST",
        [("AQP", None), ("CUZ", "AQP"), ("LIM", "CUZ"), (None, "LIM")],
    ),
    ("SELECT a.code, t.x FROM Airport a, unnest(a.tags) AS t(x) ORDER BY 2", [("LIM", "hub"), ("LIM", "sea")]),
    (
        "SELECT a.code, t.m FROM Airport a LEFT JOIN LATERAL (SELECT miles AS m FROM Route r WHERE r.src = a.id "
        "ORDER BY miles DESC LIMIT 1) t ON true ORDER BY 1",
        [("AQP", None), ("CUZ", 200), ("LIM", 370)],
    ),
    (
        "SELECT code, (SELECT count(*) FROM Route r WHERE r.src = a.id) FROM Airport a ORDER BY 1",
        [("AQP", 0), ("CUZ", 1), ("LIM", 2)],
    ),
    ("SELECT code FROM Airport WHERE elevation NOT IN (SELECT elevation FROM Airport)", []),
    ("SELECT code FROM Airport WHERE elevation NOT IN (SELECT miles FROM Route) ORDER BY 1", [("CUZ",), ("LIM",)]),
    (
        "SELECT code, elevation >= ALL (SELECT miles FROM Route), elevation < ANY (SELECT miles FROM Route) "
        "FROM Airport ORDER BY 1",
        [("AQP", None, None), ("CUZ", True, False), ("LIM", False, True)],
    ),
    (
        "SELECT code FROM Airport a WHERE elevation >= (SELECT avg(elevation) FROM Airport b WHERE EXISTS "
        "(SELECT 1 FROM Route r WHERE r.src = b.id AND r.dst <> a.id))",
        [("CUZ",)],
    ),
    (
        "WITH RECURSIVE far(x, n) AS (SELECT 'LIM', 0 UNION SELECT dst, n + 1 FROM far JOIN Route ON src = x) "
        "SELECT x, n FROM far ORDER BY n",
        [("LIM", 0), ("CUZ", 1), ("AQP", 2)],
    ),
    ("WITH t AS (SELECT miles m FROM Route) SELECT max(a.m) - min(b.m) FROM t a, t b", [(170,)]),
    ("SELECT * FROM generate_series(1, 5, 2)", [(1,), (3,), (5,)]),
    ("SELECT * FROM unnest([1, 2], ['a']) WITH ORDINALITY AS t(a, b, n)", [(1, "a", 1), (2, None, 2)]),
    ("SELECT 7 / 2, 7 // 2, -7 // 2, -7 % 3, 2 ** 3, 7.5 // 2", [(3.5, 3, -3, -1, 8.0, 3.0)]),
    ("SELECT 5 & 3, 5 | 3, xor(5, 3), 1 << 3, ~5", [(1, 7, 6, 8, -6)]),
    ("SELECT 'a' || NULL, 1 || 'a', [1] || [2], NULL IS NOT DISTINCT FROM NULL", [(None, "1a", [1, 2], True)]),
    (
        "SELECT list_transform([1, 2], x -> x * 10), [1, 2, 3][2:3], list_contains([1, NULL], 2)",
        [([10, 20], [2, 3], False)],
    ),
    (
        "SELECT CAST(1.5 AS DECIMAL(6,2)) * 2, CAST('2020-01-31' AS DATE) + INTERVAL '1 month'",
        [(Decimal("3.00"), date(2020, 2, 29))],
    ),
    ("SELECT now(), DATE '2020-03-01' - DATE '2020-02-01', extract(year FROM now())", [(NOW, 29, 2031)]),
    ("SELECT code FROM Airport ORDER BY nearest(pos, [1.0, 0.0, 0.0, 0.0]) LIMIT 2", [("LIM",), ("AQP",)]),
    (
        "query q() { match { $a: Airport  $a route $b } return { $a.code, $b.code } order { $a.code } }",
        [("CUZ", "AQP"), ("LIM", "CUZ")],
    ),
    (
        "query q() { match { $a: Airport  $a $r:route $b  $r.miles > 300 } return { $b.code, $r.miles } "
        "order { $r.miles } }",
        [("CUZ", 363), ("CUZ", 370)],
    ),
    ("query q() { match { $a: Airport  not { $a route $b } } return { $a.code } }", [("AQP",)]),
    (
        "query q() { match { $c: Carrier  not { $c hub $h  not { $h.elevation > 1000 } } } return { $c.iata } }",
        [("LIM",)],
    ),
    ('query q() { match { $a: Airport  $a.tags contains "hub" } return { $a.code } }', [("LIM",)]),
    ("SELECT 1 WHERE EXISTS (SELECT 1 FROM Route) AND NOT EXISTS (SELECT 1 FROM Owns)", [(1,)]),
]


@pytest.mark.parametrize(("text", "expected"), STATEMENTS, ids=[text[:60] for text, _ in STATEMENTS])
def test_a_statement_gives_its_rows(graph: Graph, text: str, expected: list[tuple[Any, ...]]) -> None:
    assert graph.ask(text) == expected


@pytest.mark.parametrize("text", [text for text, _ in STATEMENTS], ids=[text[:60] for text, _ in STATEMENTS])
def test_columns_have_the_names_and_types_the_plan_promises(graph: Graph, text: str) -> None:
    (program,) = graph.compile(text).programs
    schema = read(program.plan, graph.scene()).schema
    assert schema.names == list(program.plan.schema.order)
    assert [f.type for f in schema] == [arrow_type(f.type) for f in program.plan.schema.fields]


def test_many_threads_share_the_engine_and_leave_nothing_behind(graph: Graph) -> None:
    before = session().catalog().schema().table_names()
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda one: graph.ask(one[0]) == one[1], STATEMENTS * 4))
    assert all(answers)
    assert session().catalog().schema().table_names() == before


def test_a_result_outlives_the_next_statement_and_may_be_left_half_read(graph: Graph) -> None:
    (program,) = graph.compile("SELECT code FROM Airport ORDER BY code").programs
    first = read(program.plan, graph.scene())
    left = read(program.plan, graph.scene())
    del left
    assert graph.ask("SELECT count(*) FROM Route") == [(3,)]
    assert rows_of(first) == [("AQP",), ("CUZ",), ("LIM",)]


def test_a_table_that_cannot_be_read_is_a_storage_error(tmp_path: Path) -> None:
    graph = Graph(tmp_path / "graph", AIRPORTS, ROWS)
    of = graph.catalog.node("Airport")
    assert of is not None
    pin = graph.scene().snapshot.pin(TableIdentity.of(of))
    assert pin is not None
    for file in (tmp_path / "graph" / pin.path / "data").iterdir():
        file.unlink()
    with pytest.raises(StorageError, match="node:Airport"):
        graph.ask("SELECT code FROM Airport")


def test_expressions_are_evaluated_over_rows_in_memory(graph: Graph) -> None:
    rows = pa.table({"a.n": pa.array([1, None, 3], pa.int64()), "a.s": ["x", "'", None]})
    number, text = Column("a.n", I64), Column("a.s", STRING)
    items: tuple[tuple[str, Expr], ...] = (
        ("double", Negate(number)),
        ("is", Compare("=", text, Param("p", STRING))),
        ("a.n", text),
        ("one", Literal("'", STRING)),
    )
    made = evaluate(items, rows, graph.scene({"p": "'"}))
    assert made.schema.names == ["double", "is", "a.n", "one"]
    assert made.to_pydict() == {
        "double": [-1, None, -3],
        "is": [False, True, None],
        "a.n": ["x", "'", None],
        "one": ["'"] * 3,
    }


def test_a_constant_is_told_without_the_engine(graph: Graph) -> None:
    scene = graph.scene({"p": 7})
    assert constant(Literal("x", STRING), scene) == "x"
    assert constant(Negate(Param("p", I64)), scene) == -7
    assert constant(Column("a.n", I64), scene) is NOT_CONSTANT
    assert datetime(2031, 2, 3, 4, 5, 6, tzinfo=UTC) == constant(Param("__now__"), scene)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT t.n FROM (SELECT id, (1 + 1) AS n FROM Airport) t WHERE t.n NOT IN (1, t.n) AND t.n > $one",
        "SELECT a.code FROM Airport a JOIN Route r ON true AND $one = 2 WHERE a.id = a.code AND $one + 1 = 3",
        "SELECT a.code FROM Airport a RIGHT JOIN Route r ON $one > 1 JOIN Airport b ON a.id = b.id AND a.id = a.id",
    ],
)
def test_conditions_that_come_out_constant_are_conditions_all_the_same(graph: Graph, text: str) -> None:
    (program,) = graph.compile(text).programs
    for plan in (program.plan, lower(program.bound.statement)):
        assert rows_of(read(plan, graph.scene({"one": 1}))) == []
