"""What is really there: the graph read by the engine and straight from its files, and what may be wrong with it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lance

from omnigraph_sql.base.errors import OmniError
from omnigraph_sql.engine.opening import open_for_writing
from omnigraph_sql.engine.store.root import AUDIT, MANIFEST, RECOVERY, SCHEMAS, schema_path
from omnigraph_sql.engine.values import RECOVERY_ACTOR
from tests.crash.scenes import Scene, change, next_one, world_at

Rows = tuple[str, ...]
Tables = dict[str, Rows]


@dataclass(frozen=True, slots=True)
class Commit:
    id: str
    parent: str | None
    actor: str | None
    branch: str
    version: int


@dataclass(frozen=True, slots=True)
class Seen:
    """A graph at rest: what every branch shows, what every commit showed, what was logged, what is announced."""

    now: dict[str, Tables]
    commits: dict[str, tuple[Commit, ...]]
    past: dict[str, Tables]
    logged: tuple[tuple[str, str, str | None], ...]
    announced: frozenset[str]


def sidecars(root: Path) -> frozenset[str]:
    """Operations whose intents lie about."""
    folder = root / RECOVERY
    return frozenset(p.stem for p in folder.iterdir() if not p.name.startswith(".")) if folder.exists() else frozenset()


def _address(root: Path, path: str, branch: str | None) -> str:
    return str(root / path) if branch in (None, "main") else str(root / path / "tree" / str(branch))


def branches(root: Path) -> list[str]:
    return ["main", *sorted(lance.dataset(str(root / MANIFEST)).branches.list())]


def _manifest(root: Path, branch: str, version: int | None = None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (
        lance.dataset(_address(root, MANIFEST, branch), version=version).to_table().to_pylist()
    )
    return found


def raw_pins(rows: list[dict[str, Any]]) -> dict[str, tuple[str, str | None, int, int]]:
    """Of every table: path, Lance branch, version and number of rows, from the rows of a manifest."""
    places = {(r["stable_table_id"], r["table_incarnation_id"]): r for r in rows if r["object_type"] == "table"}
    newest: dict[tuple[int, int], dict[str, Any]] = {}
    for row in rows:
        if row["object_type"] == "table_version":
            identity = (row["stable_table_id"], row["table_incarnation_id"])
            if identity not in newest or newest[identity]["table_version"] < row["table_version"]:
                newest[identity] = row
    gone = {
        (r["stable_table_id"], r["table_incarnation_id"]): r["table_version"]
        for r in rows
        if r["object_type"] == "table_tombstone"
    }
    return {
        places[i]["table_key"]: (places[i]["location"], r["table_branch"], r["table_version"], r["row_count"])
        for i, r in newest.items()
        if gone.get(i, 0) < r["table_version"]
    }


def raw_schema(root: Path, rows: list[dict[str, Any]]) -> Tables:
    """The schema in force, if it is not the first one, as if it were a table."""
    names = [row["location"] for row in rows if row["object_type"] == "graph_contract"]
    return {"schema": tuple((root / SCHEMAS / f"{name}.json").read_text() for name in names)} if names else {}


def _normal(rows: list[dict[str, Any]]) -> Rows:
    return tuple(sorted(json.dumps(row, sort_keys=True) for row in rows))


def rows_in(tables: Tables, key: str) -> list[dict[str, Any]]:
    """The rows that a table shows."""
    return [json.loads(row) for row in tables[key] if row.startswith("{")]


def raw_tables(root: Path, rows: list[dict[str, Any]]) -> Tables:
    found = {}
    for key, (path, branch, version, count) in raw_pins(rows).items():
        table = lance.dataset(_address(root, path, branch), version=version).to_table()
        if table.num_rows != count:
            raise ValueError(f"{key} at version {version} has {table.num_rows} rows, the manifest says {count}")
        found[key] = _normal(table.to_pylist())
    return found | raw_schema(root, rows)


def _commits(rows: list[dict[str, Any]]) -> tuple[Commit, ...]:
    found = []
    for row in rows:
        if row["object_type"] == "graph_commit":
            facts = json.loads(row["metadata"])
            found.append(
                Commit(
                    row["object_id"], facts.get("parent"), facts.get("actor"), row["table_branch"], row["table_version"]
                )
            )
    return tuple(sorted(found, key=lambda c: (c.version, c.id)))


def engine_tables(root: Path, branch: str) -> Tables:
    """What the engine says that a branch shows."""
    world = world_at(root)
    snapshot = world.manifest.current(branch).snapshot
    found: Tables = {}
    for pin in snapshot.tables:
        table = world.tables.open(pin).dataset.to_table()
        found[pin.key] = _normal(table.to_pylist())
    if snapshot.contract is not None:
        found["schema"] = ((world.objects.get(schema_path(snapshot.contract)) or b"").decode(),)
    return found


def unknown_tables(root: Path) -> list[str]:
    """Tables on disk that no manifest has ever named."""
    named = {row["location"] for row in _manifest(root, "main") if row["object_type"] == "table"}
    there = {f"{kind}/{path.name}" for kind in ("nodes", "edges") for path in (root / kind).iterdir()}
    return sorted(there - named)


def observe(root: Path) -> Seen:
    """Everything, straight from the files."""
    now, commits, past = {}, {}, {}
    for branch in branches(root):
        rows = _manifest(root, branch)
        now[branch], commits[branch] = raw_tables(root, rows), _commits(rows)
        for commit in commits[branch]:
            if commit.id not in past:
                owner = commit.branch or "main"
                past[commit.id] = raw_tables(root, _manifest(root, owner, commit.version))
    log = lance.dataset(str(root / AUDIT)).to_table().to_pylist()
    logged = tuple(sorted((r["operation_id"], r["kind"], r["actor"]) for r in log))
    return Seen(now, commits, past, logged, sidecars(root))


def drift(root: Path) -> list[str]:
    """Tables whose newest version is not the one that the branch shows."""
    found = []
    for branch in branches(root):
        for key, (path, owner, version, _) in raw_pins(_manifest(root, branch)).items():
            if (owner or "main") == branch:
                head = lance.dataset(_address(root, path, owner)).latest_version
                if head != version:
                    found.append(f"{key} on {branch} is at version {head}, shown is {version}")
    return found


def broken_chain(commits: tuple[Commit, ...]) -> list[str]:
    """Commits must follow each other by their parents, in the order in which they became visible."""
    found = []
    for parent, child in zip((None, *commits), commits, strict=False):
        wanted = parent.id if parent is not None else None
        if child.parent != wanted:
            found.append(f"the parent of {child.id} is {child.parent}, not {wanted}")
    return found


@dataclass(frozen=True, slots=True)
class Expected:
    """What a scene may lead to: the graph before it with all it inherits resolved, and the graph after it."""

    start: Seen
    before: Seen
    after: Seen


def complaints(root: Path, scene: Scene, expected: Expected, *, done: bool) -> list[str]:
    """Recover, and say everything that is wrong; `done` tells whether the writer passed the point of no return."""
    try:
        return list(_complaints(root, scene, expected, done=done))
    except (OmniError, OSError, ValueError) as error:
        return [f"{type(error).__name__}: {error}"]


def _complaints(root: Path, scene: Scene, expected: Expected, *, done: bool) -> Iterator[str]:
    announced = sidecars(root) | expected.start.announced
    visible = observe(root).now
    if visible not in (expected.start.now, expected.before.now, expected.after.now):
        yield "half of something is visible before recovery"
    open_for_writing(world_at(root))
    seen, wanted = observe(root), expected.after if done else expected.before
    if seen.now != wanted.now:
        yield f"the graph is not as {'after' if done else 'before'} the writer: {_differences(seen.now, wanted.now)}"
    yield from at_rest(root, seen)
    yield from _history(seen, expected)
    logged = Counter(operation for operation, _, _ in seen.logged)
    if logged != Counter(dict.fromkeys(announced | {o for o, _, _ in expected.start.logged}, 1)):
        yield f"logged are {dict(logged)}, announced were {sorted(announced)}"
    yield from _authors(seen, expected)
    if open_for_writing(world_at(root)) or observe(root) != seen:
        yield "a second recovery changed something"
    change(world_at(root), next_one, scene.branch, actor="eve")
    yield from at_rest(root, observe(root))


def at_rest(root: Path, seen: Seen) -> Iterator[str]:
    """What holds whenever nothing is announced."""
    if seen.announced:
        yield f"intents are left: {sorted(seen.announced)}"
    yield from drift(root)
    yield from (f"{path} is a table that nothing names" for path in unknown_tables(root))
    for branch, commits in seen.commits.items():
        yield from broken_chain(commits)
        if engine_tables(root, branch) != seen.now[branch]:
            yield f"the engine shows another state of {branch} than the files"


def _history(seen: Seen, expected: Expected) -> Iterator[str]:
    for commit, tables in expected.start.past.items():
        if seen.past.get(commit) != tables:
            yield f"commit {commit} shows something else than it did"


def _authors(seen: Seen, expected: Expected) -> Iterator[str]:
    """A rolled forward operation keeps its author, an undone one has the author of recoveries."""
    kinds = {kind: actor for _, kind, actor in seen.logged}
    if kinds.get("RolledBack", RECOVERY_ACTOR) != RECOVERY_ACTOR:
        yield "a roll back was not logged as the work of recovery"
    actors = {c.actor for commits in seen.commits.values() for c in commits}
    known = {c.actor for one in (expected.before, expected.after) for cs in one.commits.values() for c in cs}
    if actors - known - {RECOVERY_ACTOR}:
        yield f"commits by {actors - known} appeared"


def _differences(found: dict[str, Tables], wanted: dict[str, Tables]) -> str:
    told = []
    for branch in sorted(found.keys() | wanted.keys()):
        a, b = found.get(branch, {}), wanted.get(branch, {})
        for key in sorted(a.keys() | b.keys()):
            extra, missing = set(a.get(key, ())) - set(b.get(key, ())), set(b.get(key, ())) - set(a.get(key, ()))
            if extra or missing:
                told.append(f"{branch} {key} +{sorted(extra)} -{sorted(missing)}")
    return "; ".join(told)
