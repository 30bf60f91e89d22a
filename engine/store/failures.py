"""Failures of storage, told apart by what the caller can do about them."""

from __future__ import annotations

import errno
import re
from typing import Final

from omnigraph_sql.base.errors import OmniError, StorageError
from omnigraph_sql.engine.store.root import GraphRoot

_FULL: Final = "free some space on the device, then repeat"
_BY_NUMBER: Final = {
    errno.ENOSPC: ("permanent", _FULL),
    errno.EDQUOT: ("permanent", _FULL),
    errno.EROFS: ("configuration", "the file system is read-only"),
    errno.EACCES: ("configuration", "check the permissions of the graph's folder"),
    errno.EPERM: ("configuration", "check the permissions of the graph's folder"),
    errno.ENOENT: ("not_found", None),
    errno.EAGAIN: ("transient", "repeat the operation"),
    errno.EMFILE: ("transient", "close some files, then repeat"),
}
_STOPPED: Final = "external error: keyboardinterrupt"
"""How Lance tells of a Ctrl-C that it noticed while it was at work."""

# Lance and the object store raise plain OSError with the cause in the text alone.
_BY_TEXT: Final = (
    ("no space left", ("permanent", _FULL)),
    ("quota exceeded", ("permanent", _FULL)),
    ("read-only file system", ("configuration", "the file system is read-only")),
    ("permission denied", ("configuration", "check the permissions of the graph's folder")),
    ("accessdenied", ("configuration", "check the credentials and the bucket's policy")),
    ("invalidaccesskeyid", ("configuration", "check the credentials")),
    ("signaturedoesnotmatch", ("configuration", "check the credentials")),
    ("nosuchbucket", ("configuration", "create the bucket first")),
    ("not found", ("not_found", None)),
    ("no such file", ("not_found", None)),
    ("timed out", ("transient", "repeat the operation")),
    ("timeout", ("transient", "repeat the operation")),
    ("connection", ("transient", "repeat the operation")),
    ("slowdown", ("transient", "repeat the operation")),
    ("500 internal", ("transient", "repeat the operation")),
    ("502 bad", ("transient", "repeat the operation")),
    ("503 service", ("transient", "repeat the operation")),
    ("504 gateway", ("transient", "repeat the operation")),
)
_SOURCE_PLACE: Final = re.compile(r",? /\S+\.rs:\d+:\d+")
"""Where in its own source a library noticed the failure: nothing a user can act on."""
_TEXT_CHARACTERS_MAX: Final = 300


def storage_error(error: BaseException, doing: str, root: GraphRoot | None = None) -> OmniError:
    """The StorageError for a failure met while `doing` something; an error of ours comes back as it is.

    Secrets among the options of `root` are left out of the message: stores repeat them in their answers.
    """
    if isinstance(error, OmniError):
        return error
    kind, hint = _kind(error, root)
    if kind == "interrupted":
        return StorageError(f"{doing} was interrupted", kind=kind)
    text = _SOURCE_PLACE.sub("", " ".join(str(error).split()))
    for secret in root.secrets if root is not None else ():
        text = text.replace(secret, "***")
    shown = text if len(text) <= _TEXT_CHARACTERS_MAX else text[: _TEXT_CHARACTERS_MAX - 3] + "..."
    return StorageError(f"storage failed while {doing}: {shown or type(error).__name__}", kind=kind, hint=hint)


def says_missing(error: BaseException, root: GraphRoot) -> bool:
    """Whether storage answered that something is not there."""
    return _kind(error, root)[0] == "not_found"


def _kind(error: BaseException, root: GraphRoot | None) -> tuple[str, str | None]:
    number = getattr(error, "errno", None)
    if isinstance(number, int) and number in _BY_NUMBER:
        return _BY_NUMBER[number]
    if isinstance(error, TimeoutError | ConnectionError):
        return "transient", "repeat the operation"
    text = str(error)
    if root is not None:
        # What a folder is called says nothing about what went wrong in it.
        text = text.replace(root.uri.lstrip("/"), "")
    text = text.casefold()
    if _STOPPED in text:
        return "interrupted", None
    for fragment, verdict in _BY_TEXT:
        if fragment in text:
            return verdict
    return "unknown", None
