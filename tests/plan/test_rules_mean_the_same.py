"""Rules change plans, never answers: random statements over random graphs, before and after each rule."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, given, note, settings

from omnigraph_sql.base.errors import LanguageError
from omnigraph_sql.plan.compile import compile_gq, compile_sql
from omnigraph_sql.plan.explain import explain
from omnigraph_sql.plan.lower import lower
from omnigraph_sql.plan.node import Plan
from omnigraph_sql.plan.optimizer import RULES, optimize
from tests.case_files import airport_catalog
from tests.plan.interpreter import bag, run
from tests.plan.statements import graphs, reads, selects
from tests.plan.values import Tables

EXAMPLES = int(os.environ.get("OMNI_PLAN_EXAMPLES", "150"))
often = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))


def says_the_same(before: Plan, tables: Tables) -> None:
    catalog = airport_catalog()
    expected = bag(run(before, tables))
    shape = [(f.name, f.type) for f in before.schema.fields]
    plan = before
    for rule in RULES:
        changed = rule(plan, catalog)
        note(f"{rule.__name__}:\n{explain(changed)}")
        assert bag(run(changed, tables)) == expected, rule.__name__
        assert [(f.name, f.type) for f in changed.schema.fields] == shape
        plan = changed
    done = optimize(before, catalog)
    assert bag(run(done, tables)) == expected
    again = optimize(done, catalog)
    assert explain(again) == explain(done)
    assert again == done


@often
@given(text=reads(), tables=graphs())
def test_a_gq_read_gives_the_same_rows_after_every_rule(text: str, tables: Tables) -> None:
    note(text)
    try:
        (program,) = compile_gq(text, airport_catalog()).programs
    except LanguageError:
        return  # a not block that asks nothing of the row around it
    says_the_same(lower(program.bound.statement), tables)


@often
@given(text=selects(), tables=graphs())
def test_a_select_gives_the_same_rows_after_every_rule(text: str, tables: Tables) -> None:
    note(text)
    (program,) = compile_sql(text, airport_catalog()).programs
    says_the_same(lower(program.bound.statement), tables)
