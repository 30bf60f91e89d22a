"""How the rows of a table lie in its files, and which indexes there are, changes no answer."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from omnigraph_sql.base import limits
from omnigraph_sql.engine.manifest.publisher import Lineage
from omnigraph_sql.engine.recovery.intent import Intent, WriterKind
from omnigraph_sql.engine.store.effects import SwapFiles, write_files
from omnigraph_sql.engine.store.indexes import stored_indexes
from omnigraph_sql.engine.upkeep.indices import ensure_indices
from omnigraph_sql.engine.values import MAIN, TableIdentity
from omnigraph_sql.engine.write.commit import PlannedTable, PublishPlan, carry_out
from omnigraph_sql.engine.write.stage import planned_table
from omnigraph_sql.engine.write.txn import Author, Contract, begin
from omnigraph_sql.run import narrow
from omnigraph_sql.run.narrow import Mode
from tests.run.graphs import Graph
from tests.run.patterns import ENDS, SCHEMA, Question, Tables, random_question
from tests.run.random_graphs import changed, edges_of, person, random_tables, vandalise

SEEDS = range(int(os.environ.get("OMNI_LAYOUT_GRAPHS", "3")))
PATTERNS = int(os.environ.get("OMNI_LAYOUT_QUESTIONS", "5"))
MODES: tuple[Mode | None, ...] = (None, *Mode)
TEXTS = (
    "SELECT name, age, city, born FROM Person WHERE age > 5 OR city LIKE 'L%'",
    "SELECT p.city, count(*) AS n, sum(f.weight) AS w FROM Follows f JOIN Person p ON p.id = f.dst GROUP BY p.city",
    "SELECT t.name, q.name, t.n FROM (SELECT p.id, p.name, count(*) AS n FROM Follows f JOIN Person p ON p.id = f.dst "
    "GROUP BY p.id, p.name ORDER BY n DESC, p.name LIMIT 2) t LEFT JOIN LivesIn l ON l.src = t.id "
    "LEFT JOIN Place q ON q.id = l.dst",
    "SELECT name FROM Person WHERE id IN (SELECT src FROM Follows ORDER BY src, dst, id LIMIT 3)",
    "SELECT g.a, g.b, g.n FROM GRAPH_TABLE (MATCH p = ANY SHORTEST (a IS Person)-[IS Follows]->{1,3}(b IS Person) "
    "COLUMNS (a.name AS a, b.name AS b, path_length(p) AS n)) g",
    "SELECT g.v, g.e FROM GRAPH_TABLE (MATCH p = ANY SHORTEST (a IS Person)-[IS Follows]->{1,3}(b IS Person) "
    "COLUMNS (vertices(p) AS v, edges(p) AS e)) g",
    'query q() { match { $a: Person { name: "p1" }  $a follows{1,2} $b } return { $b.name as b } }',
    "query q() { match { $a: Person  not { $a livesIn $_ } } return { $a.name as a } }",
    "query q() { match { $a: Person  $a <follows> $b } return { $a.name as a, $b.name as b } }",
)


def contract(graph: Graph) -> Contract:
    return Contract(graph.catalog, graph.ir.identity_domain, graph.ir.ir_hash, lambda: None)


def laid_out_anew(graph: Graph, random: Random, *, mixed: bool) -> None:
    """The live rows of every table go into one or two new files, as one commit; `mixed`: in another order."""
    world = graph.world
    txn = begin(world, contract(graph), MAIN, Author())
    operation = world.seams.ids.ulid()
    planned: list[PlannedTable] = []
    for of in sorted(graph.catalog.tables(), key=lambda of: of.name):
        pin = txn.base.pin(TableIdentity.of(of))
        assert pin is not None
        if not pin.row_count:
            continue
        dataset = world.tables.open(pin).dataset
        rows = dataset.scanner().to_table()
        if mixed:
            rows = rows.take(pa.array(np.random.default_rng(random.randrange(2**32)).permutation(rows.num_rows)))
        cut = random.randint(0, rows.num_rows)
        files = [
            file
            for part in (rows.slice(0, cut), rows.slice(cut))
            if part.num_rows
            for file in write_files(world.tables, dataset, part, dataset.schema)
        ]
        every = tuple(fragment.fragment_id for fragment in dataset.get_fragments())
        change = SwapFiles(tuple(files), rows.num_rows, (), every, rows.num_rows)
        planned.append(planned_table(world, txn.base, pin, change, operation))
    if not planned:
        return
    intent = Intent(
        operation,
        WriterKind.MUTATION,
        world.seams.clock.now(),
        txn.token,
        tuple(table.intent for table in planned),
        Lineage(world.seams.ids.ulid(), None, None, txn.now),
        world.seams.ids.ulid(),
    )
    carry_out(world, PublishPlan(intent, tuple(planned), txn.contract.check))


def indexed(graph: Graph) -> None:
    ensure_indices(graph.world, lambda: contract(graph), MAIN, Author())


def more_rows(graph: Graph, random: Random, tables: Tables, lead: str) -> None:
    """A commit that existing indexes know nothing of; `tables` then hold its rows too."""
    added: Tables = {"Person": [person(random, f"{lead}{n}") for n in range(2)]}
    tables["Person"] = [*tables["Person"], *added["Person"]]
    for edge in ENDS:
        added[edge] = edges_of(random, tables, edge, lead, 3)
        tables[edge] = [*tables[edge], *added[edge]]
    graph.write(added)


def coverage(graph: Graph) -> list[bool]:
    """For every index of the graph whether it has all of its table's files."""
    snapshot = graph.world.manifest.current(MAIN).snapshot
    found = []
    for pin in snapshot.tables:
        table = graph.world.tables.open(pin)
        every = {fragment.fragment_id for fragment in table.dataset.get_fragments()}
        found += [every <= index.fragments for index in stored_indexes(graph.world.tables, table)]
    return found


def answers(graph: Graph, texts: list[str], staging: Any) -> list[Counter[str]]:
    return [Counter(map(repr, graph.ask(text, staging=staging))) for text in texts]


def meant(question: Question, tables: Tables, *, edges: bool) -> Counter[str]:
    return Counter(repr(tuple(row["name"] for row in match)) for match in question.matches(tables, edges=edges))


@pytest.mark.parametrize("seed", SEEDS)
def test_answers_depend_on_rows_alone(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compacted, mixed, with indexes, without, with stale ones, however steps are taken, pending rows on top or not."""
    monkeypatch.setattr(limits, "INDEXED_ROWS_MIN", 1)
    random = Random(seed)
    tables = random_tables(random)
    graph = Graph(tmp_path / "graph", SCHEMA, tables)
    more_rows(graph, random, tables, "x")
    more_rows(graph, random, tables, "y")
    staged = changed(random, graph, tables)
    patterns = [random_question(random) for _ in range(PATTERNS)]
    texts = [*TEXTS, *(text for one in patterns for text in (one.sql_rows(), one.gq_rows(), one.sql(), one.gq()))]
    views = ((tables, None), staged)
    first = [answers(graph, texts, staging) for _, staging in views]
    for (rows, _), found in zip(views, first, strict=True):
        for number, one in enumerate(patterns):
            at = len(TEXTS) + 4 * number
            told = f"seed {seed}: {texts[at]}"
            assert found[at : at + 2] == [meant(one, rows, edges=True), meant(one, rows, edges=False)], told
    seen: set[bool] = set()
    layouts: tuple[tuple[str, Callable[[], None]], ...] = (
        ("indexed", lambda: indexed(graph)),
        ("compacted, indexes stale", lambda: laid_out_anew(graph, random, mixed=False)),
        ("indexed again", lambda: indexed(graph)),
        ("mixed, indexes stale", lambda: laid_out_anew(graph, random, mixed=True)),
    )
    for layout, change in layouts:
        change()
        seen |= set(coverage(graph))
        for mode in MODES:
            happened = vandalise(random, graph)
            monkeypatch.setattr(narrow, "forced", mode)
            for (_, staging), expected in zip(views, first, strict=True):
                found = answers(graph, texts, staging)
                wrong = [text for text, one, other in zip(texts, found, expected, strict=True) if one != other]
                assert not wrong, f"seed {seed}, {layout}, {mode}, {happened}, pending {staging is not None}: {wrong}"
        monkeypatch.setattr(narrow, "forced", None)
    assert seen == {True, False}
