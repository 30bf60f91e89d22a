"""Links made of those of another state are, number by number, the links made anew."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import numpy as np
import pytest

from omnigraph_sql import graph as og
from omnigraph_sql.base import limits
from omnigraph_sql.base.travel import HEAD
from omnigraph_sql.engine.store.derived import DerivedFiles
from omnigraph_sql.run import links, links_since, links_stored
from omnigraph_sql.run.ground import Ground
from omnigraph_sql.run.links import Links
from omnigraph_sql.run.links_stored import StoredLinks
from omnigraph_sql.run.relation import Build
from omnigraph_sql.run.scene import Scene
from omnigraph_sql.run.shelf import SHELF

SEEDS = range(int(os.environ.get("OMNI_LINKS_GRAPHS", "4")))
COMMITS = int(os.environ.get("OMNI_LINKS_COMMITS", "40"))
SCHEMA = """
node Person { name: String @key  age: I64? }
node Place { code: String @key }
edge Follows: Person -> Person { weight: I64? }
edge Likes: Person -> Place
"""
ARRAYS = [f"{side}.{name}" for side in ("out", "in") for name in ("first", "ends", "edges")]


def walked(graph: og.Graph, edge: str, version: str | None = None) -> Links:
    """The links of an edge type where the handle stands."""
    session = (graph if version is None else graph.at(version))._session
    base = session.snapshot()
    catalog = session.keeper.at(base).catalog
    of = catalog.edge(edge)
    assert of is not None
    scene = Scene(session.world, base, catalog, datetime(2031, 2, 3, tzinfo=UTC))
    found = Ground(Build(scene), HEAD).links(of)
    assert found is not None
    return found


def differences(found: Links, empty: Path) -> list[str]:
    """Names of the arrays that are not what they are when made of the tables alone."""
    anew = StoredLinks(found.edges, found.source, found.target, DerivedFiles(empty))
    stored = found.stored()
    wrong = [name for name in ARRAYS if not np.array_equal(stored.array(name), anew.array(name))]
    return wrong if stored.simple == anew.simple else [*wrong, "simple"]


def names(graph: og.Graph, of: str) -> list[str]:
    return [row[0] for row in graph.sql(f"SELECT id FROM {of} ORDER BY id").fetchall()]


def commit(graph: og.Graph, random: Random, number: int) -> str:
    """Change something, as one commit; what it was."""
    people, places = names(graph, "Person"), names(graph, "Place")
    what = random.choice(("nodes", "edges", "edges", "likes", "change", "update", "cut", "delete"))
    with graph.transaction() as unit:
        match what:
            case "nodes":
                for own in range(random.randint(1, 3)):
                    unit.sql("INSERT INTO Person (name) VALUES ($n)", {"n": f"p{number}.{own}"})
                unit.sql("INSERT INTO Place (code) VALUES ($n)", {"n": f"q{number}"})
            case "edges" | "likes":
                edge, ends = ("Follows", people) if what == "edges" else ("Likes", places)
                for _ in range(random.randint(1, 4)):
                    given = {"s": random.choice(people), "t": random.choice(ends)}
                    unit.sql(f"INSERT INTO {edge} (src, dst) VALUES ($s, $t)", given)
            case "change":
                unit.sql("UPDATE Follows SET weight = $n WHERE src = $s", {"n": number, "s": random.choice(people)})
            case "update":
                for name in random.sample(people, min(2, len(people))):
                    unit.sql("UPDATE Person SET age = $n WHERE name = $p", {"n": number, "p": name})
            case "cut":
                unit.sql("DELETE FROM Follows WHERE dst = $s", {"s": random.choice(people)})
            case _ if len(people) > 4:
                unit.sql("DELETE FROM Person WHERE name = $p", {"p": random.choice(people)})
            case _:
                unit.sql("DELETE FROM Likes WHERE src = $s", {"s": random.choice(people)})
    return what


def begun(place: Path, random: Random) -> og.Graph:
    graph = og.init(place, schema=SCHEMA)
    with graph.transaction() as unit:
        for number in range(8):
            unit.sql("INSERT INTO Person (name) VALUES ($n)", {"n": f"a{number}"})
        unit.sql("INSERT INTO Place (code) VALUES ('q0')")
        for _ in range(16):
            given = {"s": f"a{random.randrange(8)}", "t": f"a{random.randrange(8)}"}
            unit.sql("INSERT INTO Follows (src, dst) VALUES ($s, $t)", given)
    return graph


@pytest.mark.parametrize("seed", SEEDS)
def test_links_of_a_state_are_the_same_however_they_were_made(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commits of all kinds on two branches, small fragments taken in by writes, other processes in between."""
    monkeypatch.setattr(limits, "SMALL_FRAGMENTS_MAX", 3)
    random = Random(seed)
    derived = 0
    put_together = links_since.parts_since

    def counted(*given: object) -> object:
        nonlocal derived
        found = put_together(*given)  # type: ignore[arg-type]
        derived += found is not None
        return found

    monkeypatch.setattr(links_stored, "parts_since", counted)
    graph = begun(tmp_path / "graph", random)
    graph.create_branch("other")
    handles = [graph, graph.checkout("other")]
    heads: list[str] = []
    for number in range(COMMITS):
        handle = random.choice((handles[0], handles[0], handles[1]))
        what = commit(handle, random, number)
        if random.random() < 0.2:
            # As in a process that has just begun: what was written is all there is.
            SHELF.clear()
        for edge in ("Follows", "Likes"):
            told = f"seed {seed}, commit {number}, {what}, {edge}"
            assert not differences(walked(handle, edge), tmp_path / f"anew{number}{edge}"), told
        if handle is graph:
            heads.append(graph.head)
        if number % 10 == 9:
            past = random.choice(heads)
            assert not differences(walked(graph, "Follows", past), tmp_path / f"past{number}"), f"seed {seed}, {past}"
    assert derived > COMMITS // 2


@pytest.mark.parametrize(("limit", "made"), [(2, 0), (3, 1), (4, 1)])
def test_states_that_differ_in_more_rows_than_allowed_are_walked_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int, made: int
) -> None:
    graph = begun(tmp_path / "graph", Random(1))
    walked(graph, "Follows").stored()
    monkeypatch.setattr(links, "LINKS_CHANGED_MAX", limit)
    with graph.transaction() as unit:
        for name in ("a1", "a2", "a3"):
            unit.sql("INSERT INTO Follows (src, dst) VALUES ('a0', $t)", {"t": name})
    found = walked(graph, "Follows")
    assert (found._since is not None) == bool(made)
    assert not differences(found, tmp_path / "anew")
