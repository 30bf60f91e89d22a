"""A small graph, and the writers that are stopped half way through changing it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import pyarrow as pa

from omnigraph_sql.base import limits
from omnigraph_sql.base.catalog import Catalog, TableType
from omnigraph_sql.base.seams import Failpoints, Fault, PlannedFaults, Raise
from omnigraph_sql.bind.schema import compile_schema
from omnigraph_sql.bind.schema_ir import SchemaIR
from omnigraph_sql.engine.load.loader import load
from omnigraph_sql.engine.load.values import LoadMode, Source
from omnigraph_sql.engine.opening import ContractFiles, init, open_for_writing
from omnigraph_sql.engine.recovery.intent import WriterKind
from omnigraph_sql.engine.schema.apply import Growth, SchemaChange, apply
from omnigraph_sql.engine.store.root import GraphRoot
from omnigraph_sql.engine.store.tables import table_schema
from omnigraph_sql.engine.upkeep.indices import ensure_indices
from omnigraph_sql.engine.values import TableIdentity
from omnigraph_sql.engine.world import Seams, World
from omnigraph_sql.engine.write.staging import MutationStaging
from omnigraph_sql.engine.write.txn import Author, Contract, Receipt, WriteTxn, begin, write

SCHEMA = """
node Person { name: String @key  n: I64 }
node Thing { tag: String @key  n: I64 }
edge Likes: Person -> Thing { n: I64? }
"""
WITH_SPARES = f"""{SCHEMA}
node Spare {{ tag: String @key }}
node Old {{ tag: String @key }}
"""
LATER = """
node Person { name: String @key  n: I64 }
node Thing { tag: String @key  n: I64 }
edge Likes: Person -> Thing { n: I64? }
node Spare { tag: String @key  more: [String]? }
node Fresh { tag: String @key }
edge Sees: Person -> Fresh { n: I64? }
"""
FILES = ContractFiles(SCHEMA.encode(), b"{}", b"{}")
BRANCH = "review/x"
WRITER = "bob"

Fill = Callable[[WriteTxn, MutationStaging], None]


class Stop(BaseException):
    """Raised at a failpoint in place of a death: nothing catches it, so nothing after it runs."""


@cache
def catalog() -> Catalog:
    return compile_schema(SCHEMA).catalog


@cache
def later() -> Catalog:
    """The schema once `evolve` has been carried out."""
    return compile_schema(LATER, previous=_with_spares()).catalog


@cache
def _with_spares() -> SchemaIR:
    return compile_schema(WITH_SPARES, previous=compile_schema(SCHEMA))


def person() -> TableType:
    return next(t for t in catalog().tables() if t.name == "Person")


def thing() -> TableType:
    return next(t for t in catalog().tables() if t.name == "Thing")


def likes() -> TableType:
    return next(t for t in catalog().tables() if t.name == "Likes")


def contract(check: Callable[[], None] = lambda: None) -> Contract:
    return Contract(catalog(), "domain", "hash", check)


def world_at(root: Path, *faults: Fault) -> World:
    """The graph at a folder; with faults, the hits of its failpoints are counted too."""
    return world_with(root, PlannedFaults(faults))


def world_with(root: Path, failpoints: Failpoints) -> World:
    return World.at(GraphRoot.parse(root), replace(Seams.system(), failpoints=failpoints))


def nodes(of: TableType, *pairs: tuple[str, int]) -> pa.Table:
    """Rows of a node type: key and number."""
    rows = [{"id": key, of.key[0]: key, "n": number} for key, number in pairs]
    return pa.Table.from_pylist(rows, schema=table_schema(of))


def edges(*rows: tuple[str, str, str, int]) -> pa.Table:
    """Rows of Likes: id, source, target and number."""
    found = [{"id": one, "src": src, "dst": dst, "n": number} for one, src, dst, number in rows]
    return pa.Table.from_pylist(found, schema=table_schema(likes()))


def change(world: World, fill: Fill, branch: str = "main", actor: str = WRITER, kind: str = "Mutation") -> Receipt:
    return write(world, contract, branch, Author(actor), fill, WriterKind(kind))


def make(root: Path) -> None:
    """People, things, and who likes what: three commits."""
    world = world_at(root)
    init(world, FILES, catalog(), actor="ana")
    change(world, _first_nodes, actor="ana")
    change(world, _first_edges, actor="ana")


def _first_nodes(_: WriteTxn, staging: MutationStaging) -> None:
    staging.insert(person(), nodes(person(), *((f"p{i}", i) for i in range(4))))
    staging.insert(thing(), nodes(thing(), *((f"t{i}", i) for i in range(4))))


def _first_edges(_: WriteTxn, staging: MutationStaging) -> None:
    staging.insert(likes(), edges(("l0", "p0", "t0", 0), ("l1", "p1", "t1", 1), ("l2", "p0", "t1", 2)))


def make_spares(root: Path) -> None:
    """A situation: two more tables, with a row each."""
    world = world_at(root)
    made = [t for t in _with_spares().catalog.tables() if t.name in ("Spare", "Old")]
    txn = begin(world, contract(), "main", Author("ana"))
    apply(world, txn, SchemaChange(b"the schema with spares", created=tuple(made)), Author("ana"))

    def fill(_: WriteTxn, staging: MutationStaging) -> None:
        for of in made:
            staging.insert(of, pa.Table.from_pylist([{"id": "s", "tag": "s"}], schema=table_schema(of)))

    known = Contract(_with_spares().catalog, "domain", "hash", lambda: None)
    write(world, lambda: known, "main", Author("ana"), fill)


# ---- what writers do ------------------------------------------------------------------------------------------


def insert(_: WriteTxn, staging: MutationStaging) -> None:
    staging.insert(person(), nodes(person(), ("p10", 10), ("p11", 11)))
    staging.insert(thing(), nodes(thing(), ("t10", 10)))
    staging.insert(likes(), edges(("l10", "p10", "t10", 10)))


def upsert(_: WriteTxn, staging: MutationStaging) -> None:
    staging.upsert(person(), nodes(person(), ("p0", 100), ("p12", 12)))
    staging.upsert(thing(), nodes(thing(), ("t0", 100)))


def next_one(_: WriteTxn, staging: MutationStaging) -> None:
    staging.insert(person(), nodes(person(), ("next", 0)))
    staging.insert(thing(), nodes(thing(), ("next", 0)))
    staging.insert(likes(), edges(("next", "next", "next", 0)))


def overwrite(_: WriteTxn, staging: MutationStaging) -> None:
    staging.overwrite(thing(), nodes(thing(), ("t0", 7), ("t1", 8), ("t9", 9)))
    staging.overwrite(likes(), edges(("l9", "p3", "t9", 9)))


def update(world: World) -> Fill:
    """New numbers for rows that are read first."""

    def fill(txn: WriteTxn, staging: MutationStaging) -> None:
        for of, keys in ((person(), ["p1", "p2"]), (thing(), ["t1"])):
            pin = txn.base.pin(TableIdentity.of(of))
            assert pin is not None
            found = world.tables.rows(world.tables.open(pin), pa.array(keys)).to_pylist()
            staging.update(of, nodes(of, *((row["id"], row["n"] + 1000) for row in found)))

    return fill


def delete(world: World) -> Fill:
    """A node goes, and the edges at it go with it."""

    def fill(txn: WriteTxn, staging: MutationStaging) -> None:
        pin = txn.base.pin(TableIdentity.of(likes()))
        assert pin is not None
        staging.delete(likes(), world.tables.touching(world.tables.open(pin), "src", pa.array(["p0"])))
        staging.delete(person(), pa.array(["p0"]))

    return fill


def loading(mode: str, branch: str) -> Callable[[World], object]:
    """A load of people, a thing and an edge; when it merges, some of them are known."""

    def act(world: World) -> object:
        first, last = ("p0", "t0") if mode == "merge" else ("p30", "t30")
        sources = [
            Source(nodes(person(), (first, 30), ("p31", 31)), "Person"),
            Source(nodes(thing(), (last, 30), ("t1", 31)) if mode != "append" else nodes(thing(), (last, 30)), "Thing"),
            Source(edges(("l30", first, last, 30)), "Likes"),
        ]
        return load(world, contract, branch, Author(WRITER), sources, LoadMode(mode))

    return act


def _indexing(branch: str) -> Callable[[World], object]:
    return lambda world: ensure_indices(world, contract, branch, Author(WRITER))


def evolve(world: World) -> object:
    """Two tables come, one goes, one grows, and another schema is in force."""
    old, new = ({t.name: t for t in of.tables()} for of in (_with_spares().catalog, later()))
    wanted = SchemaChange(
        b"the later schema",
        created=(new["Fresh"], new["Sees"]),
        dropped=(old["Old"],),
        grown=(Growth(new["Spare"], ("more",)),),
    )
    return apply(world, begin(world, contract(), "main", Author(WRITER)), wanted, Author(WRITER))


def create_only(world: World) -> object:
    """One table comes: nothing there is touched."""
    of = next(t for t in _with_spares().catalog.tables() if t.name == "Spare")
    wanted = SchemaChange(b"the schema with one more table", created=(of,))
    return apply(world, begin(world, contract(), "main", Author(WRITER)), wanted, Author(WRITER))


# ---- scenes ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scene:
    """One writer in one situation. `prepare` sets the situation up from the graph `make` makes; `act` is the writer."""

    name: str
    act: Callable[[World], object]
    prepare: Callable[[Path], None] = field(default=lambda _: None)
    branch: str = "main"
    small: bool = False
    """Whether the writer tidies up and indexes at once, as it otherwise does when there is enough to do."""


@contextmanager
def tidying(small: bool) -> Iterator[None]:
    """With `small`, files are merged, the manifest is compacted and tables are indexed at once."""
    names = ("MANIFEST_FRAGMENTS_MAX", "SMALL_FRAGMENTS_MAX", "INDEXED_ROWS_MIN")
    before = {name: getattr(limits, name) for name in names}
    for name in names if small else ():
        setattr(limits, name, 0)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(limits, name, value)


def make_branch(root: Path, name: str = BRANCH) -> None:
    """A branch of main as it is."""
    world = world_at(root)
    world.manifest.table.create_branch(name, world.manifest.table.open("main"))


def _branch_moved(root: Path) -> None:
    """A branch that has tables of its own already, while main went on."""
    make_branch(root)
    change(world_at(root), lambda _, s: s.insert(thing(), nodes(thing(), ("t20", 20))), BRANCH, actor="ana")
    change(world_at(root), lambda _, s: s.insert(person(), nodes(person(), ("p20", 20))), actor="ana")


def stopped(name: str, hit: int = 1, branch: str = "main") -> Callable[[Path], None]:
    """A situation: another insert was stopped at a failpoint."""

    def prepare(root: Path) -> None:
        if branch != "main":
            make_branch(root)
        try:
            change(world_at(root, Fault(name, Raise(Stop()), hit)), insert, branch)
        except Stop:
            return
        raise AssertionError(f"{name} was not reached {hit} times")

    return prepare


def evolution_stopped(name: str, hit: int = 1) -> Callable[[Path], None]:
    """A situation: a change of the schema was stopped at a failpoint."""

    def prepare(root: Path) -> None:
        make_spares(root)
        try:
            evolve(world_at(root, Fault(name, Raise(Stop()), hit)))
        except Stop:
            return
        raise AssertionError(f"{name} was not reached {hit} times")

    return prepare


def _as_it_is(_: Path) -> None:
    """A situation in which nothing else has happened."""


def _writing(fill: Callable[[World], Fill], branch: str, kind: str = "Mutation") -> Callable[[World], object]:
    return lambda world: change(world, fill(world), branch, kind=kind)


def _scenes() -> Iterator[Scene]:
    for branch, mark, prepare in (
        ("main", "", _as_it_is),
        (BRANCH, " on a new branch", make_branch),
        (BRANCH, " on a branch with tables of its own", _branch_moved),
    ):
        yield Scene(f"insert{mark}", _writing(lambda _: insert, branch), prepare, branch)
        yield Scene(f"upsert{mark}", _writing(lambda _: upsert, branch), prepare, branch)
        yield Scene(f"update{mark}", _writing(update, branch), prepare, branch)
        yield Scene(f"delete{mark}", _writing(delete, branch), prepare, branch)
        yield Scene(f"overwrite{mark}", _writing(lambda _: overwrite, branch, "Load"), prepare, branch)
        for mode in LoadMode:
            yield Scene(f"load that {mode}s{mark}", loading(mode, branch), prepare, branch)
        yield Scene(f"indexing{mark}", _indexing(branch), prepare, branch, small=True)
    yield Scene("load of nothing", lambda w: load(w, contract, "main", Author(WRITER), [], LoadMode.APPEND))
    yield Scene("insert that tidies up", lambda w: change(w, insert), small=True)
    yield Scene("upsert that tidies up", lambda w: change(w, upsert), small=True)
    for name, hit, mark in (
        ("arm.after", 1, "discards"),
        ("commit.after_table", 1, "rolls one table back"),
        ("confirm.before", 1, "rolls all tables back"),
        ("confirm.after", 1, "rolls forward"),
        ("publish.after", 1, "finishes"),
    ):
        yield Scene(f"open that {mark}", open_for_writing, stopped(name, hit))
    yield Scene("open that rolls a branch back", open_for_writing, stopped("commit.after_table", 2, BRANCH), BRANCH)
    yield Scene("open that rolls a branch forward", open_for_writing, stopped("confirm.after", 1, BRANCH), BRANCH)
    yield Scene("schema change", evolve, make_spares)
    yield Scene("new table", create_only)
    for name, hit, mark in (
        ("arm.after", 1, "discards a schema change"),
        ("commit.after_create", 1, "undoes a schema change"),
        ("confirm.after", 1, "finishes a schema change"),
    ):
        yield Scene(f"open that {mark}", open_for_writing, evolution_stopped(name, hit))
    waiting = evolution_stopped("confirm.after")
    yield Scene("upsert that finishes a schema change first", lambda w: change(w, upsert), waiting)
    for name, mark in (("arm.after", "discards"), ("confirm.after", "rolls forward"), ("publish.after", "finishes")):
        yield Scene(f"upsert that {mark} first", lambda w: change(w, upsert), stopped(name))


SCENES: dict[str, Scene] = {scene.name: scene for scene in _scenes()}
