"""Graph: what a Python application holds. Every method delegates."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from omnigraph_sql.base.catalog import Catalog
from omnigraph_sql.base.errors import ConflictError, DataError, RecoveryRequired, StorageError
from omnigraph_sql.base.memory import memory_limit as memory_limit_of
from omnigraph_sql.base.process import enter_engine, refuse_forked
from omnigraph_sql.bind.parameters import Given
from omnigraph_sql.bind.schema import compile_schema
from omnigraph_sql.engine import opening
from omnigraph_sql.engine.branch.create import create_branch
from omnigraph_sql.engine.load.export import ExportReport, export_lines
from omnigraph_sql.engine.load.loader import load
from omnigraph_sql.engine.load.report import LoadReport, Watch
from omnigraph_sql.engine.load.values import ArrowStream, LoadMode, Source
from omnigraph_sql.engine.manifest.history import state_at
from omnigraph_sql.engine.recovery.heal import Recovered, heal, pending_operations, recover
from omnigraph_sql.engine.store.durable import Durability
from omnigraph_sql.engine.store.root import GraphRoot
from omnigraph_sql.engine.upkeep.indices import IndexReport, ensure_indices
from omnigraph_sql.engine.values import MAIN, GraphCommit, Snapshot
from omnigraph_sql.engine.world import Embed, Seams, World
from omnigraph_sql.engine.write.txn import Author, Contract
from omnigraph_sql.plan.compile import Compiled
from omnigraph_sql.plan.explain import explain
from omnigraph_sql.result import Result
from omnigraph_sql.run.contract import ContractKeeper, contract_files
from omnigraph_sql.run.copy import chosen_types, export_to
from omnigraph_sql.run.described import described
from omnigraph_sql.run.ground import kept_facts
from omnigraph_sql.run.interrupt import Runs
from omnigraph_sql.session import PlanCache, Request, Session, Transaction
from omnigraph_sql.statements import Language, compiled_under, steps_of

Uri = str | os.PathLike[str]
_SCHEMA_SUFFIX: Final = ".pg"


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch, its newest commit, and when the branch was made."""

    name: str
    head: str
    created_at: datetime


def init(
    uri: Uri,
    *,
    schema: str | Path,
    actor: str | None = None,
    force: bool = False,
    durability: str = Durability.PROCESS,
    storage_options: dict[str, str] | None = None,
    embed: Embed | None = None,
    seams: Seams | None = None,
) -> Graph:
    """Make a graph. `schema` is the text of a schema, or the path of a `.pg` file; `embed` makes vectors of texts.
    `durability` is as in `open`.

    Raises ConflictError (`exists`) when there is a graph at the place already, LanguageError for the schema.
    """
    enter_engine()
    world = World.at(GraphRoot.parse(uri, storage_options), seams, embed, Durability.parse(durability))
    text, name = _schema_text(schema)
    ir = compile_schema(text, name=name, identity_domain=world.seams.ids.ulid())
    opening.init(world, contract_files(ir), ir.catalog, actor=actor, force=force)
    return Graph(world, ContractKeeper.open(world), MAIN, Author(actor), read_only=False, plans=PlanCache())


def open(
    uri: Uri,
    *,
    branch: str = MAIN,
    actor: str | None = None,
    read_only: bool = False,
    durability: str = Durability.PROCESS,
    storage_options: dict[str, str] | None = None,
    embed: Embed | None = None,
    memory_limit: int | str | None = None,
    seams: Seams | None = None,
) -> Graph:
    """Open a graph. For writing, whatever a dead writer left is finished or undone first; for reading, nothing is
    written. `embed` makes vectors of the texts that `nearest` is asked with: a list of texts in, as many vectors out.
    An acknowledged commit survives the death of the process; with `durability="fsync"` it survives a loss of
    power too. `memory_limit` is how much the query engine may use for one statement, in bytes or as in `"512MB"`;
    what does not fit goes to disk, and a step that cannot do so raises ResourceLimitExceeded.

    Raises StorageError (`not_found`) when there is no graph, FormatError when this version cannot read it,
    RecoveryRequired when nobody may decide what became of an operation.
    """
    enter_engine()
    world = World.at(GraphRoot.parse(uri, storage_options), seams, embed, Durability.parse(durability))
    if not read_only:
        opening.open_for_writing(world)
    keeper = ContractKeeper.open(world)
    snapshot = world.manifest.current(branch).snapshot
    opening.check_tables(keeper.at(snapshot).catalog, snapshot)
    runs = Runs(memory_limit_of(memory_limit))
    return Graph(world, keeper, branch, Author(actor), read_only=read_only, plans=PlanCache(), runs=runs)


def _schema_text(schema: str | Path) -> tuple[str, str]:
    if isinstance(schema, Path) or (schema.endswith(_SCHEMA_SUFFIX) and "\n" not in schema and "{" not in schema):
        try:
            return Path(schema).read_text(encoding="utf-8"), str(schema)
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            hint = f"it was looked for in {Path(schema).parent.absolute()}"
            raise StorageError(
                f"the schema file {schema} cannot be read: {reason.lower()}", kind="not_found", hint=hint
            ) from error
    return schema, "<schema>"


class Graph:
    """An open graph on one branch. Statements may come from several threads; what spans statements, a result, a
    transaction, BEGIN … COMMIT, is for one thread at a time.

    >>> import omnigraph_sql as og
    >>> graph = og.init("air.omni", schema="node Airport { code: String @key  city: String }", actor="ana")
    >>> graph.sql("INSERT INTO Airport VALUES ('LIM', 'Lima'), ('CUZ', 'Cusco')").affected_nodes
    2
    >>> graph.sql("SELECT city FROM Airport WHERE code = $code", {"code": "LIM"}).fetchall()
    [('Lima',)]
    >>> graph.gq("match { $a: Airport } return { $a.city as city } order { $a.city } limit 1").fetchone()
    ('Cusco',)
    >>> graph.at(graph.commits()[-1].id).sql("SELECT count(*) FROM Airport").fetchone()
    (0,)
    >>> graph.close()
    """

    def __init__(
        self,
        world: World,
        keeper: ContractKeeper,
        branch: str,
        author: Author,
        *,
        read_only: bool,
        plans: PlanCache,
        pinned: Snapshot | None = None,
        runs: Runs | None = None,
    ) -> None:
        self._world, self._keeper, self._plans = world, keeper, plans
        self._author, self._read_only = author, read_only or pinned is not None
        self._pinned = pinned
        self._runs = runs or Runs()
        self._session = self._made_session(author, branch)
        self._closed = False

    # ---- facts ------------------------------------------------------------------------------------------------

    @property
    def uri(self) -> str:
        return self._world.root.uri

    @property
    def branch(self) -> str:
        return self._branch

    @property
    def _branch(self) -> str:
        return self._session.branch

    @property
    def read_only(self) -> bool:
        return self._read_only

    @property
    def schema_text(self) -> str:
        """The schema as it was written."""
        return self._session.schema().ir.source_text

    @property
    def catalog(self) -> Catalog:
        """What the schema declares."""
        return self._session.schema().catalog

    @property
    def head(self) -> str:
        """Id of the newest commit on the branch; of a past state, the commit that made it."""
        return self._open()._session.snapshot().head

    @property
    def session(self) -> Session:
        """What runs the statements; for front doors of their own."""
        return self._session

    @property
    def in_transaction(self) -> bool:
        """Whether a BEGIN waits for its COMMIT."""
        transaction = self._session.transaction
        return transaction is not None and transaction.is_open

    # ---- statements -------------------------------------------------------------------------------------------

    def sql(self, text: str, params: Given = None, *, expected_head: str | None = None) -> Result:
        """Run SQL. Several statements that change rows commit as one."""
        return self._session_for(expected_head).run(Request(text, params, "sql"))

    def gq(
        self, text: str, params: Given = None, *, name: str | None = None, expected_head: str | None = None
    ) -> Result:
        """Run a `.gq` query; `name` picks one of a text with several."""
        return self._session_for(expected_head).run(Request(text, params, "gq", name))

    def transaction(self, *, message: str | None = None, expected_head: str | None = None) -> Transaction:
        """Several statements, one commit: `with graph.transaction() as tx: …`. Raising inside rolls back."""
        own = self._session.author
        author = replace(own, message=message or own.message, expected_head=expected_head or own.expected_head)
        return self._fresh_session(author).begin()

    def load(
        self,
        source: Uri | ArrowStream | Sequence[Uri | ArrowStream],
        *,
        mode: str,
        type: str | None = None,
        progress: Watch | None = None,
    ) -> LoadReport:
        """Load files (`.jsonl`, `.csv`, `.parquet`) or Arrow streams as one commit.

        `mode` is append, merge or overwrite. `type` names the type of the rows; the lines of a `.jsonl` file say it
        themselves. `progress` is called now and then. Raises DataError for refused rows, with the file and the line;
        nothing was written then.
        """
        self._open()
        self._session.refuse_read_only()
        if mode not in tuple(LoadMode):
            raise DataError(f"there is no mode {mode!r}", hint=f"choose one of {', '.join(LoadMode)}")
        given: Sequence[Any] = source if isinstance(source, list | tuple) else [source]
        sources = [Source(Path(one) if isinstance(one, str | os.PathLike) else one, type) for one in given]
        return load(self._world, self._contract, self._branch, self._author, sources, LoadMode(mode), progress)

    def export(self, path: Uri, *, type: str | Sequence[str] = (), progress: Watch | None = None) -> ExportReport:
        """Write what this handle sees to a file of JSON lines, nodes first; loading it gives an equal graph.

        `type` names one type, or several, to write only those. The file appears when it is complete, in the place of
        one of the same name.
        """
        self._open()
        types = (type,) if isinstance(type, str) else tuple(type)
        snapshot = self._session.snapshot()
        catalog = self._keeper.at(snapshot).catalog
        return export_to(self._world, snapshot, catalog, Path(path), types, progress)

    def lines(self, *, type: str | Sequence[str] = ()) -> Iterator[str]:
        """The lines of an export, as they are read."""
        self._open()
        snapshot = self._session.snapshot()
        types = chosen_types(self._keeper.at(snapshot).catalog, (type,) if isinstance(type, str) else tuple(type))
        return export_lines(self._world, snapshot, types)

    def compile(self, text: str, language: Language = "any") -> Compiled:
        """The logical plans of a text, whose first words tell its language unless `language` does."""
        self._open()
        return self._session.under_schema(lambda schema: compiled_under(schema, Request(text, None, language)))[0]

    def describe(self, text: str, language: Language = "any") -> pa.Schema:
        """The columns that a text would give, those of its last statement, without running it.

        The type of a column is null where it follows from a parameter; a text that gives no rows has no columns.
        """
        every = self.compile(text, language).programs
        return described(every[-1]) if every else pa.schema([])

    def explain(self, text: str, params: Given = None, *, analyze: bool = False) -> str:
        """The logical plan of a text, one line per step; `analyze` runs it and adds what the engine did."""
        if analyze:
            return self._open()._session.analyzed(Request(text, params))
        compiled = self.compile(text)
        if params is not None:
            request = Request(text, params)
            for step in steps_of(compiled, request, self._session.schema()):
                step.values()
        return "\n\n".join(explain(program.plan) for program in compiled.programs)

    def _contract(self) -> Contract:
        return self._keeper.contract(self._branch)

    def _session_for(self, expected_head: str | None) -> Session:
        self._open()
        if expected_head is None:
            return self._session
        if self.in_transaction:
            raise ConflictError(
                "a statement inside a transaction cannot expect a head of its own",
                code="transaction_open",
                hint="hand expected_head to transaction()",
            )
        return self._fresh_session(replace(self._session.author, expected_head=expected_head))

    def interrupt(self) -> None:
        """Stop what this handle is running, from any thread: statements in progress, those of its transactions
        included, and results with rows left to be read. Each raises Interrupted where it is waited for; the handle
        stays usable. Nothing running: nothing happens."""
        self._runs.interrupt()

    def _fresh_session(self, author: Author) -> Session:
        self._open()
        made = self._made_session(author, self._branch)
        made.settings = replace(self._session.settings, author=author)
        return made

    def _made_session(self, author: Author, branch: str) -> Session:
        return Session(
            self._world,
            self._keeper,
            branch,
            author,
            read_only=self._read_only,
            plans=self._plans,
            pinned=self._pinned,
            runs=self._runs,
        )

    # ---- branches and history ---------------------------------------------------------------------------------

    def branches(self) -> list[Branch]:
        """Every branch, main first."""
        self._open()
        names = [MAIN, *sorted(self._world.manifest.table.branches())]
        return [self._branch_facts(name) for name in names]

    def _branch_facts(self, name: str) -> Branch:
        manifest = self._world.manifest
        return Branch(name, manifest.current(name).snapshot.head, manifest.made_at(name))

    def create_branch(self, name: str, *, from_: str = MAIN) -> Branch:
        """A new branch at the head of another one. Copies no rows."""
        self._open()._session.refuse_read_only()
        return self._branch_facts(create_branch(self._world, name, self._world.manifest.current(from_).snapshot))

    def checkout(self, branch: str) -> Graph:
        """The same graph on another branch."""
        self._open()
        self._world.manifest.current(branch)
        runs, plans = self._runs.another(), self._plans
        return Graph(self._world, self._keeper, branch, self._author, read_only=self._read_only, plans=plans, runs=runs)

    def at(self, point: str | int | datetime) -> Graph:
        """The graph as it was, for reading: at a commit's id, a version number, or an instant with its time zone.

        Raises StorageError (not_found) when there was no such state.
        """
        self._open()
        pinned = state_at(self._world.manifest, self._branch, point)
        runs, plans = self._runs.another(), self._plans
        return Graph(
            self._world,
            self._keeper,
            pinned.branch,
            self._author,
            read_only=True,
            plans=plans,
            pinned=pinned,
            runs=runs,
        )

    def commits(self, branch: str | None = None, limit: int | None = None) -> list[GraphCommit]:
        """Commits that led to the branch's head, newest first."""
        self._open()
        found = {commit.id: commit for commit in self._world.manifest.commits(branch or self._branch)}
        chain: list[GraphCommit] = []
        at: str | None = self.head if branch is None else self._world.manifest.current(branch).snapshot.head
        while at is not None and at in found and (limit is None or len(chain) < limit):
            chain.append(found[at])
            at = found[at].parent
        return chain

    # ---- upkeep -----------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Open for writing, finish what a dead writer left.

        What would have to be undone is left for `recover`, or for the next opening; reading works meanwhile.
        """
        self._open()
        if not self._read_only:
            with suppress(RecoveryRequired):
                heal(self._world, self._branch)

    def ensure_indices(self) -> IndexReport:
        """Build the indexes that the schema wants and that are missing. Changes no row and no result of a read."""
        self._open()._session.refuse_read_only()
        return ensure_indices(self._world, self._contract, self._branch, self._author)

    def recover(self) -> list[Recovered]:
        """Finish or undo what dead writers left; opening for writing does the same."""
        self._open()._session.refuse_read_only()
        return recover(self._world)

    def stats(self) -> dict[str, Any]:
        """What the graph holds, in numbers."""
        self._open()
        snapshot = self._session.snapshot()
        return {
            "uri": self.uri,
            "branch": self._branch,
            "head": snapshot.head,
            "manifest_version": snapshot.manifest_version,
            "format": snapshot.stamp,
            "tables": [{"name": pin.key, "rows": pin.row_count, "version": pin.version} for pin in snapshot.tables],
            "pending_operations": pending_operations(self._world),
            "kept": kept_facts(self._world.root),
            "held_ids": asdict(self._world.tables.held_ids.facts()),
        }

    def close(self) -> None:
        """Give everything back, and roll back what BEGIN opened; every later call is refused."""
        self._session.close()
        self._closed = True

    def _open(self) -> Graph:
        refuse_forked()
        if self._closed:
            raise ConflictError("the graph is closed", code="closed", hint="open it again")
        return self

    def __enter__(self) -> Graph:
        return self._open()

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Graph({self.uri!r}, branch={self._branch!r})"
