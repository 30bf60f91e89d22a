"""Rules about one value: not null, finite numbers, enum labels, vectors, ranges and patterns. Every staged row counts.

A `@check` pattern means what Python's `re.search` makes of it, as where the schema is checked. RE2 is only asked first,
for patterns of which it cannot find more than `re` does; what it does not find, `re` decides.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base.catalog import ID, Check, Range, TableType
from omnigraph_sql.base.errors import ConstraintViolation, InternalError
from omnigraph_sql.base.schema import Field
from omnigraph_sql.base.types import (
    DataType,
    EnumType,
    ListType,
    ScalarType,
    VectorType,
    arrow_type,
    integer_range,
    is_float,
    is_integer,
)
from omnigraph_sql.engine.write.validate_text import python_value, shown

Found: TypeAlias = Iterator[ConstraintViolation]
Places: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.int64]]"

_PLAIN_PATTERN: Final = re.compile(
    r"""\^?(?: [^\\\[\](){}|*+?.^$]          # a character that stands for itself
        | \\[\\\[\](){}|*+?.^$/-]             # or is made to
        | \[\^?[^\\\[\]^-](?:[^\\\[\]])*\]    # a class without escapes
        | \.
        | (?:[*+?]|\{\d+(?:,\d*)?\})\??(?![*+?{])  # how often
        | \((?:\?:|(?!\?))|\)|\|
        )*\$?""",
    re.VERBOSE,
)


def value_violations(table: TableType, batch: pa.Table) -> Found:
    """What is wrong with the rows of one batch, column after column."""
    for column in table.schema.fields:
        held = _column(table, column, batch)
        yield from _nulls(table, column, batch, held)
        if isinstance(column.type, VectorType):
            yield from _vectors(table, column.name, column.type, batch, held)
        yield from _finite(table, column, batch, held)
        yield from _labels(table, column, batch, held)
    for rule in table.constraints:
        if isinstance(rule, Range):
            yield from _range(table, rule, batch)
        elif isinstance(rule, Check):
            yield from _check(table, rule, batch)


def _column(table: TableType, column: Field, batch: pa.Table) -> pa.ChunkedArray:
    """The column, of the type that the table has. Only a vector may be a list of another length, which is refused."""
    place = batch.schema.get_field_index(column.name)
    if place < 0:
        raise InternalError(f"staged rows of {table.name} have no column {column.name}")
    held = batch.column(place)
    vector = isinstance(column.type, VectorType) and _is_list(held.type) and held.type.value_type == pa.float32()
    if held.type != arrow_type(column.type) and not vector:
        raise InternalError(f"staged rows of {table.name} have {held.type} in {column.name}")
    return held


def _is_list(of: pa.DataType) -> bool:
    return bool(pa.types.is_list(of) or pa.types.is_large_list(of) or pa.types.is_fixed_size_list(of))


# ---- one rule after the other ---------------------------------------------------------------------------------------


def _nulls(table: TableType, column: Field, batch: pa.Table, held: pa.ChunkedArray) -> Found:
    if not (held.null_count and (not column.nullable or column.name in table.key)):
        return
    why = "part of the key" if column.name in table.key else "required"
    for place in _rows(pc.is_null(held)):
        text = f"is null, but it is {why}"
        yield _violation(table, "not_null", column.name, _id(batch, place), None, text)


def _vectors(table: TableType, name: str, of: VectorType, batch: pa.Table, held: pa.ChunkedArray) -> Found:
    first = 0
    for chunk in held.chunks:
        if chunk.type != arrow_type(of):
            lengths = pc.fill_null(pc.list_value_length(chunk), of.dimensions)
            for place in _rows(pc.not_equal(lengths, of.dimensions)):
                count = lengths[place].as_py()
                text = f"has {count} elements, not {of.dimensions}"
                yield _violation(table, "vector", name, _id(batch, first + place), count, text)
        items, parents = _items(chunk)
        if items.null_count:
            for row in np.unique(parents[_places(pc.is_null(items))]):
                text = "has an element that is null"
                yield _violation(table, "vector", name, _id(batch, first + int(row)), None, text)
        first += len(chunk)


def _finite(table: TableType, column: Field, batch: pa.Table, held: pa.ChunkedArray) -> Found:
    def infinite(values: pa.Array) -> pa.Array:
        return pc.fill_null(pc.invert(pc.is_finite(values)), False)

    if _holds_floats(column.type):
        for place, value, verb in _bad(held, infinite):
            text = f"{verb} {shown(value)}, not a finite number"
            yield _violation(table, "finite", column.name, _id(batch, place), value, text)


def _labels(table: TableType, column: Field, batch: pa.Table, held: pa.ChunkedArray) -> Found:
    of = column.type.item if isinstance(column.type, ListType) else column.type
    if not isinstance(of, EnumType):
        return
    labels = pa.array(of.labels, pa.utf8())

    def unknown(values: pa.Array) -> pa.Array:
        return pc.and_(pc.is_valid(values), pc.invert(pc.is_in(values, value_set=labels)))

    for place, value, verb in _bad(held, unknown):
        text = f"{verb} {shown(value)}, not one of {', '.join(of.labels)}"
        yield _violation(table, "enum", column.name, _id(batch, place), value, text)


def _range(table: TableType, rule: Range, batch: pa.Table) -> Found:
    column = table.property(rule.property)
    if column is None:
        raise InternalError(f"{table.name} has a range on {rule.property}, which it has not")
    held = batch[rule.property]
    low, high = _bound(rule.low, column.type), _bound(rule.high, column.type)
    # NaN equals not even itself, so it is never inside.
    inside = pc.equal(held, held)
    if low is not None:
        inside = pc.and_(inside, pc.greater_equal(held, low))
    if high is not None:
        inside = pc.and_(inside, pc.less_equal(held, high))
    shown_low, shown_high = ("" if b is None else str(b) for b in (rule.low, rule.high))
    for place in _rows(pc.fill_null(pc.invert(inside), False)):
        value = python_value(held[place])
        text = f"is {shown(value)}, outside {shown_low}..{shown_high}"
        yield _violation(table, "range", rule.property, _id(batch, place), value, text)


def _bound(bound: int | Decimal | None, of: DataType) -> pa.Scalar | None:
    """A bound as a value of the property's type, which is how its values are written too: 0.1 is within ..0.1."""
    if bound is None:
        return None
    if is_integer(of):
        assert isinstance(of, ScalarType)
        least, most = integer_range(of)
        if not isinstance(bound, int) or not least <= bound <= most:
            raise InternalError(f"{bound} is no bound for whole numbers from {least} to {most}")
        return pa.scalar(bound, arrow_type(of))
    return pa.scalar(float(bound), pa.float64()).cast(arrow_type(of))


def _check(table: TableType, rule: Check, batch: pa.Table) -> Found:
    held = batch[rule.property]
    refused = _unmatched(held, rule.pattern)
    if not len(refused):
        return
    for place in _rows(pc.is_in(held, value_set=refused)):
        value = python_value(held[place])
        text = f"is {shown(value)}, which does not match {shown(rule.pattern)}"
        yield _violation(table, "check", rule.property, _id(batch, place), value, text)


def _unmatched(held: pa.ChunkedArray, pattern: str) -> pa.Array:
    """The values, each once, in which the pattern is not found."""
    left = held
    if _PLAIN_PATTERN.fullmatch(pattern):
        try:
            left = held.filter(pc.invert(pc.match_substring_regex(held, pattern)))
        except pa.ArrowInvalid:
            left = held  # RE2 has limits that Python has not
    distinct = left.unique().drop_null()
    with warnings.catch_warnings():
        # A pattern that will mean something else one day is still a pattern today.
        warnings.simplefilter("ignore")
        search = re.compile(pattern).search
    return pa.array([v for v in distinct.to_pylist() if search(v) is None], held.type)


# ---- places of bad values -------------------------------------------------------------------------------------------


def _places(mask: pa.Array | pa.ChunkedArray) -> Places:
    found: Places = pc.indices_nonzero(mask).to_numpy().astype(np.int64)
    return found


def _rows(mask: pa.Array | pa.ChunkedArray) -> Iterator[int]:
    return (int(place) for place in _places(mask))


def _holds_floats(of: DataType) -> bool:
    return is_float(of) or isinstance(of, VectorType) or (isinstance(of, ListType) and is_float(of.item))


def _items(chunk: pa.Array) -> tuple[pa.Array, Places]:
    """The items of all lists, and for each the row it is in."""
    rows = _places(pc.is_valid(chunk))
    lists = chunk.drop_null() if chunk.null_count else chunk
    lengths = pc.list_value_length(lists).to_numpy()
    return lists.flatten(), np.repeat(rows, lengths)


def _bad(held: pa.ChunkedArray, wrong: Callable[[pa.Array], pa.Array]) -> Iterator[tuple[int, object, str]]:
    """Rows whose value, or one item of it, is wrong: the row, the first such value, and how to say that it has it."""
    first = 0
    for chunk in held.chunks:
        if _is_list(chunk.type):
            items, parents = _items(chunk)
            places = _places(wrong(items))
            rows, at = np.unique(parents[places], return_index=True)
            for row, item in zip(rows, places[at], strict=True):
                yield first + int(row), python_value(items[int(item)]), "holds"
        else:
            for place in _rows(wrong(chunk)):
                yield first + place, python_value(chunk[place]), "is"
        first += len(chunk)


def _id(batch: pa.Table, place: int) -> str | None:
    found: str | None = batch[ID][place].as_py()
    return found


def _violation(table: TableType, rule: str, name: str, of: str | None, value: object, text: str) -> ConstraintViolation:
    whose = "a row without id" if of is None else shown(of)
    return ConstraintViolation(
        f"{table.name}.{name} of {whose} {text}",
        rule=rule,
        type=table.name,
        properties=(name,),
        value=value,
        ids=() if of is None else (of,),
    )
