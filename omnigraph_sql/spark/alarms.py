"""Which rules about several rows a load may break, found out in one job over hashes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from omnigraph_sql.base.catalog import DST, ID, SRC, Cardinality, Catalog, EdgeType, TableType, Unique
from omnigraph_sql.engine.load.report import LoadMode
from omnigraph_sql.engine.values import Snapshot, TableIdentity, table_key
from omnigraph_sql.spark.loose import LooseTable, Tables
from omnigraph_sql.spark.meeting import Meeting
from omnigraph_sql.spark.questions import Kind, Question, Take


@dataclass(frozen=True, slots=True)
class KeysOf:
    """Ids of a table, loaded once and new where they have to be; and the ends of edges that lead there, and of those
    that stay while an overwrite takes nodes away."""

    table: str


@dataclass(frozen=True, slots=True)
class UniqueOf:
    table: str
    properties: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CountsOf:
    table: str


Rule: TypeAlias = KeysOf | UniqueOf | CountsOf


@dataclass(slots=True)
class Asking:
    """Collects questions and who takes part in them."""

    mode: LoadMode
    catalog: Catalog
    base: Snapshot
    tables: Mapping[str, LooseTable]
    rules: list[Rule] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    loose: dict[str, list[Take]] = field(default_factory=dict)
    held: dict[str, list[Take]] = field(default_factory=dict)

    def ask(self) -> None:
        for of in self.catalog.tables():
            self._keys(of)
            load = self._load(of)
            if load is not None:
                self._unique(load)
                if isinstance(of, EdgeType) and of.cardinality != Cardinality():
                    self._counts(load, of.cardinality)

    def _load(self, of: TableType) -> LooseTable | None:
        found = self.tables.get(table_key(of))
        return found if found is not None and found.rows else None

    def _overwritten(self, of: TableType) -> bool:
        return self.mode is LoadMode.OVERWRITE and table_key(of) in self.tables

    def held_rows(self, of: TableType) -> int:
        """Rows of the base that count."""
        pin = self.base.pin(TableIdentity.of(of))
        return 0 if pin is None or self._overwritten(of) else pin.row_count

    def _put(self, rule: Rule, question: Question) -> int:
        self.rules.append(rule)
        self.questions.append(question)
        return len(self.questions) - 1

    def _take(self, of: TableType, question: int, kind: Kind, *columns: str, stays: bool = False) -> None:
        """`stays`: rows of the base take part, as those that are held always do."""
        where = self.held if stays or kind is Kind.HELD else self.loose
        where.setdefault(table_key(of), []).append(Take(question, kind, columns))

    def _ends(self, of: TableType) -> list[tuple[EdgeType, str, bool]]:
        """Sides of edges that lead to a node type: those of the load, and those that stay while the nodes may go."""
        if isinstance(of, EdgeType):
            return []
        return [
            (edge, side, stays)
            for edge in self.catalog.edges
            for stays in (False, True)
            if (self._overwritten(of) and self.held_rows(edge) if stays else self._load(edge) is not None)
            for side, name in ((SRC, edge.source), (DST, edge.target))
            if name == of.name
        ]

    def _keys(self, of: TableType) -> None:
        load, ends = self._load(of), self._ends(of)
        judged = load is not None and not load.fresh
        if not ends and not judged:
            return
        appends = judged and self.mode is LoadMode.APPEND
        number = self._put(KeysOf(table_key(of)), Question(1 if judged else None, is_new=appends))
        if load is not None:
            self._take(of, number, Kind.LOADED, ID)
        if self.held_rows(of) and (ends or appends):
            self._take(of, number, Kind.HELD, ID)
        for edge, side, stays in ends:
            self._take(edge, number, Kind.ENDED, side, stays=stays)

    def _unique(self, load: LooseTable) -> None:
        of = load.type
        for rule in of.constraints:
            if isinstance(rule, Unique) and set(rule.properties) != set(of.key):
                number = self._put(UniqueOf(load.key, rule.properties), Question(1, is_new=True))
                self._take(of, number, Kind.LOADED, *rule.properties)
                if self.held_rows(of):
                    self._take(of, number, Kind.HELD, *rule.properties)

    def _counts(self, load: LooseTable, bounds: Cardinality) -> None:
        number = self._put(CountsOf(load.key), Question(bounds.maximum, bounds.minimum, counts_held=True))
        self._take(load.type, number, Kind.LOADED, SRC)
        if self.held_rows(load.type):
            self._take(load.type, number, Kind.HELD, SRC)


def alarmed(
    rows: Tables, catalog: Catalog, base: Snapshot, mode: LoadMode, tables: Mapping[str, LooseTable]
) -> frozenset[Rule]:
    """Rules that have to be looked at row by row. All others are kept."""
    asking = Asking(mode, catalog, base, tables)
    asking.ask()
    types = {table_key(of): of for of in catalog.tables()}
    meeting = Meeting(
        rows,
        asking.questions,
        [(tables[key], takes) for key, takes in asking.loose.items()],
        [(types[key], asking.held_rows(types[key]), takes) for key, takes in asking.held.items()],
    )
    return frozenset(asking.rules[number] for number in meeting.alarms())
