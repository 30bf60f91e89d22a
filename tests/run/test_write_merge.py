"""MERGE INTO: the first arm that fits acts, every arm sees the rows as they were, all or nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnigraph_sql as og
from omnigraph_sql.base.errors import BoundaryViolation, ConstraintViolation, KeyConflict, OmniError, ValueOutOfRange

SCHEMA = """
node Item { name: String @key  stock: I32?  note: String? }
node Log { text: String?  size: I32? }
edge Part: Item -> Item { share: I32? }
"""
Rows = list[tuple[Any, ...]]
ITEMS = "SELECT name, stock, note FROM Item ORDER BY name"
START: Rows = [("a", 1, None), ("b", 2, None), ("c", None, "n")]


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = og.init(tmp_path / "items.omni", schema=SCHEMA)
    made.sql(
        "INSERT INTO Item VALUES ('a', 1, NULL), ('b', 2, NULL), ('c', NULL, 'n');"
        "INSERT INTO Part (id, src, dst, share) VALUES ('ab', 'a', 'b', 1), ('bc', 'b', 'c', 2), ('cc', 'c', 'c', 3)"
    )
    return made


def merge(arms: str, source: str = "(VALUES ('a', 10), ('x', 20), ('c', 30)) AS s(name, n)") -> str:
    return f"MERGE INTO Item t USING {source} ON t.name = s.name {arms}"


@pytest.mark.parametrize(
    ("arms", "rows", "count"),
    [
        (
            "WHEN MATCHED THEN UPDATE SET stock = t.stock + s.n",
            [("a", 11, None), ("b", 2, None), ("c", None, "n")],
            2,
        ),
        (
            "WHEN MATCHED AND t.stock > 0 THEN UPDATE SET note = s.name || 'x', stock = DEFAULT",
            [("a", None, "ax"), ("b", 2, None), ("c", None, "n")],
            1,
        ),
        (
            "WHEN NOT MATCHED THEN INSERT (name, stock) VALUES (s.name, s.n)",
            [*START, ("x", 20, None)],
            1,
        ),
        ("WHEN NOT MATCHED AND s.n > 20 THEN INSERT (name, stock) VALUES (s.name, s.n)", START, 0),
        (
            "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET note = 'alone'",
            [("a", 1, None), ("b", 2, "alone"), ("c", None, "n")],
            1,
        ),
        ("WHEN NOT MATCHED BY SOURCE AND t.stock > 2 THEN UPDATE SET note = 'alone'", START, 0),
        ("WHEN MATCHED THEN DO NOTHING WHEN NOT MATCHED THEN DO NOTHING", START, 0),
        (
            "WHEN MATCHED AND s.n = 10 THEN DO NOTHING WHEN MATCHED THEN UPDATE SET stock = s.n",
            [("a", 1, None), ("b", 2, None), ("c", 30, "n")],
            1,
        ),
        (
            "WHEN MATCHED AND t.stock = 1 THEN UPDATE SET note = 'first' WHEN MATCHED THEN UPDATE SET note = 'second'",
            [("a", 1, "first"), ("b", 2, None), ("c", None, "second")],
            2,
        ),
        (
            "WHEN MATCHED THEN UPDATE SET stock = s.n WHEN NOT MATCHED THEN INSERT (name) VALUES (s.name)"
            " WHEN NOT MATCHED BY SOURCE THEN UPDATE SET stock = t.stock * 2",
            [("a", 10, None), ("b", 4, None), ("c", 30, "n"), ("x", None, None)],
            4,
        ),
        ("WHEN MATCHED THEN DELETE", [("b", 2, None)], 5),
        ("WHEN MATCHED AND s.n < 20 THEN DELETE", [("b", 2, None), ("c", None, "n")], 2),
        ("WHEN NOT MATCHED BY SOURCE THEN DELETE", [("a", 1, None), ("c", None, "n")], 3),
        ("WHEN MATCHED AND s.n = 10 THEN DELETE WHEN NOT MATCHED BY SOURCE THEN DELETE", [("c", None, "n")], 4),
    ],
)
def test_each_row_meets_the_first_arm_that_fits(graph: og.Graph, arms: str, rows: Rows, count: int) -> None:
    head = graph.head
    result = graph.sql(merge(arms))
    assert graph.sql(ITEMS).fetchall() == rows
    assert result.rowcount == count
    assert (result.commit_id is None) == (count == 0)
    assert len(graph.commits()) == 2 + bool(count)
    assert (graph.head == head) == (count == 0)
    edges = graph.sql("SELECT src, dst FROM Part").fetchall()
    assert {end for pair in edges for end in pair} <= {name for name, *_ in rows}


def test_star_takes_the_columns_of_the_same_names(graph: og.Graph) -> None:
    source = "(SELECT 'a' AS name, 7 AS stock UNION ALL SELECT 'x', 8) AS s"
    graph.sql(merge("WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *", source))
    assert graph.sql(ITEMS).fetchall() == [("a", 7, None), ("b", 2, None), ("c", None, "n"), ("x", 8, None)]


@pytest.mark.parametrize(
    ("arms", "rows"),
    [
        (
            "WHEN MATCHED THEN UPDATE SET stock = s.n WHEN NOT MATCHED THEN INSERT (name) VALUES (upper(s.name))"
            " WHEN NOT MATCHED BY SOURCE THEN UPDATE SET note = 'alone'"
            " RETURNING merge_action, t.name, t.stock, t.note, s.n + 1 AS more",
            {
                ("UPDATE", "a", 10, None, 11),
                ("UPDATE", "c", 30, "n", 31),
                ("INSERT", "X", None, None, 21),
                ("UPDATE", "b", 2, "alone", None),
            },
        ),
        (
            "WHEN MATCHED THEN DELETE RETURNING merge_action, t.*",
            {("DELETE", "a", 1, None), ("DELETE", "c", None, "n")},
        ),
        ("WHEN NOT MATCHED BY SOURCE THEN DELETE RETURNING merge_action, t.name, s.n", {("DELETE", "b", None)}),
        ("WHEN MATCHED THEN DO NOTHING RETURNING merge_action, t.name", set()),
        ("WHEN MATCHED AND false THEN UPDATE SET stock = 1 RETURNING merge_action, t.name, s.n", set()),
    ],
)
def test_returning_says_what_happened_to_which_row(graph: og.Graph, arms: str, rows: set[tuple[Any, ...]]) -> None:
    found = graph.sql(merge(arms)).fetchall()
    assert len(found) == len(rows)
    assert set(found) == rows


TWICE = "(VALUES ('a', 1), ('a', 2)) AS s(name, n)"
NEW = "(VALUES ('x', 1), ('x', 2)) AS s(name, n)"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (merge("WHEN MATCHED THEN UPDATE SET stock = s.n", TWICE), ConstraintViolation),
        (merge("WHEN MATCHED THEN DELETE", TWICE), ConstraintViolation),
        (
            merge("WHEN MATCHED AND s.n = 1 THEN UPDATE SET stock = 1 WHEN MATCHED THEN UPDATE SET stock = 2", TWICE),
            ConstraintViolation,
        ),
        (merge("WHEN NOT MATCHED THEN INSERT (name) VALUES (s.name)", NEW), KeyConflict),
        (merge("WHEN NOT MATCHED THEN INSERT (name) VALUES ('b')"), KeyConflict),
        (merge("WHEN MATCHED THEN UPDATE SET stock = t.stock + 2147483647"), ValueOutOfRange),
        (merge("WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (name) VALUES (s.name)"), BoundaryViolation),
        (
            "MERGE INTO Part t USING (VALUES ('a')) AS s(name) ON t.dst = s.name"
            " WHEN NOT MATCHED THEN INSERT (src, dst) VALUES (s.name, 'nowhere')",
            ConstraintViolation,
        ),
    ],
)
def test_a_refused_merge_changes_nothing(graph: og.Graph, text: str, kind: type[OmniError]) -> None:
    before = graph.stats()
    with pytest.raises(kind):
        graph.sql(text)
    assert graph.stats() == before
    assert graph.sql(ITEMS).fetchall() == START


@pytest.mark.parametrize("arm", ["DO NOTHING", "UPDATE SET stock = s.n"])
def test_a_row_met_twice_is_no_mistake_where_one_meeting_acts(graph: og.Graph, arm: str) -> None:
    graph.sql(merge(f"WHEN MATCHED AND s.n = 1 THEN DO NOTHING WHEN MATCHED THEN {arm}", TWICE))
    assert graph.sql(ITEMS).fetchall()[0] == ("a", 1 if arm == "DO NOTHING" else 2, None)


def test_rows_without_a_key_and_edges_are_merged_too(graph: og.Graph) -> None:
    text = (
        "MERGE INTO Log t USING (VALUES ('p', 1), ('q', 2)) AS s(text, n) ON t.text = s.text"
        " WHEN MATCHED THEN UPDATE SET size = t.size + s.n"
        " WHEN NOT MATCHED THEN INSERT (text, size) VALUES (s.text, $first) RETURNING length(t.id)"
    )
    for _ in range(2):
        assert graph.sql(text, {"first": 5}).fetchall() == [(26,), (26,)]
    assert graph.sql("SELECT text, size FROM Log ORDER BY text").fetchall() == [("p", 6), ("q", 7)]
    edges = (
        "MERGE INTO Part t USING (VALUES ('a', 'b', 'ab'), ('a', 'c', 'mine')) AS s(x, y, own)"
        " ON t.src = s.x AND t.dst = s.y WHEN MATCHED THEN UPDATE SET share = 9"
        " WHEN NOT MATCHED THEN INSERT (id, src, dst) VALUES (s.own, s.x, s.y)"
    )
    result = graph.sql(edges)
    assert (result.affected_nodes, result.affected_edges) == (0, 2)
    assert graph.sql("SELECT id, share FROM Part WHERE src = 'a' ORDER BY id").fetchall() == [("ab", 9), ("mine", None)]


def test_a_merge_sees_what_its_transaction_has_done(graph: og.Graph) -> None:
    with graph.transaction() as transaction:
        transaction.sql("INSERT INTO Item VALUES ('x', 100, NULL); UPDATE Item SET stock = 50 WHERE name = 'a'")
        done = transaction.sql(
            merge(
                "WHEN MATCHED THEN UPDATE SET stock = t.stock + s.n WHEN NOT MATCHED THEN INSERT (name) VALUES (s.name)"
                " RETURNING t.name, t.stock"
            )
        )
        assert set(done.fetchall()) == {("a", 60), ("x", 120), ("c", None)}
    assert graph.sql(ITEMS).fetchall() == [("a", 60, None), ("b", 2, None), ("c", None, "n"), ("x", 120, None)]


def test_a_merge_whose_arms_do_nothing_goes_with_any_other_statement(graph: og.Graph) -> None:
    idle = merge("WHEN MATCHED THEN DO NOTHING")
    assert graph.sql(f"{idle}; DELETE FROM Item WHERE name = 'a'").rowcount == 2
    with graph.transaction() as transaction:
        assert transaction.sql(idle).rowcount == 0
        transaction.sql("INSERT INTO Log (text) VALUES ('p')")
        assert transaction.sql(idle + " RETURNING merge_action").fetchall() == []
    assert graph.sql("SELECT text FROM Log").fetchall() == [("p",)]


# ---- against a plain reading ------------------------------------------------------------------------------------

SOURCES = st.lists(st.tuples(st.sampled_from("abcxyz"), st.integers(0, 3)), max_size=6)
MATCHED = st.lists(st.tuples(st.sampled_from(["update", "nothing"]), st.integers(0, 4)), max_size=3)


def expected(source: list[tuple[str, int]], matched: list[tuple[str, int]]) -> dict[str, int | None] | None:
    """Stock by name after the merge; None when it has to be refused."""
    before: dict[str, int | None] = {name: stock for name, stock, _ in START}
    after = dict(before)
    changed: set[str] = set()
    for name, n in source:
        if name not in before:
            if name in after:
                return None
            after[name] = n
            continue
        do = next((do for do, limit in matched if n < limit), "nothing")
        if do == "update":
            if name in changed:
                return None
            changed.add(name)
            held = before[name]
            after[name] = None if held is None else held + n
    return after


@settings(max_examples=60, deadline=None)
@given(source=SOURCES, matched=MATCHED)
def test_a_merge_does_what_reading_its_arms_in_order_says(
    world: og.Graph, source: list[tuple[str, int]], matched: list[tuple[str, int]]
) -> None:
    acts = {"update": "UPDATE SET stock = t.stock + s.n", "nothing": "DO NOTHING"}
    arms = " ".join(f"WHEN MATCHED AND s.n < {limit} THEN {acts[do]}" for do, limit in matched)
    rows = ", ".join(f"('{name}', {n})" for name, n in [("-", 0), *source])
    text = merge(
        f"{arms} WHEN NOT MATCHED THEN INSERT (name, stock) VALUES (s.name, s.n)",
        f"(SELECT * FROM (VALUES {rows}) AS v(name, n) WHERE name <> '-') AS s",
    )
    wanted = expected(source, matched)
    transaction = world.transaction()
    if wanted is None:
        with pytest.raises((ConstraintViolation, KeyConflict)):
            transaction.sql(text)
    else:
        transaction.sql(text)
        assert dict(transaction.sql("SELECT name, stock FROM Item").fetchall()) == wanted
    transaction.rollback()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    """One graph for all examples; each of them rolls back."""
    made = og.init(tmp_path_factory.mktemp("merge") / "items.omni", schema=SCHEMA)
    made.sql("INSERT INTO Item VALUES ('a', 1, NULL), ('b', 2, NULL), ('c', NULL, 'n')")
    return made
