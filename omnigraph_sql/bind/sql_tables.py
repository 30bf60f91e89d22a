"""Tables of the graph: which type a name means, and the point in history it is read at.

`Type`, `"branch".Type`, `"@commit".Type` and `graph."branch".Type`; unquoted names match without regard to case, and a
name that differs from none in case wins over those that do.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import NoReturn

from sqlglot import exp

from omnigraph_sql.base.catalog import TableType
from omnigraph_sql.base.errors import UnknownName
from omnigraph_sql.base.expr import Cast, Expr, Literal, Param
from omnigraph_sql.base.instants import parse_day, parse_instant, utc
from omnigraph_sql.base.names import BranchName, PointKind
from omnigraph_sql.base.travel import HEAD, ReadPoint
from omnigraph_sql.base.types import DATE, DATETIME, STRING, is_integer, is_open, is_text
from omnigraph_sql.bind.sql_binder import SqlBinder, name_of
from omnigraph_sql.bind.sql_scope import Name, Scope
from omnigraph_sql.bind.sql_types import declared
from omnigraph_sql.grammar.ast.sql import Travel


def resolve_table(binder: SqlBinder, table: exp.Table) -> tuple[TableType, ReadPoint]:
    """The graph type a table name means and the point in history its qualifier or suffix asks for."""
    found = find_table(binder, table)
    if found is None:
        raise unknown_table(binder, table)
    return found, read_point(binder, table)


def find_table(binder: SqlBinder, table: exp.Table) -> TableType | None:
    """The type with this name: spelt exactly so, else without regard to case, nodes before edges."""
    if not isinstance(table.this, exp.Identifier):
        raise _not_a_table(binder, table)
    name = name_of(table.this)
    found = [t for t in binder.catalog.tables_like(name.text) if name.matches(t.name)]
    return next((t for t in found if t.name == name.text), found[0] if found else None)


def _not_a_table(binder: SqlBinder, table: exp.Table) -> Exception:
    if isinstance(table.this, exp.Func):
        return binder.unsupported("a function cannot stand here", table.this, "name a table")
    return binder.unsupported("a table name has at most three parts: graph, branch and type", table)


def unknown_table(binder: SqlBinder, table: exp.Table) -> UnknownName:
    """The error for a name that is no table, with what was probably meant."""
    name = table.this.name
    if any(Name(name).matches(n) for n in binder.open_ctes):
        hint = "a query in WITH can use itself only in WITH RECURSIVE, behind its UNION"
        return binder.unknown("table", name, table.this, (), hint)
    if any(Name(name).matches(n) for n in binder.later_ctes):
        hint = "WITH declares it only further on; move it in front of its first use"
        return binder.unknown("table", name, table.this, (), hint)
    return binder.unknown("table", name, table.this, _known_names(binder))


def _known_names(binder: SqlBinder) -> Iterator[str]:
    from omnigraph_sql.bind.sql_system_tables import SYSTEM_TABLES

    yield from (cte.text for cte in binder.ctes)
    yield from (t.name for t in binder.catalog.tables())
    yield from (name for name, _ in binder.options.views)
    yield from SYSTEM_TABLES


# ---- points in history ------------------------------------------------------------------------------------------


def read_point(binder: SqlBinder, table: exp.Expr) -> ReadPoint:
    """Where the qualifier (a branch, or `@commit`) or the suffix (AS OF, AT) says the table is to be read."""
    qualifier, travel = table.args.get("db") or None, table.args.get("version")
    _check_graph(binder, table)
    if travel is None:
        return HEAD if qualifier is None else _qualified(binder, qualifier)
    if not isinstance(travel, Travel):
        binder.refuse_node(travel)
    if qualifier is not None:
        hint = "use one of the two"
        raise binder.unsupported("a branch and a point in history cannot be combined", travel, hint)
    return _travelled(binder, travel)


def _check_graph(binder: SqlBinder, table: exp.Expr) -> None:
    graph = table.args.get("catalog")
    if isinstance(graph, exp.Expr) and not name_of(graph).matches(binder.options.graph):
        hint = f"this graph is called {binder.options.graph}"
        raise binder.unknown("graph", graph.name, graph, (binder.options.graph,), hint)


def _qualified(binder: SqlBinder, qualifier: exp.Expr) -> ReadPoint:
    text = qualifier.name
    if text.startswith("@") and len(text) > 1:
        return ReadPoint(PointKind.VERSION, Literal(text[1:], STRING))
    return ReadPoint(PointKind.BRANCH, None, _branch(binder, text, qualifier))


def _branch(binder: SqlBinder, text: str, at: exp.Expr) -> BranchName:
    try:
        return BranchName.parse(text)
    except ValueError as problem:
        raise binder.mismatch(str(problem), at) from None


def _travelled(binder: SqlBinder, travel: Travel) -> ReadPoint:
    kind, node = travel.args.get("kind"), travel.args["value"]
    if kind == "branch":
        return ReadPoint(PointKind.BRANCH, None, _named_branch(binder, node))
    value = _constant(binder, node)
    if kind == "timestamp":
        return ReadPoint(PointKind.TIMESTAMP, _instant(binder, value, node))
    return ReadPoint(PointKind.VERSION, _version(binder, value, node))


def _named_branch(binder: SqlBinder, node: exp.Expr) -> BranchName:
    if isinstance(node, exp.Literal) and node.is_string:
        return _branch(binder, node.name, node)
    if isinstance(node, exp.Column) and len(node.parts) == 1:
        return _branch(binder, node.name, node)
    raise binder.unsupported("the name of a branch is written out", node, "write AT (BRANCH => 'name')")


def _constant(binder: SqlBinder, node: exp.Expr) -> Expr:
    if isinstance(node, exp.Column):
        _refuse_computed(binder, node)
    value = binder.bind_expr(node, Scope(), "AS OF")
    if isinstance(value, Cast) and isinstance(value.operand, Literal | Param):
        return value
    if not isinstance(value, Literal | Param):
        _refuse_computed(binder, node)
    return value


def _refuse_computed(binder: SqlBinder, node: exp.Expr) -> NoReturn:
    raise binder.unsupported("a point in history is a constant or a parameter", node, "compute it first and pass it")


def _version(binder: SqlBinder, value: Expr, node: exp.Expr) -> Expr:
    negative = isinstance(value, Literal) and isinstance(value.value, int) and value.value < 0
    if negative or not (is_integer(value.type) or is_text(value.type) or _open(value)):
        hint = "write VERSION AS OF 12, or the id of a commit in quotes"
        raise binder.mismatch("a version is a whole number or the name of a commit, branch or tag", node, hint)
    return value


def _open(value: Expr) -> bool:
    return isinstance(value, Param) and is_open(value.type)


def _instant(binder: SqlBinder, value: Expr, node: exp.Expr) -> Expr:
    if isinstance(value, Param):
        value = binder.infer(value, DATETIME)
    if isinstance(value, Literal) and is_text(value.type):
        return _instant_of_text(binder, str(value.value), node)
    if isinstance(value, Literal) and isinstance(value.value, date) and not isinstance(value.value, datetime):
        day = value.value
        return Literal(datetime(day.year, day.month, day.day, tzinfo=UTC), DATETIME)
    if value.type not in (DATETIME, DATE) or (isinstance(value, Literal) and value.value is None):
        hint = "write TIMESTAMP AS OF '2031-02-03T04:05:06Z'"
        raise binder.mismatch(f"a point in time is a DateTime, not {declared(value.type)}", node, hint)
    return value


def _instant_of_text(binder: SqlBinder, text: str, node: exp.Expr) -> Literal:
    """A day alone is its first instant; an instant without an offset is UTC, as everywhere in SQL text."""
    try:
        if len(text) <= len("2031-02-03"):
            day = parse_day(text)
            return Literal(datetime(day.year, day.month, day.day, tzinfo=UTC), DATETIME)
        bare = text[10:11] in ("T", "t", " ") and not text.endswith(("Z", "z")) and not set("+-") & set(text[10:])
        return Literal(utc(parse_instant(f"{text}Z" if bare else text)), DATETIME)
    except ValueError:
        raise binder.mismatch(f"'{text}' is not a point in time", node, "write '2031-02-03T04:05:06Z'") from None
