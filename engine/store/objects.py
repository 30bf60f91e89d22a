"""Small control objects: contract files, intents, leases. Every put is durable when it returns."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Protocol

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import ResourceLimitExceeded
from omnigraph_sql.base.seams import Failpoints, IdSource, ulid_instant
from omnigraph_sql.engine.store.failures import storage_error
from omnigraph_sql.engine.store.root import GraphRoot

PROBE: Final = ".probe-"
"""How objects that only test the storage are called, before a ULID."""

_LITTER: Final = re.compile(rf"(?:{re.escape(PROBE)}|\..+\.)(?P<ulid>[0-7][0-9A-HJKMNP-TV-Z]{{25}})(?:\.tmp)?")


def litter_instant(name: str) -> datetime | None:
    """When an object that is only passing was begun; None for every other one."""
    found = _LITTER.fullmatch(name)
    if found is None or not (name.startswith(PROBE) or name.endswith(".tmp")):
        return None
    return ulid_instant(found["ulid"])


class Objects(Protocol):
    """Paths are relative to the graph's root and use `/`. Raises StorageError."""

    def put_new(self, path: str, body: bytes) -> bool:
        """Create the object, whole or not at all; False when one is there already, which stays as it is."""
        ...

    def put(self, path: str, body: bytes) -> None:
        """Create or replace the object; readers see the old body or the new one."""
        ...

    def replace(self, path: str, body: bytes) -> None:
        """The same for an object that is there, where either body will do after a power loss."""
        ...

    def get(self, path: str) -> bytes | None:
        """The body, or None. A body beyond CONTROL_OBJECT_BYTES_MAX is refused."""
        ...

    def list(self, folder: str) -> list[str]:
        """Names of the objects directly in a folder, sorted; empty when there is no such folder."""
        ...

    def delete(self, path: str) -> bool:
        """Remove the object; False when there was none."""
        ...


def objects_at(root: GraphRoot, failpoints: Failpoints, ids: IdSource) -> Objects:
    return LocalObjects(root.local, failpoints, ids) if root.local is not None else RemoteObjects(root, failpoints)


def refuse_size(path: str, size: int) -> None:
    """Raises ResourceLimitExceeded for a body that no control object has."""
    if size > limits.CONTROL_OBJECT_BYTES_MAX:
        raise ResourceLimitExceeded(
            f"{path} is larger than any control object",
            resource="control_object_bytes",
            limit=limits.CONTROL_OBJECT_BYTES_MAX,
            actual=size,
            hint="the file is damaged or foreign; restore it from a backup",
        )


class LocalObjects:
    """Files below a folder. A new file appears by a hard link to its finished body, a changed one by a rename."""

    def __init__(self, root: Path, failpoints: Failpoints, ids: IdSource) -> None:
        self._root, self._failpoints, self._ids = root, failpoints, ids

    def put_new(self, path: str, body: bytes) -> bool:
        with _telling(f"creating {path}"):
            self._failpoints.hit("store.put_new")
            target = self._root / path
            with self._written(target, body) as temporary:
                try:
                    os.link(temporary, target)
                except FileExistsError:
                    return False
            _sync_folder(target.parent)
            return True

    def put(self, path: str, body: bytes) -> None:
        with _telling(f"writing {path}"):
            self._replace(self._root / path, body)
            _sync_folder((self._root / path).parent)

    def replace(self, path: str, body: bytes) -> None:
        with _telling(f"writing {path}"):
            self._replace(self._root / path, body)

    def _replace(self, target: Path, body: bytes) -> None:
        self._failpoints.hit("store.put")
        with self._written(target, body) as temporary:
            os.replace(temporary, target)

    @contextmanager
    def _written(self, target: Path, body: bytes) -> Iterator[Path]:
        _make_folder(target.parent)
        temporary = target.parent / f".{target.name}.{self._ids.ulid()}.tmp"
        try:
            with open(temporary, "xb") as file:
                file.write(body)
                file.flush()
                os.fsync(file.fileno())
            yield temporary
        finally:
            with suppress(FileNotFoundError):
                os.unlink(temporary)

    def get(self, path: str) -> bytes | None:
        with _telling(f"reading {path}"):
            self._failpoints.hit("store.get")
            try:
                with open(self._root / path, "rb") as file:
                    refuse_size(path, os.fstat(file.fileno()).st_size)
                    return file.read()
            except (FileNotFoundError, NotADirectoryError):
                return None

    def list(self, folder: str) -> list[str]:
        with _telling(f"listing {folder}"):
            self._failpoints.hit("store.list")
            try:
                names = [e.name for e in os.scandir(self._root / folder) if e.is_file()]
            except (FileNotFoundError, NotADirectoryError):
                return []
            return sorted(names)

    def delete(self, path: str) -> bool:
        with _telling(f"deleting {path}"):
            self._failpoints.hit("store.delete")
            try:
                os.unlink(self._root / path)
            except FileNotFoundError:
                return False
            return True


def _make_folder(folder: Path) -> None:
    """The folder and those above it; a new one survives power loss."""
    if not folder.exists():
        _make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        _sync_folder(folder.parent)


def _sync_folder(folder: Path) -> None:
    """Makes a new name in the folder survive power loss."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


_CONNECTION: Final = (
    "allow_http",
    "allow_invalid_certificates",
    "connect_timeout",
    "http1_only",
    "http2_only",
    "pool_idle_timeout",
    "pool_max_idle_per_host",
    "proxy_url",
    "timeout",
    "user_agent",
)
_UNPREFIXED: Final = (
    "access_key_id",
    "endpoint",
    "region",
    "secret_access_key",
    "session_token",
    "virtual_hosted_style_request",
)


def remote_store(root: GraphRoot) -> Any:
    """The store behind an address. Options are the ones Lance takes; those that only Lance knows are left out."""
    from obstore import store

    connect: Any = store.from_url
    config: dict[str, str] = {}
    connection: dict[str, str] = {}
    for name, value in root.options:
        key = name.casefold()
        if key in _CONNECTION:
            connection[key] = value
        elif key.startswith("aws_") or key in _UNPREFIXED:
            config[key if key.startswith("aws_") else f"aws_{key}"] = value
    return connect(root.uri, config=config, client_options=connection)


class RemoteObjects:
    """Objects of a store below a prefix; creation is a conditional put."""

    def __init__(self, root: GraphRoot, failpoints: Failpoints) -> None:
        self._root, self._failpoints = root, failpoints
        self._opened: Any = None

    def _store(self) -> Any:
        if self._opened is None:
            with _telling("opening the object store", self._root):
                self._opened = remote_store(self._root)
        return self._opened

    def put_new(self, path: str, body: bytes) -> bool:
        from obstore.exceptions import AlreadyExistsError

        with _telling(f"creating {path}", self._root):
            self._failpoints.hit("store.put_new")
            try:
                self._store().put(path, body, mode="create")
            except AlreadyExistsError:
                return False
            return True

    def put(self, path: str, body: bytes) -> None:
        with _telling(f"writing {path}", self._root):
            self._failpoints.hit("store.put")
            self._store().put(path, body)

    def replace(self, path: str, body: bytes) -> None:
        self.put(path, body)

    def get(self, path: str) -> bytes | None:
        with _telling(f"reading {path}", self._root):
            self._failpoints.hit("store.get")
            try:
                found = self._store().get(path)
            except FileNotFoundError:
                return None
            refuse_size(path, int(found.meta["size"]))
            return bytes(found.bytes())

    def list(self, folder: str) -> list[str]:
        with _telling(f"listing {folder}", self._root):
            self._failpoints.hit("store.list")
            found = self._store().list_with_delimiter(f"{folder}/")
            return sorted(str(item["path"]).rpartition("/")[2] for item in found["objects"])

    def delete(self, path: str) -> bool:
        with _telling(f"deleting {path}", self._root):
            self._failpoints.hit("store.delete")
            try:
                self._store().delete(path)
            except FileNotFoundError:
                return False
            return True


@contextmanager
def _telling(doing: str, root: GraphRoot | None = None) -> Iterator[None]:
    """Turns whatever the system raises into a StorageError that says what was being done."""
    try:
        yield
    except Exception as error:
        told = storage_error(error, doing, root)
        if told is error:
            raise
        raise told from error
