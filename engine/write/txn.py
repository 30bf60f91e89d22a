"""One write from its first look at the graph to its receipt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from omnigraph_sql.base import limits
from omnigraph_sql.base.catalog import Catalog
from omnigraph_sql.base.errors import DataError, PreconditionFailed, ReadSetChanged
from omnigraph_sql.engine.manifest.publisher import Lineage
from omnigraph_sql.engine.recovery.intent import Intent, Token, WriterKind
from omnigraph_sql.engine.store.lease import Lease
from omnigraph_sql.engine.values import Snapshot
from omnigraph_sql.engine.world import World
from omnigraph_sql.engine.write.commit import PublishPlan, carry_out, turn
from omnigraph_sql.engine.write.stage import abandon, plan_tables
from omnigraph_sql.engine.write.staging import MutationStaging
from omnigraph_sql.engine.write.validate import validate

_EXPECTED_HEAD: Final = "read the branch again and decide anew"


@dataclass(frozen=True, slots=True)
class Contract:
    """The schema a write is bound to. `check` raises when the stored one is not the same any more.

    `base` is the state of the branch it was read from, so that a write begins on a state and the schema of that state.
    """

    catalog: Catalog
    identity_domain: str
    ir_hash: str
    check: Callable[[], None]
    base: Snapshot | None = None


@dataclass(frozen=True, slots=True)
class Author:
    """Who writes, what they say about it, and the head they insist on."""

    actor: str | None = None
    message: str | None = None
    expected_head: str | None = None

    def __post_init__(self) -> None:
        for what, text in (("actor", self.actor), ("message", self.message)):
            if text is not None and not _is_text(text):
                raise DataError(f"the {what} is no text that can be stored")


@dataclass(frozen=True, slots=True)
class WriteTxn:
    """What one attempt has captured, once: every read of the write uses this base plus what is pending."""

    branch: str
    base: Snapshot
    contract: Contract
    now: datetime

    @property
    def token(self) -> Token:
        base, contract = self.base, self.contract
        return Token(self.branch, base.branch_identifier, base.own_head, contract.identity_domain, contract.ir_hash)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a write came to. `commit_id` None: nothing changed, so there is no commit."""

    branch: str
    commit_id: str | None
    affected_nodes: int
    affected_edges: int
    snapshot: Snapshot


def _is_text(value: str) -> bool:
    """A string without lone surrogates."""
    try:
        value.encode()
    except (UnicodeEncodeError, AttributeError):
        return False
    return True


def begin(world: World, contract: Contract, branch: str, author: Author, now: datetime | None = None) -> WriteTxn:
    """Capture the base. Raises PreconditionFailed when the caller insists on another head."""
    base = contract.base or world.manifest.current(branch).snapshot
    if author.expected_head is not None and author.expected_head != base.head:
        raise PreconditionFailed(
            f"the head of {branch} is {base.head}, not {author.expected_head}",
            expected=author.expected_head,
            actual=base.head,
            hint=_EXPECTED_HEAD,
        )
    return WriteTxn(branch, base, contract, now or world.seams.clock.now())


def finish(
    world: World,
    txn: WriteTxn,
    staging: MutationStaging,
    author: Author,
    writer: WriterKind = WriterKind.MUTATION,
    held: Lease | None = None,
) -> Receipt:
    """Validate, stage and carry out what was accumulated. Nothing accumulated: no commit, no trace.

    `held` is the lease of the branch if the caller has it already.
    """
    counts = (staging.affected_nodes, staging.affected_edges)
    if staging.is_empty:
        return Receipt(txn.branch, None, *counts, txn.base)
    changes = list(staging.changes.values())
    validate(world, txn.base, txn.contract.catalog, changes)
    operation_id = world.seams.ids.ulid()
    tables = plan_tables(world, txn.base, changes, operation_id)
    if not tables:
        return Receipt(txn.branch, None, *counts, txn.base)
    commit_id = world.seams.ids.ulid()
    intent = Intent(
        operation_id,
        writer,
        world.seams.clock.now(),
        txn.token,
        tuple(t.intent for t in tables),
        Lineage(commit_id, author.actor, author.message, txn.now),
        world.seams.ids.ulid(),
    )
    plan = PublishPlan(intent, tables, txn.contract.check, abandon=lambda: abandon(world, tables))
    snapshot = carry_out(world, plan, held)
    return Receipt(txn.branch, commit_id, *counts, snapshot)


def write(
    world: World,
    contract: Callable[[], Contract],
    branch: str,
    author: Author,
    fill: Callable[[WriteTxn, MutationStaging], None],
    writer: WriterKind = WriterKind.MUTATION,
) -> Receipt:
    """Run `fill` on a fresh base and publish what it stages.

    A write whose meaning does not depend on what it read is prepared anew when the branch moves, after a few times with
    the lease in its hands; any other fails with ReadSetChanged. A caller's expected head is never retried. `now` is the
    same instant in every attempt.
    """
    now = world.seams.clock.now()
    for lost in range(limits.PREPARE_ATTEMPTS_MAX):
        with turn(world, branch, lost) as held:
            txn = begin(world, contract(), branch, author, now)
            staging = MutationStaging()
            fill(txn, staging)
            try:
                return finish(world, txn, staging, author, writer, held)
            except ReadSetChanged:
                last = lost + 1 == limits.PREPARE_ATTEMPTS_MAX
                if staging.dependent or author.expected_head is not None or last:
                    raise
    raise AssertionError("the last attempt returns or raises")
