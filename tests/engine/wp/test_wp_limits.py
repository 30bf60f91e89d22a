"""Limits of a transaction: what it holds at most, and one more."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph_sql import graph as og
from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import ResourceLimitExceeded
from omnigraph_sql.engine.store.tables import table_schema
from omnigraph_sql.engine.write.staging import Budget, MutationStaging
from tests.crash.scenes import nodes, person, thing
from tests.engine.wp.places import digest


def test_wp_41_limits_are_inclusive() -> None:
    rows = nodes(person(), *((f"k{i}", i) for i in range(4)))
    staging = MutationStaging(Budget(rows=4))
    staging.insert(person(), rows)
    with pytest.raises(ResourceLimitExceeded) as refused, staging.statement():
        staging.insert(thing(), nodes(thing(), ("one more", 0)))
    assert (refused.value.limit, refused.value.actual) == (4, 5)
    assert staging.of(thing()) is None, "a refused statement leaves nothing behind"
    MutationStaging(Budget(bytes=rows.nbytes)).insert(person(), rows)
    with pytest.raises(ResourceLimitExceeded):
        MutationStaging(Budget(bytes=rows.nbytes - 1)).insert(person(), rows)


def _many(count: int) -> pa.Table:
    """Rows of Thing that share the memory of one."""
    one = nodes(thing(), ("x", 0))
    return pa.table([pa.array([column[0].as_py()] * count, column.type) for column in one.columns], schema=one.schema)


@pytest.mark.parametrize(("above", "refused"), [(-1, False), (0, False), (1, True)])
def test_wp_41_a_transaction_holds_as_many_rows_as_the_limit_says(above: int, refused: bool) -> None:
    """The real limit, of rows that are updated and of ids that are deleted, however they are split."""
    for parts in (1, 2):
        staging = MutationStaging()
        count = limits.STAGED_ROWS_MAX // parts
        for _ in range(parts - 1):
            staging.upsert(thing(), _many(count))
        with pytest.raises(ResourceLimitExceeded) if refused else nullcontext() as told:
            staging.upsert(thing(), _many(count + above))
        if told is not None:
            assert (told.value.resource, told.value.limit) == ("staged_rows", limits.STAGED_ROWS_MAX)
            assert told.value.actual == limits.STAGED_ROWS_MAX + 1


@pytest.mark.parametrize(("above", "refused"), [(-1, False), (0, False), (1, True)])
def test_wp_41_a_transaction_holds_as_many_bytes_as_the_limit_says(above: int, refused: bool) -> None:
    """The real limit: sixteen times the same 64 MiB of one text."""
    parts = 16
    share, rest = divmod(limits.STAGED_BYTES_MAX, parts)
    assert rest == 0
    fixed = nodes(thing(), ("", 0)).nbytes
    most = pa.table({"id": [""], "tag": ["x" * (share - fixed)], "n": [0]}, schema=table_schema(thing()))
    last = pa.table({"id": [""], "tag": ["x" * (share - fixed + above)], "n": [0]}, schema=table_schema(thing()))
    assert most.nbytes == share
    staging = MutationStaging()
    staging.upsert(thing(), pa.concat_tables([most] * (parts - 1)))
    with pytest.raises(ResourceLimitExceeded) if refused else nullcontext() as told:
        staging.upsert(thing(), last)
    if told is not None:
        assert (told.value.resource, told.value.limit) == ("staged_bytes", limits.STAGED_BYTES_MAX)
        assert told.value.actual == limits.STAGED_BYTES_MAX + 1


def test_wp_41_a_statement_beyond_the_rows_of_a_transaction_leaves_nothing(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g", schema="node Note { n: I64 }")
    before = digest(tmp_path)
    with pytest.raises(ResourceLimitExceeded) as told:
        graph.sql(f"INSERT INTO Note (n) SELECT n FROM generate_series(1, {limits.STAGED_ROWS_MAX + 1}) AS s(n)")
    assert (told.value.resource, told.value.actual) == ("staged_rows", limits.STAGED_ROWS_MAX + 1)
    assert digest(tmp_path) == before
    graph.sql("INSERT INTO Note (n) VALUES (1)")
