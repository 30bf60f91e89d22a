"""A node that cannot be right cannot be built."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from omnigraph_sql.base import expr as ex
from omnigraph_sql.base.errors import InternalError
from omnigraph_sql.base.expr import Column, Expr, SortKey
from omnigraph_sql.base.schema import Field
from omnigraph_sql.base.types import I64, STRING
from omnigraph_sql.bind.bound import Assign, Hops, JoinKind, MergeArm, MergeDo, MergeWhen, OnConflict, Walk
from omnigraph_sql.plan import nodes as pn
from omnigraph_sql.plan.mutations import Delete, Insert, Merge, Unit, Update, Upsert
from omnigraph_sql.plan.node import Plan, PlanError
from tests.plan.builders import AIRPORT, CARRIER, HUB, ROUTE, cmp, col, eq, lit

A = pn.Scan(AIRPORT, "a", ("id", "code", "elevation"))
B = pn.Scan(AIRPORT, "b", ("id", "code"))
COUNT = ex.Aggregate("count", (), I64)
RANK = ex.WindowCall("rank", (), I64)
NEAREST = ex.Nearest(col("a.pos"), ex.Param("v"))
ONE = pn.Values((Field("x", I64, False),), ((lit(1),),))


def expand(**changes: object) -> pn.Expand:
    given: dict[str, object] = {
        "input": A,
        "edge": ROUTE,
        "source": "a",
        "target": "t",
        "target_type": AIRPORT,
        "direction": "out",
        "walk": Walk.EDGES,
    }
    return pn.Expand(**(given | changes))  # type: ignore[arg-type]


def project(*items: tuple[str, Expr]) -> pn.Project:
    return pn.Project(A, items)


WRONG: list[tuple[str, Callable[[], Plan]]] = [
    ("a scan of a column the table lacks", lambda: pn.Scan(AIRPORT, "a", ("id", "nope"))),
    ("a scan that makes a column twice", lambda: pn.Scan(AIRPORT, "a", ("id", "id"))),
    ("a scan filtered by another table", lambda: pn.Scan(AIRPORT, "a", ("id",), eq("b.code", "b.city"))),
    ("a scan filtered by a number", lambda: pn.Scan(AIRPORT, "a", ("id",), col("a.elevation"))),
    ("values with a short row", lambda: pn.Values((Field("x", I64, True),), ((),))),
    ("values that read a column", lambda: pn.Values((Field("x", STRING, True),), ((col("a.code"),),))),
    ("a function that reads a column", lambda: pn.FunctionScan("f", "unnest", (col("a.tags"),), ())),
    ("two fields of one name", lambda: pn.Argument((Field("x", I64, True), Field("x", I64, True)))),
    ("a step from nowhere", lambda: expand(source="z")),
    ("a step against the types", lambda: expand(edge=HUB, direction="in")),
    ("a step in no direction", lambda: expand(direction="up")),
    ("edge rows of two hops", lambda: expand(hops=Hops(1, 2))),
    ("edge columns without a variable", lambda: expand(edge_columns=("miles",))),
    ("an edge variable over walks", lambda: expand(walk=Walk.WALKS, edge_variable="r")),
    ("path columns without a path", lambda: expand(path_columns=("length",))),
    ("path columns that do not exist", lambda: expand(path="p", path_columns=("weight",))),
    ("a step onto a name that is taken", lambda: expand(target="a")),
    ("a step whose filter reads the start", lambda: expand(target_filter=cmp("a.code", "=", "x"))),
    ("a filter on a missing column", lambda: pn.Filter(A, cmp("a.city", "=", "x"))),
    ("a filter by a number", lambda: pn.Filter(A, col("a.elevation"))),
    ("a filter over an aggregate", lambda: pn.Filter(A, ex.Compare(">", COUNT, lit(1)))),
    ("a filter over a window", lambda: pn.Filter(A, ex.Compare(">", RANK, lit(1)))),
    ("a projection of a missing column", lambda: project(("x", col("b.code")))),
    ("a projection of a score", lambda: project(("x", NEAREST))),
    ("two columns of one name", lambda: project(("x", col("a.code")), ("x", col("a.id")))),
    ("groups by a missing column", lambda: pn.Aggregate(A, (("x", col("a.city")),), ())),
    ("an aggregate that is none", lambda: pn.Aggregate(A, (), (("x", col("a.code")),))),  # type: ignore[arg-type]
    ("a grouping set of no key", lambda: pn.Aggregate(A, (), (("n", COUNT),), ((0,),))),
    ("a window that is none", lambda: pn.Window(A, (("x", col("a.code")),))),  # type: ignore[arg-type]
    ("a window named like a column", lambda: pn.Window(A, (("a.code", RANK),))),
    ("a rank of a missing vector", lambda: pn.Rank(A, NEAREST, "s")),
    ("a rank by a column", lambda: pn.Rank(A, col("a.code"), "s")),  # type: ignore[arg-type]
    ("a sort without a key", lambda: pn.Sort(A, ())),
    ("a sort by a missing column", lambda: pn.Sort(A, (SortKey(col("a.city")),))),
    ("a limit of nothing", lambda: pn.Limit(A)),
    ("a limit that reads a row", lambda: pn.Limit(A, col("a.elevation"))),
    ("distinct on a missing column", lambda: pn.Distinct(A, (col("a.city"),))),
    ("a join of the same columns", lambda: pn.Join(JoinKind.CROSS, A, A)),
    ("a cross join with a condition", lambda: pn.Join(JoinKind.CROSS, A, B, eq("a.id", "b.id"))),
    ("an inner join without one", lambda: pn.Join(JoinKind.INNER, A, B)),
    ("a join on a missing column", lambda: pn.Join(JoinKind.INNER, A, B, eq("a.id", "b.city"))),
    ("a semi join as a join", lambda: pn.Join(JoinKind.SEMI, A, B, eq("a.id", "b.id"))),
    ("a lateral full join", lambda: pn.Join(JoinKind.FULL, A, B, eq("a.id", "b.id"), True)),
    ("an argument the input lacks", lambda: pn.AntiJoin(A, pn.Argument((Field("b.id", STRING, False),)))),
    ("the same of a semi join", lambda: pn.SemiJoin(A, pn.Argument((Field("b.id", STRING, False),)))),
    ("an unknown set operation", lambda: pn.SetOp("minus", False, ONE, ONE, ONE.fields)),
    ("sides of different width", lambda: pn.SetOp("union", False, ONE, A, ONE.fields)),
    ("no common table expression", lambda: pn.With((), A)),
    ("two of one name", lambda: pn.With((pn.Cte("x", A), pn.Cte("x", B)), A)),
    ("a hidden recursion", lambda: pn.With((pn.Cte("x", pn.CteScan("y", "x", ())),), A)),
    ("too few labels", lambda: pn.Relabel(A, ("one",))),
    ("an insert into a column that is none", lambda: Insert(AIRPORT, "a", ("nope",), ONE)),
    ("an insert that feeds too little", lambda: Insert(AIRPORT, "a", ("code", "city"), ONE)),
    ("an insert that feeds a column twice", lambda: Insert(AIRPORT, "a", ("code", "code"), ONE)),
    ("a conflict that updates nothing", lambda: Insert(CARRIER, "c", ("iata",), ONE, OnConflict.UPDATE)),
    ("an upsert without its key", lambda: Upsert(AIRPORT, "a", ("city",), ONE)),
    ("an upsert of a type without a key", lambda: Upsert(ROUTE, "r", ("src",), ONE)),
    ("an update without ids", lambda: Update(AIRPORT, "a", (), ONE)),
    ("an update of a missing value", lambda: Update(AIRPORT, "a", ("city",), project(("id", col("a.id"))))),
    ("a delete without ids", lambda: Delete(AIRPORT, "a", ONE)),
    ("a cascade to strangers", lambda: Delete(CARRIER, "c", project(("id", col("a.id"))), (ROUTE,))),
    ("a merge without its mark", lambda: Merge(AIRPORT, "a", A, (MergeArm(MergeWhen.MATCHED, MergeDo.DELETE),))),
    ("a unit of reads", lambda: Unit("q", (A,))),
    ("a unit of nothing", lambda: Unit("q", ())),
]


@pytest.mark.parametrize("build", [build for _, build in WRONG], ids=[name for name, _ in WRONG])
def test_it_is_refused(build: Callable[[], Plan]) -> None:
    with pytest.raises(PlanError) as caught:
        build()
    assert isinstance(caught.value, InternalError)
    assert caught.value.code == "plan"


def test_an_outer_join_makes_the_padded_side_optional() -> None:
    join = pn.Join(JoinKind.LEFT, A, B, eq("a.id", "b.id"))
    assert [f.nullable for f in join.schema.fields] == [False, False, True, True, True]
    full = pn.Join(JoinKind.FULL, A, B, eq("a.id", "b.id"))
    assert all(f.nullable for f in full.schema.fields)


def test_correlated_columns_are_those_no_node_inside_makes() -> None:
    inner = pn.Filter(B, ex.Compare("=", col("b.id"), ex.OuterColumn("a.id", STRING, False)))
    assert inner.outer_columns == {"a.id"}
    assert pn.Filter(A, ex.Exists(inner)).outer_columns == frozenset()
    assert pn.Project(B, (("n", ex.ScalarSubquery(pn.Project(inner, (("x", col("b.id")),)))),)).outer_columns == {
        "a.id"
    }


def test_nodes_that_do_not_change_are_the_same_nodes() -> None:
    plan = pn.Sort(pn.Filter(A, cmp("a.code", "=", "x")), (SortKey(Column("a.id", STRING, False)),))
    assert plan.map_inputs(lambda child: child) is plan
    assert plan.map_exprs(lambda expr: expr) is plan


def test_an_insert_keeps_what_a_conflict_assigns() -> None:
    node = Insert(CARRIER, "c", ("iata",), ONE, OnConflict.UPDATE, (Assign("name", lit("x")),))
    assert node.schema.order == ()
