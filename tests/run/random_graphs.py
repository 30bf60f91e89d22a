"""Random graphs for questions about patterns, what a transaction does to them, and what happens to what is kept."""

from __future__ import annotations

from datetime import date
from random import Random

import pyarrow as pa

from omnigraph_sql.engine.store.derived import DerivedFiles
from omnigraph_sql.engine.write.staging import MutationStaging
from omnigraph_sql.run.shelf import SHELF
from tests.run.graphs import Graph
from tests.run.patterns import ENDS, Row, Tables


def random_tables(random: Random) -> Tables:
    """A handful of nodes, loops, parallel edges and circles among the edges."""
    people = [person(random, f"p{i}") for i in range(random.randint(0, 8))]
    places = [place(random, f"q{i}") for i in range(random.randint(1, 4))]
    tables: Tables = {"Person": people, "Place": places}
    for edge in ENDS:
        tables[edge] = edges_of(random, tables, edge, "e", random.choice((0, 4, 12)))
    return tables


def person(random: Random, name: str) -> Row:
    age, city = random.choice((None, 5, 30, 31, 60)), random.choice((None, "Lima", "Cusco", "Íquitos"))
    return {"id": name, "name": name, "age": age, "city": city, "born": random.choice((None, date(2001, 2, 3)))}


def place(random: Random, name: str) -> Row:
    return {"id": name, "name": name, "land": random.choice(("Peru", "Chile")), "size": random.choice((None, 1, 2, 3))}


def edges_of(random: Random, tables: Tables, edge: str, prefix: str, count: int) -> list[Row]:
    starts, ends = ([row["id"] for row in tables[kind]] for kind in ENDS[edge])
    if not starts or not ends:
        return []
    rows = []
    for i in range(count):
        row: Row = {"id": f"{prefix}{edge}{i}", "src": random.choice(starts), "dst": random.choice(ends)}
        rows.append(row | ({"weight": random.choice((None, 1, 7))} if edge == "Follows" else {}))
    return rows


def changed(random: Random, graph: Graph, tables: Tables) -> tuple[Tables, MutationStaging]:
    """What a transaction makes of the tables: it builds or tears down, as one statement or script may."""
    staging = MutationStaging()
    return (_torn if random.random() < 0.4 else _built)(random, graph, tables, staging), staging


def _built(random: Random, graph: Graph, tables: Tables, staging: MutationStaging) -> Tables:
    made = {name: {row["id"]: row for row in rows} for name, rows in tables.items()}
    for kind, make in (("Person", person), ("Place", place)):
        names = random.sample(sorted(made[kind]), len(made[kind]) // 2) if random.random() < 0.7 else []
        rows = [make(random, name) for name in [*names, *(f"new{kind}{i}" for i in range(random.randint(0, 2)))]]
        made[kind] |= {row["id"]: row for row in rows}
        upsert(graph, staging, kind, rows)
    now = {name: list(rows.values()) for name, rows in made.items()}
    for edge in ENDS:
        fresh = edges_of(random, now, edge, "new", random.choice((0, 0, 3)))
        moved = edges_of(random, now, edge, "e", min(random.choice((0, 2)), len(tables[edge])))
        made[edge] |= {row["id"]: row for row in (*fresh, *moved)}
        upsert(graph, staging, edge, [*fresh, *moved])
    return {name: list(rows.values()) for name, rows in made.items()}


def upsert(graph: Graph, staging: MutationStaging, name: str, rows: list[Row]) -> None:
    of = graph.catalog.node(name) or graph.catalog.edge(name)
    assert of is not None
    if rows:
        staging.upsert(of, graph.table(name, rows))


def _torn(random: Random, graph: Graph, tables: Tables, staging: MutationStaging) -> Tables:
    """Some nodes go, with their edges, and some edges on their own."""
    made = dict(tables)
    for kind in ("Person", "Place"):
        gone = set(random.sample([row["id"] for row in made[kind]], len(made[kind]) // 3))
        drop(graph, staging, made, kind, gone)
        for edge, (source, target) in ENDS.items():
            ends = [end for end, name in (("src", source), ("dst", target)) if name == kind]
            drop(graph, staging, made, edge, {r["id"] for r in made[edge] if any(r[end] in gone for end in ends)})
    drop(graph, staging, made, "Follows", {row["id"] for row in made["Follows"] if random.random() < 0.3})
    return made


def drop(graph: Graph, staging: MutationStaging, tables: Tables, name: str, gone: set[str]) -> None:
    of = graph.catalog.node(name) or graph.catalog.edge(name)
    assert of is not None
    if gone:
        staging.delete(of, pa.array(sorted(gone), pa.utf8()))
        tables[name] = [row for row in tables[name] if row["id"] not in gone]


def vandalise(random: Random, graph: Graph) -> str:
    """Something that may happen to what is kept."""
    files = sorted(DerivedFiles.at(graph.world.root).folder.glob("*"))
    what = random.choice(("nothing", "nothing", "forget", "delete", "cut", "change", "empty"))
    if what != "nothing":
        SHELF.clear()
    for file in random.sample(files, min(len(files), 2)):
        body = file.read_bytes() or b"?"
        # Another file takes the place of one: those that are mapped stay as they are.
        file.unlink()
        if what == "cut":
            file.write_bytes(body[: random.randrange(len(body))])
        elif what == "change":
            at = random.randrange(len(body))
            file.write_bytes(body[:at] + bytes([body[at] ^ 0x55]) + body[at + 1 :])
        elif what == "empty":
            file.write_bytes(b"")
        elif what != "delete":
            file.write_bytes(body)
    return what
