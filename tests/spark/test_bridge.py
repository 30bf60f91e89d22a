"""Functions over the graph in Spark SQL give what the graph itself gives, and open nothing twice."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, PythonException

import omnigraph_sql as og
from omnigraph_sql.base import limits
from omnigraph_sql.spark.by_place import places_held
from omnigraph_sql.spark.crossing import plain
from omnigraph_sql.spark.links import neighbors
from omnigraph_sql.spark.place import GraphPlace, pinned_at
from omnigraph_sql.spark.registering import register
from tests.spark.air import air

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

IDLE_WORKERS_MAX = 8
"""Python workers of other tests that may be waiting; the one that waited longest is asked next."""
SCHEMA = "node P { k: I64 @key  name: String? }  node Q { k: I64 @key }  edge Knows: P -> P  edge Has: P -> Q"


@pytest.fixture(scope="module")
def people(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    graph = og.init(tmp_path_factory.mktemp("bridge") / "p.omni", schema=SCHEMA)
    chance = np.random.default_rng(7)
    graph.load(pa.table({"k": range(60), "name": [f"n{n}" for n in range(60)]}), type="P", mode="append")
    graph.load(pa.table({"k": range(20)}), type="Q", mode="append")
    knows = pa.table({"src": chance.integers(0, 50, 120), "dst": chance.integers(0, 60, 120)})
    graph.load(knows, type="Knows", mode="append")
    has = pa.table({"src": chance.integers(0, 60, 80), "dst": chance.integers(0, 20, 80)})
    graph.load(has, type="Has", mode="append")
    register(spark, graph.uri, prefix="people_")
    return graph


@pytest.mark.parametrize(("edge", "hops"), [("Knows", 1), ("Knows", 3), ("Has", 1)])
def test_neighbors_and_reach_are_those_of_a_walk_in_the_graph(
    spark: SparkSession, people: og.Graph, edge: str, hops: int
) -> None:
    asked = f"SELECT id, people_og_neighbors('{edge}', id, {hops}) AS n, people_og_reach('{edge}', id, {hops}) AS r"
    found = {row["id"]: (row["n"], row["r"]) for row in spark.sql(f"{asked} FROM people_P").collect()}
    word = edge[0].lower() + edge[1:]
    text = f"match {{ $a: P  $a {word}{{1,{hops}}} $b }} return {{ $a.k as a, $b.k as b }}"
    wanted: dict[str, set[str]] = {str(n): set() for n in range(60)}
    for start, end in people.gq(text).fetchall():
        wanted[str(start)].add(str(end))
    assert found == {one: (sorted(ends), len(ends)) for one, ends in wanted.items()}


def test_degree_counts_the_edges_that_leave(spark: SparkSession, people: og.Graph) -> None:
    found = {r[0]: r[1] for r in spark.sql("SELECT id, people_og_degree('Knows', id) FROM people_P").collect()}
    counted = dict(people.sql("SELECT src, count(*) FROM Knows GROUP BY src").fetchall())
    assert found == {str(n): counted.get(str(n), 0) for n in range(60)}


@pytest.mark.usefixtures("people")
def test_unknown_ids_have_no_edges_and_null_stays_null(spark: SparkSession) -> None:
    row = spark.sql(
        "SELECT people_og_degree('Knows', 'nobody'), people_og_degree('Knows', CAST(NULL AS STRING)),"
        " people_og_neighbors('Knows', 'nobody', 2), people_og_lookup('P', 'nobody', 'name')"
    ).first()
    assert tuple(row or ()) == (0, None, [], None)


@pytest.mark.usefixtures("people")
def test_lookup_gives_a_property_as_text(spark: SparkSession) -> None:
    found = spark.sql("SELECT id, people_og_lookup('P', id, 'name') AS name FROM people_P").collect()
    assert {r["id"]: r["name"] for r in found} == {str(n): f"n{n}" for n in range(60)}


def test_functions_take_different_types_in_different_rows(spark: SparkSession, people: og.Graph) -> None:
    found = spark.sql(
        "SELECT e, people_og_degree(e, '3') AS d FROM VALUES ('Knows'), ('Has'), (NULL), ('Knows') AS t(e)"
    ).collect()
    knows = people.sql("SELECT count(*) FROM Knows WHERE src = '3'").fetchone()
    has = people.sql("SELECT count(*) FROM Has WHERE src = '3'").fetchone()
    assert sorted(map(tuple, found), key=str) == sorted(
        [("Knows", (knows or (0,))[0]), ("Has", (has or (0,))[0]), (None, None), ("Knows", (knows or (0,))[0])], key=str
    )


def test_gq_is_a_table_in_joins_and_aggregates(spark: SparkSession, people: og.Graph) -> None:
    text = "match { $a: P  $a knows $b } return { $a.k as a, $b.name as b }"
    found = spark.sql(
        f"SELECT p.k, count(*) AS n FROM people_gq('{text}') g JOIN people_P p ON p.k = g.a GROUP BY p.k"
    ).collect()
    counted: dict[int, int] = {}
    for start, _ in people.gq(text).fetchall():
        counted[start] = counted.get(start, 0) + 1
    assert {r["k"]: r["n"] for r in found} == counted


@pytest.mark.usefixtures("people")
def test_gq_takes_parameters_by_name(spark: SparkSession) -> None:
    text = "query q($k: I64) { match { $a: P { k: $k } } return { $a.name as name } }"
    assert spark.sql(f"SELECT * FROM people_gq('{text}', k => 17)").collect() == [("n17",)]


@pytest.mark.usefixtures("people")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("match { $a: Pp } return { $a.k }", "Pp"),
        ("match { $a: P } return { $a.kk }", "kk"),
        ("delete P where k = 1", "only reads can be a table"),
    ],
)
def test_a_wrong_query_is_refused_at_analysis_with_its_place(spark: SparkSession, text: str, words: str) -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011
        spark.sql(f"SELECT * FROM people_gq('{text}')")
    told = plain(caught.value)
    assert told is not None
    assert words in told


@pytest.mark.usefixtures("people")
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("", "[parameters] parameter k is missing; it is declared as I64"),
        (", kk => 1", "[parameters] no parameter is called kk; did you mean k?"),
        (", k => 'x'", "[data] parameter k is declared as I64; 'x' does not fit"),
    ],
)
def test_a_parameter_that_cannot_be_is_refused_at_analysis(spark: SparkSession, given: str, words: str) -> None:
    text = "query q($k: I64) { match { $a: P { k: $k } } return { $a.name as name } }"
    with pytest.raises(AnalysisException) as caught:
        spark.sql(f"SELECT * FROM people_gq('{text}'{given})")
    assert str(plain(caught.value)).startswith(words)


@pytest.mark.usefixtures("people")
@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("og_degree('Know', '1')", "there is no edge type 'Know'; the schema has"),
        ("og_degree('Knows')", "og_degree takes edge, id, 1 of 2 were given"),
        ("og_neighbors('Knows', '1', 0)", "0 hops are not between 1 and 64"),
        ("og_reach('Knows', '1', 65)", "65 hops are not between 1 and 64"),
        ("og_lookup('P', '1', 'nam')", "P has no property 'nam'; it has"),
        ("og_lookup('R', '1', 'name')", "there is no type 'R'"),
    ],
)
def test_a_call_that_cannot_be_is_refused_in_one_sentence(spark: SparkSession, call: str, words: str) -> None:
    with pytest.raises(PythonException) as caught:
        spark.sql(f"SELECT people_{call}").collect()
    assert words in str(plain(caught.value))


def test_a_second_question_opens_nothing_again(spark: SparkSession, tmp_path: Path) -> None:
    """Workers keep what they opened: with the graph moved away they answer as before."""
    graph = air(tmp_path)
    register(spark, graph.uri, prefix="kept_")
    frame = spark.createDataFrame([("LIM",), ("CUZ",)], "code string").coalesce(1)
    frame.createOrReplaceTempView("kept_codes")
    calls = ("degree('Route', code)", "neighbors('Route', code, 2)", "reach('Route', code, 2)")
    asked = f"SELECT {', '.join(f'kept_og_{call}' for call in calls)} FROM kept_codes"
    first = [spark.sql(asked).collect() for _ in range(IDLE_WORKERS_MAX)][-1]
    Path(graph.uri).rename(tmp_path / "away")
    assert spark.sql(asked).collect() == first


def test_what_was_opened_of_old_states_is_let_go(tmp_path: Path) -> None:
    graph, other = air(tmp_path), air(tmp_path, "other")
    elsewhere = pinned_at(GraphPlace(other.uri), None)
    degrees = neighbors(elsewhere, "Route").degrees(pa.array(["LIM"]))
    places = []
    for number in range(limits.SPARK_STATES_MAX + 2):
        graph.sql("INSERT INTO Airport (code, city) VALUES ($c, $c)", {"c": f"N{number}"})
        places.append(pinned_at(GraphPlace(graph.uri), None))
    kept = {place: weakref.ref(neighbors(place, "Route").starts.order) for place in places[: limits.SPARK_STATES_MAX]}
    assert neighbors(places[0], "Route").starts.order is kept[places[0]](), "as many as are kept"
    neighbors(places[limits.SPARK_STATES_MAX], "Route")
    gc.collect()
    assert kept[places[1]]() is None, "the one asked for longest ago goes first"
    assert kept[places[0]]() is not None
    for place in places[2:]:
        neighbors(place, "Route")
    gc.collect()
    assert kept[places[0]]() is None
    assert len([one for one in places_held() if one.uri == graph.uri]) == limits.SPARK_STATES_MAX
    assert elsewhere in places_held(), "graphs do not count together"
    assert neighbors(places[0], "Route").degrees(pa.array(["LIM"])) == degrees
