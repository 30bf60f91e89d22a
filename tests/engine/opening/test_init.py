"""Making a graph: all of it or nothing, once, and what a dead attempt left is cleared by the next."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from omnigraph_sql import graph
from omnigraph_sql.base.errors import ConflictError, FormatError, OmniError, StorageError
from omnigraph_sql.base.seams import Fault, PlannedFaults, Raise
from omnigraph_sql.engine import opening
from omnigraph_sql.engine.store.root import AUDIT, CLAIM, MANIFEST, RECOVERY, SCHEMA_IR, SCHEMA_STATE, SCHEMA_TEXT
from omnigraph_sql.engine.values import table_path
from omnigraph_sql.engine.world import World
from omnigraph_sql.run.contract import ContractKeeper, contract_files, decode_contract
from tests.engine.recovery.crashes import Died
from tests.engine.worlds import SCHEMA, at, digest, held, make, seams, small_schema, upsert

CONTRACT = (SCHEMA_TEXT, SCHEMA_IR, SCHEMA_STATE)
STEPS = ["init.after_contract", "init.after_table", "init.before_manifest", "init.after_manifest"]


def entries(root: Path) -> set[str]:
    """What lies in a graph's folder; leases are files that stay."""
    found = {str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()}
    return {name for name in found if not name.startswith(f"{RECOVERY}/.lease-")}


def usable(root: Path) -> None:
    """A graph that can be opened, written to and read."""
    world = at(root)
    opening.open_for_writing(world)
    opening.check_tables(ContractKeeper.open(world).ir.catalog, opening.open_for_reading(world, "main"))
    upsert(world, {"x": 1})
    assert held(at(root)) == {"x": 1}
    assert not (root / CLAIM).exists()


def test_a_new_graph_has_a_contract_a_manifest_tables_and_one_commit(tmp_path: Path) -> None:
    world = make(tmp_path / "g", actor="ann")
    ir = small_schema()
    tables = {table_path(of) for of in ir.catalog.tables()}
    assert {p.name for p in (tmp_path / "g").iterdir()} == {*CONTRACT, MANIFEST, AUDIT, RECOVERY, "nodes"}
    assert {f"nodes/{p.name}" for p in (tmp_path / "g" / "nodes").iterdir()} == tables
    snapshot = opening.open_for_reading(at(tmp_path / "g"), "main")
    assert {(pin.path, pin.version, pin.row_count) for pin in snapshot.tables} == {(path, 1, 0) for path in tables}
    (genesis,) = world.manifest.commits("main")
    assert (genesis.id, genesis.parent, genesis.actor, genesis.version) == (snapshot.head, None, "ann", 1)
    assert decode_contract(opening.read_contract(at(tmp_path / "g"))) == ir
    assert entries(tmp_path / "g") & {CLAIM} == set()
    usable(tmp_path / "g")


def test_there_is_one_graph_at_a_place(tmp_path: Path) -> None:
    upsert(make(tmp_path / "g"), {"a": 1})
    before = digest(tmp_path)
    for force in (False, True):
        with pytest.raises(ConflictError, match="already") as caught:
            make(tmp_path / "g", force=force)
        assert (caught.value.code, caught.value.hint) == ("exists", "open it instead")
    assert digest(tmp_path) == before


def test_schema_files_without_a_graph_are_replaced_only_by_force(tmp_path: Path) -> None:
    root = tmp_path / "g"
    root.mkdir()
    (root / SCHEMA_TEXT).write_text("mine")
    (root / "notes.txt").write_text("keep")
    with pytest.raises(ConflictError, match=f"{SCHEMA_TEXT} lie at") as caught:
        make(root)
    assert caught.value.code == "orphan_schema"
    assert entries(root) == {SCHEMA_TEXT, "notes.txt"}
    assert (root / SCHEMA_TEXT).read_text() == "mine"
    make(root, force=True)
    assert (root / "notes.txt").read_text() == "keep"
    usable(root)


@pytest.mark.parametrize(
    ("step", "at_hit"), [*((step, 1) for step in STEPS), ("init.after_contract", 2), ("init.after_table", 2)]
)
def test_a_failure_before_the_manifest_leaves_nothing_and_after_it_a_graph(
    tmp_path: Path, step: str, at_hit: int
) -> None:
    error = StorageError("stop", kind="unknown")
    with pytest.raises(StorageError, match="stop"):
        make(tmp_path / "g", seams(Fault(step, Raise(error), at_hit)))
    if step == "init.after_manifest":
        usable(tmp_path / "g")
    else:
        assert entries(tmp_path / "g") == set()
        make(tmp_path / "g")
        usable(tmp_path / "g")


class Dead:
    """Failpoints of a process that dies at a place: from then on it does nothing any more."""

    def __init__(self, place: str) -> None:
        self._place, self._dead = place, False

    def hit(self, name: str) -> None:
        self._dead = self._dead or name == self._place
        if self._dead:
            raise Died


@pytest.mark.parametrize("step", STEPS)
def test_what_a_dead_attempt_left_is_cleared_by_the_next(tmp_path: Path, step: str) -> None:
    with pytest.raises(Died):
        make(tmp_path / "g", seams(failpoints=Dead(step)))
    assert CLAIM in entries(tmp_path / "g")
    if step == "init.after_manifest":
        with pytest.raises(ConflictError):
            make(tmp_path / "g")
        upsert(at(tmp_path / "g"), {"x": 1})
    else:
        with pytest.raises(StorageError, match="there is no graph"):
            opening.open_for_writing(at(tmp_path / "g"))
        make(tmp_path / "g")
        usable(tmp_path / "g")


KILLED = """
import sys
from pathlib import Path
from omnigraph_sql.base.seams import Fault, Kill
from tests.engine.worlds import make, seams
make(Path(sys.argv[1]), seams(Fault(sys.argv[2], Kill())))
"""


@pytest.mark.parametrize("step", ["init.after_table", "init.before_manifest"])
def test_what_a_killed_process_left_is_cleared_by_the_next(tmp_path: Path, step: str) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "g"), step], check=False, timeout=120)
    assert done.returncode == -9
    make(tmp_path / "g")
    usable(tmp_path / "g")


DEEP = b"[" * 100_000


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"{}", b'{"tables": 3}', b"\xff", DEEP])
def test_a_damaged_claim_is_not_believed(tmp_path: Path, body: bytes) -> None:
    root = tmp_path / "g"
    root.mkdir()
    (root / CLAIM).write_bytes(body)
    with pytest.raises(FormatError, match="damaged"):
        make(root)
    assert entries(root) == {CLAIM}


def test_a_claim_does_not_send_the_clearing_elsewhere(tmp_path: Path) -> None:
    upsert(make(tmp_path / "other"), {"a": 1})
    before = digest(tmp_path / "other")
    inside = next(p.name for p in (tmp_path / "other" / "nodes").iterdir())
    root = tmp_path / "g"
    root.mkdir()
    (root / "nodes" / "mine").mkdir(parents=True)
    (root / "nodes" / "mine" / "kept").touch()
    paths = [
        f"nodes/../../other/nodes/{inside}",
        str(tmp_path / "other"),
        "../other",
        "nodes/",
        "nodes/..",
        "nodes/mine",
    ]
    (root / CLAIM).write_text(json.dumps({"attempt": "x", "tables": paths}))
    make(root)
    assert digest(tmp_path / "other") == before
    assert (root / "nodes" / "mine" / "kept").exists()
    usable(root)


def test_the_first_error_is_told_when_cleaning_up_fails_too(tmp_path: Path) -> None:
    faults = (
        Fault("init.before_manifest", Raise(StorageError("first", kind="unknown"))),
        Fault("store.drop", Raise(OSError("second"))),
    )
    with pytest.raises(StorageError, match="first"):
        make(tmp_path / "g", seams(*faults))
    assert CLAIM in entries(tmp_path / "g")
    make(tmp_path / "g")
    usable(tmp_path / "g")


def test_a_manifest_whose_answer_was_lost_is_ours_if_its_first_commit_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = at(tmp_path / "g")
    create = world.manifest.table.create

    def answer_lost(*given: Any) -> Any:
        create(*given)
        raise StorageError("timed out", kind="transient")

    monkeypatch.setattr(world.manifest.table, "create", answer_lost)
    ir = small_schema()
    opening.init(world, contract_files(ir), ir.catalog)
    usable(tmp_path / "g")


def test_an_unknown_outcome_that_cannot_be_looked_up_keeps_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = at(tmp_path / "g")
    table = world.manifest.table
    create = table.create

    def unanswered(*_: object) -> Any:
        raise StorageError("no answer", kind="transient")

    def answer_lost(*given: Any) -> Any:
        create(*given)
        monkeypatch.setattr(table, "open", unanswered)
        raise StorageError("timed out", kind="transient")

    monkeypatch.setattr(table, "create", answer_lost)
    ir = small_schema()
    with pytest.raises(StorageError):
        opening.init(world, contract_files(ir), ir.catalog)
    assert {CLAIM, *CONTRACT} <= entries(tmp_path / "g")
    upsert(at(tmp_path / "g"), {"x": 1})
    assert held(at(tmp_path / "g")) == {"x": 1}


# ---- several at once ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("force", [(False, False, False), (True, False, True)])
def test_of_several_inits_at_once_one_wins_and_its_graph_is_whole(tmp_path: Path, force: tuple[bool, ...]) -> None:
    barrier = threading.Barrier(len(force), timeout=60)

    def run(forced: bool) -> str:
        barrier.wait()
        try:
            return graph.init(tmp_path / "g", schema=SCHEMA, force=forced).head
        except ConflictError as error:
            return error.code

    with ThreadPoolExecutor(len(force)) as pool:
        outcomes = list(pool.map(run, force))
    assert outcomes.count("exists") == len(force) - 1
    (winner,) = [o for o in outcomes if o != "exists"]
    assert at(tmp_path / "g").manifest.current("main").snapshot.head == winner
    usable(tmp_path / "g")


PROCESS = """
import sys
from omnigraph_sql import graph
from omnigraph_sql.base.errors import ConflictError
from tests.engine.worlds import SCHEMA
sys.stdin.readline()
try:
    print(graph.init(sys.argv[1], schema=SCHEMA).head)
except ConflictError as error:
    print(error.code)
"""


def test_of_several_processes_one_makes_the_graph(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROCESS, str(tmp_path / "g")]
    running = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    for one in running:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    outcomes = [one.communicate(timeout=120)[0].strip() for one in running]
    assert [one.returncode for one in running] == [0, 0, 0]
    assert outcomes.count("exists") == 2
    (winner,) = [o for o in outcomes if o != "exists"]
    assert at(tmp_path / "g").manifest.current("main").snapshot.head == winner
    usable(tmp_path / "g")


# ---- what storage must be able to do --------------------------------------------------------------------------------


class Overwriting:
    """Objects of a store that overwrites where it should refuse."""

    def __init__(self, world: World) -> None:
        self._objects = world.objects

    def put_new(self, path: str, body: bytes) -> bool:
        self._objects.put(path, body)
        return True

    def __getattr__(self, name: str) -> object:
        return getattr(self._objects, name)


def overwriting(root: Path) -> World:
    world = at(root)
    objects: Any = Overwriting(world)
    return replace(world, objects=objects)


def test_storage_that_does_not_create_atomically_is_refused_by_init_and_by_a_writing_open(tmp_path: Path) -> None:
    ir = small_schema()
    with pytest.raises(StorageError, match="atomically") as caught:
        opening.init(overwriting(tmp_path / "new"), contract_files(ir), ir.catalog)
    assert caught.value.kind == "configuration"
    assert entries(tmp_path / "new") == set()
    make(tmp_path / "g")
    before = digest(tmp_path)
    with pytest.raises(StorageError, match="atomically"):
        opening.open_for_writing(overwriting(tmp_path / "g"))
    assert digest(tmp_path) == before
    opening.open_for_reading(overwriting(tmp_path / "g"), "main")


def test_the_probe_leaves_nothing_and_deletes_nothing_foreign(tmp_path: Path) -> None:
    make(tmp_path / "g")
    world = at(tmp_path / "g")
    taken, free = world.seams.ids.ulid(), world.seams.ids.ulid()

    given = [taken, free]

    class Ids:
        def ulid(self) -> str:
            return given.pop(0) if given else world.seams.ids.ulid()

    foreign = tmp_path / "g" / RECOVERY / f".probe-{taken}"
    foreign.write_text("foreign")
    before = digest(tmp_path)
    opening.open_for_writing(replace(world, seams=replace(world.seams, ids=Ids())))  # type: ignore[arg-type]
    assert given == []
    assert digest(tmp_path) == before
    assert foreign.read_text() == "foreign"


@pytest.mark.parametrize("place", ["store.put_new", "store.put", "store.create", "manifest.create", "audit.create"])
def test_a_storage_failure_of_init_is_told_and_leaves_no_graph(tmp_path: Path, place: str) -> None:
    faults = PlannedFaults([Fault(place, Raise(OSError(28, "No space left on device")))])
    with pytest.raises(OmniError, match="No space left"):
        make(tmp_path / "g", seams(failpoints=faults))
    assert faults.hits(place) >= 1
    assert entries(tmp_path / "g") == set()
    make(tmp_path / "g")
    usable(tmp_path / "g")
