"""Writes: `insert`, `update` and `delete` statements of one query become one unit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import assert_never

from omnigraph_sql.base.catalog import DST, ID, SRC, EdgeType, NodeType, Property, TableType
from omnigraph_sql.base.errors import Location, UnknownName
from omnigraph_sql.base.expr import Column, Expr, IsNull
from omnigraph_sql.base.schema import Field
from omnigraph_sql.base.types import BLOB
from omnigraph_sql.bind.bound import (
    Assign,
    BoundDelete,
    BoundInsert,
    BoundMutation,
    BoundQuery,
    BoundUnit,
    BoundUpdate,
    BoundValues,
    OnConflict,
)
from omnigraph_sql.bind.boundaries import CONSTRUCTIVE, DESTRUCTIVE, MutationKind, check_kinds
from omnigraph_sql.bind.gq_scope import Scope, Work
from omnigraph_sql.bind.gq_values import comparison, input_value, stored
from omnigraph_sql.grammar.ast import gq as ast

_ENDS = {"from": SRC, "to": DST}
_NOTHING_BOUND = Scope()
"""A write has no `match`: every variable is a parameter."""


def bind_write(work: Work, body: ast.WriteBody, name: str) -> BoundUnit:
    """All statements of the query. D₂ depends on their words alone and is decided before names are looked at."""
    check_kinds(f"query {name}", [_kind(work, statement) for statement in body.statements])
    return BoundUnit(name, tuple(_statement(work, statement) for statement in body.statements))


def _kind(work: Work, statement: ast.WriteStatement) -> tuple[frozenset[MutationKind], str, Callable[[], Location]]:
    at = partial(work.source.locate, statement.span)
    match statement:
        case ast.Insert():
            return CONSTRUCTIVE, "insert", at
        case ast.Update():
            return CONSTRUCTIVE, "update", at
        case ast.Delete():
            return DESTRUCTIVE, "delete", at
        case _:
            assert_never(statement)


def _statement(work: Work, statement: ast.WriteStatement) -> BoundMutation:
    match statement:
        case ast.Insert():
            return _insert(work, statement)
        case ast.Update():
            return _update(work, statement)
        case ast.Delete():
            return _delete(work, statement)
        case _:
            assert_never(statement)


def _table(work: Work, name: ast.Name) -> TableType:
    """A node type, else an edge type of this name."""
    found = work.catalog.node(name.text) or work.catalog.edge(name.text)
    if found is None:
        known = [t.name for t in work.catalog.tables()]
        raise work.unknown("T10", name.span, f"there is no type {name.text}", name.text, known)
    return found


# ---- assignments ------------------------------------------------------------------------------------------------


def _assigned(
    work: Work, of: TableType, name: ast.Name, assignments: tuple[ast.Assignment, ...]
) -> dict[str, tuple[ast.Assignment, Expr]]:
    """Physical column → assignment and value, as written."""
    if not assignments:
        raise work.wrong("T10", name.span, f"this statement assigns nothing to {of.name}")
    done: dict[str, tuple[ast.Assignment, Expr]] = {}
    for assignment in assignments:
        word = assignment.property
        column = _assigned_column(work, of, word)
        if column.name in done:
            raise work.wrong("T13", word.span, f"{of.name}.{word.text} is assigned twice")
        owner = f"{of.name}.{word.text}"
        value = input_value(work, _NOTHING_BOUND, assignment.value, column.type)
        made = stored(work, value, column.type, column.nullable, assignment.value.span, owner)
        done[column.name] = (assignment, made)
    return done


def _assigned_column(work: Work, of: TableType, word: ast.Name) -> Field:
    physical = _ENDS.get(word.text) if isinstance(of, EdgeType) else None
    if physical is None and of.property(word.text) is not None:
        physical = word.text
    column = of.column(physical) if physical is not None else None
    if column is None:
        raise _no_property(work, of, word)
    return column


def _no_property(work: Work, of: TableType, word: ast.Name) -> UnknownName:
    ends = list(_ENDS) if isinstance(of, EdgeType) else []
    known = [*ends, *(p.name for p in of.properties)]
    hint = "the ends of an edge are called from and to" if ends and word.text in (SRC, DST) else None
    return work.unknown("T11", word.span, f"{of.name} has no property {word.text}", word.text, known, hint=hint)


# ---- statements -------------------------------------------------------------------------------------------------


def _insert(work: Work, statement: ast.Insert) -> BoundInsert:
    of = _table(work, statement.type)
    assigned = _assigned(work, of, statement.type, statement.assignments)
    _refuse_missing(work, of, statement.type, set(assigned))
    columns = tuple(field.name for field in of.schema.fields if field.name in assigned)
    row = tuple(assigned[column][1] for column in columns)
    fields = tuple(Field(c, e.type, e.nullable) for c, e in zip(columns, row, strict=True))
    source = BoundQuery(BoundValues(fields, (row,)))
    on_conflict = OnConflict.REPLACE if of.key else OnConflict.ERROR
    return BoundInsert(of, of.name, columns, source, on_conflict)


def _refuse_missing(work: Work, of: TableType, name: ast.Name, assigned: set[str]) -> None:
    missing = [word for word, column in _ENDS.items() if isinstance(of, EdgeType) and column not in assigned]
    missing += [p.name for p in of.properties if _must_be_given(p, assigned)]
    if missing:
        raise work.wrong("T12", name.span, f"insert {of.name} leaves out {', '.join(missing)}, which cannot be null")


def _must_be_given(property: Property, assigned: set[str]) -> bool:
    if property.nullable or property.name in assigned:
        return False
    # A vector that is made from a text is made when the row is written.
    return property.embedding is None or property.embedding.source not in assigned


def _update(work: Work, statement: ast.Update) -> BoundUpdate:
    of = _table(work, statement.type)
    if not isinstance(of, NodeType):
        message = f"{of.name} is an edge type; edges are inserted and deleted, never updated"
        raise work.wrong("T16", statement.type.span, message, "delete the edge, then insert it again")
    assigned = _assigned(work, of, statement.type, statement.assignments)
    for column, (assignment, _) in assigned.items():
        if column in of.key:
            message = f"{of.name}.{column} belongs to the key, from which the id is made; it cannot be updated"
            raise work.wrong("T0", assignment.property.span, message, "delete the row, then insert it anew")
    where = _where(work, of, statement.where)
    assigns = tuple(Assign(column, value) for column, (_, value) in assigned.items())
    return BoundUpdate(of, of.name, assigns, where=where)


def _delete(work: Work, statement: ast.Delete) -> BoundDelete:
    of = _table(work, statement.type)
    where = _where(work, of, statement.where)
    cascade = work.catalog.incident_edges(of.name) if isinstance(of, NodeType) else ()
    return BoundDelete(of, of.name, where=where, cascade=cascade)


def _where(work: Work, of: TableType, test: ast.RowTest | ast.NullRowTest) -> Expr:
    column = _tested_column(work, of, test.property)
    if column.type == BLOB:
        message = f"{of.name}.{test.property.text} is a Blob and cannot be tested"
        raise work.wrong("T11", test.property.span, message)
    left = Column(f"{of.name}.{column.name}", column.type, column.nullable)
    if isinstance(test, ast.NullRowTest):
        work.extension(test.span, "is null")
        return IsNull(left, test.negated)
    value = input_value(work, _NOTHING_BOUND, test.value, column.type)
    return comparison(work, test.relation.value, left, value, (test.property.span, test.value.span))


def _tested_column(work: Work, of: TableType, word: ast.Name) -> Field:
    """As in assignments, and the id, by which a row without a key is found again."""
    if word.text == ID and work.options.extensions:
        column = of.column(ID)
        assert column is not None
        return column
    return _assigned_column(work, of, word)
