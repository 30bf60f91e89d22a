"""The airport graph and short spellings for bound values and expressions."""

from __future__ import annotations

from omnigraph_sql.base.catalog import Catalog, EdgeType, Key, NodeType, Property
from omnigraph_sql.base.expr import Column, Compare, Expr, Literal, OuterColumn, Param
from omnigraph_sql.base.types import BOOL, F64, I32, I64, STRING, DataType, ListType, VectorType
from omnigraph_sql.bind.bound import (
    ONE_HOP,
    BoundEdge,
    BoundItem,
    BoundNode,
    BoundPattern,
    BoundQuery,
    BoundSelect,
    BoundSource,
    BoundStatement,
    BoundTable,
    Hops,
    Walk,
)
from omnigraph_sql.plan.explain import explain
from omnigraph_sql.plan.lower import lower
from omnigraph_sql.plan.optimizer import optimize

AIRPORT = NodeType(
    "Airport",
    (
        Property("code", STRING, False),
        Property("city", STRING, True),
        Property("elevation", I32, True),
        Property("tags", ListType(STRING), True),
        Property("pos", VectorType(2), True),
    ),
    (Key(("code",)),),
)
CARRIER = NodeType("Carrier", (Property("iata", STRING, False), Property("name", STRING, True)), (Key(("iata",)),))
ROUTE = EdgeType("Route", (Property("miles", I32, True),), source="Airport", target="Airport")
HUB = EdgeType("Hub", (), source="Carrier", target="Airport")
CATALOG = Catalog((AIRPORT, CARRIER), (ROUTE, HUB))

_TYPES: dict[str, DataType] = {"elevation": I32, "miles": I32, "tags": ListType(STRING), "pos": VectorType(2)}
_REQUIRED = ("id", "src", "dst", "code", "iata")


def col(name: str) -> Column:
    """`a.code` with the type the airport graph gives it."""
    column = name.rpartition(".")[2]
    return Column(name, _TYPES.get(column, STRING), column not in _REQUIRED)


def outer(name: str) -> OuterColumn:
    inner = col(name)
    return OuterColumn(name, inner.of, inner.null)


def lit(value: str | int | float | bool | None) -> Literal:
    of = (
        BOOL
        if isinstance(value, bool)
        else I64
        if isinstance(value, int)
        else F64
        if isinstance(value, float)
        else STRING
    )
    return Literal(value, of)


def value(of: Expr | str | int | float) -> Expr:
    return of if isinstance(of, Expr) else lit(of)


def cmp(left: Expr | str, op: str, right: Expr | str | int | float) -> Compare:
    """A comparison; a string on the left names a column."""
    return Compare(op, col(left) if isinstance(left, str) else left, value(right))


def eq(left: str, right: str) -> Compare:
    """Two columns are equal."""
    return Compare("=", col(left), col(right))


def param(name: str) -> Param:
    return Param(name, STRING, False)


def airport(variable: str) -> BoundNode:
    return BoundNode(variable, AIRPORT)


def carrier(variable: str) -> BoundNode:
    return BoundNode(variable, CARRIER)


def step(
    source: str, target: str, edge: EdgeType = ROUTE, hops: Hops = ONE_HOP, *, undirected: bool = False
) -> BoundEdge:
    return BoundEdge(edge, source, target, Walk.NEIGHBORS, hops, undirected)


def row(source: str, variable: str | None, target: str, edge: EdgeType = ROUTE) -> BoundEdge:
    """A step over edge rows."""
    return BoundEdge(edge, source, target, Walk.EDGES, variable=variable)


def pattern(*parts: BoundNode | BoundEdge | Expr | BoundPattern, outer: tuple[BoundNode, ...] = ()) -> BoundPattern:
    return BoundPattern(
        tuple(p for p in parts if isinstance(p, BoundNode)),
        tuple(p for p in parts if isinstance(p, BoundEdge)),
        tuple(p for p in parts if isinstance(p, Expr)),
        tuple(p for p in parts if isinstance(p, BoundPattern)),
        outer,
    )


def table(variable: str, of: NodeType | EdgeType = AIRPORT) -> BoundTable:
    return BoundTable(variable, of)


def items(*names: str) -> tuple[BoundItem, ...]:
    return tuple(BoundItem(name, col(name)) for name in names)


def select(source: BoundSource | None, *names: str, where: Expr | None = None) -> BoundQuery:
    return BoundQuery(BoundSelect(items(*names), source, where))


def raw(statement: BoundStatement) -> str:
    """The plan before any rule."""
    return explain(lower(statement))


def plan_of(statement: BoundStatement) -> str:
    """The optimised plan."""
    return explain(optimize(lower(statement), CATALOG))
