"""ALTER TABLE → changes of one type, each checked against the table as the changes before it left it."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from omnigraph_sql.base import commands
from omnigraph_sql.base.catalog import Check, Constraint, Index, Key, Property, Range, TableType, Unique
from omnigraph_sql.bind.schema_errors import TypeKind
from omnigraph_sql.bind.sql_binder import SqlBinder
from omnigraph_sql.bind.sql_ddl import refuse_view_name
from omnigraph_sql.bind.sql_ddl_draft import TableDraft, checked_name, kind_word, no_change
from omnigraph_sql.bind.sql_targets import column_like, existing_table, name_from
from omnigraph_sql.grammar.ast import sql as ast


def alter_table(binder: SqlBinder, statement: ast.AlterTable) -> commands.AlterType:
    table = existing_table(binder, statement.name, if_exists=statement.if_exists)
    if table is None:
        return no_change(statement.name)
    name, kind = table.name, TypeKind(kind_word(table))
    changes: list[commands.TypeChange] = []
    for action in statement.actions:
        draft = TableDraft(binder, kind, {p.name: p for p in table.properties}, list(table.constraints))
        change = _change(binder, draft, table, action)
        if change is None:
            continue
        changes.append(change)
        table = changed(table, change)
        draft.refuse_faults(table, action.span)
    return commands.AlterType(kind.value, name, tuple(changes))


def _change(
    binder: SqlBinder, draft: TableDraft, table: TableType, action: ast.AlterAction
) -> commands.TypeChange | None:
    match action:
        case ast.AddColumn():
            return _add_column(draft, table, action)
        case ast.DropColumn():
            return _drop_column(binder, table, action)
        case ast.RenameColumn():
            old = _property(binder, table, action.name)
            new = checked_name(binder, action.to, "a column name")
            if new.casefold() != old.casefold() and table.columns_like(new):
                raise binder.mismatch(f"{table.name} has a column {new} already", action.to)
            return commands.RenameProperty(old, new)
        case ast.RenameTable():
            new = checked_name(binder, action.to, "a table name")
            if any(t.name != table.name for t in binder.catalog.tables_like(new)):
                raise binder.mismatch(f"a table called {new} exists already", action.to)
            refuse_view_name(binder, action.to)
            return commands.RenameType(new)
        case ast.AddConstraint():
            return _add_constraint(binder, draft, action)
        case ast.DropConstraint():
            hint = "constraints have no names; leave it out of the schema text and apply that"
            raise binder.unsupported("a constraint cannot be dropped by name", action.name, hint)
        case ast.AlterColumn():
            _property(binder, table, action.name)
            hint = "change the property in the schema text and apply that"
            raise binder.unsupported("ALTER COLUMN is not supported", action.span, hint)
        case _:
            assert_never(action)


def _add_column(draft: TableDraft, table: TableType, action: ast.AddColumn) -> commands.TypeChange | None:
    column = action.column
    if action.if_not_exists and table.columns_like(column.name.text):
        return None
    if column.primary_key or column.unique or column.check is not None:
        hint = "add the column first, then ALTER TABLE … ADD CONSTRAINT"
        raise draft.binder.unsupported("a new column comes without rules", column.span, hint)
    draft.add_column(column)
    return commands.AddProperty(draft.columns[column.name.text])


def _drop_column(binder: SqlBinder, table: TableType, action: ast.DropColumn) -> commands.TypeChange | None:
    if action.if_exists and not table.columns_like(action.name.text):
        return None
    name = _property(binder, table, action.name)
    if name in table.key:
        hint = "ids are made of the key; create another table and copy the rows"
        raise binder.mismatch(f"{name} is part of the key of {table.name}", action.name, hint)
    return commands.DropProperty(name)


def _add_constraint(binder: SqlBinder, draft: TableDraft, action: ast.AddConstraint) -> commands.TypeChange:
    before = len(draft.rules)
    if action.constraint.kind == "primary_key":
        hint = "ids are made of the key: create another table with the key and copy the rows"
        raise binder.unsupported("a table cannot get a key later", action.span, hint)
    draft.add_constraint(action.constraint)
    if draft.checks.enums:
        hint = "change the property's type in the schema text and apply that"
        raise binder.unsupported("a column cannot become a closed set later", action.span, hint)
    added = (*draft.rules[before:], *draft.checks.constraints())
    if len(added) != 1:
        raise binder.unsupported("one ADD CONSTRAINT adds one rule", action.span, "write one for each")
    return commands.AddConstraint(added[0])


def _property(binder: SqlBinder, table: TableType, ident: ast.Ident) -> str:
    name = column_like(binder, table, name_from(ident), ident)
    if table.property(name) is None:
        raise binder.mismatch(f"{name} belongs to every {kind_word(table)} table and stays", ident)
    return name


def changed(table: TableType, change: commands.TypeChange) -> TableType:
    """The table after one change, so that what comes next and the schema's rules see it."""
    match change:
        case commands.AddProperty(new):
            return replace(table, properties=(*table.properties, new))
        case commands.DropProperty(name):
            kept = tuple(p for p in table.properties if p.name != name)
            rules = tuple(rule for rule in table.constraints if name not in _named(rule))
            return replace(table, properties=kept, constraints=rules)
        case commands.RenameProperty(name, new_name):
            columns = tuple(_renamed_property(p, name, new_name) for p in table.properties)
            rules = tuple(_renamed(rule, name, new_name) for rule in table.constraints)
            return replace(table, properties=columns, constraints=rules)
        case commands.RenameType(new_name):
            return replace(table, name=new_name)
        case commands.AddConstraint(rule):
            return replace(table, constraints=(*table.constraints, rule))
        case _:
            assert_never(change)


def _named(rule: Constraint) -> tuple[str, ...]:
    return (rule.property,) if isinstance(rule, Range | Check) else rule.properties


def _renamed_property(of: Property, old: str, new: str) -> Property:
    if of.name == old:
        return replace(of, name=new)
    if of.embedding is not None and of.embedding.source == old:
        return replace(of, embedding=replace(of.embedding, source=new))
    return of


def _renamed(rule: Constraint, old: str, new: str) -> Constraint:
    match rule:
        case Range() | Check():
            return replace(rule, property=new) if rule.property == old else rule
        case Key() | Unique() | Index():
            return replace(rule, properties=tuple(new if p == old else p for p in rule.properties))
        case _:
            assert_never(rule)
