"""UNION, INTERSECT, EXCEPT and VALUES."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from omnigraph_sql.base.expr import Column, Expr, Param, null_literal
from omnigraph_sql.base.schema import Field, Schema
from omnigraph_sql.base.types import NULL, DataType, common_type, is_open
from omnigraph_sql.bind.bound import BoundDerived, BoundItem, BoundQuery, BoundSelect, BoundSetOperation, BoundValues
from omnigraph_sql.bind.sql_binder import SqlBinder
from omnigraph_sql.bind.sql_clauses import refuse_clauses
from omnigraph_sql.bind.sql_scope import Scope
from omnigraph_sql.bind.sql_types import declared

_SET: Final = frozenset({"with_", "this", "expression", "distinct", "by_name", "order", "limit", "offset"})
_OWN: Final = ("with_", "order", "limit", "offset")


@dataclass(frozen=True, slots=True)
class Side:
    """A query of a set operation and the tree it comes from."""

    query: BoundQuery
    tree: exp.Expr


def bind_set(binder: SqlBinder, tree: exp.SetOperation, outer: Scope | None) -> BoundQuery:
    """A chain of set operations, without the order and limit of the whole. Chains lean left and may be long."""
    chain = [tree]
    while _continues(chain[-1].this):
        chain.append(chain[-1].this)
    left = binder.bind_query(chain[-1].this, outer)
    for operation in reversed(chain):
        refuse_clauses(binder, operation, _SET)
        right = Side(binder.bind_query(operation.expression, outer), operation.expression)
        left = combined(binder, operation, left, right)
    return left


def _continues(tree: exp.Expr) -> bool:
    return isinstance(tree, exp.SetOperation) and not any(tree.args.get(key) for key in _OWN)


def word_of(tree: exp.SetOperation) -> str:
    return {exp.Union: "union", exp.Intersect: "intersect", exp.Except: "except"}.get(type(tree), "union")


def combined(binder: SqlBinder, tree: exp.SetOperation, left: BoundQuery, right: Side) -> BoundQuery:
    """Both sides as one query; names come from the left."""
    op = word_of(tree)
    other = right.query
    if tree.args.get("by_name"):
        if op != "union":
            raise binder.unsupported(f"{op.upper()} BY NAME is not supported", right.tree, "list the columns in order")
        left, other = _by_name(binder, left, right)
    if len(left.schema) != len(other.schema):
        words = f"{len(left.schema)} on the left and {len(other.schema)} on the right"
        hint = "select the same number on both sides, or write UNION BY NAME"
        raise binder.mismatch(f"{op.upper()} needs equally many columns, there are {words}", right.tree, hint)
    fields = tuple(
        Field(a.name, _common(binder, number, op, a, b, right.tree), a.nullable or b.nullable)
        for number, (a, b) in enumerate(zip(left.schema.fields, other.schema.fields, strict=True), 1)
    )
    body = BoundSetOperation(op, not tree.args.get("distinct"), left, other, Schema(fields))
    return BoundQuery(body, labels=labels_of(left), outer_columns=left.outer_columns | other.outer_columns)


def labels_of(query: BoundQuery) -> tuple[str, ...]:
    return query.labels or query.schema.order


def _common(binder: SqlBinder, number: int, op: str, left: Field, right: Field, at: exp.Expr) -> DataType:
    of = common_type(left.type, right.type)
    if of is None:
        words = f"{declared(left.type)} on the left and {declared(right.type)} on the right"
        select = at.expressions[number - 1 : number] if isinstance(at, exp.Select) else []
        place = select[0] if select else at
        raise binder.mismatch(f"column {number} of {op.upper()} is {words}", place, "cast one of them")
    return of


def _by_name(binder: SqlBinder, left: BoundQuery, right: Side) -> tuple[BoundQuery, BoundQuery]:
    """Both sides with the columns of both, the left ones first; a missing one is null."""
    ours, theirs = labels_of(left), labels_of(right.query)
    for labels in (ours, theirs):
        folded = [label.casefold() for label in labels]
        twice = next((label for label in labels if folded.count(label.casefold()) > 1), None)
        if twice is not None:
            hint = "give one of them another name"
            raise binder.mismatch(f"UNION BY NAME meets two columns called {twice}", right.tree, hint)
    known = {label.casefold() for label in ours}
    names = (*ours, *(label for label in theirs if label.casefold() not in known))
    return _arranged(binder, left, names), _arranged(binder, right.query, names)


def _arranged(binder: SqlBinder, query: BoundQuery, names: tuple[str, ...]) -> BoundQuery:
    if labels_of(query) == names:
        return query
    variable = binder.fresh("subquery")
    fields = {label.casefold(): f for label, f in zip(labels_of(query), query.schema.fields, strict=True)}
    items: list[BoundItem] = []
    for name in names:
        of = fields.get(name.casefold())
        expr: Expr = null_literal()
        if of is not None:
            expr = Column(f"{variable}.{of.name}", of.type, of.nullable)
        items.append(BoundItem(name, expr))
    source = BoundDerived(variable, query.schema.order, query)
    return BoundQuery(BoundSelect(tuple(items), source), labels=names, outer_columns=query.outer_columns)


# ---- values -----------------------------------------------------------------------------------------------------


def bind_values(binder: SqlBinder, tree: exp.Values, outer: Scope | None) -> BoundQuery:
    """Rows of constants; the columns are called column1, column2 … as in PostgreSQL."""
    rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in tree.expressions]
    if not rows or not rows[0]:
        raise binder.mismatch("VALUES needs at least one row and one column", tree)
    width = len(rows[0])
    for row, node in zip(rows, tree.expressions, strict=True):
        if len(row) != width:
            words = f"the first has {width}, this one {len(row)}"
            raise binder.mismatch(f"every row of VALUES has equally many columns; {words}", node)
    scope = Scope(outer)
    cells = [[binder.bind_expr(cell, scope, "VALUES") for cell in row] for row in rows]
    types = [_column_type(binder, cells, rows, at) for at in range(width)]
    typed = tuple(tuple(map(binder.infer, row, types)) for row in cells)
    fields = tuple(Field(f"column{at + 1}", of, any(row[at].nullable for row in typed)) for at, of in enumerate(types))
    body = BoundValues(fields, typed)
    return BoundQuery(body, labels=body.schema.order, outer_columns=frozenset(scope.outer))


def _column_type(binder: SqlBinder, cells: list[list[Expr]], rows: list[list[exp.Expr]], at: int) -> DataType:
    """What all rows share; a parameter whose type is not known yet takes that of its neighbours."""
    of: DataType = NULL
    waiting: list[DataType] = []
    for number, row in enumerate(cells):
        cell = row[at]
        if isinstance(cell, Param) and is_open(cell.type):
            waiting.append(cell.type)
            continue
        both = common_type(of, cell.type)
        if both is None:
            words = f"{declared(of)} above and {declared(cell.type)} here"
            raise binder.mismatch(f"column {at + 1} of VALUES is {words}", rows[number][at], "cast one of them")
        of = both
    return waiting[0] if of == NULL and waiting else of
