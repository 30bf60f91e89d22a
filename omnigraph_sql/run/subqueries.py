"""Sub-queries and correlation: every sub-query is asked once, for all rows around it, and joined back as a column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from omnigraph_sql.base import expr as ex
from omnigraph_sql.base.errors import ExecutionError, InternalError
from omnigraph_sql.base.expr import Column, Expr
from omnigraph_sql.base.types import BOOL, I64, DataType
from omnigraph_sql.plan.node import Plan
from omnigraph_sql.plan.nodes import arguments
from omnigraph_sql.run.expr_text import expr_text
from omnigraph_sql.run.relation import Build, Domain, Rel, listed, quoted
from omnigraph_sql.run.scalars import as_literal

_OPPOSITES: Final = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def same_rows(left: Rel, right: Rel, pairs: Iterable[tuple[str, str]]) -> str:
    """Equality of columns of the same types in which null equals null.

    Structs are compared: of IS NOT DISTINCT FROM the engine makes a join in which null equals null in every condition
    that it later adds to the join, the ordinary equalities of a filter above included.
    """
    both = list(pairs)
    sides = (map(left.column, (a for a, _ in both)), map(right.column, (b for _, b in both)))
    return " = ".join(f"named_struct({', '.join(_numbered(side))})" for side in sides)


def _numbered(columns: Iterable[str]) -> Iterator[str]:
    return (f"'{number}', {column}" for number, column in enumerate(columns))


def outward(expr: Expr, domain: Domain | None, build: Build) -> Expr:
    """Outer columns as the columns carried for them, parameters as their values; sub-queries are left alone."""
    match expr:
        case ex.OuterColumn(name=name):
            if domain is None or name not in domain.names:
                raise InternalError(f"the column {name} of no query around this one is read")
            return Column(domain.names[name], expr.of, expr.null)
        case ex.Param():
            return as_literal(expr, build.scene)
        case _:
            return expr.map_children(lambda child: outward(child, domain, build))


def reads_outer(expr: Expr) -> bool:
    """Whether the expression itself reads the row around its query."""
    return any(isinstance(part, ex.OuterColumn) for part in ex.walk(expr))


def settled(build: Build, rel: Rel, exprs: Sequence[Expr], domain: Domain | None) -> tuple[Rel, list[Expr]]:
    """The relation with a column per sub-query of `exprs`, and the expressions over columns and constants alone."""
    nested = [p for e in exprs for p in ex.walk(e) if isinstance(p, ex.ScalarSubquery | ex.Exists | ex.InSubquery)]
    needs = any(map(reads_outer, exprs)) or any(_reads_domain(p, rel) for p in nested)
    if needs:
        rel = build.lifted(rel, domain)
    if not nested:
        return rel, [outward(e, domain, build) for e in exprs]
    state = _Settling(build, build.steady(rel), domain)
    made = [state.visit(e) for e in exprs]
    return state.rel, made


def _reads_domain(part: Expr, rel: Rel) -> bool:
    relation = part.relation if isinstance(part, ex.ScalarSubquery | ex.Exists | ex.InSubquery) else None
    return isinstance(relation, Plan) and not relation.outer_columns <= set(rel.columns)


def free_names(plan: Plan) -> list[str]:
    """What a plan takes from the rows around it, by name."""
    return sorted({f.name for f in arguments(plan)} | plan.outer_columns)


def asked(build: Build, rel: Rel, plan: Plan, domain: Domain | None) -> Domain | None:
    """The distinct rows of `rel` that matter to a plan inside it; None when it is not correlated."""
    names = free_names(plan)
    if not names:
        return None
    sources: dict[str, str] = {}
    for name in names:
        if name in rel.columns:
            sources[name] = name
        elif domain is not None and name in domain.names and rel.carried:
            sources[name] = domain.names[name]
        else:
            raise InternalError(f"the column {name} is not among the rows around the sub-query")
    made = {name: build.fresh() for name in names}
    parts = ", ".join(f"{quoted(sources[name])} AS {quoted(made[name])}" for name in names)
    text = f"SELECT DISTINCT {parts} FROM {quoted(rel.name)}"
    return Domain(build.add(text, (rel,), made.values()), made)


def asked_pairs(rel: Rel, inner: Domain, outer: Domain | None) -> list[tuple[str, str]]:
    """Which columns of the rows around equal which of the inner domain."""
    around = outer.names if outer is not None else {}
    return [(name if name in rel.columns else around[name], made) for name, made in inner.names.items()]


def joined_back(build: Build, rel: Rel, inner: Rel, pairs: list[tuple[str, str]], added: Iterable[str]) -> Rel:
    """Every row of `rel` once, with columns of the one row of `inner` that belongs to it, or null."""
    new = tuple(added)
    shown = ", ".join(filter(None, (listed(rel.all, rel.name), listed(new, inner.name))))
    join = f"LEFT JOIN {quoted(inner.name)} ON {same_rows(rel, inner, pairs)}" if pairs else None
    text = f"SELECT {shown} FROM {quoted(rel.name)} {join or f'CROSS JOIN {quoted(inner.name)}'}"
    return build.add(text, (rel, inner), (*rel.columns, *new), rel.carried, rel.order)


@dataclass(slots=True)
class _Settling:
    """The relation grows by a column for every sub-query met."""

    build: Build
    rel: Rel
    domain: Domain | None

    def visit(self, expr: Expr) -> Expr:
        match expr:
            case ex.Exists(relation=Plan() as plan):
                return self._exists(expr, plan)
            case ex.ScalarSubquery(relation=Plan() as plan):
                return self._scalar(expr, plan)
            case ex.InSubquery(relation=Plan() as plan):
                return self._among(expr, self.visit(expr.operand), plan)
            case ex.OuterColumn() | ex.Param():
                return outward(expr, self.domain, self.build)
            case _:
                return expr.map_children(self.visit)

    def _asked(self, plan: Plan) -> tuple[Rel, list[tuple[str, str]]]:
        """The rows of the sub-query and how they belong to rows around it; no pairs when they belong to all."""
        domain = asked(self.build, self.rel, plan, self.domain)
        inner = self.build.plan(plan, domain)
        if not inner.carried or domain is None:
            return inner, []
        return inner, asked_pairs(self.rel, domain, self.domain)

    def _summary(self, inner: Rel, parts: dict[str, str], pairs: list[tuple[str, str]]) -> None:
        """One row of facts per asker, joined to the rows around."""
        keys = listed(inner.carried)
        shown = ", ".join([*([keys] if keys else []), *(f"{t} AS {quoted(n)}" for n, t in parts.items())])
        grouped = f" GROUP BY {keys}" if keys else ""
        text = f"SELECT {shown} FROM {quoted(inner.name)}{grouped}"
        facts = self.build.add(text, (inner,), parts, inner.carried)
        self.rel = joined_back(self.build, self.rel, facts, pairs, parts)

    def _exists(self, expr: ex.Exists, plan: Plan) -> Expr:
        inner, pairs = self._asked(plan)
        count = self.build.fresh()
        if not pairs:
            # One row is enough to know.
            text = f"SELECT 1 AS {quoted(count)} FROM {quoted(inner.name)} LIMIT 1"
            inner = self.build.add(text, (inner,), (count,))
        found = self.build.fresh()
        self._summary(inner, {found: "count(*)"}, pairs)
        none = ex.Logic("or", (ex.IsNull(Column(found, I64)), ex.Compare("=", Column(found, I64), ex.Literal(0, I64))))
        return none if expr.negated else ex.Not(none)

    def _scalar(self, expr: ex.ScalarSubquery, plan: Plan) -> Expr:
        inner, pairs = self._asked(plan)
        value, (name,) = self.build.fresh(), plan.schema.order
        one = f"CASE WHEN og_single(count(*)) THEN first_value({quoted(name)}) END"
        self._summary(inner, {value: one}, pairs)
        return Column(value, expr.type)

    def _among(self, expr: ex.InSubquery, operand: Expr, plan: Plan) -> Expr:
        """`operand op ANY`, with its third truth value; ALL is the negation of ANY with the opposite operator."""
        op, negated = expr.op, expr.negated
        if expr.quantifier == "all":
            op, negated = _OPPOSITES.get(op, ""), not negated
        if op not in _OPPOSITES:
            raise ExecutionError("IS DISTINCT FROM does not go with ANY or ALL")
        inner, pairs = self._asked(plan)
        field = plan.schema.fields[0]
        rows, values, low, high = (self.build.fresh() for _ in range(4))
        facts = {rows: "count(*)", values: f"count({quoted(field.name)})"}
        if op != "=":
            facts |= {low: f"min({quoted(field.name)})", high: f"max({quoted(field.name)})"}
        self._summary(inner, facts, pairs)
        found = (
            self._match(operand, inner, pairs, field.name)
            if op == "="
            else self._bounded(op, operand, low, high, field.type)
        )
        none = ex.Compare("=", ex.Call("coalesce", (Column(rows, I64), ex.Literal(0, I64)), I64), ex.Literal(0, I64))
        unknown = ex.Logic("or", (ex.IsNull(operand), ex.Compare("<", Column(values, I64), Column(rows, I64))))
        whens = ((none, ex.FALSE), (found, ex.TRUE), (unknown, ex.Literal(None, BOOL)))
        answer = ex.Case(whens, ex.FALSE, BOOL)
        return ex.Not(answer) if negated else answer

    def _bounded(self, op: str, operand: Expr, low: str, high: str, of: DataType) -> Expr:
        least, most = Column(low, of), Column(high, of)
        if op == "!=":
            return ex.Logic("or", (ex.Compare("!=", operand, least), ex.Compare("!=", operand, most)))
        return ex.Compare(op, operand, most if op in ("<", "<=") else least)

    def _match(self, operand: Expr, inner: Rel, pairs: list[tuple[str, str]], column: str) -> Expr:
        """Whether the operand is among the values: its column is joined with the distinct ones."""
        build = self.build
        wanted = build.fresh()
        self.rel = build.with_columns(self.rel, {wanted: expr_text(operand, build)})
        shown = listed((column, *inner.carried))
        text = f"SELECT DISTINCT {shown} FROM {quoted(inner.name)} WHERE {quoted(column)} IS NOT NULL"
        values = build.add(text, (inner,), (column,), inner.carried)
        value = build.fresh()
        renamed = ", ".join([f"{quoted(column)} AS {quoted(value)}", *map(quoted, values.carried)])
        values = build.add(f"SELECT {renamed} FROM {quoted(values.name)}", (values,), (value,), values.carried)
        on = [f"{self.rel.column(wanted)} = {values.column(value)}"]
        if pairs:
            on.append(same_rows(self.rel, values, pairs))
        text = (
            f"SELECT {listed(self.rel.all, self.rel.name)}, {values.column(value)} FROM {quoted(self.rel.name)} "
            f"LEFT JOIN {quoted(values.name)} ON {' AND '.join(on)}"
        )
        before = self.rel
        self.rel = replace(
            build.add(text, (before, values), (*before.columns, value)), carried=before.carried, order=before.order
        )
        return ex.IsNull(Column(value, operand.type), negated=True)
