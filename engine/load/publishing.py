"""Files that lie beside their tables, made visible in one commit. Every load ends here, wherever it was written.

The id of a load is the id of its operation and of its commit. So it stands in the transaction of every table, in the
intent and in history, and the same load cannot be published twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import ConflictError, ReadSetChanged
from omnigraph_sql.engine.load.report import LoadMode, TableCount
from omnigraph_sql.engine.manifest.publisher import AGAIN, Lineage
from omnigraph_sql.engine.recovery.intent import Intent, WriterKind
from omnigraph_sql.engine.store.effects import TableChange
from omnigraph_sql.engine.store.lease import Lease
from omnigraph_sql.engine.values import TablePin
from omnigraph_sql.engine.world import World
from omnigraph_sql.engine.write.commit import PublishPlan, carry_out, turn
from omnigraph_sql.engine.write.stage import planned_table
from omnigraph_sql.engine.write.txn import Author, Contract, WriteTxn, begin


@dataclass(frozen=True, slots=True)
class FilesChange:
    """What happens to one table; `change` None when it occurs without rows and stays as it is."""

    pin: TablePin
    change: TableChange | None
    rows: int
    replaced: int


Prepare: TypeAlias = Callable[[WriteTxn], list[FilesChange]]
"""Checks the rows against the base of an attempt and says what they change. Raises DataError."""


class Published(ConflictError):
    """The load with this id is in the graph already."""

    default_code = "already_loaded"


@dataclass(slots=True)
class Delivery:
    """One load on its way. `loose` as long as it is certain that nothing names its files.

    `named` when the id was given from outside, so that this load may have been published before.
    """

    world: World
    author: Author
    mode: LoadMode
    load_id: str
    prepare: Prepare
    named: bool = False
    loose: bool = True

    def publish(self, contract: Callable[[], Contract], first: WriteTxn) -> tuple[TableCount, ...]:
        """Prepare and publish, anew when the branch moves meanwhile and the mode allows it.

        Raises Published when it happened before, DataError, ReadSetChanged, and what `carry_out` raises.
        """
        for lost in range(limits.PREPARE_ATTEMPTS_MAX):
            with turn(self.world, first.branch, lost, limits.LOAD_BESIDE_OTHERS_MAX) as held:
                txn = first if lost == 0 else begin(self.world, contract(), first.branch, self.author, first.now)
                _refuse_other_world(first, txn)
                try:
                    return self._attempt(txn, held)
                except ReadSetChanged:
                    last = lost + 1 == limits.PREPARE_ATTEMPTS_MAX
                    if self.mode is LoadMode.OVERWRITE or self.author.expected_head is not None or last:
                        raise
        raise AssertionError("the last attempt returns or raises")

    def _attempt(self, txn: WriteTxn, held: Lease | None) -> tuple[TableCount, ...]:
        world = self.world
        if self.named:
            refuse_published(world, txn.branch, self.load_id)
        changes = self.prepare(txn)
        tables = tuple(
            planned_table(world, txn.base, found.pin, found.change, self.load_id)
            for found in changes
            if found.change is not None
        )
        intent = Intent(
            self.load_id,
            WriterKind.LOAD,
            world.seams.clock.now(),
            txn.token,
            tuple(table.intent for table in tables),
            Lineage(self.load_id, self.author.actor, self.author.message, txn.now),
            world.seams.ids.ulid(),
        )

        def revalidate() -> None:
            txn.contract.check()
            if self.named:
                refuse_published(world, txn.branch, self.load_id)

        # From here on the files may be part of a table, whatever ends this; only the executor knows that they are not.
        self.loose = False
        snapshot = carry_out(world, PublishPlan(intent, tables, revalidate, abandon=self._let_go), held)
        pins = {pin.identity: pin.row_count for pin in snapshot.tables}
        return tuple(
            TableCount(found.pin.key, found.rows, found.replaced, pins[found.pin.identity]) for found in changes
        )

    def _let_go(self) -> None:
        self.loose = True


def refuse_published(world: World, branch: str, load_id: str) -> None:
    """Raises Published when the branch shows this load already."""
    if world.manifest.has_commit(branch, load_id):
        raise Published(f"load {load_id} is in the graph already", hint="nothing was written; nothing has to be done")


def _refuse_other_world(first: WriteTxn, now: WriteTxn) -> None:
    """The files were written for one schema and one branch; both must still be the same."""
    before, after = first.token, now.token
    for member in ("branch_identifier", "identity_domain", "ir_hash"):
        old, new = getattr(before, member), getattr(after, member)
        if old != new:
            raise ReadSetChanged(
                f"branch {first.branch} or its schema was replaced during the load",
                member=member,
                expected=old,
                actual=new,
                hint=AGAIN,
            )
