"""Commands over queries, views and property graphs in scripts, and the guard around the binder."""

from __future__ import annotations

from dataclasses import replace

import pytest

from omnigraph_sql.base import commands as c
from omnigraph_sql.base.errors import NotSupported
from omnigraph_sql.base.expr import Literal
from omnigraph_sql.base.types import BOOL, I64, STRING
from omnigraph_sql.bind.bound import BoundControl, BoundQuery
from omnigraph_sql.bind.sql import SqlOptions, bind_statement
from omnigraph_sql.bind.sql_binder import SqlBinder
from omnigraph_sql.bind.sql_evolve import options_after
from omnigraph_sql.grammar.sql.parse import parse_one
from tests.bind.statements import bind_all, bind_one, catalog, refusal


def text(value: str) -> Literal:
    return Literal(value, STRING)


CSV = (("format", text("csv")),)


# ---- statements over a query --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "command"),
    [
        ("SUMMARIZE Airport", c.Summarize()),
        ("SUMMARIZE SELECT code, city FROM Airport", c.Summarize()),
        ("DESCRIBE SELECT code FROM Airport", c.Describe(None)),
        ('DESCRIBE "review/x".Airport', c.Describe(None)),
        ("COPY Airport TO 'a.parquet'", c.CopyTo(text("a.parquet"), (("format", text("parquet")),))),
        (
            "COPY (SELECT code FROM Airport) TO 'a' (FORMAT CSV, HEADER true)",
            c.CopyTo(text("a"), (*CSV, ("header", Literal(True, BOOL)))),
        ),
        ("EXPLAIN SELECT code FROM Airport", c.Explain(False, "text")),
        ("EXPLAIN ANALYZE SELECT code FROM Airport", c.Explain(True, "text")),
        ("EXPLAIN (ANALYZE, FORMAT json) SELECT code FROM Airport", c.Explain(True, "json")),
    ],
)
def test_a_command_over_a_query_has_it_as_input(sql: str, command: c.Command) -> None:
    statement = bind_one(sql).statement
    assert isinstance(statement, BoundControl)
    assert statement.command == command
    assert isinstance(statement.input, BoundQuery)
    assert statement.input.schema.order[0] == "code"


def test_summarize_of_a_table_is_summarize_of_its_star() -> None:
    assert bind_one("SUMMARIZE Airport") == bind_one("SUMMARIZE SELECT * FROM Airport")


def test_explain_of_a_command_explains_it_and_does_nothing() -> None:
    programs = bind_all("EXPLAIN DROP TABLE Tagged; SELECT weight FROM Tagged")
    assert programs[0].statement == BoundControl(c.Explain(False, "text"), BoundControl(c.DropType("edge", "Tagged")))


# ---- views --------------------------------------------------------------------------------------------------------


def test_a_view_keeps_its_text_and_can_be_read_by_what_follows() -> None:
    create = "CREATE VIEW high (c, e) AS SELECT code, elevation FROM Airport WHERE elevation > 2000 -- peaks"
    made, read = bind_all(f"{create}\n; SELECT c, e FROM high")
    assert isinstance(made.statement, BoundControl)
    assert isinstance(made.statement.command, c.CreateView)
    assert made.statement.command.name == "high"
    assert made.statement.command.text == create.removesuffix(" -- peaks")
    assert isinstance(read.statement, BoundQuery)
    assert read.statement.schema.order == ("c", "e")


def test_a_view_is_replaced_dropped_and_not_made_twice() -> None:
    first = "CREATE VIEW v AS SELECT code FROM Airport"
    bind_all(f"{first}; CREATE OR REPLACE VIEW V AS SELECT city FROM Airport; SELECT city FROM v")
    bind_all(f"{first}; CREATE VIEW IF NOT EXISTS v AS SELECT city FROM Airport; SELECT code FROM v")
    assert refusal(f"{first}; {first}").message == "a view called v exists already"
    assert refusal(f"{first}; DROP VIEW v; SELECT code FROM v").message == "unknown table 'v'"
    assert refusal(f"{first}; CREATE TABLE V (a INT)").message == "a view called V exists already"


def test_a_view_cannot_become_its_own_source() -> None:
    both = "CREATE VIEW a AS SELECT code FROM Airport; CREATE VIEW b AS SELECT code FROM a;"
    assert refusal(f"{both} CREATE OR REPLACE VIEW a AS SELECT code FROM b").code == "unknown_name"
    assert refusal(f"{both} CREATE OR REPLACE VIEW a AS SELECT code FROM a").code == "unknown_name"


def test_views_of_the_session_are_known() -> None:
    options = SqlOptions(views=(("v", "SELECT code FROM Airport"),))
    assert bind_one("DROP VIEW V", options).statement == BoundControl(c.DropView("v", False))
    described = bind_one("DESCRIBE v", options).statement
    assert isinstance(described, BoundControl)
    assert described.command == c.Describe(None)


# ---- property graphs ----------------------------------------------------------------------------------------------

FLIGHTS = "CREATE PROPERTY GRAPH flights VERTEX TABLES (Airport) EDGE TABLES (Route);"


def matched(graph: str, pattern: str) -> str:
    return f"SELECT * FROM GRAPH_TABLE ({graph} MATCH {pattern} COLUMNS (a.id AS id)) g"


def test_patterns_over_a_property_graph_see_its_types_alone() -> None:
    bind_all(f"{FLIGHTS} {matched('flights', '(a IS Airport)-[IS Route]->(b)')}")
    open_ends = bind_all(f"{FLIGHTS} {matched('Flights', '(a)-[r]->(b)')}")[1]
    assert open_ends == bind_all(f"{FLIGHTS} {matched('omni', '(a IS Airport)-[r IS Route]->(b IS Airport)')}")[1]
    assert refusal(f"{FLIGHTS} {matched('flights', '(a IS Carrier)')}").code == "unknown_name"
    bind_all(f"{FLIGHTS} {matched('', '(a IS Carrier)')}")


def test_property_graphs_come_and_go_with_the_statements_of_a_script() -> None:
    assert refusal(matched("flights", "(a IS Airport)")).message == "unknown graph 'flights'"
    assert refusal(f"{FLIGHTS} {FLIGHTS}").message == "a property graph called flights exists already"
    gone = f"{FLIGHTS} DROP PROPERTY GRAPH Flights; {matched('flights', '(a IS Airport)')}"
    assert refusal(gone).message == "unknown graph 'flights'"
    assert refusal(f"{FLIGHTS} DROP TABLE Route; {matched('flights', '(a)-[r]->(b)')}").code != "D2"


# ---- the guard ----------------------------------------------------------------------------------------------------


def test_a_fault_of_the_binder_reaches_callers_as_a_placed_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("boom")

    monkeypatch.setattr(SqlBinder, "bind_query", broken)
    statement = parse_one("SELECT 1")
    with pytest.raises(NotSupported, match="understood by the parser but not carried out") as caught:
        bind_statement(statement, catalog())
    assert isinstance(caught.value.__cause__, KeyError)
    assert (caught.value.at.start, caught.value.at.end) == (0, 8)
    with pytest.raises(KeyError):
        bind_one("SELECT 1")


def test_pivot_is_refused_with_a_way_round() -> None:
    error = refusal("PIVOT Airport ON city USING count(*)")
    assert error.code == "not_supported"
    assert error.hint is not None


def test_the_walk_limit_of_a_script_changes_with_set_and_reset() -> None:
    options = SqlOptions(hops_max=9)
    lower = options_after(c.SetOption("hops_max", Literal(3, I64)), options, options)
    assert lower == replace(options, hops_max=3)
    assert options_after(c.SetOption("hops_max", None), lower, options) == options
    assert options_after(c.SetOption("actor", Literal("x", STRING)), lower, options) == lower
