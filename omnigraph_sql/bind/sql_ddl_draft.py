"""The columns and rules of a table as SQL declares them; faults of the result carry the schema's own codes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import assert_never

from sqlglot import exp

from omnigraph_sql.base import commands, limits
from omnigraph_sql.base.catalog import DST, SRC, Catalog, Constraint, Key, NodeType, Property, TableType, Unique
from omnigraph_sql.base.errors import NotSupported, OmniError
from omnigraph_sql.bind.schema_errors import Problem, TypeKind, refusal
from omnigraph_sql.bind.schema_rules import problems
from omnigraph_sql.bind.sql_binder import SqlBinder, name_of
from omnigraph_sql.bind.sql_ddl_checks import CheckRules
from omnigraph_sql.bind.sql_ddl_types import Unstorable, property_type
from omnigraph_sql.bind.sql_scope import Name
from omnigraph_sql.bind.sql_targets import name_from
from omnigraph_sql.grammar.ast import sql as ast
from omnigraph_sql.grammar.source import Span


def checked_name(binder: SqlBinder, ident: ast.Ident, what: str) -> str:
    """A name that a schema can hold: a letter or, for columns, `_` first, then letters, digits and `_`."""
    text = ident.text
    first = text[:1].replace("_", "a") if what != "a table name" else text[:1]
    plain = text.isascii() and text.replace("_", "a").isalnum()
    if not (plain and first.isalpha()):
        hint = "names are made of letters, digits and '_' and begin with a letter"
        raise binder.mismatch(f"'{text}' is not {what}", ident, hint)
    if len(text) > limits.IDENTIFIER_CHARACTERS_MAX:
        raise binder.mismatch(f"{what} has at most {limits.IDENTIFIER_CHARACTERS_MAX} characters", ident)
    return text


def kind_word(table: TableType) -> str:
    return "node" if isinstance(table, NodeType) else "edge"


def no_change(name: ast.TableName) -> commands.AlterType:
    """What IF EXISTS leaves of a statement about a table that is not there."""
    return commands.AlterType(TypeKind.NODE.value, name.name.text, ())


@dataclass(slots=True)
class TableDraft:
    """Columns and constraints as they are read, with the place each came from."""

    binder: SqlBinder
    kind: TypeKind
    columns: dict[str, Property] = field(default_factory=dict)
    rules: list[Constraint] = field(default_factory=list)
    checks: CheckRules = field(default_factory=CheckRules)
    places: dict[str, Span] = field(default_factory=dict)
    rule_places: dict[str, Span] = field(default_factory=dict)

    def take(self, columns: Iterable[ast.ColumnDef], constraints: Iterable[ast.TableConstraint]) -> None:
        columns = tuple(columns)
        for column in columns:
            self.add_column(column)
        for column in columns:
            self._column_rules(column)
        for constraint in constraints:
            self.add_constraint(constraint)

    def add_column(self, column: ast.ColumnDef) -> None:
        name = checked_name(self.binder, column.name, "a column name")
        twin = next((c for c in self.columns if c.casefold() == name.casefold()), None)
        if twin is not None:
            raise self.binder.mismatch(f"the column {twin} is declared twice", column.name)
        if column.default is not None:
            hint = "leave the default out and write the value in every INSERT; a missing value is NULL"
            raise self.binder.unsupported("columns have no default values", column.span, hint)
        if column.references is not None:
            raise self._foreign_key(column.references, column.span)
        try:
            of = property_type(column.type)
        except Unstorable as refused:
            raise self._unsupported(refused, column.span) from None
        self.columns[name] = Property(name, of, column.nullable and not column.primary_key)
        self.places[name] = column.name.span

    def _column_rules(self, column: ast.ColumnDef) -> None:
        name = column.name.text
        if column.primary_key:
            self._add(Key((name,)), column.span)
        if column.unique:
            self._add(Unique((name,)), column.span)
        if column.check is not None:
            self._check(column.check, column.span)

    def add_constraint(self, constraint: ast.TableConstraint) -> None:
        match constraint.kind:
            case "primary_key":
                members = self._members(constraint.columns)
                for name in members:
                    if name in self.columns:
                        self.columns[name] = replace(self.columns[name], nullable=False)
                self._add(Key(members), constraint.span)
            case "unique":
                self._add(Unique(self._members(constraint.columns)), constraint.span)
            case "check":
                assert constraint.check is not None
                self._check(constraint.check, constraint.span)
            case "foreign_key":
                raise self._foreign_key(constraint.references, constraint.span)
            case _:
                assert_never(constraint.kind)

    def finish(self) -> tuple[tuple[Property, ...], tuple[Constraint, ...]]:
        """The columns with the closed sets their checks gave them, and the rules."""
        for name, of in self.checks.enums.items():
            self.columns[name] = replace(self.columns[name], type=of)
        return tuple(self.columns.values()), (*self.rules, *self.checks.constraints())

    def refuse_faults(self, table: TableType, at: Span) -> None:
        """Raise the first fault the new table has as part of the schema."""
        nodes, interfaces = self.binder.catalog.nodes, self.binder.catalog.interfaces
        if isinstance(table, NodeType):
            catalog = Catalog((*(n for n in nodes if n.name != table.name), table), (), interfaces)
        else:
            catalog = Catalog(nodes, (table,), interfaces)
        for problem in problems(catalog):
            if problem.spot.kind is self.kind and problem.spot.type == table.name:
                raise self._refusal(problem, at)

    def _refusal(self, problem: Problem, at: Span) -> OmniError:
        spot = problem.spot
        place = self.rule_places.get(repr(spot.rule)) if spot.rule is not None else None
        if place is None and spot.property is not None:
            place = self.places.get(spot.property)
        return refusal(
            self.binder.source,
            place or at,
            problem.code,
            problem.message,
            hint=problem.hint,
            suggestion=problem.suggestion,
        )

    def _add(self, rule: Constraint, at: Span) -> None:
        self.rules.append(rule)
        self.rule_places[repr(rule)] = at

    def _members(self, columns: tuple[ast.Ident, ...]) -> tuple[str, ...]:
        return tuple(self._member(name_from(ident), ident.span) for ident in columns)

    def _member(self, name: Name, at: Span) -> str:
        known = [*self.columns]
        if self.kind is TypeKind.EDGE:
            known = [SRC, DST, *known]
        exact = [c for c in known if c == name.text]
        found = exact or [c for c in known if name.matches(c)]
        if not found:
            raise self.binder.unknown("column", name.text, at, known)
        return found[0]

    def _check(self, condition: exp.Expr, at: Span) -> None:
        try:
            self.checks.add(condition, self._checked_column)
        except Unstorable as refused:
            raise self._unsupported(refused, at) from None
        for rule in self.checks.constraints():
            self.rule_places.setdefault(repr(rule), at)

    def _checked_column(self, column: exp.Column) -> Property:
        name = self._member(name_of(column.this), self.binder.span_of(column))
        if name not in self.columns:
            raise self.binder.unsupported(f"{name} can have no CHECK", column, "constrain a declared column")
        return self.columns[name]

    def _unsupported(self, refused: Unstorable, at: Span) -> NotSupported:
        return self.binder.unsupported(refused.message, at, refused.hint)

    def _foreign_key(self, reference: ast.Reference | None, at: Span) -> NotSupported:
        target = reference.table.name.text if reference is not None else "Other"
        hint = f"an edge table is the foreign key here: CREATE EDGE TABLE … (FROM … TO {target})"
        return self.binder.unsupported("a table has no foreign keys", at, hint)
