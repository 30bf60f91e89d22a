"""`ogsql init`, `stats` and `recover`: making a graph, looking at it, and cleaning up after writers that died."""

import json
import re
from pathlib import Path

import pytest

import omnigraph_sql
from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import RecoveryRequired, StorageError
from omnigraph_sql.base.seams import Fault, PlannedFaults, Raise, SystemClock, SystemPause, UlidSource
from omnigraph_sql.engine.store.root import GraphRoot
from omnigraph_sql.engine.world import Seams, World
from tests.cli.conftest import Command

INSERT = "INSERT INTO Airport (code, city) VALUES ('AQP', 'Arequipa')"


def leave_behind(graph: str, place: str) -> None:
    """A writer that stops at a place after arming."""
    faults = PlannedFaults([Fault(place, Raise(StorageError("planned", kind="unknown")))])
    clock = SystemClock()
    seams = Seams(clock, UlidSource(clock), faults, SystemPause())
    with omnigraph_sql.open(graph, seams=seams) as opened, pytest.raises(RecoveryRequired):
        opened.sql(INSERT)
    assert faults.hits(place) == 1


def test_init_makes_a_graph_that_can_be_used(ogsql: Command) -> None:
    done = ogsql("init", "new.omni", "--schema", "air.pg", "--actor", "ana")
    assert (done.code, done.out) == (0, "")
    assert re.fullmatch(r"made new.omni: 1 node type, 1 edge type, commit [0-9A-Z]{26}\n", done.err)
    assert ogsql("new.omni", "-c", INSERT).code == 0
    with omnigraph_sql.open("new.omni", read_only=True) as graph:
        assert graph.commits()[-1].actor == "ana"


def test_init_refuses_a_place_that_holds_a_graph_whatever_force_says(ogsql: Command, air: str) -> None:
    for force in ((), ("--force",)):
        done = ogsql("init", air, "--schema", "air.pg", *force)
        assert (done.code, done.out) == (1, "")
        assert done.err.startswith("error[exists]: there is a graph at ")
        assert "  = hint: " in done.err


def test_force_replaces_schema_files_that_lie_there_without_a_graph(ogsql: Command, folder: Path) -> None:
    (folder / "new.omni").mkdir()
    (folder / "new.omni" / "_schema.pg").write_text("node Old { k: String @key }")
    refused = ogsql("init", "new.omni", "--schema", "air.pg")
    assert (refused.code, "error[orphan_schema]: " in refused.err) == (1, True)
    assert ogsql("init", "new.omni", "--schema", "air.pg", "--force").code == 0


@pytest.mark.parametrize(("schema", "code"), [("bad.pg", 1), ("none.pg", 2), (".", 2)])
def test_init_with_a_wrong_schema_leaves_nothing_behind(ogsql: Command, folder: Path, schema: str, code: int) -> None:
    (folder / "bad.pg").write_text("node A { k: Strin @key }")
    done = ogsql("init", "new.omni", "--schema", schema)
    assert (done.code, done.out) == (code, "")
    assert schema in done.err
    assert not (folder / "new.omni").exists()


def test_stats_shows_tables_head_format_and_what_is_pending(ogsql: Command, air: str) -> None:
    shown, values = ogsql("stats", air), json.loads(ogsql("stats", air, "--format", "json").out)
    assert shown.code == 0
    assert shown.out.splitlines()[-2:] == ["edge:Route       1        2", "node:Airport     2        2"]
    for fact in (values["head"], "pending   no operation", "branches  main", "format    1"):
        assert fact in shown.out
    assert values["tables"] == [
        {"name": "edge:Route", "rows": 1, "version": 2},
        {"name": "node:Airport", "rows": 2, "version": 2},
    ]
    assert (values["pending_operations"], values["branches"]) == (0, ["main"])


def test_a_graph_without_unfinished_operations_needs_no_recovery(ogsql: Command, air: str) -> None:
    for arguments in (("recover", air), ("recover", air, "--dry-run")):
        done = ogsql(*arguments)
        assert (done.code, done.out, done.err) == (0, "", "nothing is unfinished\n")
        assert ogsql(*arguments, "--format", "json").out == "[]\n"


@pytest.mark.parametrize(
    ("place", "phase", "outcome", "rows"),
    [
        ("commit.before_table", "Armed", "Discarded", 2),
        ("confirm.before", "Armed", "RolledBack", 2),
        ("publish.before", "EffectsConfirmed", "RolledForward", 3),
    ],
)
def test_recovery_is_announced_by_a_dry_run_and_told_when_done(
    ogsql: Command, air: str, place: str, phase: str, outcome: str, rows: int
) -> None:
    leave_behind(air, place)
    assert "pending   1 operation; ogsql recover --dry-run lists them" in ogsql("stats", air).out
    (pending,) = json.loads(ogsql("recover", air, "--dry-run", "--format", "json").out)
    assert (pending["phase"], pending["writer"], pending["tables"]) == (phase, "Mutation", "node:Airport")
    done = ogsql("recover", air)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[-1].split() == [pending["operation"], outcome, "main"]
    assert json.loads(ogsql(air, "-c", "SELECT count(*) AS n FROM Airport", "--format", "json").out) == [{"n": rows}]
    assert ogsql("recover", air).err == "nothing is unfinished\n"


def test_reading_works_while_an_operation_is_unfinished(ogsql: Command, air: str, folder: Path) -> None:
    leave_behind(air, "confirm.before")
    assert json.loads(ogsql(air, "-c", "SELECT count(*) AS n FROM Airport", "--format", "json").out) == [{"n": 2}]
    assert len([p for p in (folder / air / "__recovery").iterdir() if not p.name.startswith(".")]) == 1


def test_an_intent_nobody_understands_stops_writers_and_not_readers(ogsql: Command, air: str, folder: Path) -> None:
    (folder / air / "__recovery" / "junk.json").write_text("{}")
    for arguments in (("recover", air), ("recover", air, "--dry-run"), (air, "-c", INSERT)):
        done = ogsql(*arguments)
        assert (done.code, done.out) == (1, "")
        assert done.err.startswith("error[recovery_required]: ")
        assert "  = hint: " in done.err
    assert ogsql(air, "-c", "SELECT 1").code == 0


def test_a_graph_locked_by_another_writer_is_worth_repeating(
    ogsql: Command, air: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "LEASE_WAIT_SECONDS_MAX", 0)
    with World.at(GraphRoot.parse(air)).leases.hold("main"):
        done = ogsql(air, "-c", INSERT)
        read = ogsql(air, "-c", "SELECT 1 AS one", "--format", "csv")
    assert (done.code, done.out) == (3, "")
    assert "another writer" in done.err
    assert "  = hint: nothing was written; repeat" in done.err
    assert (read.code, read.out) == (0, "one\n1\n")
    assert ogsql(air, "-c", INSERT).code == 0


def test_lint_and_explain_can_ask_a_graph_for_its_schema(ogsql: Command, air: str) -> None:
    text = "SELECT city FROM Airport WHERE code = 'LIM'"
    plan = ogsql("explain", "--schema", "air.pg", text).out
    assert ogsql("explain", air, text).out == plan
    assert ogsql("explain", "--graph", air, text).out == plan
    assert ogsql("explain", air, "-f", "air.gq").out == ogsql("explain", "--schema", "air.pg", "-f", "air.gq").out
    assert ogsql("lint", "air.gq", "--graph", air) == ogsql("lint", "air.gq", "--schema", "air.pg")
