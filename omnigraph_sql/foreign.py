"""What another engine does with a graph: it reads tables at one snapshot, and has files published that it wrote."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from omnigraph_sql.base.catalog import Catalog, EdgeType, TableType
from omnigraph_sql.base.errors import DataError, InternalError
from omnigraph_sql.base.process import enter_engine
from omnigraph_sql.base.seams import IdSource, Pause
from omnigraph_sql.engine import opening
from omnigraph_sql.engine.load.publishing import Delivery, Prepare
from omnigraph_sql.engine.load.readers import source_type
from omnigraph_sql.engine.load.report import LoadMode, TableCount
from omnigraph_sql.engine.load.values import Source
from omnigraph_sql.engine.load.writers import FileWriter
from omnigraph_sql.engine.manifest.history import state_at
from omnigraph_sql.engine.store.derived import DerivedFiles
from omnigraph_sql.engine.store.loose import delete_files
from omnigraph_sql.engine.store.objects import Objects
from omnigraph_sql.engine.store.root import GraphRoot
from omnigraph_sql.engine.store.tables import OpenTable, Tables
from omnigraph_sql.engine.values import Snapshot, TableIdentity, TablePin, table_key
from omnigraph_sql.engine.world import World
from omnigraph_sql.engine.write.txn import Author, Contract, WriteTxn, begin
from omnigraph_sql.run.contract import ContractKeeper
from omnigraph_sql.run.held import Held
from omnigraph_sql.run.links import Links

if TYPE_CHECKING:
    from omnigraph_sql.session import Session

_ID: Final = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")


@dataclass(frozen=True, slots=True)
class PinnedTables:
    """The tables of one snapshot under the schema of that snapshot."""

    world: World
    snapshot: Snapshot
    catalog: Catalog
    schema_hash: str

    @classmethod
    def at(cls, root: GraphRoot, branch: str, point: int | str | datetime | None) -> PinnedTables:
        """What a branch shows now, or showed at a version, a commit or an instant. Nothing is written.

        No statement can be run on it, so whatever statements need is not even imported. Raises what `open` raises.
        """
        enter_engine()
        world = World.at(root)
        keeper = ContractKeeper.open(world)
        newest = world.manifest.current(branch).snapshot
        snapshot = newest if point is None else state_at(world.manifest, branch, point)
        schema = keeper.at(snapshot)
        opening.check_tables(schema.catalog, snapshot)
        return cls(world, snapshot, schema.catalog, schema.ir.ir_hash)

    @property
    def version(self) -> int:
        """The manifest version by which the snapshot is found again."""
        return self.snapshot.manifest_version

    @property
    def tables(self) -> Tables:
        return self.world.tables

    @property
    def objects(self) -> Objects:
        return self.world.objects

    @property
    def ids(self) -> IdSource:
        return self.world.seams.ids

    @property
    def pause(self) -> Pause:
        return self.world.seams.pause

    def type(self, name: str, shown: str = "the option type") -> TableType:
        """Raises DataError when the schema has no such type; `shown` is who asks for it."""
        return source_type(Source("", name), self.catalog, shown)

    def pin(self, of: TableType) -> TablePin:
        found = self.snapshot.pin(TableIdentity.of(of))
        if found is None:
            raise InternalError(f"{table_key(of)} is not a table of this graph")
        return found

    def open(self, of: TableType) -> OpenTable:
        return self.tables.open(self.pin(of))

    def held(self, of: TableType) -> Held:
        """The rows of a table, by number."""
        return Held(self.tables, self.open(of), of)

    def links(self, edge: EdgeType) -> Links:
        """The links of an edge type, from the files they are kept in where these are at hand."""
        source, target = self.catalog.node(edge.source), self.catalog.node(edge.target)
        assert source is not None
        assert target is not None
        return Links(self.held(edge), self.held(source), self.held(target), self.derived())

    def derived(self) -> DerivedFiles:
        """Files of what was made of tables and can be made again."""
        return DerivedFiles.at(self.world.root)

    def writer(self, of: TableType) -> FileWriter:
        """Writes files beside a table that no version names yet."""
        pin = self.pin(of)
        return FileWriter(self.world, of, pin, pin.branch)

    def discard(self, of: TableType, files: list[Any]) -> None:
        """Remove such files."""
        pin = self.pin(of)
        delete_files(self.tables, pin.path, pin.branch, files)


def refuse_load_id(text: str) -> None:
    """Raises DataError unless the text has the form of the ids of commits, one of which it becomes."""
    if not _ID.fullmatch(text):
        raise DataError(
            f"{text!r} is no id of a load",
            hint="an id has 26 digits and capital letters without I, L, O and U, the first of them 0 to 7",
        )


class ForeignLoad:
    """One load whose files another engine writes: it begins on a snapshot, and ends with one commit or none.

    `named` when the id was given from outside, so that this load may have been published before.
    """

    def __init__(self, session: Session, author: Author, mode: LoadMode, load_id: str | None) -> None:
        session.refuse_read_only()
        if load_id is not None:
            refuse_load_id(load_id)
        self._session, self._author, self._mode = session, author, mode
        self.named = load_id is not None
        self.load_id: str = load_id or session.world.seams.ids.ulid()
        self.first: WriteTxn = begin(session.world, self._contract(), session.branch, author)
        self.base = PinnedTables(
            session.world, self.first.base, self.first.contract.catalog, self.first.contract.ir_hash
        )
        self._delivery: Delivery | None = None

    def _contract(self) -> Contract:
        return self._session.keeper.contract(self._session.branch)

    @property
    def is_loose(self) -> bool:
        """Whether it is certain that nothing names the files."""
        return self._delivery is None or self._delivery.loose

    def is_published(self) -> bool:
        """Whether the branch shows a load with this id already."""
        return self.named and self.base.world.manifest.has_commit(self.first.branch, self.load_id)

    def publish(self, prepare: Prepare) -> tuple[TableCount, ...]:
        """Prepare and publish, anew when the branch moves meanwhile and the mode allows it.

        Raises Published when it happened before, DataError, ReadSetChanged, and what `carry_out` raises.
        """
        self._delivery = Delivery(self.base.world, self._author, self._mode, self.load_id, prepare, self.named)
        return self._delivery.publish(self._contract, self.first)
