"""A graph on an object store, emulated on loopback: the same protocol, with conditional puts and fenced leases."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from omnigraph_sql import graph
from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import ConflictError, OmniError, ReadSetChanged, ResourceLimitExceeded, StorageError
from omnigraph_sql.base.seams import SystemPause
from omnigraph_sql.engine import opening
from omnigraph_sql.engine.manifest.publisher import Delta, Lineage, Publication, publish
from omnigraph_sql.engine.store.lease import RemoteLeases, lease_name
from omnigraph_sql.engine.store.root import RECOVERY, GraphRoot
from tests.engine.damage import BODIES, damaged
from tests.engine.recovery.crashes import crash
from tests.engine.worlds import SCHEMA, START, NoPause, at, held, make, seams, sidecars, upsert
from tests.s3.stores import KEY, SECRET, TOKEN, Store

# ---- a graph --------------------------------------------------------------------------------------------------------


def test_a_graph_is_made_written_branched_and_read_by_somebody_else(root: GraphRoot) -> None:
    world = make(root)
    upsert(world, {"a": 1, "b": 2})
    upsert(world, {"b": 20})
    assert held(at(root)) == {"a": 1, "b": 20}
    world.manifest.table.create_branch("dev", world.manifest.current("main").view)
    upsert(world, {"c": 3}, branch="dev")
    upsert(world, {"c": 4}, branch="dev")
    assert held(at(root), "dev") == {"a": 1, "b": 20, "c": 4}
    assert held(at(root)) == {"a": 1, "b": 20}
    assert opening.open_for_writing(at(root)) == []
    assert sidecars(at(root)) == []


def test_the_whole_front_door_works_with_storage_options(store: Store, root: GraphRoot) -> None:
    made = graph.init(root.uri, schema=SCHEMA, storage_options=store.options)
    opened = graph.open(root.uri, read_only=True, storage_options=store.options)
    assert opened.head == made.head
    assert SECRET not in repr(opened)
    before = store.keys("t/")
    for force in (False, True):
        with pytest.raises(ConflictError, match="already"):
            graph.init(root.uri, schema=SCHEMA, storage_options=store.options, force=force)
    assert store.keys("t/") == before


def test_reading_writes_nothing(store: Store, root: GraphRoot) -> None:
    upsert(make(root), {"a": 1})
    before = store.keys("t/")
    opening.open_for_reading(at(root), "main")
    assert held(at(root)) == {"a": 1}
    assert store.keys("t/") == before


@pytest.mark.parametrize(
    ("place", "kind", "rows"),
    [
        ("arm.after", "Discarded", {"a": 1}),
        ("commit.after_table", "RolledBack", {"a": 1}),
        ("confirm.after", "RolledForward", {"a": 1, "b": 2}),
        ("publish.after_merge", "RolledForward", {"a": 1, "b": 2}),
    ],
)
def test_what_a_dead_writer_left_is_settled(root: GraphRoot, place: str, kind: str, rows: dict[str, int]) -> None:
    upsert(make(root), {"a": 1})
    crash(root, place, {"b": 2})
    assert len(sidecars(at(root))) == 1
    assert [done.kind for done in opening.open_for_writing(at(root))] == [kind]
    assert held(at(root)) == rows
    assert [row["kind"] for row in at(root).audit.rows()] == [kind]
    upsert(at(root), {"c": 3})


def test_racing_writers_all_get_in_one_after_the_other(root: GraphRoot) -> None:
    make(root)
    barrier = threading.Barrier(2, timeout=60)

    def work(name: str) -> None:
        world = at(root, seams(pause=SystemPause()))
        barrier.wait()
        for number in range(3):
            upsert(world, {f"{name}{number}": number})

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, "xy"))
    assert set(held(at(root))) == {f"{name}{number}" for name in "xy" for number in range(3)}
    chain = at(root).manifest.commits("main")
    assert [c.parent for c in chain] == [*(c.id for c in chain[1:]), None]
    assert len(chain) == 7


# ---- control objects ------------------------------------------------------------------------------------------------


def test_control_objects_are_created_once_replaced_listed_and_deleted(root: GraphRoot) -> None:
    objects = at(root).objects
    assert objects.get("f/a") is None
    assert objects.list("f") == []
    assert objects.put_new("f/a", b"one")
    assert not objects.put_new("f/a", b"two")
    assert objects.get("f/a") == b"one"
    objects.put("f/a", b"three")
    objects.put("f/b/deeper", b"")
    objects.put("f/.hidden", b"")
    assert objects.get("f/a") == b"three"
    assert objects.list("f") == [".hidden", "a"]
    objects.delete("f/a")
    objects.delete("f/a")
    assert objects.get("f/a") is None


def test_of_eight_threads_exactly_one_creates(root: GraphRoot) -> None:
    worlds = [at(root) for _ in range(8)]
    for round_number in range(3):
        barrier = threading.Barrier(8, timeout=60)

        def create(number: int, path: str = f"r/{round_number}", gate: threading.Barrier = barrier) -> bool:
            gate.wait()
            return worlds[number].objects.put_new(path, str(number).encode())

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(create, range(8))) == 1


def test_an_object_beyond_the_limit_is_refused(root: GraphRoot) -> None:
    objects = at(root).objects
    objects.put("big", b" " * (limits.CONTROL_OBJECT_BYTES_MAX + 1))
    with pytest.raises(ResourceLimitExceeded):
        objects.get("big")


# ---- leases ---------------------------------------------------------------------------------------------------------


class Hands:
    """A clock that stands until it is moved."""

    def __init__(self, at: datetime = START) -> None:
        self.at = at

    def now(self) -> datetime:
        return self.at

    def move(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)


def leases(root: GraphRoot, clock: Hands, pause: NoPause | None = None) -> RemoteLeases:
    found = at(root, seams(clock=clock, pause=pause)).leases
    assert isinstance(found, RemoteLeases)
    return found


def body(root: GraphRoot, branch: str = "main") -> dict[str, Any]:
    found = at(root).objects.get(f"{RECOVERY}/{lease_name(branch)}")
    assert found is not None
    decoded: dict[str, Any] = json.loads(found)
    return decoded


def test_a_lease_excludes_counts_and_is_given_back_with_its_counter(root: GraphRoot) -> None:
    clock = Hands()
    for fence in (1, 2, 3):
        with leases(root, clock).hold("main") as lease:
            assert lease.fence == fence == body(root)["fence"]
            assert lease.expires_at == clock.at + timedelta(seconds=limits.LEASE_SECONDS_MAX)
            assert leases(root, clock)._try("main", "somebody else") is None
            with leases(root, clock).hold("dev") as other:
                assert other.fence == fence
        assert (body(root)["owner"], body(root)["fence"]) == (None, fence)


def test_the_wait_for_a_lease_has_an_end(root: GraphRoot) -> None:
    clock, pause = Hands(), NoPause()
    taker = leases(root, clock, pause)
    with leases(root, clock).hold("main"), pytest.raises(StorageError, match="another writer"), taker.hold("main"):
        raise AssertionError("two holders")
    assert pause.asked == pytest.approx(limits.LEASE_WAIT_SECONDS_MAX, abs=0.2)


def test_an_expired_lease_is_taken_over_with_a_larger_counter_and_not_given_back_by_its_old_owner(
    root: GraphRoot,
) -> None:
    clock = Hands()
    with leases(root, clock).hold("main") as old:
        clock.move(limits.LEASE_SECONDS_MAX - 1)
        assert leases(root, clock)._try("main", "somebody else") is None
        clock.move(2)
        taker = leases(root, clock)
        with taker.hold("main") as new:
            assert (old.fence, new.fence) == (1, 2)
            owner = body(root)["owner"]
            leases(root, clock)._give_back("main", "nobody", old)
            assert body(root)["owner"] == owner
    assert (body(root)["owner"], body(root)["fence"]) == (None, 2)


def test_a_waiting_writer_gets_in_when_the_holder_expires(root: GraphRoot) -> None:
    clock = Hands()
    with leases(root, clock).hold("main"):
        waiting = NoPause(then=lambda: clock.move(10))
        with leases(root, clock, waiting).hold("main") as lease:
            assert lease.fence == 2


def test_a_take_whose_answer_was_lost_is_recognised(root: GraphRoot) -> None:
    clock = Hands()
    one = leases(root, clock)
    first = one._try("main", "me")
    assert first is not None
    assert one._try("main", "me") == first
    assert one._try("main", "you") is None


def test_a_writer_that_lost_its_lease_is_refused_at_the_publish(root: GraphRoot) -> None:
    world = make(root)

    def publication(fence: int) -> Publication:
        return Publication("main", Delta(), (), None, Lineage(world.seams.ids.ulid(), None, None, START), fence)

    clock = Hands()
    with leases(root, clock).hold("main") as lost:
        clock.move(limits.LEASE_SECONDS_MAX + 1)
        with leases(root, clock).hold("main") as taken:
            assert publish(at(root).manifest, publication(taken.fence)).fence == taken.fence > lost.fence
            with pytest.raises(ReadSetChanged, match="lease was lost") as caught:
                publish(world.manifest, publication(lost.fence))
    assert (caught.value.expected, caught.value.actual) == (lost.fence, taken.fence)


LEASE = json.dumps({"owner": None, "fence": 3, "expires_at": START.isoformat(), "branch": "main"}).encode()


def test_a_damaged_lease_is_told_or_means_the_same(root: GraphRoot) -> None:
    refused = kept = 0
    every = [*damaged(LEASE), *((name, body) for name, body in BODIES.items() if name != "20 MB")]
    for what, damage in every:
        at(root).objects.put(f"{RECOVERY}/{lease_name('main')}", damage)
        try:
            with leases(root, Hands()).hold("main") as lease:
                assert lease.fence == 4, what
                kept += 1
        except StorageError as error:
            refused += ("damaged" in error.message, error.kind) == (True, "permanent")
    assert refused == len(every) - kept > 30


def test_a_lease_larger_than_any_is_not_read(root: GraphRoot) -> None:
    at(root).objects.put(f"{RECOVERY}/{lease_name('main')}", BODIES["20 MB"])
    with pytest.raises(ResourceLimitExceeded), leases(root, Hands()).hold("main"):
        pass


# ---- options and secrets --------------------------------------------------------------------------------------------


class Echo(BaseHTTPRequestHandler):
    """A store that refuses everything and repeats what it was told."""

    def _answer(self) -> None:
        told = " ".join(f"{k}: {v}" for k, v in self.headers.items())
        text = f"<Error><Code>InvalidToken</Code><Token-0>{TOKEN}</Token-0><Key>{SECRET}</Key>{told}</Error>".encode()
        self.send_response(403)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = _answer

    def log_message(self, format: str, *args: Any) -> None:
        del format, args


@pytest.fixture
def refusing() -> Iterator[GraphRoot]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    options = {
        "aws_endpoint": f"http://127.0.0.1:{server.server_address[1]}",
        "aws_access_key_id": KEY,
        "aws_secret_access_key": SECRET,
        "aws_session_token": TOKEN,
        "client_max_retries": "0",
        "aws_region": "us-east-1",
        "allow_http": "true",
        "aws_virtual_hosted_style_request": "false",
    }
    yield GraphRoot.parse("s3://graphs/x", options)
    server.shutdown()
    server.server_close()
    thread.join()


def told(error: BaseException | None) -> str:
    """Everything that our own error says of itself."""
    assert isinstance(error, OmniError)
    return f"{error} {error!r} {error.to_dict()} {error.report()}"


def test_no_message_repeats_a_secret(refusing: GraphRoot) -> None:
    world = at(refusing)
    acts: dict[str, Callable[[], object]] = {
        "init": lambda: make(refusing),
        "contract": lambda: opening.read_contract(world),
        "get": lambda: world.objects.get("x"),
        "put": lambda: world.objects.put("x", b"1"),
        "put_new": lambda: world.objects.put_new("x", b"1"),
        "list": lambda: world.objects.list("x"),
        "delete": lambda: world.objects.delete("x"),
        "lease": lambda: world.leases.hold("main").__enter__(),
        "table": lambda: world.tables.dataset("nodes/x", None, 1),
        "create": lambda: world.tables.create("nodes/x", make_schema()),
        "audit": lambda: world.audit.rows(),
        "audit row": lambda: world.audit.create(),
    }
    for name, act in acts.items():
        with pytest.raises(OmniError) as caught:
            act()
        text = told(caught.value)
        assert not [word for word in (SECRET, TOKEN, KEY) if word in text], f"{name}: {text}"
        if isinstance(caught.value, StorageError):
            assert caught.value.kind != "not_found", name
    assert not [word for word in (SECRET, TOKEN, KEY) if word in f"{world!r} {refusing!r}"]


def make_schema() -> Any:
    import pyarrow as pa

    return pa.schema([pa.field("id", pa.utf8())])


def test_a_bucket_that_is_not_there_is_a_matter_of_configuration(store: Store) -> None:
    missing = GraphRoot.parse("s3://no-such-bucket/x", store.options)
    with pytest.raises(StorageError) as caught:
        make(missing)
    assert (caught.value.kind, caught.value.hint) == ("configuration", "create the bucket first")


def test_options_of_either_spelling_and_options_of_lance_alone_are_taken(store: Store) -> None:
    options = {k.removeprefix("aws_") if k.startswith("aws_") else k: v for k, v in store.options.items()}
    root = replace(store.root("spelling"), options=tuple(sorted({**options, "client_max_retries": "2"}.items())))
    assert at(root).objects.put_new("x", b"1")
    assert store.keys("spelling/")


def test_an_option_that_makes_no_sense_is_a_storage_error(store: Store) -> None:
    for odd in ({"aws_no_such_thing": "1"}, {"allow_http": "perhaps"}):
        root = replace(store.root("odd"), options=tuple(sorted({**store.options, **odd}.items())))
        with pytest.raises(OmniError):
            at(root).objects.put_new("x", b"1")
