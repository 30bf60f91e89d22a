"""The rules about several rows, by joins and sums in Spark: keys, unique tuples, endpoints, cardinality.

One job over hashes finds out which of them may be broken; only these are looked at row by row. The order of the rules
is that of the local evaluator, and so are the words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from omnigraph_sql.base import limits
from omnigraph_sql.base.catalog import DST, ID, SRC, Cardinality, Catalog, EdgeType, NodeType, TableType, Unique
from omnigraph_sql.base.errors import DataError, KeyConflict, ResourceLimitExceeded
from omnigraph_sql.base.types import arrow_type
from omnigraph_sql.engine.load.loader import exists_already
from omnigraph_sql.engine.load.report import LoadMode
from omnigraph_sql.engine.load.sifting import rule_of
from omnigraph_sql.engine.values import Snapshot, TableIdentity, table_key
from omnigraph_sql.engine.write.validate_cardinality import cardinality_violation
from omnigraph_sql.engine.write.validate_endpoints import absent_end, left_behind
from omnigraph_sql.engine.write.validate_text import python_value
from omnigraph_sql.engine.write.validate_unique import unique_violation
from omnigraph_sql.spark.alarms import CountsOf, KeysOf, Rule, UniqueOf, alarmed
from omnigraph_sql.spark.feeds import Origins
from omnigraph_sql.spark.loose import LooseTable, Tables
from omnigraph_sql.spark.report import Refusal
from omnigraph_sql.spark.types import from_spark
from omnigraph_sql.spark.unchanged import drop_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(slots=True)
class Checks:
    """The rules over one attempt of a load. `refusals` collects what was refused, and `tables` lose these rows."""

    rows: Tables
    catalog: Catalog
    base: Snapshot
    mode: LoadMode
    tables: dict[str, LooseTable]
    origins: Sequence[Origins]
    going_on: bool
    """Whether refused rows are left out and the rest goes on."""
    refusals: list[Refusal] = field(default_factory=list)

    def run(self) -> None:
        """Every rule in the order of the local evaluator; stops after the first one that refuses, unless going on.

        Raises ConstraintViolation for a rule that no row of the load is to blame for.
        """
        found = alarmed(self.rows, self.catalog, self.base, self.mode, self.tables)
        for _ in self._steps(found):
            if self.refusals and not self.going_on:
                return

    def _steps(self, alarms: frozenset[Rule]) -> Iterator[None]:
        """One rule after the other, where there is an alarm; or where refused rows may have changed what it sees."""
        tables = sorted(self.tables.values(), key=lambda table: table.key)
        suspect = [table for table in tables if not table.fresh and KeysOf(table.key) in alarms]
        for table in suspect:
            self._twice(table)
            yield
        for table in suspect:
            self._existing(table)
            yield
        for node in self.catalog.nodes:
            yield from self._unique_steps(node, alarms)
        for edge in self.catalog.edges:
            yield from self._unique_steps(edge, alarms)
            for side, name in ((SRC, edge.source), (DST, edge.target)):
                if self.refusals or KeysOf(table_key(self._node(name))) in alarms:
                    self._ends(edge, side)
                    yield
            self._left_behind(edge, alarms)
            yield
            if self.refusals or self.mode is not LoadMode.APPEND or CountsOf(table_key(edge)) in alarms:
                self._cardinality(edge)
                yield

    # ---- what there is ------------------------------------------------------------------------------------------

    def _load(self, of: TableType) -> LooseTable | None:
        found = self.tables.get(table_key(of))
        return found if found is not None and found.rows else None

    def _overwritten(self, of: TableType) -> bool:
        return self.mode is LoadMode.OVERWRITE and table_key(of) in self.tables

    def _held(self, of: TableType) -> bool:
        """Whether the base has rows of a type that count."""
        pin = self.base.pin(TableIdentity.of(of))
        return pin is not None and pin.row_count > 0 and not self._overwritten(of)

    def _node(self, name: str) -> NodeType:
        found = self.catalog.node(name)
        assert found is not None
        return found

    # ---- keys ---------------------------------------------------------------------------------------------------

    def _twice(self, table: LooseTable) -> None:
        """Ids that come again. Appending refuses all but the first; merging keeps the last and says nothing."""
        ids = self.rows.loose(table, [ID]).groupBy(ID).count().where("count > 1").select(ID)
        again = self.rows.loose(table, [ID], numbers=True).join(ids, ID, "left_semi")
        if self.mode is LoadMode.MERGE:
            self._keep_last(table, again)
            return
        for group in self._grouped(table, self._collected(again), [ID]):
            first = self._place(table, group[0])
            for row in group[1:]:
                self._refuse(table, row, _again(table, str(row[ID]), first))

    def _keep_last(self, table: LooseTable, again: DataFrame) -> None:
        from pyspark.sql import Window
        from pyspark.sql import functions as sf

        feeds = sf.array(*(sf.lit(file.feed) for file in table.files))
        latest = Window.partitionBy(ID).orderBy(sf.get(feeds, sf.col("f")).desc(), sf.col("number").desc())
        drop_rows(table, again.withColumn("nth", sf.row_number().over(latest)).where("nth > 1").select("f", "o"))

    def _existing(self, table: LooseTable) -> None:
        if self.mode is not LoadMode.APPEND or not self._held(table.type):
            return
        held = self.rows.committed(table.type, [ID])
        found = self._collected(self.rows.loose(table, [ID], numbers=True).join(held, ID, "left_semi"))
        for row in found.to_pylist():
            self._refuse(table, row, exists_already(table.type, str(row[ID])))

    # ---- unique tuples ------------------------------------------------------------------------------------------

    def _unique_steps(self, of: TableType, alarms: frozenset[Rule]) -> Iterator[None]:
        table = self._load(of)
        if table is None:
            return
        for rule in of.constraints:
            if isinstance(rule, Unique) and UniqueOf(table.key, rule.properties) in alarms:
                self._shared(table, rule)
                yield

    def _shared(self, table: LooseTable, rule: Unique) -> None:
        names = list(rule.properties)
        whole = self.rows.loose(table, [ID, *names], numbers=True).dropna(subset=names)
        often = whole.groupBy(*names).count().where("count > 1").select(*names)
        found = self._collected(whole.join(often, names, "left_semi"))
        for group in self._grouped(table, found, names):
            for row in group[1:]:
                value = _tuple(row, names)
                ids = tuple(dict.fromkeys((str(group[0][ID]), str(row[ID]))))
                self._refuse(table, row, unique_violation(table.type, rule, value, ids))
        if self._held(table.type):
            self._taken(table, rule)

    def _taken(self, table: LooseTable, rule: Unique) -> None:
        """Tuples that a row of the base with another id has, and keeps."""
        names = list(rule.properties)
        mine = self.rows.loose(table, [ID, *names], numbers=True).dropna(subset=names)
        held = self.rows.committed(table.type, [ID, *names]).dropna(subset=names)
        if not table.fresh:
            held = held.join(self.rows.loose(table, [ID]).select(ID), ID, "left_anti")
        held = held.withColumnRenamed(ID, "holder")
        for row in self._ordered(table, self._typed(table, self._collected(mine.join(held, names)), names)):
            ids = (str(row[ID]), str(row["holder"]))
            self._refuse(table, row, unique_violation(table.type, rule, _tuple(row, names), ids))

    # ---- ends ---------------------------------------------------------------------------------------------------

    def _ends(self, edge: EdgeType, side: str) -> None:
        table = self._load(edge)
        if table is None:
            return
        node = self._node(edge.source if side == SRC else edge.target)
        ids: DataFrame | None = None
        load = self._load(node)
        if load is not None:
            ids = self.rows.loose(load, [ID]).select(ID)
        if self._held(node):
            held = self.rows.committed(node, [ID])
            ids = held if ids is None else ids.union(held)
        edges = self.rows.loose(table, [ID, side], numbers=True)
        if ids is not None:
            ends = self.rows.loose(table, [side]).select(side).distinct()
            missing = ends.join(ids.withColumnRenamed(ID, side), side, "left_anti")
            edges = edges.join(missing, side, "left_semi")
        for row in self._collected(edges).to_pylist():
            self._refuse(table, row, absent_end(edge, node, side, str(row[ID]), str(row[side])))

    def _left_behind(self, edge: EdgeType, alarms: frozenset[Rule]) -> None:
        """Edges of the base whose node an overwrite takes: no row of the load is to blame, so nothing can go on."""
        if not self._held(edge):
            return
        for side, name in ((SRC, edge.source), (DST, edge.target)):
            node = self._node(name)
            if not self._overwritten(node) or not (self.refusals or KeysOf(table_key(node)) in alarms):
                continue
            stays = self.rows.committed(edge, [ID, side], addresses=True)
            load = self._load(node)
            if load is not None:
                ids = self.rows.loose(load, [ID]).selectExpr(f"id AS `{side}`")
                stays = stays.join(ids, side, "left_anti")
            first = stays.orderBy("at").limit(1).collect()
            if first:
                raise left_behind(edge, node, side, first[0][ID], first[0][side])

    # ---- cardinality --------------------------------------------------------------------------------------------

    def _cardinality(self, edge: EdgeType) -> None:
        if edge.cardinality == Cardinality() or table_key(edge) not in self.tables:
            return
        while self._counted(edge):
            if not self.going_on:
                break

    def _counted(self, edge: EdgeType) -> bool:
        """Refuse the edges of every source that has too many or too few; whether there was one."""
        table, bounds = self.tables[table_key(edge)], edge.cardinality
        new = self.rows.loose(table, [ID, SRC], numbers=True)
        pin = self.base.pin(TableIdentity.of(edge))
        base = self.rows.committed(edge, [ID, SRC]) if pin is not None and pin.row_count else None
        after, former = new.select(SRC), None
        if base is not None:
            former = base if self._overwritten(edge) else base.join(new.select(ID), ID, "left_semi")
            if not self._overwritten(edge):
                after = after.union(base.join(new.select(ID), ID, "left_anti").select(SRC))
        touched = new.select(SRC) if former is None else new.select(SRC).union(former.select(SRC))
        touched = touched.distinct()
        node = self._node(edge.source)
        if self._overwritten(node):
            load = self._load(node)
            if load is None:
                return False
            touched = touched.join(self.rows.loose(load, [ID]).selectExpr("id AS src"), SRC, "left_semi")
        counts = touched.join(after.groupBy(SRC).count(), SRC, "left").selectExpr("src", "coalesce(count, 0) AS n")
        wrong = f"n < {bounds.minimum}" + ("" if bounds.maximum is None else f" OR n > {bounds.maximum}")
        bad = {row[SRC]: int(row["n"]) for row in self._collected(counts.where(wrong)).to_pylist()}
        if not bad:
            return False
        self._blame(table, edge, new, former, bad)
        return True

    def _blame(
        self, table: LooseTable, edge: EdgeType, new: DataFrame, former: DataFrame | None, bad: dict[str, int]
    ) -> None:
        listed = self.rows.spark.createDataFrame(pa.table({"bad": pa.array(sorted(bad), pa.utf8())}))
        culprits = new.join(listed, new[SRC] == listed["bad"]).select(ID, SRC, "f", "o", "number", "bad")
        if former is not None and not self._overwritten(edge):
            moved = former.withColumnRenamed(SRC, "bad").join(listed, "bad", "left_semi")
            away = new.join(moved, ID).where("src <> bad").select(ID, SRC, "f", "o", "number", "bad")
            culprits = culprits.union(away)
        found = self._ordered(table, self._collected(culprits).to_pylist())
        blamed: set[tuple[int, int]] = set()
        for row in found:
            at = (_int(row["f"]), _int(row["o"]))
            if at not in blamed:
                blamed.add(at)
                source = str(row["bad"])
                self._refuse(table, row, cardinality_violation(edge, source, bad[source]))
        alone = sorted(set(bad) - {str(row["bad"]) for row in found})
        if alone:
            raise cardinality_violation(edge, alone[0], bad[alone[0]])

    # ---- rows that are refused ----------------------------------------------------------------------------------

    def _collected(self, frame: DataFrame) -> pa.Table:
        found = frame.limit(limits.SPARK_REFUSALS_MAX + 1).toArrow()
        if found.num_rows + len(self.refusals) > limits.SPARK_REFUSALS_MAX:
            raise too_many(found.num_rows + len(self.refusals))
        return found

    def _typed(self, table: LooseTable, found: pa.Table, names: Sequence[str]) -> list[dict[str, object]]:
        """Rows with values as the graph has them, for messages."""
        rows: list[dict[str, object]] = []
        for batch in found.to_batches():
            plain = from_spark(batch, table.type)
            columns = {name: plain[name] for name in plain.schema.names}
            for name in names:
                column = table.type.column(name)
                assert column is not None
                columns[name] = columns[name].cast(arrow_type(column.type))
            for place in range(plain.num_rows):
                rows.append({name: python_value(values[place]) for name, values in columns.items()})
        return rows

    def _ordered(self, table: LooseTable, rows: list[dict[str, object]]) -> list[dict[str, object]]:
        return sorted(rows, key=lambda row: self._order(table, row))

    def _order(self, table: LooseTable, row: dict[str, object]) -> tuple[int, int]:
        return table.files[_int(row["f"])].feed, _int(row["number"])

    def _grouped(self, table: LooseTable, found: pa.Table, names: Sequence[str]) -> list[list[dict[str, object]]]:
        """Rows with equal values in the order of the input, and so are the groups."""
        groups: dict[object, list[dict[str, object]]] = {}
        for row in self._ordered(table, self._typed(table, found, names)):
            groups.setdefault(_tuple(row, names), []).append(row)
        return list(groups.values())

    def _place(self, table: LooseTable, row: dict[str, object]) -> str:
        return self.origins[table.files[_int(row["f"])].feed].text(_int(row["number"]))

    def _drop(self, table: LooseTable, rows: Sequence[dict[str, object]]) -> None:
        by_file: dict[int, list[int]] = {}
        for row in rows:
            by_file.setdefault(_int(row["f"]), []).append(_int(row["o"]))
        for file, places in by_file.items():
            table.drop(file, np.array(places, np.int64))

    def _refuse(self, table: LooseTable, row: dict[str, object], error: DataError) -> None:
        self._drop(table, [row])
        feed, number = self._order(table, row)
        file, at = self.origins[feed].of(number)
        self.refusals.append(
            Refusal(
                table.key,
                file,
                at,
                rule_of(error),
                f"{self._place(table, row)}: {error.message}",
                code=error.code,
                hint=error.hint,
                order=(_int(row["f"]), _int(row["o"])),
            )
        )


def too_many(count: int) -> ResourceLimitExceeded:
    return ResourceLimitExceeded(
        f"more than {limits.SPARK_REFUSALS_MAX} rows are refused",
        resource="spark_refusals",
        limit=limits.SPARK_REFUSALS_MAX,
        actual=count,
        hint="this looks like another input than the schema describes; load a part of it first",
    )


def _again(table: LooseTable, own: str, first: str) -> KeyConflict:
    return KeyConflict(
        f"{table.type.name} '{own}' is in this load already, at {first}",
        type=table.type.name,
        id=own,
        hint="give every row once, or load with mode merge",
    )


def _int(value: object) -> int:
    assert isinstance(value, int)
    return value


def _tuple(row: dict[str, object], names: Sequence[str]) -> object:
    members = tuple(row[name] for name in names)
    return members if len(members) > 1 else members[0]
