"""INSERT: which columns its rows feed, the rows themselves, and what happens when a key exists already."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from omnigraph_sql.base.catalog import DST, ID, SRC, EdgeType, TableType
from omnigraph_sql.base.expr import Cast, Column, Expr, Literal
from omnigraph_sql.base.schema import Field
from omnigraph_sql.bind.bound import (
    BoundDerived,
    BoundInsert,
    BoundItem,
    BoundQuery,
    BoundSelect,
    BoundValues,
)
from omnigraph_sql.bind.sql_binder import SqlBinder, name_of
from omnigraph_sql.bind.sql_conflict import bind_conflict
from omnigraph_sql.bind.sql_mutation import bind_value
from omnigraph_sql.bind.sql_mutation_target import Target, bind_returning, bind_target, inline_ctes
from omnigraph_sql.bind.sql_scope import Name, Scope
from omnigraph_sql.bind.sql_stored import refuse_missing, stored
from omnigraph_sql.bind.sql_targets import column_like, listed

_ENDS = {"from": SRC, "to": DST}
_REFUSED = ("exists", "partition", "partition_by", "settings", "where", "is_function", "stored", "source", "ignore")


def bind_insert(binder: SqlBinder, tree: exp.Insert) -> BoundInsert:
    """Bind INSERT INTO. Rows of VALUES come out in declared column order, as `.gq` writes them."""
    _refuse_odd_parts(binder, tree)
    whole = _with_ctes(binder, tree)
    table = whole.this.this if isinstance(whole.this, exp.Schema) else whole.this
    target = bind_target(binder, table)
    conflict = bind_conflict(binder, whole, target)
    columns, source = _rows(binder, whole, target)
    refuse_missing(binder, target.type, set(columns), table)
    returning = bind_returning(binder, whole.args.get("returning"), target, target.scope)
    return BoundInsert(
        target.type,
        target.variable,
        columns,
        source,
        conflict.do,
        conflict.assignments,
        conflict.where,
        returning,
        target.at,
    )


def _refuse_odd_parts(binder: SqlBinder, tree: exp.Insert) -> None:
    if tree.args.get("overwrite"):
        hint = "load the rows with COPY … FROM … (MODE overwrite), or TRUNCATE the table in a transaction of its own"
        raise binder.unsupported("INSERT OVERWRITE is not supported", tree, hint)
    for name in _REFUSED:
        if tree.args.get(name):
            raise binder.unsupported(f"this form of INSERT is not supported ({name.upper()})", tree)


def _with_ctes(binder: SqlBinder, tree: exp.Insert) -> exp.Expr:
    """The WITH in front of INSERT belongs to its query; other places that use a name of it get it inlined."""
    clause = tree.args.get("with_")
    source = tree.args.get("expression")
    if clause is None or not isinstance(source, exp.Select | exp.SetOperation):
        return inline_ctes(binder, tree)
    whole = tree.copy()
    source, moved = whole.args["expression"], clause.copy()
    own = source.args.get("with_")
    if own is not None:
        moved.set("expressions", [*moved.expressions, *own.expressions])
        moved.set("recursive", moved.args.get("recursive") or own.args.get("recursive"))
    source.set("with_", moved)
    return inline_ctes(binder, whole)


# ---- columns ----------------------------------------------------------------------------------------------------


def insertable(table: TableType) -> tuple[str, ...]:
    """Columns of positional VALUES: everything declared, and the ends of an edge; never the id."""
    return tuple(name for name in table.schema.order if name != ID)


def inserted_column(binder: SqlBinder, table: TableType, name: Name, at: exp.Expr) -> str:
    """A column an INSERT names: the id only where nothing derives it; the ends also as `from` and `to`."""
    if isinstance(table, EdgeType) and name.text.casefold() in _ENDS:
        return _ENDS[name.text.casefold()]
    found = column_like(binder, table, name, at)
    if found == ID and table.key:
        hint = f"leave it out: it is made of {listed(table.key)}"
        raise binder.mismatch(f"the id of {table.name} cannot be given", at, hint)
    return found


def named_columns(binder: SqlBinder, table: TableType, names: list[exp.Expr]) -> tuple[str, ...]:
    found: list[str] = []
    for node in names:
        inner = node.this if isinstance(node, exp.Column) else node
        if not isinstance(inner, exp.Identifier) or node.args.get("table") is not None:
            raise binder.mismatch("INSERT names columns of its table", node, "write their names alone")
        column = inserted_column(binder, table, name_of(inner), node)
        if column in found:
            raise binder.mismatch(f"{table.name}.{column} is named twice", node)
        found.append(column)
    return tuple(found)


# ---- rows -------------------------------------------------------------------------------------------------------


def _rows(binder: SqlBinder, tree: exp.Expr, target: Target) -> tuple[tuple[str, ...], BoundQuery]:
    """The columns the rows feed, and the rows."""
    table = target.type
    named = isinstance(tree.this, exp.Schema)
    columns = named_columns(binder, table, tree.this.expressions) if named else insertable(table)
    source = tree.args.get("expression")
    if source is None:
        return _defaults(binder, tree, table, named)
    if tree.args.get("by_name"):
        if named:
            raise binder.mismatch("BY NAME takes the names from the query", tree.this, "leave the column list out")
        return _by_name(binder, source, table)
    if isinstance(source, exp.Values) and source.args.get("with_") is None:
        return _values(binder, source, target, columns, named)
    query = binder.bind_query(source)
    if len(query.schema) != len(columns):
        raise binder.mismatch(_counts(table, columns, named, "the query", len(query.schema)), source, _hint(named))
    return columns, fitted(binder, query, table, columns, source)


def _counts(table: TableType, columns: tuple[str, ...], named: bool, what: str, given: int) -> str:
    wanted = f"{len(columns)} columns are named" if named else f"{table.name} has {len(columns)} columns"
    return f"{wanted}, {what} gives {given} value{'' if given == 1 else 's'}"


def _hint(named: bool) -> str:
    return "" if named else "name the columns: INSERT INTO t (a, b) …"


def _defaults(binder: SqlBinder, tree: exp.Expr, table: TableType, named: bool) -> tuple[tuple[str, ...], BoundQuery]:
    """DEFAULT VALUES: one row of nulls."""
    if not tree.args.get("default") or named:
        raise binder.mismatch("INSERT needs rows", tree, "write VALUES (…), a query, or DEFAULT VALUES without columns")
    fields = tuple(Field(p.name, p.type, True) for p in table.properties if p.nullable)
    row = tuple(Literal(None, field.type) for field in fields)
    return tuple(field.name for field in fields), BoundQuery(BoundValues(fields, (row,)))


def _values(
    binder: SqlBinder, source: exp.Values, target: Target, columns: tuple[str, ...], named: bool
) -> tuple[tuple[str, ...], BoundQuery]:
    table = target.type
    rows: list[tuple[Expr, ...]] = []
    order = sorted(range(len(columns)), key=lambda i: table.schema.order.index(columns[i]))
    for number, tree in enumerate(source.expressions, 1):
        cells = tree.expressions if isinstance(tree, exp.Tuple) else [tree.unnest()]
        if len(cells) != len(columns):
            message = _counts(table, columns, named, f"row {number}", len(cells))
            raise binder.mismatch(message, tree, _hint(named))
        bound = [
            bind_value(binder, table, column, cell, Scope(), "VALUES")
            for column, cell in zip(columns, cells, strict=True)
        ]
        rows.append(tuple(bound[i] for i in order))
    ordered = tuple(columns[i] for i in order)
    return ordered, _values_query(table, ordered, tuple(rows))


def _values_query(table: TableType, columns: tuple[str, ...], rows: tuple[tuple[Expr, ...], ...]) -> BoundQuery:
    """Rows of one shape: where they differ in the type of a column, all take the stored one."""
    fields: list[Field] = []
    cells = [list(row) for row in rows]
    for i, column in enumerate(columns):
        field = table.column(column)
        assert field is not None
        of = rows[0][i].type
        if any(row[i].type != of for row in rows):
            of = field.type
            for row in cells:
                row[i] = row[i] if row[i].type == of else Cast(row[i], of)
        fields.append(Field(column, of, any(row[i].nullable for row in rows)))
    return BoundQuery(BoundValues(tuple(fields), tuple(map(tuple, cells))))


def _by_name(binder: SqlBinder, source: exp.Expr, table: TableType) -> tuple[tuple[str, ...], BoundQuery]:
    query = binder.bind_query(source)
    labels = query.labels or query.schema.order
    columns: list[str] = []
    for label in labels:
        column = inserted_column(binder, table, Name(label), source)
        if column in columns:
            raise binder.mismatch(f"the query gives {table.name}.{column} twice", source, "give each column one name")
        columns.append(column)
    return tuple(columns), fitted(binder, query, table, tuple(columns), source)


def fitted(
    binder: SqlBinder, query: BoundQuery, table: TableType, columns: tuple[str, ...], at: exp.Expr
) -> BoundQuery:
    """The query with its output columns as they are stored. Raises TypeMismatch for one that cannot be."""
    body = query.body
    if isinstance(body, BoundSelect) and not body.distinct and not body.distinct_on:
        places = _item_places(at, len(body.items))
        pairs = zip(body.items, columns, places, strict=True)
        items = tuple(BoundItem(i.name, _stored(binder, i.expr, table, c, place)) for i, c, place in pairs)
        return replace(query, body=replace(body, items=items))
    reads = tuple(Column(f.name, f.type, f.nullable) for f in query.schema.fields)
    made = tuple(_stored(binder, read, table, c, at) for read, c in zip(reads, columns, strict=True))
    if made == reads:
        return query
    variable = binder.fresh("rows")
    derived = BoundDerived(variable, columns, query)
    again = (Column(f"{variable}.{c}", r.type, r.nullable) for c, r in zip(columns, reads, strict=True))
    items = tuple(BoundItem(c, _stored(binder, r, table, c, at)) for c, r in zip(columns, again, strict=True))
    return BoundQuery(BoundSelect(items, derived))


def _item_places(at: exp.Expr, count: int) -> list[exp.Expr]:
    """Where each output column is written; the whole query when a star hides it."""
    select = at.unnest() if isinstance(at, exp.Subquery) else at
    listed_items = select.expressions if isinstance(select, exp.Select) else []
    return list(listed_items) if len(listed_items) == count else [at] * count


def _stored(binder: SqlBinder, value: Expr, table: TableType, column: str, at: exp.Expr) -> Expr:
    field = table.column(column)
    assert field is not None
    return stored(binder, value, table, field, at)
