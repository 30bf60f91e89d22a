"""The query graph: the maximal area of inner joins, filters and expansions, whatever text it came from.

Patterns and plain joins are collected into the same leaves, links and conjuncts, and built from them by the same code,
so equal questions get equal plans.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from omnigraph_sql.base.catalog import EdgeType, NodeType, TableType
from omnigraph_sql.base.expr import Column, Compare, Expr, column_names, conjuncts
from omnigraph_sql.base.expr_text import text
from omnigraph_sql.base.travel import ReadPoint
from omnigraph_sql.bind.bound import Hops, JoinKind, Walk
from omnigraph_sql.plan.nodes import AntiJoin, Argument, Expand, Filter, Join, Plan, Scan, SemiJoin
from omnigraph_sql.plan.rewrite import all_of

ANONYMOUS = "_"
"""First character of variables no text wrote; texts that write `$_` get such names from the binder."""


def is_temporary(variable: str) -> bool:
    """Whether lowering or a rule made the variable up: names of texts hold no dot."""
    return variable.startswith(ANONYMOUS) and "." in variable


@dataclass(slots=True)
class Table:
    """A node or edge table with the columns someone reads."""

    variable: str
    type: TableType
    columns: set[str]
    at: ReadPoint


@dataclass(slots=True)
class Opaque:
    """A plan the region does not look into; the argument row of an anti or semi join is one, too."""

    plan: Plan


Leaf = Table | Opaque


@dataclass(slots=True)
class Link:
    """A step between two node variables, along the stored arrow."""

    edge: EdgeType
    source: str
    target: str
    walk: Walk
    hops: Hops
    undirected: bool
    variable: str | None
    columns: set[str]
    path: str | None
    path_columns: tuple[str, ...]
    at: ReadPoint


@dataclass(slots=True)
class Region:
    """Leaves and links in order of declaration; `checks` are anti and semi joins, as (is anti, inner plan)."""

    leaves: list[Leaf] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    conjuncts: list[Expr] = field(default_factory=list)
    checks: list[tuple[bool, Plan]] = field(default_factory=list)

    def rename(self, old: str, new: str) -> None:
        """Let variable `new` stand wherever `old` stood."""
        change = renamer({old: new})
        self.conjuncts = [change(part) for part in self.conjuncts]
        for link in self.links:
            link.source = new if link.source == old else link.source
            link.target = new if link.target == old else link.target


def collect(plan: Plan, inside: Callable[[Plan], Plan], types: dict[str, NodeType]) -> Region:
    """The region whose topmost node is `plan`; `inside` rewrites the plans the region does not look into.

    Node types the region meets are added to `types`: a script may use types that it has just made.
    """
    region = Region()
    _collect(plan, region, inside)
    for leaf in region.leaves:
        if isinstance(leaf, Table) and isinstance(leaf.type, NodeType):
            types.setdefault(leaf.type.name, leaf.type)
    return region


def _collect(plan: Plan, region: Region, inside: Callable[[Plan], Plan]) -> None:
    match plan:
        case Filter(input=input, predicate=predicate):
            _collect(input, region, inside)
            region.conjuncts += conjuncts(predicate)
        case Join(kind=JoinKind.INNER | JoinKind.CROSS, lateral=False):
            _collect(plan.left, region, inside)
            _collect(plan.right, region, inside)
            region.conjuncts += conjuncts(plan.on)
        case Scan():
            region.leaves.append(Table(plan.variable, plan.type, set(plan.columns), plan.at))
            region.conjuncts += conjuncts(plan.filter)
        case Expand():
            _collect(plan.input, region, inside)
            _collect_expand(plan, region)
        case AntiJoin(input=input, absent=inner) | SemiJoin(input=input, present=inner):
            _collect(input, region, inside)
            region.checks.append((isinstance(plan, AntiJoin), inside(inner)))
        case Argument():
            region.leaves.append(Opaque(plan))
        case _:
            region.leaves.append(Opaque(inside(plan)))


def _collect_expand(plan: Expand, region: Region) -> None:
    region.leaves.append(Table(plan.target, plan.target_type, set(plan.target_columns), plan.at))
    region.conjuncts += conjuncts(plan.edge_filter)
    region.conjuncts += conjuncts(plan.target_filter)
    backward = plan.direction == "in" or plan.flipped
    source, target = (plan.target, plan.source) if backward else (plan.source, plan.target)
    region.links.append(
        Link(
            plan.edge,
            source,
            target,
            plan.walk,
            plan.hops,
            plan.direction == "both",
            plan.edge_variable,
            set(plan.edge_columns),
            plan.path,
            plan.path_columns,
            plan.at,
        )
    )


def is_region(plan: Plan) -> bool:
    """Whether the node is one that regions are made of."""
    if isinstance(plan, Join):
        return plan.kind in (JoinKind.INNER, JoinKind.CROSS) and not plan.lateral
    return isinstance(plan, Filter | Scan | Expand | AntiJoin | SemiJoin)


def node_type(leaf: Leaf) -> NodeType | None:
    return leaf.type if isinstance(leaf, Table) and isinstance(leaf.type, NodeType) else None


def variable_of(column: str) -> str:
    """`a` of `a.code`; a property never holds a dot."""
    return column.rpartition(".")[0]


def renamer(names: dict[str, str]) -> Callable[[Expr], Expr]:
    """A function that renames the variables of plain columns."""

    def change(expr: Expr) -> Expr:
        if isinstance(expr, Column):
            variable, _, column = expr.name.rpartition(".")
            new = names.get(variable)
            return expr if new is None else Column(f"{new}.{column}", expr.of, expr.null)
        return expr.map_children(change)

    return change


_MIRROR = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def canonical(expr: Expr) -> Expr:
    """A comparison with the column left of the constant; between two columns the smaller name comes first."""
    if not isinstance(expr, Compare):
        return expr
    left, right = column_names(expr.left), column_names(expr.right)
    if bool(left) != bool(right):
        swap = bool(right)
    else:
        swap = isinstance(expr.left, Column) and isinstance(expr.right, Column) and expr.left.name > expr.right.name
    return Compare(_MIRROR.get(expr.op, expr.op), expr.right, expr.left) if swap else expr


def conjunction(parts: list[Expr]) -> Expr | None:
    """All of the parts in canonical form and order."""
    if len(parts) == 1:
        return canonical(parts[0])
    return all_of(sorted(map(canonical, parts), key=text))
