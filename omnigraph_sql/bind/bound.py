"""Bound statements: every name resolved, every expression typed. SQL, GRAPH_TABLE and `.gq` meet here.

Range variables are unique within a statement (the binder renames where texts collide), so a column is one string
`variable.property`. Order keys and items of a select are expressions over its source; aliases are already replaced.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from omnigraph_sql.base.catalog import EdgeType, NodeType, TableType
from omnigraph_sql.base.commands import Command
from omnigraph_sql.base.expr import Expr, Param, SortKey
from omnigraph_sql.base.schema import Field, Schema
from omnigraph_sql.base.travel import HEAD, ReadPoint

# ---- patterns ---------------------------------------------------------------------------------------------------


class Walk(StrEnum):
    """What one step yields. NEIGHBORS: each reachable node once per source row (`.gq` without an edge variable).
    EDGES: one row per stored edge. WALKS: one row per walk. SHORTEST: one shortest walk per pair of nodes."""

    NEIGHBORS = "neighbors"
    EDGES = "edges"
    WALKS = "walks"
    SHORTEST = "shortest"


@dataclass(frozen=True, slots=True)
class Hops:
    minimum: int = 1
    maximum: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.minimum <= self.maximum:
            raise ValueError("hops have 0 <= minimum <= maximum")


ONE_HOP = Hops(1, 1)


@dataclass(frozen=True, slots=True)
class BoundNode:
    variable: str
    type: NodeType


@dataclass(frozen=True, slots=True)
class BoundEdge:
    """`source` and `target` follow the stored arrow, however the text wrote it; `undirected` matches both ways.

    `variable` names the edge row (walk EDGES), `path` the walk; both None when the text named neither.
    """

    type: EdgeType
    source: str
    target: str
    walk: Walk
    hops: Hops = ONE_HOP
    undirected: bool = False
    variable: str | None = None
    path: str | None = None

    def __post_init__(self) -> None:
        if self.walk is Walk.EDGES and self.hops != ONE_HOP:
            raise ValueError("an edge row is exactly one hop")
        if self.variable is not None and self.walk is not Walk.EDGES:
            raise ValueError("only a step over edge rows has an edge variable")


@dataclass(frozen=True, slots=True)
class BoundPattern:
    """A conjunction of nodes, edges, predicates and absent patterns.

    `nodes` lists every node variable this pattern introduces, in declaration order; variables of an enclosing pattern
    that the block uses are in `outer`, and their columns are plain columns in its predicates.
    """

    nodes: tuple[BoundNode, ...]
    edges: tuple[BoundEdge, ...]
    predicates: tuple[Expr, ...] = ()
    absences: tuple[BoundPattern, ...] = ()
    outer: tuple[BoundNode, ...] = ()
    at: ReadPoint = HEAD


# ---- sources ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BoundTable:
    """A node or edge table in FROM; its columns are `variable.column`, id (src, dst) included."""

    variable: str
    type: TableType
    at: ReadPoint = HEAD


@dataclass(frozen=True, slots=True)
class BoundDerived:
    """A sub-query in FROM; output column i of `query` is `variable.columns[i]`."""

    variable: str
    columns: tuple[str, ...]
    query: BoundQuery
    lateral: bool = False

    def __post_init__(self) -> None:
        if len(self.columns) != len(self.query.schema):
            raise ValueError("a derived table names every column of its query")


@dataclass(frozen=True, slots=True)
class BoundCteScan:
    """A use of a common table expression; columns are `variable.name`."""

    variable: str
    name: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class BoundFunctionTable:
    """A table function the engine runs (unnest, generate_series, range, system tables by name)."""

    variable: str
    function: str
    arguments: tuple[Expr, ...]
    fields: tuple[Field, ...]
    lateral: bool = False


class JoinKind(StrEnum):
    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"
    CROSS = "cross"
    SEMI = "semi"
    ANTI = "anti"


@dataclass(frozen=True, slots=True)
class BoundJoin:
    kind: JoinKind
    left: BoundSource
    right: BoundSource
    on: Expr | None = None

    def __post_init__(self) -> None:
        if (self.kind is JoinKind.CROSS) != (self.on is None):
            raise ValueError("a cross join has no condition, every other join has one")


BoundSource: TypeAlias = BoundTable | BoundPattern | BoundDerived | BoundCteScan | BoundFunctionTable | BoundJoin


# ---- queries ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BoundItem:
    """An output column. `name` is unique among the items; what the client sees is the query's label, or, of RETURNING,
    the item's own.
    """

    name: str
    expr: Expr
    label: str | None = None


@dataclass(frozen=True, slots=True)
class BoundGroup:
    """GROUP BY; `sets` are index tuples into `keys` for GROUPING SETS, ROLLUP and CUBE, or None."""

    keys: tuple[Expr, ...]
    sets: tuple[tuple[int, ...], ...] | None = None


@dataclass(frozen=True, slots=True)
class BoundSelect:
    """One SELECT block, or a `.gq` read. Aggregates, window calls and scores stand inside the expressions.

    `group` None and no aggregate anywhere: plain rows. `group` None with aggregates: one global group.
    """

    items: tuple[BoundItem, ...]
    source: BoundSource | None = None
    where: Expr | None = None
    group: BoundGroup | None = None
    having: Expr | None = None
    qualify: Expr | None = None
    distinct: bool = False
    distinct_on: tuple[Expr, ...] = ()

    @property
    def schema(self) -> Schema:
        return Schema(tuple(Field(i.name, i.expr.type, i.expr.nullable) for i in self.items))


@dataclass(frozen=True, slots=True)
class BoundValues:
    fields: tuple[Field, ...]
    rows: tuple[tuple[Expr, ...], ...]

    def __post_init__(self) -> None:
        if any(len(row) != len(self.fields) for row in self.rows):
            raise ValueError("every row of VALUES has the same number of columns")

    @property
    def schema(self) -> Schema:
        return Schema(self.fields)


@dataclass(frozen=True, slots=True)
class BoundSetOperation:
    """`op` is union, intersect or except; columns are matched by position, names come from the left."""

    op: str
    all: bool
    left: BoundQuery
    right: BoundQuery
    schema: Schema

    def __post_init__(self) -> None:
        if self.op not in ("union", "intersect", "except"):
            raise ValueError(f"unknown set operation {self.op!r}")
        if not len(self.left.schema) == len(self.right.schema) == len(self.schema):
            raise ValueError("both sides of a set operation have the same number of columns")


BoundBody: TypeAlias = BoundSelect | BoundValues | BoundSetOperation


@dataclass(frozen=True, slots=True)
class BoundCte:
    """`recursive` when `query` scans its own name."""

    name: str
    query: BoundQuery
    recursive: bool = False


@dataclass(frozen=True, slots=True)
class BoundQuery:
    """A query with its order, limit and common table expressions.

    Order keys over a select are expressions over its source; over VALUES and set operations they are output columns.
    `labels` are the names a client sees; they may repeat. `outer_columns` are correlated columns of the query around.
    """

    body: BoundBody
    order: tuple[SortKey, ...] = ()
    limit: Expr | None = None
    offset: Expr | None = None
    ctes: tuple[BoundCte, ...] = ()
    labels: tuple[str, ...] = ()
    outer_columns: frozenset[str] = field(default_factory=frozenset)

    def __post_init__(self) -> None:
        if self.labels and len(self.labels) != len(self.schema):
            raise ValueError("labels name every column")

    @property
    def schema(self) -> Schema:
        return self.body.schema


# ---- mutations --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Assign:
    """`property` (or src, dst) takes the value."""

    property: str
    value: Expr


class OnConflict(StrEnum):
    ERROR = "error"
    NOTHING = "nothing"
    REPLACE = "replace"
    UPDATE = "update"


@dataclass(frozen=True, slots=True)
class BoundInsert:
    """Rows of `source` become rows of `type`: output column i feeds `columns[i]`.

    REPLACE is the keyed upsert: the whole row takes the new values. UPDATE applies `assignments`, which read the
    stored row as `variable.column` and the new one as `excluded.column`, where `where` holds.
    """

    type: TableType
    variable: str
    columns: tuple[str, ...]
    source: BoundQuery
    on_conflict: OnConflict = OnConflict.ERROR
    assignments: tuple[Assign, ...] = ()
    where: Expr | None = None
    returning: tuple[BoundItem, ...] = ()
    at: ReadPoint = HEAD

    def __post_init__(self) -> None:
        if len(self.columns) != len(self.source.schema):
            raise ValueError("an insert feeds every column from its source")


@dataclass(frozen=True, slots=True)
class BoundUpdate:
    type: TableType
    variable: str
    assignments: tuple[Assign, ...]
    source: BoundSource | None = None
    where: Expr | None = None
    returning: tuple[BoundItem, ...] = ()
    at: ReadPoint = HEAD


@dataclass(frozen=True, slots=True)
class BoundDelete:
    """A node delete cascades to the edges of `cascade`."""

    type: TableType
    variable: str
    source: BoundSource | None = None
    where: Expr | None = None
    returning: tuple[BoundItem, ...] = ()
    cascade: tuple[EdgeType, ...] = ()
    at: ReadPoint = HEAD


class MergeWhen(StrEnum):
    MATCHED = "matched"
    NOT_MATCHED = "not matched"
    NOT_MATCHED_BY_SOURCE = "not matched by source"


class MergeDo(StrEnum):
    UPDATE = "update"
    INSERT = "insert"
    DELETE = "delete"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class MergeArm:
    when: MergeWhen
    do: MergeDo
    condition: Expr | None = None
    assignments: tuple[Assign, ...] = ()

    def __post_init__(self) -> None:
        if (self.do in (MergeDo.UPDATE, MergeDo.INSERT)) != bool(self.assignments):
            raise ValueError("update and insert arms assign, the others do not")
        if (self.do is MergeDo.INSERT) and self.when is not MergeWhen.NOT_MATCHED:
            raise ValueError("only an unmatched source row can be inserted")


@dataclass(frozen=True, slots=True)
class BoundMerge:
    """Arms that delete nodes cascade to the edges of `cascade`."""

    type: TableType
    variable: str
    source: BoundSource
    on: Expr
    arms: tuple[MergeArm, ...]
    returning: tuple[BoundItem, ...] = ()
    at: ReadPoint = HEAD
    cascade: tuple[EdgeType, ...] = ()


BoundMutation: TypeAlias = BoundInsert | BoundUpdate | BoundDelete | BoundMerge


# ---- statements -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BoundUnit:
    """Mutations that commit as one: a `.gq` mutation query."""

    name: str
    mutations: tuple[BoundMutation, ...]


@dataclass(frozen=True, slots=True)
class BoundControl:
    """A command; `input` is the statement it explains, copies, describes or summarises."""

    command: Command
    input: BoundStatement | None = None


BoundStatement: TypeAlias = BoundQuery | BoundInsert | BoundUpdate | BoundDelete | BoundMerge | BoundUnit | BoundControl


@dataclass(frozen=True, slots=True)
class BoundProgram:
    """One bound statement with its parameters, in order of first use or declaration."""

    statement: BoundStatement
    parameters: tuple[Param, ...] = ()
    name: str | None = None
