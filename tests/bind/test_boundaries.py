"""D₂ as a pure rule over kinds, and which statements have which kind."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph_sql.base import commands
from omnigraph_sql.base.errors import BoundaryViolation, Location
from omnigraph_sql.base.expr import TRUE, Literal
from omnigraph_sql.base.types import STRING
from omnigraph_sql.bind.bound import (
    Assign,
    BoundControl,
    BoundDelete,
    BoundInsert,
    BoundMerge,
    BoundQuery,
    BoundSelect,
    BoundStatement,
    BoundTable,
    BoundUnit,
    BoundUpdate,
    BoundValues,
    MergeArm,
    MergeDo,
    MergeWhen,
    OnConflict,
)
from omnigraph_sql.bind.boundaries import (
    BOTH,
    CONSTRUCTIVE,
    DESTRUCTIVE,
    NEITHER,
    MutationKind,
    UnitKinds,
    check_kinds,
    check_unit,
    ends_unit,
    kinds_of,
    word_of,
)
from omnigraph_sql.grammar.source import Source, Span
from tests.case_files import airport_catalog

AIRPORT = airport_catalog().nodes[0]
HERE = Source("x", "<here>").locate(Span(0, 1))
NO_ROWS = BoundQuery(BoundValues((), ()))
QUERY = BoundQuery(BoundSelect(()))
INSERT = BoundInsert(AIRPORT, "a", (), NO_ROWS)
REPLACE = BoundInsert(AIRPORT, "a", (), NO_ROWS, OnConflict.REPLACE)
UPDATE = BoundUpdate(AIRPORT, "a", (Assign("city", Literal("x", STRING)),))
DELETE = BoundDelete(AIRPORT, "a")
PATH = Literal("x.csv", STRING)
ASSIGNS = (Assign("city", Literal("x", STRING)),)


def merge(*does: MergeDo) -> BoundMerge:
    arms = tuple(MergeArm(MergeWhen.MATCHED, do, TRUE, ASSIGNS if do is MergeDo.UPDATE else ()) for do in does)
    return BoundMerge(AIRPORT, "a", BoundTable("b", AIRPORT), TRUE, arms)


def explained(statement: BoundStatement, *, analyze: bool) -> BoundControl:
    return BoundControl(commands.Explain(analyze, "text"), statement)


KINDS: list[tuple[str, BoundStatement, frozenset[MutationKind]]] = [
    ("query", QUERY, NEITHER),
    ("insert", INSERT, CONSTRUCTIVE),
    ("insert or replace", REPLACE, CONSTRUCTIVE),
    ("update", UPDATE, CONSTRUCTIVE),
    ("delete, truncate", DELETE, DESTRUCTIVE),
    ("merge that updates", merge(MergeDo.UPDATE, MergeDo.NOTHING), CONSTRUCTIVE),
    ("merge that deletes", merge(MergeDo.DELETE), DESTRUCTIVE),
    ("merge that does nothing", merge(MergeDo.NOTHING), NEITHER),
    ("merge that does both", merge(MergeDo.UPDATE, MergeDo.DELETE), BOTH),
    ("unit of inserts", BoundUnit("q", (INSERT, UPDATE)), CONSTRUCTIVE),
    ("unit of deletes", BoundUnit("q", (DELETE, DELETE)), DESTRUCTIVE),
    ("copy from", BoundControl(commands.CopyFrom("Airport", (), PATH)), CONSTRUCTIVE),
    ("copy from, overwrite", BoundControl(commands.CopyFrom("Airport", (), PATH, "overwrite")), CONSTRUCTIVE),
    ("import graph", BoundControl(commands.ImportGraph(PATH)), CONSTRUCTIVE),
    ("copy to", BoundControl(commands.CopyTo(PATH), QUERY), NEITHER),
    ("export graph", BoundControl(commands.ExportGraph(PATH)), NEITHER),
    ("explain delete", explained(DELETE, analyze=False), NEITHER),
    ("explain analyze delete", explained(DELETE, analyze=True), DESTRUCTIVE),
    ("explain analyze insert", explained(INSERT, analyze=True), CONSTRUCTIVE),
    ("explain analyze query", explained(QUERY, analyze=True), NEITHER),
    ("begin", BoundControl(commands.Begin()), NEITHER),
]


@pytest.mark.parametrize(("statement", "kinds"), [(s, k) for _, s, k in KINDS], ids=[name for name, _, _ in KINDS])
def test_every_statement_has_its_kind(statement: BoundStatement, kinds: frozenset[MutationKind]) -> None:
    assert kinds_of(statement) == kinds
    assert word_of(statement)


@given(st.lists(st.sampled_from([NEITHER, CONSTRUCTIVE, DESTRUCTIVE, BOTH]), max_size=12))
def test_a_unit_is_refused_at_the_first_statement_that_makes_it_mixed(sequence: list[frozenset[MutationKind]]) -> None:
    unions = [frozenset[MutationKind]().union(*sequence[: n + 1]) for n in range(len(sequence))]
    mixed = [n for n, union in enumerate(unions) if union == BOTH]
    expected = mixed[0] if mixed else None

    unit, refused = UnitKinds("script"), None
    for number, kinds in enumerate(sequence):
        before = unit
        try:
            unit = unit.admit_kinds(kinds, "statement", lambda: HERE)
        except BoundaryViolation:
            refused = number
            assert unit is before
            break
    assert refused == expected


def test_the_refusal_names_the_unit_both_kinds_and_the_way_out() -> None:
    unit = UnitKinds("the script").admit(INSERT, HERE).admit(QUERY, HERE)
    with pytest.raises(BoundaryViolation) as caught:
        unit.admit(DELETE, HERE)
    error = caught.value
    assert error.code == "D2"
    assert error.at == HERE
    for part in ("the script", "statement 1 (insert) is constructive", "statement 3 (delete) is destructive"):
        assert part in error.message
    assert error.hint is not None
    assert "split" in error.hint


def test_a_refused_statement_leaves_the_unit_as_it_was() -> None:
    unit = UnitKinds("transaction").admit(DELETE, HERE)
    with pytest.raises(BoundaryViolation):
        unit.admit(INSERT, HERE)
    assert unit == UnitKinds("transaction").admit(DELETE, HERE)
    assert unit.admit(DELETE, HERE).statements == 2


def test_one_statement_that_does_both_is_refused_alone() -> None:
    with pytest.raises(BoundaryViolation, match=r"statement 1 \(merge\) both writes rows .* and deletes rows"):
        check_unit("script", [(merge(MergeDo.UPDATE, MergeDo.DELETE), HERE)])


def test_a_place_is_asked_for_only_when_a_statement_is_refused() -> None:
    asked: list[int] = []

    def place(number: int) -> Location:
        asked.append(number)
        return HERE

    parts = [(CONSTRUCTIVE, "insert", lambda: place(1)), (DESTRUCTIVE, "delete", lambda: place(2))]
    with pytest.raises(BoundaryViolation):
        check_kinds("q", parts)
    assert asked == [2]


@pytest.mark.parametrize(
    ("statement", "ends"),
    [
        (BoundControl(commands.Begin()), True),
        (BoundControl(commands.Commit()), True),
        (BoundControl(commands.Rollback()), True),
        (BoundControl(commands.DropType("node", "Airport")), True),
        (BoundControl(commands.CreateView("v", "SELECT 1", False, False), QUERY), True),
        (BoundControl(commands.SetOption("branch", PATH)), True),
        (BoundControl(commands.SetOption("actor", PATH)), False),
        (BoundControl(commands.CopyFrom("Airport", (), PATH)), False),
        (BoundControl(commands.Show("tables")), False),
        (explained(BoundControl(commands.DropType("node", "Airport")), analyze=False), False),
        (QUERY, False),
        (INSERT, False),
    ],
    ids=lambda value: word_of(value) if not isinstance(value, bool) else str(value),
)
def test_commands_that_commit_end_the_open_unit(statement: BoundStatement, ends: bool) -> None:
    assert ends_unit(statement) is ends
