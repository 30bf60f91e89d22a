"""Search in SQL: the text predicates, the rankers and their fusion, as the expressions `.gq` has for them."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sqlglot import exp

from omnigraph_sql.base.catalog import EdgeType
from omnigraph_sql.base.expr import Bm25, Column, Expr, Fuse, Literal, Nearest, OuterColumn, Param, TextMatch
from omnigraph_sql.base.types import I64, STRING, DataType, VectorType, is_integer, is_open, is_text, type_text
from omnigraph_sql.bind.gq_search import FUSION_K
from omnigraph_sql.bind.sql_cast import vector_literal
from omnigraph_sql.bind.sql_expr import Site
from omnigraph_sql.bind.sql_functions import Signature
from omnigraph_sql.bind.sql_operands import name_span, shown
from omnigraph_sql.bind.sql_types import declared

_ARITIES: Final = {
    "search": Signature("search", 2, 2, "BOOL"),
    "fuzzy": Signature("fuzzy", 2, 3, "BOOL"),
    "match_text": Signature("match_text", 2, 2, "BOOL"),
    "bm25": Signature("bm25", 2, 2, "F64"),
    "nearest": Signature("nearest", 2, 2, "F64"),
    "distance": Signature("nearest", 2, 2, "F64"),
    "rrf": Signature("rrf", 2, None, "F64"),
}


def bind_search(site: Site, name: str, arguments: list[exp.Expr], node: exp.Expr) -> Expr:
    signature = _ARITIES[name]
    if not signature.takes(len(arguments)):
        message = f"{name} takes {signature.arity}, not {len(arguments)}"
        raise site.binder.mismatch(message, name_span(site, node))
    if name == "rrf":
        return _fuse(site, arguments, node)
    if signature.name == "nearest":
        return _nearest(site, name, *arguments)
    field, query = _text(site, name, *arguments[:2])
    if name == "bm25":
        return Bm25(field, query)
    edits = _whole(site, _named(site, arguments[2], "max_edits"), "max_edits of fuzzy", 0) if arguments[2:] else None
    return TextMatch(name, field, query, edits)


def _named(site: Site, node: exp.Expr, name: str) -> exp.Expr:
    """The value of an argument that may be given by name."""
    if not isinstance(node, exp.Kwarg):
        return node
    if node.this.name.lower() != name:
        raise site.binder.unknown("argument", node.this.name, node, (name,))
    value: exp.Expr = node.args["expression"]
    return value


def _field(site: Site, name: str, node: exp.Expr) -> Column:
    """The column a search looks at: one of a node table of this query, because its index answers."""
    bound = site.bind(node)
    if isinstance(bound, OuterColumn):
        hint = "search in the query that has the table in its FROM"
        raise site.binder.unsupported(f"{name} looks at a table of its own query", node, hint)
    if not isinstance(bound, Column):
        raise site.binder.mismatch(f"{name} looks at a column; {shown(site, node)} is none", node)
    variable = bound.name.partition(".")[0]
    table = next((t for t in site.scope.tables if t.variable == variable), None)
    if table is not None and isinstance(table.type, EdgeType):
        message = f"{name} searches nodes; {table.name} is an edge of type {table.type.name}"
        raise site.binder.unsupported(message, node)
    if table is not None and table.type is None:
        hint = "search in the sub-query, where the table is"
        raise site.binder.unsupported(f"{name} looks at a column of a table; {table.name} is computed", node, hint)
    return bound


def _constant(site: Site, node: exp.Expr, meets: DataType, what: str) -> Expr:
    """A literal or a parameter: a search asks one question, not one per row."""
    bound = site.binder.infer(site.bind(node), meets)
    if not isinstance(bound, Literal | Param):
        raise site.binder.mismatch(f"{what} is a literal or a parameter", node)
    return bound


def _text(site: Site, name: str, field: exp.Expr, query: exp.Expr) -> tuple[Column, Expr]:
    column = _field(site, name, field)
    if not is_text(column.type):
        message = f"{name} searches text; {shown(site, field)} is {declared(column.type)}"
        raise site.binder.mismatch(message, field)
    words = _constant(site, query, STRING, f"the query of {name}")
    if not (is_text(words.type) or is_open(words.type)) or words == Literal(None, words.type):
        message = f"the query of {name} is a text; {shown(site, query)} is {declared(words.type)}"
        raise site.binder.mismatch(message, query)
    return column, words


def _whole(site: Site, node: exp.Expr, what: str, least: int) -> Expr:
    bound = _constant(site, node, I64, what)
    small = isinstance(bound, Literal) and isinstance(bound.value, int) and bound.value < least
    if small or not (is_integer(bound.type) or (isinstance(bound, Param) and is_open(bound.type))):
        raise site.binder.mismatch(f"{what} is a whole number, {least} or more", node)
    return bound


def _nearest(site: Site, name: str, field: exp.Expr, query: exp.Expr) -> Nearest:
    column = _field(site, name, field)
    of = column.type
    if not isinstance(of, VectorType):
        message = f"{name} compares vectors; {shown(site, field)} is {declared(of)}"
        raise site.binder.mismatch(message, field)
    point = _constant(site, query, of, f"the query of {name}")
    if isinstance(point, Param) and point.of == of:
        site.binder.parameters[point.name] = replace(point, embeds=True)
    if isinstance(point, Literal) and point.of not in (STRING, of):
        made = vector_literal(point, of)
        if made is None:
            raise site.binder.mismatch(f"{name} needs a {type_text(of)} or a String", query)
        return Nearest(column, made)
    if point.type not in (of, STRING) and not is_open(point.type):
        message = f"{name} needs a {type_text(of)} or a String; {shown(site, query)} is {declared(point.type)}"
        raise site.binder.mismatch(message, query)
    return Nearest(column, point)


def _fuse(site: Site, arguments: list[exp.Expr], node: exp.Expr) -> Fuse:
    """`rrf(ranker, ranker, … [, k])`."""
    rankers: list[Expr] = []
    k: Expr | None = None
    for at, argument in enumerate(arguments):
        last = at == len(arguments) - 1
        if isinstance(argument, exp.Kwarg) or (last and at >= 2 and not isinstance(argument, exp.Anonymous)):
            k = _whole(site, _named(site, argument, "k"), "k of rrf", 1)
            continue
        ranker = site.bind(argument)
        if not isinstance(ranker, Nearest | Bm25):
            raise site.binder.mismatch("rrf fuses nearest and bm25 only", argument)
        rankers.append(ranker)
    if len(rankers) < 2:
        raise site.binder.mismatch("rrf fuses two rankings or more", name_span(site, node))
    return Fuse(tuple(rankers), k if k is not None else Literal(FUSION_K, I64))
