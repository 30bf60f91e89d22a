"""D₂: whatever commits as one unit either builds (insert, update) or tears down (delete), never both.

The rule looks at the kinds of statements alone, so it is decided before anything is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, assert_never

from omnigraph_sql.base import commands
from omnigraph_sql.base.commands import CopyFrom, Explain, ImportGraph
from omnigraph_sql.base.errors import BoundaryViolation, Location
from omnigraph_sql.bind.bound import (
    BoundControl,
    BoundDelete,
    BoundInsert,
    BoundMerge,
    BoundQuery,
    BoundStatement,
    BoundUnit,
    BoundUpdate,
    MergeDo,
)

CODE: Final = "D2"
HINT: Final = "split it in two: first the inserts and updates, then the deletes"


_COMMITS_FIRST: Final = (
    commands.Begin,
    commands.Commit,
    commands.Rollback,
    commands.CreateNodeType,
    commands.CreateEdgeType,
    commands.DropType,
    commands.AlterType,
    commands.CreateIndex,
    commands.DropIndex,
    commands.CreateView,
    commands.DropView,
    commands.CreatePropertyGraph,
    commands.DropPropertyGraph,
    commands.CreateBranch,
    commands.DropBranch,
    commands.MergeBranch,
    commands.UseBranch,
    commands.Optimize,
    commands.Vacuum,
    commands.CallProcedure,
)


class MutationKind(StrEnum):
    CONSTRUCTIVE = "constructive"
    DESTRUCTIVE = "destructive"


CONSTRUCTIVE: Final = frozenset({MutationKind.CONSTRUCTIVE})
DESTRUCTIVE: Final = frozenset({MutationKind.DESTRUCTIVE})
BOTH: Final = CONSTRUCTIVE | DESTRUCTIVE
NEITHER: Final[frozenset[MutationKind]] = frozenset()


@dataclass(frozen=True, slots=True)
class Part:
    """One statement of a unit: its 1-based number and its word, for messages."""

    number: int
    word: str

    def __str__(self) -> str:
        return f"statement {self.number} ({self.word})"


def kinds_of(statement: BoundStatement) -> frozenset[MutationKind]:
    """What a statement does to rows: nothing, building, tearing down, or (a merge, a unit) both."""
    match statement:
        case BoundQuery():
            return NEITHER
        case BoundInsert() | BoundUpdate():
            return CONSTRUCTIVE
        case BoundDelete():
            return DESTRUCTIVE
        case BoundMerge():
            return _merge_kinds(statement)
        case BoundUnit():
            return NEITHER.union(*(kinds_of(mutation) for mutation in statement.mutations))
        case BoundControl():
            return _control_kinds(statement)
        case _:
            assert_never(statement)


def mutates(statement: BoundStatement) -> bool:
    """Whether a statement is carried out as a mutation. A merge is one even when all its arms do nothing."""
    return isinstance(statement, BoundMerge) or bool(kinds_of(statement))


def _merge_kinds(merge: BoundMerge) -> frozenset[MutationKind]:
    kinds = NEITHER
    for arm in merge.arms:
        if arm.do is MergeDo.DELETE:
            kinds |= DESTRUCTIVE
        elif arm.do is not MergeDo.NOTHING:
            kinds |= CONSTRUCTIVE
    return kinds


def _control_kinds(control: BoundControl) -> frozenset[MutationKind]:
    # A load that overwrites replaces tables in a commit of its own; as a part of a unit it builds.
    if isinstance(control.command, CopyFrom | ImportGraph):
        return CONSTRUCTIVE
    runs_input = isinstance(control.command, Explain) and control.command.analyze
    return kinds_of(control.input) if runs_input and control.input is not None else NEITHER


def ends_unit(statement: BoundStatement) -> bool:
    """Whether the unit that is open is over before this statement: it commits, undoes, or works on another branch."""
    if not isinstance(statement, BoundControl):
        return False
    command = statement.command
    switches = isinstance(command, commands.SetOption) and command.name == "branch"
    return switches or isinstance(command, _COMMITS_FIRST)


def word_of(statement: BoundStatement) -> str:
    """The word a statement is called by in messages."""
    match statement:
        case BoundQuery():
            return "query"
        case BoundInsert():
            return "insert"
        case BoundUpdate():
            return "update"
        case BoundDelete():
            return "delete"
        case BoundMerge():
            return "merge"
        case BoundUnit():
            return f"query {statement.name}"
        case BoundControl():
            return "load" if kinds_of(statement) else "command"
        case _:
            assert_never(statement)


@dataclass(frozen=True, slots=True)
class UnitKinds:
    """What an open unit has done so far. Refusing a statement changes nothing: the unit stays as it was."""

    name: str
    statements: int = 0
    constructive: Part | None = None
    destructive: Part | None = None

    def admit(self, statement: BoundStatement, at: Location) -> UnitKinds:
        """The unit with one more statement. Raises BoundaryViolation (D2) for the one that would mix the kinds."""
        return self.admit_kinds(kinds_of(statement), word_of(statement), lambda: at)

    def admit_kinds(self, kinds: frozenset[MutationKind], word: str, at: Callable[[], Location]) -> UnitKinds:
        """The same for a statement that is not bound yet; its place is asked for only when it is refused."""
        part = Part(self.statements + 1, word)
        builds = part if MutationKind.CONSTRUCTIVE in kinds else None
        tears = part if MutationKind.DESTRUCTIVE in kinds else None
        grown = replace(
            self,
            statements=part.number,
            constructive=self.constructive or builds,
            destructive=self.destructive or tears,
        )
        if grown.constructive is not None and grown.destructive is not None:
            raise _mixture(self.name, grown.constructive, grown.destructive, at())
        return grown


def _mixture(name: str, builds: Part, tears: Part, at: Location) -> BoundaryViolation:
    if builds == tears:
        message = f"D₂: {name}: {builds} both writes rows (constructive) and deletes rows (destructive)"
    else:
        said = sorted(((builds.number, f"{builds} is constructive"), (tears.number, f"{tears} is destructive")))
        pair = ", ".join(text for _, text in said)
        message = f"D₂: {name} mixes inserts or updates with deletes: {pair}"
    return BoundaryViolation(message, at=at, code=CODE, hint=HINT)


def check_unit(name: str, parts: Sequence[tuple[BoundStatement, Location]]) -> None:
    """Raise BoundaryViolation (D2) at the first statement that mixes the kinds of the unit."""
    unit = UnitKinds(name)
    for statement, at in parts:
        unit = unit.admit(statement, at)


def check_kinds(name: str, parts: Iterable[tuple[frozenset[MutationKind], str, Callable[[], Location]]]) -> None:
    """The same check over kinds and words, for a text whose statements are not bound yet."""
    unit = UnitKinds(name)
    for kinds, word, at in parts:
        unit = unit.admit_kinds(kinds, word, at)
