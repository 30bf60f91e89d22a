"""The stored schema of a graph: its three files, the catalog in them, and whether they still agree."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from omnigraph_sql.base.errors import FormatError, LanguageError, ReadSetChanged
from omnigraph_sql.bind.schema import compile_schema
from omnigraph_sql.bind.schema_ir import SchemaIR
from omnigraph_sql.engine.opening import ContractFiles, read_contract
from omnigraph_sql.engine.store.root import SCHEMA_STATE
from omnigraph_sql.engine.world import World
from omnigraph_sql.engine.write.txn import Contract

STATE_FORMAT: Final = 1
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


@dataclass(slots=True)
class ContractKeeper:
    """The contract of an open graph: decoded once, compared by its state file when it matters."""

    world: World
    files: ContractFiles
    ir: SchemaIR
    checks: int = 0

    @classmethod
    def open(cls, world: World) -> ContractKeeper:
        files = read_contract(world)
        return cls(world, files, decode_contract(files))

    def refresh(self) -> None:
        """Take over what is stored now."""
        files = read_contract(self.world)
        if files != self.files:
            self.ir = decode_contract(files)
            self.files = files

    def renew(self) -> bool:
        """Look whether another process changed the schema, and take it over; whether it did."""
        self.checks += 1
        if self.world.objects.get(SCHEMA_STATE) == self.files.state:
            return False
        self.refresh()
        return True

    def contract(self) -> Contract:
        """The contract as it is known. Its `check`, under the lease, is the one look a write takes."""
        ir = self.ir
        return Contract(ir.catalog, ir.identity_domain, ir.ir_hash, self._check)

    def _check(self) -> None:
        before = self.ir.ir_hash
        if self.renew():
            raise ReadSetChanged(
                "the schema was changed meanwhile",
                member="schema",
                expected=before,
                actual=self.ir.ir_hash,
                hint="nothing was written; repeat the statement",
            )
