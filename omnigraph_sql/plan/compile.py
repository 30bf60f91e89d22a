"""Text → plans: parse, bind, lower, optimize. Whatever the text, the answer is plans or a LanguageError."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from omnigraph_sql.base import limits
from omnigraph_sql.base.catalog import Catalog
from omnigraph_sql.base.deep import with_room
from omnigraph_sql.base.errors import TextLimitExceeded
from omnigraph_sql.base.expr import Param
from omnigraph_sql.base.schema import Field
from omnigraph_sql.bind.bound import BoundDelete, BoundInsert, BoundMerge, BoundProgram, BoundUpdate
from omnigraph_sql.bind.gq import GqOptions, bind_query
from omnigraph_sql.bind.sql_binder import SqlOptions
from omnigraph_sql.grammar.gq import parse_any
from omnigraph_sql.grammar.language import Language as Language
from omnigraph_sql.grammar.language import language_of as language_of
from omnigraph_sql.grammar.source import Source, Span
from omnigraph_sql.plan.lower import lower, output_fields
from omnigraph_sql.plan.node import Plan
from omnigraph_sql.plan.optimizer import optimize


@dataclass(frozen=True, slots=True)
class Program:
    """One statement, bound and planned."""

    bound: BoundProgram
    plan: Plan

    @property
    def parameters(self) -> tuple[Param, ...]:
        """In order of declaration or first use."""
        return self.bound.parameters

    @property
    def name(self) -> str | None:
        return self.bound.name

    @property
    def fields(self) -> tuple[Field, ...]:
        """Output columns under the names a client sees."""
        made, statement = output_fields(self.plan), self.bound.statement
        if not isinstance(statement, BoundInsert | BoundUpdate | BoundDelete | BoundMerge):
            return made
        labels = (item.label or item.name for item in statement.returning)
        return tuple(replace(field, name=label) for field, label in zip(made, labels, strict=True))


@dataclass(frozen=True, slots=True)
class Compiled:
    """Every statement of a text, in order."""

    language: Language
    programs: tuple[Program, ...]


def compile_sql(
    text: str, catalog: Catalog, *, name: str = "<sql>", options: SqlOptions | None = None, skip: int = 0
) -> Compiled:
    """Every statement of a SQL script; each sees the schema changes and views of those before it.

    The first `skip` statements are left out: they were carried out, and the catalog shows what they left.
    """
    # sqlglot is loaded by the first SQL text, not by the first import.
    from omnigraph_sql.bind.sql import bind_script
    from omnigraph_sql.grammar.sql.parse import parse_script

    def work() -> Compiled:
        bound = bind_script(parse_script(text, name=name)[skip:], catalog, options)
        return _planned("sql", bound, catalog)

    return _compile(work, text, name)


def compile_gq(text: str, catalog: Catalog, *, name: str = "<gq>", options: GqOptions | None = None) -> Compiled:
    """Every query of a `.gq` text, or its one bare body."""
    switches = options or GqOptions()

    def work() -> Compiled:
        unit = parse_any(text, name=name, extensions=switches.extensions)
        return _planned("gq", tuple(bind_query(query, catalog, switches) for query in unit.queries), catalog)

    return _compile(work, text, name)


def compile_any(
    text: str,
    catalog: Catalog,
    *,
    name: str = "<text>",
    sql: SqlOptions | None = None,
    gq: GqOptions | None = None,
    skip: int = 0,
) -> Compiled:
    """The text in the language its first words speak."""
    if language_of(text) == "gq":
        return compile_gq(text, catalog, name=name, options=gq)
    return compile_sql(text, catalog, name=name, options=sql, skip=skip)


def _planned(language: Language, bound: tuple[BoundProgram, ...], catalog: Catalog) -> Compiled:
    return Compiled(language, tuple(Program(b, optimize(lower(b.statement), catalog)) for b in bound))


def _compile(work: Callable[[], Compiled], text: str, name: str) -> Compiled:
    """Compiling is pure, so a text that needs a deep stack is simply compiled again on one."""
    try:
        return with_room(work)
    except RecursionError:
        at = Source(text, name).locate(Span(0, len(text)))
        problem = TextLimitExceeded(
            "the text is nested too deeply to be compiled",
            at=at,
            resource="nesting_levels",
            limit=limits.NESTING_LEVELS_MAX,
            actual=limits.NESTING_LEVELS_MAX + 1,
            hint="split the statement",
        )
    raise problem
