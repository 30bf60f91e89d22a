"""Plan nodes over two inputs."""

from __future__ import annotations

from typing import Final

from omnigraph_sql.base.errors import ExecutionError
from omnigraph_sql.base.expr import TRUE, Expr, column_names, conjuncts, walk
from omnigraph_sql.bind.bound import JoinKind
from omnigraph_sql.plan import nodes as pn
from omnigraph_sql.plan.node import SUBQUERIES, has_subquery, outer_names, walk_plan
from omnigraph_sql.run.expr_text import cast, predicate_text
from omnigraph_sql.run.relation import Build, Domain, Rel, listed, quoted
from omnigraph_sql.run.scalars import is_known
from omnigraph_sql.run.sources import only
from omnigraph_sql.run.subqueries import asked, asked_pairs, free_names, outward, same_rows, settled

_WORDS: Final = {
    JoinKind.INNER: "JOIN",
    JoinKind.LEFT: "LEFT JOIN",
    JoinKind.RIGHT: "RIGHT JOIN",
    JoinKind.FULL: "FULL JOIN",
}


def pairs_of(build: Build, word: str, left: Rel, right: Rel, on: list[str]) -> Rel:
    """Joined rows; `on` may name columns of either side alone. Only rows of the same asker meet."""
    if not (left.carried and right.carried):
        carried = [listed(r.carried, r.name) for r in (left, right) if r.carried]
        return _paired(build, word, left, right, on, carried, left.carried or right.carried)
    renamed = {c: build.fresh() for c in right.carried}
    parts = [*map(quoted, right.columns), *(f"{quoted(c)} AS {quoted(new)}" for c, new in renamed.items())]
    text = f"SELECT {', '.join(parts)} FROM {quoted(right.name)}"
    right = build.add(text, (right,), right.columns, renamed.values())
    tests = [same_rows(left, right, renamed.items()), *on]
    carried = [listed(left.carried, left.name)]
    if word in ("RIGHT JOIN", "FULL JOIN"):
        carried = [f"coalesce({left.column(c)}, {right.column(n)}) AS {quoted(c)}" for c, n in renamed.items()]
    return _paired(build, word, left, right, tests, carried, left.carried)


def _paired(
    build: Build, word: str, left: Rel, right: Rel, on: list[str], hidden: list[str], carried: tuple[str, ...]
) -> Rel:
    parts = [listed(left.columns, left.name), listed(right.columns, right.name), *hidden]
    join = f"{word} {quoted(right.name)} ON {' AND '.join(on)}" if on else f"CROSS JOIN {quoted(right.name)}"
    text = f"SELECT {', '.join(filter(None, parts)) or 'TRUE'} FROM {quoted(left.name)} {join}"
    return build.add(text, (left, right), (*left.columns, *right.columns), carried)


def join(plan: pn.Join, build: Build, domain: Domain | None) -> Rel:
    if plan.lateral:
        return _lateral(plan, build, domain)
    left, right = build.plan(plan.left, domain), build.plan(plan.right, domain)
    outer = plan.kind in (JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL)
    if plan.on is None or not outer:
        # Above the join the engine drops a condition that comes out true; within, it hands it to the tables.
        if plan.on is None:
            # Of a join without a condition the engine hands pairs on as it makes them, few at a time.
            if _sources(plan.right) < _sources(plan.left):
                # The engine holds the left side and streams the right, so pairs of pairs go right.
                left, right = right, left
            left, right, link = linked(build, left, right, "<=")
            return only(build, pairs_of(build, "JOIN", left, right, [link]), plan.schema.order)
        return _filtered(plan, plan.on, pairs_of(build, "JOIN", left, right, []), build, domain)
    if left.carried or right.carried or outer_names(plan.on) - set(plan.schema.order):
        left, right = build.lifted(left, domain), build.lifted(right, domain)
    if not _sides_suffice(plan.on, left, right, domain):
        return _matched_or_alone(plan, plan.on, left, right, build, domain)
    left, right, on = _on(plan.on, left, right, build, domain)
    left, right, link = linked(build, left, right)
    made = pairs_of(build, _WORDS[plan.kind], left, right, [link, on])
    return only(build, made, plan.schema.order)


def _sources(plan: pn.Plan) -> int:
    return sum(isinstance(node, pn.Scan | pn.FunctionScan | pn.Values | pn.CteScan) for node in walk_plan(plan))


def linked(build: Build, left: Rel, right: Rel, op: str = "=") -> tuple[Rel, Rel, str]:
    """Both sides with a column that is the same in all rows, and their equality, or another comparison that holds.

    The engine takes a condition of an outer join apart and hands what reads one side to that side's table, which cannot
    take a bare truth value.
    """
    first, second = build.fresh(), build.fresh()
    left, right = build.with_columns(left, {first: "1"}), build.with_columns(right, {second: "1"})
    return left, right, f"{left.column(first)} {op} {quoted(second)}"


def _asked_columns(part: Expr, domain: Domain | None) -> frozenset[str]:
    """Columns of either side that the sub-queries of a condition read."""
    nested = [p for p in walk(part) if isinstance(p, SUBQUERIES)]
    return frozenset[str]().union(*map(column_names, nested)) - set(domain.names if domain is not None else ())


def _sides_suffice(on: Expr, left: Rel, right: Rel, domain: Domain | None) -> bool:
    """Whether the sub-queries of every conjunct can be asked from one side."""
    wanted = [_asked_columns(part, domain) for part in conjuncts(on)]
    return all(w <= set(left.columns) or w <= set(right.columns) for w in wanted)


def _on(on: Expr, left: Rel, right: Rel, build: Build, domain: Domain | None) -> tuple[Rel, Rel, str]:
    """The condition; a sub-query in it is asked from the side whose columns it reads."""
    texts: list[str] = []
    for part in conjuncts(on) or (TRUE,):
        if not has_subquery(part):
            made = outward(part, domain, build)
        elif _asked_columns(part, domain) <= set(left.columns):
            left, (made,) = settled(build, left, (part,), domain)
        else:
            right, (made,) = settled(build, right, (part,), domain)
        texts.append(predicate_text(made, build))
    return left, right, " AND ".join(texts)


def _matched_or_alone(plan: pn.Join, on: Expr, left: Rel, right: Rel, build: Build, domain: Domain | None) -> Rel:
    """An outer join whose condition asks sub-queries from both sides: all pairs that pass, then the rows in none."""
    numbers = build.fresh(), build.fresh()
    sides = [
        build.kept(build.with_columns(s, {n: "row_number() OVER ()"}))
        for s, n in zip((left, right), numbers, strict=True)
    ]
    rel, (condition,) = settled(build, pairs_of(build, "JOIN", sides[0], sides[1], []), (on,), domain)
    met = build.kept(only(build, build.where(rel, predicate_text(condition, build)), (*plan.schema.order, *numbers)))
    parts = [only(build, met, plan.schema.order)]
    keeps = ((JoinKind.LEFT, JoinKind.FULL), (JoinKind.RIGHT, JoinKind.FULL))
    for side, number, kinds in zip(sides, numbers, keeps, strict=True):
        if plan.kind in kinds:
            parts.append(_alone(plan, side, met, number, build))
    text = " UNION ALL ".join(f"SELECT {listed(p.all) or 'TRUE'} FROM {quoted(p.name)}" for p in parts)
    return build.add(text, parts, plan.schema.order, met.carried)


def _alone(plan: pn.Join, side: Rel, met: Rel, number: str, build: Build) -> Rel:
    """Rows of one side that met none, with nothing in the columns of the other."""
    shown = [
        f"{side.column(f.name) if f.name in side.columns else cast('NULL', f.type)} AS {quoted(f.name)}"
        for f in plan.schema.fields
    ]
    shown += [side.column(c) for c in side.carried]
    text = (
        f"SELECT {', '.join(shown) or 'TRUE'} FROM {quoted(side.name)} LEFT ANTI JOIN {quoted(met.name)} "
        f"ON {side.column(number)} = {met.column(number)}"
    )
    return build.add(text, (side, met), plan.schema.order, side.carried)


def _filtered(plan: pn.Join, on: Expr, both: Rel, build: Build, domain: Domain | None) -> Rel:
    rel, (condition,) = settled(build, both, (on,), domain)
    return only(build, build.where(rel, predicate_text(condition, build)), plan.schema.order)


def _lateral(plan: pn.Join, build: Build, domain: Domain | None) -> Rel:
    """The right side for every row of the left."""
    left = build.plan(plan.left, domain)
    if domain is not None and not set(free_names(plan.right)) <= set(left.columns):
        left = build.lifted(left, domain)
    left = build.steady(left)
    inner = asked(build, left, plan.right, domain)
    right = build.plan(plan.right, inner)
    if plan.kind is not JoinKind.LEFT:
        made = _beside(build, "JOIN", left, right, inner, domain, [])
        return made if plan.on is None else _filtered(plan, plan.on, made, build, domain)
    assert plan.on is not None
    if has_subquery(plan.on):
        raise ExecutionError("a sub-query in the condition of a lateral outer join is not carried out yet")
    if outer_names(plan.on) - set(plan.schema.order):
        left = build.lifted(left, domain)
    on = predicate_text(outward(plan.on, domain, build), build)
    left, right, link = linked(build, left, right)
    return only(build, _beside(build, "LEFT JOIN", left, right, inner, domain, [link, on]), plan.schema.order)


def _beside(
    build: Build, word: str, left: Rel, right: Rel, inner: Domain | None, domain: Domain | None, on: list[str]
) -> Rel:
    tests = list(on)
    if inner is not None and right.carried:
        tests.insert(0, same_rows(left, right, asked_pairs(left, inner, domain)))
    join = f"{word} {quoted(right.name)} ON {' AND '.join(tests)}" if tests else f"CROSS JOIN {quoted(right.name)}"
    shown = [listed(left.columns, left.name), listed(right.columns, right.name), listed(left.carried, left.name)]
    text = f"SELECT {', '.join(filter(None, shown)) or 'TRUE'} FROM {quoted(left.name)} {join}"
    return build.add(text, (left, right), (*left.columns, *right.columns), left.carried)


# ---- presence and absence ---------------------------------------------------------------------------------------


def semi(plan: pn.SemiJoin, build: Build, domain: Domain | None) -> Rel:
    return _checked(plan.input, plan.present, "LEFT SEMI JOIN", build, domain)


def anti(plan: pn.AntiJoin, build: Build, domain: Domain | None) -> Rel:
    return _checked(plan.input, plan.absent, "LEFT ANTI JOIN", build, domain)


def _checked(input: pn.Plan, inner_plan: pn.Plan, word: str, build: Build, domain: Domain | None) -> Rel:
    rel = build.plan(input, domain)
    if domain is not None and not set(free_names(inner_plan)) <= set(rel.columns):
        rel = build.lifted(rel, domain)
    rel = build.steady(rel)
    inner = asked(build, rel, inner_plan, domain)
    found = build.plan(inner_plan, inner)
    if inner is not None and found.carried:
        on = same_rows(rel, found, asked_pairs(rel, inner, domain))
        text = f"SELECT {listed(rel.all, rel.name)} FROM {quoted(rel.name)} {word} {quoted(found.name)} ON {on}"
        return build.add(text, (rel, found), rel.columns, rel.carried, rel.order)
    count = build.fresh()
    some = build.add(f"SELECT TRUE FROM {quoted(found.name)} LIMIT 1", (found,), ())
    number = build.add(f"SELECT count(*) AS {quoted(count)} FROM {quoted(some.name)}", (some,), (count,))
    test = f"{number.column(count)} {'= 0' if 'ANTI' in word else '> 0'}"
    shown = listed(rel.all, rel.name) or "TRUE"
    text = f"SELECT {shown} FROM {quoted(rel.name)} CROSS JOIN {quoted(number.name)} WHERE {test}"
    return build.add(text, (rel, number), rel.columns, rel.carried, rel.order)


# ---- sets -------------------------------------------------------------------------------------------------------


def set_op(plan: pn.SetOp, build: Build, domain: Domain | None) -> Rel:
    sides = [_as_result(side, plan, build, domain) for side in (plan.left, plan.right)]
    if any(s.carried for s in sides):
        sides = [build.lifted(s, domain) for s in sides]
    left, right = sides
    columns = (*plan.schema.order, *left.carried)
    if plan.op == "union":
        word = "UNION ALL" if plan.all else "UNION"
        text = f" {word} ".join(f"SELECT {listed(columns)} FROM {quoted(s.name)}" for s in sides)
        return build.add(text, sides, plan.schema.order, left.carried)
    word = "LEFT SEMI JOIN" if plan.op == "intersect" else "LEFT ANTI JOIN"
    keys = columns
    if plan.all:
        # The n-th copy of a row on one side meets the n-th copy on the other.
        number = build.fresh()
        over = f"row_number() OVER (PARTITION BY {listed(columns)})"
        left, right = (build.with_columns(s, {number: over}) for s in sides)
        keys = (*columns, number)
    on = " AND ".join(f"({left.column(k)} IS NOT DISTINCT FROM {right.column(k)})" for k in keys)
    shown = f"{'' if plan.all else 'DISTINCT '}{listed(columns, left.name)}"
    text = f"SELECT {shown} FROM {quoted(left.name)} {word} {quoted(right.name)} ON {on}"
    return build.add(text, (left, right), plan.schema.order, left.carried)


def _as_result(side: pn.Plan, plan: pn.SetOp, build: Build, domain: Domain | None) -> Rel:
    """A side under the names and in the types of the result."""
    rel = build.plan(side, domain)
    parts = []
    for old, field in zip(side.schema.fields, plan.fields, strict=True):
        text = quoted(old.name)
        if old.type != field.type and is_known(field.type):
            text = cast(text, field.type)
        parts.append(f"{text} AS {quoted(field.name)}")
    shown = ", ".join([*parts, *([listed(rel.carried)] if rel.carried else [])])
    return build.add(f"SELECT {shown} FROM {quoted(rel.name)}", (rel,), plan.schema.order, rel.carried)
