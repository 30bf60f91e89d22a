"""The stored form of a compiled schema: JSON in which rules and edge ends point at identities, not at names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final, assert_never

from omnigraph_sql.base.catalog import (
    DST,
    SRC,
    Cardinality,
    Catalog,
    Check,
    Constraint,
    EdgeType,
    Embedding,
    Index,
    Interface,
    Key,
    NodeType,
    Note,
    Property,
    Range,
    Unique,
)
from omnigraph_sql.base.types import STORABLE, DataType, EnumType, Kind, ListType, ScalarType, VectorType, type_text

FORMAT: Final = 1
"""Version of the layout below."""

Json = dict[str, Any]


def canonical(value: object) -> str:
    """One text per value: keys sorted, no blanks."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def catalog_to_json(catalog: Catalog) -> Json:
    """A JSON value that `catalog_from_json` turns back into an equal catalog."""
    node_ids = {node.name: node.stable_id for node in catalog.nodes}
    interface_ids = {interface.name: interface.stable_id for interface in catalog.interfaces}
    return {
        "interfaces": [_shared(interface, interface_ids) for interface in catalog.interfaces],
        "nodes": [
            _table(node, interface_ids) | {"implements": [interface_ids[name] for name in node.implements]}
            for node in catalog.nodes
        ],
        "edges": [
            _table(edge, interface_ids)
            | {
                "source": node_ids[edge.source],
                "target": node_ids[edge.target],
                "cardinality": [edge.cardinality.minimum, edge.cardinality.maximum],
            }
            for edge in catalog.edges
        ],
    }


def _shared(of: Interface | NodeType | EdgeType, interfaces: Mapping[str, int]) -> Json:
    ids = {p.name: p.stable_id for p in of.properties}
    return {
        "name": of.name,
        "stable_id": of.stable_id,
        "properties": [_property(p, ids, interfaces) for p in of.properties],
        "constraints": [_constraint(rule, ids) for rule in of.constraints],
    }


def _table(of: NodeType | EdgeType, interfaces: Mapping[str, int]) -> Json:
    return _shared(of, interfaces) | {
        "incarnation_id": of.incarnation_id,
        "description": of.description,
        "instruction": of.instruction,
        "notes": [note_to_json(note) for note in of.notes],
    }


def _property(of: Property, ids: Mapping[str, int], interfaces: Mapping[str, int]) -> Json:
    embedding: Json | None = None
    if of.embedding is not None:
        # An interface may embed a text that only its nodes have, hence the name where there is no identity.
        embedding = {"source": ids.get(of.embedding.source, of.embedding.source), "model": of.embedding.model}
    return {
        "name": of.name,
        "stable_id": of.stable_id,
        "type": type_to_json(of.type),
        "nullable": of.nullable,
        "description": of.description,
        "embedding": embedding,
        "notes": [note_to_json(note) for note in of.notes],
        "interfaces": [interfaces[name] for name in of.interfaces],
        "injected": of.injected,
    }


def note_to_json(note: Note) -> Json:
    return {"name": note.name, "value": note.value, "arguments": [list(pair) for pair in note.arguments]}


def type_to_json(of: DataType) -> Json:
    match of:
        case ScalarType(kind):
            return {"scalar": kind.value}
        case ListType(item):
            return {"list": type_to_json(item)}
        case VectorType(dimensions):
            return {"vector": dimensions}
        case EnumType(labels):
            return {"enum": list(labels)}
        case _:
            raise ValueError(f"{type_text(of)} is no type of a property")


def _constraint(rule: Constraint, ids: Mapping[str, int]) -> Json:
    """Members as identities; the ends of an edge have none and keep their names."""
    match rule:
        case Key(members) | Unique(members) | Index(members):
            return {"kind": type(rule).__name__.lower(), "members": [ids.get(name, name) for name in members]}
        case Range(name, low, high):
            return {"kind": "range", "property": ids[name], "low": bound_text(low), "high": bound_text(high)}
        case Check(name, pattern):
            return {"kind": "check", "property": ids[name], "pattern": pattern}
        case _:
            assert_never(rule)


def bound_text(of: int | Decimal | None) -> str | None:
    """A bound as text: JSON readers elsewhere may not keep long numbers exactly."""
    return None if of is None else f"{of:f}" if isinstance(of, Decimal) else str(of)


# ---- reading ----------------------------------------------------------------------------------------------------


def catalog_from_json(data: Json) -> Catalog:
    """Raises ValueError, KeyError or TypeError when `data` is not what `catalog_to_json` wrote."""
    interface_names = {i["stable_id"]: i["name"] for i in data["interfaces"]}
    node_names = {n["stable_id"]: n["name"] for n in data["nodes"]}
    interfaces = tuple(
        Interface(
            name=_text(i["name"]),
            properties=_read_properties(i, interface_names),
            constraints=_read_constraints(i),
            stable_id=_integer(i["stable_id"]),
        )
        for i in data["interfaces"]
    )
    nodes = tuple(
        NodeType(**_read_table(n, interface_names), implements=tuple(interface_names[i] for i in n["implements"]))
        for n in data["nodes"]
    )
    edges = tuple(
        EdgeType(
            **_read_table(e, interface_names),
            source=node_names[e["source"]],
            target=node_names[e["target"]],
            cardinality=Cardinality(*e["cardinality"]),
        )
        for e in data["edges"]
    )
    return Catalog(nodes, edges, interfaces)


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise TypeError(f"{value!r} is no name")
    return value


def _optional_text(value: object) -> str | None:
    return None if value is None else _text(value)


def _integer(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{value!r} is no whole number")
    return value


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is neither true nor false")
    return value


def _read_table(data: Json, interfaces: Mapping[int, str]) -> Json:
    return {
        "name": _text(data["name"]),
        "properties": _read_properties(data, interfaces),
        "constraints": _read_constraints(data),
        "stable_id": _integer(data["stable_id"]),
        "incarnation_id": _integer(data["incarnation_id"]),
        "description": _optional_text(data["description"]),
        "instruction": _optional_text(data["instruction"]),
        "notes": tuple(_read_note(note) for note in data["notes"]),
    }


def _read_properties(data: Json, interfaces: Mapping[int, str]) -> tuple[Property, ...]:
    names = {p["stable_id"]: p["name"] for p in data["properties"]}
    return tuple(
        Property(
            name=_text(p["name"]),
            type=type_from_json(p["type"]),
            nullable=_truth(p["nullable"]),
            stable_id=_integer(p["stable_id"]),
            description=_optional_text(p["description"]),
            embedding=_read_embedding(p["embedding"], names),
            notes=tuple(_read_note(note) for note in p["notes"]),
            interfaces=tuple(interfaces[i] for i in p["interfaces"]),
            injected=_truth(p["injected"]),
        )
        for p in data["properties"]
    )


def _read_embedding(data: Json | None, names: Mapping[int, str]) -> Embedding | None:
    if data is None:
        return None
    source = data["source"]
    return Embedding(names[source] if isinstance(source, int) else _text(source), _optional_text(data["model"]))


def _read_note(data: Json) -> Note:
    value = None if data["value"] is None else _literal(data["value"])
    return Note(_text(data["name"]), value, tuple((_text(name), _literal(given)) for name, given in data["arguments"]))


def _literal(value: object) -> str | int | float | bool:
    if not isinstance(value, str | int | float):
        raise TypeError(f"{value!r} is no literal")
    return value


def type_from_json(data: Json) -> DataType:
    """Raises ValueError when `data` is no type of a property."""
    match data:
        case {"scalar": str(kind)} if ScalarType(Kind(kind)) in STORABLE:
            return ScalarType(Kind(kind))
        case {"list": {"scalar": str(kind)}} if ScalarType(Kind(kind)) in STORABLE and kind != Kind.BLOB:
            return ListType(ScalarType(Kind(kind)))
        case {"vector": int(dimensions)}:
            return VectorType(dimensions)
        case {"enum": list(labels)}:
            return EnumType(tuple(_text(label) for label in labels))
        case _:
            raise ValueError(f"{data!r} is no type of a property")


def _read_constraints(data: Json) -> tuple[Constraint, ...]:
    names: dict[object, str] = {p["stable_id"]: p["name"] for p in data["properties"]}
    names |= {SRC: SRC, DST: DST}
    return tuple(_read_constraint(rule, names) for rule in data["constraints"])


def _read_constraint(data: Json, names: Mapping[object, str]) -> Constraint:
    match data:
        case {"kind": "key", "members": list(members)}:
            return Key(tuple(names[m] for m in members))
        case {"kind": "unique", "members": list(members)}:
            return Unique(tuple(names[m] for m in members))
        case {"kind": "index", "members": list(members)}:
            return Index(tuple(names[m] for m in members))
        case {"kind": "range", "property": of, "low": low, "high": high}:
            return Range(names[of], bound_from_text(low), bound_from_text(high))
        case {"kind": "check", "property": of, "pattern": str(pattern)}:
            return Check(names[of], pattern)
        case _:
            raise ValueError(f"{data!r} is no rule")


def bound_from_text(text: str | None) -> int | Decimal | None:
    if text is None:
        return None
    return Decimal(text) if "." in text else int(text)
