"""Where a graph lives: a local folder or a prefix of an object store."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from omnigraph_sql.base.errors import StorageError

MANIFEST: Final = "__manifest"
RECOVERY: Final = "__recovery"
AUDIT: Final = "_graph_commit_recoveries.lance"
SCHEMA_TEXT: Final = "_schema.pg"
SCHEMA_IR: Final = "_schema.ir.json"
SCHEMA_STATE: Final = "__schema_state.json"
SCHEMAS: Final = "__schema"
"""Schemas that came after the first one, an object each; the manifest says which is in force."""

CLAIM: Final = "__init_claim.json"
SPARE: Final = "__cache"
"""Derived state that may vanish at any time."""

_PUBLIC_OPTIONS: Final = ("endpoint", "region", "allow_http", "virtual_hosted", "bucket", "timeout", "retries")
_SHORTEST_SECRET: Final = 3
_BUCKET: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def schema_path(name: str) -> str:
    """Where a stored schema lies that came after the first one."""
    return f"{SCHEMAS}/{name}.json"


@dataclass(frozen=True, slots=True)
class GraphRoot:
    """A parsed graph address. `options` may hold secrets: they are never shown."""

    uri: str
    local: Path | None
    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @classmethod
    def parse(cls, uri: str | os.PathLike[str], options: dict[str, str] | None = None) -> GraphRoot:
        """`folder`, `file:///folder` or `s3://bucket/prefix`. Raises StorageError (configuration)."""
        text = os.fspath(uri)
        given = tuple(sorted((str(k), str(v)) for k, v in (options or {}).items()))
        if not text.strip() or "\x00" in text:
            raise _refused(f"{text!r} is no place for a graph")
        if "://" not in text:
            return _folder(text, given)
        try:
            parts = urlsplit(text)
        except ValueError as error:
            raise _refused("the address is malformed") from error
        if parts.scheme == "file" and parts.netloc in ("", "localhost"):
            return _folder(unquote(parts.path), given)
        if parts.scheme != "s3":
            raise _refused(f"graphs do not live at {parts.scheme}://{'host/' if parts.scheme == 'file' else ''}")
        if "@" in parts.netloc:
            raise _refused("an address holds no credentials; hand them over as storage options")
        prefix = parts.path.strip("/")
        odd = prefix and not {"", ".", ".."}.isdisjoint(prefix.split("/"))
        if odd or not _BUCKET.fullmatch(parts.netloc) or "?" in text or "#" in text:
            raise _refused("an object-store address is s3://bucket/prefix")
        return cls(f"s3://{parts.netloc}/{prefix}".rstrip("/"), None, given)

    def child(self, path: str) -> str:
        """The address of something below the root."""
        return f"{self.uri}/{path}"

    @property
    def storage_options(self) -> dict[str, str] | None:
        return dict(self.options) if self.options else None

    @property
    def secrets(self) -> tuple[str, ...]:
        """Option values that no message may hold, the longest first."""
        hidden = {value for name, value in self.options if not any(word in name.casefold() for word in _PUBLIC_OPTIONS)}
        return tuple(sorted((value for value in hidden if len(value) > _SHORTEST_SECRET), key=len, reverse=True))


def _folder(text: str, options: tuple[tuple[str, str], ...]) -> GraphRoot:
    try:
        path = Path(text).expanduser()
    except RuntimeError as error:
        raise _refused(f"{text!r} names the home of an unknown user") from error
    # Relative, absolute and linked spellings of one folder must share gates and locks.
    canonical = Path(os.path.realpath(path))
    return GraphRoot(str(canonical), canonical, options)


def _refused(message: str) -> StorageError:
    return StorageError(message, kind="configuration", hint="name a folder, or s3://bucket/prefix")
