"""The writer lease of a branch: who holds it may arm, commit, publish and heal.

On a local disk it is a lock of the operating system, freed by the kernel when its process dies. On an object store it
is an object that is put conditionally and holds owner, expiry and a counter; the counter travels with every publish, so
a writer that lost its lease without noticing is refused there. A refusal after the first effect needs somebody to look,
so a holder makes sure of its lease before every step that others will see.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Protocol

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import ReadSetChanged, StorageError
from omnigraph_sql.base.seams import Clock, Failpoints, IdSource, Pause
from omnigraph_sql.engine.store.failures import storage_error
from omnigraph_sql.engine.store.objects import refuse_size, remote_store
from omnigraph_sql.engine.store.root import RECOVERY, GraphRoot

_POLL: Final = 0.005
_POLL_REMOTE: Final = 0.1
_FENCE_END: Final = 2**62
"""Counters beyond it are damage: an intent could not hold what comes after them."""
_WHOLE: Final = timedelta(seconds=limits.LEASE_SECONDS_MAX)


@dataclass(frozen=True, slots=True)
class Lease:
    """A held lease. `fence` is 0 where the operating system guarantees that there is one holder."""

    branch: str
    fence: int
    expires_at: datetime | None = None
    owner: str = ""


class Leases(Protocol):
    def hold(self, branch: str) -> AbstractContextManager[Lease]:
        """Wait for the branch's lease, hold it, give it back. Raises StorageError (transient)
        when it is not free within LEASE_WAIT_SECONDS_MAX."""
        ...

    def renewed(self, lease: Lease) -> Lease:
        """The held lease, with all of its time again when less than half of it is left.

        Raises ReadSetChanged when somebody else has taken it, which happens to a holder that slept.
        """
        ...


def leases_at(root: GraphRoot, clock: Clock, ids: IdSource, failpoints: Failpoints, pause: Pause) -> Leases:
    if root.local is not None:
        return LocalLeases(root.local / RECOVERY, failpoints, pause)
    return RemoteLeases(root, clock, ids, failpoints, pause)


def lease_name(branch: str) -> str:
    """A file name for any branch name."""
    return f".lease-{sha256(branch.encode()).hexdigest()[:16]}"


class LocalLeases:
    """File locks. Two handles of one process exclude each other too: each hold opens the file anew."""

    def __init__(self, folder: Path, failpoints: Failpoints, pause: Pause) -> None:
        self._folder, self._failpoints, self._pause = folder, failpoints, pause

    @contextmanager
    def hold(self, branch: str) -> Iterator[Lease]:
        handle, holder = self._open(branch), os.getpid()
        try:
            self._wait(handle, branch)
            yield Lease(branch, 0)
        finally:
            if os.getpid() == holder:
                # A process forked meanwhile has the file open too, and closing it here alone would not free the lease.
                with suppress(OSError):
                    fcntl.flock(handle, fcntl.LOCK_UN)
            os.close(handle)

    def renewed(self, lease: Lease) -> Lease:
        return lease

    def _open(self, branch: str) -> int:
        try:
            self._failpoints.hit("store.lease")
            self._folder.mkdir(parents=True, exist_ok=True)
            return os.open(self._folder / lease_name(branch), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except Exception as error:
            raise storage_error(error, "taking the writer lease") from error

    def _wait(self, handle: int, branch: str) -> None:
        waited = 0.0
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if waited >= limits.LEASE_WAIT_SECONDS_MAX:
                    raise _busy(branch) from None
            except OSError as error:
                raise storage_error(error, "taking the writer lease") from error
            self._pause.seconds(_POLL)
            waited += _POLL


def _busy(branch: str) -> StorageError:
    return StorageError(
        f"another writer holds the lease of branch {branch} for more than {limits.LEASE_WAIT_SECONDS_MAX} seconds",
        kind="transient",
        hint="nothing was written; repeat the operation, or look for a writer that hangs",
    )


class RemoteLeases:
    """Lease objects of a store."""

    def __init__(self, root: GraphRoot, clock: Clock, ids: IdSource, failpoints: Failpoints, pause: Pause) -> None:
        self._root, self._clock, self._ids = root, clock, ids
        self._failpoints, self._pause = failpoints, pause
        self._opened: Any = None

    def _store(self) -> Any:
        if self._opened is None:
            self._opened = remote_store(self._root)
        return self._opened

    @contextmanager
    def hold(self, branch: str) -> Iterator[Lease]:
        owner = self._ids.ulid()
        lease = self._take(branch, owner)
        try:
            yield lease
        finally:
            self._give_back(branch, owner, lease)

    def _take(self, branch: str, owner: str) -> Lease:
        waited = 0.0
        while True:
            try:
                self._failpoints.hit("store.lease")
                taken = self._try(branch, owner)
            except Exception as error:
                raise storage_error(error, "taking the writer lease", self._root) from error
            if taken is not None:
                return taken
            if waited >= limits.LEASE_WAIT_SECONDS_MAX:
                raise _busy(branch)
            self._pause.seconds(_POLL_REMOTE)
            waited += _POLL_REMOTE

    def _try(self, branch: str, owner: str) -> Lease | None:
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        path = f"{RECOVERY}/{lease_name(branch)}"
        now = self._clock.now()
        mode: Any
        try:
            found = self._store().get(path)
        except FileNotFoundError:
            fence, mode = 1, "create"
        else:
            holder, fence, expires = _decode(_body(path, found))
            if holder == owner:  # the answer to our own put was lost
                return Lease(branch, fence, expires, owner)
            if holder is not None and expires > now:
                return None
            fence, mode = fence + 1, {"e_tag": found.meta["e_tag"]}
        lease = Lease(branch, fence, now + _WHOLE, owner)
        try:
            self._store().put(path, _encode(lease), mode=mode)
        except (AlreadyExistsError, PreconditionError):
            return None
        return lease

    def renewed(self, lease: Lease) -> Lease:
        now = self._clock.now()
        if lease.expires_at is not None and lease.expires_at - now > _WHOLE / 2:
            return lease
        try:
            self._failpoints.hit("store.lease")
            longer = self._longer(replace(lease, expires_at=now + _WHOLE))
        except Exception as error:
            raise storage_error(error, "keeping the writer lease", self._root) from error
        if longer is None:
            raise ReadSetChanged(
                f"the writer lease of branch {lease.branch} was lost to another writer",
                member="lease",
                expected=lease.fence,
                actual=None,
                hint="nothing was written; read again and repeat the statement",
            )
        return longer

    def _longer(self, wanted: Lease) -> Lease | None:
        """The lease with another end; None when it is somebody else's, or was."""
        from obstore.exceptions import PreconditionError

        path = f"{RECOVERY}/{lease_name(wanted.branch)}"
        try:
            found = self._store().get(path)
            holder, fence, _ = _decode(_body(path, found))
            if (holder, fence) != (wanted.owner, wanted.fence):
                return None
            self._store().put(path, _encode(wanted), mode={"e_tag": found.meta["e_tag"]})
        except (FileNotFoundError, PreconditionError):
            return None
        return wanted

    def _give_back(self, branch: str, owner: str, lease: Lease) -> None:
        """Leave the counter behind, free; whoever took the lease over keeps it. Failing here only costs time."""
        path = f"{RECOVERY}/{lease_name(branch)}"
        with suppress(Exception):
            found = self._store().get(path)
            holder, fence, expires = _decode(_body(path, found))
            if holder == owner and fence == lease.fence:
                free = Lease(branch, fence, expires)
                self._store().put(path, _encode(free), mode={"e_tag": found.meta["e_tag"]})


def _body(path: str, found: Any) -> bytes:
    refuse_size(path, int(found.meta["size"]))
    return bytes(found.bytes())


def _encode(lease: Lease) -> bytes:
    expires = lease.expires_at.isoformat() if lease.expires_at is not None else None
    body = {"owner": lease.owner or None, "fence": lease.fence, "expires_at": expires, "branch": lease.branch}
    return json.dumps(body).encode()


def _decode(body: bytes) -> tuple[str | None, int, datetime]:
    try:
        found = json.loads(body)
        owner, fence = found["owner"], found["fence"]
        expires = datetime.fromisoformat(found["expires_at"])
        if not (owner is None or isinstance(owner, str)) or expires.tzinfo is None:
            raise ValueError("fields have other types")
        if not isinstance(fence, int) or isinstance(fence, bool) or not 0 < fence < _FENCE_END:
            raise ValueError("the counter is no number of this size")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise StorageError(
            f"the writer lease is damaged: {error}", kind="permanent", hint="delete it when no writer is running"
        ) from error
    return owner, fence, expires
