"""Text cases of `.gq`: how a case is compiled, and how trees and bound queries are written down to compare them.

Sections of a case: `[gq]` the text; `[schema]` a schema or the name of one, the airports when absent; `[options]` the
switches that are off. What is expected is one of `[tree]`, `[bound]` and `[error]`. An error is one line: its code, the
text under the carets in backquotes, a piece of the message, then `? suggestion` and `! piece of the hint`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache

from omnigraph_sql.base.catalog import Catalog
from omnigraph_sql.base.errors import LanguageError
from omnigraph_sql.base.expr_text import sort_text
from omnigraph_sql.base.expr_text import text as expr_text
from omnigraph_sql.base.types import type_text
from omnigraph_sql.bind.bound import (
    ONE_HOP,
    BoundDelete,
    BoundEdge,
    BoundInsert,
    BoundMutation,
    BoundPattern,
    BoundProgram,
    BoundQuery,
    BoundSelect,
    BoundUnit,
    BoundUpdate,
    BoundValues,
    Walk,
)
from omnigraph_sql.bind.gq import GqOptions, bind_query
from omnigraph_sql.bind.schema import compile_schema
from omnigraph_sql.grammar.gq import parse_any
from omnigraph_sql.grammar.source import Source, Span
from tests.case_files import CASES, Case, read_cases
from tests.schemas import EXAMPLES

_ERROR = re.compile(r"(?P<code>\S+) `(?P<under>[^`]*)` (?P<message>.*?)(?: \? (?P<near>.+?))?(?: ! (?P<hint>.+))?")


def gq_cases(expects: str) -> list[tuple[str, Case]]:
    """Cases that expect a section of that name, with an id for the report."""
    return [
        (f"{path.stem}: {case.name}", case)
        for path in sorted((CASES / "gq").glob("*.case"))
        for case in read_cases(f"gq/{path.name}")
        if any(name == expects for name, _ in case.sections)
    ]


def section(case: Case, name: str) -> str | None:
    """The text of a section that a case may leave out."""
    return case.only(name) if any(known == name for known, _ in case.sections) else None


@cache
def catalog_of(schema: str) -> Catalog:
    """The catalog of a schema, given by its text or by its name."""
    return compile_schema(EXAMPLES.get(schema, schema)).catalog


def options_of(case: Case) -> GqOptions:
    off = (section(case, "options") or "").split()
    return GqOptions(**dict.fromkeys(off, False))


def compiled(case: Case) -> tuple[BoundProgram, ...]:
    """Every query of the case, parsed and bound."""
    options = options_of(case)
    catalog = catalog_of(section(case, "schema") or "airports")
    unit = parse_any(case.only("gq"), extensions=options.extensions)
    return tuple(bind_query(query, catalog, options) for query in unit.queries)


# ---- errors -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Expected:
    code: str
    under: str
    message: str
    near: str | None
    hint: str | None


def expected_error(line: str) -> Expected:
    found = _ERROR.fullmatch(line)
    if found is None:
        raise ValueError(f"no error is written like this: {line}")
    under = found["under"].replace("\\n", "\n")
    return Expected(found["code"], under, found["message"], found["near"], found["hint"])


def error_text(error: LanguageError, text: str) -> str:
    """An error as a case writes it, in full."""
    under = text[error.at.start : error.at.end].replace("\n", "\\n")
    near = f" ? {error.suggestion}" if error.suggestion is not None else ""
    return f"{error.code} `{under}` {error.message}{near}" + (f" ! {error.hint}" if error.hint else "")


# ---- trees ------------------------------------------------------------------------------------------------------


def tree_text(node: object) -> str:
    """A syntax tree on one line, without places and without what is absent."""
    if isinstance(node, tuple):
        return f"[{' '.join(tree_text(item) for item in node)}]"
    names = [f.name for f in fields(node)] if hasattr(node, "__dataclass_fields__") else None  # type: ignore[arg-type]
    if names is None:
        return repr(str(node)) if isinstance(node, str) and not node.isidentifier() else str(node)
    kept = [getattr(node, name) for name in names]
    parts = [tree_text(part) for part in kept if not (part is None or part is False or isinstance(part, Span | Source))]
    if type(node).__name__ == "Name":
        return parts[0]
    return f"{type(node).__name__}({', '.join(parts)})"


# ---- bound queries ----------------------------------------------------------------------------------------------


def bound_text(program: BoundProgram) -> str:
    """A bound query in lines: what is matched, what comes out, in which order."""
    lines: list[str] = []
    if program.parameters:
        listed = (f"${p.name} {type_text(p.of)}{'?' if p.null else ''}" for p in program.parameters)
        lines.append(f"parameters {', '.join(listed)}")
    match program.statement:
        case BoundQuery():
            lines.extend(_query(program.statement))
        case BoundUnit():
            lines.extend(_mutation(mutation) for mutation in program.statement.mutations)
        case other:
            raise TypeError(f"{type(other).__name__} does not come from .gq")
    return "\n".join(lines)


def _query(query: BoundQuery) -> Iterator[str]:
    select = query.body
    assert isinstance(select, BoundSelect)
    assert isinstance(select.source, BoundPattern)
    yield from _pattern(select.source, "")
    types = {f.name: f"{type_text(f.type)}{'?' if f.nullable else ''}" for f in query.schema.fields}
    for item in select.items:
        yield f"column {item.name}: {types[item.name]} = {expr_text(item.expr)}"
    if select.group is not None:
        yield f"group {', '.join(expr_text(key) for key in select.group.keys)}"
    if query.order:
        yield f"order {', '.join(sort_text(key) for key in query.order)}"
    if query.limit is not None:
        yield f"limit {expr_text(query.limit)}"


def _pattern(pattern: BoundPattern, indent: str) -> Iterator[str]:
    if pattern.outer:
        yield f"{indent}outer {' '.join(f'{n.variable}:{n.type.name}' for n in pattern.outer)}"
    if pattern.nodes:
        yield f"{indent}nodes {' '.join(f'{n.variable}:{n.type.name}' for n in pattern.nodes)}"
    for edge in pattern.edges:
        yield indent + _edge(edge)
    for predicate in pattern.predicates:
        yield f"{indent}where {expr_text(predicate)}"
    for absence in pattern.absences:
        yield f"{indent}not"
        yield from _pattern(absence, indent + "  ")


def _edge(edge: BoundEdge) -> str:
    arrow = "--" if edge.undirected else "->"
    hops = "" if edge.hops == ONE_HOP else f" {{{edge.hops.minimum},{edge.hops.maximum}}}"
    named = f" {edge.variable}" if edge.walk is Walk.EDGES else ""
    return f"edge{named} {edge.source} -{edge.type.name}{arrow[1:]} {edge.target}{hops}"


def _mutation(mutation: BoundMutation) -> str:
    match mutation:
        case BoundInsert():
            assert isinstance(mutation.source.body, BoundValues)
            (row,) = mutation.source.body.rows
            values = (f"{c} = {expr_text(e)}" for c, e in zip(mutation.columns, row, strict=True))
            return f"insert {mutation.type.name} ({', '.join(values)}) on conflict {mutation.on_conflict.value}"
        case BoundUpdate():
            values = (f"{a.property} = {expr_text(a.value)}" for a in mutation.assignments)
            assert mutation.where is not None
            return f"update {mutation.type.name} ({', '.join(values)}) where {expr_text(mutation.where)}"
        case BoundDelete():
            cascade = "".join(f" and {edge.name}" for edge in mutation.cascade)
            assert mutation.where is not None
            return f"delete {mutation.type.name}{cascade} where {expr_text(mutation.where)}"
        case _:
            raise TypeError(f"{type(mutation).__name__} does not come from .gq")
