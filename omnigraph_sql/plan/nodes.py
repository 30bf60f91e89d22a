"""The plan's read nodes: frozen values that refuse to be wrong. Inputs first, then what the node does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from omnigraph_sql.base import expr as ex
from omnigraph_sql.base.catalog import ID, EdgeType, NodeType
from omnigraph_sql.base.expr import Expr, Score, SortKey
from omnigraph_sql.base.schema import Field
from omnigraph_sql.base.travel import HEAD, ReadPoint
from omnigraph_sql.base.types import F64, I64, STRING, DataType, ListType
from omnigraph_sql.bind.bound import ONE_HOP, Hops, JoinKind, Walk
from omnigraph_sql.plan.node import Plan, PlanError, check, check_predicate, shape, walk_plan
from omnigraph_sql.plan.sources import (
    Argument,
    CteScan,
    FunctionScan,
    OneRow,
    Scan,
    Values,
    check_table_filter,
    table_fields,
)

Named = tuple[str, Expr]
_NO_COLUMNS: frozenset[str] = frozenset()
PATH_COLUMNS: dict[str, DataType] = {"length": I64, "vertices": ListType(STRING), "edges": ListType(STRING)}


@dataclass(frozen=True, slots=True)
class Expand(Plan):
    """One row per thing `walk` yields when stepping from `source.id` over `edge` to nodes named `target`.

    `direction` is seen from `source`: out follows the stored arrow, in goes against it, both goes either way. A path
    lists its vertices along the arrow; for `both` it starts at `source`, or at `target` when `flipped`. A window of
    hops is counted from where a path would start.
    """

    plan_fields: ClassVar[tuple[str, ...]] = ("input",)
    expr_fields: ClassVar[tuple[str, ...]] = ("edge_filter", "target_filter")
    input: Plan
    edge: EdgeType
    source: str
    target: str
    target_type: NodeType
    direction: str
    walk: Walk
    hops: Hops = ONE_HOP
    edge_variable: str | None = None
    edge_columns: tuple[str, ...] = ()
    target_columns: tuple[str, ...] = (ID,)
    edge_filter: Expr | None = None
    target_filter: Expr | None = None
    path: str | None = None
    path_columns: tuple[str, ...] = ()
    flipped: bool = False
    at: ReadPoint = HEAD

    def __post_init__(self) -> None:
        if f"{self.source}.{ID}" not in self.input.schema:
            raise PlanError(f"expand starts at {self.source}.{ID}, which its input lacks")
        self._check_step()
        self._check_names()
        fields = list(self.input.schema.fields)
        if self.edge_variable is not None:
            fields += table_fields(self.edge, self.edge_variable, self.edge_columns)
            check_table_filter("expand", self.edge, self.edge_variable, self.edge_filter)
        fields += table_fields(self.target_type, self.target, self.target_columns)
        check_table_filter("expand", self.target_type, self.target, self.target_filter)
        fields += [Field(f"{self.path}.{name}", PATH_COLUMNS[name], False) for name in self.path_columns]
        self._shape(shape("expand", fields))

    def _check_step(self) -> None:
        ends = {"out": (self.edge.target,), "in": (self.edge.source,), "both": (self.edge.source, self.edge.target)}
        if self.direction not in ends:
            raise PlanError(f"unknown direction {self.direction!r}")
        if any(end != self.target_type.name for end in ends[self.direction]):
            raise PlanError(f"{self.edge.name} does not lead {self.direction} to {self.target_type.name}")
        if self.walk is Walk.EDGES and self.hops != ONE_HOP:
            raise PlanError("an edge row is exactly one hop")

    def _check_names(self) -> None:
        if self.edge_variable is None and (self.edge_columns or self.edge_filter is not None):
            raise PlanError("columns and filters of an edge row need its variable")
        if self.edge_variable is not None and self.walk is not Walk.EDGES:
            raise PlanError("only a step over edge rows has an edge variable")
        if self.path_columns and (self.path is None or not set(self.path_columns) <= set(PATH_COLUMNS)):
            raise PlanError("path columns are length, vertices and edges of a named path")


@dataclass(frozen=True, slots=True)
class Filter(Plan):
    """Keep the rows of `input` for which `predicate` is true (unknown counts as false)."""

    plan_fields: ClassVar[tuple[str, ...]] = ("input",)
    expr_fields: ClassVar[tuple[str, ...]] = ("predicate",)
    input: Plan
    predicate: Expr

    def __post_init__(self) -> None:
        check_predicate("filter", self.input.schema.keys(), self.predicate)
        self._shape(self.input.schema)


@dataclass(frozen=True, slots=True)
class Project(Plan):
    """Exactly the named expressions, in this order."""

    plan_fields: ClassVar[tuple[str, ...]] = ("input",)
    expr_fields: ClassVar[tuple[str, ...]] = ("items",)
    input: Plan
    items: tuple[Named, ...]

    def __post_init__(self) -> None:
        check("project", self.input.schema.keys(), [expr for _, expr in self.items])
        self._shape(shape("project", [Field(name, e.type, e.nullable) for name, e in self.items]))


@dataclass(frozen=True, slots=True)
class Aggregate(Plan):
    """One row per group; `sets` are index tuples into `groups` (grouping sets). No groups: one row, always."""

    plan_fields: ClassVar[tuple[str, ...]] = ("input",)
    expr_fields: ClassVar[tuple[str, ...]] = ("groups", "aggregates")
    input: Plan
    groups: tuple[Named, ...]
    aggregates: tuple[tuple[str, ex.Aggregate], ...]
    sets: tuple[tuple[int, ...], ...] | None = None

    def __post_init__(self) -> None:
        check("aggregate", self.input.schema.keys(), [expr for _, expr in self.groups])
        for _, call in self.aggregates:
            if not isinstance(call, ex.Aggregate):
                raise PlanError("aggregate computes aggregate functions only")
            check("aggregate", self.input.schema.keys(), call.children())
        if self.sets is not None and any(not 0 <= i < len(self.groups) for one in self.sets for i in one):
            raise PlanError("a grouping set names a key that does not exist")
        nullable = self.sets is not None
        keys = [Field(name, e.type, e.nullable or nullable) for name, e in self.groups]
        self._shape(shape("aggregate", [*keys, *(Field(n, e.type, e.nullable) for n, e in self.aggregates)]))


@dataclass(frozen=True, slots=True)
class Window(Plan):
    """The input with one more column per window call."""

    plan_fields: ClassVar[tuple[str, ...]] = ("input",)
    expr_fields: ClassVar[tuple[str, ...]] = ("items",)
    input: Plan
    items: tuple[tuple[str, ex.WindowCall], ...]

    def __post_init__(self) -> None:
        for _, call in self.items:
            if not isinstance(call, ex.WindowCall):
                raise PlanError("window computes window functions only")
            check("window", self.input.schema.keys(), call.children())
        added = (Field(name, e.type, e.nullable) for name, e in self.items)
        self._shape(shape("window", [*self.input.schema.fields, *added]))


@dataclass(frozen=True, slots=True)
class Rank(Plan):
    """The input with a score column; a filter below it decides what may be ranked, a filter above does not."""

    plan_fields: ClassVar[tuple[str, ...]] = ("input",)
    expr_fields: ClassVar[tuple[str, ...]] = ("score",)
    input: Plan
    score: Score
    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.score, ex.Nearest | ex.Bm25 | ex.Fuse):
            raise PlanError("rank computes nearest, bm25 or their fusion")
        rankers = self.score.rankers if isinstance(self.score, ex.Fuse) else (self.score,)
        for ranker in rankers:
            check("rank", self.input.schema.keys(), ranker.children())
        self._shape(shape("rank", [*self.input.schema.fields, Field(self.name, F64, True)]))


@dataclass(frozen=True, slots=True)
class Sort(Plan):
    plan_fields: ClassVar[tuple[str, ...]] = ("input",)
    expr_fields: ClassVar[tuple[str, ...]] = ("keys",)
    input: Plan
    keys: tuple[SortKey, ...]

    def __post_init__(self) -> None:
        if not self.keys:
            raise PlanError("sort needs a key")
        check("sort", self.input.schema.keys(), [key.expr for key in self.keys])
        self._shape(self.input.schema)


@dataclass(frozen=True, slots=True)
class Limit(Plan):
    """Skip `offset` rows, then let `count` through; both are constants of the statement."""

    plan_fields: ClassVar[tuple[str, ...]] = ("input",)
    expr_fields: ClassVar[tuple[str, ...]] = ("count", "offset")
    input: Plan
    count: Expr | None = None
    offset: Expr | None = None

    def __post_init__(self) -> None:
        if self.count is None and self.offset is None:
            raise PlanError("limit needs a count or an offset")
        check("limit", _NO_COLUMNS, (e for e in (self.count, self.offset) if e is not None))
        self._shape(self.input.schema)


@dataclass(frozen=True, slots=True)
class Distinct(Plan):
    """Rows without repeats; with `on`, the first row in input order for each value of those expressions."""

    plan_fields: ClassVar[tuple[str, ...]] = ("input",)
    expr_fields: ClassVar[tuple[str, ...]] = ("on",)
    input: Plan
    on: tuple[Expr, ...] = ()

    def __post_init__(self) -> None:
        check("distinct", self.input.schema.keys(), self.on)
        self._shape(self.input.schema)


@dataclass(frozen=True, slots=True)
class Join(Plan):
    """Pairs of rows. `lateral`: the right side reads columns of the left as outer columns, row by row."""

    plan_fields: ClassVar[tuple[str, ...]] = ("left", "right")
    expr_fields: ClassVar[tuple[str, ...]] = ("on",)
    kind: JoinKind
    left: Plan
    right: Plan
    on: Expr | None = None
    lateral: bool = False

    def __post_init__(self) -> None:
        if self.kind in (JoinKind.SEMI, JoinKind.ANTI):
            raise PlanError("semi and anti joins have nodes of their own")
        if (self.kind is JoinKind.CROSS) != (self.on is None):
            raise PlanError("a cross join has no condition, every other join has one")
        if self.lateral and self.kind in (JoinKind.RIGHT, JoinKind.FULL):
            raise PlanError(f"a {self.kind} join cannot be lateral")
        left, right = self.left.schema.fields, self.right.schema.fields
        if self.kind in (JoinKind.RIGHT, JoinKind.FULL):
            left = _optional(left)
        if self.kind in (JoinKind.LEFT, JoinKind.FULL):
            right = _optional(right)
        self._shape(shape("join", [*left, *right]))
        check_predicate("join", self.schema.keys(), self.on)


def _optional(fields: tuple[Field, ...]) -> tuple[Field, ...]:
    return tuple([f if f.nullable else Field(f.name, f.type, True) for f in fields])


def arguments(plan: Plan) -> tuple[Field, ...]:
    """What the plan takes from the row around it; arguments of inner anti and semi joins are theirs."""
    found: dict[str, Field] = {}
    stack = [plan]
    while stack:
        node = stack.pop()
        if isinstance(node, Argument):
            found.update({f.name: f for f in node.fields})
        elif isinstance(node, AntiJoin | SemiJoin):
            stack.append(node.input)
        else:
            stack.extend(node.inputs)
    return tuple(found.values())


def _check_argument(node: str, input: Plan, inner: Plan) -> None:
    missing = [f.name for f in arguments(inner) if f.name not in input.schema]
    if missing:
        raise PlanError(f"{node} hands over columns its input lacks: {missing}")


@dataclass(frozen=True, slots=True)
class AntiJoin(Plan):
    """Rows of `input` for which `absent`, started from that row, yields nothing."""

    plan_fields: ClassVar[tuple[str, ...]] = ("input", "absent")
    input: Plan
    absent: Plan

    def __post_init__(self) -> None:
        _check_argument("anti join", self.input, self.absent)
        self._shape(self.input.schema)


@dataclass(frozen=True, slots=True)
class SemiJoin(Plan):
    """Rows of `input`, each once, for which `present`, started from that row, yields something."""

    plan_fields: ClassVar[tuple[str, ...]] = ("input", "present")
    input: Plan
    present: Plan

    def __post_init__(self) -> None:
        _check_argument("semi join", self.input, self.present)
        self._shape(self.input.schema)


@dataclass(frozen=True, slots=True)
class SetOp(Plan):
    """`op` is union, intersect or except; columns are matched by position, `fields` name and type the result."""

    plan_fields: ClassVar[tuple[str, ...]] = ("left", "right")
    op: str
    all: bool
    left: Plan
    right: Plan
    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        if self.op not in ("union", "intersect", "except"):
            raise PlanError(f"unknown set operation {self.op!r}")
        if not len(self.left.schema) == len(self.right.schema) == len(self.fields):
            raise PlanError("both sides of a set operation have the same number of columns")
        self._shape(shape("set operation", self.fields))


@dataclass(frozen=True, slots=True)
class Cte:
    """A named sub-plan; `recursive` when it scans its own name."""

    name: str
    plan: Plan
    recursive: bool = False


@dataclass(frozen=True, slots=True)
class With(Plan):
    """`input` may scan the expressions by name, and each expression those before it."""

    ctes: tuple[Cte, ...]
    input: Plan

    def __post_init__(self) -> None:
        names = [cte.name for cte in self.ctes]
        if not names or len(set(names)) != len(names):
            raise PlanError("common table expressions have distinct names, and there is at least one")
        for cte in self.ctes:
            scans = any(isinstance(n, CteScan) and n.name == cte.name for n in walk_plan(cte.plan))
            if scans and not cte.recursive:
                raise PlanError(f"{cte.name} scans itself but is not recursive")
        self._shape(self.input.schema)

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return (*(cte.plan for cte in self.ctes), self.input)

    def map_inputs(self, change: Callable[[Plan], Plan]) -> Self:
        ctes = tuple(_map_cte(cte, change) for cte in self.ctes)
        new = change(self.input)
        if new is self.input and all(a is b for a, b in zip(ctes, self.ctes, strict=True)):
            return self
        return replace(self, ctes=ctes, input=new)


def _map_cte(cte: Cte, change: Callable[[Plan], Plan]) -> Cte:
    plan = change(cte.plan)
    return cte if plan is cte.plan else replace(cte, plan=plan)


@dataclass(frozen=True, slots=True)
class Relabel(Plan):
    """The names a client sees, where they are not the column names; they may repeat."""

    plan_fields: ClassVar[tuple[str, ...]] = ("input",)
    input: Plan
    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.labels) != len(self.input.schema):
            raise PlanError("labels name every column")
        self._shape(self.input.schema)


__all__ = [
    "PATH_COLUMNS",
    "Aggregate",
    "AntiJoin",
    "Argument",
    "Cte",
    "CteScan",
    "Distinct",
    "Expand",
    "Filter",
    "FunctionScan",
    "Join",
    "Limit",
    "OneRow",
    "Plan",
    "PlanError",
    "Project",
    "Rank",
    "Relabel",
    "Scan",
    "SemiJoin",
    "SetOp",
    "Sort",
    "Values",
    "Window",
    "With",
    "arguments",
]
