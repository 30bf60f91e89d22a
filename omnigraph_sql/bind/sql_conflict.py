"""What an INSERT does with a row whose key exists: ON CONFLICT, INSERT OR REPLACE, INSERT OR IGNORE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from omnigraph_sql.base.catalog import ID, TableType, Unique
from omnigraph_sql.base.expr import Expr
from omnigraph_sql.bind.bound import Assign, OnConflict
from omnigraph_sql.bind.sql_binder import SqlBinder, name_of
from omnigraph_sql.bind.sql_mutation import assignment_pairs, bind_assignments
from omnigraph_sql.bind.sql_mutation_target import Target
from omnigraph_sql.bind.sql_scope import MergedColumn, RangeTable, Scope
from omnigraph_sql.bind.sql_targets import column_like, listed

EXCLUDED: Final = "excluded"
"""How assignments call the row that was not inserted."""


@dataclass(frozen=True, slots=True)
class Conflict:
    do: OnConflict = OnConflict.ERROR
    assignments: tuple[Assign, ...] = ()
    where: Expr | None = None


NO_CONFLICT: Final = Conflict()


def bind_conflict(binder: SqlBinder, tree: exp.Expr, target: Target) -> Conflict:
    """The conflict part of an INSERT; only a table with a key has one."""
    word = str(tree.args.get("alternative") or "").upper()
    clause = tree.args.get("conflict")
    if not word and clause is None:
        return NO_CONFLICT
    if word and clause is not None:
        hint = f"leave OR {word} or the ON CONFLICT clause out"
        raise binder.mismatch("an INSERT says once what happens to existing keys", clause, hint)
    if word and word not in ("REPLACE", "IGNORE"):
        raise binder.unsupported(f"INSERT OR {word} is not supported", tree, "leave it out: a conflict is an error")
    _refuse_keyless(binder, clause if clause is not None else tree, target.type, clause)
    if word:
        return Conflict(OnConflict.REPLACE if word == "REPLACE" else OnConflict.NOTHING)
    assert clause is not None
    return _clause(binder, clause, target)


def _refuse_keyless(binder: SqlBinder, at: exp.Expr, table: TableType, clause: exp.Expr | None) -> None:
    if table.key:
        return
    if any(isinstance(rule, Unique) for rule in table.constraints):
        hint = "declare the columns as the key, or use MERGE INTO with a condition on them"
        raise binder.unsupported(f"a conflict is found by the key, and {table.name} has none", at, hint)
    words = "ON CONFLICT" if clause is not None else "OR REPLACE or OR IGNORE"
    raise binder.mismatch(f"{table.name} has no key, so its rows never conflict", at, f"leave {words} out")


def _clause(binder: SqlBinder, clause: exp.Expr, target: Target) -> Conflict:
    if clause.args.get("duplicate"):
        raise binder.unsupported("ON DUPLICATE KEY is not supported", clause, "write ON CONFLICT DO UPDATE SET …")
    if clause.args.get("constraint") is not None:
        hint = f"name the key: ON CONFLICT ({', '.join(target.type.key)})"
        raise binder.unsupported("constraints have no names", clause.args["constraint"], hint)
    if clause.args.get("index_predicate") is not None:
        hint = "put the condition behind DO UPDATE SET …"
        raise binder.unsupported("a key has no condition", clause.args["index_predicate"], hint)
    _check_columns(binder, clause.args.get("conflict_keys") or [], target.type)
    action = clause.args.get("action")
    if action is None or action.name.upper() not in ("DO NOTHING", "DO UPDATE"):
        binder.refuse_node(clause)
    if action.name.upper() == "DO NOTHING":
        return Conflict(OnConflict.NOTHING)
    scope = _conflict_scope(binder, clause, target)
    pairs = assignment_pairs(binder, clause.expressions or [])
    assignments = bind_assignments(binder, target, pairs, scope)
    if not assignments:
        raise binder.mismatch("DO UPDATE assigns at least one column", clause, "write DO UPDATE SET column = value")
    where = clause.args.get("where")
    condition = binder.bind_condition(where.this, scope, "WHERE") if where is not None else None
    return Conflict(OnConflict.UPDATE, assignments, condition)


def _check_columns(binder: SqlBinder, keys: list[exp.Expr], table: TableType) -> None:
    """The columns of ON CONFLICT (…) are the key, in any order; the id stands for the key it is made of."""
    if not keys:
        return
    names: list[str] = []
    for key in keys:
        column = key.this if isinstance(key, exp.Ordered) else key
        if not isinstance(column, exp.Column) or column.args.get("table") is not None:
            raise binder.unsupported("ON CONFLICT names columns", key, f"write ON CONFLICT ({', '.join(table.key)})")
        names.append(column_like(binder, table, name_of(column.this), column))
    if set(names) == set(table.key) or names == [ID]:
        return
    hint = f"the key of {table.name} is {listed(table.key)}"
    if any(isinstance(rule, Unique) and set(rule.properties) == set(names) for rule in table.constraints):
        raise binder.unsupported("a conflict is found by the key, not by a unique set", keys[0], hint)
    raise binder.mismatch(f"{listed(names)} is not the key of {table.name}", keys[0], hint)


def _conflict_scope(binder: SqlBinder, clause: exp.Expr, target: Target) -> Scope:
    """The stored row under the table's name, the new one as `excluded`; a bare column is the stored one."""
    variable = binder.fresh(EXCLUDED)
    if variable != EXCLUDED:
        hint = "give the table another alias"
        raise binder.mismatch("'excluded' names the row that was not inserted", clause, hint)
    new = RangeTable.of_fields(EXCLUDED, EXCLUDED, target.type.schema.fields)
    merged = [
        MergedColumn(c, frozenset({(target.variable, c.name), (EXCLUDED, c.name)}), target.variable)
        for c in target.table.columns
    ]
    return Scope(None, [target.table, new], merged)
