"""The shape of plans: where walks begin, where filters go, how blocks and circles are closed."""

from __future__ import annotations

import pytest

from omnigraph_sql.plan.compile import compile_gq
from omnigraph_sql.plan.explain import explain
from omnigraph_sql.plan.node import Plan, walk_plan
from omnigraph_sql.plan.nodes import AntiJoin, Expand, Filter, Join, Scan
from tests.case_files import airport_catalog


def planned(match: str, shown: str = "$a.code") -> Plan:
    text = f"query q($c: String) {{ match {{ {match} }} return {{ {shown} }} }}"
    (program,) = compile_gq(text, airport_catalog()).programs
    return program.plan


def nodes(plan: Plan, kind: type[Plan]) -> int:
    return sum(isinstance(node, kind) for node in walk_plan(plan))


def steps(plan: Plan) -> list[Expand]:
    return [node for node in walk_plan(plan) if isinstance(node, Expand)]


def test_a_chain_of_three_is_one_scan_and_two_steps() -> None:
    plan = planned("$a: Airport  $b: Airport  $c2: Airport  $a route $b  $b route $c2")
    assert (nodes(plan, Scan), nodes(plan, Expand), nodes(plan, Join)) == (1, 2, 0)


def test_field_tests_of_the_target_are_asked_by_the_step() -> None:
    plan = planned('$a: Airport { code: $c }  $b: Airport { city: "Lima" }  $a route $b')
    (step,) = steps(plan)
    assert step.target_filter is not None
    assert nodes(plan, Filter) == 0


def test_a_bound_target_is_left_against_the_arrow() -> None:
    (step,) = steps(planned("$a: Airport  $b: Airport { code: $c }  $a route $b"))
    assert (step.source, step.target, step.direction) == ("b", "a", "in")


def test_clauses_in_any_order_give_the_same_plan() -> None:
    clauses = ["$a: Airport { city: $c }", "$b: Airport", "$d: Carrier", "$a route $b", "$d hub $b", "$b.elevation > 3"]
    expected = explain(planned(" ".join(clauses)))
    for number in range(len(clauses)):
        turned = clauses[number:] + clauses[:number]
        assert explain(planned(" ".join(turned))) == expected
        assert explain(planned(" ".join(reversed(turned)))) == expected


def test_bindings_without_a_step_are_crossed() -> None:
    plan = planned("$a: Airport  $d: Carrier")
    assert (nodes(plan, Join), nodes(plan, Scan)) == (1, 2)


def test_wildcards_are_different_nodes_each_time() -> None:
    plan = planned("$a: Airport  $b: Airport  $a route $_  $b route $_")
    assert (nodes(plan, Join), nodes(plan, Scan), nodes(plan, Expand)) == (1, 2, 2)


@pytest.mark.parametrize("arrows", ["$a route $b  $a route $d  $a route $e", "$b route $a  $d route $a  $e route $a"])
def test_a_star_reaches_every_point_once(arrows: str) -> None:
    plan = planned(f"$a: Airport {{ code: $c }}  {arrows}")
    assert (nodes(plan, Scan), nodes(plan, Expand), nodes(plan, Filter)) == (1, 3, 0)
    assert sorted(step.target for step in steps(plan)) == ["b", "d", "e"]


def test_a_circle_is_closed_by_a_temporary_node_and_an_equality() -> None:
    plan = planned("$a route $b  $b route $d  $d route $a  $a: Airport")
    (closing,) = [n for n in walk_plan(plan) if isinstance(n, Filter)]
    assert isinstance(closing.input, Expand)
    assert closing.input.target.startswith("_")
    assert (nodes(plan, Scan), nodes(plan, Expand)) == (1, 3)


@pytest.mark.parametrize(
    ("clause", "shown"),
    [
        ('$a.tags contains "x"', "list_contains(a.tags, 'x')"),
        ('$a.city contains "x"', "contains(a.city, 'x')"),
        ("$a $r:route $_  $r.miles = 3", "r.miles = 3"),
    ],
)
def test_operators_are_settled_by_the_type_of_their_left_side(clause: str, shown: str) -> None:
    assert f"where {shown}" in explain(planned(f"$a: Airport  {clause}"))


def test_now_is_a_value_of_the_statement_in_reads_and_writes() -> None:
    assert "d.updated < now()" in explain(planned("$d: Carrier  $d.updated < now()", "$d.iata"))
    (program,) = compile_gq(
        'query q() { insert Carrier { iata: "x", name: "y", status: "active", updated: now() } }', airport_catalog()
    ).programs
    assert "now()" in explain(program.plan)


def test_an_undirected_step_stays_undirected_in_a_block() -> None:
    plan = planned("$a: Airport  not { $a <route> $b  $b.elevation > 3 }")
    (step,) = steps(plan)
    assert step.direction == "both"


def test_a_block_is_an_anti_join_that_starts_from_the_row() -> None:
    plan = planned("$a: Airport  not { $b: Airport  $b route $a }")
    (anti,) = [n for n in walk_plan(plan) if isinstance(n, AntiJoin)]
    assert explain(anti.absent).splitlines()[-1].strip() == "Argument a.id"


def test_a_block_is_asked_as_soon_as_its_columns_exist() -> None:
    plan = planned("$a: Airport { code: $c }  $a route $b  not { $a $r:route $_  $r.miles > 9 }")
    (anti,) = [n for n in walk_plan(plan) if isinstance(n, AntiJoin)]
    assert isinstance(anti.input, Scan)
