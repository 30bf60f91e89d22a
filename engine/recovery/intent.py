"""What a writer is about to do, written down before its first effect."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from omnigraph_sql.engine.manifest.publisher import Delta, ExactHead, Lineage, Publication
from omnigraph_sql.engine.manifest.rows import TableRow, TombstoneRow
from omnigraph_sql.engine.values import RECOVERY_ACTOR, TableIdentity, TablePin


class WriterKind(StrEnum):
    MUTATION = "Mutation"
    LOAD = "Load"
    SCHEMA_APPLY = "SchemaApply"
    BRANCH_MERGE = "BranchMerge"
    ENSURE_INDICES = "EnsureIndices"
    OPTIMIZE = "Optimize"


class Phase(StrEnum):
    ARMED = "Armed"
    CONFIRMED = "EffectsConfirmed"


class Outcome(StrEnum):
    """What recovery has decided; once written it is never reconsidered."""

    OPEN = "Open"
    ROLL_BACK = "RollBack"


@dataclass(frozen=True, slots=True)
class Token:
    """What an operation has read and relies on: the branch, its exact head, and the schema it was bound to."""

    branch: str
    branch_identifier: str
    own_head: str | None
    identity_domain: str
    ir_hash: str

    def head(self) -> ExactHead:
        return ExactHead(self.branch_identifier, self.own_head)


@dataclass(frozen=True, slots=True)
class TableIntent:
    """One planned table commit: from `pin`, on Lance branch `branch`, by the transaction `uuid`.

    `forks` when the Lance branch has to be made first, from the pin's own branch; `fresh` when the table is new.
    """

    pin: TablePin
    branch: str | None
    uuid: str
    row_count: int
    forks: bool = False
    fresh: bool = False

    @property
    def identity(self) -> TableIdentity:
        return self.pin.identity

    @property
    def planned_version(self) -> int:
        return self.pin.version + 1

    def done(self) -> TablePin:
        """The pin this commit leads to."""
        return replace(self.pin, version=self.planned_version, branch=self.branch, row_count=self.row_count)


@dataclass(frozen=True, slots=True)
class Intent:
    """A whole operation. `rollback_commit_id` is minted with it, so that undoing it is decidable too.

    `created` are empty tables made with it, at the version they begin with; nobody knows them before the publish.
    `contract` names the schema that is in force from it on, if it changes that.
    """

    operation_id: str
    writer: WriterKind
    started_at: datetime
    token: Token
    tables: tuple[TableIntent, ...]
    lineage: Lineage
    rollback_commit_id: str
    fence: int = 0
    phase: Phase = Phase.ARMED
    outcome: Outcome = Outcome.OPEN
    registrations: tuple[TableRow, ...] = ()
    tombstones: tuple[TombstoneRow, ...] = ()
    created: tuple[TablePin, ...] = ()
    contract: str | None = None

    def __post_init__(self) -> None:
        identities = [*(table.identity for table in self.tables), *(pin.identity for pin in self.created)]
        if len(set(identities)) != len(identities):
            raise ValueError("an operation commits each table once")

    @property
    def branch(self) -> str:
        return self.token.branch

    def confirmed(self) -> Intent:
        return replace(self, phase=Phase.CONFIRMED)

    def publication(self) -> Publication:
        """What makes the operation visible."""
        names = tuple(TableRow(pin.identity, pin.key, pin.path) for pin in self.created)
        versions = (*(t.done() for t in self.tables), *self.created)
        delta = Delta(versions, (*self.registrations, *names), self.tombstones, self.contract)
        expected = (
            *((t.identity, 0 if t.fresh else t.pin.version) for t in self.tables),
            *((pin.identity, 0) for pin in self.created),
            *((row.identity, row.version) for row in self.tombstones),
        )
        return Publication(self.branch, delta, expected, self.token.head(), self.lineage, self.fence)

    def undoing(self, restored: tuple[TablePin, ...], at: datetime, fence: int) -> Publication:
        """What makes the undone operation's tables visible again, as they were."""
        expected = tuple((t.identity, t.pin.version) for t in self.tables if not t.fresh)
        names = {pin.identity for pin in restored}
        lineage = Lineage(self.rollback_commit_id, RECOVERY_ACTOR, f"rolled back {self.operation_id}", at)
        wanted = tuple(e for e in expected if e[0] in names)
        return Publication(self.branch, Delta(restored), wanted, self.token.head(), lineage, max(fence, self.fence))
