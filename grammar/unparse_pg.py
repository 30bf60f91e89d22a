"""Catalog → schema text: the one place where `.pg` is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Protocol, assert_never

from omnigraph_sql.base.catalog import (
    Cardinality,
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
from omnigraph_sql.base.types import ListType, type_text
from omnigraph_sql.grammar.lexical import encode_string

_INDENT = "    "


class HasCatalog(Protocol):
    """A compiled schema, seen from here."""

    @property
    def catalog(self) -> Catalog: ...


def render_type(of: NodeType | EdgeType) -> str:
    """One declaration, of a type that implements no interface."""
    return _node(of, {}) if isinstance(of, NodeType) else _edge(of)


def render_property(of: Property) -> str:
    """One property without rules."""
    return _property(of, ())


def render_schema(of: Catalog | HasCatalog) -> str:
    """A text that compiles to an equal catalog: interfaces, nodes, edges, each in the catalog's order."""
    catalog = of if isinstance(of, Catalog) else of.catalog
    interfaces = {i.name: i for i in catalog.interfaces}
    blocks = [_interface(i) for i in catalog.interfaces]
    blocks += [_node(n, interfaces) for n in catalog.nodes]
    blocks += [_edge(e) for e in catalog.edges]
    return "\n\n".join(blocks) + ("\n" if blocks else "")


def _interface(of: Interface) -> str:
    lines = [_property(p, of.constraints) for p in of.properties]
    return f"interface {of.name} {_body(lines)}"


def _node(of: NodeType, interfaces: dict[str, Interface]) -> str:
    own = [p for p in of.properties if not p.injected]
    implements = f" implements {', '.join(of.implements)}" if of.implements else ""
    inherited = {rule for p in of.properties if p.injected for rule in _inherited(p, interfaces)}
    rules = tuple(rule for rule in of.constraints if rule not in inherited)
    return f"node {_type_name(of.name)}{_header_notes(of)}{implements} {_body(_lines(own, rules))}"


def _edge(of: EdgeType) -> str:
    ends = f"{_type_name(of.source)} -> {_type_name(of.target)}"
    header = f"edge {_type_name(of.name)}: {ends}{_cardinality(of.cardinality)}{_header_notes(of)}"
    lines = _lines(of.properties, of.constraints)
    return f"{header} {_body(lines)}" if lines else header


def _inherited(of: Property, interfaces: dict[str, Interface]) -> Iterator[Constraint]:
    """Rules that come along with an injected property and need not be written again."""
    for name in of.interfaces:
        yield from (rule for rule in interfaces[name].constraints if _only_member(rule) == of.name)


def _only_member(rule: Constraint) -> str | None:
    match rule:
        case Key((name,)) | Unique((name,)) | Index((name,)):
            return name
        case _:
            return None


def _lines(properties: Iterable[Property], rules: tuple[Constraint, ...]) -> list[str]:
    """Properties with the rules that fit behind them, then the other rules."""
    own = list(properties)
    behind = {rule for p in own for rule in rules if _stands_behind(rule, p)}
    return [_property(p, rules) for p in own] + [render_rule(rule) for rule in rules if rule not in behind]


def _stands_behind(rule: Constraint, of: Property) -> bool:
    # The language has no note for an index over a list, only the rule in the body.
    return _only_member(rule) == of.name and not (isinstance(rule, Index) and isinstance(of.type, ListType))


def _body(lines: list[str]) -> str:
    return "\n".join(("{", *(_INDENT + line for line in lines), "}")) if lines else "{}"


def _cardinality(of: Cardinality) -> str:
    if of == Cardinality():
        return ""
    return f" @card({of.minimum}..{'' if of.maximum is None else of.maximum})"


def _property(of: Property, rules: tuple[Constraint, ...]) -> str:
    words = [f"{_name(of.name)}: {type_text(of.type)}{'?' if of.nullable else ''}"]
    words += [f"@{type(rule).__name__.lower()}" for rule in rules if _stands_behind(rule, of)]
    if of.embedding is not None:
        model = f", model={encode_string(of.embedding.model)}" if of.embedding.model is not None else ""
        words.append(f"@embed({encode_string(of.embedding.source)}{model})")
    if of.description is not None:
        words.append(f"@description({encode_string(of.description)})")
    words += [_note(note) for note in of.notes]
    return " ".join(words)


def _header_notes(of: NodeType | EdgeType) -> str:
    words = []
    if of.description is not None:
        words.append(f"@description({encode_string(of.description)})")
    if of.instruction is not None:
        words.append(f"@instruction({encode_string(of.instruction)})")
    words += [_note(note) for note in of.notes]
    return "".join(f" {word}" for word in words)


def _note(of: Note) -> str:
    if of.value is None:
        return f"@{of.name}"
    named = "".join(f", {name}={_scalar(value)}" for name, value in of.arguments)
    return f"@{of.name}({_scalar(of.value)}{named})"


def _scalar(value: str | int | float | bool) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return encode_string(value)
        case int():
            return str(value)
        case float():
            # The language has no exponents.
            plain = f"{Decimal(repr(value)):f}"
            return plain if "." in plain else f"{plain}.0"
        case _:
            assert_never(value)


def _type_name(name: str) -> str:
    """A type's name as a declaration spells it: in back quotes when it does not begin with a capital."""
    return name if "A" <= name[:1] <= "Z" else f"`{name}`"


def _name(name: str) -> str:
    """A property's name as a body spells it: in back quotes when it begins with a capital."""
    return f"`{name}`" if "A" <= name[:1] <= "Z" else name


def render_rule(rule: Constraint) -> str:
    """A rule as it is written in a body."""
    match rule:
        case Key(members) | Unique(members) | Index(members):
            return f"@{type(rule).__name__.lower()}({', '.join(map(_name, members))})"
        case Range(name, low, high):
            return f"@range({_name(name)}, {_bound(low)}..{_bound(high)})"
        case Check(name, pattern):
            return f"@check({_name(name)}, {encode_string(pattern)})"
        case _:
            assert_never(rule)


def _bound(of: int | Decimal | None) -> str:
    return "" if of is None else f"{of:f}" if isinstance(of, Decimal) else str(of)
