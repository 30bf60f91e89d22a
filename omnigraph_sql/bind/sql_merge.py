"""MERGE INTO: rows of a source meet rows of a table, and the first arm that fits acts."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from omnigraph_sql.base.catalog import DST, ID, SRC, EdgeType, TableType
from omnigraph_sql.base.expr import Column, Expr, all_of
from omnigraph_sql.base.types import STRING
from omnigraph_sql.bind.bound import Assign, BoundMerge, MergeArm, MergeDo, MergeWhen
from omnigraph_sql.bind.boundaries import UnitKinds
from omnigraph_sql.bind.sql_binder import SqlBinder, name_of
from omnigraph_sql.bind.sql_insert import insertable, named_columns
from omnigraph_sql.bind.sql_mutation import assignment_pairs, bind_assignments, bind_value, cascade_of
from omnigraph_sql.bind.sql_mutation_target import Target, bind_returning, bind_target
from omnigraph_sql.bind.sql_scope import MergedColumn, Name, Scope, ScopeColumn
from omnigraph_sql.bind.sql_stored import refuse_missing, stored

MERGE_ACTION: Final = "merge_action"
"""Column of RETURNING that says what happened to the row: insert, update or delete."""


def bind_merge(binder: SqlBinder, tree: exp.Expr) -> BoundMerge:
    """Bind MERGE INTO. Raises BoundaryViolation (D2) when its arms both write and delete."""
    target = bind_target(binder, tree.this)
    source, beside = binder.bind_source(tree.args["using"])
    _refuse_same_name(binder, tree, target, beside)
    both = target.scope.joined(beside)
    on = _condition(binder, tree, target, beside, both)
    clause = tree.args.get("whens")
    whens = clause.expressions if clause is not None else []
    if not whens:
        raise binder.mismatch("MERGE INTO has at least one WHEN", tree, "write WHEN MATCHED THEN UPDATE SET …")
    arms = tuple(_arm(binder, when, target, beside, both) for when in whens)
    _refuse_unreachable(binder, whens, arms)
    clause = _with_action_column(tree.args.get("returning"))
    returning = bind_returning(binder, clause, target, _returned(target, beside, arms))
    cascade = cascade_of(binder, target.type) if any(arm.do is MergeDo.DELETE for arm in arms) else ()
    bound = BoundMerge(target.type, target.variable, source, on, arms, returning, target.at, cascade)
    UnitKinds(f"MERGE INTO {target.type.name}").admit(bound, binder.location(_deletes(whens, arms)))
    return bound


def _refuse_same_name(binder: SqlBinder, tree: exp.Expr, target: Target, beside: Scope) -> None:
    if beside.tables_named(Name(target.name)):
        hint = f"give them aliases: MERGE INTO {target.type.name} AS t USING … AS s"
        raise binder.mismatch(f"the table and its source are both called {target.name}", tree.args["using"], hint)


def _returned(target: Target, beside: Scope, arms: tuple[MergeArm, ...]) -> Scope:
    """What RETURNING sees: the changed row, the source row where there was one, and what happened."""
    alone = any(arm.when is MergeWhen.NOT_MATCHED_BY_SOURCE for arm in arms)
    scope = target.scope.joined(beside.optional() if alone else beside)
    action = ScopeColumn(MERGE_ACTION, Column(MERGE_ACTION, STRING, False))
    scope.merged.append(MergedColumn(action, frozenset(), ""))
    return scope


def _with_action_column(clause: exp.Expr | None) -> exp.Expr | None:
    """`merge_action()` is the same as `merge_action`."""
    if clause is None:
        return None
    clause = clause.copy()
    for call in list(clause.find_all(exp.Anonymous)):
        if call.name.casefold() == MERGE_ACTION and not call.expressions:
            call.replace(exp.Column(this=exp.Identifier(this=MERGE_ACTION, quoted=False)))
    return clause


def _condition(binder: SqlBinder, tree: exp.Expr, target: Target, beside: Scope, both: Scope) -> Expr:
    names = tree.args.get("using_cond")
    if not names:
        return binder.bind_condition(tree.args["on"], both, "ON")
    parts: list[Expr] = []
    for name in names:
        pair = []
        for side in (target.scope, beside):
            owners = [t for t in side.tables if t.find(name_of(name))]
            if len(owners) != 1:
                raise binder.mismatch(f"both sides of USING have one column {name.name}", name, "write ON … = …")
            qualifier = exp.Identifier(this=owners[0].name, quoted=True)
            pair.append(exp.Column(this=name.copy(), table=qualifier))
        parts.append(binder.bind_condition(exp.EQ(this=pair[0], expression=pair[1]), both, "USING"))
    made = all_of(parts)
    assert made is not None
    return made


# ---- arms -------------------------------------------------------------------------------------------------------


def _arm(binder: SqlBinder, when: exp.Expr, target: Target, beside: Scope, both: Scope) -> MergeArm:
    kind = _kind(when)
    visible = {MergeWhen.MATCHED: both, MergeWhen.NOT_MATCHED: beside, MergeWhen.NOT_MATCHED_BY_SOURCE: target.scope}
    scope = visible[kind]
    _refuse_hidden(binder, when, kind, both, scope)
    tested = when.args.get("condition")
    condition = binder.bind_condition(tested, scope, "WHEN") if tested is not None else None
    then = when.args.get("then")
    if isinstance(then, exp.Update):
        return MergeArm(kind, MergeDo.UPDATE, condition, _update(binder, when, then, kind, target, beside, scope))
    if isinstance(then, exp.Insert):
        return MergeArm(kind, MergeDo.INSERT, condition, _insert(binder, when, then, kind, target, scope))
    word = then.name.upper() if isinstance(then, exp.Var) else ""
    if word == "DO NOTHING":
        return MergeArm(kind, MergeDo.NOTHING, condition)
    if word != "DELETE":
        raise binder.unsupported("an arm of MERGE updates, inserts, deletes or does nothing", when)
    if kind is MergeWhen.NOT_MATCHED:
        raise binder.mismatch("a row that is not in the table cannot be deleted", when, "write WHEN MATCHED")
    return MergeArm(kind, MergeDo.DELETE, condition)


def _kind(when: exp.Expr) -> MergeWhen:
    if when.args.get("matched"):
        return MergeWhen.MATCHED
    return MergeWhen.NOT_MATCHED_BY_SOURCE if when.args.get("source") else MergeWhen.NOT_MATCHED


def _refuse_hidden(binder: SqlBinder, when: exp.Expr, kind: MergeWhen, both: Scope, scope: Scope) -> None:
    """A row without a partner has no columns of the other side."""
    for column in when.find_all(exp.Column):
        qualifier = column.args.get("table")
        if qualifier is None or column.find_ancestor(exp.Query) is not None:
            continue
        name = name_of(qualifier)
        if both.tables_named(name) and not scope.tables_named(name):
            hint = f"use columns of {' and '.join(t.name for t in scope.tables)}"
            raise binder.mismatch(f"WHEN {kind.upper()} sees no row of {qualifier.name}", column, hint)


def _update(
    binder: SqlBinder, when: exp.Expr, then: exp.Expr, kind: MergeWhen, target: Target, beside: Scope, scope: Scope
) -> tuple[Assign, ...]:
    if kind is MergeWhen.NOT_MATCHED:
        raise binder.mismatch("a row that is not in the table cannot be updated", when, "write WHEN MATCHED")
    found = then.args.get("expressions")
    items = found if isinstance(found, list) else []
    if not items or isinstance(items[0], exp.Star):
        if kind is MergeWhen.NOT_MATCHED_BY_SOURCE:
            hint = "write UPDATE SET column = value"
            raise binder.mismatch("a row without a source row takes nothing from it", when, hint)
        table = target.type
        fixed = {ID, *table.key, *((SRC, DST) if isinstance(table, EdgeType) else ())}
        return _same_names(binder, when, table, [c for c in table.schema.order if c not in fixed], beside)
    assignments = bind_assignments(binder, target, assignment_pairs(binder, items), scope)
    assert assignments
    return assignments


def _insert(
    binder: SqlBinder, when: exp.Expr, then: exp.Expr, kind: MergeWhen, target: Target, scope: Scope
) -> tuple[Assign, ...]:
    if kind is not MergeWhen.NOT_MATCHED:
        raise binder.mismatch("only a row that is not matched is inserted", when, "write WHEN NOT MATCHED")
    if then.args.get("where") is not None:
        raise binder.unsupported("an INSERT arm has no WHERE", when, "write WHEN NOT MATCHED AND … THEN INSERT")
    table, columns, values = target.type, then.this, then.args.get("expression")
    if not values and (not columns or isinstance(columns, exp.Star) or _is_by_name(columns)):
        assignments = _same_names(binder, when, table, list(insertable(table)), scope)
    else:
        assignments = _listed(binder, when, then, table, scope)
    refuse_missing(binder, table, {a.property for a in assignments}, when)
    return assignments


def _is_by_name(columns: exp.Expr) -> bool:
    """`INSERT BY NAME`, which the parser reads as a column BY with the alias NAME."""
    items = columns.expressions if isinstance(columns, exp.Tuple) else []
    return len(items) == 1 and isinstance(items[0], exp.Alias) and items[0].sql().upper() == "BY AS NAME"


def _listed(binder: SqlBinder, when: exp.Expr, then: exp.Expr, table: TableType, scope: Scope) -> tuple[Assign, ...]:
    columns, values = then.this, then.args.get("expression")
    if not isinstance(values, exp.Tuple | exp.Paren):
        hint = "write INSERT (a, b) VALUES (1, 2), or INSERT * for columns of the same name"
        raise binder.mismatch("an INSERT arm has VALUES", when, hint)
    named = columns.expressions if isinstance(columns, exp.Tuple) else [columns] if columns else []
    names = named_columns(binder, table, [c.unnest() for c in named]) if named else insertable(table)
    cells = values.expressions if isinstance(values, exp.Tuple) else [values.this]
    if len(names) != len(cells):
        raise binder.mismatch(f"{len(names)} columns are given {len(cells)} values", values)
    pairs = zip(names, cells, strict=True)
    return tuple(Assign(name, bind_value(binder, table, name, cell, scope, "VALUES")) for name, cell in pairs)


def _same_names(
    binder: SqlBinder, when: exp.Expr, table: TableType, columns: list[str], scope: Scope
) -> tuple[Assign, ...]:
    """Columns the source has under the same name take its values."""
    made: list[Assign] = []
    for column in columns:
        found = scope.find(Name(column))
        if len(found) > 1:
            hint = "list the columns instead of *"
            raise binder.mismatch(f"the source has more than one column {column}", when, hint)
        field = table.column(column)
        assert field is not None
        if found:
            made.append(Assign(column, stored(binder, found[0].expr, table, field, when)))
    if not made:
        hint = "list the columns and their values"
        raise binder.mismatch(f"the source shares no column with {table.name} that * could take", when, hint)
    return tuple(made)


def _refuse_unreachable(binder: SqlBinder, whens: list[exp.Expr], arms: tuple[MergeArm, ...]) -> None:
    taken: set[MergeWhen] = set()
    for when, arm in zip(whens, arms, strict=True):
        if arm.when in taken:
            message = f"this arm is never reached: one before it takes every row WHEN {arm.when.upper()}"
            raise binder.mismatch(message, when, "give the earlier arm a condition: WHEN … AND …")
        if arm.condition is None:
            taken.add(arm.when)


def _deletes(whens: list[exp.Expr], arms: tuple[MergeArm, ...]) -> exp.Expr | None:
    """The arm to point at when the arms mix kinds."""
    return next((when for when, arm in zip(whens, arms, strict=True) if arm.do is MergeDo.DELETE), None)
