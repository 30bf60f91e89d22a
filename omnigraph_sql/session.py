"""Session: one graph, one branch, one transaction at a time; takes a statement from text to Result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TypeVar

import pyarrow as pa

from omnigraph_sql.base.commands import Begin, Command, Commit, Describe, Explain, Rollback, Show, Summarize
from omnigraph_sql.base.errors import BoundaryViolation, ConflictError, InternalError, LanguageError, NotSupported
from omnigraph_sql.base.process import refuse_forked
from omnigraph_sql.bind.boundaries import UnitKinds, kinds_of, mutates, word_of
from omnigraph_sql.bind.parameters import Given
from omnigraph_sql.engine.values import Snapshot
from omnigraph_sql.engine.world import World
from omnigraph_sql.engine.write.staging import MutationStaging
from omnigraph_sql.engine.write.txn import Author, Receipt, WriteTxn, write
from omnigraph_sql.plan.mutations import Control
from omnigraph_sql.result import Counts, Result
from omnigraph_sql.run.contract import ContractKeeper, StoredSchema
from omnigraph_sql.run.control import answer
from omnigraph_sql.run.explain import analyzed, explained
from omnigraph_sql.run.interrupt import Running, Runs
from omnigraph_sql.run.scene import Scene, Surroundings
from omnigraph_sql.run.schema import change_schema
from omnigraph_sql.run.targets import reads_session, target_branch
from omnigraph_sql.run.write import apply
from omnigraph_sql.script import changes_schema_by, command_word, delimits, misplaced, refuse_misplaced, until_alone
from omnigraph_sql.session_commands import carried_out, stands_alone
from omnigraph_sql.settings import Settings
from omnigraph_sql.statements import (
    PlanCache,
    Request,
    Step,
    empty_reader,
    empty_result,
    labelled,
    rows_of,
    steps,
)
from omnigraph_sql.transaction import Transaction

Made = TypeVar("Made")

_WRITING = "open it for writing: without read_only or --read-only, and not at a past state"

__all__ = ["PlanCache", "Request", "Session", "Transaction"]


class Session:
    """Statements against one branch of one graph. Not for several threads at once."""

    def __init__(
        self,
        world: World,
        keeper: ContractKeeper,
        branch: str,
        author: Author,
        *,
        read_only: bool = False,
        plans: PlanCache | None = None,
        pinned: Snapshot | None = None,
        runs: Runs | None = None,
    ) -> None:
        self.world, self.keeper = world, keeper
        self._pinned = pinned
        self._plans = plans or PlanCache()
        self._runs = runs or Runs()
        only_reading, limit = read_only or pinned is not None, self._runs.memory_limit
        self.settings = Settings(branch, author, read_only=only_reading, memory_limit=limit)
        self.first_settings = self.settings
        self._transaction: Transaction | None = None
        self._ended_early = False
        """Whether a change of the schema committed what BEGIN had opened; the COMMIT that follows has nothing to do."""

    @property
    def branch(self) -> str:
        return self.settings.branch

    @property
    def author(self) -> Author:
        return self.settings.author

    @property
    def read_only(self) -> bool:
        return self.settings.read_only

    def running(self) -> Running:
        """A statement that begins now."""
        return self._runs.begin(self.settings.memory_limit)

    def moved_to(self, branch: str) -> None:
        """Statements are about another branch from now on. Raises StorageError (not_found) when there is none."""
        if self._pinned is not None:
            raise ConflictError("a past state has no branches", code="read_only", hint="open the graph itself")
        self.world.manifest.current(branch)
        self.settings = replace(self.settings, branch=branch)

    @property
    def transaction(self) -> Transaction | None:
        """The one that BEGIN opened, if it is still open."""
        found = self._transaction
        return found if found is not None and found.is_open else None

    def snapshot(self) -> Snapshot:
        """What a read sees now; a session on a past state sees that, always."""
        return self._pinned or self.world.manifest.current(self.branch).snapshot

    def schema(self) -> StoredSchema:
        """The schema of what a read sees now."""
        return self._schema_at(self.snapshot())

    def _schema_at(self, base: Snapshot) -> StoredSchema:
        found, hops = self.keeper.at(base), self.settings.hops_max
        return found if found.hops_max == hops else replace(found, hops_max=hops)

    def steps(self, request: Request, base: Snapshot, skip: int = 0) -> list[Step]:
        """The statements of a text, but for the first `skip`, under the schema of a state."""
        refuse_forked()
        return steps(request, self._plans, self._schema_at(base), skip)

    def refuse_read_only(self) -> None:
        if self.read_only:
            raise ConflictError("the graph is open for reading only", code="read_only", hint=_WRITING)

    def begin(self, name: str = "transaction") -> Transaction:
        """A transaction of its own; BEGIN makes one that the session's statements go into."""
        self.refuse_read_only()
        return Transaction(self, name)

    # ---- running ----------------------------------------------------------------------------------------------

    def run(self, request: Request, *, opens: bool = False) -> Result:
        """Run a text: reads give rows; mutations of one text commit as one, unless it says BEGIN and COMMIT itself.

        A change of the schema commits what is open, then itself; what follows it in the text is compiled after it.
        `opens`: a mutation begins a transaction that stays open, so that nothing is visible before it is committed.
        """
        refuse_forked()
        every, base = self.under_schema(lambda schema: steps(request, self._plans, schema))
        refuse_misplaced(every, inside=self.transaction is not None, ended=self._ended_early)
        result = empty_result()
        while every:
            until = until_alone(every)
            part = every[:until]
            result = (self._opening(part, base) if opens else self._part(part, base)) if part else result
            if until == len(every):
                break
            step = every[until]
            result = self._change_schema(step) if changes_schema_by(step) else self.control(step)
            base = self._base()
            every = self.steps(request, base, every[until].index + 1) if every[until + 1 :] else []
        return result

    def under_schema(self, work: Callable[[StoredSchema], Made]) -> tuple[Made, Snapshot]:
        """What `work` makes of the schema in force, and the state that schema is of.

        The schema as it is known is tried first: what no schema could make right (D₂) is refused without a look at
        anything stored.
        """
        known = self._known()
        made: list[Made] = []
        refused: LanguageError | None = None
        if known is not None:
            try:
                made.append(work(self._schema_at(known)))
            except BoundaryViolation:
                raise
            except LanguageError as error:
                refused = error
        base = self._base()
        if known is None or self.keeper.at(base).key != self.keeper.at(known).key:
            return work(self._schema_at(base)), base
        if refused is not None:
            raise refused
        return made[0], base

    def _known(self) -> Snapshot | None:
        """A state whose schema is known without looking."""
        if self.transaction is not None or self._pinned is not None:
            return self._base()
        kept = self.world.manifest.kept(self.branch)
        return kept.snapshot if kept is not None and self.keeper.knows(kept.snapshot) else None

    def _base(self) -> Snapshot:
        """The state that a text is compiled for: that of the open transaction, else the newest."""
        return self.transaction.snapshot if self.transaction is not None else self.snapshot()

    def _part(self, every: list[Step], base: Snapshot) -> Result:
        """Statements without a change of the schema between them; the first one sees the state it was compiled for."""
        changes = any(mutates(step.program.bound.statement) for step in every)
        if self.transaction is None and changes and len(every) > 1 and not any(delimits(step) for step in every):
            return self._unit(every)
        result = empty_result()
        for place, step in enumerate(every):
            result = self._one(step, base if place == 0 else None)
        return result

    def _opening(self, every: list[Step], base: Snapshot) -> Result:
        """The same, but the first mutation opens a transaction that stays open, unless a statement fails."""
        result = empty_result()
        with ExitStack() as stack:
            for place, step in enumerate(every):
                if self.transaction is None and mutates(step.program.bound.statement):
                    opened = stack.enter_context(self._opened())
                    step = self._again(step, opened.snapshot)
                result = self._one(step, base if place == 0 else None)
        return result

    @contextmanager
    def _opened(self) -> Iterator[Transaction]:
        """A transaction of the session that outlives the block, unless that fails."""
        self._transaction, self._ended_early = self.begin(), False
        transaction = self._transaction
        try:
            yield transaction
        except BaseException:
            transaction.rollback()
            raise

    def many(self, request: Request, sets: Iterable[Given], *, opens: bool = False) -> Result:
        """Run a text once for every set of values, all or nothing: in the open transaction or one of its own, which
        stays open when the caller says so."""
        refuse_forked()
        if self.transaction is not None:
            return Result(empty_reader(), counts=self.transaction.many(request, sets))
        if opens:
            with self._opened() as transaction:
                return Result(empty_reader(), counts=transaction.many(request, sets))
        with self.begin() as alone:
            counts = alone.many(request, sets)
            return Result(empty_reader(), counts=counts, receipt=alone.commit())

    def _one(self, step: Step, base: Snapshot | None) -> Result:
        if isinstance(step.program.plan, Control):
            return self.control(step)
        if self.transaction is not None:
            return self.transaction.step(step)
        return self._write(step) if mutates(step.program.bound.statement) else self._read(step, base)

    def _unit(self, every: list[Step]) -> Result:
        with self.begin("script") as unit:
            result = empty_result()
            for step in every:
                result = unit.step(step)
            # Rows that fail while they are read must fail before the commit.
            rows = result.arrow()
            receipt = unit.commit()
        return _receipt_result(rows.to_reader(), receipt)

    def _scene(self, step: Step, base: Snapshot) -> Scene:
        now = self.world.seams.clock.now()
        catalog, around = self.keeper.at(base).catalog, self.around(base)
        return Scene(self.world, base, catalog, now, None, step.values(), self.running(), around=around)

    def around(self, base: Snapshot) -> Surroundings:
        """What this session adds to a state of the graph."""
        settings, first = self.settings, self.first_settings
        return Surroundings(
            self.keeper.at(base).views, lambda: settings.shown(first), keeps_edges=settings.edge_delete == "restrict"
        )

    def _read(self, step: Step, base: Snapshot | None) -> Result:
        base = base or self.snapshot()
        fresh = self._again(step, base)
        return rows_of(fresh.program, self._scene(fresh, base))

    def _again(self, step: Step, base: Snapshot) -> Step:
        """The statement under the schema of a state, which may not be the one it was compiled for."""
        if self._schema_at(base).key == step.schema:
            return step
        return next(s for s in self.steps(step.request, base, step.skipped) if s.index == step.index)

    def _write(self, step: Step) -> Result:
        """One mutation in a commit of its own, prepared anew on a moved branch where that means the same."""
        self.refuse_read_only()
        branch = target_branch(step.program.plan) or self.branch
        if branch != self.branch and reads_session(step.program.plan):
            raise NotSupported(
                f"a change of branch {branch} reads tables of {self.branch}",
                at=step.request.place(),
                hint=f'name the branch of every table, as in "{branch}".Table, or copy the rows by way of a file',
            )
        returned: list[pa.Table | None] = [None]

        def fill(txn: WriteTxn, staging: MutationStaging) -> None:
            # The schema may have changed between two attempts, and with it the plan.
            fresh = self._again(step, txn.base)
            statement = fresh.program.bound.statement
            UnitKinds("statement").admit_kinds(kinds_of(statement), word_of(statement), step.request.place)
            catalog, around = txn.contract.catalog, self.around(txn.base)
            scene = Scene(
                self.world, txn.base, catalog, txn.now, staging, fresh.values(), self.running(), around=around
            )
            returned[0] = apply(fresh.program.plan, scene)

        receipt = write(self.world, lambda: self.keeper.contract(branch), branch, self.author, fill)
        return _receipt_result(labelled(returned[0], step.program.fields), receipt)

    # ---- control ----------------------------------------------------------------------------------------------

    def control(self, step: Step, inside: Transaction | None = None) -> Result:
        """A command, perhaps of an open transaction. Those that later versions carry out are refused by name."""
        plan = step.program.plan
        inside = inside or self.transaction
        if not isinstance(plan, Control):
            raise InternalError("only commands are controlled")
        match plan.command:
            case Begin():
                self._transaction, self._ended_early = self.begin(), False
                return empty_result()
            case Commit() | Rollback():
                return self._end(step, commits=isinstance(plan.command, Commit))
            case Explain(False, form) if plan.input is not None:
                return Result(pa.table({"plan": pa.array(explained(plan.input, form), pa.utf8())}).to_reader())
            case Explain(True, form) if plan.input is not None and not mutates(step.program.bound.statement):
                scene = inside.shown(step) if inside is not None else self._scene(step, self.snapshot())
                return Result(pa.table({"plan": pa.array(analyzed(plan.input, scene, form), pa.utf8())}).to_reader())
            case Show() | Describe() | Summarize():
                return self._answered(step, plan, inside)
            case _:
                return self._commanded(step, plan, inside)

    def _commanded(self, step: Step, plan: Control, inside: Transaction | None) -> Result:
        if inside is not None and stands_alone(plan.command):
            raise misplaced(step, f"{command_word(plan.command)} inside a transaction", "commit or roll back first")
        scene = inside.shown(step) if inside is not None else self._scene(step, self.snapshot())
        found = carried_out(plan.command, plan.input, scene, self)
        if found is None:
            message = f"{command_word(plan.command)} is understood and not carried out yet"
            raise NotSupported(message, at=step.request.place(), hint="the README says what works")
        return found

    def analyzed(self, request: Request) -> str:
        """What running a text came to, step by step. Raises NotSupported for one that changes something."""
        every = self.steps(request, self._base())
        shown = []
        for step in every:
            if isinstance(step.program.plan, Control) or mutates(step.program.bound.statement):
                raise NotSupported(
                    "only questions are run to be explained",
                    at=step.request.place(),
                    hint="explain without analyze shows the plan of a change",
                )
            inside = self.transaction
            scene = inside.shown(step) if inside is not None else self._scene(step, self.snapshot())
            shown.append("\n".join(analyzed(step.program.plan, scene)))
        return "\n\n".join(shown)

    def _change_schema(self, step: Step) -> Result:
        """A commit of its own; an open transaction is committed first."""
        self.refuse_read_only()
        transaction, self._transaction = self.transaction, None
        if transaction is not None:
            transaction.commit()
            self._ended_early = True

        def command_under(schema: StoredSchema) -> Command:
            fresh = steps(step.request, self._plans, schema, step.index)[0].program.plan
            assert isinstance(fresh, Control)
            return fresh.command

        place = step.request.place
        receipt = change_schema(self.world, self.keeper, self.branch, self.author, command_under, place)
        return _receipt_result(empty_reader(), receipt)

    def close(self) -> None:
        """Roll back what BEGIN opened."""
        if self._transaction is not None:
            self._transaction.rollback()

    def _answered(self, step: Step, plan: Control, inside: Transaction | None) -> Result:
        """The rows of SHOW, DESCRIBE or SUMMARIZE; inside a transaction with what is pending."""
        scene = inside.shown(step) if inside is not None else self._scene(step, self.snapshot())
        rows = answer(plan.command, plan.input, scene)
        return Result((rows if rows is not None else pa.table({})).to_reader())

    def _end(self, step: Step, *, commits: bool) -> Result:
        transaction, self._transaction = self.transaction, None
        if transaction is None and self._ended_early:
            self._ended_early = False
            return empty_result()
        if transaction is None:
            raise misplaced(step, "COMMIT" if commits else "ROLLBACK")
        if commits:
            return _receipt_result(empty_reader(), transaction.commit())
        transaction.rollback()
        return empty_result()


def _receipt_result(rows: pa.RecordBatchReader, receipt: Receipt) -> Result:
    return Result(rows, counts=Counts(receipt.affected_nodes, receipt.affected_edges), receipt=receipt)
