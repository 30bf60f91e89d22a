"""Each rule alone: the plan it is given and the plan it makes of it, as text pairs."""

from __future__ import annotations

import pytest

from omnigraph_sql.plan.compile import compile_sql
from omnigraph_sql.plan.explain import explain
from omnigraph_sql.plan.lower import lower
from omnigraph_sql.plan.optimizer import LAST_RULES, RULES
from tests.case_files import CASES, Case, airport_catalog, read_cases

FILES = sorted(path.stem for path in (CASES / "plan").glob("*.case"))
EVERY = (*RULES, *LAST_RULES)
BY_NAME = {rule.__name__: rule for rule in EVERY}


def before_and_after(name: str, sql: str) -> tuple[str, str]:
    """The plan when the rule's first turn comes, and after it."""
    catalog = airport_catalog()
    (program,) = compile_sql(sql, catalog).programs
    plan = lower(program.bound.statement)
    for rule in EVERY[: [rule.__name__ for rule in EVERY].index(name)]:
        plan = rule(plan, catalog)
    if name == "fold_constants":
        # First of all rules, it sees every column; the others are shown narrow plans.
        plan = BY_NAME["prune_columns"](plan, catalog)
    return explain(plan), explain(BY_NAME[name](plan, catalog))


@pytest.mark.parametrize(
    ("rule", "case"), [(f, c) for f in FILES for c in read_cases(f"plan/{f}.case")], ids=lambda p: getattr(p, "name", p)
)
def test_the_rule_makes_this_of_that(rule: str, case: Case) -> None:
    sections = list(case.sections)
    for (_, sql), (_, before), (_, after) in zip(sections[::3], sections[1::3], sections[2::3], strict=True):
        assert before_and_after(rule, sql) == (before, after)


def test_every_rule_of_a_file_has_cases() -> None:
    assert set(FILES) == set(BY_NAME) - {"optimize_subqueries"}
