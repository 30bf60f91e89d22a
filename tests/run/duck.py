"""The same rows in a graph and in DuckDB, asked the same question."""

from __future__ import annotations

import math
import random
from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from omnigraph_sql.base.errors import OmniError
from omnigraph_sql.graph import Graph, init
from omnigraph_sql.session import Transaction
from tests.engine.worlds import seams
from tests.run import sql_questions as q
from tests.run.sql_questions import Question

Model = dict[str, list[dict[str, Any]]]
_ARROW = {
    q.INT: pa.int64(), q.FLOAT: pa.float64(), q.TEXT: pa.utf8(), q.BOOL: pa.bool_(), q.DATE: pa.date32(),
    q.TIME: pa.timestamp("us", "UTC"),
}  # fmt: skip


def loaded(folder: Path, model: Model) -> Graph:
    graph = init(folder, schema=q.SCHEMA, seams=seams())
    with graph.transaction() as tx:
        for name in model:
            insert(tx, name, model[name])
    return graph


def insert(tx: Transaction, name: str, rows: list[dict[str, Any]]) -> None:
    for row in rows:
        marks = ", ".join(f"${column}" for column in row)
        tx.sql(f"INSERT INTO {name} ({', '.join(row)}) VALUES ({marks})", row)


def changed(rng: random.Random, tx: Transaction, model: Model) -> Model:
    """Pending inserts and updates in a transaction, and the rows that it then sees."""
    people = {row["name"]: row for row in model["Person"]}
    cities = {row["code"]: row for row in model["City"]}
    lives = list(model["Lives"])
    for name in rng.sample(sorted(people), min(3, len(people))):
        people[name] = fresh = q.person(rng, name)
        sets = ", ".join(f"{column} = ${column}" for column in fresh if column != "name")
        tx.sql(f"UPDATE Person SET {sets} WHERE name = $name", fresh)
    new = [q.person(rng, f"q{n}") for n in range(3)]
    insert(tx, "Person", new)
    people |= {row["name"]: row for row in new}
    town = q.city(rng, "z1")
    insert(tx, "City", [town])
    cities["z1"] = town
    more = [{"src": rng.choice(sorted(people)), "dst": rng.choice(sorted(cities)), **q.stay(rng)} for _ in range(4)]
    insert(tx, "Lives", more)
    return {"Person": list(people.values()), "City": list(cities.values()), "Lives": [*lives, *more]}


def without(rng: random.Random, tx: Transaction, model: Model) -> Model:
    """Pending deletes in a transaction; the edges of a node go with it."""
    gone = set(rng.sample([row["name"] for row in model["Person"]], 2))
    for name in gone:
        tx.sql("DELETE FROM Person WHERE name = $name", {"name": name})
    tx.sql("DELETE FROM Lives WHERE since = 1")
    return {
        "Person": [row for row in model["Person"] if row["name"] not in gone],
        "City": model["City"],
        "Lives": [row for row in model["Lives"] if row["src"] not in gone and row["since"] != 1],
    }


def duck(model: Model) -> duckdb.DuckDBPyConnection:
    made = duckdb.connect(":memory:", config={"threads": 1})
    made.execute("SET TimeZone = 'UTC'")
    for name, columns in q.COLUMNS.items():
        rows = [{**row, "id": row.get(q.KEYS.get(name, ""))} for row in model[name]]
        schema = pa.schema([(column, _ARROW[of]) for column, of in columns.items()])
        table = pa.Table.from_pylist(rows, schema=schema)
        made.register(f"arrow_{name}", table)
        made.execute(f"CREATE TABLE {name} AS SELECT * FROM arrow_{name}")
    return made


def plain(value: Any) -> Any:
    """A value as both engines would show it: numbers by their value, instants in UTC."""
    match value:
        case bool() | None | str():
            return value
        case int() | float() | Decimal():
            number = float(value)
            return round(number, 6 - int(math.log10(abs(number)))) if number and abs(number) > 1e-9 else 0.0
        case datetime():
            return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
        case date():
            return value.isoformat()
        case _:
            return str(value)


def answer(ask: Any, text: str) -> list[tuple[Any, ...]] | str:
    try:
        return [tuple(map(plain, row)) for row in ask(text)]
    except (OmniError, duckdb.Error) as error:
        return f"{type(error).__name__}: {error}"


def told(question: Question, theirs: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]] | str:
    return answer(lambda text: theirs.execute(text).fetchall(), question.text)


def difference(question: Question, ours: Any, theirs: duckdb.DuckDBPyConnection) -> str | None:
    """What is different in the two answers; nothing when they are the same, or when both refuse."""
    expected = told(question, theirs)
    found = answer(lambda text: ours.sql(text).fetchall(), question.text)
    if isinstance(expected, str):
        return None
    if isinstance(found, str):
        return f"{found}\n  but expected {expected[:5]}"
    same = found == expected if question.ordered else Counter(found) == Counter(expected)
    if same:
        return None
    extra, missing = Counter(found) - Counter(expected), Counter(expected) - Counter(found)
    return f"found {list(extra)[:4]}\n  expected {list(missing)[:4]}" if extra or missing else "in another order"
