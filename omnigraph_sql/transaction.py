"""Transaction: several statements, one commit. Reads inside see what was written inside."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from typing import Final, Protocol

from omnigraph_sql.base import limits
from omnigraph_sql.base.commands import Begin, Commit, Rollback
from omnigraph_sql.base.errors import BoundaryViolation, ConflictError, ReadSetChanged
from omnigraph_sql.base.process import refuse_forked
from omnigraph_sql.bind.boundaries import UnitKinds, kinds_of, mutates, word_of
from omnigraph_sql.bind.parameters import Given
from omnigraph_sql.engine.values import Snapshot
from omnigraph_sql.engine.world import World
from omnigraph_sql.engine.write.commit import turn
from omnigraph_sql.engine.write.staging import MutationStaging
from omnigraph_sql.engine.write.txn import Author, Receipt, WriteTxn, begin, finish
from omnigraph_sql.plan.mutations import Control
from omnigraph_sql.result import Counts, Result
from omnigraph_sql.run.contract import ContractKeeper
from omnigraph_sql.run.interrupt import Running
from omnigraph_sql.run.scene import Scene, Surroundings
from omnigraph_sql.run.schema import changes_schema
from omnigraph_sql.run.sets import takes_sets
from omnigraph_sql.run.targets import target_branch
from omnigraph_sql.run.write import apply
from omnigraph_sql.statements import Request, Step, empty_result, labelled, rows_of

_SETS_AT_ONCE: Final = 10_000


class Owner(Protocol):
    """The session a transaction belongs to."""

    world: World
    keeper: ContractKeeper

    @property
    def branch(self) -> str: ...
    @property
    def author(self) -> Author: ...
    def running(self) -> Running: ...
    def steps(self, request: Request, base: Snapshot) -> list[Step]: ...
    def around(self, base: Snapshot) -> Surroundings: ...
    def control(self, step: Step, inside: Transaction | None = None) -> Result: ...


class Transaction:
    """One MutationStaging on one base. Made by `Graph.transaction()`; not for several threads at once.

    >>> import omnigraph_sql as og
    >>> graph = og.init("air.omni", schema="node Airport { code: String @key  city: String }")
    >>> with graph.transaction(message="the south opens") as tx:
    ...     done = tx.sql("INSERT INTO Airport VALUES ('AQP', 'Arequipa')")
    ...     tx.sql("SELECT count(*) FROM Airport").fetchone(), graph.sql("SELECT count(*) FROM Airport").fetchone()
    ((1,), (0,))
    >>> graph.commits()[0].message, graph.sql("SELECT city FROM Airport").fetchall()
    ('the south opens', [('Arequipa',)])
    >>> graph.close()
    """

    def __init__(self, owner: Owner, name: str = "transaction") -> None:
        self._owner, self._name = owner, name
        self._done: list[Step] = []
        self._open = True
        self._txn, self._staging, self._kinds = self._begun()

    def _begun(self) -> tuple[WriteTxn, MutationStaging, UnitKinds]:
        owner = self._owner
        txn = begin(owner.world, owner.keeper.contract(owner.branch), owner.branch, owner.author)
        return txn, MutationStaging(), UnitKinds(self._name)

    @property
    def is_open(self) -> bool:
        return self._open

    @property
    def snapshot(self) -> Snapshot:
        """The state it began on; its own changes are not in it."""
        return self._txn.base

    def sql(self, text: str, params: Given = None) -> Result:
        return self.run(Request(text, params, "sql"))

    def gq(self, text: str, params: Given = None, *, name: str | None = None) -> Result:
        return self.run(Request(text, params, "gq", name))

    def run(self, request: Request) -> Result:
        """Every statement of a text; the result is that of the last."""
        self._refuse_closed()
        result = empty_result()
        for step in self._owner.steps(request, self._txn.base):
            result = self.step(step)
        return result

    def many(self, request: Request, sets: Iterable[Given]) -> Counts:
        """One statement for every set of values, all of it or nothing; inserts go in great parts."""
        self._refuse_closed()
        staging, kinds, done = self._staging, self._kinds, len(self._done)
        nodes, edges = staging.affected_nodes, staging.affected_edges
        try:
            with staging.statement():
                waiting = iter(sets)
                while part := tuple(islice(waiting, _SETS_AT_ONCE)):
                    self._part(request, part)
        except BaseException:
            self._kinds = kinds
            del self._done[done:]
            raise
        return Counts(staging.affected_nodes - nodes, staging.affected_edges - edges)

    def _part(self, request: Request, sets: tuple[Given, ...]) -> None:
        every = self._owner.steps(replace(request, sets=sets), self._txn.base)
        if len(every) == 1 and takes_sets(every[0].program.plan):
            self.step(every[0])
            return
        for params in sets:
            self.run(replace(request, params=params))

    def step(self, step: Step) -> Result:
        """One statement. One that would mix the kinds is refused, and the transaction goes on without it."""
        self._refuse_closed()
        program = step.program
        if isinstance(program.plan, Control):
            return self._control(step, program.plan)
        staging, scene = self._staging, self._scene(step)
        statement = program.bound.statement
        if not mutates(statement):
            staging.depend()
            return rows_of(program, scene)
        self._refuse_other_branch(step)
        kinds = self._kinds.admit_kinds(kinds_of(statement), word_of(statement), step.request.place)
        nodes, edges = staging.affected_nodes, staging.affected_edges
        with staging.statement():
            returned = apply(program.plan, scene)
        if returned is not None:
            staging.depend()
        self._kinds = kinds
        self._done.append(step)
        counts = Counts(staging.affected_nodes - nodes, staging.affected_edges - edges)
        return Result(labelled(returned, program.fields), counts=counts)

    def _refuse_other_branch(self, step: Step) -> None:
        branch = target_branch(step.program.plan)
        if branch is not None and branch != self._owner.branch:
            raise BoundaryViolation(
                f"a {self._name} changes one branch, {self._owner.branch}, not {branch}",
                at=step.request.place(),
                hint=f"run the statement outside of it, or begin one on {branch}",
            )

    def _control(self, step: Step, plan: Control) -> Result:
        if isinstance(plan.command, Begin | Commit | Rollback):
            # The session's own BEGIN and COMMIT never come here; those of another would leave this one as it is.
            message = f"{type(plan.command).__name__.upper()} has no place inside a {self._name}"
            raise BoundaryViolation(message, at=step.request.place(), hint="commit() and rollback() end it")
        if changes_schema(plan.command):
            message = f"a change of the schema is a commit of its own, not a part of a {self._name}"
            raise BoundaryViolation(message, at=step.request.place(), hint="make it before the transaction begins")
        return self._owner.control(step, self)

    def shown(self, step: Step) -> Scene:
        """What a command that shows rows is carried out against; what a client has seen ties the commit to its base."""
        self._staging.depend()
        return self._scene(step)

    def _scene(self, step: Step) -> Scene:
        txn, owner = self._txn, self._owner
        sets = step.sets()
        return Scene(
            owner.world,
            txn.base,
            txn.contract.catalog,
            txn.now,
            self._staging,
            step.values() if sets is None else {},
            running=owner.running(),
            sets=sets,
            commits_later=True,
            around=owner.around(txn.base),
        )

    def commit(self) -> Receipt:
        """Publish everything at once. Blind inserts are prepared anew when the branch moved."""
        self._refuse_closed()
        try:
            return self._attempts()
        finally:
            self._open = False

    def _attempts(self) -> Receipt:
        world, author = self._owner.world, self._owner.author
        for lost in range(limits.PREPARE_ATTEMPTS_MAX):
            with turn(world, self._txn.branch, lost) as held:
                if lost:
                    self._replay()
                try:
                    return finish(world, self._txn, self._staging, author, held=held)
                except ReadSetChanged:
                    last = lost + 1 == limits.PREPARE_ATTEMPTS_MAX
                    if self._staging.dependent or author.expected_head is not None or last:
                        raise
        raise AssertionError("the last attempt returns or raises")

    def _replay(self) -> None:
        """The same statements on a fresh base, at the same instant."""
        done, now = self._done, self._txn.now
        self._done = []
        self._txn, self._staging, self._kinds = self._begun()
        self._txn = replace(self._txn, now=now)
        for step in done:
            fresh = next(s for s in self._owner.steps(step.request, self._txn.base) if s.index == step.index)
            self.step(fresh)

    def rollback(self) -> None:
        """Drop everything; never raises."""
        self._open = False

    def _refuse_closed(self) -> None:
        refuse_forked()
        if not self._open:
            raise ConflictError("the transaction is over", code="transaction_closed", hint="begin a new one")

    def __enter__(self) -> Transaction:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self._open and kind is None:
            self.commit()
        self.rollback()
