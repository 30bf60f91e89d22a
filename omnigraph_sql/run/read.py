"""Read plans → rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, Final

import pyarrow as pa

from omnigraph_sql.base import expr as ex
from omnigraph_sql.base.errors import ExecutionError
from omnigraph_sql.base.expr import Expr
from omnigraph_sql.base.schema import Field
from omnigraph_sql.base.types import arrow_type
from omnigraph_sql.plan.node import SUBQUERIES, Plan, walk_plan
from omnigraph_sql.run.expr_text import expr_text
from omnigraph_sql.run.few import few_first
from omnigraph_sql.run.interrupt import Running
from omnigraph_sql.run.point import number_of_rows, rows_by_id
from omnigraph_sql.run.query_engine import Unpushable, ask, telling
from omnigraph_sql.run.relation import Build, quoted
from omnigraph_sql.run.scalars import NOT_CONSTANT, constant, is_known
from omnigraph_sql.run.scene import Scene
from omnigraph_sql.run.subqueries import settled
from omnigraph_sql.run.tail import answer

_FIRST_ROWS: Final = 8192
_AHEAD_ROWS: Final = 262_144
_AHEAD_BYTES: Final = 16 * 1024 * 1024
_SMALL_ROWS: Final = 1024
"""Rows below which batches are put together: each costs whoever reads it about as much as so many rows."""
__all__ = ["NOT_CONSTANT", "constant", "evaluate", "read"]

Watch = Callable[[Any], object]


def read(plan: Plan, scene: Scene, watch: Watch | None = None) -> pa.RecordBatchReader:
    """The rows of a read plan, as they are made; columns are named and typed as the plan's schema says.

    `watch` is handed the query engine's own plan, if that is asked, whose metrics are complete after the last row.
    Raises ExecutionError, here or while the reader is read.
    """
    small = _at_once(plan, scene)
    if small is None:
        narrowed = few_first(plan, scene)
        if narrowed is not None:
            plan = narrowed
            small = _at_once(plan, scene)
    if small is not None:
        return small.to_reader()
    try:
        return _read(plan, Build(scene, _prefix(plan)), watch)
    except Unpushable:
        return _read(plan, Build(scene, _prefix(plan), careful=True), watch)


def _at_once(plan: Plan, scene: Scene) -> pa.Table | None:
    """All rows, where storage or what is kept in memory can give them without the query engine."""
    for shortcut in (rows_by_id, number_of_rows, answer):
        small = shortcut(plan, scene)
        if small is not None:
            return small
    return None


def _read(plan: Plan, build: Build, watch: Watch | None) -> pa.RecordBatchReader:
    try:
        rel = build.plan(plan, None)
        names = plan.schema.order
        # A relation without columns is a number of rows; the engine wants one to make them with.
        shown = build.text(rel, names) if names else build.text(build.with_columns(rel, {"": "TRUE"}), ("",))
        running = build.scene.running
        with telling():
            stream, found = running.wait(lambda: _begun(build, ask(build.engine, shown, build.values), watch))
    finally:
        build.close()
    schema = pa.schema([_field(f, found.field(f.name).type) for f in plan.schema.fields])
    return pa.RecordBatchReader.from_batches(schema, _batches(stream, schema, running))


class _Stream:
    """Batches of the engine, some at a time: more each time, so that few waits bring many rows and the first come soon.

    Read in a thread that may be abandoned, so nobody else touches it.
    """

    __slots__ = ("_rest", "_rows", "ahead", "ended")

    def __init__(self, rest: Iterator[Any]) -> None:
        self._rest, self._rows, self.ended = rest, _FIRST_ROWS, False
        self.ahead: list[pa.RecordBatch] = self.some()

    def some(self) -> list[pa.RecordBatch]:
        made: list[pa.RecordBatch] = []
        rows = size = 0
        while rows < self._rows and size < _AHEAD_BYTES:
            batch = next(self._rest, None)
            if batch is None:
                self.ended = True
                break
            made.append(batch.to_pyarrow())
            rows += made[-1].num_rows
            size += made[-1].nbytes
        self._rows = min(self._rows * 2, _AHEAD_ROWS)
        if len(made) > 1 and rows < len(made) * _SMALL_ROWS and made[0].num_columns:
            whole: list[pa.RecordBatch] = pa.Table.from_batches(made).combine_chunks().to_batches()
            return whole
        return made


def _begun(build: Build, frame: Any, watch: Watch | None) -> tuple[_Stream, pa.Schema]:
    if watch is None:
        return _Stream(iter(frame.execute_stream())), frame.schema()
    physical = frame.execution_plan()
    watch(physical)
    parts = range(physical.partition_count)
    return _Stream(chain.from_iterable(build.engine.execute(physical, part) for part in parts)), frame.schema()


def evaluate(items: tuple[tuple[str, Expr], ...], rows: pa.Table, scene: Scene) -> pa.Table:
    """Expressions over rows in memory, whose columns are named as the expressions name them."""
    fields = [Field(name, e.type, True) for name, e in items]
    build = Build(scene, _prefix_beyond({*rows.schema.names, *(name for name, _ in items)}))
    try:
        rel = build.given(rows, rows.schema.names) if rows.num_columns else build.add("SELECT TRUE", (), ())
        rel, exprs = settled(build, rel, [e for _, e in items], None)
        names = [build.fresh() for _ in items]
        parts = ", ".join(f"{expr_text(e, build)} AS {quoted(n)}" for n, e in zip(names, exprs, strict=True))
        made = build.add(f"SELECT {parts} FROM {quoted(rel.name)}", (rel,), names)
        table = build.fetch(made, names)
    finally:
        build.close()
    schema = pa.schema([_field(f, table.schema.field(i).type) for i, f in enumerate(fields)])
    batches = [_cast(batch, schema) for batch in table.to_batches()]
    return pa.Table.from_batches(batches, schema)


def _prefix(plan: Plan) -> str:
    """What hidden columns begin with: nothing the statement names begins so."""
    names: set[str] = set()
    waiting = [plan]
    while waiting:
        for node in walk_plan(waiting.pop()):
            names.update(node.schema.order)
            for expr in node.exprs():
                for part in ex.walk(expr):
                    if isinstance(part, SUBQUERIES) and isinstance(part.relation, Plan):
                        waiting.append(part.relation)
    return _prefix_beyond(names)


def _prefix_beyond(names: set[str]) -> str:
    prefix = "#"
    while any(name.startswith(prefix) for name in names):
        prefix += "#"
    return prefix


# ---- types ------------------------------------------------------------------------------------------------------


def _field(field: Field, found: pa.DataType) -> pa.Field:
    return pa.field(field.name, arrow_type(field.type) if is_known(field.type) else _plain(found), True)


def _plain(of: pa.DataType) -> pa.DataType:
    """A type of the engine as clients know it."""
    if of in (pa.string_view(), pa.large_string()):
        return pa.utf8()
    if of == pa.binary_view():
        return pa.large_binary()
    if pa.types.is_list(of) or pa.types.is_large_list(of):
        return pa.list_(pa.field("item", _plain(of.value_type)))
    return of


def _batches(stream: _Stream, schema: pa.Schema, running: Running) -> Iterator[pa.RecordBatch]:
    waiting, stream.ahead = stream.ahead, []
    while True:
        for batch in waiting:
            running.check()
            yield _cast(batch, schema)
        if stream.ended:
            return
        with telling():
            waiting = running.wait(stream.some)


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = []
    for column, field in zip(batch.columns, schema, strict=False):
        try:
            # An estimate of whole numbers may come as a fraction.
            cut = pa.types.is_floating(column.type) and pa.types.is_integer(field.type)
            columns.append(column if column.type == field.type else column.cast(field.type, safe=not cut))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise ExecutionError(f"a value of {field.name} does not fit its type {field.type}") from error
    if not len(schema):
        return pa.RecordBatch.from_struct_array(
            pa.Array.from_buffers(pa.struct([]), batch.num_rows, [None], children=[])
        )
    return pa.RecordBatch.from_arrays(columns, schema=schema)
