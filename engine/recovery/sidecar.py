"""Intents as files: one JSON object each, read back strictly or not at all."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, Final

from omnigraph_sql.base import limits
from omnigraph_sql.base.names import BranchName
from omnigraph_sql.engine.manifest.publisher import Lineage
from omnigraph_sql.engine.manifest.rows import TableRow, TombstoneRow
from omnigraph_sql.engine.recovery.intent import Intent, Outcome, Phase, TableIntent, Token, WriterKind
from omnigraph_sql.engine.store.root import RECOVERY
from omnigraph_sql.engine.values import MAIN, TableIdentity, TablePin

FORMAT: Final = 1
SUFFIX: Final = ".json"
_ULID_CHARACTERS: Final = 26
_FOLDERS: Final = ("nodes/", "edges/")


class Unreadable(Exception):
    """A file where intents are kept that is none this version understands; the message says why."""


def sidecar_path(operation_id: str) -> str:
    return f"{RECOVERY}/{operation_id}{SUFFIX}"


def is_sidecar(name: str) -> bool:
    """Whether a file of the recovery folder is an intent; leases and temporary files start with a dot."""
    return not name.startswith(".")


def encode(intent: Intent) -> bytes:
    body = {
        "format": FORMAT,
        "operation_id": intent.operation_id,
        "writer": intent.writer.value,
        "started_at": intent.started_at.isoformat(),
        "phase": intent.phase.value,
        "outcome": intent.outcome.value,
        "fence": intent.fence,
        "rollback_commit_id": intent.rollback_commit_id,
        "token": {
            "branch": intent.token.branch,
            "branch_identifier": intent.token.branch_identifier,
            "own_head": intent.token.own_head,
            "identity_domain": intent.token.identity_domain,
            "ir_hash": intent.token.ir_hash,
        },
        "lineage": {
            "commit_id": intent.lineage.commit_id,
            "actor": intent.lineage.actor,
            "message": intent.lineage.message,
            "created_at": intent.lineage.created_at.isoformat(),
            "merged_parent": intent.lineage.merged_parent,
        },
        "tables": [_table(table) for table in intent.tables],
        "registrations": [{**_identity(r.identity), "key": r.key, "path": r.path} for r in intent.registrations],
        "tombstones": [{**_identity(r.identity), "key": r.key, "version": r.version} for r in intent.tombstones],
        "created": [_created(pin) for pin in intent.created],
        "contract": intent.contract,
    }
    return json.dumps(body, indent=1, ensure_ascii=False).encode()


def _identity(of: TableIdentity) -> dict[str, int]:
    return {"stable_id": of.stable_id, "incarnation_id": of.incarnation_id}


def _created(pin: TablePin) -> dict[str, Any]:
    return {**_identity(pin.identity), "key": pin.key, "path": pin.path, "version": pin.version}


def _table(of: TableIntent) -> dict[str, Any]:
    return {
        **_identity(of.identity),
        "key": of.pin.key,
        "path": of.pin.path,
        "expected_version": of.pin.version,
        "expected_branch": of.pin.branch,
        "expected_rows": of.pin.row_count,
        "branch": of.branch,
        "uuid": of.uuid,
        "row_count": of.row_count,
        "forks": of.forks,
        "fresh": of.fresh,
    }


def decode(name: str, body: bytes) -> Intent:
    """The intent in a file. Raises Unreadable; nothing of a damaged file is believed."""
    if len(body) > limits.CONTROL_OBJECT_BYTES_MAX:
        raise Unreadable(f"{name} is larger than any control object")
    try:
        found = json.loads(body, object_pairs_hook=_once)
        if found["format"] != FORMAT:
            raise Unreadable(f"{name} has format {found['format']}, this version reads {FORMAT}")
        intent = _intent(found)
        if f"{intent.operation_id}{SUFFIX}" != name:
            raise Unreadable(f"{name} holds the intent of {intent.operation_id}")
        if _canonical(found) != _canonical(json.loads(encode(intent))):
            raise Unreadable(f"{name} holds more, or other, than an intent does")
        return intent
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise Unreadable(f"{name} is damaged: {type(error).__name__}: {error}") from error


def _canonical(found: Any) -> str:
    return json.dumps(found, sort_keys=True)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a member is there twice")
    return found


def _intent(found: Any) -> Intent:
    token, lineage = found["token"], found["lineage"]
    branch = _branch(token["branch"])
    return Intent(
        operation_id=_ulid(found["operation_id"]),
        writer=WriterKind(found["writer"]),
        started_at=_instant(found["started_at"]),
        token=Token(
            branch,
            _text(token["branch_identifier"]),
            _maybe(token["own_head"]),
            _text(token["identity_domain"]),
            _text(token["ir_hash"]),
        ),
        tables=tuple(_table_intent(t, branch) for t in found["tables"]),
        lineage=Lineage(
            _ulid(lineage["commit_id"]),
            _maybe(lineage["actor"]),
            _maybe(lineage["message"]),
            _instant(lineage["created_at"]),
            _maybe(lineage["merged_parent"]),
        ),
        rollback_commit_id=_ulid(found["rollback_commit_id"]),
        fence=_whole(found["fence"]),
        phase=Phase(found["phase"]),
        outcome=Outcome(found["outcome"]),
        registrations=tuple(
            TableRow(_identity_of(r), _text(r["key"]), _path(r["path"], _identity_of(r)))
            for r in found["registrations"]
        ),
        tombstones=tuple(
            TombstoneRow(_identity_of(r), _text(r["key"]), _whole(r["version"])) for r in found["tombstones"]
        ),
        created=tuple(_created_pin(pin) for pin in found["created"]),
        contract=None if found["contract"] is None else _ulid(found["contract"]),
    )


def _table_intent(found: Any, graph_branch: str) -> TableIntent:
    identity = _identity_of(found)
    owner, own = found["expected_branch"], found["branch"]
    if own != (None if graph_branch == MAIN else graph_branch):
        raise ValueError(f"a table's part is on another branch than {graph_branch}")
    pin = TablePin(
        identity,
        _text(found["key"]),
        _path(found["path"], identity),
        _whole(found["expected_version"]),
        None if owner is None else _branch(owner),
        _whole(found["expected_rows"]),
    )
    forks, fresh = found["forks"], found["fresh"]
    if not isinstance(forks, bool) or not isinstance(fresh, bool):
        raise TypeError("a mark is no truth value")
    return TableIntent(pin, own, _text(found["uuid"]), _whole(found["row_count"]), forks, fresh)


def _created_pin(found: Any) -> TablePin:
    identity = _identity_of(found)
    return TablePin(identity, _text(found["key"]), _path(found["path"], identity), _whole(found["version"]), None, 0)


def _identity_of(found: Any) -> TableIdentity:
    return TableIdentity(_whole(found["stable_id"]), _whole(found["incarnation_id"]))


def _path(value: object, identity: TableIdentity) -> str:
    """A table's path follows from its identity: a file cannot send recovery anywhere else."""
    wanted = [f"{folder}{identity.stable_id:016x}-{identity.incarnation_id:016x}" for folder in _FOLDERS]
    if value not in wanted:
        raise ValueError(f"{value!r} is no place of table {identity}")
    return str(value)


def _branch(value: object) -> str:
    """A branch becomes part of a path, so only what may be created may be read."""
    return BranchName.parse(_text(value)).text


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _maybe(value: object) -> str | None:
    return None if value is None else _text(value)


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise TypeError(f"{value!r} is no whole number of this size")
    return value


def _ulid(value: object) -> str:
    text = _text(value)
    if len(text) != _ULID_CHARACTERS or not (text.isascii() and text.isalnum()):
        raise ValueError(f"{text[:40]!r} is no operation or commit id")
    return text


def _instant(value: object) -> datetime:
    found = datetime.fromisoformat(_text(value))
    if found.tzinfo is None:
        raise ValueError("an instant has no time zone")
    return found
