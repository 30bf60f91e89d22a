"""The statements of one text: which commit together, which stand alone, and which do not fit."""

from __future__ import annotations

import re

from omnigraph_sql.base.commands import Begin, Command, Commit, Rollback, SetOption
from omnigraph_sql.base.errors import BoundaryViolation
from omnigraph_sql.bind.boundaries import mutates
from omnigraph_sql.plan.mutations import Control
from omnigraph_sql.run.schema import changes_schema
from omnigraph_sql.session_commands import stands_alone
from omnigraph_sql.statements import Step


def refuse_misplaced(every: list[Step], *, inside: bool, ended: bool) -> None:
    """Before anything runs: a text whose BEGIN and COMMIT do not fit must not be half carried out.

    `inside`: a transaction is open; `ended`: one was, until a change of the schema committed it.
    """
    for step in every:
        match step.program.plan:
            case Control(command=Begin()) if inside:
                raise misplaced(step, "BEGIN inside a transaction")
            case Control(command=Begin()):
                inside, ended = True, False
            case Control(command=Commit() | Rollback() as command) if not inside and not ended:
                raise misplaced(step, type(command).__name__.upper())
            case Control(command=Commit() | Rollback()):
                inside = ended = False
            case Control(command=command) if inside and stands_alone(command):
                raise misplaced(step, f"{command_word(command)} inside a transaction", "COMMIT or ROLLBACK first")
            case Control(command=command) if changes_schema(command):
                inside, ended = False, ended or inside
            case _:
                pass


def misplaced(step: Step, what: str, hint: str = "write BEGIN … COMMIT") -> BoundaryViolation:
    return BoundaryViolation(f"{what} has no place here", at=step.request.place(), hint=hint)


def command_word(command: Command) -> str:
    """CreateBranch is called "create branch": close enough to what was written, and one rule for all."""
    return re.sub(r"(?<!^)(?=[A-Z])", " ", type(command).__name__).lower()


def until_alone(every: list[Step]) -> int:
    """How many statements come before one that is carried out between two parts of a text.

    A setting is such a one unless something was changed before it: what changes in one text commits as one.
    """
    changed = False
    for place, step in enumerate(every):
        plan = step.program.plan
        if isinstance(plan, Control) and (changes_schema(plan.command) or stands_alone(plan.command)):
            return place
        if isinstance(plan, Control) and isinstance(plan.command, SetOption) and not changed:
            return place
        changed = changed or mutates(step.program.bound.statement)
    return len(every)


def changes_schema_by(step: Step) -> bool:
    plan = step.program.plan
    return isinstance(plan, Control) and changes_schema(plan.command)


def delimits(step: Step) -> bool:
    """BEGIN, COMMIT and ROLLBACK say themselves what commits together."""
    plan = step.program.plan
    return isinstance(plan, Control) and isinstance(plan.command, Begin | Commit | Rollback)
