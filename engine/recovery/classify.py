"""What recovery must do with an intent, decided from what was seen. No I/O: tests call the decision table directly."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from omnigraph_sql.engine.recovery.intent import Intent, Outcome, Phase, TableIntent
from omnigraph_sql.engine.values import TableIdentity


class Movement(StrEnum):
    """Where a table's newest version lies in relation to what was planned for it."""

    NONE = "NoMovement"
    OURS = "RolledPastExpected"
    UNEXPECTED_NEXT = "UnexpectedAtP1"
    UNEXPECTED_LATER = "UnexpectedMultistep"
    FOREIGN = "UnexpectedEffectIdentity"
    UNDOING = "Undoing"
    BEFORE = "InvariantViolation"


@dataclass(frozen=True, slots=True)
class SeenTable:
    """A table as recovery found it.

    `head` is its newest version (0: it, or its Lance branch, does not exist), `uuid` the transaction of the planned
    version if that exists, `restores` whether every version after the planned one is a restore, `pin` what the manifest
    shows now.
    """

    identity: TableIdentity
    head: int
    uuid: str | None
    pin: int
    restores: bool = False


@dataclass(frozen=True, slots=True)
class Seen:
    """The world around an intent. `branch_identifier` None: the branch is gone."""

    commit_visible: bool
    rollback_visible: bool
    branch_identifier: str | None
    own_head: str | None
    tables: tuple[SeenTable, ...]


@dataclass(frozen=True, slots=True)
class Finish:
    """Everything is visible already: audit once, disarm. `forward` tells which of the two commits is visible."""

    forward: bool


@dataclass(frozen=True, slots=True)
class Discard:
    """Nothing happened, or its branch is gone with it: audit, disarm."""

    orphaned: bool


@dataclass(frozen=True, slots=True)
class RollForward:
    """Every effect is there and nobody came in between: publish."""


@dataclass(frozen=True, slots=True)
class RollBack:
    """Some effects are there: restore the tables that moved, publish them, audit, disarm."""

    moved: tuple[TableIdentity, ...]


@dataclass(frozen=True, slots=True)
class Refuse:
    """Effects of unknown origin: nobody may touch anything."""

    reason: str


@dataclass(frozen=True, slots=True)
class Defer:
    """Left for a full recovery, which a read-write open runs."""

    reason: str


Decision: TypeAlias = Finish | Discard | RollForward | RollBack | Refuse | Defer


def movement(intent: TableIntent, seen: SeenTable) -> Movement:
    """How one table moved."""
    expected, planned = intent.pin.version, intent.planned_version
    if seen.head == expected or (seen.head == 0 and (intent.forks or intent.fresh)):
        return Movement.NONE
    if seen.head < expected:
        return Movement.BEFORE
    if seen.uuid == intent.uuid:
        if seen.head == planned:
            return Movement.OURS
        return Movement.UNDOING if seen.restores else Movement.UNEXPECTED_LATER
    if seen.head == planned:
        return Movement.FOREIGN if seen.uuid is not None else Movement.UNEXPECTED_NEXT
    return Movement.UNEXPECTED_LATER


def classify(intent: Intent, seen: Seen, *, full: bool) -> Decision:
    """The decision. `full` may restore; a heal may not and defers instead."""
    if seen.commit_visible:
        return Finish(forward=True)
    if seen.rollback_visible:
        return Finish(forward=False)
    if seen.branch_identifier is None:
        return Discard(orphaned=True)
    if seen.branch_identifier != intent.token.branch_identifier:
        return _closed(full, f"branch {intent.branch} was deleted and made anew")
    moves = {t.identity: movement(t, s) for t, s in zip(intent.tables, seen.tables, strict=True)}
    if Movement.BEFORE in moves.values():
        return Refuse("a table is older than the manifest says")
    undoing = intent.outcome is Outcome.ROLL_BACK
    if all(move is Movement.NONE for move in moves.values()) and not undoing:
        return _unmoved(intent, seen, full)
    foreign = [t.pin.key for t in intent.tables if moves[t.identity] not in _KNOWN]
    if foreign:
        return _closed(full, f"{', '.join(foreign)} moved in a way this operation did not plan")
    if seen.own_head != intent.token.own_head:
        return _closed(full, f"branch {intent.branch} has a commit that came in between")
    all_ours = all(move is Movement.OURS for move in moves.values())
    if all_ours and intent.phase is Phase.CONFIRMED and not undoing:
        return RollForward()
    if not full:
        return Defer("undoing it needs a restore")
    return RollBack(tuple(identity for identity, move in moves.items() if move is not Movement.NONE))


_KNOWN = frozenset({Movement.NONE, Movement.OURS, Movement.UNDOING})


def _unmoved(intent: Intent, seen: Seen, full: bool) -> Decision:
    if not intent.tables and intent.phase is Phase.CONFIRMED and seen.own_head == intent.token.own_head:
        return RollForward()
    # Whoever holds the lease knows that the writer is gone, so an intent without effects is only a piece of paper.
    return Discard(orphaned=False) if full or intent.phase is Phase.ARMED else Defer("confirmed effects are missing")


def _closed(full: bool, reason: str) -> Decision:
    return Refuse(reason) if full else Defer(reason)
