"""CALL: the branch and maintenance statements as procedures, for tools that cannot send our own statements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from sqlglot import exp

from omnigraph_sql.base import commands
from omnigraph_sql.base.expr import Expr, Literal, Param
from omnigraph_sql.base.names import BranchName, PointKind
from omnigraph_sql.base.travel import HEAD, ReadPoint
from omnigraph_sql.base.types import BOOL, I64
from omnigraph_sql.bind.sql_binder import SqlBinder
from omnigraph_sql.bind.sql_constants import Wanted, constant
from omnigraph_sql.bind.sql_control_branches import dropped, merged, started
from omnigraph_sql.bind.sql_targets import branch_text, known_table
from omnigraph_sql.grammar.ast import sql as ast


@dataclass(frozen=True, slots=True)
class _Given:
    """The arguments of one call by their names; those left out are absent."""

    binder: SqlBinder
    values: dict[str, Expr]
    places: dict[str, exp.Expr]

    def text(self, name: str) -> str | None:
        value = self.values.get(name)
        return str(value.value) if isinstance(value, Literal) else None

    def branch(self, name: str) -> BranchName:
        text = self.text(name)
        assert text is not None
        return branch_text(self.binder, text, self.places[name])

    def flag(self, name: str) -> bool:
        value = self.values.get(name)
        return isinstance(value, Literal) and bool(value.value)

    def table(self, name: str) -> str | None:
        text = self.text(name)
        if text is None:
            return None
        span = self.binder.span_of(self.places[name])
        ident = ast.Ident(text, False, span)
        return known_table(self.binder, ast.TableName(None, None, ident, span)).name


_Make: TypeAlias = Callable[[_Given], commands.Command]


@dataclass(frozen=True, slots=True)
class _Procedure:
    """`wanted` are the parameters in order; the first `required` of them must be given."""

    wanted: tuple[tuple[str, Wanted], ...]
    required: int
    make: _Make


def _create(given: _Given) -> commands.Command:
    start = HEAD if "from" not in given.values else ReadPoint(PointKind.BRANCH, branch=given.branch("from"))
    at = given.binder.span_of(given.places["name"])
    return started(given.binder, given.branch("name"), given.flag("if_not_exists"), start, at)


def _drop(given: _Given) -> commands.Command:
    at = given.binder.span_of(given.places["name"])
    return dropped(given.binder, given.branch("name"), given.flag("if_exists"), at)


def _merge(given: _Given) -> commands.Command:
    into = given.branch("into") if "into" in given.values else None
    at = given.binder.span_of(given.places["source"])
    return merged(given.binder, given.branch("source"), into, given.flag("delete_source"), at)


def _use(given: _Given) -> commands.Command:
    return commands.UseBranch(given.branch("name"))


def _optimize(given: _Given) -> commands.Command:
    return commands.Optimize(given.table("table"))


def _vacuum(given: _Given) -> commands.Command:
    return commands.Vacuum(given.table("table"), given.values.get("retain"))


_TEXT, _FLAG, _COUNT = Wanted(), Wanted(BOOL), Wanted(I64, 0)
_DROP_BRANCH = _Procedure((("name", _TEXT), ("if_exists", _FLAG)), 1, _drop)
_PROCEDURES: Final[dict[str, _Procedure]] = {
    "omni_branch_create": _Procedure((("name", _TEXT), ("from", _TEXT), ("if_not_exists", _FLAG)), 1, _create),
    "omni_branch_drop": _DROP_BRANCH,
    "omni_branch_delete": _DROP_BRANCH,
    "omni_branch_merge": _Procedure((("source", _TEXT), ("into", _TEXT), ("delete_source", _FLAG)), 1, _merge),
    "omni_branch_use": _Procedure((("name", _TEXT),), 1, _use),
    "omni_optimize": _Procedure((("table", _TEXT),), 0, _optimize),
    "omni_vacuum": _Procedure((("table", _TEXT), ("retain", _COUNT)), 0, _vacuum),
}


def call(binder: SqlBinder, statement: ast.Call) -> commands.Command:
    """The command the procedure stands for; with parameters among its arguments, the call itself."""
    name = statement.function.text.casefold()
    procedure = _PROCEDURES.get(name)
    if procedure is None:
        hint = f"procedures are {', '.join(_PROCEDURES)}"
        raise binder.unknown("procedure", statement.function.text, statement.function, _PROCEDURES, hint)
    given = _arguments(binder, statement, name, procedure)
    if any(isinstance(value, Param) for value in given.values.values()):
        return _late(binder, statement, name, procedure, given)
    return procedure.make(given)


def _late(
    binder: SqlBinder, statement: ast.Call, name: str, procedure: _Procedure, given: _Given
) -> commands.CallProcedure:
    ordered = [given.values[word] for word, _ in procedure.wanted if word in given.values]
    leading = [word for word, _ in procedure.wanted][: len(ordered)]
    if set(leading) != set(given.values):
        hint = "give the arguments in order and leave none out between"
        raise binder.unsupported("a call with parameters has its arguments in order", statement.function, hint)
    return commands.CallProcedure(name, tuple(ordered))


def _arguments(binder: SqlBinder, statement: ast.Call, name: str, procedure: _Procedure) -> _Given:
    given = _Given(binder, {}, {})
    wanted = dict(procedure.wanted)
    for place, node in enumerate(statement.args):
        word, value = _named(binder, node, place, name, procedure)
        if word in given.values:
            raise binder.mismatch(f"{name} gets {word} twice", node)
        given.values[word] = constant(binder, value, wanted[word], word)
        given.places[word] = value
    for word, _ in procedure.wanted[: procedure.required]:
        if word not in given.values:
            signature = ", ".join(word for word, _ in procedure.wanted)
            raise binder.mismatch(f"{name} needs {word}", statement.function, f"write CALL {name}({signature})")
    return given


def _named(binder: SqlBinder, node: exp.Expr, place: int, name: str, procedure: _Procedure) -> tuple[str, exp.Expr]:
    words = [word for word, _ in procedure.wanted]
    if isinstance(node, exp.Kwarg | exp.PropertyEQ):
        word = node.this.name.casefold()
        if word not in words:
            raise binder.unknown("argument", node.this.name, node, words, f"{name} takes {', '.join(words)}")
        return word, node.expression
    if place >= len(words):
        raise binder.mismatch(f"{name} takes at most {len(words)} arguments", node)
    return words[place], node
