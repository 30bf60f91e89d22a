"""What a loss of power left of a dataset: torn versions go down to the newest whole one, and nothing else does."""

from __future__ import annotations

from pathlib import Path

import lance
import pyarrow as pa
import pytest

from omnigraph_sql.engine.store.torn import drop_torn, is_torn
from omnigraph_sql.engine.store.versions import version_file, versions_of
from tests.engine.worlds import at

TABLE = "nodes/t"
BRANCH = "nodes/t/tree/review/x"
NAME = "nodes/t/_refs/branches/review%2Fx.json"


def row(number: int) -> pa.Table:
    return pa.table({"n": [number]})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Six versions of a table, and six of a branch that was made from the first."""
    for number in range(1, 7):
        lance.write_dataset(row(number), tmp_path / TABLE, mode="append" if number > 1 else "create")
    lance.dataset(tmp_path / TABLE).create_branch("review/x", 1)
    for number in range(2, 7):
        lance.write_dataset(row(number), tmp_path / BRANCH, mode="append")
    assert versions_of(tmp_path / BRANCH) == versions_of(tmp_path / TABLE) == [6, 5, 4, 3, 2, 1]
    return tmp_path


def spoil(root: Path, home: str, version: int, how: str) -> None:
    """Leave a version as the disk may have kept it."""
    name = version_file(root / home, version)
    match how:
        case "empty":
            name.write_bytes(b"")
        case "gone":
            name.unlink()
        case _:
            newest = lance.dataset(root / home, version=version).get_fragments()[-1]
            (root / home / "data" / newest.metadata.files[0].path).write_bytes(b"")


@pytest.mark.parametrize("home", [TABLE, BRANCH])
@pytest.mark.parametrize(
    ("spoiled", "left"),
    [
        ({}, 6),
        ({6: "empty"}, 5),
        ({6: "no data"}, 5),
        ({6: "empty", 5: "empty"}, 4),
        ({6: "no data", 5: "gone"}, 4),
        ({6: "gone", 5: "empty"}, 4),
        ({6: "empty", 5: "gone", 4: "gone", 3: "gone"}, 2),
        ({6: "empty", 5: "empty", 4: "empty", 3: "empty"}, 2),
    ],
)
def test_torn_versions_go_and_the_newest_whole_one_is_shown(
    home: str, spoiled: dict[int, str], left: int, root: Path
) -> None:
    for version, how in spoiled.items():
        spoil(root, home, version, how)
    assert is_torn(root, home) == (spoiled.get(6, "gone") != "gone" or 5 in spoiled)
    assert drop_torn(root, home) == bool(spoiled)
    assert lance.dataset(root / home).version == left
    assert lance.dataset(root / home).to_table()["n"].to_pylist() == list(range(1, left + 1))
    assert (root / NAME).exists()
    assert not drop_torn(root, home)


def test_more_than_a_writer_can_have_torn_is_left_alone(root: Path) -> None:
    for version in range(2, 7):
        spoil(root, TABLE, version, "empty")
    assert not drop_torn(root, TABLE)
    assert versions_of(root / TABLE) == [6, 5, 4, 3, 2, 1]


def test_a_table_without_a_whole_version_is_left_alone_and_a_branch_without_one_was_never_begun(tmp_path: Path) -> None:
    lance.write_dataset(row(1), tmp_path / TABLE)
    lance.dataset(tmp_path / TABLE).create_branch("review/x", 1)
    for home, mended in ((BRANCH, True), (TABLE, False)):
        spoil(tmp_path, home, 1, "empty")
        assert drop_torn(tmp_path, home) == mended
        assert versions_of(tmp_path / home) == ([] if mended else [1])
    assert not (tmp_path / NAME).exists()


@pytest.mark.parametrize("how", ["empty", "gone"])
def test_a_table_that_was_hardly_begun_can_be_removed(how: str, root: Path) -> None:
    for version in range(1, 7):
        spoil(root, TABLE, version, how)
    tables = at(root).tables
    tables.drop(TABLE)
    tables.drop(TABLE)
    assert not (root / TABLE).exists()
