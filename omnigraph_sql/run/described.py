"""The columns of a statement, known before it runs."""

from __future__ import annotations

import pyarrow as pa

from omnigraph_sql.base.commands import Command, CopyTo, Describe, Explain, ExportGraph, Show, Summarize
from omnigraph_sql.base.schema import Field
from omnigraph_sql.base.types import arrow_type
from omnigraph_sql.plan.compile import Program
from omnigraph_sql.plan.mutations import Control
from omnigraph_sql.run.control import DESCRIPTION, SUMMARY, shown_fields
from omnigraph_sql.run.scalars import is_known

_COUNT = pa.schema([("count", pa.int64())])
_PLAN = pa.schema([("plan", pa.utf8())])


def described(program: Program) -> pa.Schema:
    """Names and types; the type is null where only the run shows it. Empty for a statement that gives no rows."""
    if isinstance(program.plan, Control):
        return _of_command(program.plan.command)
    return _schema(program.fields)


def _of_command(command: Command) -> pa.Schema:
    match command:
        case Show():
            return _schema(shown_fields(command))
        case Describe():
            return DESCRIPTION
        case Summarize():
            return SUMMARY
        case Explain():
            return _PLAN
        case CopyTo() | ExportGraph():
            return _COUNT
        case _:
            return pa.schema([])


def _schema(fields: tuple[Field, ...]) -> pa.Schema:
    return pa.schema([pa.field(f.name, arrow_type(f.type) if is_known(f.type) else pa.null()) for f in fields])
