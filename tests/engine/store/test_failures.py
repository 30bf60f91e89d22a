"""Failures of storage by what the caller can do about them."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from omnigraph_sql.base.errors import ConflictError, StorageError
from omnigraph_sql.engine.store.failures import says_missing, storage_error
from omnigraph_sql.engine.store.root import GraphRoot

CASES: list[tuple[BaseException, str]] = [
    (OSError(errno.ENOSPC, "No space left on device"), "permanent"),
    (OSError(errno.EDQUOT, "Disk quota exceeded"), "permanent"),
    (OSError(errno.EROFS, "Read-only file system"), "configuration"),
    (PermissionError(errno.EACCES, "Permission denied"), "configuration"),
    (PermissionError(errno.EPERM, "Operation not permitted"), "configuration"),
    (FileNotFoundError(errno.ENOENT, "No such file"), "not_found"),
    (BlockingIOError(errno.EAGAIN, "again"), "transient"),
    (OSError(errno.EMFILE, "Too many open files"), "transient"),
    (TimeoutError(), "transient"),
    (ConnectionResetError(), "transient"),
    (OSError(errno.EIO, "Input/output error"), "unknown"),
    (OSError("LanceError(IO): No space left on device (os error 28)"), "permanent"),
    (OSError("Disk quota exceeded (os error 122)"), "permanent"),
    (OSError("Read-only file system (os error 30)"), "configuration"),
    (OSError("Permission denied (os error 13)"), "configuration"),
    (OSError("<Code>AccessDenied</Code>"), "configuration"),
    (OSError("<Code>InvalidAccessKeyId</Code>"), "configuration"),
    (OSError("<Code>SignatureDoesNotMatch</Code>"), "configuration"),
    (OSError("<Code>NoSuchBucket</Code>"), "configuration"),
    (ValueError("Dataset at path x was not found: Not found: x/_versions"), "not_found"),
    (OSError("operation timed out"), "transient"),
    (OSError("KeyboardInterrupt/data is damaged"), "unknown"),
    (OSError("error sending request: connection closed"), "transient"),
    (OSError("<Code>SlowDown</Code>"), "transient"),
    (OSError("Server returned error response: 503 Service Unavailable"), "transient"),
    (OSError("Server returned error response: 500 Internal Server Error"), "transient"),
    (OSError("cannot read nodes/x/_versions/503.manifest"), "unknown"),
    (RuntimeError("something else"), "unknown"),
]


@pytest.mark.parametrize(("error", "kind"), CASES, ids=lambda value: str(value)[:40])
def test_a_failure_has_a_kind(error: BaseException, kind: str) -> None:
    told = storage_error(error, "testing")
    assert isinstance(told, StorageError)
    assert told.kind == kind
    assert told.message.startswith("storage failed while testing: ")
    assert (told.hint is None) == (kind in ("unknown", "not_found"))


@pytest.mark.parametrize(
    "text",
    [
        "External error: KeyboardInterrupt: , /rust/lance/src/io.rs:1:2",
        "LanceError(IO): External error: KeyboardInterrupt: ",
    ],
)
def test_a_press_that_storage_noticed_is_an_interrupt(text: str) -> None:
    told = storage_error(OSError(text), "reading node:A")
    assert isinstance(told, StorageError)
    assert (told.kind, told.message, told.hint) == ("interrupted", "reading node:A was interrupted", None)


def test_an_error_of_ours_comes_back_as_it_is() -> None:
    mine = ConflictError("mine")
    assert storage_error(mine, "x") is mine


def test_what_the_folder_is_called_does_not_decide(tmp_path: Path) -> None:
    root = GraphRoot.parse(tmp_path / "permission denied, connection not found")
    broken = OSError(f"corrupt file {root.uri}/__manifest/x and {root.uri.lstrip('/')}/y")
    told = storage_error(broken, "reading", root)
    assert isinstance(told, StorageError)
    assert told.kind == "unknown"
    assert not says_missing(broken, root)
    assert says_missing(ValueError(f"Not found: {root.uri}/x"), root)


def test_a_message_is_one_short_line_without_places_in_foreign_source() -> None:
    told = storage_error(OSError("bad\n  thing, /rust/lance/src/io.rs:12:34\n" + "x" * 1000), "x")
    assert "\n" not in told.message
    assert ".rs" not in told.message
    assert len(told.message) < 400
    assert storage_error(OSError(), "x").message.endswith("OSError")


def test_secrets_of_the_options_are_left_out() -> None:
    options = {"aws_secret_access_key": "hunter2-long", "aws_session_token": "hunter2", "aws_region": "west"}
    root = GraphRoot.parse("s3://b/p", options)
    told = storage_error(OSError("<Token>hunter2</Token> hunter2-long west"), "x", root)
    assert "hunter2" not in told.message
    assert "-long" not in told.message
    assert "west" in told.message
