"""Opening a graph: what must be there, what must agree, and that reading writes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ulid import ULID

from omnigraph_sql import graph
from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import FormatError, StorageError
from omnigraph_sql.engine import opening
from omnigraph_sql.engine.manifest.publisher import Delta, Lineage, Publication, publish
from omnigraph_sql.engine.manifest.rows import TableRow, TombstoneRow
from omnigraph_sql.engine.store.root import RECOVERY, SCHEMA_IR, SCHEMA_STATE, SCHEMA_TEXT
from omnigraph_sql.engine.values import TableIdentity, TablePin
from tests.engine.recovery.crashes import crash
from tests.engine.worlds import SCHEMA, START, at, digest, held, pin_of, sidecars, upsert

CONTRACT = (SCHEMA_TEXT, SCHEMA_IR, SCHEMA_STATE)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    graph.init(tmp_path / "g", schema=SCHEMA)
    return tmp_path / "g"


def refused(root: Path, error: type[Exception], text: str) -> None:
    """Every way to open the graph is refused, and nothing changes."""
    before = digest(root)
    for read_only in (True, False):
        with pytest.raises(error, match=text):
            graph.open(root, read_only=read_only)
    assert digest(root) == before


def test_a_graph_that_is_not_there_is_not_found_and_not_made(tmp_path: Path) -> None:
    for read_only in (True, False):
        with pytest.raises(StorageError, match="there is no graph at") as caught:
            graph.open(tmp_path / "nowhere", read_only=read_only)
        assert caught.value.kind == "not_found"
    assert list(tmp_path.iterdir()) == []


def test_an_opened_graph_is_the_one_that_was_made(root: Path) -> None:
    upsert(at(root), {"a": 1})
    opened = graph.open(root)
    assert opened.schema_text == SCHEMA
    assert held(at(root)) == {"a": 1}
    assert opened.head == at(root).manifest.current("main").snapshot.head


def test_reading_writes_nothing_even_next_to_a_dead_writer(root: Path) -> None:
    upsert(at(root), {"a": 1})
    crash(root, "confirm.after", {"b": 2})
    before = digest(root)
    graph.open(root, read_only=True)
    assert held(at(root)) == {"a": 1}
    opening.read_contract(at(root))
    assert digest(root) == before
    graph.open(root)
    assert held(at(root)) == {"a": 1, "b": 2}
    assert sidecars(at(root)) == []


def test_opening_for_writing_leaves_no_trace_when_nothing_is_pending(root: Path) -> None:
    upsert(at(root), {"a": 1})
    before = digest(root)
    graph.open(root)
    assert digest(root) == before


@pytest.mark.parametrize("missing", [*((name,) for name in CONTRACT), CONTRACT])
def test_missing_schema_files_are_named(root: Path, missing: tuple[str, ...]) -> None:
    for name in missing:
        (root / name).unlink()
    refused(root, FormatError, f"schema files are missing: {', '.join(missing)}")


def test_a_branch_that_is_not_there_is_not_found(root: Path) -> None:
    with pytest.raises(StorageError, match="there is no branch nope"):
        graph.open(root, branch="nope")


# ---- edited files ---------------------------------------------------------------------------------------------------


def edit_state(**facts: object) -> Callable[[Path], object]:
    def act(root: Path) -> None:
        found = json.loads((root / SCHEMA_STATE).read_text())
        (root / SCHEMA_STATE).write_text(json.dumps({**found, **facts}))

    return act


def edit(name: str, old: str, new: str) -> Callable[[Path], object]:
    def act(root: Path) -> None:
        text = (root / name).read_text()
        assert old in text
        (root / name).write_text(text.replace(old, new))

    return act


EDITS: dict[str, Callable[[Path], object]] = {
    "text means something else": edit(SCHEMA_TEXT, "age: I32?", "age: I64?"),
    "text has one more type": edit(SCHEMA_TEXT, "node Place", "node Extra { k: String @key }\nnode Place"),
    "text does not parse": edit(SCHEMA_TEXT, "node Place", "nod Place"),
    "text is not UTF-8": lambda root: (root / SCHEMA_TEXT).write_bytes(b"\xff\xfe"),
    "text is empty": lambda root: (root / SCHEMA_TEXT).write_bytes(b""),
    "compiled form changed": edit(SCHEMA_IR, "Place", "Plaza"),
    "compiled form reformatted": lambda root: (root / SCHEMA_IR).write_bytes((root / SCHEMA_IR).read_bytes() + b" "),
    "compiled form cut": lambda root: (root / SCHEMA_IR).write_bytes((root / SCHEMA_IR).read_bytes()[:50]),
    "compiled form empty": lambda root: (root / SCHEMA_IR).write_bytes(b""),
    "state of another domain": edit_state(identity_domain="1" * 26),
    "state of another schema": edit_state(ir_hash="0" * 64),
    "state of another shape": edit_state(shape_hash="0" * 64),
    "state of an older format": edit_state(format=0),
    "state of a newer format": edit_state(format=2),
    "state is a list": lambda root: (root / SCHEMA_STATE).write_text("[]"),
    "state is cut": lambda root: (root / SCHEMA_STATE).write_text('{"format": 1'),
    "state is deep": lambda root: (root / SCHEMA_STATE).write_text("[" * 100_000),
}


@pytest.mark.parametrize("act", EDITS.values(), ids=EDITS.keys())
def test_schema_files_that_do_not_belong_together_are_refused(root: Path, act: Callable[[Path], object]) -> None:
    act(root)
    refused(root, FormatError, "schema")


def test_comments_of_the_text_may_be_edited(root: Path) -> None:
    edit(SCHEMA_TEXT, "node Place", "// a comment\n\nnode   Place")(root)
    opened = graph.open(root)
    assert "a comment" in opened.schema_text


# ---- schema and manifest --------------------------------------------------------------------------------------------


def change_manifest(root: Path, delta: Delta) -> None:
    world = at(root)
    publish(world.manifest, Publication("main", delta, (), None, Lineage(world.seams.ids.ulid(), None, None, START)))


def test_a_table_of_the_schema_that_the_manifest_does_not_show_is_refused(root: Path) -> None:
    pin = pin_of(at(root))
    change_manifest(root, Delta((), (), (TombstoneRow(pin.identity, pin.key, pin.version),)))
    refused(root, FormatError, "disagree about node:Person")


def test_a_table_of_the_manifest_that_the_schema_does_not_know_is_refused(root: Path) -> None:
    identity = TableIdentity(99, 1)
    pin = TablePin(identity, "node:Ghost", "nodes/x", 1, None, 0)
    change_manifest(root, Delta((pin,), (TableRow(identity, pin.key, pin.path),)))
    refused(root, FormatError, "disagree about node:Ghost")


def test_a_foreign_table_under_a_known_name_is_refused(root: Path) -> None:
    pin = pin_of(at(root))
    foreign = replace(pin, identity=TableIdentity(99, 1))
    named = TableRow(foreign.identity, pin.key, pin.path)
    change_manifest(root, Delta((foreign,), (named,), (TombstoneRow(pin.identity, pin.key, pin.version),)))
    refused(root, FormatError, "disagree about")


def test_what_killed_writers_were_about_to_write_is_removed_when_it_is_old(root: Path) -> None:
    """A temporary file or a probe; a young one may belong to a writer at work, and nothing else is touched."""
    now = datetime.now(UTC)
    ages = {"old": limits.LEASE_SECONDS_MAX + 60, "young": limits.LEASE_SECONDS_MAX - 60}
    ids = {age: str(ULID.from_datetime(now - timedelta(seconds=seconds))) for age, seconds in ages.items()}
    names = {age: [f".probe-{one}", f".{one}.json.{one}.tmp"] for age, one in ids.items()}
    other = [f".lease-{ids['old']}", ".tmp", f".x.{ids['old']}", f".probe-{'Z' * 26}"]
    folder = root / RECOVERY
    for name in (*names["old"], *names["young"], *other):
        (folder / name).write_bytes(b"")
    before = {path.name for path in folder.iterdir()}
    graph.open(root, read_only=True)
    assert {path.name for path in folder.iterdir()} == before
    graph.open(root)
    assert before - {path.name for path in folder.iterdir()} == set(names["old"])
