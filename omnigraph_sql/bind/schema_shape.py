"""The meaning of a catalog as one sorted value: equal for two schemas that say the same in another order."""

from __future__ import annotations

from hashlib import sha256
from typing import assert_never

from omnigraph_sql.base.catalog import (
    Catalog,
    Check,
    Constraint,
    EdgeType,
    Index,
    Interface,
    Key,
    NodeType,
    Note,
    Property,
    Range,
    Unique,
)
from omnigraph_sql.bind.schema_json import Json, bound_text, canonical, note_to_json, type_to_json


def shape_hash(catalog: Catalog) -> str:
    """Independent of order, comments, former names and identities."""
    return sha256(canonical(shape(catalog)).encode("utf-8", "surrogatepass")).hexdigest()


def shape(catalog: Catalog) -> Json:
    """Everything a schema says, by name."""
    return {
        "interfaces": {i.name: _shared(i) for i in catalog.interfaces},
        "nodes": {n.name: _node(n) for n in catalog.nodes},
        "edges": {e.name: _edge(e) for e in catalog.edges},
    }


def _shared(of: Interface | NodeType | EdgeType) -> Json:
    return {
        "properties": {p.name: _property(p) for p in of.properties},
        "constraints": sorted(canonical(rule_shape(rule)) for rule in of.constraints),
    }


def _table(of: NodeType | EdgeType) -> Json:
    return {"description": of.description, "instruction": of.instruction, "notes": _notes(of.notes)}


def _node(of: NodeType) -> Json:
    return _shared(of) | _table(of) | {"implements": sorted(of.implements)}


def _edge(of: EdgeType) -> Json:
    ends = {"source": of.source, "target": of.target}
    return _shared(of) | _table(of) | ends | {"cardinality": [of.cardinality.minimum, of.cardinality.maximum]}


def _property(of: Property) -> Json:
    return {
        "type": type_to_json(of.type),
        "nullable": of.nullable,
        "description": of.description,
        "embedding": [of.embedding.source, of.embedding.model] if of.embedding is not None else None,
        "notes": _notes(of.notes),
        "interfaces": sorted(of.interfaces),
        "injected": of.injected,
    }


def _notes(notes: tuple[Note, ...]) -> list[str]:
    return sorted(canonical(note_to_json(note)) for note in notes)


def rule_shape(rule: Constraint) -> list[object]:
    """A rule as a value. Members of a key or a unique rule are a set; those of an index are in order."""
    match rule:
        case Key(members) | Unique(members):
            return [type(rule).__name__.lower(), sorted(members)]
        case Index(members):
            return ["index", list(members)]
        case Range(name, low, high):
            return ["range", name, bound_text(low), bound_text(high)]
        case Check(name, pattern):
            return ["check", name, pattern]
        case _:
            assert_never(rule)
