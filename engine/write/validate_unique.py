"""`@unique`: no two rows of the changed table share a tuple. The key needs no look: an equal key is an equal id."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base.catalog import ID, TableType, Unique
from omnigraph_sql.base.errors import ConstraintViolation, InternalError
from omnigraph_sql.base.types import EnumType, Kind, ScalarType, type_text
from omnigraph_sql.engine.store.lookup import LIST_VALUES_MAX
from omnigraph_sql.engine.store.predicate import member_of
from omnigraph_sql.engine.write.staging import unique_rules
from omnigraph_sql.engine.write.validate_text import python_value, shown
from omnigraph_sql.engine.write.validate_view import TableView

Found: TypeAlias = Iterator[ConstraintViolation]
Codes: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.int64]]"

HOLDERS_SHOWN: Final = 16
_NOT_COMPARED: Final = frozenset((Kind.BLOB, Kind.ANY, Kind.NULL, Kind.INTERVAL))


def unique_violations(view: TableView) -> Found:
    """Tuples that two rows would share: within one batch, among all staged rows, and with committed rows."""
    for rule in unique_rules(view.type) if view.batches else ():
        refuse_incomparable(view.type, rule)
        yield from _of_rule(view, rule)


def _of_rule(view: TableView, rule: Unique) -> Found:
    told: set[object] = set()
    for batch in view.batches:
        for violation in shared_tuples(view.type, rule, batch):
            told.add(violation.value)
            yield violation
    rows = view.rows
    assert rows is not None
    if len(view.batches) > 1:
        yield from (v for v in shared_tuples(view.type, rule, rows) if v.value not in told)
    yield from _taken(view, rule, rows)


def refuse_incomparable(table: TableType, rule: Unique) -> None:
    """Raises for a member of which nobody can say whether two values are equal; skipping it would hide duplicates."""
    for name in rule.properties:
        column = table.column(name)
        if column is None:
            raise InternalError(f"{table.name} has no column {name}, which @unique names")
        kept = isinstance(column.type, EnumType) or (
            isinstance(column.type, ScalarType) and column.type.kind not in _NOT_COMPARED
        )
        if not kept:
            raise ConstraintViolation(
                f"{table.name}.{name} is {type_text(column.type)}, and two of those cannot be compared",
                rule="unique",
                type=table.name,
                properties=rule.properties,
                hint=f"remove {name} from @unique",
            )


# ---- tuples as numbers ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Stage:
    """Values of one column, and the pairs of (tuple so far, value) that occur, in order."""

    values: pa.Array
    pairs: Codes | None


@dataclass(frozen=True, slots=True)
class Tuples:
    """The distinct tuples of some columns, numbered from 0; compared member by member, each in its own type."""

    stages: tuple[_Stage, ...]
    count: int

    @classmethod
    def of(cls, columns: Sequence[pa.ChunkedArray]) -> tuple[Tuples, Codes]:
        """All tuples, and for each row the number of its tuple; -1 when a member is null."""
        stages: list[_Stage] = []
        codes: Codes | None = None
        count = 0
        for column in columns:
            encoded = _comparable(column).dictionary_encode()
            own = _numbers(encoded.indices)
            values = encoded.dictionary
            if codes is None:
                codes, pairs, count = own, None, len(values)
            else:
                both = _paired(codes, own, len(values))
                pairs, back = np.unique(both, return_inverse=True)
                absent = int(len(pairs) > 0 and pairs[0] < 0)
                codes, pairs = back.astype(np.int64) - absent, pairs[absent:]
                count = len(pairs)
            stages.append(_Stage(values, pairs))
        assert codes is not None
        return cls(tuple(stages), count), codes

    def find(self, columns: Sequence[pa.ChunkedArray]) -> Codes:
        """For each row the number of its tuple; -1 when it is none of these."""
        codes: Codes | None = None
        for column, stage in zip(columns, self.stages, strict=True):
            own = _numbers(pc.index_in(_comparable(column), value_set=stage.values))
            if codes is None or stage.pairs is None:
                codes = own
                continue
            both = _paired(codes, own, len(stage.values))
            place = np.searchsorted(stage.pairs, both)
            place[place == len(stage.pairs)] = 0
            known = (both >= 0) & (stage.pairs[place] == both) if len(stage.pairs) else both < -1
            codes = np.where(known, place, -1)
        assert codes is not None
        return codes


def _comparable(column: pa.ChunkedArray) -> pa.Array:
    """Equal values with equal bits: one zero, and no NaN, which the rules about values refuse anyway."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(whole, pa.ChunkedArray):
        raise InternalError("a column of unique values is too large for one array")
    if not pa.types.is_floating(whole.type):
        return whole
    finite = pc.if_else(pc.is_finite(whole), whole, pa.scalar(None, whole.type))
    return pc.add(finite, pa.scalar(0.0, whole.type))


def _numbers(indices: pa.Array) -> Codes:
    found: Codes = pc.fill_null(pc.cast(indices, pa.int64()), -1).to_numpy(zero_copy_only=False)
    return found


def _paired(before: Codes, own: Codes, width: int) -> Codes:
    """One number for a tuple so far and one more member; at most 2³¹ of each, so it fits."""
    return np.where((before < 0) | (own < 0), np.int64(-1), before * np.int64(max(width, 1)) + own)


# ---- looking --------------------------------------------------------------------------------------------------------


def shared_tuples(table: TableType, rule: Unique, rows: pa.Table) -> Found:
    """Tuples that several of these rows have, in the order in which they first occur."""
    book, codes = Tuples.of([rows[name] for name in rule.properties])
    held = codes[codes >= 0]
    if len(held) == book.count:
        return
    often = np.flatnonzero(np.bincount(held, minlength=book.count) > 1)
    places = np.flatnonzero(np.isin(codes, often))
    places = places[np.argsort(codes[places], kind="stable")]
    groups = np.split(places, np.flatnonzero(np.diff(codes[places])) + 1)
    for group in sorted(groups, key=lambda g: int(g[0])):
        ids = tuple(rows[ID][int(place)].as_py() for place in group[:HOLDERS_SHOWN])
        yield unique_violation(table, rule, tuple_at(rows, rule, int(group[0])), tuple(dict.fromkeys(ids)))


def _taken(view: TableView, rule: Unique, rows: pa.Table) -> Found:
    """Tuples of staged rows that a committed row with another id has, and keeps."""
    if view.overwritten or view.table.pin.row_count == 0:
        return
    book, codes = Tuples.of([rows[name] for name in rule.properties])
    if book.count == 0:
        return
    first = np.full(book.count, -1, np.int64)
    valid = np.flatnonzero(codes >= 0)[::-1]
    first[codes[valid]] = valid
    for piece in view.committed([ID, *(n for n in rule.properties)], _filter(rule, book)):
        found = book.find([piece[name] for name in rule.properties])
        for place in np.flatnonzero(found >= 0):
            mine = int(first[found[place]])
            ids = (rows[ID][mine].as_py(), piece[ID][int(place)].as_py())
            yield unique_violation(view.type, rule, tuple_at(rows, rule, mine), ids)


def _filter(rule: Unique, book: Tuples) -> str | None:
    """What narrows the committed rows down; None when there is too much to look for, or a date beyond all literals."""
    if book.count > LIST_VALUES_MAX:
        return None
    try:
        each = [member_of(name, stage.values) for name, stage in zip(rule.properties, book.stages, strict=True)]
    except (ValueError, OverflowError):
        return None
    return " AND ".join(each)


def tuple_at(rows: pa.Table, rule: Unique, place: int) -> object:
    """What a row holds for a rule: a value, or several of them."""
    members = tuple(python_value(rows[name][place]) for name in rule.properties)
    return members if len(members) > 1 else members[0]


def unique_violation(table: TableType, rule: Unique, value: object, ids: tuple[str, ...]) -> ConstraintViolation:
    """The refusal of a tuple that rows with these ids share."""
    names = rule.properties
    what = f"{table.name}.{names[0]}" if len(names) == 1 else f"{table.name}.({', '.join(names)})"
    whose = f"both {shown(ids[0])} and {shown(ids[1])}" if len(ids) > 1 else f"{shown(ids[0])}, given twice"
    return ConstraintViolation(
        f"{what} is {shown(value)} in {whose}, but it must be unique",
        rule="unique",
        type=table.name,
        properties=names,
        value=value,
        ids=ids,
    )
