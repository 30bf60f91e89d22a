"""GROUP BY, and the rule that what stands beside aggregates is grouped.

A column outside every aggregate must be a key, or part of an expression that is one. That a column follows from a key,
as a property does from its `id`, does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from sqlglot import exp

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import TypeMismatch
from omnigraph_sql.base.expr import (
    Aggregate,
    Column,
    Exists,
    Expr,
    InSubquery,
    ScalarSubquery,
    WindowCall,
    column_names,
    walk,
)
from omnigraph_sql.bind.bound import BoundGroup, BoundQuery
from omnigraph_sql.bind.sql_binder import SqlBinder
from omnigraph_sql.bind.sql_clauses import refuse_clauses
from omnigraph_sql.bind.sql_scope import Scope

_GROUP: Final = frozenset({"expressions", "all", "rollup", "cube", "grouping_sets"})
_SETS: Final = (exp.Rollup, exp.Cube, exp.GroupingSets)

Set = tuple[Expr, ...]
Take = Callable[[exp.Expr], Expr]


def has_sets(group: exp.Expr | None) -> bool:
    """Whether some rows of the result stand for groups over fewer keys, with null in place of the others."""
    if group is None:
        return False
    if any(group.args.get(key) for key in ("rollup", "cube", "grouping_sets")):
        return True
    return any(isinstance(node, _SETS) for node in group.expressions)


def bind_group(binder: SqlBinder, group: exp.Expr, outputs: Sequence[Expr], take: Take) -> BoundGroup:
    """The keys, and the sets of them where the text has ROLLUP, CUBE or GROUPING SETS. `take` binds one key."""
    refuse_clauses(binder, group, _GROUP)
    elements = list(group.expressions)
    if group.args.get("all") and not elements and not has_sets(group):
        return BoundGroup(_distinct(e for e in outputs if _is_key(e)))
    if not elements and not has_sets(group):
        raise binder.mismatch("GROUP BY names columns, and there is none", group, "name them, or write GROUP BY ALL")
    if not has_sets(group):
        return BoundGroup(_distinct(key for node in elements for key in _simple(node, take)))
    choices = [_element(binder, node, take) for node in elements]
    for key in ("rollup", "cube", "grouping_sets"):
        for node in group.args.get(key) or ():
            choices = _behind(binder, node, choices, take)
    made = _product(binder, group, choices)
    if group.args.get("all") is False:
        made = list(dict.fromkeys(made))
    keys = _distinct(key for one in made for key in one)
    return BoundGroup(keys, tuple(tuple(dict.fromkeys(_place(keys, key) for key in one)) for one in made))


def _is_key(expr: Expr) -> bool:
    """For GROUP BY ALL: what reads a column and computes nothing over groups."""
    return not any(isinstance(part, Aggregate | WindowCall) for part in walk(expr)) and bool(column_names(expr))


def _distinct(exprs: object) -> tuple[Expr, ...]:
    found: list[Expr] = []
    for expr in exprs:  # type: ignore[attr-defined]
        if not any(expr is old or expr == old for old in found):
            found.append(expr)
    return tuple(found)


def _place(keys: tuple[Expr, ...], key: Expr) -> int:
    return next(i for i, other in enumerate(keys) if other is key or other == key)


def _simple(node: exp.Expr, take: Take) -> Set:
    """The keys of `a`, `(a)` and `(a, b)`."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Tuple):
        return tuple(key for part in node.expressions for key in _simple(part, take))
    return (take(node),)


def _element(binder: SqlBinder, node: exp.Expr, take: Take) -> list[Set]:
    """The sets one element of GROUP BY offers; those of several elements are multiplied."""
    if isinstance(node, exp.GroupingSets):
        return [one for part in node.expressions for one in _element(binder, part, take)]
    if not isinstance(node, exp.Rollup | exp.Cube):
        return [_simple(node, take)]
    return _widened(binder, node, [_simple(part, take) for part in node.expressions])


def _widened(binder: SqlBinder, node: exp.Expr, parts: list[Set]) -> list[Set]:
    if isinstance(node, exp.Rollup):
        return [_joined(parts[:size]) for size in range(len(parts), -1, -1)]
    if 2 ** len(parts) > limits.GROUPING_SETS_MAX:
        raise _too_many(binder, node)
    return [_joined(some) for size in range(len(parts), -1, -1) for some in combinations(parts, size)]


def _joined(parts: Sequence[Set]) -> Set:
    return tuple(key for part in parts for key in part)


def _behind(binder: SqlBinder, node: exp.Expr, choices: list[list[Set]], take: Take) -> list[list[Set]]:
    """`a, b WITH ROLLUP` widens everything before it; a node with keys of its own is one more element."""
    if node.expressions or isinstance(node, exp.GroupingSets):
        return [*choices, _element(binder, node, take)]
    return [_widened(binder, node, [one for choice in choices for one in choice])]


def _product(binder: SqlBinder, group: exp.Expr, choices: list[list[Set]]) -> list[Set]:
    made: list[Set] = [()]
    for choice in choices:
        if len(made) * len(choice) > limits.GROUPING_SETS_MAX:
            raise _too_many(binder, group)
        made = [(*one, *other) for one in made for other in choice]
    return made


def _too_many(binder: SqlBinder, node: exp.Expr) -> Exception:
    message = f"GROUP BY makes more than {limits.GROUPING_SETS_MAX} grouping sets"
    return binder.unsupported(message, node, "list the sets you need in GROUPING SETS")


# ---- what must be grouped ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Grouped:
    """Checks expressions of a select over groups; `keys` are empty when the whole input is one group."""

    binder: SqlBinder
    scope: Scope
    keys: tuple[Expr, ...]
    has_group: bool

    def check(self, node: exp.Expr, expr: Expr) -> None:
        """Refuse columns that are neither grouped nor aggregated, and aggregates inside aggregates."""
        stack = [expr]
        while stack:
            part = stack.pop()
            if any(part is key or part == key for key in self.keys):
                continue
            if isinstance(part, Column):
                raise self._ungrouped(node, part.name)
            if isinstance(part, Aggregate):
                self._refuse_nested(node, part)
                continue
            if isinstance(part, ScalarSubquery | Exists | InSubquery):
                self._check_correlated(node, part)
            stack.extend(reversed(list(part.children())))

    def _refuse_nested(self, node: exp.Expr, call: Aggregate) -> None:
        inside = (part for child in call.children() for part in walk(child))
        if any(isinstance(part, Aggregate | WindowCall) for part in inside):
            hint = "compute the inner one in a sub-query"
            raise self.binder.mismatch(f"{call.function} takes values of single rows, not of groups", node, hint)

    def _check_correlated(self, node: exp.Expr, part: ScalarSubquery | Exists | InSubquery) -> None:
        """A sub-query may read the columns of the select around it only where they are keys."""
        if not isinstance(part.relation, BoundQuery) or not part.relation.outer_columns:
            return
        keys = {key.name for key in self.keys if isinstance(key, Column)}
        own = {name for table in self.scope.tables for column in table.columns for name in column_names(column.expr)}
        for name in sorted(part.relation.outer_columns & own - keys):
            raise self._ungrouped(node, name)

    def _ungrouped(self, node: exp.Expr, column: str) -> TypeMismatch:
        own = column.partition(".")[2] or column
        place = _written(node, own)
        name = place.name if isinstance(place, exp.Column) and not isinstance(place.this, exp.Star) else own
        wish = f"add {name} to GROUP BY" if self.has_group else f"add GROUP BY {name}"
        hint = f"{wish}, or use an aggregate such as min({name})"
        return self.binder.mismatch(f"column '{name}' is neither grouped nor aggregated", place, hint)


def _written(node: exp.Expr, name: str) -> exp.Expr:
    """Where the text names the column, outside aggregates if it does; the whole expression where that is unclear."""
    for inside in (False, True):
        for part in node.walk(prune=None if inside else lambda n: isinstance(n, exp.AggFunc)):
            if isinstance(part, exp.Column) and part.name.casefold() == name.casefold():
                return part
    return node
