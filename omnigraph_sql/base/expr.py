"""Typed expressions: the words bound statements, plans and storage predicates share.

Columns are named by one string that is unique within a statement: `a.code` for property `code` of range variable `a`,
or the output name of a projection. Values are literals or parameters; text is rendered elsewhere. The leaves live in
`expr_leaves` and are named here again, so that users of expressions need one module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import ClassVar, Final, TypeAlias, cast

from omnigraph_sql.base.expr_leaves import NOW as NOW
from omnigraph_sql.base.expr_leaves import NOW_PARAMETER as NOW_PARAMETER
from omnigraph_sql.base.expr_leaves import Column as Column
from omnigraph_sql.base.expr_leaves import Expr as Expr
from omnigraph_sql.base.expr_leaves import Literal as Literal
from omnigraph_sql.base.expr_leaves import OuterColumn as OuterColumn
from omnigraph_sql.base.expr_leaves import Param as Param
from omnigraph_sql.base.expr_leaves import SortKey as SortKey
from omnigraph_sql.base.expr_leaves import Value as Value
from omnigraph_sql.base.schema import Relation
from omnigraph_sql.base.types import ANY, BOOL, F64, NULL, DataType, ListType, is_open

COMPARISONS: Final = ("=", "!=", "<", "<=", ">", ">=", "is distinct from", "is not distinct from")
ARITHMETIC: Final = ("+", "-", "*", "/", "//", "%", "**", "||", "&", "|", "xor", "<<", ">>")


@dataclass(frozen=True, slots=True)
class Compare(Expr):
    """Three-valued comparison of scalars."""

    parts: ClassVar[tuple[str, ...]] = ("left", "right")
    op: str
    left: Expr
    right: Expr

    def __post_init__(self) -> None:
        if self.op not in COMPARISONS:
            raise ValueError(f"unknown comparison {self.op!r}")

    @property
    def type(self) -> DataType:
        return BOOL

    @property
    def nullable(self) -> bool:
        return not self.op.startswith("is") and (self.left.nullable or self.right.nullable)


@dataclass(frozen=True, slots=True)
class Logic(Expr):
    """Flat conjunction or disjunction of at least two operands."""

    parts: ClassVar[tuple[str, ...]] = ("operands",)
    op: str
    operands: tuple[Expr, ...]

    def __post_init__(self) -> None:
        if self.op not in ("and", "or") or len(self.operands) < 2:
            raise ValueError("logic joins two or more operands by 'and' or 'or'")

    @property
    def type(self) -> DataType:
        return BOOL

    @property
    def nullable(self) -> bool:
        return any(o.nullable for o in self.operands)


@dataclass(frozen=True, slots=True)
class Not(Expr):
    parts: ClassVar[tuple[str, ...]] = ("operand",)
    operand: Expr

    @property
    def type(self) -> DataType:
        return BOOL

    @property
    def nullable(self) -> bool:
        return self.operand.nullable


@dataclass(frozen=True, slots=True)
class IsNull(Expr):
    parts: ClassVar[tuple[str, ...]] = ("operand",)
    operand: Expr
    negated: bool = False

    @property
    def type(self) -> DataType:
        return BOOL

    @property
    def nullable(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class InList(Expr):
    parts: ClassVar[tuple[str, ...]] = ("operand", "items")
    operand: Expr
    items: tuple[Expr, ...]
    negated: bool = False

    @property
    def type(self) -> DataType:
        return BOOL


@dataclass(frozen=True, slots=True)
class Like(Expr):
    """SQL LIKE / ILIKE; `escape` None means no escape character."""

    parts: ClassVar[tuple[str, ...]] = ("operand", "pattern", "escape")
    operand: Expr
    pattern: Expr
    escape: Expr | None = None
    ignore_case: bool = False
    negated: bool = False

    @property
    def type(self) -> DataType:
        return BOOL


@dataclass(frozen=True, slots=True)
class Arithmetic(Expr):
    parts: ClassVar[tuple[str, ...]] = ("left", "right")
    op: str
    left: Expr
    right: Expr
    of: DataType

    def __post_init__(self) -> None:
        if self.op not in ARITHMETIC:
            raise ValueError(f"unknown operator {self.op!r}")

    @property
    def type(self) -> DataType:
        return self.of


@dataclass(frozen=True, slots=True)
class Negate(Expr):
    parts: ClassVar[tuple[str, ...]] = ("operand",)
    operand: Expr

    @property
    def type(self) -> DataType:
        return self.operand.type


@dataclass(frozen=True, slots=True)
class Case(Expr):
    """Searched CASE: (condition, result) pairs, then the default."""

    parts: ClassVar[tuple[str, ...]] = ("whens", "otherwise")
    whens: tuple[tuple[Expr, Expr], ...]
    otherwise: Expr | None
    of: DataType

    @property
    def type(self) -> DataType:
        return self.of


@dataclass(frozen=True, slots=True)
class Cast(Expr):
    """`safe` gives null instead of an error (TRY_CAST)."""

    parts: ClassVar[tuple[str, ...]] = ("operand",)
    operand: Expr
    of: DataType
    safe: bool = False

    @property
    def type(self) -> DataType:
        return self.of

    @property
    def nullable(self) -> bool:
        return self.safe or self.operand.nullable


@dataclass(frozen=True, slots=True)
class Call(Expr):
    """A scalar function by its lower-case engine name."""

    parts: ClassVar[tuple[str, ...]] = ("arguments",)
    function: str
    arguments: tuple[Expr, ...]
    of: DataType

    @property
    def type(self) -> DataType:
        return self.of


@dataclass(frozen=True, slots=True)
class Lambda(Expr):
    """`x -> body`; its variables are LambdaVariable leaves."""

    parts: ClassVar[tuple[str, ...]] = ("body",)
    variables: tuple[str, ...]
    body: Expr

    @property
    def type(self) -> DataType:
        return self.body.type


@dataclass(frozen=True, slots=True)
class LambdaVariable(Expr):
    name: str
    of: DataType = ANY

    @property
    def type(self) -> DataType:
        return self.of


@dataclass(frozen=True, slots=True)
class TextMatch(Expr):
    """Full-text predicate: `search`, `fuzzy` (with `max_edits`) or `match_text`."""

    KINDS: ClassVar[tuple[str, ...]] = ("search", "fuzzy", "match_text")
    parts: ClassVar[tuple[str, ...]] = ("field", "query", "max_edits")
    kind: str
    field: Expr
    query: Expr
    max_edits: Expr | None = None

    def __post_init__(self) -> None:
        if self.kind not in self.KINDS:
            raise ValueError(f"unknown text predicate {self.kind!r}")

    @property
    def type(self) -> DataType:
        return BOOL


@dataclass(frozen=True, slots=True)
class Nearest(Expr):
    """Cosine distance of a vector column to a query; lower is better."""

    parts: ClassVar[tuple[str, ...]] = ("field", "query")
    field: Expr
    query: Expr

    @property
    def type(self) -> DataType:
        return F64


@dataclass(frozen=True, slots=True)
class Bm25(Expr):
    """Text relevance; higher is better."""

    parts: ClassVar[tuple[str, ...]] = ("field", "query")
    field: Expr
    query: Expr

    @property
    def type(self) -> DataType:
        return F64


@dataclass(frozen=True, slots=True)
class Fuse(Expr):
    """Reciprocal-rank fusion of rankers; higher is better."""

    parts: ClassVar[tuple[str, ...]] = ("rankers", "k")
    rankers: tuple[Expr, ...]
    k: Expr

    def __post_init__(self) -> None:
        if len(self.rankers) < 2 or not all(isinstance(r, Nearest | Bm25) for r in self.rankers):
            raise ValueError("fusion takes two or more of nearest and bm25")

    @property
    def type(self) -> DataType:
        return F64


Score: TypeAlias = Nearest | Bm25 | Fuse


@dataclass(frozen=True, slots=True)
class Aggregate(Expr):
    """An aggregate by its lower-case name; no arguments means `count(*)`."""

    parts: ClassVar[tuple[str, ...]] = ("arguments", "filter", "order")
    function: str
    arguments: tuple[Expr, ...]
    of: DataType
    distinct: bool = False
    filter: Expr | None = None
    order: tuple[SortKey, ...] = ()

    @property
    def type(self) -> DataType:
        return self.of

    @property
    def nullable(self) -> bool:
        return self.function != "count"


@dataclass(frozen=True, slots=True)
class FrameBound:
    """`preceding`, `following` (with an offset, or unbounded when None) or `current`."""

    side: str
    offset: Expr | None = None

    def __post_init__(self) -> None:
        if self.side not in ("preceding", "following", "current"):
            raise ValueError(f"unknown frame side {self.side!r}")


@dataclass(frozen=True, slots=True)
class Frame:
    unit: str
    start: FrameBound
    end: FrameBound

    def __post_init__(self) -> None:
        if self.unit not in ("rows", "range", "groups"):
            raise ValueError(f"unknown frame unit {self.unit!r}")


@dataclass(frozen=True, slots=True)
class WindowCall(Expr):
    """A window function, or an aggregate, over a partition."""

    parts: ClassVar[tuple[str, ...]] = ("arguments", "filter", "partition", "order")
    function: str
    arguments: tuple[Expr, ...]
    of: DataType
    partition: tuple[Expr, ...] = ()
    order: tuple[SortKey, ...] = ()
    frame: Frame | None = None
    distinct: bool = False
    filter: Expr | None = None
    ignore_nulls: bool = False

    @property
    def type(self) -> DataType:
        return self.of


@dataclass(frozen=True, slots=True)
class ScalarSubquery(Expr):
    """The single value of a one-column query; more than one row is an error at run time."""

    relation: Relation

    def __post_init__(self) -> None:
        if len(self.relation.schema) != 1:
            raise ValueError("a scalar sub-query has one column")

    @property
    def type(self) -> DataType:
        return self.relation.schema.fields[0].type


@dataclass(frozen=True, slots=True)
class Exists(Expr):
    relation: Relation
    negated: bool = False

    @property
    def type(self) -> DataType:
        return BOOL

    @property
    def nullable(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class InSubquery(Expr):
    """`operand op ANY (query)` is `quantifier` any; IN is any with `=`, NOT IN is the negation."""

    parts: ClassVar[tuple[str, ...]] = ("operand",)
    operand: Expr
    relation: Relation
    op: str = "="
    quantifier: str = "any"
    negated: bool = False

    def __post_init__(self) -> None:
        if len(self.relation.schema) != 1:
            raise ValueError("the query of IN, ANY or ALL has one column")
        if self.quantifier not in ("any", "all") or self.op not in COMPARISONS:
            raise ValueError("unknown quantified comparison")

    @property
    def type(self) -> DataType:
        return BOOL


TRUE: Final = Literal(True, BOOL)
FALSE: Final = Literal(False, BOOL)


def null_literal() -> Literal:
    return Literal(None, NULL)


def list_literal(items: tuple[Literal, ...], item: DataType) -> Literal:
    return Literal(tuple(i.value for i in items), ListType(item))


def is_boolean(expr: Expr) -> bool:
    """Whether it may stand as a predicate."""
    of = expr.type
    return of is BOOL or of == BOOL or is_open(of)


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and everything below it, outside in, without entering sub-queries."""
    return iter(expr.every_part())


def column_names(expr: Expr) -> frozenset[str]:
    """Input columns the expression reads, those of correlated sub-queries included."""
    names = expr._names
    if names is None:
        names = _find_names(expr)
        object.__setattr__(expr, "_names", names)
    return names


def _find_names(expr: Expr) -> frozenset[str]:
    found: set[str] = set()
    for part in expr.every_part():
        if isinstance(part, Column):
            found.add(part.name)
        elif isinstance(part, (ScalarSubquery, Exists, InSubquery)):
            correlated = cast("frozenset[str]", getattr(part.relation, "outer_columns", frozenset()))
            found |= correlated
    return frozenset(found)


def transform(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """Rebuild bottom-up: children first, then `change` on the node itself."""
    return change(expr.map_children(lambda child: transform(child, change)))


def conjuncts(expr: Expr | None) -> tuple[Expr, ...]:
    """The operands of a conjunction, flat; none for None and for the constant true."""
    if expr is None:
        return ()
    if isinstance(expr, Logic) and expr.op == "and":
        return tuple([part for operand in expr.operands for part in conjuncts(operand)])
    return () if isinstance(expr, Literal) and expr == TRUE else (expr,)


def all_of(parts: tuple[Expr, ...] | list[Expr]) -> Expr | None:
    """The conjunction of the parts, flat, without repeats; None when there are none."""
    flat = list(dict.fromkeys(part for operand in parts for part in conjuncts(operand)))
    if not flat:
        return None
    return flat[0] if len(flat) == 1 else Logic("and", tuple(flat))


def expression_fields(of: type[Expr]) -> tuple[str, ...]:
    """Field names of an expression class, for tests that sweep over all of them."""
    return tuple(f.name for f in fields(of) if f.init)
