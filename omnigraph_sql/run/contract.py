"""Stored schemas of a graph: what is in them, whether their parts agree, and which one is in force.

The schema a graph was made with lies in three files. Every change of it stores another one, whole, as an object of its
own, and the commit that makes the change visible names that object. So the schema is part of the state of a branch: a
past state has the schema it had.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256
from threading import Lock
from typing import Any, Final

from omnigraph_sql.base import limits
from omnigraph_sql.base.catalog import Catalog
from omnigraph_sql.base.commands import CreatePropertyGraph
from omnigraph_sql.base.errors import FormatError, LanguageError, ReadSetChanged
from omnigraph_sql.bind.schema import compile_schema
from omnigraph_sql.bind.schema_ir import SchemaIR
from omnigraph_sql.engine.opening import ContractFiles, read_contract
from omnigraph_sql.engine.store.root import schema_path
from omnigraph_sql.engine.values import MAIN, Snapshot
from omnigraph_sql.engine.world import World
from omnigraph_sql.engine.write.txn import Contract

STATE_FORMAT: Final = 1
OBJECT_FORMAT: Final = 1
_SCHEMAS_KEPT: Final = 64
_RESTORE: Final = "restore the schema files of the graph from one backup"


def contract_files(ir: SchemaIR) -> ContractFiles:
    """The files of a compiled schema."""
    body = ir.to_json().encode()
    state = {
        "format": STATE_FORMAT,
        "identity_domain": ir.identity_domain,
        "ir_hash": ir.ir_hash,
        "ir_bytes": sha256(body).hexdigest(),
        "shape_hash": ir.shape_hash,
    }
    return ContractFiles(ir.source_text.encode(), body, (json.dumps(state, indent=1) + "\n").encode())


def decode_contract(files: ContractFiles) -> SchemaIR:
    """The schema in the files. Raises FormatError when they are damaged or do not belong together.

    Comments of the text may differ from what was stored: they mean nothing.
    """
    state = _state(files.state)
    try:
        source, ir_text = files.source.decode(), files.ir.decode()
    except UnicodeDecodeError as error:
        raise FormatError(f"a schema file is not text: {error}", hint=_RESTORE) from error
    ir = SchemaIR.from_json(ir_text, source_text=source)
    facts = {"identity_domain": ir.identity_domain, "ir_hash": ir.ir_hash, "shape_hash": ir.shape_hash}
    facts["ir_bytes"] = sha256(files.ir).hexdigest()
    for name, value in facts.items():
        if state.get(name) != value:
            raise FormatError(f"the schema state and the compiled schema disagree about {name}", hint=_RESTORE)
    _check_source(source, ir)
    return ir


def _state(body: bytes) -> dict[str, object]:
    try:
        found = json.loads(body)
        if not isinstance(found, dict):
            raise TypeError("no object")
    except (ValueError, TypeError, RecursionError) as error:
        raise FormatError(f"the schema state is damaged: {error}", hint=_RESTORE) from error
    if found.get("format") != STATE_FORMAT:
        raise FormatError(
            f"the schema state has format {found.get('format')!r}, this version reads {STATE_FORMAT}",
            hint="open the graph with the version that wrote it",
        )
    return found


def _check_source(source: str, ir: SchemaIR) -> None:
    try:
        again = compile_schema(source, previous=ir, lenient=True)
    except LanguageError as error:
        raise FormatError(f"the schema text does not compile: {error.message}", hint=_RESTORE) from error
    if again.shape_hash != ir.shape_hash:
        raise FormatError("the schema text and the compiled schema differ", hint=_RESTORE)


# ---- schemas after the first ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StoredSchema:
    """A schema in force: the compiled contract, and what was created over it. `name` is None for the first one.

    A view is its name and the text that created it. `hops_max` is not stored: a session may bind texts with another.
    """

    ir: SchemaIR
    views: tuple[tuple[str, str], ...] = ()
    graphs: tuple[CreatePropertyGraph, ...] = ()
    name: str | None = None
    hops_max: int = limits.HOPS_MAX

    @property
    def catalog(self) -> Catalog:
        return self.ir.catalog

    @property
    def key(self) -> str:
        """Differs between any two schemas that bind a text differently."""
        return f"{self.name or ''}:{self.ir.ir_hash}:{self.hops_max}"


def encode_schema(of: StoredSchema) -> bytes:
    """The object of a schema that came after the first."""
    files = contract_files(of.ir)
    body = {
        "format": OBJECT_FORMAT,
        "source": files.source.decode(),
        "ir": files.ir.decode(),
        "state": files.state.decode(),
        "views": [list(view) for view in of.views],
        "graphs": [{"name": g.name, "nodes": list(g.nodes), "edges": list(g.edges)} for g in of.graphs],
    }
    return json.dumps(body, indent=1, ensure_ascii=False).encode()


def decode_schema(name: str, body: bytes) -> StoredSchema:
    """The schema in an object. Raises FormatError when it is damaged, or of a later version."""
    try:
        found = json.loads(body)
        if found["format"] != OBJECT_FORMAT:
            raise FormatError(
                f"schema {name} has format {found['format']!r}, this version reads {OBJECT_FORMAT}",
                hint="open the graph with the version that wrote it",
            )
        files = ContractFiles(*(found[part].encode() for part in ("source", "ir", "state")))
        views = tuple((_text(view), _text(text)) for view, text in found["views"])
        graphs = tuple(
            CreatePropertyGraph(_text(g["name"]), tuple(map(_text, g["nodes"])), tuple(map(_text, g["edges"])))
            for g in found["graphs"]
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FormatError(f"schema {name} is damaged: {error}", hint=_RESTORE) from error
    return StoredSchema(decode_contract(files), views, graphs, name)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


class ContractKeeper:
    """The schemas of an open graph, each decoded once; shared by the sessions of a graph and safe for threads."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._kept: OrderedDict[str | None, StoredSchema] = OrderedDict()
        self._lock = Lock()

    @classmethod
    def open(cls, world: World) -> ContractKeeper:
        return cls(world)

    @property
    def ir(self) -> SchemaIR:
        """The schema in force on the main branch."""
        return self.at(self.world.manifest.current(MAIN).snapshot).ir

    def at(self, snapshot: Snapshot) -> StoredSchema:
        """The schema of a state. Raises FormatError when it is missing or damaged."""
        name = snapshot.contract
        with self._lock:
            found = self._kept.get(name)
            if found is not None:
                self._kept.move_to_end(name)
                return found
        made = self._read(name)
        with self._lock:
            self._kept[name] = made
            while len(self._kept) > _SCHEMAS_KEPT:
                self._kept.popitem(last=False)
        return made

    def knows(self, snapshot: Snapshot) -> bool:
        """Whether the schema of a state needs no reading."""
        with self._lock:
            return snapshot.contract in self._kept

    def _read(self, name: str | None) -> StoredSchema:
        if name is None:
            return StoredSchema(decode_contract(read_contract(self.world)))
        body = self.world.objects.get(schema_path(name))
        if body is None:
            raise FormatError(f"schema {name} is missing", hint=_RESTORE)
        return decode_schema(name, body)

    def contract(self, branch: str) -> Contract:
        """What a write of the branch is bound to: its newest state, and the schema of that."""
        base = self.world.manifest.current(branch).snapshot
        ir = self.at(base).ir
        return Contract(ir.catalog, ir.identity_domain, ir.ir_hash, lambda: self._check(base), base)

    def _check(self, base: Snapshot) -> None:
        now = self.world.manifest.current(base.branch).snapshot
        if now.contract != base.contract:
            raise ReadSetChanged(
                "the schema was changed meanwhile",
                member="schema",
                expected=self.at(base).ir.ir_hash,
                actual=self.at(now).ir.ir_hash,
                hint="nothing was written; repeat the statement",
            )
