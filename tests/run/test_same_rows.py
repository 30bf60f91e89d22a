"""The same question gives the same rows: in every language, with and without indexes, however the rows lie in files."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from omnigraph_sql.base.types import DataType, VectorType
from omnigraph_sql.graph import Graph, init
from omnigraph_sql.plan.compile import compile_gq, compile_sql
from omnigraph_sql.session import Transaction
from tests.case_files import AIRPORTS, Case, airport_catalog, read_cases
from tests.engine.worlds import seams

READS = [case for case in read_cases("same/reads.case") if case.name != "a table as it was"]
"""Past states are numbered differently in sources that came about differently."""
SOURCES = ("one commit", "many commits", "indexed", "pending")
_OPENED, _OLDER = date(1985, 1, 20), date(1979, 6, 1)
_EAST, _NORTH, _BETWEEN, _WEST = [1.0, 0, 0, 0], [0, 1.0, 0, 0], [1.0, 1.0, 0, 0], [-1.0, 0, 0, 0]
AIRPORT_ROWS: list[dict[str, Any]] = [
    {"code": code, "city": city, "elevation": high, "tags": tags, "blurb": blurb, "opened": opened, "pos": pos}
    for code, city, high, tags, blurb, opened, pos in (
        ("LIM", "Lima", 34, ["sea", "hub"], "on the sea", _OPENED, _EAST),
        ("CUZ", "Cusco", 3310, ["island"], "above the clouds", None, _NORTH),
        ("AQP", "Arequipa", 2560, None, None, _OLDER, _BETWEEN),
        ("PIU", "Piura", None, [], "sand and sea", None, None),
        ("SCL", "Santiago", 474, ["island", "hub"], "a long country", _OPENED, _EAST),
        ("IQT", "Iquitos", 93, ["river"], "no road leads there", None, _WEST),
    )
]
CARRIER_ROWS: list[dict[str, Any]] = [
    {"iata": "LA", "name": "Lata", "rating": 4.5, "status": "active", "updated": datetime(2020, 1, 1, tzinfo=UTC)},
    {"iata": "H2", "name": "Sky", "rating": None, "status": "dormant", "updated": datetime(2999, 1, 1, tzinfo=UTC)},
    {"iata": "P9", "name": "Peru", "rating": 1.0, "status": "defunct", "updated": None},
]
EDGES: dict[str, list[dict[str, Any]]] = {
    "Route": [
        {"src": a, "dst": b, "miles": miles}
        for a, b, miles in (
            ("LIM", "CUZ", 363), ("CUZ", "LIM", 363), ("LIM", "CUZ", 400), ("CUZ", "AQP", 190), ("AQP", "AQP", 5),
            ("LIM", "SCL", 1530), ("SCL", "LIM", 1530), ("AQP", "PIU", 1200), ("PIU", "IQT", 3100),
        )
    ],
    "Hub": [{"src": "LA", "dst": "LIM"}, {"src": "LA", "dst": "SCL"}, {"src": "H2", "dst": "LIM"}],
    "Owns": [{"src": "LA", "dst": "H2"}, {"src": "H2", "dst": "H2"}],
}  # fmt: skip


def insert(handle: Graph | Transaction, name: str, rows: list[dict[str, Any]]) -> None:
    for row in rows:
        handle.sql(f"INSERT INTO {name} ({', '.join(row)}) VALUES ({', '.join(f'${c}' for c in row)})", row)


def filled(folder: Path, source: str) -> Graph | Transaction:
    """The same rows, having come there in different ways."""
    graph = init(folder / "graph", schema=AIRPORTS, seams=seams())
    tables = {"Airport": AIRPORT_ROWS, "Carrier": CARRIER_ROWS, **EDGES}
    if source == "many commits":
        insert(graph, "Airport", [{"code": "ZZZ", "city": "gone"}, {"code": "LIM", "city": "before"}])
        graph.sql("DELETE FROM Airport WHERE code IN ('ZZZ', 'LIM')")
        for name, rows in tables.items():
            insert(graph, name, rows)
        return graph
    if source == "pending":
        insert(graph, "Airport", [{"code": row["code"], "city": "before"} for row in AIRPORT_ROWS[:3]])
        tx = graph.transaction()
        for row in AIRPORT_ROWS[:3]:
            sets = ", ".join(f"{column} = ${column}" for column in row if column != "code")
            tx.sql(f"UPDATE Airport SET {sets} WHERE code = $code", row)
        insert(tx, "Airport", AIRPORT_ROWS[3:])
        for name in ("Carrier", *EDGES):
            insert(tx, name, tables[name])
        return tx
    with graph.transaction() as tx:
        for name, rows in tables.items():
            insert(tx, name, rows)
    if source == "indexed":
        graph.ensure_indices()
    return graph


@pytest.fixture(scope="module")
def handles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Graph | Transaction]:
    return {source: filled(tmp_path_factory.mktemp("same"), source) for source in SOURCES}


def value(of: DataType) -> Any:
    if isinstance(of, VectorType):
        return [0.5] * of.dimensions
    known: dict[str, Any] = {"String": "LIM", "I32": 100, "I64": 2, "F64": 1.5, "Date": "2024-01-01"}
    return known.get(str(getattr(of, "kind", of)), "LIM")


def parameters(case: Case) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for language, text in case.sections:
        if language != "plan":
            compiled = (compile_gq if language == "gq" else compile_sql)(text, airport_catalog())
            found |= {p.name: value(p.type) for p in compiled.programs[0].parameters}
    return found


def rows_of(handle: Graph | Transaction, language: str, text: str, given: dict[str, Any]) -> list[str]:
    result = handle.gq(text, given or None) if language == "gq" else handle.sql(text, given or None)
    return [repr(row) for row in result]


@pytest.mark.parametrize("case", READS, ids=lambda c: c.name)
def test_every_spelling_gives_the_same_rows_from_every_source(
    case: Case, handles: dict[str, Graph | Transaction]
) -> None:
    given = parameters(case)
    ordered = "order" in case.only("plan").lower().split("\n")[0]
    answers: dict[str, Any] = {}
    for source, handle in handles.items():
        for number, (language, text) in enumerate(case.sections):
            if language != "plan":
                found = rows_of(handle, language, text, given)
                answers[f"{source}, {language} {number}"] = found if ordered else Counter(found)
    first = next(iter(answers.values()))
    assert {name: rows for name, rows in answers.items() if rows != first} == {}, first
