"""The rules once more, over plain dictionaries: put the changed graph together, then look at every row."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from omnigraph_sql.base.catalog import Catalog, Check, EdgeType, Range, TableType, Unique
from omnigraph_sql.base.types import EnumType, ListType, VectorType
from omnigraph_sql.engine.write.staging import Mode
from tests.engine.validate.graphs import Row

Broken = tuple[str, str, tuple[str, ...], str, tuple[str, ...]]
"""Rule, type, properties, value and ids."""


@dataclass(frozen=True)
class Change:
    """What happens to one table, in plain rows."""

    mode: Mode
    batches: tuple[tuple[Row, ...], ...] = ()
    deleted: frozenset[str] = frozenset()


class Oracle:
    """Says what is broken; slow, short and independent of Arrow."""

    def __init__(self, catalog: Catalog, base: Mapping[str, Sequence[Row]], changes: Mapping[str, Change]) -> None:
        self.catalog, self.changes = catalog, changes
        self.before = {t.name: {str(r["id"]): r for r in base.get(t.name, ())} for t in catalog.tables()}
        self.staged = {name: _last(change.batches) for name, change in changes.items()}
        self.kept = {t.name: self._kept(t.name) for t in catalog.tables()}
        self.after = {t.name: {**self.kept[t.name], **self.staged.get(t.name, {})} for t in catalog.tables()}

    def _kept(self, name: str) -> dict[str, Row]:
        """Committed rows that stay as they are."""
        change = self.changes.get(name)
        if change is None:
            return self.before[name]
        if change.mode is Mode.OVERWRITE:
            return {}
        gone = change.deleted | set(self.staged[name])
        return {i: r for i, r in self.before[name].items() if i not in gone}

    def broken(self) -> set[Broken]:
        found: set[Broken] = set()
        for table in self.catalog.tables():
            for batch in self._batches(table):
                for row in batch:
                    found.update(_bad_values(table, row))
            found.update(self._shared(table))
        for edge in self.catalog.edges:
            found.update(self._ends(edge))
            found.update(self._counts(edge))
        return found

    def _batches(self, table: TableType) -> tuple[tuple[Row, ...], ...]:
        return self.changes[table.name].batches if table.name in self.changes else ()

    def _shared(self, table: TableType) -> Iterator[Broken]:
        for rule in table.constraints:
            if not isinstance(rule, Unique) or set(rule.properties) == set(table.key):
                continue
            told: set[object] = set()
            for batch in self._batches(table):
                for tuple_, ids in _holders(rule, batch).items():
                    if len(ids) > 1:
                        told.add(tuple_)
                        yield "unique", table.name, rule.properties, text(tuple_), tuple(dict.fromkeys(ids))
            mine = _holders(rule, list(self.staged.get(table.name, {}).values()))
            for tuple_, ids in mine.items():
                if len(ids) > 1 and tuple_ not in told:
                    yield "unique", table.name, rule.properties, text(tuple_), tuple(sorted(ids))
            for row in self.kept[table.name].values():
                taken = _tuple(rule, row)
                if taken is not None and taken in mine:
                    yield "unique", table.name, rule.properties, text(taken), (mine[taken][0], str(row["id"]))

    def _ends(self, edge: EdgeType) -> Iterator[Broken]:
        for side, node in (("src", edge.source), ("dst", edge.target)):
            for id, row in self.staged.get(edge.name, {}).items():
                if row[side] not in self.after[node] and row[side] is not None:
                    yield "endpoint", edge.name, (side,), text(row[side]), (id,)
            for id, row in self.kept[edge.name].items():
                if row[side] not in self.after[node]:
                    yield "endpoint", edge.name, (side,), text(row[side]), (id,)

    def _counts(self, edge: EdgeType) -> Iterator[Broken]:
        before, kept, staged = self.before[edge.name], self.kept[edge.name], self.staged.get(edge.name, {})
        gone = {r["src"] for i, r in before.items() if i not in kept}
        touched = (gone | {r["src"] for r in staged.values()}) & set(self.after[edge.source])
        counts = Counter(r["src"] for r in self.after[edge.name].values())
        most = edge.cardinality.maximum
        for source in touched:
            count = counts[source]
            if count < edge.cardinality.minimum or (most is not None and count > most):
                yield "card", edge.name, ("src",), text(count), (str(source),)


def _last(batches: Sequence[Sequence[Row]]) -> dict[str, Row]:
    """One row per id, at the place of its last image."""
    found: dict[str, Row] = {}
    for row in (row for batch in batches for row in batch):
        found.pop(str(row["id"]), None)
        found[str(row["id"])] = row
    return found


def text(value: object) -> str:
    """Equal values as equal texts: there are several objects for UTC."""
    if isinstance(value, tuple):
        return f"({', '.join(text(v) for v in value)})"
    return value.isoformat() if isinstance(value, datetime) else repr(value)


def _tuple(rule: Unique, row: Row) -> tuple[object, ...] | None:
    """The members; None when one is null, or a float that no row may hold."""
    members = tuple(row.get(name) for name in rule.properties)
    if any(m is None or (isinstance(m, float) and not math.isfinite(m)) for m in members):
        return None
    return tuple(m + 0.0 if isinstance(m, float) else m for m in members)


def _holders(rule: Unique, rows: Sequence[Row]) -> dict[tuple[object, ...], list[str]]:
    found: dict[tuple[object, ...], list[str]] = {}
    for row in rows:
        tuple_ = _tuple(rule, row)
        if tuple_ is not None:
            found.setdefault(tuple_, []).append(str(row["id"]))
    return found


def _bad_values(table: TableType, row: Row) -> Iterator[Broken]:
    ids = (str(row["id"]),)
    for column in table.schema.fields:
        value = row.get(column.name)
        items = list(value) if isinstance(value, list) else [value]
        name = (column.name,)
        if value is None and (not column.nullable or column.name in table.key):
            yield "not_null", table.name, name, "None", ids
        if isinstance(column.type, VectorType) and value is not None and None in items:
            yield "vector", table.name, name, "None", ids
        endless = [i for i in items if isinstance(i, float) and not math.isfinite(i)]
        if endless:
            yield "finite", table.name, name, text(endless[0]), ids
        of = column.type.item if isinstance(column.type, ListType) else column.type
        strange = [i for i in items if isinstance(of, EnumType) and i is not None and i not in of.labels]
        if strange:
            yield "enum", table.name, name, text(strange[0]), ids
    for rule in table.constraints:
        if isinstance(rule, Range | Check) and (value := row.get(rule.property)) is not None:
            kept = _inside(rule, value) if isinstance(rule, Range) else bool(re.search(rule.pattern, str(value)))
            if not kept:
                word = "range" if isinstance(rule, Range) else "check"
                yield word, table.name, (rule.property,), text(value), ids


def _inside(rule: Range, value: object) -> bool:
    assert isinstance(value, int | float)
    if isinstance(value, float) and math.isnan(value):
        return False
    low, high = (float(b) if isinstance(b, Decimal) else b for b in (rule.low, rule.high))
    return (low is None or value >= low) and (high is None or value <= high)
