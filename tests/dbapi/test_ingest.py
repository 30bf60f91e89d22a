"""Arrow streams into tables, and what there is in a graph, in the form of ADBC's drivers."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph_sql as og

SCHEMA = """
node Airport { code: String @key  city: String  elevation: I32?  @unique(city) }
node Day { at: Date @key }
edge Route: Airport -> Airport { miles: I32 }
edge On: Airport -> Day
"""


@pytest.fixture
def con(tmp_path: Path) -> Iterator[og.Connection]:
    with og.connect(tmp_path / "air.omni", create=True, schema=SCHEMA) as made:
        made.executemany("INSERT INTO Airport VALUES (?, ?, ?)", [("LIM", "Lima", 34), ("CUZ", "Cusco", 3310)])
        made.commit()
        yield made


def rows(con: og.Connection, name: str) -> list[Any]:
    return sorted(con.execute(f"SELECT * FROM {name}").fetchall(), key=str)


def ports(**columns: list[Any]) -> pa.Table:
    return pa.table({"code": ["AQP", "TRU"], "city": ["Arequipa", "Trujillo"], "elevation": [None, 33]} | columns)


def test_append_is_one_commit(con: og.Connection) -> None:
    before = len(con.graph.commits())
    cursor = con.cursor()
    assert cursor.adbc_ingest("Airport", ports(), mode="append") == 2
    assert (cursor.rowcount, cursor.description) == (2, None)
    assert len(con.graph.commits()) == before + 1
    assert ("TRU", "Trujillo", 33) in rows(con, "Airport")
    assert con.cursor().adbc_ingest("Route", pa.table({"src": ["LIM"], "dst": ["TRU"], "miles": [305]}), "append") == 1


def test_create_makes_the_columns_of_the_data(con: og.Connection) -> None:
    values = {
        "t": pa.array(["x"]),
        "large": pa.array(["x"], pa.large_utf8()),
        "i8": pa.array([1], pa.int8()),
        "i64": pa.array([2**40]),
        "u64": pa.array([2**63], pa.uint64()),
        "f32": pa.array([0.5], pa.float32()),
        "f64": pa.array([0.5]),
        "b": pa.array([True]),
        "d": pa.array([date(2026, 1, 31)]),
        "at": pa.array([datetime(2026, 1, 31, tzinfo=UTC)]),
        "raw": pa.array([b"\x00"]),
        "word": pa.array(["x"]).dictionary_encode(),
        "many": pa.array([["x", "y"]]),
        "v": pa.array([[1.0, 2.0]], pa.list_(pa.float32(), 2)),
        "never": pa.nulls(1),
    }
    assert con.cursor().adbc_ingest("kinds", pa.table(values)) == 1
    assert con.adbc_get_table_schema("kinds").names == list(values)
    found = con.execute("SELECT * FROM kinds").fetch_arrow_table().to_pylist()
    assert found == pa.table(values).to_pylist()


def test_a_column_that_cannot_be_null_stays_so(con: og.Connection) -> None:
    schema = pa.schema([pa.field("a", pa.utf8(), nullable=False), pa.field("b", pa.utf8())])
    con.cursor().adbc_ingest("strict", pa.table({"a": ["x"], "b": ["y"]}, schema=schema))
    assert [field.nullable for field in con.adbc_get_table_schema("strict")] == [False, True]


def test_create_refuses_a_table_that_is_there_and_append_one_that_is_not(con: og.Connection) -> None:
    with pytest.raises(og.ProgrammingError, match="exists already"):
        con.cursor().adbc_ingest("Airport", ports())
    with pytest.raises(og.ProgrammingError, match="there is no table Airports") as caught:
        con.cursor().adbc_ingest("Airports", ports(), mode="append")
    assert caught.value.code == "unknown_name"


def test_create_append_makes_a_table_once(con: og.Connection) -> None:
    for expected in (1, 2):
        con.cursor().adbc_ingest("logs", pa.table({"n": [expected]}), mode="create_append")
        assert len(rows(con, "logs")) == expected


def test_replace_keeps_the_table_where_the_columns_are_the_same(con: og.Connection) -> None:
    con.cursor().adbc_ingest("logs", pa.table({"n": [1, 2]}), mode="replace")
    before = con.graph.catalog.node("logs")
    commits = len(con.graph.commits())
    assert con.cursor().adbc_ingest("logs", pa.table({"n": [3]}), mode="replace") == 1
    assert (rows(con, "logs"), con.graph.catalog.node("logs")) == ([(3,)], before)
    assert len(con.graph.commits()) == commits + 1


def test_replace_makes_the_table_anew_where_they_differ(con: og.Connection) -> None:
    con.cursor().adbc_ingest("logs", pa.table({"n": [1, 2]}))
    con.cursor().adbc_ingest("logs", pa.table({"n": ["one"], "more": [True]}), mode="replace")
    assert rows(con, "logs") == [("one", True)]


def test_refused_rows_leave_neither_rows_nor_a_table(con: og.Connection) -> None:
    with pytest.raises(og.IntegrityError):
        con.cursor().adbc_ingest("Airport", ports(city=["Lima", "Ica"]), mode="append")
    assert len(rows(con, "Airport")) == 2
    nan = pa.table({"x": [1.0, float("nan")]})
    with pytest.raises(og.IntegrityError, match="finite"):
        con.cursor().adbc_ingest("numbers", nan)
    with pytest.raises(og.ProgrammingError, match="there is no table numbers"):
        con.adbc_get_table_schema("numbers")
    assert con.cursor().adbc_ingest("numbers", pa.table({"x": [1.0]})) == 1


@pytest.mark.parametrize(
    ("arguments", "options", "error", "text"),
    [
        (("t", [1, 2]), {}, og.ProgrammingError, "list hands over no Arrow stream"),
        (("t", pa.table({"a": [1]}), "upsert"), {}, og.ProgrammingError, "there is no mode 'upsert'"),
        (
            ("t", pa.table({"a": [{"b": 1}]})),
            {},
            og.DataError,
            "column a holds struct<b: int64>, which no table can hold",
        ),
        (("a b", pa.table({"a": [1]})), {}, og.ProgrammingError, "'a b' is not a table name"),
        (("t", pa.table({"a": [1]})), {"temporary": True}, og.NotSupportedError, "no temporary tables"),
        (("t", pa.table({"a": [1]})), {"catalog_name": "c"}, og.NotSupportedError, "no catalogs"),
        (("t", pa.table({"a": [1]})), {"db_schema_name": "dev"}, og.NotSupportedError, "not on dev"),
    ],
)
def test_what_cannot_be_ingested_is_refused(
    con: og.Connection, arguments: Any, options: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        con.cursor().adbc_ingest(*arguments, **options)
    assert [name for name, _ in tables(con)] == ["Airport", "Day", "Route", "On"]


def test_an_open_transaction_comes_first(con: og.Connection) -> None:
    con.execute("INSERT INTO Airport VALUES ('PIU', 'Piura', 60)")
    with pytest.raises(og.ProgrammingError, match="a commit of its own") as caught:
        con.cursor().adbc_ingest("Airport", ports(), mode="append")
    assert caught.value.sqlstate == "25001"
    con.commit()
    assert con.cursor().adbc_ingest("Airport", ports(), mode="append", db_schema_name="main") == 2
    assert len(rows(con, "Airport")) == 5


def test_frames_readers_and_cursors_hand_their_rows_over(con: og.Connection) -> None:
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    with og.connect(con.graph.uri, read_only=True) as other:
        sources = [
            pd.DataFrame({"n": [1, 2]}),
            pl.DataFrame({"n": [3]}),
            pa.table({"n": [4]}).to_reader(),
            other.execute("SELECT CAST(5 AS BIGINT) AS n"),
        ]
        assert [con.cursor().adbc_ingest("n", data, "create_append") for data in sources] == [2, 1, 1, 1]
    assert rows(con, "n") == [(1,), (2,), (3,), (4,), (5,)]


# ---- what there is --------------------------------------------------------------------------------------------------


def tables(con: og.Connection, **filters: Any) -> list[tuple[str, str]]:
    found = con.adbc_get_objects(**filters).read_all().to_pylist()
    schemas = found[0]["catalog_db_schemas"]
    return [(one["table_name"], one["table_type"]) for schema in schemas for one in schema["db_schema_tables"]]


def test_tables_have_types_columns_and_constraints(con: og.Connection) -> None:
    con.execute("CREATE VIEW high AS SELECT city FROM Airport WHERE elevation > 1000")
    assert con.adbc_get_table_types() == ["node", "edge", "view"]
    assert tables(con) == [
        *(("Airport", "node"), ("Day", "node"), ("Route", "edge"), ("On", "edge")),
        ("high", "view"),
    ]
    found = con.adbc_get_objects().read_all().to_pylist()
    (schema,) = found[0]["catalog_db_schemas"]
    assert (found[0]["catalog_name"], schema["db_schema_name"]) == ("", "main")
    by_name = {one["table_name"]: one for one in schema["db_schema_tables"]}
    columns = by_name["Airport"]["table_columns"]
    assert [(c["column_name"], c["ordinal_position"], c["xdbc_type_name"], c["xdbc_is_nullable"]) for c in columns] == [
        ("code", 1, "string", "NO"),
        ("city", 2, "string", "NO"),
        ("elevation", 3, "int32", "YES"),
    ]
    kinds = {name: [c["constraint_type"] for c in one["table_constraints"]] for name, one in by_name.items()}
    assert kinds["Airport"] == ["PRIMARY KEY", "UNIQUE"]
    assert (kinds["Route"], kinds["high"]) == (["FOREIGN KEY", "FOREIGN KEY"], [])
    ends = [c["constraint_column_usage"][0] for c in by_name["On"]["table_constraints"]]
    assert [(end["fk_table"], end["fk_column_name"]) for end in ends] == [("Airport", "code"), ("Day", "id")]
    assert [c["column_name"] for c in by_name["high"]["table_columns"]] == ["city"]


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        ({"table_name_filter": "r%"}, ["Route"]),
        ({"table_name_filter": "_n"}, ["On"]),
        ({"table_name_filter": "O[n]"}, []),
        ({"table_types_filter": ["node"]}, ["Airport", "Day"]),
        ({"table_types_filter": []}, []),
        ({"db_schema_filter": "ma%"}, ["Airport", "Day", "Route", "On"]),
        ({"db_schema_filter": "dev"}, []),
    ],
)
def test_filters_are_patterns(con: og.Connection, filters: dict[str, Any], names: list[str]) -> None:
    assert [name for name, _ in tables(con, **filters)] == names


def test_a_catalog_of_another_name_is_not_there(con: og.Connection) -> None:
    assert con.adbc_get_objects(catalog_filter="x").read_all().num_rows == 0
    with pytest.raises(og.ProgrammingError):
        con.adbc_get_table_schema("Airport", catalog_filter="x")


def test_the_depth_says_how_much_is_told(con: og.Connection) -> None:
    def at(depth: str) -> Any:
        return (
            con.adbc_get_objects(depth=depth, column_name_filter="c%").read_all().to_pylist()[0]["catalog_db_schemas"]
        )

    assert at("catalogs") is None
    assert at("db_schemas") == [{"db_schema_name": "main", "db_schema_tables": None}]
    assert at("tables")[0]["db_schema_tables"][0]["table_columns"] is None
    first = at("columns")[0]["db_schema_tables"][0]["table_columns"]
    assert [column["column_name"] for column in first] == ["code", "city"]
    with pytest.raises(og.ProgrammingError, match="there is no depth 'deep'"):
        con.adbc_get_objects(depth="deep")


def test_the_schema_of_a_table_is_that_of_its_rows(con: og.Connection) -> None:
    con.execute("CREATE VIEW high AS SELECT city, elevation AS up FROM Airport")
    for name in ("Airport", "Route", "high"):
        got = con.execute(f"SELECT * FROM {name}").fetch_arrow_table().schema
        told = con.adbc_get_table_schema(name)
        assert [(f.name, f.type) for f in told] == [(f.name, f.type) for f in got]
    assert con.adbc_get_table_schema("airport").names == ["code", "city", "elevation"]
    with pytest.raises(og.ProgrammingError, match="there is no table nope"):
        con.adbc_get_table_schema("nope")


def test_a_closed_connection_tells_nothing(con: og.Connection) -> None:
    cursor = con.cursor()
    con.close()
    for ask in (con.adbc_get_table_types, con.adbc_get_objects, lambda: cursor.adbc_ingest("t", pa.table({"a": [1]}))):
        with pytest.raises(og.InterfaceError):
            ask()
