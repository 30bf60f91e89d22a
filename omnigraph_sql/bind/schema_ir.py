"""A compiled schema: the catalog with its identities, its hashes, and the form in which a graph keeps it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any, Final

from omnigraph_sql.base import limits
from omnigraph_sql.base.catalog import Catalog, Check, Interface, NodeType, Range
from omnigraph_sql.base.errors import FormatError
from omnigraph_sql.bind.schema_errors import Problem, S, Spot, TypeKind
from omnigraph_sql.bind.schema_identity import AnyType, Diagnostic, types_of
from omnigraph_sql.bind.schema_json import FORMAT, canonical, catalog_from_json, catalog_to_json
from omnigraph_sql.bind.schema_rules import problems
from omnigraph_sql.bind.schema_shape import shape_hash


@dataclass(frozen=True)
class SchemaIR:
    """What a graph may contain, and who each part of it is. Text and diagnostics do not count in comparisons."""

    catalog: Catalog
    next_identity_id: int
    identity_domain: str = ""
    source_text: str = field(default="", compare=False)
    diagnostics: tuple[Diagnostic, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        seen: set[int] = set()
        for identity in identities(self.catalog):
            if not 1 <= identity < self.next_identity_id or identity in seen:
                raise ValueError(f"identity {identity} is used twice or was never given out")
            seen.add(identity)
        if self.next_identity_id > limits.IDENTITY_ID_MAX + 1:
            raise ValueError("the next identity is beyond the last one")

    @cached_property
    def shape_hash(self) -> str:
        """Changes with the meaning of the schema: not with order, comments, former names or identities."""
        return shape_hash(self.catalog)

    @cached_property
    def ir_hash(self) -> str:
        """Changes with the meaning or with any identity; what a write is bound to."""
        everything = [self.shape_hash, self.identity_domain, self.next_identity_id, _named_identities(self.catalog)]
        return sha256(canonical(everything).encode()).hexdigest()

    def to_json(self) -> str:
        """Everything but the text, for `from_json`."""
        body = {
            "format": FORMAT,
            "identity_domain": self.identity_domain,
            "next_identity_id": self.next_identity_id,
            "shape_hash": self.shape_hash,
            **catalog_to_json(self.catalog),
        }
        return json.dumps(body, indent=2, sort_keys=True, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str, *, source_text: str = "") -> SchemaIR:
        """Read a stored contract. Raises FormatError when it is damaged or breaks a rule of the language."""
        try:
            body = json.loads(text)
            _refuse_other_format(body)
            ir = cls(
                catalog_from_json(body),
                _whole(body["next_identity_id"]),
                str(body["identity_domain"]),
                source_text,
            )
            stored_hash = body["shape_hash"]
        except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
            raise FormatError(f"the stored schema is damaged: {error}", hint=_RESTORE) from error
        for problem in contract_problems(ir.catalog):
            text = f"the stored schema breaks a rule ({problem.code.value}): {problem.message}"
            raise FormatError(text, hint=_RESTORE)
        if stored_hash != ir.shape_hash:
            raise FormatError("the stored schema does not have the hash it was stored with", hint=_RESTORE)
        return ir


_TYPE_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_PROPERTY_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESTORE: Final = "restore the schema files of the graph from a backup, or export with the version that wrote them"


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{value!r} is no whole number")
    return value


def _refuse_other_format(body: Any) -> None:
    if not isinstance(body, dict):
        raise TypeError("no object")
    if body["format"] != FORMAT:
        raise FormatError(
            f"the stored schema has format {body['format']}, this version reads {FORMAT}",
            hint="open the graph with the version that wrote it",
        )


def contract_problems(catalog: Catalog) -> Iterator[Problem]:
    """Faults of a stored catalog: the language's rules, and what a text could not get wrong."""
    for kind in TypeKind:
        names = [of.name for of in types_of(catalog, kind)]
        for of in types_of(catalog, kind):
            spot = Spot(kind, of.name)
            if names.count(of.name) > 1:
                yield Problem(S.DUPLICATE_TYPE, f"{spot} is there twice", spot)
            if not _TYPE_NAME.fullmatch(of.name):
                yield Problem(S.CONTRACT, f"{spot} has no name a type may have", spot)
            yield from _column_problems(of, spot)
            for rule in of.constraints:
                if not isinstance(rule, Range | Check) and not rule.properties:
                    yield Problem(S.CONTRACT, f"{spot} has a rule about nothing", spot)
    yield from problems(catalog, lenient=True)


def _column_problems(of: AnyType, spot: Spot) -> Iterator[Problem]:
    names = [column.name for column in of.properties]
    for column in of.properties:
        if names.count(column.name) > 1:
            yield Problem(S.DUPLICATE_PROPERTY, f"{spot} has two properties {column.name}", spot)
        if not _PROPERTY_NAME.fullmatch(column.name):
            yield Problem(S.CONTRACT, f"{spot} has a property with an impossible name", spot)
        if not set(column.interfaces) <= _implemented(of):
            text = f"{spot}.{column.name} comes from an interface that {of.name} does not implement"
            yield Problem(S.CONTRACT, text, spot)


def _implemented(of: AnyType) -> set[str]:
    return set(of.implements) if isinstance(of, NodeType) else set()


# ---- identities and shape ---------------------------------------------------------------------------------------


def identities(catalog: Catalog) -> Iterator[int]:
    """Every identity of a catalog: types, incarnations of tables, properties."""
    for kind in TypeKind:
        for of in types_of(catalog, kind):
            yield of.stable_id
            if not isinstance(of, Interface):
                yield of.incarnation_id
            for column in of.properties:
                yield column.stable_id


def _named_identities(catalog: Catalog) -> list[object]:
    rows: list[object] = []
    for kind in TypeKind:
        for of in sorted(types_of(catalog, kind), key=lambda t: t.name):
            incarnation = 0 if isinstance(of, Interface) else of.incarnation_id
            rows.append([kind.value, of.name, of.stable_id, incarnation, {p.name: p.stable_id for p in of.properties}])
    return rows
