"""SQL mutations → bound mutations: UPDATE, DELETE, TRUNCATE here, INSERT and MERGE in modules of their own."""

from __future__ import annotations

from sqlglot import exp

from omnigraph_sql.base.catalog import DST, ID, SRC, EdgeType, NodeType, TableType
from omnigraph_sql.base.expr import Expr, Literal
from omnigraph_sql.bind.bound import (
    Assign,
    BoundDelete,
    BoundJoin,
    BoundMutation,
    BoundSource,
    BoundUpdate,
    JoinKind,
)
from omnigraph_sql.bind.sql_binder import SqlBinder, name_of
from omnigraph_sql.bind.sql_mutation_target import Target, bind_returning, bind_target, inline_ctes
from omnigraph_sql.bind.sql_scope import Scope
from omnigraph_sql.bind.sql_stored import stored
from omnigraph_sql.bind.sql_targets import as_table, column_like
from omnigraph_sql.grammar.ast.sql import Truncate


def bind_mutation(binder: SqlBinder, tree: exp.Expr | Truncate) -> BoundMutation:
    """Bind INSERT, UPDATE, DELETE, MERGE INTO or TRUNCATE. D₂ within a MERGE is checked here."""
    from omnigraph_sql.bind.sql_insert import bind_insert
    from omnigraph_sql.bind.sql_merge import bind_merge

    match tree:
        case Truncate():
            target = bind_target(binder, as_table(tree.table))
            returning = bind_returning(binder, tree.returning, target, target.scope)
            cascade = cascade_of(binder, target.type)
            return BoundDelete(target.type, target.variable, None, None, returning, cascade, target.at)
        case exp.Insert():
            return bind_insert(binder, tree)
        case exp.Update():
            return _update(binder, inline_ctes(binder, tree))
        case exp.Delete():
            return _delete(binder, inline_ctes(binder, tree))
        case exp.Merge():
            return bind_merge(binder, inline_ctes(binder, tree))
        case _:
            raise binder.unsupported("only INSERT, UPDATE, DELETE and MERGE change rows", tree)


def _update(binder: SqlBinder, tree: exp.Expr) -> BoundUpdate:
    _refuse_order_and_limit(binder, tree, "UPDATE")
    target = bind_target(binder, tree.this)
    clause = tree.args.get("from_")
    source, scope = _sources(binder, target, [clause.this] if clause is not None else [])
    pairs = assignment_pairs(binder, tree.expressions)
    assigns = bind_assignments(binder, target, pairs, scope)
    where = _where(binder, tree, scope)
    returning = bind_returning(binder, tree.args.get("returning"), target, scope)
    return BoundUpdate(target.type, target.variable, assigns, source, where, returning, target.at)


def _delete(binder: SqlBinder, tree: exp.Expr) -> BoundDelete:
    _refuse_order_and_limit(binder, tree, "DELETE")
    if tree.args.get("tables"):
        raise binder.unsupported("DELETE names one table", tree, "write DELETE FROM t USING others WHERE …")
    target = bind_target(binder, tree.this)
    source, scope = _sources(binder, target, tree.args.get("using") or [])
    where = _where(binder, tree, scope)
    returning = bind_returning(binder, tree.args.get("returning"), target, scope)
    cascade = cascade_of(binder, target.type)
    return BoundDelete(target.type, target.variable, source, where, returning, cascade, target.at)


def cascade_of(binder: SqlBinder, table: TableType) -> tuple[EdgeType, ...]:
    """Edges that go with deleted rows of `table`."""
    return binder.catalog.incident_edges(table.name) if isinstance(table, NodeType) else ()


def _refuse_order_and_limit(binder: SqlBinder, tree: exp.Expr, word: str) -> None:
    for name in ("order", "limit"):
        clause = tree.args.get(name)
        if clause:
            hint = f"choose the rows in a sub-query: {word} … WHERE id IN (SELECT id FROM … LIMIT n)"
            raise binder.unsupported(f"{word} has no {'ORDER BY' if name == 'order' else 'LIMIT'}", clause, hint)


def _sources(binder: SqlBinder, target: Target, trees: list[exp.Expr]) -> tuple[BoundSource | None, Scope]:
    """Everything FROM or USING adds, and the scope of the target and all of it."""
    source: BoundSource | None = None
    scope = target.scope
    for tree in trees:
        more, found = binder.bind_source(tree)
        source = more if source is None else BoundJoin(JoinKind.CROSS, source, more)
        scope = scope.joined(found)
    return source, scope


def _where(binder: SqlBinder, tree: exp.Expr, scope: Scope) -> Expr | None:
    clause = tree.args.get("where")
    return binder.bind_condition(clause.this, scope, "WHERE") if clause is not None else None


# ---- assignments ------------------------------------------------------------------------------------------------


def assignment_pairs(binder: SqlBinder, items: list[exp.Expr]) -> list[tuple[exp.Column, exp.Expr]]:
    """`a = 1, (b, c) = (2, 3)` as columns with values."""
    pairs: list[tuple[exp.Column, exp.Expr]] = []
    for item in items:
        if not isinstance(item, exp.EQ):
            raise binder.mismatch("SET takes assignments", item, "write column = value")
        left, right = item.this, item.expression
        lefts = left.expressions if isinstance(left, exp.Tuple) else [left.unnest()]
        rights = right.expressions if isinstance(left, exp.Tuple) and isinstance(right, exp.Tuple) else [right]
        if isinstance(left, exp.Tuple) and not isinstance(right, exp.Tuple):
            raise binder.unsupported("a list of columns takes a list of values", right, "assign the columns one by one")
        if len(lefts) != len(rights):
            raise binder.mismatch(f"{len(lefts)} columns are given {len(rights)} values", item)
        for column, value in zip(lefts, rights, strict=True):
            if not isinstance(column, exp.Column):
                raise binder.mismatch("only columns can be assigned", column, "write column = value")
            pairs.append((column, value))
    return pairs


def bind_assignments(
    binder: SqlBinder, target: Target, pairs: list[tuple[exp.Column, exp.Expr]], scope: Scope
) -> tuple[Assign, ...]:
    """The assignments of UPDATE, ON CONFLICT and MERGE, in text order."""
    done: dict[str, Assign] = {}
    for column, value in pairs:
        name = assigned_column(binder, target, column)
        if name in done:
            raise binder.mismatch(f"{target.type.name}.{name} is assigned twice", column)
        done[name] = Assign(name, bind_value(binder, target.type, name, value, scope, "SET"))
    return tuple(done.values())


def assigned_column(binder: SqlBinder, target: Target, column: exp.Column) -> str:
    """A column that may change: neither the id nor an end nor a member of the key."""
    qualifier = column.args.get("table")
    if qualifier is not None and not name_of(qualifier).matches(target.name):
        raise binder.mismatch(f"only columns of {target.name} can be assigned", column, "leave the qualifier out")
    table = target.type
    name = column_like(binder, table, name_of(column.this), column)
    refuse_fixed(binder, table, name, column)
    return name


def refuse_fixed(binder: SqlBinder, table: TableType, name: str, at: exp.Expr) -> None:
    again = "delete the row, then insert it anew"
    if name in table.key:
        message = f"{table.name}.{name} belongs to the key, from which the id is made; it cannot be updated"
        raise binder.mismatch(message, at, again)
    if name == ID:
        raise binder.mismatch(f"the id of {table.name} cannot be updated", at, again)
    if name in (SRC, DST) and table.property(name) is None:
        raise binder.mismatch(f"the ends of {table.name} cannot be updated", at, again)


def bind_value(binder: SqlBinder, table: TableType, name: str, value: exp.Expr, scope: Scope, clause: str) -> Expr:
    """One value for one column; DEFAULT is null."""
    column = table.column(name)
    assert column is not None
    if is_default(value):
        # The word leaves no place of its own in the tree: the row it stands in has one.
        return stored(binder, Literal(None, column.type), table, column, value.parent)
    return stored(binder, binder.bind_expr(value, scope, clause), table, column, value)


def is_default(value: exp.Expr) -> bool:
    if isinstance(value, exp.Column):
        bare = value.args.get("table") is None and not value.this.args.get("quoted")
        return bare and value.name.upper() == "DEFAULT"
    return isinstance(value, exp.Var) and value.name.upper() == "DEFAULT"
