"""Intents as files: what is written comes back, and nothing of a damaged file is believed."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import OmniError, RecoveryRequired
from omnigraph_sql.engine import opening
from omnigraph_sql.engine.manifest.publisher import Lineage
from omnigraph_sql.engine.manifest.rows import TableRow, TombstoneRow
from omnigraph_sql.engine.recovery.intent import Intent, Outcome, Phase, TableIntent, Token, WriterKind
from omnigraph_sql.engine.recovery.sidecar import Unreadable, decode, encode, is_sidecar, sidecar_path
from omnigraph_sql.engine.store.root import RECOVERY
from omnigraph_sql.engine.values import TableIdentity, TablePin
from tests.engine.damage import BODIES, WRONG, Place, places
from tests.engine.recovery.crashes import crash
from tests.engine.worlds import at, digest, held, make, sidecars, upsert

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
ulids = st.text("0123456789ABCDEFGHJKMNPQRSTVWXYZ", min_size=26, max_size=26)
instants = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-3))]), min_value=datetime(1971, 1, 1))
whole = st.integers(0, 2**63 - 1)
versions = st.integers(1, 2**62)
branches = st.sampled_from(["dev", "a/b.c", "x" * 200])
identities = st.builds(TableIdentity, versions, versions)


def path_of(identity: TableIdentity, folder: str) -> str:
    return f"{folder}/{identity.stable_id:016x}-{identity.incarnation_id:016x}"


@st.composite
def tables(draw: st.DrawFn, branch: str | None) -> TableIntent:
    identity = draw(identities)
    path = path_of(identity, draw(st.sampled_from(["nodes", "edges"])))
    pin = TablePin(identity, draw(texts), path, draw(versions), draw(st.none() | branches), draw(whole))
    return TableIntent(pin, branch, draw(texts), draw(whole), draw(st.booleans()), draw(st.booleans()))


@st.composite
def intents(draw: st.DrawFn) -> Intent:
    branch = draw(st.just("main") | branches)
    own = None if branch == "main" else branch
    named = [TableRow(i, draw(texts), path_of(i, "nodes")) for i in draw(st.lists(identities, max_size=2))]
    planned = draw(st.lists(tables(own), max_size=3, unique_by=lambda t: t.identity))
    new = draw(st.lists(identities, max_size=2, unique=True))
    known = {t.identity for t in planned}
    created = [TablePin(i, draw(texts), path_of(i, "edges"), draw(versions), None, 0) for i in new if i not in known]
    return Intent(
        draw(ulids),
        draw(st.sampled_from(WriterKind)),
        draw(instants),
        Token(branch, draw(texts), draw(st.none() | texts), draw(texts), draw(texts)),
        tuple(planned),
        Lineage(draw(ulids), draw(st.none() | texts), draw(st.none() | texts), draw(instants), draw(st.none() | texts)),
        draw(ulids),
        draw(whole),
        draw(st.sampled_from(Phase)),
        draw(st.sampled_from(Outcome)),
        tuple(named),
        tuple(TombstoneRow(i, draw(texts), draw(versions)) for i in draw(st.lists(identities, max_size=2))),
        tuple(created),
        draw(st.none() | ulids),
    )


def name_of(intent: Intent) -> str:
    return f"{intent.operation_id}.json"


@given(intents())
def test_an_intent_comes_back_as_it_was_written(intent: Intent) -> None:
    assert decode(name_of(intent), encode(intent)) == intent
    assert sidecar_path(intent.operation_id) == f"{RECOVERY}/{name_of(intent)}"


@given(intents(), st.binary(max_size=4), st.floats(0, 1))
def test_a_file_that_was_cut_or_overwritten_is_never_another_intent(intent: Intent, noise: bytes, place: float) -> None:
    body = encode(intent)
    cut = int(place * len(body))
    damaged = body[:cut] + noise
    if damaged != body:
        with pytest.raises(Unreadable):
            decode(name_of(intent), damaged)


def sample() -> Intent:
    identity = TableIdentity(3, 1)
    pin = TablePin(identity, "node:Person", path_of(identity, "nodes"), 4, "up", 10)
    return Intent(
        "0" * 26,
        WriterKind.LOAD,
        datetime(2026, 1, 1, tzinfo=UTC),
        Token("dev", "born", "H", "domain", "hash"),
        (TableIntent(pin, "dev", "uuid", 11, True, False),),
        Lineage("1" * 26, "ann", "why", datetime(2026, 1, 1, tzinfo=UTC), "M"),
        "2" * 26,
        7,
        Phase.ARMED,
        Outcome.OPEN,
        (TableRow(identity, "node:Person", pin.path),),
        (TombstoneRow(TableIdentity(9, 9), "node:Old", 5),),
        (TablePin(TableIdentity(10, 11), "edge:New", path_of(TableIdentity(10, 11), "edges"), 1, None, 0),),
        "3" * 26,
    )


def changed(change: Callable[[Any, str | int], None], place: Place) -> bytes:
    whole = copy.deepcopy(json.loads(encode(sample())))
    inside = whole
    for step in place[:-1]:
        inside = inside[step]
    change(inside, place[-1])
    return json.dumps(whole).encode()


def with_value(place: Place, value: object) -> bytes:
    return changed(lambda inside, key: inside.__setitem__(key, value), place)


PLACES = list(places(json.loads(encode(sample()))))


@pytest.mark.parametrize("place", PLACES, ids=lambda place: ".".join(map(str, place)))
def test_no_member_may_be_of_another_kind_or_missing(place: Place) -> None:
    original: Any = json.loads(encode(sample()))
    for step in place:
        original = original[step]
    wrong = [value for value in WRONG.values() if value != original]
    wrong += [True, 0] if isinstance(original, str) else ["1", "../.."]
    wrong += [str(original)] if not isinstance(original, str) else []
    wrong += [float(original), True] if type(original) is int else []
    for value in wrong:
        if isinstance(original, list) and value == []:
            continue  # an operation may touch nothing of a kind
        with pytest.raises(Unreadable):
            decode("0" * 26 + ".json", with_value(place, value))
    if isinstance(place[-1], str):
        with pytest.raises(Unreadable):
            decode("0" * 26 + ".json", changed(lambda inside, key: inside.__delitem__(key), place))


MAY_BE_NULL = {"own_head", "actor", "message", "merged_parent", "expected_branch", "contract"}


@pytest.mark.parametrize("place", PLACES, ids=lambda place: ".".join(map(str, place)))
def test_null_is_taken_only_where_something_may_be_absent(place: Place) -> None:
    body = with_value(place, None)
    if place[-1] in MAY_BE_NULL:
        decode("0" * 26 + ".json", body)
    else:
        with pytest.raises(Unreadable):
            decode("0" * 26 + ".json", body)


@pytest.mark.parametrize("inside", [(), ("token",), ("lineage",), ("tables", 0), ("registrations", 0)])
def test_a_member_that_nobody_knows_is_refused(inside: Place) -> None:
    with pytest.raises(Unreadable, match="more, or other"):
        decode("0" * 26 + ".json", with_value((*inside, "extra"), 1))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        *((("tables", 0, "path"), p) for p in ("/etc", "../../other", "nodes/../../x", "nodes/", "", "edges/0-0")),
        *((("registrations", 0, "path"), p) for p in ("/etc", "nodes/../x")),
        *((("tables", 0, "branch"), b) for b in ("../../../other", "main", "other", "", None)),
        *((("tables", 0, "expected_branch"), b) for b in ("../../x", "", "a//b", "a" * 201)),
        *((("token", "branch"), b) for b in ("../x", "", "a b", "/abs", "other")),
        *((("tables", 0, "stable_id"), n) for n in (0, 4, 2**63)),
        (("tables", 0, "expected_version"), 0),
        (("operation_id",), "../../../../etc/passwd0000"),
        (("operation_id",), "é" * 26),
        (("lineage", "commit_id"), "1" * 27),
        (("format",), 2),
        (("format",), True),
        (("format",), 1.0),
        (("writer",), "Nobody"),
        (("phase",), "armed"),
        (("outcome",), "RollForward"),
        (("started_at",), "2026-01-01T00:00:00"),
        (("started_at",), "yesterday"),
        (("lineage", "actor"), "\ud800"),
    ],
)
def test_a_value_that_would_lead_elsewhere_is_refused(place: Place, value: object) -> None:
    with pytest.raises(Unreadable):
        decode("0" * 26 + ".json", with_value(place, value))


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_a_body_that_is_no_intent_is_unreadable(body: bytes) -> None:
    with pytest.raises(Unreadable):
        decode("0" * 26 + ".json", body)


def test_a_member_that_is_there_twice_is_refused_even_with_one_value() -> None:
    body = encode(sample()).replace(b'"fence": 7,', b'"fence": 7, "fence": 7,')
    with pytest.raises(Unreadable, match="twice"):
        decode("0" * 26 + ".json", body)


def test_a_file_holds_the_intent_it_is_called_after() -> None:
    with pytest.raises(Unreadable, match="holds the intent of"):
        decode("3" * 26 + ".json", encode(sample()))


def test_leases_and_temporary_files_are_no_intents() -> None:
    assert [is_sidecar(n) for n in (".lease-1", ".x.json.1.tmp", "x.json", "readme")] == [False, False, True, True]


# ---- a graph with such a file ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_an_unreadable_intent_blocks_writing_and_not_reading(tmp_path: Path, body: bytes) -> None:
    upsert(make(tmp_path / "g"), {"a": 1})
    name = "0" * 26
    (tmp_path / "g" / RECOVERY / f"{name}.json").write_bytes(body)
    before = digest(tmp_path)
    for act in (lambda w: upsert(w, {"b": 2}), opening.open_for_writing):
        with pytest.raises(RecoveryRequired, match="cannot be read") as caught:
            act(at(tmp_path / "g"))
        assert caught.value.operation_id == name
    reader = at(tmp_path / "g")
    opening.open_for_reading(reader, "main")
    assert held(reader) == {"a": 1}
    new = digest(tmp_path).items() - before.items()
    assert all("/data/" in path for path, _ in new), "files that were staged and refused are garbage, all else stays"
    assert not before.items() - digest(tmp_path).items()


def test_a_body_at_the_limit_is_still_looked_at(tmp_path: Path) -> None:
    make(tmp_path / "g")
    name = tmp_path / "g" / RECOVERY / ("0" * 26 + ".json")
    name.write_bytes(b" " * (limits.CONTROL_OBJECT_BYTES_MAX - 2) + b"{}")
    with pytest.raises(RecoveryRequired, match="damaged"):
        opening.open_for_writing(at(tmp_path / "g"))
    name.write_bytes(b" " * (limits.CONTROL_OBJECT_BYTES_MAX - 1) + b"{}")
    with pytest.raises(RecoveryRequired, match="larger than any"):
        opening.open_for_writing(at(tmp_path / "g"))


HOSTILE: dict[str, Callable[[Any], object]] = {
    "another table": lambda f: f["tables"][0].update(stable_id=500, path=f"nodes/{500:016x}-{1:016x}"),
    "an edge table": lambda f: f["tables"][0].update(path=f["tables"][0]["path"].replace("nodes", "edges")),
    "a version far away": lambda f: f["tables"][0].update(expected_version=2**62),
    "an older version": lambda f: f["tables"][0].update(expected_version=1),
    "another transaction": lambda f: f["tables"][0].update(uuid="0"),
    "another branch": lambda f: (f["token"].update(branch="dev"), f["tables"][0].update(branch="dev")),
    "another head": lambda f: f["token"].update(own_head="0" * 26),
    "another birth": lambda f: f["token"].update(branch_identifier="x"),
    "a fence far away": lambda f: f.update(fence=2**62),
    "fresh": lambda f: f["tables"][0].update(fresh=True),
    "undoing": lambda f: f.update(outcome="RollBack"),
    "confirmed": lambda f: f.update(phase="EffectsConfirmed"),
    "many rows": lambda f: f["tables"][0].update(row_count=2**62),
    "a taken name": lambda f: f["registrations"].append(
        {"stable_id": 600, "incarnation_id": 1, "key": "node:Place", "path": f"nodes/{600:016x}-{1:016x}"}
    ),
}


@pytest.mark.parametrize("tamper", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("place", ["commit.after_table", "confirm.after"])
def test_a_tampered_intent_touches_nothing_outside_its_graph_and_keeps_committed_rows(
    tmp_path: Path, tamper: Callable[[Any], object], place: str
) -> None:
    upsert(make(tmp_path / "neighbour"), {"n": 1})
    upsert(make(tmp_path / "g"), {"a": 1})
    crash(tmp_path / "g", place, {"b": 2})
    (name,) = sidecars(at(tmp_path / "g"))
    file = tmp_path / "g" / RECOVERY / name
    found = json.loads(file.read_bytes())
    tamper(found)
    file.write_text(json.dumps(found))
    before = digest(tmp_path / "neighbour")
    try:
        opening.open_for_writing(at(tmp_path / "g"))
    except OmniError:
        assert sidecars(at(tmp_path / "g")) == [name]
    assert digest(tmp_path / "neighbour") == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["g", "neighbour"]
    reader = at(tmp_path / "g")
    pin = opening.open_for_reading(reader, "main").named("node:Person")
    assert pin is not None
    rows = reader.tables.open(pin).dataset.to_table().to_pylist()
    assert {"id": "a", "name": "a", "age": 1} in rows
