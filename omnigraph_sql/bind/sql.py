"""SQL statements and a catalog → bound programs; scripts, with D₂ over each of their units."""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Final

from sqlglot import exp

from omnigraph_sql.base import commands
from omnigraph_sql.base.catalog import Catalog
from omnigraph_sql.base.deep import with_room
from omnigraph_sql.base.errors import BoundaryViolation, NotSupported, OmniError
from omnigraph_sql.base.types import DataType
from omnigraph_sql.bind.bound import BoundControl, BoundProgram, BoundStatement
from omnigraph_sql.bind.boundaries import UnitKinds, ends_unit
from omnigraph_sql.bind.sql_binder import SqlBinder, SqlOptions
from omnigraph_sql.bind.sql_control import bind_control
from omnigraph_sql.bind.sql_evolve import catalog_after, options_after
from omnigraph_sql.bind.sql_mutation import bind_mutation
from omnigraph_sql.bind.sql_parameters import ordered_parameters, refuse_odd_placeholders
from omnigraph_sql.grammar.ast.sql import CreateView, SqlStatement, Truncate

__all__ = ["GUARDED", "SqlOptions", "bind_script", "bind_statement"]

GUARDED: Final[ContextVar[bool]] = ContextVar("GUARDED", default=True)
"""Whether a fault of the binder reaches the caller as NotSupported; tests turn it off to see the fault itself."""

_EXTRA_ROUNDS: Final = 2
"""A parameter's type may be learnt behind its first use; more than one chain of such uses is rare."""


def bind_statement(statement: SqlStatement, catalog: Catalog, options: SqlOptions | None = None) -> BoundProgram:
    """Bind one statement. Raises a LanguageError that says where, and nothing else."""
    try:
        return with_room(lambda: _bind(statement, catalog, options or SqlOptions()))
    except (OmniError, RecursionError):  # whoever compiles tries again with a larger stack
        raise
    except Exception as fault:
        if not GUARDED.get():
            raise
        raise NotSupported(
            "this statement is understood by the parser but not carried out",
            at=statement.source.locate(statement.span),
            hint="write it in another way",
        ) from fault


def _bind(statement: SqlStatement, catalog: Catalog, options: SqlOptions) -> BoundProgram:
    refuse_odd_placeholders(statement)
    known: dict[str, DataType] = {}
    for _ in range(1 + _EXTRA_ROUNDS):
        binder = SqlBinder(catalog, statement.source, statement.span, options, statement.placeholders, known)
        bound = _explained(binder, statement)
        known = binder.stale_parameters()
        if not known:
            break
    return BoundProgram(bound, ordered_parameters(statement, binder.parameters))


def _explained(binder: SqlBinder, statement: SqlStatement) -> BoundStatement:
    bound = _dispatch(binder, statement)
    explain = statement.explain
    if explain is None:
        return bound
    if explain.analyze and isinstance(bound, BoundControl):
        hint = "leave ANALYZE out, or run the statement itself"
        raise binder.unsupported("EXPLAIN ANALYZE runs queries and changes of rows only", explain.span, hint)
    return BoundControl(commands.Explain(explain.analyze, explain.format), bound)


def _dispatch(binder: SqlBinder, statement: SqlStatement) -> BoundStatement:
    tree = statement.tree
    if isinstance(tree, Truncate | exp.Insert | exp.Update | exp.Delete | exp.Merge):
        return bind_mutation(binder, tree)
    if isinstance(tree, CreateView) and statement.placeholders:
        hint = "write the value into the view, or filter where the view is used"
        raise binder.unsupported("a view has no parameters", statement.placeholders[0].span, hint)
    if not isinstance(tree, exp.Expr):
        return bind_control(binder, tree)
    if isinstance(tree, exp.Pivot):
        hint = "use GROUP BY with FILTER: sum(x) FILTER (WHERE kind = 'a')"
        raise binder.unsupported("PIVOT and UNPIVOT are not supported", tree, hint)
    return binder.bind_query(tree)


# ---- scripts ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Progress:
    """What the statements of a script so far have left behind."""

    catalog: Catalog
    options: SqlOptions
    unit: UnitKinds
    in_transaction: bool = False


def bind_script(
    statements: Iterable[SqlStatement], catalog: Catalog, options: SqlOptions | None = None, *, unit: str = "script"
) -> tuple[BoundProgram, ...]:
    """Bind the statements of one text, each against what those before it leave behind.

    The script commits as one unit called `unit`. BEGIN … COMMIT within it is a unit of its own; a command that commits
    (of the schema, of branches) ends the unit that is open. Raises BoundaryViolation (D2) where a unit mixes kinds.
    """
    at = _Progress(catalog, options or SqlOptions(), UnitKinds(unit))
    programs: list[BoundProgram] = []
    for statement in statements:
        program = bind_statement(statement, at.catalog, at.options)
        at = _admitted(at, statement, program.statement, unit)
        at = _evolved(at, program.statement, options or SqlOptions())
        programs.append(program)
    return tuple(programs)


def _admitted(at: _Progress, statement: SqlStatement, bound: BoundStatement, name: str) -> _Progress:
    if not ends_unit(bound):
        place = statement.source.locate(statement.span)
        return replace(at, unit=at.unit.admit(bound, place))
    assert isinstance(bound, BoundControl)
    if not isinstance(bound.command, commands.Begin):
        return replace(at, unit=UnitKinds(name), in_transaction=False)
    place = statement.source.locate(statement.span)
    if at.in_transaction:
        hint = "COMMIT or ROLLBACK the open one first"
        raise BoundaryViolation("a transaction is open already", at=place, hint=hint)
    return replace(at, unit=UnitKinds(f"the transaction of line {place.line}"), in_transaction=True)


def _evolved(at: _Progress, bound: BoundStatement, first: SqlOptions) -> _Progress:
    if not isinstance(bound, BoundControl):
        return at
    catalog = catalog_after(bound.command, at.catalog)
    return replace(at, catalog=catalog, options=options_after(bound.command, at.options, first))
