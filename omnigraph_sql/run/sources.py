"""Where rows begin: tables, constants, functions and named sub-plans."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from omnigraph_sql.base import expr as ex
from omnigraph_sql.base.catalog import TableType
from omnigraph_sql.base.errors import ExecutionError
from omnigraph_sql.base.expr import Expr
from omnigraph_sql.base.schema import Field
from omnigraph_sql.base.travel import ReadPoint
from omnigraph_sql.base.types import DATE, I64, DataType, VectorType, arrow_type
from omnigraph_sql.bind.sql_system_tables import SYSTEM_TABLES
from omnigraph_sql.plan import nodes as pn
from omnigraph_sql.run.expr_text import cast, expr_text, predicate_text
from omnigraph_sql.run.relation import Build, Domain, Rel, listed, quoted
from omnigraph_sql.run.scalars import NOT_CONSTANT, constant, is_known, scalar
from omnigraph_sql.run.search_ids import narrowed
from omnigraph_sql.run.stored_tests import StoredTable, narrowing
from omnigraph_sql.run.subqueries import settled
from omnigraph_sql.run.system_tables import system_rows


def table_rows(
    build: Build,
    of: TableType,
    variable: str,
    columns: tuple[str, ...],
    test: Expr | None,
    at: ReadPoint,
    domain: Domain | None,
) -> Rel:
    """Rows of a stored table that pass `test`; column `c` is `variable.c`."""
    test = narrowed(test, of, variable, at, build)
    tested = ex.column_names(test) if test is not None else frozenset()
    lead = f"{variable}."
    read = [c for c in of.schema.order if c in columns or f"{lead}{c}" in tested]
    shown = ", ".join(f"{quoted(c)} AS {quoted(lead + c)}" for c in read) or "TRUE"
    within = narrowing(StoredTable(of, variable, build.scene), test)
    rel = build.add(f"SELECT {shown} FROM {build.stored(of, at, within)}", (), (lead + c for c in read))
    wanted = tuple(lead + c for c in columns)
    if test is None:
        return rel if rel.columns == wanted else only(build, rel, wanted)
    rel, (condition,) = settled(build, rel, (test,), domain)
    rel = build.where(rel, predicate_text(condition, build, kept=within is not None))
    return rel if rel.columns == wanted else only(build, rel, wanted)


def only(build: Build, rel: Rel, columns: tuple[str, ...]) -> Rel:
    """The relation with exactly these of its columns, in this order."""
    if rel.columns == columns:
        return rel
    shown = listed((*columns, *rel.hidden)) or "TRUE"
    return build.add(f"SELECT {shown} FROM {quoted(rel.name)}", (rel,), columns, rel.carried, rel.order)


def scan(plan: pn.Scan, build: Build, domain: Domain | None) -> Rel:
    return table_rows(build, plan.type, plan.variable, plan.columns, plan.filter, plan.at, domain)


def one_row(plan: pn.OneRow, build: Build, domain: Domain | None) -> Rel:
    del plan, domain
    return build.add("SELECT TRUE", (), ())


def argument(plan: pn.Argument, build: Build, domain: Domain | None) -> Rel:
    """The rows that are asked for are themselves the rows."""
    if not plan.fields:
        return build.add("SELECT TRUE", (), ())
    assert domain is not None
    names = plan.schema.order
    parts = [f"{quoted(domain.names[n])} AS {quoted(n)}" for n in names]
    text = f"SELECT {', '.join([*parts, listed(domain.columns)])} FROM {quoted(domain.rel.name)}"
    return build.add(text, (domain.rel,), names, domain.columns)


# ---- constants --------------------------------------------------------------------------------------------------


def values(plan: pn.Values, build: Build, domain: Domain | None) -> Rel:
    if not plan.rows:
        shown = ", ".join(f"{cast('NULL', f.type)} AS {quoted(f.name)}" for f in plan.fields)
        return build.add(f"SELECT {shown or 'TRUE'} WHERE FALSE", (), plan.schema.order)
    return _constant_rows(plan, build) or _computed_rows(plan, build, domain)


def _constant_rows(plan: pn.Values, build: Build) -> Rel | None:
    """Rows of constants go in as a table: their number does not grow the text."""
    if not plan.fields or not all(is_known(f.type) for f in plan.fields):
        return None
    columns: list[pa.Array] = []
    for at, field in enumerate(plan.fields):
        found = [constant(row[at], build.scene) for row in plan.rows]
        if any(value is NOT_CONSTANT for value in found):
            return None
        of = arrow_type(field.type)
        columns.append(pa.array([scalar(value, field.type).as_py() for value in found], of))  # type: ignore[arg-type]
    return build.given(pa.table(columns, names=list(plan.schema.order)), plan.schema.order)


def _computed_rows(plan: pn.Values, build: Build, domain: Domain | None) -> Rel:
    parts: list[Rel] = []
    for row in plan.rows:
        one = build.add("SELECT TRUE", (), ())
        one, exprs = settled(build, one, row, domain)
        shown = ", ".join(
            f"{cast(expr_text(e, build), f.type)} AS {quoted(f.name)}" for e, f in zip(exprs, plan.fields, strict=True)
        )
        shown = ", ".join(filter(None, (shown, listed(one.carried)))) or "TRUE"
        parts.append(build.add(f"SELECT {shown} FROM {quoted(one.name)}", (one,), plan.schema.order, one.carried))
    if any(p.carried for p in parts):
        parts = [build.lifted(p, domain) for p in parts]
    text = " UNION ALL ".join(f"SELECT {listed(p.all) or 'TRUE'} FROM {quoted(p.name)}" for p in parts)
    return build.add(text, parts, plan.schema.order, parts[0].carried)


# ---- functions --------------------------------------------------------------------------------------------------

_SERIES: Final = ("generate_series", "range")


def function_scan(plan: pn.FunctionScan, build: Build, domain: Domain | None) -> Rel:
    """Lists and series side by side as rows; the shorter lists are filled with null."""
    name, _, ordinality = plan.function.partition(" with ")
    if name in SYSTEM_TABLES:
        rows = system_rows(name, plan.fields, build.scene)
        return build.given(rows.rename_columns(list(plan.schema.order)), plan.schema.order)
    if name != "unnest" and name not in _SERIES:
        raise ExecutionError(f"{name} is not carried out yet in FROM")
    if name in _SERIES and not ordinality and (bounds := _bounds(plan, build)) is not None:
        (value,) = plan.schema.order
        text = f'SELECT "n" AS {quoted(value)} FROM {name}({", ".join(map(str, bounds))}) AS t("n")'
        return build.add(text, (), (value,))
    one = build.add("SELECT TRUE", (), ())
    one, exprs = settled(build, one, plan.arguments, domain)
    texts = [expr_text(e, build) for e in exprs]
    lists = (
        [_series(name, plan, texts)] if name in _SERIES else [_as_list(t, e) for t, e in zip(texts, exprs, strict=True)]
    )
    held = [build.fresh() for _ in lists]
    one = build.with_columns(one, dict(zip(held, lists, strict=True)))
    shown = [f"unnest({quoted(h)}) AS {quoted(f.name)}" for h, f in zip(held, _value_fields(plan), strict=False)]
    if ordinality:
        longest = ", ".join(f"coalesce(array_length({quoted(h)}), 0)" for h in held)
        numbers = f"range(1, arrow_cast(greatest({longest}), 'Int64') + 1)"
        shown.append(f"unnest({numbers}) AS {quoted(plan.schema.order[-1])}")
    hidden = [listed(one.carried)] if one.carried else []
    rel = build.add(
        f"SELECT {', '.join([*shown, *hidden])} FROM {quoted(one.name)}", (one,), plan.schema.order, one.carried
    )
    parts = [f"{cast(quoted(f.name), f.type)} AS {quoted(f.name)}" for f in plan.schema.fields]
    text = f"SELECT {', '.join([*parts, *hidden])} FROM {quoted(rel.name)}"
    return build.add(text, (rel,), plan.schema.order, rel.carried)


def _bounds(plan: pn.FunctionScan, build: Build) -> list[int] | None:
    """The bounds of a series of constant whole numbers, which is made as it is read; None for any other."""
    if plan.fields[0].type != I64:
        return None
    found = [constant(argument, build.scene) for argument in plan.arguments]
    whole = [n for n in found if isinstance(n, int) and not isinstance(n, bool)]
    return whole if len(whole) == len(found) and len(plan.schema.order) == 1 and whole[2:] != [0] else None


def _value_fields(plan: pn.FunctionScan) -> tuple[Field, ...]:
    return plan.schema.fields[: len(plan.arguments)] if plan.function.startswith("unnest") else plan.schema.fields[:1]


def _as_list(text: str, expr: Expr) -> str:
    return f"arrow_cast({text}, 'List(Float32)')" if isinstance(expr.type, VectorType) else text


def _series(name: str, plan: pn.FunctionScan, texts: list[str]) -> str:
    of: DataType = plan.fields[0].type
    if of == I64:
        return f"{name}({', '.join(cast(t, I64) for t in texts)})"
    if of == DATE:
        return f"{name}({texts[0]}, {texts[1]}, {texts[2]})"
    return f"{name}({', '.join([*(cast(t, of) for t in texts[:2]), texts[2]])})"


# ---- named sub-plans --------------------------------------------------------------------------------------------


def cte_scan(plan: pn.CteScan, build: Build, domain: Domain | None) -> Rel:
    found = build.ctes[plan.name]
    if found.carried and (domain is None or found.carried != domain.columns):
        raise ExecutionError(f"{plan.name} depends on the row around it and is read in a query inside that")
    parts = [f"{quoted(a)} AS {quoted(b)}" for a, b in zip(found.columns, plan.schema.order, strict=True)]
    hidden = [listed(found.carried)] if found.carried else []
    text = f"SELECT {', '.join([*parts, *hidden])} FROM {quoted(found.name)}"
    return build.add(text, (found,), plan.schema.order, found.carried)


def with_ctes(plan: pn.With, build: Build, domain: Domain | None) -> Rel:
    before = dict(build.ctes)
    try:
        for cte in plan.ctes:
            if cte.recursive:
                from omnigraph_sql.run.recursion import recursive_rows

                build.ctes[cte.name] = recursive_rows(cte, build, domain)
            else:
                build.ctes[cte.name] = build.steady(build.plan(cte.plan, domain))
        return build.plan(plan.input, domain)
    finally:
        build.ctes = before
