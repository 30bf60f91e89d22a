"""Function calls: which function a name means, whether its arguments fit, and what comes out."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from omnigraph_sql.base.expr import Call, Expr
from omnigraph_sql.base.types import (
    U64,
    ListType,
    StructType,
    comparable,
)
from omnigraph_sql.bind import sql_aggregates, sql_search, sql_windows
from omnigraph_sql.bind.sql_arguments import Arguments, fit, fitting, plain, refuse_arity
from omnigraph_sql.bind.sql_expr import Rule, Site
from omnigraph_sql.bind.sql_functions import (
    AGGREGATES,
    ALL_NAMES,
    GRAPH,
    SCALARS,
    SEARCH,
    WINDOWS,
    Signature,
    result_type,
)
from omnigraph_sql.bind.sql_nested import bind_lambda
from omnigraph_sql.bind.sql_operands import as_moment, name_span, shown, unify
from omnigraph_sql.bind.sql_special import SPECIAL_RULES
from omnigraph_sql.bind.sql_types import declared


def bind_call(site: Site, node: exp.Expr) -> Expr:
    """A call, however the parser shaped it."""
    if isinstance(node, exp.Anonymous):
        return call(site, node.name.lower(), node.expressions, node)
    # Anything else is a name without brackets, or a node that sqlglot makes of an operator.
    name = node.sql_name().lower() if isinstance(node, exp.Func) else type(node).__name__
    return call(site, name, [*node.iter_expressions()], node)


def call(site: Site, name: str, arguments: Arguments, node: exp.Expr) -> Expr:
    """`name(arguments)`; `node` is the place."""
    if site.clause.graph is not None and name in GRAPH:
        found = site.clause.graph(name, node)
        if found is not None:
            return found
    special = SPECIAL_RULES.get(name)
    if special is not None:
        return special(site, name, arguments, node)
    if name in SCALARS:
        return _scalar(site, name, SCALARS[name], arguments, node)
    if name in AGGREGATES:
        return sql_aggregates.bind_aggregate(site, name, AGGREGATES[name], arguments, node)
    if name in SEARCH:
        return sql_search.bind_search(site, name, plain(site, name, arguments), node)
    return _unknown(site, name, node)


def _unknown(site: Site, name: str, node: exp.Expr) -> Expr:
    at = name_span(site, node)
    if name in WINDOWS:
        message = f"{name} works on a window"
        raise site.binder.unsupported(message, at, f"write {name}(…) OVER (ORDER BY …)")
    if name in GRAPH:
        raise site.binder.unsupported(f"{name} stands only inside GRAPH_TABLE", at)
    if name == "columns":
        hint = "name the columns, or use * EXCLUDE (…), * REPLACE (…) or * RENAME (…)"
        raise site.binder.unsupported("COLUMNS(…) is not supported", at, hint)
    if name in ("unnest", "explode"):
        hint = "write FROM t CROSS JOIN unnest(t.list) AS u(item)"
        raise site.binder.unsupported("unnest stands in FROM", at, hint)
    if name == "array" and any(isinstance(a, exp.Query) for a in node.expressions):
        raise site.binder.unsupported("ARRAY takes values, not a query", at, "write (SELECT array_agg(x) FROM …)")
    raise site.binder.unknown("function", name, at, ALL_NAMES)


# ---- scalar functions -------------------------------------------------------------------------------------------

_LAMBDAS: Final = {"array_transform": False, "array_filter": True, "array_any_match": True}
"""Functions over a list and a lambda, and whether the lambda is a test."""
_OF_LISTS: Final = {"length": ("array_length", U64), "reverse": ("array_reverse", None)}
"""Functions of texts that mean another function when they meet a list."""


def _scalar(site: Site, name: str, signature: Signature, arguments: Arguments, node: exp.Expr) -> Expr:
    nodes = plain(site, name, arguments)
    refuse_arity(site, name, signature, len(nodes), node)
    if signature.name in _LAMBDAS:
        return _over_list(site, name, signature, nodes)
    bound = [site.bind(argument) for argument in nodes]
    if signature.name in _OF_LISTS and isinstance(bound[0].type, ListType):
        function, of = _OF_LISTS[signature.name]
        return Call(function, tuple(bound), of or bound[0].type)
    if signature.result == "common":
        made, shared = unify(site, fitting(site, name, signature, bound, nodes), nodes, name)
        return Call(signature.name, made, shared)
    if signature.kinds[0] == "l" and len(bound) > 1:
        bound = _with_items(site, name, signature, bound, nodes)
    made = tuple(fitting(site, name, signature, bound, nodes))
    return Call(signature.name, made, result_type(signature.result, tuple(a.type for a in made)))


def _over_list(site: Site, name: str, signature: Signature, nodes: Arguments) -> Expr:
    items = site.bind(nodes[0])
    fit(site, name, "l", 0, items, nodes[0], 2)
    body = bind_lambda(site, nodes[1], items, nodes[0], _LAMBDAS[signature.name])
    return Call(signature.name, (items, body), result_type(signature.result, (items.type, body.type)))


def _with_items(site: Site, name: str, signature: Signature, bound: list[Expr], nodes: Arguments) -> list[Expr]:
    """Values beside a list have the type of its items, lists beside it the type of the list."""
    of = bound[0].type
    if not isinstance(of, ListType):
        return bound
    made = [bound[0]]
    for at, (value, node) in enumerate(zip(bound[1:], nodes[1:], strict=True), 1):
        if signature.kind(at) == ".":
            value = as_moment(site, site.binder.infer(value, of.item), of.item, node)
            if not comparable(of.item, value.type) and not isinstance(of.item, ListType | StructType):
                message = f"{name} works on {declared(of)}; {shown(site, node)} is {declared(value.type)}"
                raise site.binder.mismatch(message, node)
        elif signature.kind(at) == "l":
            value = site.binder.infer(value, of)
        made.append(value)
    return made


# ---- calls with words between their arguments -------------------------------------------------------------------


def _by_role(function: str, *roles: str) -> Rule:
    def rule(site: Site, node: exp.Expr) -> Expr:
        arguments = [node.args[role] for role in roles if node.args.get(role) is not None]
        return call(site, function, arguments, node)

    return rule


_TRIMS: Final = {"LEADING": "ltrim", "TRAILING": "rtrim"}


def _trim(site: Site, node: exp.Expr) -> Expr:
    function = _TRIMS.get(str(node.args.get("position") or "").upper(), "trim")
    signs = node.args.get("expression")
    return call(site, function, [node.this] if signs is None else [node.this, signs], node)


def _series(site: Site, node: exp.Expr) -> Expr:
    function = "range" if node.args.get("is_end_exclusive") else "generate_series"
    return _by_role(function, "start", "end", "step")(site, node)


def _parenthesised_if(site: Site, node: exp.Expr) -> Expr:
    parts = [node.args.get(role) for role in ("this", "true", "false")]
    return call(site, "if", [part for part in parts if part is not None], node)


RULES: Final[dict[type[exp.Expr], Rule]] = {
    exp.Anonymous: bind_call,
    exp.If: _parenthesised_if,
    exp.Substring: _by_role("substr", "this", "start", "length"),
    exp.StrPosition: _by_role("strpos", "this", "substr"),
    exp.Overlay: _by_role("overlay", "this", "expression", "from_", "for_"),
    exp.Extract: _by_role("date_part", "this", "expression"),
    exp.Trim: _trim,
    exp.GenerateSeries: _series,
    **sql_aggregates.RULES,
    **sql_windows.RULES,
}
