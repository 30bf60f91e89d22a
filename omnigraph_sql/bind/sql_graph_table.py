"""`GRAPH_TABLE ([graph] MATCH … [WHERE …] COLUMNS (…))` in FROM.

Patterns are matched as SQL:2023 says: two variables may stand for the same element, and a quantified step yields every
walk. An element whose labels leave its type open makes the pattern a union over all types that fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

from sqlglot import exp

from omnigraph_sql.base.expr import Cast, Expr, Literal
from omnigraph_sql.base.schema import Field, Schema
from omnigraph_sql.base.types import STRING, DataType, common_type, is_open, is_text, type_text
from omnigraph_sql.bind.bound import (
    BoundItem,
    BoundQuery,
    BoundSelect,
    BoundSetOperation,
    BoundSource,
)
from omnigraph_sql.bind.sql_binder import SqlBinder, name_of
from omnigraph_sql.bind.sql_control_graphs import graph_types
from omnigraph_sql.bind.sql_graph_elements import gather
from omnigraph_sql.bind.sql_graph_pattern import Place, Placed, place
from omnigraph_sql.bind.sql_graph_types import fits
from omnigraph_sql.bind.sql_scope import Scope
from omnigraph_sql.bind.sql_table_alias import derived, point_of, refuse_ordinality
from omnigraph_sql.grammar.ast.sql import GraphTable
from omnigraph_sql.grammar.source import Span


@dataclass(frozen=True, slots=True)
class _Shown:
    """A column of COLUMNS, and the tree it comes from."""

    name: str
    expr: Expr
    tree: exp.Expr


def bind_graph_table(binder: SqlBinder, tree: exp.Expr, around: Scope) -> tuple[BoundSource, Scope]:
    """`tree` holds a GraphTable as `this`; its conditions and columns may use the FROM items of `around`."""
    graph = tree.this
    if not isinstance(graph, GraphTable):
        binder.refuse_node(tree)
    refuse_ordinality(binder, tree)
    elements = gather(binder, graph_types(binder, graph.args.get("graph")), graph.paths)
    ways = fits(binder, elements, _span(graph))
    at = point_of(binder, tree)
    placed = [place(binder, elements, way, ways, around, graph.args.get("where"), at) for way in ways]
    columns = [_columns(binder, one.place, graph.args["columns"]) for one in placed]
    return derived(binder, tree, around, _query(binder, placed, columns), "graph_table")


def _span(graph: GraphTable) -> Span:
    return graph.paths[0].span.to(graph.paths[-1].span)


# ---- columns ----------------------------------------------------------------------------------------------------


def _columns(binder: SqlBinder, inside: Place, trees: list[exp.Expr]) -> list[_Shown]:
    shown: list[_Shown] = []
    names: set[str] = set()
    for tree in trees:
        for column in _column(binder, inside, tree):
            if column.name.casefold() in names:
                hint = "give one of them another name with AS"
                raise binder.mismatch(f"two columns are called {column.name}", tree, hint)
            names.add(column.name.casefold())
            shown.append(column)
    return shown


def _column(binder: SqlBinder, inside: Place, tree: exp.Expr) -> Iterator[_Shown]:
    star = tree.this if isinstance(tree, exp.Column) else tree
    if isinstance(star, exp.Star):
        yield from _star(binder, inside, tree, star)
        return
    written = tree.this if isinstance(tree, exp.Alias) else tree
    expr = inside.expr(written)
    if isinstance(tree, exp.Alias):
        yield _Shown(tree.alias, expr, tree)
    elif isinstance(tree, exp.Column):
        yield _Shown(_declared(inside.scope, tree), expr, tree)
    else:
        raise binder.mismatch("this column needs a name", tree, "write AS and a name behind it")


def _star(binder: SqlBinder, inside: Place, tree: exp.Expr, star: exp.Star) -> Iterator[_Shown]:
    if not isinstance(tree, exp.Column) or any(star.args.values()):
        hint = "name the columns, or write a.* for all properties of one element"
        raise binder.unsupported("* does not stand in COLUMNS alone or with changes", tree, hint)
    owner = tree.parts[0]
    found = inside.scope.tables_named(name_of(owner))
    if len(tree.parts) != 2 or not found:
        raise binder.unknown("element", owner.name, owner, (t.name for t in inside.scope.tables))
    for column in found[0].columns:
        if column.starred:
            yield _Shown(column.name, column.expr, tree)


def _declared(scope: Scope, tree: exp.Column) -> str:
    """The column's name as it is declared; as written where it is not a plain column of an element."""
    name = name_of(tree.parts[-1])
    tables = scope.tables_named(name_of(tree.parts[0])) if len(tree.parts) == 2 else scope.tables
    found = [column.name for table in tables for column in table.find(name)]
    return found[0] if found else name.text


# ---- the union over all fits ------------------------------------------------------------------------------------


def _query(binder: SqlBinder, placed: list[Placed], columns: list[list[_Shown]]) -> BoundQuery:
    if len(placed) == 1:
        return _select(placed[0], [c.expr for c in columns[0]], columns[0])
    types = [_shared(binder, [row[n] for row in columns]) for n in range(len(columns[0]))]
    parts = [
        _select(one, [_as(c.expr, of) for c, of in zip(row, types, strict=True)], columns[0])
        for one, row in zip(placed, columns, strict=True)
    ]
    return reduce(_both, parts)


def _select(one: Placed, exprs: list[Expr], names: list[_Shown]) -> BoundQuery:
    items = tuple(BoundItem(shown.name, expr) for shown, expr in zip(names, exprs, strict=True))
    select = BoundSelect(items, one.pattern, one.where)
    return BoundQuery(select, outer_columns=frozenset(one.place.scope.outer))


def _both(left: BoundQuery, right: BoundQuery) -> BoundQuery:
    pairs = zip(left.schema.fields, right.schema.fields, strict=True)
    schema = Schema(tuple(Field(a.name, _union(a.type, b.type), a.nullable or b.nullable) for a, b in pairs))
    union = BoundSetOperation("union", True, left, right, schema)
    return BoundQuery(union, outer_columns=left.outer_columns | right.outer_columns)


def _union(left: DataType, right: DataType) -> DataType:
    return common_type(left, right) or left


def _shared(binder: SqlBinder, column: list[_Shown]) -> DataType:
    """The type a column has over all fits."""
    of = column[0].expr.type
    for shown in column[1:]:
        both = common_type(of, shown.expr.type)
        if both is None:
            message = f"{shown.name} is a {type_text(of)} of one type and a {type_text(shown.expr.type)} of another"
            raise binder.mismatch(message, shown.tree, "cast it, or name one label")
        of = both
    return of


def _as(expr: Expr, of: DataType) -> Expr:
    if expr.type == of or is_open(of) or (of == STRING and is_text(expr.type)):
        return expr
    if isinstance(expr, Literal) and expr.value is None:
        return Literal(None, of)
    return expr if is_open(expr.type) else Cast(expr, of)
