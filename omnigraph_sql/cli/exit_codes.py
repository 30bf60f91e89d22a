"""What the exit code of the process says, decided in one place."""

from __future__ import annotations

from enum import IntEnum

from omnigraph_sql.base.errors import ConflictError, Interrupted, OmniError, PreconditionFailed, StorageError


class ExitCode(IntEnum):
    """A script repeats the command on RETRY and on nothing else."""

    OK = 0
    REFUSED = 1
    USAGE = 2
    RETRY = 3
    PRECONDITION = 4
    INTERRUPTED = 130


def exit_code(error: OmniError) -> ExitCode:
    """The code for an error. Whatever repeating cannot mend, or might do twice, is REFUSED.

    A conflict with a code of its own (`exists`, `read_only`, `drift`…) is about a state that does not go away.
    """
    match error:
        case Interrupted() | StorageError(kind="interrupted"):
            return ExitCode.INTERRUPTED
        case PreconditionFailed():
            return ExitCode.PRECONDITION
        case ConflictError(code="conflict" | "read_set_changed") | StorageError(kind="transient" | "unknown"):
            return ExitCode.RETRY
        case _:
            return ExitCode.REFUSED
