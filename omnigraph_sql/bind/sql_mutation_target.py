"""What a mutation changes, what it returns, and the WITH in front of it."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from omnigraph_sql.base.catalog import TableType
from omnigraph_sql.base.names import PointKind
from omnigraph_sql.base.travel import HEAD, ReadPoint
from omnigraph_sql.bind.bound import BoundItem
from omnigraph_sql.bind.sql_binder import SqlBinder, name_of
from omnigraph_sql.bind.sql_naming import distinct_names, label_of
from omnigraph_sql.bind.sql_scope import RangeTable, Scope, ScopeColumn

_WRITES = (exp.Insert, exp.Update, exp.Delete, exp.Merge)


@dataclass(frozen=True, slots=True)
class Target:
    """The table a mutation changes, as its range variable."""

    type: TableType
    variable: str
    table: RangeTable
    at: ReadPoint = HEAD

    @property
    def name(self) -> str:
        """What the text calls it."""
        return self.table.name

    @property
    def scope(self) -> Scope:
        return Scope(None, [self.table])


def bind_target(binder: SqlBinder, tree: exp.Expr) -> Target:
    """The table of INSERT INTO, UPDATE, DELETE FROM or MERGE INTO; a branch may be named, a past state may not."""
    if not isinstance(tree, exp.Table) or not isinstance(tree.this, exp.Identifier):
        raise binder.mismatch("only tables can be changed", tree, "name a node table or an edge table")
    if tree.args.get("joins"):
        raise binder.unsupported("one table is changed at a time", tree, "put other tables into FROM or USING")
    hint = 'name a branch as the schema, "branch".Table, or start one there: CREATE BRANCH … AS OF …'
    point = tree.args.get("version") or tree.args.get("when")
    if point is not None:
        raise binder.unsupported("a past state cannot be changed", point, hint)
    table, at = binder.resolve_table(tree)
    if at.kind in (PointKind.VERSION, PointKind.TIMESTAMP):
        raise binder.unsupported("a past state cannot be changed", tree, hint)
    alias = tree.alias
    variable = binder.fresh(alias or table.name)
    return Target(table, variable, RangeTable.of_table(alias or table.name, variable, table), at)


# ---- RETURNING ----------------------------------------------------------------------------------------------------


def bind_returning(binder: SqlBinder, clause: exp.Expr | None, target: Target, scope: Scope) -> tuple[BoundItem, ...]:
    """The items of RETURNING; a bare `*` is the changed table alone."""
    if clause is None:
        return ()
    if clause.args.get("into"):
        raise binder.unsupported("RETURNING … INTO is not supported", clause, "read the rows of the statement instead")
    found = [one for tree in clause.expressions for one in _returned(binder, tree, target, scope)]
    labels = [label for label, _ in found]
    return tuple(map(BoundItem, distinct_names(labels), (item.expr for _, item in found), labels))


def _returned(binder: SqlBinder, tree: exp.Expr, target: Target, scope: Scope) -> list[tuple[str, ScopeColumn]]:
    star = tree.this if isinstance(tree, exp.Column) and isinstance(tree.this, exp.Star) else tree
    if isinstance(star, exp.Star):
        if any(star.args.get(word) for word in ("except_", "except", "replace", "rename")):
            raise binder.unsupported("a star of RETURNING comes without changes", tree, "list the columns")
        qualifier = tree.args.get("table") if tree is not star else None
        table = _starred_table(binder, qualifier, target, scope)
        return [(column.name, column) for column in table.columns if column.starred]
    inner = tree.this if isinstance(tree, exp.Alias) else tree
    expr = binder.bind_expr(inner, scope, "RETURNING")
    name = tree.alias if isinstance(tree, exp.Alias) else label_of(inner, expr, scope)
    return [(name, ScopeColumn(name, expr))]


def _starred_table(binder: SqlBinder, qualifier: exp.Expr | None, target: Target, scope: Scope) -> RangeTable:
    if qualifier is None:
        return target.table
    found = scope.tables_named(name_of(qualifier))
    if not found:
        raise binder.unknown("table", qualifier.name, qualifier, scope.table_names())
    return found[0]


# ---- WITH ---------------------------------------------------------------------------------------------------------


def refuse_writing_ctes(binder: SqlBinder, clause: exp.Expr) -> None:
    for write in clause.find_all(*_WRITES):
        hint = "run the mutation as a statement of its own, in the same transaction"
        raise binder.unsupported("a WITH query only reads", write, hint)


def inline_ctes(binder: SqlBinder, tree: exp.Expr) -> exp.Expr:
    """Put the WITH of a mutation where its names are used: `w AS x` becomes `(WITH … SELECT * FROM w) AS x`."""
    clause = tree.args.get("with_")
    if clause is None:
        return tree
    refuse_writing_ctes(binder, clause)
    names = {cte.alias.casefold() for cte in clause.expressions}
    # The rounds of binding share the tree, so it is a copy that changes.
    tree = tree.copy()
    tree.set("with_", None)
    target = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    for table in list(tree.find_all(exp.Table)):
        if table is not target and _names_cte(table, names):
            _replace(table, clause)
    return tree


def _names_cte(table: exp.Table, names: set[str]) -> bool:
    if table.args.get("db") is not None or table.name.casefold() not in names:
        return False
    around = table.parent
    while around is not None:
        inner = around.args.get("with_")
        if inner is not None and any(c.alias.casefold() == table.name.casefold() for c in inner.expressions):
            return False
        around = around.parent
    return True


def _replace(table: exp.Table, clause: exp.Expr) -> None:
    alias = table.args.get("alias") or exp.TableAlias(this=table.this.copy())
    joins = table.args.get("joins")
    inner = exp.Table(this=table.this.copy())
    query = exp.Select(expressions=[exp.Star()], from_=exp.From(this=inner), with_=clause.copy())
    derived = exp.Subquery(this=query, alias=alias)
    if joins:
        derived.set("joins", joins)
    table.replace(derived)
