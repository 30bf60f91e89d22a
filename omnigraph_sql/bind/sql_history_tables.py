"""History in FROM: what changed between two points, and what a merge would do or could not do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from omnigraph_sql.base.catalog import TableType
from omnigraph_sql.base.expr import Column, Expr, Literal, walk
from omnigraph_sql.base.schema import Field
from omnigraph_sql.base.types import (
    ANY,
    DATE,
    DATETIME,
    STRING,
    DataType,
    StructType,
    is_integer,
    is_open,
    is_text,
    type_text,
)
from omnigraph_sql.bind.bound import BoundFunctionTable, BoundSource
from omnigraph_sql.bind.sql_binder import SqlBinder
from omnigraph_sql.bind.sql_scope import RangeTable, Scope
from omnigraph_sql.bind.sql_table_alias import alias_of, renamed


@dataclass(frozen=True, slots=True)
class _History:
    """A call: how it is written, and what each argument is (`type`, `point`, `branch`); `least` of them are needed."""

    usage: str
    arguments: tuple[str, ...]
    least: int


HISTORY: Final = {
    "graph_changes": _History("graph_changes(from, to [, 'Type'])", ("point", "point", "type"), 2),
    "table_changes": _History("table_changes('Type', from, to)", ("type", "point", "point"), 3),
    "graph_merge_preview": _History("graph_merge_preview('source', 'target')", ("branch", "branch"), 2),
    "graph_conflicts": _History("graph_conflicts()", (), 0),
}

_CHANGE: Final = (
    Field("kind", STRING, False),
    Field("type", STRING, False),
    Field("id", STRING, False),
    Field("op", STRING, False),
)


def bind_history(
    binder: SqlBinder, tree: exp.Expr, call: exp.Expr, name: str, around: Scope
) -> tuple[BoundSource, Scope]:
    """The function `name` with its columns; rows are typed when the call names their type, else known at run time."""
    history = HISTORY[name]
    nodes = _arguments(binder, call, name)
    of: TableType | None = None
    arguments: list[Expr] = []
    for role, node in zip(history.arguments, nodes, strict=False):
        if role == "type":
            of = _type(binder, node, name)
            arguments.append(Literal(of.name, STRING))
        else:
            arguments.append(_point(binder, node, name, role, around))
    alias = alias_of(tree)
    fields = _fields(name, of)
    names = renamed(binder, alias, tuple(f.name for f in fields))
    made = tuple(Field(column, f.type, f.nullable) for column, f in zip(names, fields, strict=True))
    variable = binder.fresh(alias.name or name)
    lateral = any(isinstance(part, Column) for a in arguments for part in walk(a))
    source = BoundFunctionTable(variable, name, tuple(arguments), made, lateral)
    return source, Scope(around.parent, [RangeTable.of_fields(alias.name or name, variable, made)])


def _arguments(binder: SqlBinder, call: exp.Expr, name: str) -> list[exp.Expr]:
    history = HISTORY[name]
    nodes = list(call.expressions)
    for node in nodes:
        if isinstance(node, exp.Kwarg):
            raise binder.mismatch(f"{name} has no named arguments", node, f"write {history.usage}")
    if not history.least <= len(nodes) <= len(history.arguments):
        raise binder.mismatch(f"{name} is called with {len(nodes)} arguments", call, f"write {history.usage}")
    return nodes


def _type(binder: SqlBinder, node: exp.Expr, name: str) -> TableType:
    """A type of the graph, named as itself or in a string."""
    made: exp.Identifier | None = None
    if isinstance(node, exp.Literal) and node.is_string:
        made = exp.Identifier(this=node.name, quoted=False)
        made.meta.update(node.meta)
    elif isinstance(node, exp.Column) and len(node.parts) == 1 and isinstance(node.this, exp.Identifier):
        made = node.this.copy()
    if made is None:
        raise binder.mismatch(f"{name} takes the name of a table here", node, f"write {HISTORY[name].usage}")
    return binder.resolve_table(exp.Table(this=made))[0]


def _point(binder: SqlBinder, node: exp.Expr, name: str, role: str, around: Scope) -> Expr:
    """A version, a commit, a branch or an instant; a branch is a text."""
    value = binder.bind_expr(node, around, name)
    if role == "branch":
        value = binder.infer(value, STRING)
    fits = is_text(value.type) or is_open(value.type)
    if role == "point":
        fits = fits or is_integer(value.type) or value.type in (DATE, DATETIME)
    if not fits:
        what = "the name of a branch" if role == "branch" else "a version, a commit, a branch or an instant"
        raise binder.mismatch(f"{name} takes {what}, not a {type_text(value.type)}", node)
    return value


# ---- columns ----------------------------------------------------------------------------------------------------


def _fields(name: str, of: TableType | None) -> tuple[Field, ...]:
    row = _row(of)
    match name:
        case "graph_changes":
            return (*_CHANGE, Field("before", row, True), Field("after", row, True))
        case "table_changes":
            assert of is not None
            return (Field("change_type", STRING, False), *of.schema.fields)
        case "graph_merge_preview":
            return (*_CHANGE, Field("conflict", STRING, True), Field("before", row, True), Field("after", row, True))
        case _:
            sides = (Field(side, row, True) for side in ("base", "ours", "theirs"))
            return (*_CHANGE[:3], Field("message", STRING, True), *sides)


def _row(of: TableType | None) -> DataType:
    return ANY if of is None else StructType(tuple((f.name, f.type) for f in of.schema.fields))
