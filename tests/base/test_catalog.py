"""Catalog values: how types and columns are found, and what cannot be built."""

from dataclasses import FrozenInstanceError

import pytest

from omnigraph_sql.base.catalog import (
    Cardinality,
    Catalog,
    EdgeType,
    Index,
    Key,
    NodeType,
    Property,
    Unique,
)
from omnigraph_sql.base.types import I32, STRING

NAME = Property("name", STRING, False)
AGE = Property("age", I32, True)
PERSON = NodeType("Person", (NAME, AGE), (Key(("name",)), Index(("age",)), Unique(("age",))))
PLACE = NodeType("Place", ())
LIVES = EdgeType("LivesIn", (), source="Person", target="Place")
KNOWS = EdgeType("Knows", (AGE,), source="Person", target="Person")
CATALOG = Catalog((PERSON, PLACE), (LIVES, KNOWS))


def test_a_column_is_found_by_its_exact_name() -> None:
    assert PERSON.property("name") is NAME
    assert PERSON.property("Name") is None
    assert PERSON.property("id") is None
    id_column = PERSON.column("id")
    assert id_column is not None
    assert id_column.type == STRING
    assert KNOWS.column("src") is not None


def test_columns_are_found_without_regard_to_case() -> None:
    odd = NodeType("Odd", (Property("aB", I32, False), Property("ab", I32, False)))
    assert [c.name for c in odd.columns_like("AB")] == ["aB", "ab"]
    assert odd.columns_like("ac") == []


def test_a_type_knows_its_key_and_what_is_indexed() -> None:
    assert PERSON.key == ("name",)
    assert PLACE.key == ()
    assert PERSON.indexed == {"name", "age"}


def test_types_are_found_by_name_and_edges_by_their_word_in_any_case() -> None:
    assert CATALOG.node("Person") is PERSON
    assert CATALOG.node("person") is None
    assert CATALOG.edge("livesin") is None
    assert CATALOG.edge_word("livesIn") is LIVES
    assert CATALOG.edge_word("LIVESIN") is LIVES
    assert CATALOG.edge_word("Ünknown") is None


def test_sql_finds_tables_without_regard_to_case_nodes_first() -> None:
    catalog = Catalog((PERSON,), (EdgeType("PERSON", (), source="Person", target="Person"),))
    assert [t.name for t in catalog.tables_like("person")] == ["Person", "PERSON"]
    assert catalog.tables_like("nobody") == []
    assert [t.name for t in CATALOG.tables()] == ["Person", "Place", "LivesIn", "Knows"]


def test_edges_that_touch_a_node_are_found_at_either_end() -> None:
    assert CATALOG.incident_edges("Place") == (LIVES,)
    assert CATALOG.incident_edges("Person") == (LIVES, KNOWS)


def test_two_nodes_of_one_name_cannot_be_built() -> None:
    with pytest.raises(ValueError, match="distinct"):
        Catalog((PERSON, PERSON))


def test_pg_12_two_edges_whose_names_fold_alike_cannot_be_built() -> None:
    loud = EdgeType("KNOWS", (), source="Person", target="Person")
    with pytest.raises(ValueError, match="without regard to case"):
        Catalog((PERSON,), (KNOWS, loud))


def test_an_edge_to_nowhere_cannot_be_built() -> None:
    with pytest.raises(ValueError, match="unknown node type Place"):
        Catalog((PERSON,), (LIVES,))


def test_a_property_named_like_a_column_of_the_table_cannot_be_a_schema() -> None:
    with pytest.raises(ValueError, match="distinct"):
        _ = NodeType("Bad", (Property("id", STRING, False),)).schema


@pytest.mark.parametrize(("low", "high"), [(-1, None), (3, 1)])
def test_a_cardinality_upside_down_cannot_be_built(low: int, high: int | None) -> None:
    with pytest.raises(ValueError, match="cardinality"):
        Cardinality(low, high)


def test_a_catalog_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        PERSON.name = "Other"  # type: ignore[misc]
