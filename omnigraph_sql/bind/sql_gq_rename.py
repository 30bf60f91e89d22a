"""A bound `.gq` read made part of another statement: its variables renamed, its parameters replaced by values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from omnigraph_sql.base.expr import Column, Expr, Param, transform
from omnigraph_sql.base.travel import ReadPoint
from omnigraph_sql.bind.bound import BoundEdge, BoundItem, BoundNode, BoundPattern, BoundQuery, BoundSelect


def embedded(query: BoundQuery, fresh: Callable[[str], str], values: Mapping[str, Expr], at: ReadPoint) -> BoundQuery:
    """The read with every range variable called as `fresh` says, read at `at`; parameters without a value stay."""
    select = query.body
    assert isinstance(select, BoundSelect)
    assert isinstance(select.source, BoundPattern)
    names = {variable: fresh(variable) for variable in dict.fromkeys(_variables(select.source))}
    change = _Change(names, values, at)
    group = select.group
    if group is not None:
        group = replace(group, keys=change.exprs(group.keys))
    items = tuple(BoundItem(item.name, change.expr(item.expr)) for item in select.items)
    body = replace(select, items=items, source=change.pattern(select.source), group=group)
    order = tuple(replace(key, expr=change.expr(key.expr)) for key in query.order)
    limit = None if query.limit is None else change.expr(query.limit)
    return replace(query, body=body, order=order, limit=limit)


def _variables(pattern: BoundPattern) -> Iterator[str]:
    """Every variable a pattern and its absent blocks introduce, in order."""
    yield from (node.variable for node in pattern.nodes)
    for edge in pattern.edges:
        yield from (name for name in (edge.variable, edge.path) if name is not None)
    for block in pattern.absences:
        yield from _variables(block)


class _Change:
    def __init__(self, names: Mapping[str, str], values: Mapping[str, Expr], at: ReadPoint) -> None:
        self._names = names
        self._values = values
        self._at = at

    def expr(self, expr: Expr) -> Expr:
        return transform(expr, self._leaf)

    def exprs(self, exprs: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple(self.expr(e) for e in exprs)

    def _leaf(self, expr: Expr) -> Expr:
        if isinstance(expr, Column):
            variable, _, column = expr.name.rpartition(".")
            return replace(expr, name=f"{self._names[variable]}.{column}")
        if isinstance(expr, Param):
            return self._values.get(expr.name, expr)
        return expr

    def pattern(self, pattern: BoundPattern) -> BoundPattern:
        return BoundPattern(
            tuple(self._node(n) for n in pattern.nodes),
            tuple(self._edge(e) for e in pattern.edges),
            self.exprs(pattern.predicates),
            tuple(self.pattern(block) for block in pattern.absences),
            tuple(self._node(n) for n in pattern.outer),
            self._at,
        )

    def _node(self, node: BoundNode) -> BoundNode:
        return replace(node, variable=self._names[node.variable])

    def _edge(self, edge: BoundEdge) -> BoundEdge:
        return replace(
            edge,
            source=self._names[edge.source],
            target=self._names[edge.target],
            variable=None if edge.variable is None else self._names[edge.variable],
            path=None if edge.path is None else self._names[edge.path],
        )
