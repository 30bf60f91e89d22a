"""Random mutations against a graph and against plain dicts: the same rows, the same counts, the same refusals."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import omnigraph_sql as og
from omnigraph_sql.base.errors import BoundaryViolation, ConstraintViolation, DataError, KeyConflict, ValueOutOfRange
from omnigraph_sql.graph import Graph
from omnigraph_sql.session import Transaction

SCHEMA = """
node Person { name: String @key  age: I32?  homeTown: String? }
node Place { code: I64 @key  size: I32? }
node Note { text: String  score: I32? }
edge Knows: Person -> Person { since: I32? }
edge Lives: Person -> Place { rent: I32?  @key(src, dst) }
"""
TABLES = {
    "Person": ("name", "age", "homeTown"),
    "Place": ("code", "size"),
    "Note": ("text", "score"),
    "Knows": ("src", "dst", "since"),
    "Lives": ("src", "dst", "rent"),
}
NUMBER = {"Person": "age", "Place": "size", "Note": "score", "Knows": "since", "Lives": "rent"}
ENDS = {"Knows": ("Person", "Person"), "Lives": ("Person", "Place")}
I32_MAX = 2**31 - 1

Row = dict[str, Any]
Rows = dict[str, Row]
State = dict[str, Rows]


@dataclass(frozen=True)
class Effect:
    """What a mutation comes to: the state after it and the rows it touched."""

    state: State
    nodes: int = 0
    edges: int = 0
    conflict: bool = False
    """It inserts a key that exists."""


@dataclass(frozen=True)
class Mutation:
    """A statement and what it means."""

    text: str
    parameters: Row
    builds: bool
    meaning: Callable[[State, str], Effect]
    """Takes the state and the id a generated row got; raises the error the statement must raise."""
    generates: bool = False


class Overflow(Exception):
    """The arithmetic of an update leaves I32."""


def copied(state: State) -> State:
    return {table: dict(rows) for table, rows in state.items()}


def effect(state: State, table: str, count: int, *, conflict: bool = False) -> Effect:
    return Effect(state, 0, count, conflict) if table in ENDS else Effect(state, count, 0, conflict)


def identity(table: str, row: Row) -> str:
    if table == "Lives":
        return f'["{row["src"]}","{row["dst"]}"]'
    return str(row[TABLES[table][0]])


# ---- statements -------------------------------------------------------------------------------------------------

NAMES = st.sampled_from(["ana", "bo", "cy", "di"])
CODES = st.sampled_from([1, 2, -3])
SMALL = st.one_of(st.none(), st.integers(0, 5))
STEPS = st.sampled_from([1, 1, -1, 3, I32_MAX])


@st.composite
def drawn_rows(draw: st.DrawFn, table: str) -> Row:
    match table:
        case "Person":
            return {"name": draw(NAMES), "age": draw(SMALL), "homeTown": draw(st.sampled_from([None, "x", "o'y"]))}
        case "Place":
            return {"code": draw(CODES), "size": draw(SMALL)}
        case "Note":
            return {"text": draw(st.sampled_from(["t", "u"])), "score": draw(SMALL)}
        case "Knows":
            return {"src": draw(NAMES), "dst": draw(NAMES), "since": draw(SMALL)}
        case _:
            return {"src": draw(NAMES), "dst": str(draw(CODES)), "rent": draw(SMALL)}


@st.composite
def inserts(draw: st.DrawFn) -> Mutation:
    table = draw(st.sampled_from(sorted(TABLES)))
    row = draw(drawn_rows(table))
    keyed = table not in ("Note", "Knows")
    own = None if keyed or draw(st.booleans()) else draw(st.sampled_from(["one", "two"]))
    given_row = row if own is None else {"id": own, **row}
    values = ", ".join(f"${name}" for name in given_row)
    text = f"INSERT INTO {table} ({', '.join(given_row)}) VALUES ({values})"
    how = draw(st.sampled_from(["", "", "", "NOTHING", "UPDATE"])) if keyed else ""
    number = NUMBER[table]
    if how == "NOTHING":
        text += " ON CONFLICT DO NOTHING"
    elif how == "UPDATE":
        key = ", ".join(TABLES[table][:2] if table in ENDS else TABLES[table][:1])
        text += f" ON CONFLICT ({key}) DO UPDATE SET {number} = {table}.{number} + 1"
    generates = not keyed and own is None

    def meaning(state: State, made: str) -> Effect:
        after = copied(state)
        found = identity(table, row) if keyed else own or made
        if found not in state[table]:
            after[table][found] = row
            return effect(after, table, 1)
        if how == "NOTHING":
            return effect(after, table, 0)
        if how == "UPDATE":
            held = state[table][found]
            after[table][found] = {**held, number: plus(held[number], 1)}
            return effect(after, table, 1)
        after[table][found] = row
        return effect(after, table, 0, conflict=True)

    return Mutation(text + (" RETURNING id" if generates else ""), given_row, True, meaning, generates)


@st.composite
def upserts(draw: st.DrawFn) -> Mutation:
    """`.gq` inserts of keyed types, which leave some properties out."""
    table = draw(st.sampled_from(["Person", "Place", "Lives"]))
    row = draw(drawn_rows(table))
    optional = TABLES[table][-1]
    kept = {name: value for name, value in row.items() if name != optional or draw(st.booleans())}
    words = {"src": "from", "dst": "to"}
    types = {"name": "String", "homeTown": "String?", "code": "I64", "src": "String", "dst": "String"}
    declared = ", ".join(f"${name}: {types.get(name, 'I32?')}" for name in kept)
    body = ", ".join(f"{words.get(name, name)}: ${name}" for name in kept)
    full = {name: kept.get(name) for name in row}

    def meaning(state: State, _: str) -> Effect:
        after = copied(state)
        after[table][identity(table, row)] = full
        return effect(after, table, 1)

    return Mutation(f"query put({declared}) {{ insert {table} {{ {body} }} }}", kept, True, meaning)


@st.composite
def conditions(draw: st.DrawFn, table: str) -> tuple[str, Callable[[Row], bool]]:
    number = NUMBER[table]
    limit = draw(st.integers(0, 6))
    first = TABLES[table][0]
    value = draw(drawn_rows(table))[first]
    shown = f"'{value}'" if isinstance(value, str) else str(value)
    kinds: list[tuple[str, Callable[[Row], bool]]] = [
        (f"{number} < {limit}", lambda row: row[number] is not None and row[number] < limit),
        (f"{number} IS NULL", lambda row: row[number] is None),
        (f"{first} = {shown}", lambda row: row[first] == value),
        (f"NOT ({number} = {limit})", lambda row: row[number] is not None and row[number] != limit),
        ("true", lambda _: True),
    ]
    return draw(st.sampled_from(kinds))


def plus(value: int | None, step: int) -> int | None:
    if value is None:
        return None
    if not -(2**31) <= value + step <= I32_MAX:
        raise Overflow
    return value + step


@st.composite
def updates(draw: st.DrawFn) -> Mutation:
    table = draw(st.sampled_from(sorted(TABLES)))
    text, holds = draw(conditions(table))
    step, number = draw(STEPS), NUMBER[table]

    def meaning(state: State, _: str) -> Effect:
        after = copied(state)
        hit = {found: row for found, row in state[table].items() if holds(row)}
        after[table] |= {found: {**row, number: plus(row[number], step)} for found, row in hit.items()}
        return effect(after, table, len(hit))

    return Mutation(f"UPDATE {table} SET {number} = {number} + {step} WHERE {text}", {}, True, meaning)


@st.composite
def deletes(draw: st.DrawFn) -> Mutation:
    table = draw(st.sampled_from(sorted(TABLES)))
    text, holds = draw(conditions(table))

    def meaning(state: State, _: str) -> Effect:
        after = copied(state)
        gone = {found for found, row in state[table].items() if holds(row)}
        after[table] = {found: row for found, row in state[table].items() if found not in gone}
        edges = 0
        for edge, ends in ENDS.items():
            touching = {
                found
                for found, row in state[edge].items()
                if any(end == table and row[side] in gone for side, end in zip(("src", "dst"), ends, strict=True))
            }
            edges += len(touching)
            after[edge] = {found: row for found, row in after[edge].items() if found not in touching}
        done = effect(after, table, len(gone))
        return Effect(after, done.nodes, done.edges + edges)

    return Mutation(f"DELETE FROM {table} WHERE {text}", {}, False, meaning)


@dataclass(frozen=True)
class Block:
    """Mutations of one transaction; one without a transaction when `end` is None."""

    mutations: list[Mutation] = field(default_factory=list)
    end: str | None = None


BUILDING = st.one_of(inserts(), inserts(), upserts(), updates())
ONE = st.builds(lambda m: Block([m]), st.one_of(BUILDING, BUILDING, deletes()))
ENDINGS = st.sampled_from(["commit", "commit", "rollback"])
TOGETHER = st.one_of(
    st.builds(Block, st.lists(BUILDING, min_size=1, max_size=5), ENDINGS),
    st.builds(Block, st.lists(deletes(), min_size=1, max_size=3), ENDINGS),
    st.builds(Block, st.lists(st.one_of(BUILDING, deletes()), min_size=2, max_size=4), ENDINGS),
)


# ---- the run ----------------------------------------------------------------------------------------------------


def orphaned(state: State) -> bool:
    """Whether an edge has an end that does not exist."""
    return any(
        row["src"] not in state[source] or row["dst"] not in state[target]
        for edge, (source, target) in ENDS.items()
        for row in state[edge].values()
    )


def refusals(wanted: Effect) -> tuple[type[DataError], ...]:
    """Errors of which one must come; none when the state is a graph."""
    kinds: list[type[DataError]] = [KeyConflict] if wanted.conflict else []
    return (*kinds, ConstraintViolation) if orphaned(wanted.state) else tuple(kinds)


def stored(where: Graph | Transaction) -> State:
    found: State = {}
    for table, columns in TABLES.items():
        rows = where.sql(f"SELECT id, {', '.join(columns)} FROM {table}").fetchall()
        found[table] = {row[0]: dict(zip(columns, row[1:], strict=True)) for row in rows}
        assert len(found[table]) == len(rows), f"{table} has two rows with one id"
    return found


def run(where: Graph | Transaction, mutation: Mutation) -> og.Result:
    speak = where.gq if mutation.text.startswith("query") else where.sql
    return speak(mutation.text, mutation.parameters)


def alone(graph: Graph, mutation: Mutation, state: State) -> State:
    """One mutation in a commit of its own; the state after it."""
    head = graph.head
    try:
        wanted = mutation.meaning(state, "?")
    except Overflow:
        with pytest.raises(ValueOutOfRange):
            run(graph, mutation)
        wanted = Effect(state)
    else:
        errors = refusals(wanted)
        if errors:
            with pytest.raises(errors):
                run(graph, mutation)
            wanted = Effect(state)
        else:
            result = run(graph, mutation)
            wanted = mutation.meaning(state, result.fetchall()[0][0] if mutation.generates else "")
            assert (result.affected_nodes, result.affected_edges) == (wanted.nodes, wanted.edges)
            assert (result.commit_id is None) == (wanted.nodes + wanted.edges == 0)
            head = result.commit_id or head
    assert graph.head == head
    return wanted.state


def inside(transaction: Transaction, mutation: Mutation, state: State) -> Effect:
    """One mutation of a transaction; its effect on the state with what is pending."""
    try:
        wanted = mutation.meaning(state, "?")
    except Overflow:
        with pytest.raises(ValueOutOfRange):
            run(transaction, mutation)
        return Effect(state)
    if wanted.conflict:
        return wanted
    result = run(transaction, mutation)
    wanted = mutation.meaning(state, result.fetchall()[0][0] if mutation.generates else "")
    assert (result.affected_nodes, result.affected_edges) == (wanted.nodes, wanted.edges)
    assert result.commit_id is None
    return wanted


def in_transaction(graph: Graph, block: Block, state: State) -> State:
    """Several mutations, one commit or none; the state after them."""
    transaction, now, builds, changed = graph.transaction(), state, None, False
    for mutation in block.mutations:
        if builds is not None and builds is not mutation.builds:
            with pytest.raises(BoundaryViolation):
                run(transaction, mutation)
            continue
        done = inside(transaction, mutation, now)
        if done.conflict:
            with pytest.raises(refusals(done)), transaction:
                run(transaction, mutation)
            return state
        # A statement that was refused leaves the transaction's kind open.
        if done.state is not now:
            builds = mutation.builds
        changed = changed or done.nodes + done.edges > 0
        now = done.state
        assert stored(transaction) == now
        assert stored(graph) == state
    if block.end == "rollback":
        transaction.rollback()
        return state
    if orphaned(now):
        with pytest.raises(ConstraintViolation):
            transaction.commit()
        return state
    assert (transaction.commit().commit_id is not None) == changed
    return now


@pytest.fixture(scope="module")
def folders() -> Iterator[Callable[[], Path]]:
    with tempfile.TemporaryDirectory() as top:
        numbers = iter(range(1_000_000))
        yield lambda: Path(top) / f"{next(numbers)}.omni"


def start(graph: Graph) -> State:
    """A small connected beginning, so that updates and deletes meet rows early."""
    graph.sql(
        "INSERT INTO Person VALUES ('ana', 1, NULL), ('bo', NULL, 'x'); INSERT INTO Place VALUES (1, 2);"
        "INSERT INTO Knows (id, src, dst, since) VALUES ('one', 'ana', 'bo', 3), ('loop', 'bo', 'bo', NULL);"
        "INSERT INTO Lives VALUES ('ana', '1', 4)"
    )
    return stored(graph)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(blocks=st.lists(st.one_of(ONE, ONE, TOGETHER), min_size=3, max_size=8))
def test_a_graph_and_plain_dicts_agree_after_every_mutation(folders: Callable[[], Path], blocks: list[Block]) -> None:
    graph = og.init(folders(), schema=SCHEMA)
    state = start(graph)
    for block in blocks:
        if block.end is None:
            (mutation,) = block.mutations
            state = alone(graph, mutation, state)
        else:
            state = in_transaction(graph, block, state)
        assert stored(graph) == state
    assert stored(og.open(graph.uri, read_only=True)) == state
