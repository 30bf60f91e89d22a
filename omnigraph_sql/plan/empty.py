"""What nothing flows into yields nothing."""

from __future__ import annotations

from omnigraph_sql.base.expr import TRUE, Expr, Literal
from omnigraph_sql.bind.bound import JoinKind
from omnigraph_sql.plan.node import Plan
from omnigraph_sql.plan.nodes import (
    Aggregate,
    AntiJoin,
    Distinct,
    Expand,
    Filter,
    Join,
    Limit,
    Project,
    SemiJoin,
    SetOp,
    Sort,
    Window,
)
from omnigraph_sql.plan.rewrite import is_never, is_nothing, nothing


def emptied(node: Plan) -> Plan:
    """The node, or what is left of it over inputs without rows and conditions that always or never hold."""
    match node:
        case Filter(input=input, predicate=predicate):
            if predicate == TRUE:
                return input
            return nothing(node) if is_never(predicate) or is_nothing(input) else node
        case Join():
            return _join(node)
        case Limit(input=input, count=count):
            return nothing(node) if is_nothing(input) or _is_zero(count) else node
        case (
            Sort(input=input) | Distinct(input=input) | Project(input=input) | Window(input=input) | Expand(input=input)
        ):
            return nothing(node) if is_nothing(input) else node
        case Aggregate(input=input, groups=groups, sets=None) if groups and is_nothing(input):
            return nothing(node)
        case SetOp():
            return nothing(node) if _leaves_nothing(node) else node
        case SemiJoin(input=input, present=inner):
            return nothing(node) if is_nothing(input) or is_nothing(inner) else node
        case AntiJoin(input=input, absent=inner):
            return nothing(node) if is_nothing(input) else input if is_nothing(inner) else node
        case _:
            return node


def _is_zero(count: Expr | None) -> bool:
    return isinstance(count, Literal) and count.value == 0


def _leaves_nothing(node: SetOp) -> bool:
    left, right = is_nothing(node.left), is_nothing(node.right)
    return {"union": left and right, "intersect": left or right, "except": left}[node.op]


def _join(node: Join) -> Plan:
    left, right = is_nothing(node.left), is_nothing(node.right)
    match node.kind:
        case JoinKind.INNER | JoinKind.CROSS:
            if left or right or (node.on is not None and is_never(node.on)):
                return nothing(node)
            if node.on == TRUE:
                return Join(JoinKind.CROSS, node.left, node.right, None, node.lateral)
        case JoinKind.LEFT if left:
            return nothing(node)
        case JoinKind.RIGHT if right:
            return nothing(node)
        case _ if left and right:
            return nothing(node)
    return node
