"""A query in the making: named steps, the values bound to it, and the tables it reads.

A relation inside a correlated sub-plan may be asked for many rows at once. Then it carries the columns of its domain,
the distinct rows it is asked for, beside its own, and every step keeps the rows of different askers apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from omnigraph_sql.base.catalog import TableType
from omnigraph_sql.base.errors import InternalError
from omnigraph_sql.base.travel import ReadPoint
from omnigraph_sql.engine.store.scan import readable_batches, scan_with_pending
from omnigraph_sql.engine.store.tables import OpenTable
from omnigraph_sql.engine.values import Snapshot, TableIdentity
from omnigraph_sql.engine.write.staging import MutationStaging, TableChanges
from omnigraph_sql.run.pending import pending_of
from omnigraph_sql.run.places import opened, state_of
from omnigraph_sql.run.query_engine import ask, engine_for, fresh_name, telling
from omnigraph_sql.run.scene import Scene

if TYPE_CHECKING:
    from omnigraph_sql.plan.node import Plan


def quoted(name: str) -> str:
    """An identifier, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def listed(names: Iterable[str], of: str | None = None) -> str:
    """Identifiers with commas between, each behind the table `of` when one is named."""
    lead = f"{quoted(of)}." if of is not None else ""
    return ", ".join(f"{lead}{quoted(name)}" for name in names)


@dataclass(frozen=True, slots=True)
class Rel:
    """One named step. `carried` are the domain's columns or none; rows are to be shown in the order of `order`: columns
    with their directions. Steps themselves have no order, the engine drops it: it is applied where it shows."""

    name: str
    columns: tuple[str, ...]
    carried: tuple[str, ...] = ()
    order: tuple[tuple[str, str], ...] = ()
    volatile: bool = False
    """Asking for it twice may give different rows."""

    @property
    def hidden(self) -> tuple[str, ...]:
        return (*self.carried, *(name for name, _ in self.order))

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.columns, *self.hidden)

    @property
    def ordering(self) -> str:
        """What stands behind ORDER BY, and nothing for rows in no order."""
        return ", ".join(f"{quoted(name)} {direction}" for name, direction in self.order)

    def column(self, name: str) -> str:
        return f"{quoted(self.name)}.{quoted(name)}"


@dataclass(frozen=True, slots=True)
class Domain:
    """The rows a correlated sub-plan is asked for: `names` says which of its columns stands for which outer one."""

    rel: Rel
    names: Mapping[str, str]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.names.values())


@dataclass(frozen=True, slots=True)
class _Step:
    text: str
    reads: tuple[str, ...]


@dataclass(slots=True)
class Build:
    """The steps of one statement. Close it when the query is planned: its tables are then no longer registered."""

    scene: Scene
    prefix: str = "#"
    careful: bool = False
    """No condition may reach the tables."""
    steps: dict[str, _Step] = field(default_factory=dict)
    values: dict[str, pa.Scalar] = field(default_factory=dict)
    ctes: dict[str, Rel] = field(default_factory=dict)
    tables: dict[tuple[TableIdentity, str, int, str | None], str] = field(default_factory=dict)
    registered: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    wanted: dict[int, int] = field(default_factory=dict)
    """How many of the best rows of a ranking matter, by the identity of its plan node; all when it is not there."""
    numbers: int = 0
    _engine: Any = None

    @property
    def engine(self) -> Any:
        """The session all of it runs in, made when first needed."""
        if self._engine is None:
            self._engine = engine_for(self.scene.running.memory_limit)
        return self._engine

    # ---- names and values ----

    def fresh(self) -> str:
        """A name no column of the plan has."""
        self.numbers += 1
        return f"{self.prefix}{self.numbers}"

    def bind(self, value: pa.Scalar) -> str:
        """The placeholder of a value."""
        name = f"p{len(self.values) + 1}"
        self.values[name] = value
        return f"${name}"

    # ---- steps ----

    def plan(self, plan: Plan, domain: Domain | None) -> Rel:
        """The rows of a plan, for every row of `domain` when it is correlated."""
        from omnigraph_sql.run.plans import relation_of

        return relation_of(plan, self, domain)

    def add(
        self,
        text: str,
        reads: Iterable[Rel],
        columns: Iterable[str],
        carried: Iterable[str] = (),
        order: tuple[tuple[str, str], ...] = (),
        *,
        volatile: bool | None = None,
    ) -> Rel:
        """A step. It makes `columns`, `carried` and the columns of `order`."""
        sources = tuple(reads)
        name = self.fresh()
        self.steps[name] = _Step(text, tuple(r.name for r in sources))
        unsteady = any(r.volatile for r in sources) if volatile is None else volatile
        return Rel(name, tuple(columns), tuple(carried), order, unsteady)

    def where(self, rel: Rel, condition: str) -> Rel:
        """The rows for which a condition over the relation's columns is true."""
        if condition == "TRUE":
            return rel
        text = f"SELECT {listed(rel.all) or 'TRUE'} FROM {quoted(rel.name)} WHERE {condition}"
        return self.add(text, (rel,), rel.columns, rel.carried, rel.order)

    def with_columns(self, rel: Rel, added: Mapping[str, str]) -> Rel:
        """The relation with more columns: name → text over its columns."""
        parts = [listed(rel.all)] if rel.all else []
        parts += [f"{text} AS {quoted(name)}" for name, text in added.items()]
        made = f"SELECT {', '.join(parts)} FROM {quoted(rel.name)}"
        return self.add(made, (rel,), (*rel.columns, *added), rel.carried, rel.order)

    def lifted(self, rel: Rel, domain: Domain | None) -> Rel:
        """The relation for every row of the domain, if it is not so already."""
        if domain is None or rel.carried:
            return rel
        columns = [listed(rel.all, rel.name)] if rel.all else []
        columns.append(listed(domain.columns, domain.rel.name))
        text = f"SELECT {', '.join(columns)} FROM {quoted(rel.name)} CROSS JOIN {quoted(domain.rel.name)}"
        return self.add(text, (rel, domain.rel), rel.columns, domain.columns, rel.order)

    def text(self, rel: Rel, columns: Iterable[str]) -> str:
        """The whole query for some columns of a step."""
        needed: dict[str, None] = {}
        waiting = [rel.name]
        while waiting:
            at = waiting.pop()
            if at not in needed:
                needed[at] = None
                waiting.extend(self.steps[at].reads)
        parts = [f"{quoted(n)} AS ({s.text})" for n, s in self.steps.items() if n in needed]
        order = f" ORDER BY {rel.ordering}" if rel.order else ""
        return f"WITH {', '.join(parts)} SELECT {listed(columns)} FROM {quoted(rel.name)}{order}"

    # ---- running parts early ----

    def fetch(self, rel: Rel, columns: Iterable[str]) -> pa.Table:
        """Rows of a step, now."""
        text = self.text(rel, columns)
        with telling():
            found: pa.Table = self.scene.running.wait(lambda: ask(self.engine, text, self.values).to_arrow_table())
        return found

    def kept(self, rel: Rel) -> Rel:
        """The relation with its rows fixed in memory."""
        if not rel.all:
            raise InternalError("a relation without columns is not kept")
        table = self.fetch(rel, rel.all)
        return replace(self.given(table, rel.columns, rel.carried), order=rel.order)

    def steady(self, rel: Rel) -> Rel:
        """A relation that may be read twice."""
        return self.kept(rel) if rel.volatile and rel.all else rel

    # ---- functions ----

    def function(self, compute: Callable[[pa.Array], pa.Array], takes: pa.DataType, gives: pa.DataType) -> str:
        """The name of a function of one column, for this statement alone; what it compares with is inside it."""
        from datafusion import udf

        name = fresh_name()
        self.engine.register_udf(udf(compute, [takes], gives, "immutable", name))
        self.functions.append(name)
        return name

    # ---- tables ----

    def given(self, table: pa.Table, columns: Iterable[str], carried: Iterable[str] = ()) -> Rel:
        """Rows in memory as a step; the table's columns are named as the step's."""
        name = fresh_name()
        self.engine.register_record_batches(name, [readable_batches(table)])
        self.registered.append(name)
        made = tuple(table.schema.names)
        return self.add(f"SELECT {listed(made)} FROM {name}", (), columns, carried)

    def stored(self, of: TableType, at: ReadPoint, within: str | None = None) -> str:
        """The registered name of a table at a point, with what is pending on it.

        `within` is a filter for Lance that every wanted row passes; rows that do not pass may be there all the same.
        """
        snapshot, staging = state_of(self.scene, at)
        key = (TableIdentity.of(of), snapshot.branch, snapshot.manifest_version, within)
        found = self.tables.get(key)
        if found is None:
            name = fresh_name()
            self.engine.register_view(name, self._frame(of, snapshot, staging, within))
            self.registered.append(name)
            self.tables[key] = found = name
        return found

    def state(self, at: ReadPoint) -> tuple[Snapshot, MutationStaging | None]:
        return state_of(self.scene, at)

    def committed(self, of: TableType, at: ReadPoint) -> tuple[OpenTable, TableChanges | None]:
        """A table at a point, and what is pending on it."""
        return opened(self.scene, of, *state_of(self.scene, at))

    def _frame(self, of: TableType, snapshot: Snapshot, staging: MutationStaging | None, within: str | None) -> Any:
        tables = self.scene.world.tables
        table, changes = opened(self.scene, of, snapshot, staging)
        if changes is None:
            return scan_with_pending(self.engine, table, None, None, within)
        pending = pending_of(tables, table, changes)
        if pending.replaces:
            return self.engine.read_batches(readable_batches(pending.rows))
        return scan_with_pending(self.engine, table, pending.rows, pending.shadow, within)

    def close(self) -> None:
        """Forget the tables; planned queries hold theirs."""
        for name in self.registered:
            self.engine.deregister_table(name)
        for name in self.functions:
            self.engine.deregister_udf(name)
        self.functions.clear()
        self.registered.clear()
        self.tables.clear()
