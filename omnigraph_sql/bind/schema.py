"""Schema text → compiled schema. The codes of its errors are listed in `schema_errors`."""

from __future__ import annotations

from omnigraph_sql.bind.schema_draft import Draft, draft_schema
from omnigraph_sql.bind.schema_errors import Problem, S, Spot, TypeKind, place_of, refusal
from omnigraph_sql.bind.schema_identity import Diagnostic, identify
from omnigraph_sql.bind.schema_ir import SchemaIR
from omnigraph_sql.bind.schema_rules import problems
from omnigraph_sql.grammar.pg import parse_schema
from omnigraph_sql.grammar.source import Source

__all__ = ["Diagnostic", "S", "SchemaIR", "Spot", "TypeKind", "compile_schema"]


def compile_schema(
    text: str,
    *,
    name: str = "<schema>",
    previous: SchemaIR | None = None,
    identity_domain: str = "",
    lenient: bool = False,
) -> SchemaIR:
    """Compile a `.pg` text; the same text gives the same result.

    With `previous`, whatever continues something of it (same name, or a rename hint) keeps that identity, and the
    identity domain is that of `previous`. `lenient` accepts what stored texts were once allowed to say and new ones are
    not. Raises LanguageError for any fault of the text, ResourceLimitExceeded when identities run out.
    """
    source = Source(text, name)
    draft = draft_schema(parse_schema(source))
    _refuse_faults(draft, source, lenient)
    before = previous.catalog if previous is not None else None
    done = identify(draft, source, before, previous.next_identity_id if previous is not None else 1)
    return SchemaIR(
        catalog=done.catalog,
        next_identity_id=done.next_identity_id,
        identity_domain=previous.identity_domain if previous is not None else identity_domain,
        source_text=text,
        diagnostics=done.diagnostics,
    )


def _refuse_faults(draft: Draft, source: Source, lenient: bool) -> None:
    """Raise the first fault in the order of the text; one of an interface comes before its consequences."""
    found = list(problems(draft.catalog, lenient=lenient))
    if not found:
        return

    def order(problem: Problem) -> tuple[bool, int]:
        return problem.spot.kind is not TypeKind.INTERFACE, place_of(problem, draft.places).start

    first = min(found, key=order)
    span = place_of(first, draft.places)
    raise refusal(source, span, first.code, first.message, hint=first.hint, suggestion=first.suggestion)
