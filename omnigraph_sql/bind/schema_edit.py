"""A schema with one change made to its text, so that what its author wrote around it stays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from omnigraph_sql.base.catalog import Catalog, EdgeType, NodeType, TableType
from omnigraph_sql.base.errors import LanguageError
from omnigraph_sql.bind.schema import compile_schema
from omnigraph_sql.bind.schema_ir import SchemaIR
from omnigraph_sql.bind.schema_shape import shape_hash
from omnigraph_sql.grammar.ast.pg import EdgeDecl, NodeDecl
from omnigraph_sql.grammar.pg import parse_schema
from omnigraph_sql.grammar.source import Source, Span
from omnigraph_sql.grammar.unparse_pg import render_property, render_rule, render_schema, render_type

_Key: TypeAlias = tuple[bool, str]
"""Whether it is a node type, and its name."""

_INDENT = "    "


def with_catalog(before: SchemaIR, catalog: Catalog) -> SchemaIR:
    """The schema that declares `catalog`: what continues something of `before` keeps its identity.

    The text is that of `before` with types added, removed or extended; where that does not come out right it is
    written anew.
    """
    wanted = shape_hash(catalog)
    text = _edited(before.source_text, before.catalog, catalog)
    try:
        made = compile_schema(text, previous=before, lenient=True)
        if made.shape_hash == wanted:
            return made
    except LanguageError:
        pass  # the text is beyond such an edit
    return compile_schema(render_schema(catalog), previous=before, lenient=True)


@dataclass(frozen=True, slots=True)
class _Edit:
    """`text` takes the place of what stands at `span`."""

    span: Span
    text: str


def _edited(text: str, before: Catalog, after: Catalog) -> str:
    old, new = _by_key(before), _by_key(after)
    edits = sorted(_edits(text, old, new), key=lambda edit: edit.span.start, reverse=True)
    for edit in edits:
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    added = [render_type(of) for key, of in new.items() if key not in old]
    return "\n\n".join(part for part in (text.strip("\n"), *added) if part) + "\n"


def _by_key(catalog: Catalog) -> dict[_Key, TableType]:
    return {(isinstance(of, NodeType), of.name): of for of in catalog.tables()}


def _edits(text: str, old: dict[_Key, TableType], new: dict[_Key, TableType]) -> Iterator[_Edit]:
    for declaration in parse_schema(Source(text, "<schema>")).declarations:
        if not isinstance(declaration, NodeDecl | EdgeDecl):
            continue
        key = (isinstance(declaration, NodeDecl), declaration.name.text)
        if key not in old:
            continue
        span = declaration.span
        if key not in new:
            yield _Edit(Span(span.start, _end_of_line(text, span.end)), "")
        elif lines := list(_added(old[key], new[key])):
            yield _inserted(text, span, lines, isinstance(new[key], EdgeType))


def _end_of_line(text: str, at: int) -> int:
    """Past the line break that follows at once, so that no empty line is left."""
    end = at
    while end < len(text) and text[end] in " \t\r":
        end += 1
    return end + 1 if text[end : end + 1] == "\n" else at


def _added(old: TableType, new: TableType) -> Iterator[str]:
    known = {p.name for p in old.properties}
    yield from (render_property(p) for p in new.properties if p.name not in known)
    yield from (render_rule(rule) for rule in new.constraints if rule not in old.constraints)


def _inserted(text: str, span: Span, lines: list[str], is_edge: bool) -> _Edit:
    block = "".join(f"{_INDENT}{line}\n" for line in lines)
    if is_edge and text[span.end - 1] != "}":
        return _Edit(Span(span.end, span.end), " {\n" + block + "}")
    at = span.end - 1
    line_start = text.rfind("\n", 0, at) + 1
    if not text[line_start:at].strip():
        return _Edit(Span(line_start, at), block + text[line_start:at])
    return _Edit(Span(at, at), "\n" + block)
