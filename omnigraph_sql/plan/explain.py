"""Plan → stable text, one node per line, inputs indented below; and the same as nested values for EXPLAIN in JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from decimal import Decimal

from omnigraph_sql.base.catalog import Cardinality, EdgeType, Property
from omnigraph_sql.base.commands import Command
from omnigraph_sql.base.deep import with_room
from omnigraph_sql.base.expr import Column, Expr, conjuncts, walk
from omnigraph_sql.base.expr_text import sort_text, text
from omnigraph_sql.base.names import BranchName, PointKind
from omnigraph_sql.base.travel import ReadPoint
from omnigraph_sql.base.types import type_text
from omnigraph_sql.bind.bound import ONE_HOP, Assign, MergeArm, Walk
from omnigraph_sql.plan.mutations import Control, Delete, Insert, Merge, Unit, Update, Upsert
from omnigraph_sql.plan.node import SUBQUERIES
from omnigraph_sql.plan.nodes import (
    Aggregate,
    AntiJoin,
    Argument,
    CteScan,
    Distinct,
    Expand,
    Filter,
    FunctionScan,
    Join,
    Limit,
    OneRow,
    Plan,
    Project,
    Rank,
    Relabel,
    Scan,
    SemiJoin,
    SetOp,
    Sort,
    Values,
    Window,
    With,
)

_VALUES_SHOWN = 3


def explain(plan: Plan) -> str:
    """The plan as indented text; equal plans give equal texts."""

    def work() -> str:
        lines: list[str] = []
        _write(plan, 0, "", lines)
        return "\n".join(lines)

    return with_room(work)


def _write(plan: Plan, depth: int, label: str, lines: list[str]) -> None:
    lines.append("  " * depth + (f"{label}: " if label else "") + describe(plan))
    for name, child in children(plan):
        _write(child, depth + 1, name, lines)


def explain_json(plan: Plan) -> dict[str, object]:
    """The plan as nested values: node, text, columns, and inputs with their labels."""
    return with_room(lambda: _values(plan))


def _values(plan: Plan) -> dict[str, object]:
    node: dict[str, object] = {
        "node": type(plan).__name__,
        "text": describe(plan),
        "columns": list(plan.schema.order),
    }
    inputs = [({"label": name} if name else {}) | _values(child) for name, child in children(plan)]
    if inputs:
        node["inputs"] = inputs
    return node


def children(plan: Plan) -> Iterator[tuple[str, Plan]]:
    """Inputs and the plans of sub-queries, each with the label that tells it from the others."""
    match plan:
        case AntiJoin(input=input, absent=absent):
            yield "input", input
            yield "absent", absent
        case SemiJoin(input=input, present=present):
            yield "input", input
            yield "present", present
        case With(ctes=ctes, input=input):
            for cte in ctes:
                yield f"{'recursive ' if cte.recursive else ''}{cte.name}", cte.plan
            yield "", input
        case _:
            for input in plan.inputs:
                yield "", input
    for expr in plan.exprs():
        for part in walk(expr):
            if isinstance(part, SUBQUERIES) and isinstance(part.relation, Plan):
                yield "query", part.relation


def describe(plan: Plan) -> str:
    """One line for the node alone."""
    shown = _described(plan)
    return shown.replace("\r", "\\r").replace("\n", "\\n") if "\n" in shown or "\r" in shown else shown


def _described(plan: Plan) -> str:
    match plan:
        case Scan() | Argument() | Values() | OneRow() | FunctionScan() | CteScan():
            return _source(plan)
        case Insert() | Upsert() | Update() | Delete() | Merge() | Unit() | Control():
            return _change(plan)
        case Expand():
            return _expand(plan)
        case Filter(predicate=predicate):
            return f"Filter {_all(predicate)}"
        case Project(items=items):
            return f"Project {_items(items)}".rstrip()
        case Aggregate():
            return _aggregate(plan)
        case Window(items=items):
            return f"Window {', '.join(text(e) for _, e in items)}"
        case Rank(score=score):
            return f"Rank {text(score)}"
        case Sort(keys=keys):
            return f"Sort {', '.join(map(sort_text, keys))}"
        case Limit(count=count, offset=offset):
            skipped = f" offset {text(offset)}" if offset is not None else ""
            return f"Limit {text(count) if count is not None else 'all'}{skipped}"
        case Distinct(on=on):
            return f"Distinct on {', '.join(map(text, on))}" if on else "Distinct"
        case Join(kind=kind, on=on, lateral=lateral):
            condition = f"  on {_all(on)}" if on is not None else ""
            return f"Join {kind}{' lateral' if lateral else ''}{condition}"
        case SetOp(op=op, all=keep):
            return f"{op.capitalize()}{' all' if keep else ''}"
        case Relabel(labels=labels):
            return f"Relabel {', '.join(labels)}"
        case _:
            return type(plan).__name__


def _all(predicate: Expr) -> str:
    return ", ".join(map(text, conjuncts(predicate))) or text(predicate)


def _item(name: str, expr: Expr) -> str:
    shown = text(expr)
    return shown if isinstance(expr, Column) and expr.name == name else f"{shown} as {name}"


def _items(items: tuple[tuple[str, Expr], ...]) -> str:
    return ", ".join(_item(name, expr) for name, expr in items)


def _aggregate(plan: Aggregate) -> str:
    computed = ", ".join(name if name == text(e) else f"{text(e)} as {name}" for name, e in plan.aggregates)
    keys = ", ".join(name if name == text(e) else f"{text(e)} as {name}" for name, e in plan.groups)
    by = f" by {keys}" if keys else ""
    if plan.sets is not None:
        by += f"  sets {', '.join('(' + ', '.join(plan.groups[i][0] for i in one) + ')' for one in plan.sets)}"
    return f"{type(plan).__name__} {computed}{by}".replace("  by", " by").rstrip()


def _at(at: ReadPoint) -> str:
    match at.kind:
        case PointKind.HEAD:
            return ""
        case PointKind.BRANCH:
            return f"  at branch {at.branch.text if at.branch is not None else ''}"
        case _:
            return f"  at {at.kind.value} {text(at.value) if at.value is not None else ''}"


def _clauses(where: list[str], columns: list[str], at: ReadPoint) -> str:
    condition = f"  where {', '.join(where)}" if where else ""
    return f"{_at(at)}{condition}{'  columns ' + ', '.join(columns) if columns else ''}"


def _source(plan: Scan | Argument | Values | OneRow | FunctionScan | CteScan) -> str:
    match plan:
        case Scan(type=of, variable=variable, columns=columns, filter=condition, at=at):
            return f"Scan {of.name} as {variable}{_clauses(_texts(condition), list(columns), at)}"
        case Argument(fields=fields):
            return f"Argument {', '.join(f.name for f in fields)}".rstrip()
        case Values(rows=rows):
            shown = ", ".join(f"({', '.join(map(text, row))})" for row in rows[:_VALUES_SHOWN])
            more = f", and {len(rows) - _VALUES_SHOWN} more" if len(rows) > _VALUES_SHOWN else ""
            return f"Values {shown}{more}" if rows else "Values none"
        case OneRow():
            return "OneRow"
        case FunctionScan(variable=variable, function=function, arguments=given):
            return f"Function {function}({', '.join(map(text, given))}) as {variable}"
        case CteScan(variable=variable, name=name):
            return f"Scan with {name} as {variable}"


def _texts(condition: Expr | None) -> list[str]:
    return [text(part) for part in conjuncts(condition)] or ([] if condition is None else [text(condition)])


def _expand(plan: Expand) -> str:
    marks = {Walk.WALKS: "walks ", Walk.SHORTEST: "shortest "}
    variable = plan.edge_variable or ("_" if plan.walk is Walk.EDGES else "")
    hops = f"{{{plan.hops.minimum},{plan.hops.maximum}}}" if plan.hops != ONE_HOP else ""
    left, right = {"out": ("-", "->"), "in": ("<-", "-"), "both": ("-", "-")}[plan.direction]
    path = f"{plan.path} = " if plan.path is not None else ""
    step = f"{left}[{variable}: {plan.edge.name}]{right}{hops}"
    where = _texts(plan.edge_filter) + _texts(plan.target_filter)
    columns = [f"{plan.edge_variable}.{c}" for c in plan.edge_columns]
    columns += [f"{plan.target}.{c}" for c in plan.target_columns]
    columns += [f"{plan.path}.{c}" for c in plan.path_columns]
    word = marks.get(plan.walk, "")
    # A node that nothing is asked of needs no name.
    unread = not plan.target_columns and plan.target_filter is None
    shown = f"Expand {word}{path}{plan.source} {step} {'_' if unread else plan.target}: {plan.target_type.name}"
    return shown + _clauses(where, columns, plan.at)


def _assigned(assignments: tuple[Assign, ...]) -> str:
    return ", ".join(f"{a.property} = {text(a.value)}" for a in assignments)


def _arm(arm: MergeArm) -> str:
    condition = f" and {text(arm.condition)}" if arm.condition is not None else ""
    values = f" {_assigned(arm.assignments)}" if arm.assignments else ""
    return f"when {arm.when}{condition} then {arm.do}{values}"


def _facts(command: Command) -> str:
    """The fields of a command that say something, by name."""
    said = ((f.name, _fact(getattr(command, f.name))) for f in fields(command))
    shown = ", ".join(f"{name} {text}" for name, text in said if text)
    return f"  {shown}" if shown else ""


def _fact(value: object) -> str:
    match value:
        case None | False | () | "":
            return ""
        case True:
            return "yes"
        case Expr():
            return text(value)
        case BranchName(name):
            return name
        case ReadPoint():
            return _at(value).strip().removeprefix("at ")
        case Property(name=name, type=of, nullable=nullable):
            return f"{name}: {type_text(of)}{'?' if nullable else ''}"
        case Cardinality(minimum=low, maximum=high):
            return f"{low}..{'' if high is None else high}"
        case tuple():
            return f"({', '.join(_fact(item) or 'none' for item in value)})"
        case str() | int() | float() | Decimal():
            return " ".join(str(value).split())
        case _ if is_dataclass(value):
            inner = (_fact(getattr(value, f.name)) for f in fields(value))
            return f"{type(value).__name__}({', '.join(part for part in inner if part)})"
        case _:
            return str(value)


def _cascade(edges: tuple[EdgeType, ...]) -> str:
    return f"  cascade {', '.join(e.name for e in edges)}" if edges else ""


def _change(plan: Insert | Upsert | Update | Delete | Merge | Unit | Control) -> str:
    match plan:
        case Insert(type=of, columns=columns, on_conflict=conflict, assignments=assignments):
            how = f"  on conflict {conflict}" if conflict != "error" else ""
            how += f" {_assigned(assignments)}" if assignments else ""
            shown = f"Insert {of.name}({', '.join(columns)}){how}"
        case Upsert(type=of, columns=columns):
            shown = f"Upsert {of.name}({', '.join(columns)})"
        case Update(type=of, columns=columns):
            shown = f"Update {of.name} set {', '.join(columns)}"
        case Delete(type=of, cascade=cascade):
            shown = f"Delete {of.name}{_cascade(cascade)}"
        case Merge(type=of, arms=arms, cascade=cascade):
            shown = f"Merge {of.name}  {', '.join(map(_arm, arms))}{_cascade(cascade)}"
        case Unit(name=name):
            return f"Unit {name}"
        case Control(command=command):
            return f"Control {type(command).__name__}{_facts(command)}"
    return shown + (f"  returning {_items(plan.returning)}" if plan.returning else "")
