"""The decisions of recovery as truth tables, written down here independently of the code that takes them."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from omnigraph_sql.engine.manifest.publisher import Lineage
from omnigraph_sql.engine.recovery.classify import (
    Decision,
    Defer,
    Discard,
    Finish,
    Movement,
    Refuse,
    RollBack,
    RollForward,
    Seen,
    SeenTable,
    classify,
    movement,
)
from omnigraph_sql.engine.recovery.intent import Intent, Outcome, Phase, TableIntent, Token, WriterKind
from omnigraph_sql.engine.values import TableIdentity, TablePin
from tests.engine.worlds import START

OURS, OTHER = "ours", "other"
PINNED = 10


def table(number: int, *, forks: bool = False, fresh: bool = False) -> TableIntent:
    identity = TableIdentity(number, 1)
    pin = TablePin(identity, f"node:T{number}", f"nodes/{number:016x}-{1:016x}", PINNED, None, 0)
    return TableIntent(pin, None, OURS, 1, forks, fresh)


def intent(*tables: TableIntent, phase: Phase = Phase.CONFIRMED, outcome: Outcome = Outcome.OPEN) -> Intent:
    token = Token("main", "born-1", "head-1", "domain", "hash")
    lineage = Lineage("C" * 26, "ann", None, START)
    return Intent("O" * 26, WriterKind.MUTATION, START, token, tables, lineage, "R" * 26, 0, phase, outcome)


# newest version, transaction of the planned version, all later ones are restores, forks or fresh → movement
MOVEMENTS = """
10  -      no   no   NoMovement
10  -      no   yes  NoMovement
0   -      no   yes  NoMovement
0   -      no   no   InvariantViolation
9   -      no   no   InvariantViolation
9   -      no   yes  InvariantViolation
1   -      no   no   InvariantViolation
11  ours   no   no   RolledPastExpected
11  ours   no   yes  RolledPastExpected
11  other  no   no   UnexpectedEffectIdentity
11  -      no   no   UnexpectedAtP1
12  ours   yes  no   Undoing
15  ours   yes  yes  Undoing
12  ours   no   no   UnexpectedMultistep
12  other  no   no   UnexpectedMultistep
12  other  yes  no   UnexpectedMultistep
12  -      yes  no   UnexpectedMultistep
40  -      no   no   UnexpectedMultistep
"""


@pytest.mark.parametrize("line", MOVEMENTS.strip().splitlines())
def test_how_a_table_moved(line: str) -> None:
    head, uuid, restores, new, wanted = line.split()
    planned = [table(1, forks=True), table(1, fresh=True)] if new == "yes" else [table(1)]
    seen = SeenTable(planned[0].identity, int(head), None if uuid == "-" else uuid, PINNED, restores == "yes")
    assert [movement(one, seen).value for one in planned] == [wanted] * len(planned)


SEEN: dict[Movement, tuple[int, str | None, bool]] = {
    Movement.NONE: (10, None, False),
    Movement.OURS: (11, OURS, False),
    Movement.UNEXPECTED_NEXT: (11, None, False),
    Movement.UNEXPECTED_LATER: (13, OTHER, False),
    Movement.FOREIGN: (11, OTHER, False),
    Movement.UNDOING: (12, OURS, True),
    Movement.BEFORE: (9, None, False),
}

# What the two tables of an operation did (n: not moved, o: ours, u: being undone, x: unexplained, b: older than its
# pin), and what follows from it, given that branch and head are as they were. Columns:
#   armed + full | armed + heal | confirmed + full | confirmed + heal | undoing + full | undoing + heal
TABLE = """
nn  discard   discard  discard   defer    back:     defer
no  back:2    defer    back:2    defer    back:2    defer
nu  back:2    defer    back:2    defer    back:2    defer
nx  refuse    defer    refuse    defer    refuse    defer
nb  refuse    refuse   refuse    refuse   refuse    refuse
on  back:1    defer    back:1    defer    back:1    defer
oo  back:12   defer    forward   forward  back:12   defer
ou  back:12   defer    back:12   defer    back:12   defer
ox  refuse    defer    refuse    defer    refuse    defer
ob  refuse    refuse   refuse    refuse   refuse    refuse
un  back:1    defer    back:1    defer    back:1    defer
uo  back:12   defer    back:12   defer    back:12   defer
uu  back:12   defer    back:12   defer    back:12   defer
ux  refuse    defer    refuse    defer    refuse    defer
ub  refuse    refuse   refuse    refuse   refuse    refuse
xn  refuse    defer    refuse    defer    refuse    defer
xo  refuse    defer    refuse    defer    refuse    defer
xu  refuse    defer    refuse    defer    refuse    defer
xx  refuse    defer    refuse    defer    refuse    defer
xb  refuse    refuse   refuse    refuse   refuse    refuse
bn  refuse    refuse   refuse    refuse   refuse    refuse
bo  refuse    refuse   refuse    refuse   refuse    refuse
bu  refuse    refuse   refuse    refuse   refuse    refuse
bx  refuse    refuse   refuse    refuse   refuse    refuse
bb  refuse    refuse   refuse    refuse   refuse    refuse
"""
LETTERS = {
    Movement.NONE: "n",
    Movement.OURS: "o",
    Movement.UNDOING: "u",
    Movement.UNEXPECTED_NEXT: "x",
    Movement.UNEXPECTED_LATER: "x",
    Movement.FOREIGN: "x",
    Movement.BEFORE: "b",
}
COLUMNS = (
    (Phase.ARMED, Outcome.OPEN, True),
    (Phase.ARMED, Outcome.OPEN, False),
    (Phase.CONFIRMED, Outcome.OPEN, True),
    (Phase.CONFIRMED, Outcome.OPEN, False),
    (Phase.ARMED, Outcome.ROLL_BACK, True),
    (Phase.ARMED, Outcome.ROLL_BACK, False),
    (Phase.CONFIRMED, Outcome.ROLL_BACK, True),
    (Phase.CONFIRMED, Outcome.ROLL_BACK, False),
)
WANTED = {line.split()[0]: (*line.split()[1:], *line.split()[5:7]) for line in TABLE.strip().splitlines()}


def word(decision: Decision) -> str:
    match decision:
        case RollBack(moved):
            return "back:" + "".join(str(identity.stable_id) for identity in moved)
        case Finish(forward):
            return "finish forward" if forward else "finish back"
        case Discard(orphaned):
            return "orphan" if orphaned else "discard"
        case RollForward():
            return "forward"
        case Refuse(reason):
            assert reason
            return "refuse"
        case Defer(reason):
            assert reason
            return "defer"


def seen_after(planned: Intent, moves: tuple[Movement, ...]) -> Seen:
    tables = tuple(
        SeenTable(t.identity, *SEEN[m][:2], PINNED, SEEN[m][2]) for t, m in zip(planned.tables, moves, strict=True)
    )
    return Seen(False, False, "born-1", "head-1", tables)


EVERY = list(product(Movement, Movement))


def test_the_table_is_complete() -> None:
    assert len(WANTED) == 25
    assert all(len(row) == len(COLUMNS) for row in WANTED.values())


@pytest.mark.parametrize("moves", EVERY, ids=lambda moves: "+".join(m.value for m in moves))
def test_what_follows_from_how_two_tables_moved(moves: tuple[Movement, Movement]) -> None:
    wanted = WANTED["".join(LETTERS[m] for m in moves)]
    for (phase, outcome, full), expected in zip(COLUMNS, wanted, strict=True):
        planned = intent(table(1), table(2), phase=phase, outcome=outcome)
        assert word(classify(planned, seen_after(planned, moves), full=full)) == expected, (phase, outcome, full)


# What is decided before the tables matter: visible commits, the branch, its head.
@pytest.mark.parametrize("moves", EVERY, ids=lambda moves: "+".join(m.value for m in moves))
def test_what_is_decided_whatever_the_tables_did(moves: tuple[Movement, Movement]) -> None:
    for phase, outcome, full in COLUMNS:
        planned = intent(table(1), table(2), phase=phase, outcome=outcome)
        seen = seen_after(planned, moves)
        gone = replace(seen, branch_identifier=None, own_head=None, tables=())
        cases = {
            "finish forward": replace(seen, commit_visible=True),
            "finish back": replace(seen, rollback_visible=True),
            "orphan": gone,
            "refuse" if full else "defer": replace(seen, branch_identifier="born-2"),
        }
        for expected, world in cases.items():
            assert word(classify(planned, world, full=full)) == expected
        both = replace(seen, commit_visible=True, branch_identifier=None)
        assert word(classify(planned, both, full=full)) == "finish forward"


@pytest.mark.parametrize("head", [None, "head-2"])
@pytest.mark.parametrize("moves", EVERY, ids=lambda moves: "+".join(m.value for m in moves))
def test_a_commit_that_came_in_between_closes_everything_but_an_intent_without_effects(
    moves: tuple[Movement, Movement], head: str | None
) -> None:
    untouched = moves == (Movement.NONE, Movement.NONE)
    for phase, outcome, full in COLUMNS:
        planned = intent(table(1), table(2), phase=phase, outcome=outcome)
        seen = replace(seen_after(planned, moves), own_head=head)
        if Movement.BEFORE in moves:
            expected = "refuse"
        elif untouched and outcome is Outcome.OPEN:
            expected = "discard" if full or phase is Phase.ARMED else "defer"
        else:
            expected = "refuse" if full else "defer"
        assert word(classify(planned, seen, full=full)) == expected


@pytest.mark.parametrize(
    ("phase", "full", "expected"),
    [
        (Phase.ARMED, True, "discard"),
        (Phase.ARMED, False, "discard"),
        (Phase.CONFIRMED, True, "forward"),
        (Phase.CONFIRMED, False, "forward"),
    ],
)
def test_an_operation_on_names_alone_goes_forward_once_confirmed(phase: Phase, full: bool, expected: str) -> None:
    planned = intent(phase=phase)
    assert word(classify(planned, Seen(False, False, "born-1", "head-1", ()), full=full)) == expected


def test_a_confirmed_operation_on_names_alone_does_not_overtake_a_commit() -> None:
    seen = Seen(False, False, "born-1", "head-2", ())
    assert word(classify(intent(phase=Phase.CONFIRMED), seen, full=True)) != "forward"
