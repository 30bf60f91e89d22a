"""Nine questions to a social network of 100 000 people, here, in Ladybug (a graph database) and in DuckDB (tables).

Every system answers from the text of a question to fetched rows; all three must give the same rows. Prints medians of
warm rounds run in turn, the ratio to the faster peer, the geometric mean of the ratios, and how long the first question
takes in a process that has just opened the graph, beside Ladybug's. Exits with 1 when a ceiling is passed.

social.py [--quick] [--rounds N] [--data FOLDER]    FOLDER keeps the files and databases for the next run
social.py --first SYSTEM FOLDER QUESTION            one first question in this process; prints JSON
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import _social

EACH_MAX, MEAN_MAX, FIRST_MAX = 1.0, 0.5, 3.0
PEOPLE, FEW_PEOPLE = 100_000, 2_000
FIRST_ROUNDS = 3

OURS = {
    "q1": "SELECT p.key, p.name, count(*) AS n FROM Follows f JOIN Person p ON p.id = f.dst "
    "GROUP BY p.key, p.name ORDER BY n DESC, p.key LIMIT 3",
    "q2": "WITH t AS (SELECT p.id AS person, p.name AS name, p.key AS key, count(*) AS n FROM Follows f "
    "JOIN Person p ON p.id = f.dst GROUP BY p.id, p.name, p.key ORDER BY n DESC, p.key LIMIT 1) "
    "SELECT t.name, t.n, c.city, c.state, c.country FROM t JOIN LivesIn l ON l.src = t.person "
    "JOIN City c ON c.id = l.dst",
    "q3": "query q() { match { $p: Person  $p livesIn $c  $c: City  $c cityIn $s  $s: State  $s stateIn $co  "
    '$co: Country { country: "United States" } } return { $c.city as city, avg($p.age) as a } '
    "order { a asc, city asc } limit 5 }",
    "q4": "query q() { match { $p: Person  $p.age >= 30  $p.age <= 40  $p livesIn $c  $c: City  $c cityIn $s  "
    "$s: State  $s stateIn $co  $co: Country } return { $co.country as country, count($p) as n } "
    "order { n desc } limit 3 }",
    "q5": "SELECT count(*) AS n FROM Person p JOIN HasInterest h ON h.src = p.id JOIN Interest i ON i.id = h.dst "
    "JOIN LivesIn l ON l.src = p.id JOIN City c ON c.id = l.dst "
    "WHERE lower(i.interest) = 'finedining' AND p.gender = 'male' AND c.city = 'London'",
    "q6": "SELECT count(*) AS n, c.city, c.country FROM Person p JOIN HasInterest h ON h.src = p.id "
    "JOIN Interest i ON i.id = h.dst JOIN LivesIn l ON l.src = p.id JOIN City c ON c.id = l.dst "
    "WHERE lower(i.interest) = 'tennis' AND p.gender = 'female' "
    "GROUP BY c.city, c.country ORDER BY n DESC, c.city LIMIT 5",
    "q7": "SELECT count(*) AS n, s.state, s.country FROM GRAPH_TABLE (MATCH (i IS Interest)<-[IS HasInterest]-"
    "(p IS Person)-[IS LivesIn]->(IS City)-[IS CityIn]->(s IS State) "
    "WHERE p.age BETWEEN 23 AND 30 AND s.country = 'United States' AND lower(i.interest) = 'photography' "
    "COLUMNS (s.state AS state, s.country AS country)) s "
    "GROUP BY s.state, s.country ORDER BY n DESC, s.state LIMIT 1",
    "q8": "SELECT count(*) AS n FROM Follows f JOIN Follows g ON f.dst = g.src",
    "q9": "SELECT count(*) AS n FROM GRAPH_TABLE (MATCH (a IS Person)-[IS Follows]->(b IS Person)-[IS Follows]->"
    "(c IS Person) WHERE b.age < 50 AND c.age > 25 COLUMNS (a.key AS key)) w",
}
GRAPH_PEER = {
    "q1": "MATCH (f:Person)-[:Follows]->(p:Person) RETURN p.key, p.name, count(f.key) AS n "
    "ORDER BY n DESC, p.key LIMIT 3",
    "q2": "MATCH (f:Person)-[:Follows]->(p:Person) WITH p, count(f.key) AS n ORDER BY n DESC, p.key LIMIT 1 "
    "MATCH (p)-[:LivesIn]->(c:City) RETURN p.name, n, c.city, c.state, c.country",
    "q3": "MATCH (p:Person)-[:LivesIn]->(c:City)-[:CityIn]->(:State)-[:StateIn]->(co:Country) "
    "WHERE co.country = 'United States' RETURN c.city, avg(p.age) AS a ORDER BY a, c.city LIMIT 5",
    "q4": "MATCH (p:Person)-[:LivesIn]->(:City)-[:CityIn]->(:State)-[:StateIn]->(co:Country) "
    "WHERE p.age >= 30 AND p.age <= 40 RETURN co.country, count(*) AS n ORDER BY n DESC LIMIT 3",
    "q5": "MATCH (p:Person)-[:HasInterest]->(i:Interest) WHERE lower(i.interest) = 'finedining' "
    "AND p.gender = 'male' WITH p MATCH (p)-[:LivesIn]->(c:City) WHERE c.city = 'London' RETURN count(p) AS n",
    "q6": "MATCH (p:Person)-[:HasInterest]->(i:Interest) WHERE lower(i.interest) = 'tennis' AND p.gender = 'female' "
    "WITH p MATCH (p)-[:LivesIn]->(c:City) RETURN count(p.key) AS n, c.city, c.country "
    "ORDER BY n DESC, c.city LIMIT 5",
    "q7": "MATCH (p:Person)-[:LivesIn]->(:City)-[:CityIn]->(s:State) WHERE p.age >= 23 AND p.age <= 30 "
    "AND s.country = 'United States' WITH p, s MATCH (p)-[:HasInterest]->(i:Interest) "
    "WHERE lower(i.interest) = 'photography' RETURN count(p.key) AS n, s.state, s.country "
    "ORDER BY n DESC, s.state LIMIT 1",
    "q8": "MATCH (a:Person)-[:Follows]->(b:Person)-[:Follows]->(c:Person) RETURN count(*) AS n",
    "q9": "MATCH (a:Person)-[:Follows]->(b:Person)-[:Follows]->(c:Person) WHERE b.age < 50 AND c.age > 25 "
    "RETURN count(*) AS n",
}
TABLE_PEER = {
    "q1": "SELECT p.key, p.name, count(*) n FROM Follows f JOIN Person p ON p.key = f.dst GROUP BY ALL "
    "ORDER BY n DESC, p.key LIMIT 3",
    "q2": "WITH t AS (SELECT dst, count(*) n FROM Follows GROUP BY dst ORDER BY n DESC, dst LIMIT 1) "
    "SELECT p.name, t.n, c.city, c.state, c.country FROM t JOIN Person p ON p.key = t.dst "
    "JOIN LivesIn l ON l.src = p.key JOIN City c ON c.key = l.dst",
    "q3": "SELECT c.city, avg(p.age) a FROM Person p JOIN LivesIn l ON l.src = p.key JOIN City c ON c.key = l.dst "
    "JOIN CityIn ci ON ci.src = c.key JOIN StateIn si ON si.src = ci.dst JOIN Country co ON co.key = si.dst "
    "WHERE co.country = 'United States' GROUP BY c.city ORDER BY a, c.city LIMIT 5",
    "q4": "SELECT co.country, count(*) n FROM Person p JOIN LivesIn l ON l.src = p.key "
    "JOIN CityIn ci ON ci.src = l.dst JOIN StateIn si ON si.src = ci.dst JOIN Country co ON co.key = si.dst "
    "WHERE p.age BETWEEN 30 AND 40 GROUP BY co.country ORDER BY n DESC LIMIT 3",
    "q5": "SELECT count(*) n FROM Person p JOIN HasInterest h ON h.src = p.key JOIN Interest i ON i.key = h.dst "
    "JOIN LivesIn l ON l.src = p.key JOIN City c ON c.key = l.dst "
    "WHERE lower(i.interest) = 'finedining' AND p.gender = 'male' AND c.city = 'London'",
    "q6": "SELECT count(*) n, c.city, c.country FROM Person p JOIN HasInterest h ON h.src = p.key "
    "JOIN Interest i ON i.key = h.dst JOIN LivesIn l ON l.src = p.key JOIN City c ON c.key = l.dst "
    "WHERE lower(i.interest) = 'tennis' AND p.gender = 'female' GROUP BY ALL ORDER BY n DESC, c.city LIMIT 5",
    "q7": "SELECT count(*) n, s.state, s.country FROM Person p JOIN LivesIn l ON l.src = p.key "
    "JOIN CityIn ci ON ci.src = l.dst JOIN State s ON s.key = ci.dst JOIN HasInterest h ON h.src = p.key "
    "JOIN Interest i ON i.key = h.dst WHERE p.age BETWEEN 23 AND 30 AND s.country = 'United States' "
    "AND lower(i.interest) = 'photography' GROUP BY ALL ORDER BY n DESC, s.state LIMIT 1",
    "q8": "SELECT count(*) n FROM Follows f JOIN Follows g ON f.dst = g.src",
    "q9": "SELECT count(*) n FROM Follows f JOIN Person b ON b.key = f.dst JOIN Follows g ON g.src = b.key "
    "JOIN Person c ON c.key = g.dst WHERE b.age < 50 AND c.age > 25",
}
REACH = {
    "omnigraph": "query q() { match { $p: Person { key: 5 }  $p follows{1,3} $q } return { count($q) as n } }",
    "ladybug": "MATCH (p:Person {key: 5})-[:Follows* ALL SHORTEST 1..3]->(q:Person) WHERE q.key <> 5 "
    "RETURN count(DISTINCT q.key) AS n",
}
"""Everybody within three steps of one person: no ceiling, told beside the nine."""
TEXTS = {"omnigraph": OURS, "ladybug": GRAPH_PEER, "duckdb": TABLE_PEER}
Ask = Callable[[str], list[tuple[Any, ...]]]


@dataclass(frozen=True, slots=True)
class Place:
    """Where the files and the three databases are."""

    folder: Path

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def of(self, system: str) -> Path:
        return self.folder / system

    def fill(self, people: int) -> None:
        """Make what is missing."""
        if not self.data.exists():
            _social.make(self.data, people)
        if not self.of("omnigraph").exists():
            _social.fill_graph(self.data, self.of("omnigraph")).close()
        if not self.of("ladybug").exists():
            _social.fill_peer(self.data, self.of("ladybug")).close()
        if not self.of("duckdb").exists():
            _fill_tables(self.data, self.of("duckdb"))


def _fill_tables(data: Path, file: Path) -> None:
    import duckdb

    with duckdb.connect(str(file)) as held:
        for name in (*_social.NODES, *_social.EDGES):
            held.execute(f"CREATE TABLE {name} AS FROM '{data}/{name}.parquet'")


def opened(system: str, file: Path) -> Ask:
    """A function that answers a text with rows."""
    if system == "omnigraph":
        from omnigraph_sql import graph as og

        graph = og.open(file)
        return lambda text: (graph.gq if text.startswith("query ") else graph.sql)(text).fetchall()
    if system == "ladybug":
        import ladybug

        held = ladybug.Connection(ladybug.Database(str(file)))
        return lambda text: [tuple(row) for row in held.execute(text).get_all()]
    import duckdb

    tables = duckdb.connect(str(file))
    return lambda text: tables.execute(text).fetchall()


def warm(place: Place, rounds: int) -> dict[str, dict[str, float]]:
    """Median milliseconds by question and system; each round asks all systems, every other one backwards."""
    systems = {name: opened(name, place.of(name)) for name in TEXTS}
    found: dict[str, dict[str, float]] = {}
    for question in OURS:
        rows = {name: ask(TEXTS[name][question]) for name, ask in systems.items()}
        expected = _shown(rows["duckdb"])
        for name, got in rows.items():
            if _shown(got) != expected:
                raise SystemExit(f"{question}: {name} answers {got[:3]}, duckdb {rows['duckdb'][:3]}")
        took: dict[str, list[float]] = {name: [] for name in systems}
        for number in range(rounds + 1):
            order = list(systems.items())
            for name, ask in order if number % 2 else reversed(order):
                start = time.perf_counter()
                ask(TEXTS[name][question])
                if number:
                    took[name].append((time.perf_counter() - start) * 1000)
        found[question] = {name: statistics.median(own) for name, own in took.items()}
    return found


def reach(place: Place, rounds: int) -> dict[str, float]:
    """Median milliseconds of the question about three steps, by system."""
    systems = {name: opened(name, place.of(name)) for name in REACH}
    answers = {name: ask(REACH[name]) for name, ask in systems.items()}
    if answers["omnigraph"] != answers["ladybug"]:
        raise SystemExit(f"reach: {answers}")
    took: dict[str, list[float]] = {name: [] for name in systems}
    for _ in range(rounds):
        for name, ask in systems.items():
            start = time.perf_counter()
            ask(REACH[name])
            took[name].append((time.perf_counter() - start) * 1000)
    return {name: statistics.median(own) for name, own in took.items()}


def _shown(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Rows as they are compared: fractions to nine digits, for systems sum up in different orders."""
    return [tuple(round(cell, 9) if isinstance(cell, float) else cell for cell in row) for row in rows]


def first(system: str, file: Path, question: str) -> dict[str, float]:
    """Milliseconds of opening and of the first question in this process."""
    if system == "omnigraph":
        import omnigraph_sql.graph  # noqa: F401
    else:
        import ladybug  # noqa: F401
    start = time.perf_counter()
    ask = opened(system, file)
    ready = time.perf_counter()
    ask(TEXTS[system][question])
    done = time.perf_counter()
    return {"open": (ready - start) * 1000, "first": (done - ready) * 1000, "both": (done - start) * 1000}


def firsts(place: Place) -> dict[str, dict[str, float]]:
    """Median milliseconds of a first question in a process that has just opened the graph, and with the opening."""
    found: dict[str, dict[str, float]] = {}
    # Modules are compiled once, as they are when a package is installed.
    settings = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    settings["PYTHONPYCACHEPREFIX"] = str(place.folder / "bytecode")
    for question in OURS:
        took: dict[str, list[dict[str, float]]] = {"omnigraph": [], "ladybug": []}
        for number in range(FIRST_ROUNDS + 1):
            for system in took:
                command = [sys.executable, __file__, "--first", system, str(place.of(system)), question]
                done = subprocess.run(command, check=True, capture_output=True, text=True, env=settings)
                if number:
                    took[system].append(json.loads(done.stdout))
        found[question] = {
            f"{system} {what}": statistics.median(one[what] for one in own)
            for system, own in took.items()
            for what in ("first", "both")
        }
    return found


def report(times: dict[str, dict[str, float]], starts: dict[str, dict[str, float]]) -> int:
    """Print everything; how many ceilings were passed."""
    late = 0
    ratios: list[float] = []
    for question, took in times.items():
        peer = min(took["ladybug"], took["duckdb"])
        ratio = took["omnigraph"] / peer
        ratios.append(ratio)
        late += ratio > EACH_MAX
        shown = "  ".join(f"{name} {ms:8.2f} ms" for name, ms in took.items())
        print(f"{question}  {shown}  {ratio:5.2f}x of the faster  {'OVER' if ratio > EACH_MAX else 'ok'}")
    mean = math.exp(statistics.fmean(map(math.log, ratios)))
    late += mean > MEAN_MAX
    print(f"geometric mean {mean:.3f}x, ceiling {MEAN_MAX}x  {'OVER' if mean > MEAN_MAX else 'ok'}")
    for question, took in starts.items():
        ratio = took["omnigraph first"] / took["ladybug first"]
        late += ratio > FIRST_MAX
        shown = f"omnigraph {took['omnigraph first']:8.2f} ms  ladybug {took['ladybug first']:8.2f} ms"
        opened = f"with opening {took['omnigraph both']:.0f} and {took['ladybug both']:.0f} ms"
        word = "OVER" if ratio > FIRST_MAX else "ok"
        print(f"first {question}  {shown}  {ratio:5.2f}x, ceiling {FIRST_MAX}x  {word}  ({opened})")
    return late


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--first"]:
        print(json.dumps(first(arguments[1], Path(arguments[2]), arguments[3])))
        return 0
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--data", type=Path)
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        place = Place(chosen.data or Path(folder))
        place.fill(FEW_PEOPLE if chosen.quick else PEOPLE)
        rounds = 3 if chosen.quick else chosen.rounds
        late = report(warm(place, rounds), firsts(place))
        told = "  ".join(f"{name} {ms:8.2f} ms" for name, ms in reach(place, rounds).items())
        print(f"three steps from one person  {told}  (no ceiling)")
    return 1 if late and not chosen.quick else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
