"""SQLAlchemy Core over our dialect: statements, transactions, tables made and reflected."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import exc

import omnigraph_sql as og
from omnigraph_sql.alchemy import OmniGraphDialect, Vector

SCHEMA = """
node Airport @description("where planes land") {
    code: String @key
    city: String @index
    elevation: I32?
    opened: Date?
    tags: [String]?
    size: enum(small, large)?
    position: Vector(2)?
    @range(elevation, -500..6000)
    @check(city, "^[A-Z]")
    @unique(city, elevation)
}
node Reading { number: I64 @key  at: DateTime  value: F64 }
edge Route: Airport -> Airport { miles: I32 }
edge Made: Reading -> Airport
"""


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[sa.Engine]:
    og.init(tmp_path / "air.omni", schema=SCHEMA).close()
    made = sa.create_engine(f"omnigraph:///{tmp_path}/air.omni?actor=ana")
    yield made
    made.dispose()


@pytest.fixture
def tables(engine: sa.Engine) -> sa.MetaData:
    found = sa.MetaData()
    found.reflect(engine)
    return found


AIRPORTS = [
    {"code": "LIM", "city": "Lima", "elevation": 34},
    {"code": "CUZ", "city": "Cusco", "elevation": 3310},
    {"code": "AQP", "city": "Arequipa", "elevation": 2560},
]
ROUTES = [{"src": "LIM", "dst": "CUZ", "miles": 363}, {"src": "CUZ", "dst": "AQP", "miles": 190}]


# ---- addresses --------------------------------------------------------------------------------------------------


def test_the_dialect_is_found_by_its_name() -> None:
    assert isinstance(sa.create_engine("omnigraph:///x.omni").dialect, OmniGraphDialect)


def test_an_address_names_the_graph_and_its_options() -> None:
    url = sa.make_url("omnigraph:////data/air.omni?branch=review/x&actor=ana&read_only=true&create=0")
    assert OmniGraphDialect().create_connect_args(url) == (
        ["/data/air.omni"],
        {"branch": "review/x", "actor": "ana", "read_only": True, "create": False},
    )
    store = sa.make_url("omnigraph:///s3://bucket/air.omni")
    assert OmniGraphDialect().create_connect_args(store) == (["s3://bucket/air.omni"], {})


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("omnigraph://host/air.omni", "three slashes"),
        ("omnigraph://", "name the graph"),
        ("omnigraph:///a.omni?brnch=x", "brnch"),
        ("omnigraph:///a.omni?create=perhaps", "true or false"),
        ("omnigraph:///a.omni?branch=a&branch=b", "branch"),
    ],
)
def test_an_address_that_makes_no_sense_is_refused(address: str, told: str) -> None:
    with pytest.raises(exc.ArgumentError, match=told):
        sa.create_engine(address).connect()


# ---- statements -------------------------------------------------------------------------------------------------


def test_rows_are_inserted_selected_updated_and_deleted(engine: sa.Engine, tables: sa.MetaData) -> None:
    airport = tables.tables["Airport"]
    with engine.begin() as con:
        assert con.execute(sa.insert(airport), AIRPORTS).rowcount == 3
    with engine.begin() as con:
        update = sa.update(airport).where(airport.c.code == "LIM").values(elevation=airport.c.elevation + 1)
        assert con.execute(update).rowcount == 1
    with engine.connect() as con:
        high = sa.select(airport.c.city).where(airport.c.elevation.between(30, 3000)).order_by(airport.c.city)
        assert con.execute(high).scalars().all() == ["Arequipa", "Lima"]
    with engine.begin() as con:
        gone = con.execute(sa.delete(airport).where(airport.c.code.in_(["LIM", "CUZ"])).returning(airport.c.city))
        assert sorted(gone.scalars()) == ["Cusco", "Lima"]
    with engine.connect() as con:
        assert con.scalar(sa.select(sa.func.count()).select_from(airport)) == 1


def letter(text: str) -> sa.Select[Any]:
    return sa.select(sa.literal(text))


def test_what_a_select_can_say_is_understood(engine: sa.Engine, tables: sa.MetaData) -> None:
    airport, route = tables.tables["Airport"], tables.tables["Route"]
    with engine.begin() as con:
        con.execute(sa.insert(airport), AIRPORTS)
        con.execute(
            sa.insert(route), [{"src": "LIM", "dst": "CUZ", "miles": 363}, {"src": "CUZ", "dst": "AQP", "miles": 190}]
        )
    to = airport.alias("to")
    legs = (
        sa.select(airport.c.city, to.c.city, route.c.miles)
        .join_from(route, airport, route.c.src == airport.c.code)
        .join(to, route.c.dst == to.c.code)
        .order_by(route.c.miles)
    )
    names = sa.select(airport.c.code).order_by(airport.c.code)
    high = sa.select(airport.c.code).where(airport.c.elevation > 1000).cte("high")
    rank = sa.func.row_number().over(order_by=airport.c.elevation.desc())
    cases: list[tuple[Any, list[Any]]] = [
        (legs, [("Cusco", "Arequipa", 190), ("Lima", "Cusco", 363)]),
        (names.limit(1).offset(1), [("CUZ",)]),
        (names.offset(2), [("LIM",)]),
        (names.where(airport.c.code.in_([])), []),
        (names.where(airport.c.code.not_in([])), [("AQP",), ("CUZ",), ("LIM",)]),
        (names.where(airport.c.city.contains("im")), [("LIM",)]),
        (names.where(airport.c.city.startswith("C%", autoescape=True)), []),
        (names.where(airport.c.elevation.is_distinct_from(34)), [("AQP",), ("CUZ",)]),
        (names.where(airport.c.elevation.is_(None)), []),
        (names.where(sa.exists().where(route.c.src == airport.c.code)), [("CUZ",), ("LIM",)]),
        (sa.select(sa.func.count()).select_from(high), [(2,)]),
        (sa.select(airport.c.code, rank).order_by(rank).limit(1), [("CUZ", 1)]),
        (sa.select(sa.cast("7", sa.Integer), sa.literal(True), sa.null()), [(7, True, None)]),
        (sa.union_all(letter("x"), letter("y")).order_by(sa.literal_column("1")), [("x",), ("y",)]),
        (names.with_for_update(), [("AQP",), ("CUZ",), ("LIM",)]),
        (
            sa.select(sa.case((airport.c.elevation > 1000, "high"), else_="low")).where(airport.c.code == "LIM"),
            [("low",)],
        ),
    ]
    with engine.connect() as con:
        for statement, expected in cases:
            assert sorted(map(tuple, con.execute(statement))) == sorted(expected), str(statement)


def test_other_tables_take_part_in_changes(engine: sa.Engine, tables: sa.MetaData) -> None:
    airport, route = tables.tables["Airport"], tables.tables["Route"]
    with engine.begin() as con:
        con.execute(sa.insert(airport), AIRPORTS)
        con.execute(sa.insert(route).values(src="LIM", dst="CUZ", miles=363))
    with engine.begin() as con:
        con.execute(sa.update(airport).where(airport.c.code == route.c.src).values(elevation=route.c.miles))
    with engine.begin() as con:
        assert con.scalar(sa.select(airport.c.elevation).where(airport.c.code == "LIM")) == 363
        assert con.execute(sa.delete(airport).where(airport.c.code == route.c.dst)).rowcount == 1


def test_an_insert_gives_back_what_it_is_asked_for(engine: sa.Engine, tables: sa.MetaData) -> None:
    airport = tables.tables["Airport"]
    with engine.begin() as con:
        one = con.execute(sa.insert(airport).values(AIRPORTS[0]).returning(airport.c.city, airport.c.elevation)).one()
        assert tuple(one) == ("Lima", 34)
        many = con.execute(sa.insert(airport).returning(airport.c.code), AIRPORTS[1:])
        assert sorted(many.scalars()) == ["AQP", "CUZ"]
        assert con.execute(sa.insert(airport).values(code="TRU", city="Trujillo")).inserted_primary_key == ("TRU",)


def test_a_text_takes_named_values(engine: sa.Engine) -> None:
    with engine.begin() as con:
        con.execute(sa.text("INSERT INTO Airport (code, city) VALUES (:code, :city)"), {"code": "L?M", "city": "Li:ma"})
        assert con.execute(sa.text("SELECT code, city FROM airport")).all() == [("L?M", "Li:ma")]


# ---- transactions -----------------------------------------------------------------------------------------------


def count(engine: sa.Engine) -> int:
    with engine.connect() as con:
        return int(con.scalar(sa.text("SELECT count(*) FROM Airport")) or 0)


def test_a_block_is_one_commit_and_an_error_undoes_it(engine: sa.Engine, tables: sa.MetaData) -> None:
    airport = tables.tables["Airport"]
    with engine.begin() as con:
        con.execute(sa.insert(airport), AIRPORTS[:1])
        con.execute(sa.insert(airport), AIRPORTS[1:])
        assert count(engine) == 0
    assert count(engine) == 3

    def fails() -> None:
        with engine.begin() as con:
            con.execute(sa.insert(airport).values(code="TRU", city="Trujillo"))
            con.execute(sa.insert(airport).values(code="LIM", city="Lima"))

    with pytest.raises(exc.IntegrityError) as refused:
        fails()
    assert isinstance(refused.value.orig, og.IntegrityError)
    assert (refused.value.orig.sqlstate, count(engine)) == ("23505", 3)


def test_what_was_not_committed_is_gone_when_the_pool_gets_the_connection_back(
    engine: sa.Engine, tables: sa.MetaData
) -> None:
    with engine.connect() as con:
        con.execute(sa.insert(tables.tables["Airport"]), AIRPORTS)
    assert count(engine) == 0


def test_autocommit_is_an_isolation_level(engine: sa.Engine, tables: sa.MetaData) -> None:
    with engine.connect() as con:
        assert con.get_isolation_level() == "SERIALIZABLE"
        own = con.execution_options(isolation_level="AUTOCOMMIT")
        own.execute(sa.insert(tables.tables["Airport"]), AIRPORTS)
        assert count(engine) == 3
    with engine.connect() as con:
        assert con.get_isolation_level() == "SERIALIZABLE"


def test_errors_are_those_of_sqlalchemy(engine: sa.Engine) -> None:
    with engine.connect() as con:
        with pytest.raises(exc.ProgrammingError, match="citty"):
            con.execute(sa.text("SELECT citty FROM Airport"))
        with pytest.raises(exc.DataError):
            con.execute(sa.text("SELECT 1 / 0")).all()


def test_a_closed_connection_leaves_the_pool(engine: sa.Engine) -> None:
    con = engine.connect()
    inner = con.connection.dbapi_connection
    assert inner is not None
    inner.close()
    with pytest.raises(exc.DBAPIError) as lost:
        con.execute(sa.text("SELECT 1"))
    assert lost.value.connection_invalidated
    con.close()
    assert count(engine) == 0


# ---- tables -----------------------------------------------------------------------------------------------------


def test_a_table_is_made_filled_reflected_and_dropped(engine: sa.Engine) -> None:
    own = sa.MetaData()
    at, day = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), date(2026, 1, 2)
    table = sa.Table(
        "thing",
        own,
        sa.Column("k", sa.String(20), primary_key=True),
        sa.Column("n", sa.BigInteger, nullable=False),
        sa.Column("i", sa.Integer),
        sa.Column("f", sa.Float),
        sa.Column("r", sa.Float(20)),
        sa.Column("b", sa.Boolean),
        sa.Column("d", sa.Date),
        sa.Column("naive", sa.DateTime),
        sa.Column("aware", sa.DateTime(timezone=True)),
        sa.Column("x", sa.LargeBinary),
        sa.Column("e", sa.Enum("a", "b")),
        sa.Column("l", sa.ARRAY(sa.String)),
        sa.Column("v", Vector(2)),
        sa.Column("u", sa.Uuid),
        sa.UniqueConstraint("n", "i"),
    )
    own.create_all(engine)
    own.create_all(engine)
    row = {
        "k": "1", "n": 2**40, "i": 7, "f": 0.1, "r": 0.5, "b": True, "d": day, "naive": at.replace(tzinfo=None),
        "aware": at, "x": b"\x00\xff", "e": "b", "l": ["p", "q"], "v": [1.0, 2.0], "u": None,
    }  # fmt: skip
    with engine.begin() as con:
        con.execute(sa.insert(table), [row])
        assert dict(con.execute(sa.select(table)).one()._mapping) == row
    seen = sa.Table("thing", sa.MetaData(), autoload_with=engine)
    assert [column.name for column in seen.columns] == [column.name for column in table.columns]
    kinds = {c.name: type(c.type) for c in seen.columns}
    assert (kinds["n"], kinds["i"], kinds["f"], kinds["r"]) == (sa.BigInteger, sa.Integer, sa.Double, sa.REAL)
    assert (kinds["e"], kinds["l"], kinds["v"], kinds["x"]) == (sa.Enum, sa.ARRAY, Vector, sa.LargeBinary)
    assert [c.name for c in seen.primary_key] == ["k"]
    assert not seen.c.n.nullable
    own.drop_all(engine)
    assert not sa.inspect(engine).has_table("thing")


def test_a_schema_is_reflected_with_its_rules(engine: sa.Engine) -> None:
    found = sa.inspect(engine)
    assert sorted(found.get_table_names()) == ["Airport", "Made", "Reading", "Route"]
    assert (found.get_schema_names(), found.default_schema_name) == (["main"], "main")
    assert [c["name"] for c in found.get_columns("Airport")][:3] == ["code", "city", "elevation"]
    assert [c["name"] for c in found.get_columns("Reading")] == ["id", "number", "at", "value"]
    assert [c["name"] for c in found.get_columns("Route")] == ["src", "dst", "miles"]
    assert found.get_pk_constraint("Airport")["constrained_columns"] == ["code"]
    assert found.get_pk_constraint("Route")["constrained_columns"] == []
    ends = [
        (k["constrained_columns"], k["referred_table"], k["referred_columns"]) for k in found.get_foreign_keys("Made")
    ]
    assert ends == [(["src"], "Reading", ["id"]), (["dst"], "Airport", ["code"])]
    assert found.get_foreign_keys("Airport") == []
    assert [i["column_names"] for i in found.get_indexes("Airport")] == [["city"]]
    assert [u["column_names"] for u in found.get_unique_constraints("Airport")] == [["city", "elevation"]]
    checks = [c["sqltext"] for c in found.get_check_constraints("Airport")]
    assert sorted(checks) == ["elevation >= -500 AND elevation <= 6000", "regexp_like(city, '^[A-Z]')"]
    assert found.get_table_comment("Airport") == {"text": "where planes land"}


def test_a_reflected_check_is_a_condition_of_our_sql(engine: sa.Engine) -> None:
    with engine.connect() as con:
        for check in sa.inspect(engine).get_check_constraints("Airport"):
            assert con.execute(sa.text(f"SELECT code FROM Airport WHERE NOT ({check['sqltext']})")).all() == []


def test_reflected_edges_join_their_nodes(engine: sa.Engine, tables: sa.MetaData) -> None:
    reading, made = tables.tables["Reading"], tables.tables["Made"]
    with engine.begin() as con:
        con.execute(sa.insert(tables.tables["Airport"]), AIRPORTS[:1])
        con.execute(sa.insert(reading).values(number=7, at=datetime(2026, 1, 2, tzinfo=UTC), value=1.5))
        con.execute(sa.insert(made).values(src="7", dst="LIM"))
        joined = sa.select(reading.c.number, made.c.dst).join_from(made, reading)
        assert con.execute(joined).all() == [(7, "LIM")]


def test_names_are_found_as_sql_finds_them(engine: sa.Engine) -> None:
    found = sa.inspect(engine)
    assert [found.has_table(name) for name in ("Airport", "airport", "AIRPORT", "nope", "SELECT 1")] == [
        True,
        True,
        False,
        False,
        False,
    ]
    with pytest.raises(exc.NoSuchTableError):
        found.get_columns("nope")
    with pytest.raises(exc.NoSuchTableError):
        sa.Table("nope", sa.MetaData(), autoload_with=engine)


def test_views_are_reflected(engine: sa.Engine) -> None:
    with engine.begin() as con:
        con.execute(sa.text("CREATE VIEW highest AS SELECT city, elevation * 2 AS twice FROM Airport"))
    found = sa.inspect(engine)
    assert (found.get_view_names(), found.has_table("highest")) == (["highest"], True)
    assert [(c["name"], type(c["type"])) for c in found.get_columns("highest")] == [
        ("city", sa.String),
        ("twice", sa.BigInteger),
    ]
    assert "elevation * 2" in (found.get_view_definition("highest") or "")
    assert found.get_pk_constraint("highest")["constrained_columns"] == []
    view = sa.Table("highest", sa.MetaData(), autoload_with=engine)
    with engine.connect() as con:
        assert con.execute(sa.select(view)).all() == []


def test_a_branch_is_a_schema(engine: sa.Engine, tables: sa.MetaData, tmp_path: Path) -> None:
    og.open(tmp_path / "air.omni").create_branch("review")
    with engine.begin() as con:
        con.execute(sa.insert(tables.tables["Airport"]), AIRPORTS)
    assert sa.inspect(engine).get_schema_names() == ["main", "review"]
    there = sa.Table("Airport", sa.MetaData(), schema="review", autoload_with=engine)
    with engine.connect() as con:
        assert con.execute(sa.select(sa.func.count()).select_from(there)).scalar() == 0
    review = sa.create_engine(f"omnigraph:///{tmp_path}/air.omni?branch=review")
    assert count(review) == 0
