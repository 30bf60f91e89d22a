"""The alias of a FROM item: what its range variable and its columns are called."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from omnigraph_sql.base.expr import Column
from omnigraph_sql.base.travel import HEAD, ReadPoint
from omnigraph_sql.bind.bound import BoundDerived, BoundQuery
from omnigraph_sql.bind.sql_binder import SqlBinder
from omnigraph_sql.bind.sql_scope import RangeTable, Scope, ScopeColumn
from omnigraph_sql.bind.sql_tables import read_point


@dataclass(frozen=True, slots=True)
class Alias:
    """`[AS] name [(columns)]`; `name` None when the text gives none."""

    name: str | None
    columns: tuple[exp.Expr, ...]


def alias_of(tree: exp.Expr) -> Alias:
    """The alias of a table, an unnest or a lateral item."""
    written = tree.args.get("alias")
    if not isinstance(written, exp.TableAlias):
        return Alias(None, ())
    name = written.this.name if isinstance(written.this, exp.Identifier) else None
    return Alias(name or None, tuple(written.args.get("columns") or ()))


def renamed(binder: SqlBinder, alias: Alias, names: tuple[str, ...]) -> tuple[str, ...]:
    """Column names after the alias: it may name fewer columns than there are, not more, and none twice."""
    for column in alias.columns:
        if not isinstance(column, exp.Identifier):
            raise binder.unsupported("a column alias is a name without a type", column, "cast in the select list")
    if len(alias.columns) > len(names):
        counted = "is 1 column" if len(names) == 1 else f"are {len(names)} columns"
        message = f"there {counted} to name, not {len(alias.columns)}"
        raise binder.mismatch(message, alias.columns[len(names)])
    made = (*(c.name for c in alias.columns), *names[len(alias.columns) :])
    folded = [name.casefold() for name in made]
    twice = next((c for c in reversed(alias.columns) if folded.count(c.name.casefold()) > 1), None)
    if twice is not None:
        raise binder.mismatch(f"two columns are called {twice.name}", twice, "give one of them another name")
    return made


def derived(
    binder: SqlBinder, tree: exp.Expr, around: Scope, query: BoundQuery, default: str, hidden: tuple[str, ...] = ()
) -> tuple[BoundDerived, Scope]:
    """A query as a FROM item; `*` leaves the `hidden` columns out, and names of the alias are given to the others."""
    alias = alias_of(tree)
    fields = query.schema.fields
    shown = renamed(binder, alias, tuple(f.name for f in fields if f.name not in hidden))
    names = iter(shown)
    columns = tuple(f.name if f.name in hidden else next(names) for f in fields)
    if len(set(columns)) != len(columns):
        raise binder.mismatch(f"'{hidden[0]}' is the name of a column already", tree.args.get("alias"))
    variable = binder.fresh(alias.name or default)
    made = [
        ScopeColumn(name, Column(f"{variable}.{name}", f.type, f.nullable), f.name not in hidden)
        for name, f in zip(columns, fields, strict=True)
    ]
    beside = own_columns(around)
    lateral = bool(query.outer_columns & beside)
    source = BoundDerived(variable, columns, query, lateral)
    # Without an alias nothing can name it: brackets keep its name apart from every other one.
    table = RangeTable(alias.name or f"({variable})", variable, tuple(made))
    return source, Scope(around.parent, [table], outer=set(query.outer_columns - beside))


def own_columns(scope: Scope) -> frozenset[str]:
    """Unique names of the columns of the range variables of this scope alone."""
    found = (c.expr for table in scope.tables for c in table.columns)
    return frozenset(e.name for e in found if isinstance(e, Column))


def point_of(binder: SqlBinder, tree: exp.Expr) -> ReadPoint:
    """The point in history a FROM item asks for; a lateral item stands without one."""
    return read_point(binder, tree) if isinstance(tree, exp.Table) else HEAD


def refuse_ordinality(binder: SqlBinder, tree: exp.Expr) -> None:
    """Only lists and series number their rows; anything else has no order to number them in."""
    if tree.args.get("ordinality"):
        hint = "number the rows with row_number() OVER (ORDER BY …)"
        raise binder.unsupported("WITH ORDINALITY belongs to unnest and to series", tree.this, hint)
