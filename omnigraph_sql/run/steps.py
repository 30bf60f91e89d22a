"""Plan nodes over one input."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from omnigraph_sql.base import expr as ex
from omnigraph_sql.base.errors import ExecutionError
from omnigraph_sql.base.expr import Expr
from omnigraph_sql.plan import nodes as pn
from omnigraph_sql.run.expr_text import aggregate_text, direction, expr_text, predicate_text, window_text
from omnigraph_sql.run.relation import Build, Domain, Rel, listed, quoted
from omnigraph_sql.run.scalars import NOT_CONSTANT, constant
from omnigraph_sql.run.search import scores_in, want_best
from omnigraph_sql.run.sources import only
from omnigraph_sql.run.subqueries import same_rows, settled


def filter_rows(plan: pn.Filter, build: Build, domain: Domain | None) -> Rel:
    rel = build.plan(plan.input, domain)
    rel, (condition,) = settled(build, rel, (plan.predicate,), domain)
    return only(build, build.where(rel, predicate_text(condition, build)), plan.schema.order)


def project(plan: pn.Project, build: Build, domain: Domain | None) -> Rel:
    rel = build.plan(plan.input, domain)
    rel, exprs = settled(build, rel, [e for _, e in plan.items], domain)
    parts = [f"{expr_text(e, build)} AS {quoted(n)}" for (n, _), e in zip(plan.items, exprs, strict=True)]
    shown = ", ".join([*parts, *([listed(rel.hidden)] if rel.hidden else [])]) or "TRUE"
    unsteady = rel.volatile or any(map(_is_random, exprs))
    text = f"SELECT {shown} FROM {quoted(rel.name)}"
    return build.add(text, (rel,), plan.schema.order, rel.carried, rel.order, volatile=unsteady)


def _is_random(expr: Expr) -> bool:
    return any(isinstance(p, ex.Call) and p.function in ("random", "uuid") for p in ex.walk(expr))


# ---- groups -----------------------------------------------------------------------------------------------------


_VARYING: Final = ("CASE WHEN random() >= 0 THEN ", " END")
"""Hides from the engine that a key is the same in all rows: of such keys in grouping sets it makes groups twice."""


def aggregate(plan: pn.Aggregate, build: Build, domain: Domain | None) -> Rel:
    rel = build.plan(plan.input, domain)
    calls = [call for _, call in plan.aggregates]
    rel, exprs = settled(build, rel, [*(e for _, e in plan.groups), *calls], domain)
    keys, made = exprs[: len(plan.groups)], exprs[len(plan.groups) :]
    held = [build.fresh() for _ in keys]
    if keys:
        lead, tail = ("", "") if plan.sets is None else _VARYING
        rel = build.with_columns(
            rel, {h: f"{lead}{expr_text(e, build)}{tail}" for h, e in zip(held, keys, strict=True)}
        )
    present = None
    whole = not plan.groups if plan.sets is None else () in plan.sets
    if whole and rel.carried and domain is not None:
        rel, present = _with_all_askers(build, rel, domain)
    texts = [_call(call, dict(zip(keys, held, strict=True)), build, present) for call in made]
    parts = [f"{quoted(h)} AS {quoted(n)}" for h, (n, _) in zip(held, plan.groups, strict=True)]
    parts += [f"{t} AS {quoted(n)}" for t, (n, _) in zip(texts, plan.aggregates, strict=True)]
    parts += map(quoted, rel.carried)
    text = f"SELECT {', '.join(parts) or 'TRUE'} FROM {quoted(rel.name)}{_grouping(plan, held, rel.carried)}"
    return build.add(text, (rel,), plan.schema.order, rel.carried)


def _call(call: Expr, held: dict[Expr, str], build: Build, present: str | None) -> str:
    assert isinstance(call, ex.Aggregate)
    if call.function == "grouping":
        columns = [held.get(a) for a in call.arguments]
        if None in columns:
            raise ExecutionError("grouping takes keys of GROUP BY")
        return f"grouping({', '.join(quoted(c) for c in columns if c is not None)})"
    return aggregate_text(call, build, present)


def _grouping(plan: pn.Aggregate, held: list[str], carried: tuple[str, ...]) -> str:
    if plan.sets is None:
        keys = listed((*carried, *held))
        return f" GROUP BY {keys}" if keys else ""
    sets = ", ".join(f"({listed((*carried, *(held[i] for i in one)))})" for one in plan.sets)
    return f" GROUP BY GROUPING SETS ({sets})"


def _with_all_askers(build: Build, rel: Rel, domain: Domain) -> tuple[Rel, str]:
    """An aggregate of nothing is still a row, so every asker keeps one that counts for nothing."""
    mark, present = build.fresh(), build.fresh()
    rel = build.with_columns(rel, {mark: "TRUE"})
    own = listed(rel.columns, rel.name)
    asker = domain.rel
    text = (
        f"SELECT {own}, ({rel.column(mark)} IS NOT NULL) AS {quoted(present)}, {listed(domain.columns, asker.name)} "
        f"FROM {quoted(asker.name)} LEFT JOIN {quoted(rel.name)} ON "
        f"{same_rows(asker, rel, [(c, c) for c in domain.columns])}"
    )
    return build.add(text, (asker, rel), (*rel.columns, present), domain.columns), present


# ---- windows ----------------------------------------------------------------------------------------------------


def window(plan: pn.Window, build: Build, domain: Domain | None) -> Rel:
    rel = build.plan(plan.input, domain)
    rel, calls = settled(build, rel, [call for _, call in plan.items], domain)
    added = {}
    for (name, _), call in zip(plan.items, calls, strict=True):
        assert isinstance(call, ex.WindowCall)
        added[name] = window_text(_with_constant_frame(call, build), rel.carried, build)
    return only(build, build.with_columns(rel, added), plan.schema.order)


def _with_constant_frame(call: ex.WindowCall, build: Build) -> ex.WindowCall:
    """Offsets of frames are not among an expression's children, so their parameters are filled in here."""
    if call.frame is None:
        return call
    ends = []
    for bound in (call.frame.start, call.frame.end):
        offset = bound.offset
        if isinstance(offset, ex.Param):
            offset = ex.Literal(build.scene.value(offset.name), offset.of)
        ends.append(replace(bound, offset=offset))
    return replace(call, frame=ex.Frame(call.frame.unit, ends[0], ends[1]))


# ---- order ------------------------------------------------------------------------------------------------------


def sort(plan: pn.Sort, build: Build, domain: Domain | None) -> Rel:
    """Keys become columns; rows that they do not tell apart stay in the order they had. Without a score no rank."""
    rel = build.plan(plan.input, domain)
    scores = scores_in(plan.input) & {k.expr.name for k in plan.keys if isinstance(k.expr, ex.Column)}
    if scores:
        rel = build.where(rel, " AND ".join(f"{quoted(name)} IS NOT NULL" for name in sorted(scores)))
    rel, exprs = settled(build, rel, [k.expr for k in plan.keys], domain)
    texts = {build.fresh(): expr_text(e, build) for e in exprs}
    order = tuple((name, direction(key)) for name, key in zip(texts, plan.keys, strict=True))
    shown = [listed((*plan.schema.order, *rel.hidden))] if plan.schema.order or rel.hidden else []
    shown += [f"{text} AS {quoted(name)}" for name, text in texts.items()]
    made = f"SELECT {', '.join(shown)} FROM {quoted(rel.name)}"
    return build.add(made, (rel,), plan.schema.order, rel.carried, (*order, *rel.order))


def limit(plan: pn.Limit, build: Build, domain: Domain | None) -> Rel:
    count, offset = (_whole(e, build) for e in (plan.count, plan.offset))
    want_best(plan, count, offset or 0, build)
    rel = build.plan(plan.input, domain)
    if rel.carried:
        return _limited_each(rel, count, offset or 0, build)
    tail = f" ORDER BY {rel.ordering}" if rel.order else ""
    tail += (f" LIMIT {count}" if count is not None else "") + (f" OFFSET {offset}" if offset else "")
    text = f"SELECT {listed(rel.all) or 'TRUE'} FROM {quoted(rel.name)}{tail}"
    return build.add(text, (rel,), rel.columns, (), rel.order, volatile=True)


def _limited_each(rel: Rel, count: int | None, offset: int, build: Build) -> Rel:
    """The first rows of every asker."""
    number = build.fresh()
    numbered = build.with_columns(rel, {number: f"row_number() OVER ({_over(rel, rel.carried)})"})
    tests = [f"{quoted(number)} > {offset}"]
    if count is not None:
        tests.append(f"{quoted(number)} <= {offset + count}")
    made = only(build, build.where(numbered, " AND ".join(tests)), rel.columns)
    return build.kept(made)


def _over(rel: Rel, parts: Iterable[str]) -> str:
    """A window over the rows that share `parts`, in the order of the relation."""
    keys = listed(parts)
    partition = f"PARTITION BY {keys}" if keys else ""
    return f"{partition} ORDER BY {rel.ordering}" if rel.order else partition


def _whole(expr: Expr | None, build: Build) -> int | None:
    if expr is None:
        return None
    value = constant(expr, build.scene)
    if value is NOT_CONSTANT:
        one = build.add("SELECT TRUE", (), ())
        one, (made,) = settled(build, one, (expr,), None)
        name = build.fresh()
        value = build.fetch(build.with_columns(one, {name: expr_text(made, build)}), (name,))[0][0].as_py()
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ExecutionError(f"LIMIT and OFFSET take a whole number, 0 or more, not {value!r}")
    return value


def distinct(plan: pn.Distinct, build: Build, domain: Domain | None) -> Rel:
    rel = build.plan(plan.input, domain)
    if not plan.on:
        shown = listed((*rel.columns, *rel.carried))
        if not shown:
            return build.add(f"SELECT TRUE FROM {quoted(rel.name)} LIMIT 1", (rel,), ())
        return build.add(f"SELECT DISTINCT {shown} FROM {quoted(rel.name)}", (rel,), rel.columns, rel.carried)
    rel, exprs = settled(build, rel, plan.on, domain)
    keys = {build.fresh(): expr_text(e, build) for e in exprs}
    rel = build.with_columns(rel, keys)
    first = build.fresh()
    numbered = build.with_columns(rel, {first: f"row_number() OVER ({_over(rel, (*rel.carried, *keys))})"})
    return only(build, build.where(numbered, f"{quoted(first)} = 1"), plan.schema.order)


def relabel(plan: pn.Relabel, build: Build, domain: Domain | None) -> Rel:
    return build.plan(plan.input, domain)
