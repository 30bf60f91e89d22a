"""`durability="fsync"`: every file a publish refers to is synced before it, and the publish before its answer."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import omnigraph_sql as og
from omnigraph_sql.base import limits
from omnigraph_sql.base.seams import Fault, PlannedFaults, Raise
from omnigraph_sql.engine.world import Seams

SCHEMA = """
node Airport { code: String @key  city: String  photo: Blob? }
edge Route: Airport -> Airport { miles: I32 }
"""
PASSING = ("latest_version_hint.json", ".lease-", "__init_claim.json")
"""Files that may be lost: hints, locks, and the note of an init that is over."""


class Syncs:
    """What was synced, in order, and how many versions the manifest of main had then."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.seen: list[tuple[int, Path, int]] = []
        self._real: Callable[[int], None] = os.fsync

    def __call__(self, handle: int) -> None:
        self._real(handle)
        path = Path(os.readlink(f"/proc/self/fd/{handle}"))
        self.seen.append((os.fstat(handle).st_ino, path, self.published()))

    def published(self) -> int:
        return len(list((self.root / "__manifest/_versions").glob("*.manifest")))

    @property
    def paths(self) -> set[Path]:
        return {path for _, path, _ in self.seen}

    @property
    def inodes(self) -> set[int]:
        return {inode for inode, _, _ in self.seen}


@pytest.fixture
def syncs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Syncs:
    made = Syncs(tmp_path / "air.omni")
    monkeypatch.setattr(os, "fsync", made)
    return made


def inserted(graph: og.Graph) -> None:
    graph.sql("INSERT INTO Airport (code, city, photo) VALUES ('LIM', 'Lima', x'00ff'), ('CUZ', 'Cusco', NULL)")
    graph.sql("INSERT INTO Route (src, dst, miles) VALUES ('LIM', 'CUZ', 363)")


def unsynced(root: Path, syncs: Syncs) -> list[str]:
    """Files and folders of the graph that were never synced, by a walk of the folder alone."""
    every = [root, *root.rglob("*")]
    lost = [p for p in every if p.stat().st_ino not in syncs.inodes and not p.name.startswith(PASSING)]
    return [str(p.relative_to(root)) for p in lost]


def test_every_file_and_folder_of_every_commit_is_synced(syncs: Syncs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "INDEXED_ROWS_MIN", 1)
    with og.init(syncs.root, schema=SCHEMA, durability="fsync") as graph:
        inserted(graph)
        graph.sql("UPDATE Airport SET city = 'Ciudad de los Reyes' WHERE code = 'LIM'")
        graph.load(pa.table({"code": ["AQP"], "city": ["Arequipa"]}), type="Airport", mode="merge")
        graph.ensure_indices()
        graph.create_branch("review/x")
        other = graph.checkout("review/x")
        other.sql("DELETE FROM Airport WHERE code = 'CUZ'")
        other.load(pa.table({"code": ["TRU"], "city": ["Trujillo"]}), type="Airport", mode="append")
    assert unsynced(syncs.root, syncs) == []


def test_a_manifest_that_compacts_itself_and_tables_that_take_small_files_in_are_synced(
    syncs: Syncs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MANIFEST_FRAGMENTS_MAX", 1)
    monkeypatch.setattr(limits, "SMALL_FRAGMENTS_MAX", 1)
    with og.init(syncs.root, schema=SCHEMA, durability="fsync") as graph:
        for code in ("LIM", "CUZ", "AQP", "TRU"):
            graph.sql("INSERT INTO Airport (code, city) VALUES ($c, 'x')", {"c": code})
        graph.sql("INSERT INTO Airport (code, city) VALUES ('PIU', 'Piura')")
        fragments = graph._world.manifest.current("main").view.dataset.get_fragments()
        needed = {syncs.root / "__manifest/data" / file.path for one in fragments for file in one.data_files()}
    assert needed <= syncs.paths


def test_tables_are_synced_before_the_publish_and_the_publish_before_its_answer(syncs: Syncs) -> None:
    with og.init(syncs.root, schema=SCHEMA, durability="fsync") as graph:
        before, known = syncs.published(), len(syncs.seen)
        graph.sql("INSERT INTO Airport (code, city) VALUES ('LIM', 'Lima')")
        made = syncs.seen[known:]
        tables = [at for _, path, at in made if "nodes" in path.parts]
        manifests = [at for _, path, at in made if "__manifest" in path.parts]
    assert tables
    assert set(tables) == {before}
    assert manifests
    assert set(manifests) == {before + 1}


def test_what_another_writer_left_to_the_system_is_synced_with_the_next_commit(syncs: Syncs) -> None:
    og.init(syncs.root, schema=SCHEMA).close()
    with og.open(syncs.root) as careless:
        inserted(careless)
    data = [p for p in syncs.root.rglob("*.lance") if p.is_file()]
    assert not set(data) & syncs.paths
    with og.open(syncs.root, durability="fsync") as careful:
        careful.sql("INSERT INTO Airport (code, city) VALUES ('AQP', 'Arequipa')")
    assert {path for path in data if "__manifest" not in path.parts} <= syncs.paths


def test_without_the_option_only_control_objects_are_synced(syncs: Syncs) -> None:
    with og.init(syncs.root, schema=SCHEMA) as graph:
        inserted(graph)
    assert not [path for _, path, _ in syncs.seen if path.suffix in (".lance", ".manifest", ".txn")]


def test_a_sync_that_fails_before_the_publish_leaves_nothing_visible(tmp_path: Path) -> None:
    og.init(tmp_path / "g", schema=SCHEMA).close()
    with failing(tmp_path / "g", at_hit=1) as graph, pytest.raises(og.RecoveryRequired):
        graph.sql("INSERT INTO Airport (code, city) VALUES ('LIM', 'Lima')")
    with og.open(tmp_path / "g", read_only=True) as graph:
        assert graph.sql("SELECT count(*) FROM Airport").fetchone() == (0,)
    with og.open(tmp_path / "g", durability="fsync") as graph:
        graph.sql("INSERT INTO Airport (code, city) VALUES ('LIM', 'Lima')")


def test_a_sync_that_fails_after_the_publish_is_no_answer(tmp_path: Path) -> None:
    og.init(tmp_path / "g", schema=SCHEMA).close()
    with failing(tmp_path / "g", at_hit=3) as graph, pytest.raises(og.CommitUnknown) as told:
        graph.sql("INSERT INTO Airport (code, city) VALUES ('LIM', 'Lima')")
    with og.open(tmp_path / "g", durability="fsync") as graph:
        assert graph.commits()[0].id == told.value.commit_id


def failing(root: Path, *, at_hit: int) -> og.Graph:
    """The graph, whose syncs fail once: of the changed table, of the other one, of the manifest."""
    faults = PlannedFaults([Fault("store.sync", Raise(OSError(5, "Input/output error")), at_hit)])
    return og.open(root, durability="fsync", seams=replace(Seams.system(), failpoints=faults))


def test_a_word_that_is_no_durability_is_refused(tmp_path: Path) -> None:
    with pytest.raises(og.StorageError, match="there is no durability 'always'") as told:
        og.init(tmp_path / "g", schema=SCHEMA, durability="always")
    assert told.value.kind == "configuration"
    assert not (tmp_path / "g").exists()
