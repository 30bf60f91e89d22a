"""Lint: every query of a text checked against a catalog, with what it returns, reads and writes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from omnigraph_sql.base.catalog import Catalog, NodeType, TableType
from omnigraph_sql.base.errors import LanguageError, Location
from omnigraph_sql.bind.bound import BoundProgram, BoundUnit, BoundUpdate
from omnigraph_sql.bind.gq import GqOptions, bind_query
from omnigraph_sql.bind.operation import Operation, operation_of
from omnigraph_sql.grammar.ast import gq as ast
from omnigraph_sql.grammar.gq import parse_unit

_DEFAULTS: Final = GqOptions()


class Severity(StrEnum):
    """In the order findings are listed."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """One remark. `type` and `property` are for remarks about the schema, `query` and `at` for those about a text."""

    severity: Severity
    code: str
    message: str
    type: str | None = None
    property: str | None = None
    query: str | None = None
    at: Location | None = None
    hint: str | None = None
    suggestion: str | None = None

    def to_dict(self) -> dict[str, object]:
        body: dict[str, object] = {"severity": self.severity.value, "code": self.code, "message": self.message}
        facts = {"type": self.type, "property": self.property, "query": self.query, "hint": self.hint}
        facts["suggestion"] = self.suggestion
        body.update({name: fact for name, fact in facts.items() if fact is not None})
        if self.at is not None:
            body["line"], body["column"] = self.at.line, self.at.column
            body["span"] = [self.at.byte_start, self.at.byte_end]
        return body


@dataclass(frozen=True, slots=True)
class QueryRecord:
    """What is known about one query; `operation` is None when it did not compile."""

    name: str
    kind: str
    warnings: tuple[Finding, ...] = ()
    error: Finding | None = None
    operation: Operation | None = None

    @property
    def status(self) -> str:
        return "ok" if self.error is None else "error"

    def to_dict(self) -> dict[str, object]:
        body: dict[str, object] = {
            "name": self.name,
            "kind": self.kind,
            "status": self.status,
            "warnings": [w.to_dict() for w in self.warnings],
        }
        if self.error is not None:
            body["error"] = self.error.to_dict()
        if self.operation is not None:
            body["operation"] = self.operation.to_dict()
        return body


@dataclass(frozen=True, slots=True)
class LintReport:
    """Queries in file order; findings by severity, type, property and message."""

    name: str
    queries: tuple[QueryRecord, ...]
    findings: tuple[Finding, ...]

    @property
    def errors(self) -> int:
        return sum(f.severity is Severity.ERROR for f in self.findings)

    @property
    def warnings(self) -> int:
        return sum(f.severity is Severity.WARNING for f in self.findings)

    @property
    def status(self) -> str:
        return "error" if self.errors else "ok"

    def to_dict(self) -> dict[str, object]:
        counts = {"queries": len(self.queries), "errors": self.errors, "warnings": self.warnings}
        return {
            "name": self.name,
            "status": self.status,
            "counts": counts,
            "queries": [q.to_dict() for q in self.queries],
            "findings": [f.to_dict() for f in self.findings],
        }


def lint(text: str, catalog: Catalog, *, name: str = "<gq>", options: GqOptions = _DEFAULTS) -> LintReport:
    """Check a text of queries. Never raises for what the text says: a text that does not parse is finding Q000."""
    try:
        unit = parse_unit(text, name=name, extensions=options.extensions)
    except LanguageError as broken:
        return LintReport(name, (), (_finding(broken, None, "Q000"),))
    records: list[QueryRecord] = []
    bound: list[BoundProgram] = []
    for query in unit.queries:
        record, program = _check(query, catalog, options)
        records.append(record)
        bound.extend([program] if program is not None else [])
    findings = [f for record in records for f in (record.error, *record.warnings) if f is not None]
    findings.extend(_never_updated(catalog, bound))
    return LintReport(name, tuple(records), tuple(sorted(findings, key=_order)))


def _order(finding: Finding) -> tuple[int, str, str, str, str, int]:
    rank = list(Severity).index(finding.severity)
    start = finding.at.start if finding.at is not None else 0
    return rank, finding.type or "", finding.property or "", finding.message, finding.query or "", start


def _check(query: ast.Query, catalog: Catalog, options: GqOptions) -> tuple[QueryRecord, BoundProgram | None]:
    name = query.name.text if query.name is not None else ""
    writes = isinstance(query.body, ast.WriteBody)
    kind = "mutation" if writes else "read"
    warnings = (_hard_coded(query, name),) if writes and not query.formals else ()
    try:
        program = bind_query(query, catalog, options)
    except LanguageError as broken:
        return QueryRecord(name, kind, warnings, _finding(broken, name, broken.code)), None
    return QueryRecord(name, kind, warnings, None, operation_of(program.statement, catalog)), program


def _finding(error: LanguageError, query: str | None, code: str) -> Finding:
    return Finding(
        Severity.ERROR,
        code,
        error.message,
        query=query,
        at=error.at,
        hint=error.hint,
        suggestion=error.suggestion,
    )


def _hard_coded(query: ast.Query, name: str) -> Finding:
    message = f"mutation {name} has no parameters; its values are hard-coded"
    span = query.name.span if query.name is not None else query.span
    return Finding(Severity.WARNING, "L202", message, query=name, at=query.source.locate(span))


def _never_updated(catalog: Catalog, bound: list[BoundProgram]) -> Iterator[Finding]:
    """L201, for types that some valid query updates."""
    updated: dict[str, set[str]] = {}
    for program in bound:
        if isinstance(program.statement, BoundUnit):
            for mutation in program.statement.mutations:
                if isinstance(mutation, BoundUpdate):
                    updated.setdefault(mutation.type.name, set()).update(a.property for a in mutation.assignments)
    for type_name in sorted(updated):
        of = catalog.node(type_name)
        for property in _expected_updates(of) if of is not None else ():
            if property not in updated[type_name]:
                message = f"{type_name}.{property} is set by no update query"
                yield Finding(Severity.WARNING, "L201", message, type_name, property)


def _expected_updates(of: TableType) -> list[str]:
    """Nullable properties that are neither in the key nor made from a text."""
    assert isinstance(of, NodeType)
    return [p.name for p in of.properties if p.nullable and p.name not in of.key and p.embedding is None]
