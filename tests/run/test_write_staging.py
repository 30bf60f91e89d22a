"""What a transaction accumulates: modes, images that stay, budgets, all of a statement or nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnigraph_sql as og
from omnigraph_sql.base.catalog import TableType
from omnigraph_sql.base.errors import (
    ConstraintViolation,
    InternalError,
    KeyConflict,
    ResourceLimitExceeded,
    ValueOutOfRange,
)
from omnigraph_sql.base.identity import derive_edge_id, derive_id, key_members
from omnigraph_sql.base.seams import SystemClock, UlidSource
from omnigraph_sql.bind.schema import compile_schema
from omnigraph_sql.engine.store.tables import table_schema
from omnigraph_sql.engine.write.ids import Ids
from omnigraph_sql.engine.write.images import images
from omnigraph_sql.engine.write.staging import Budget, Mode, MutationStaging

CATALOG = compile_schema("""
node Item { name: String @key  stock: I32? }
node Stop { line: I64  day: Date  note: String?  spot: Vector(2)?  @key(line, day) }
node Log { text: String? }
node Pair { one: String  two: String  @key(one, two) }
edge Part: Item -> Item { share: I32? }
edge Next: Item -> Item { at: String  @key(src, dst, at) }
""").catalog

IDS = UlidSource(SystemClock())


def of(name: str) -> TableType:
    found = CATALOG.node(name) or CATALOG.edge(name)
    assert found is not None
    return found


def rows(name: str, *found: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(found), schema=table_schema(of(name)))


def item(name: str, stock: int | None = None) -> pa.Table:
    return rows("Item", {"id": name, "name": name, "stock": stock})


def stock(staging: MutationStaging) -> list[tuple[str, int | None]]:
    changes = staging.of(of("Item"))
    assert changes is not None
    return [(row["id"], row["stock"]) for row in changes.rows().to_pylist()]


def test_the_last_image_of_a_row_stays_and_the_insert_is_remembered() -> None:
    staging = MutationStaging()
    staging.insert(of("Item"), item("a", 1))
    assert not staging.dependent
    staging.update(of("Item"), item("a", 2))
    staging.upsert(of("Item"), item("b", 3))
    staging.upsert(of("Item"), item("b", 4))
    changes = staging.of(of("Item"))
    assert changes is not None
    assert changes.mode is Mode.UPSERT
    assert stock(staging) == [("a", 2), ("b", 4)]
    assert [sorted(ids) for ids in (changes.inserted, changes.shadow(), changes.staged())] == [
        ["a"],
        ["a", "b"],
        ["a", "b"],
    ]
    assert (staging.affected_nodes, staging.affected_edges, staging.dependent) == (4, 0, True)


def test_inserts_alone_stay_inserts_and_generated_ids_are_known_as_such() -> None:
    staging = MutationStaging()
    staging.insert(of("Log"), rows("Log", {"id": "1"}), generated=True)
    staging.insert(of("Log"), rows("Log", {"id": "2"}), generated=True)
    changes = staging.of(of("Log"))
    assert changes is not None
    assert (changes.mode, changes.generated) == (Mode.INSERT, True)
    staging.insert(of("Log"), rows("Log", {"id": "3"}))
    changes = staging.of(of("Log"))
    assert changes is not None
    assert (changes.generated, changes.rows().num_rows) == (False, 3)


@pytest.mark.parametrize("first", ["insert", "upsert"])
def test_an_id_is_inserted_once(first: str) -> None:
    staging = MutationStaging()
    getattr(staging, first)(of("Item"), item("a"))
    with pytest.raises(KeyConflict) as caught:
        staging.insert(of("Item"), item("a"))
    assert (caught.value.type, caught.value.id) == ("Item", "a")
    with pytest.raises(KeyConflict):
        staging.insert(of("Item"), pa.concat_tables([item("b"), item("b")]))


def test_deletes_are_counted_once_and_never_meet_rows_that_are_built() -> None:
    staging = MutationStaging()
    assert staging.delete(of("Part"), pa.array([], pa.utf8())) == 0
    assert staging.is_empty
    assert staging.delete(of("Part"), pa.array(["x", "y", "x"])) == 2
    assert staging.delete(of("Part"), pa.array(["y", "z"])) == 1
    assert (staging.affected_nodes, staging.affected_edges) == (0, 3)
    with pytest.raises(InternalError):
        staging.upsert(of("Part"), rows("Part", {"id": "x", "src": "a", "dst": "a"}))
    staging.upsert(of("Item"), item("a"))
    with pytest.raises(InternalError):
        staging.delete(of("Item"), pa.array(["a"]))


def test_a_statement_that_fails_leaves_the_rest_of_the_transaction_as_it_was() -> None:
    staging = MutationStaging()
    with staging.statement():
        staging.insert(of("Item"), item("a", 1))

    def fails() -> None:
        with staging.statement():
            staging.update(of("Item"), item("a", 2))
            staging.insert(of("Log"), rows("Log", {"id": "1"}))
            staging.insert(of("Item"), item("a"))

    with pytest.raises(KeyConflict):
        fails()
    assert stock(staging) == [("a", 1)]
    assert (staging.affected_nodes, staging.dependent, len(staging.changes)) == (1, False, 1)


def test_a_budget_is_inclusive_and_one_more_is_refused() -> None:
    staging = MutationStaging(Budget(rows=3))
    staging.insert(of("Item"), pa.concat_tables([item("a"), item("b")]))
    staging.upsert(of("Item"), item("a"))
    with pytest.raises(ResourceLimitExceeded) as caught, staging.statement():
        staging.upsert(of("Item"), item("a"))
    assert (caught.value.resource, caught.value.limit, caught.value.actual) == ("staged_rows", 3, 4)
    wide = rows("Log", {"id": "1", "text": "x" * 1000})
    MutationStaging(Budget(bytes=wide.nbytes)).insert(of("Log"), wide)
    with pytest.raises(ResourceLimitExceeded) as caught:
        MutationStaging(Budget(bytes=wide.nbytes - 1)).insert(of("Log"), wide)
    assert caught.value.resource == "staged_bytes"
    with pytest.raises(ResourceLimitExceeded):
        MutationStaging(Budget(rows=1)).delete(of("Part"), pa.array(["x", "y"]))


# ---- many statements --------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(steps=st.lists(st.sets(st.sampled_from("abcdefghij"), max_size=4), max_size=30))
def test_ids_that_grow_are_a_set_and_earlier_ones_stay_as_they_were(steps: list[set[str]]) -> None:
    made, plain = [Ids()], [frozenset[str]()]
    for step in steps:
        made.append(made[-1].plus(step))
        plain.append(plain[-1] | step)
    for ids, expected in zip(made, plain, strict=True):
        assert (sorted(ids), len(ids)) == (sorted(expected), len(expected))
        assert [one in ids for one in "abcdefghij"] == [one in expected for one in "abcdefghij"]


@pytest.mark.parametrize("how", ["insert", "upsert"])
def test_many_small_statements_make_few_batches_with_the_same_rows(how: str) -> None:
    staging = MutationStaging()
    for number in range(200):
        getattr(staging, how)(of("Item"), item(f"i{number}", number))
    staging.update(of("Item"), item("i7", -7))
    changes = staging.of(of("Item"))
    assert changes is not None
    assert len(changes.batches) < 20
    assert sorted(stock(staging)) == sorted((f"i{number}", -7 if number == 7 else number) for number in range(200))
    with pytest.raises(KeyConflict):
        staging.insert(of("Item"), item("i199"))


def test_a_unique_value_may_be_freed_by_a_later_statement_however_many_there_are(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g", schema="node U { k: String @key  mail: String @unique }")
    for others in (1, 40):
        with graph.transaction() as tx:
            tx.sql("INSERT INTO U VALUES ('a', 'one')")
            for number in range(others):
                tx.sql("INSERT INTO U VALUES ($k, $k)", {"k": f"o{number}"})
            tx.sql("INSERT INTO U VALUES ('b', 'one')")
            for number in range(others):
                tx.sql("INSERT INTO U VALUES ($k, $k)", {"k": f"p{number}"})
            tx.sql("UPDATE U SET mail = 'two' WHERE k = 'a'")
        assert graph.sql("SELECT k FROM U WHERE mail IN ('one', 'two') ORDER BY mail").fetchall() == [("b",), ("a",)]
        graph.sql("DELETE FROM U")


# ---- images -----------------------------------------------------------------------------------------------------


def test_images_have_the_whole_schema_and_ids_that_follow_from_the_key() -> None:
    given = {"line": pa.array([1, 2]), "day": pa.array([0, 1], pa.date32()), "spot": pa.array([None, [1.0, 2.0]])}
    made, fresh = images(of("Stop"), given, 2, IDS)
    assert not fresh
    assert made.schema == table_schema(of("Stop"))
    members = key_members(of("Stop"))
    values = [{"line": 1, "day": 0}, {"line": 2, "day": 1}]
    assert made["id"].to_pylist() == [derive_id([(m, row[m.name]) for m in members]) for row in values]
    assert made["spot"].to_pylist() == [None, [1.0, 2.0]]
    assert made["note"].null_count == 2


@settings(max_examples=60)
@given(
    found=st.lists(
        st.tuples(*[st.text(st.sampled_from('a,"\\\\[]\n\x00\x1f\x7fé😀'), max_size=4)] * 3), min_size=1, max_size=4
    )
)
def test_ids_of_many_rows_are_those_of_the_single_rows(found: list[tuple[str, str, str]]) -> None:
    src, dst, at = (pa.array(column, pa.utf8()) for column in zip(*found, strict=True))
    pairs, _ = images(of("Pair"), {"one": src, "two": dst}, len(found), IDS)
    one, two = key_members(of("Pair"))
    assert pairs["id"].to_pylist() == [derive_id([(one, row[0]), (two, row[1])]) for row in found]
    edges, _ = images(of("Next"), {"src": src, "dst": dst, "at": at}, len(found), IDS)
    (member,) = key_members(of("Next"))
    assert edges["id"].to_pylist() == [derive_edge_id(s, d, [(member, a)]) for s, d, a in found]


def test_rows_without_a_key_get_fresh_ids_where_none_is_given() -> None:
    made, fresh = images(of("Log"), {}, 3, IDS)
    assert fresh
    assert len(set(made["id"].to_pylist())) == 3
    made, fresh = images(of("Log"), {"id": pa.array(["mine", None])}, 2, IDS)
    mine, other = made["id"].to_pylist()
    assert (fresh, mine, len(other)) == (False, "mine", 26)


def test_images_refuse_what_does_not_fit() -> None:
    with pytest.raises(ConstraintViolation) as caught:
        images(of("Stop"), {"line": pa.array([1, None]), "day": pa.array([0, 1], pa.date32())}, 2, IDS)
    assert caught.value.properties == ("line",)
    with pytest.raises(ValueOutOfRange, match=r"Item\.stock is I32"):
        images(of("Item"), {"name": pa.array(["a"]), "stock": pa.array([2**31])}, 1, IDS)
    with pytest.raises(ValueOutOfRange, match=r"Stop\.spot is Vector\(2\): a list of 1 does not fit"):
        images(of("Stop"), {"spot": pa.array([[1.0]])}, 1, IDS)
