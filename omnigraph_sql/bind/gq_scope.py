"""What one run of the `.gq` binder carries along: text, catalog, switches, parameters, and scopes of variables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from omnigraph_sql.base.catalog import ID, Catalog, EdgeType, NodeType, TableType
from omnigraph_sql.base.errors import TypeMismatch, UnknownName
from omnigraph_sql.base.expr import Column, Param
from omnigraph_sql.base.types import ANY, BLOB, STRING, DataType, EnumType, type_text
from omnigraph_sql.bind.suggest import closest
from omnigraph_sql.grammar.ast import gq as ast
from omnigraph_sql.grammar.source import Source, Span

ANONYMOUS = "_"


@dataclass(frozen=True, slots=True)
class GqOptions:
    """Dialect switches. `strict_params` is for whoever binds values: undeclared ones are refused."""

    extensions: bool = True
    exact_sum: bool = True
    strict_params: bool = True
    total_order: bool = True
    read_now: bool = True


@dataclass(frozen=True, slots=True)
class Ranged:
    """A variable: the name its columns carry (unique in the statement), its table, where it was introduced."""

    name: str
    type: TableType
    span: Span

    @property
    def is_edge(self) -> bool:
        return isinstance(self.type, EdgeType)

    @property
    def id(self) -> Column:
        return Column(f"{self.name}.{ID}", STRING, False)

    def column(self, property: str) -> Column | None:
        """A declared property as a column; ids and endpoints are not properties."""
        found = self.type.property(property)
        return Column(f"{self.name}.{property}", found.type, found.nullable) if found is not None else None


class Scope:
    """Variables of one pattern by their written name; a `not` block sees those of the pattern around it."""

    __slots__ = ("outer", "parent", "variables")

    def __init__(self, parent: Scope | None = None) -> None:
        self.parent = parent
        self.variables: dict[str, Ranged] = {}
        self.outer: dict[str, Ranged] = {}
        """Variables of enclosing patterns that were looked up from here or from further inside."""

    def find(self, name: str) -> Ranged | None:
        found = self.variables.get(name)
        if found is None and self.parent is not None:
            found = self.parent.find(name)
            if found is not None:
                self.outer[found.name] = found
        return found

    def names(self) -> list[str]:
        """Every name that can be mentioned here, the nearest first."""
        return [*self.variables, *(self.parent.names() if self.parent is not None else ())]


@dataclass(slots=True)
class Work:
    """One query being bound. Parameters grow when the body is bare; taken names grow with every variable."""

    source: Source
    catalog: Catalog
    options: GqOptions
    bare: bool
    writes: bool
    params: dict[str, Param] = field(default_factory=dict)
    first_uses: dict[str, int] = field(default_factory=dict)
    """Where a bare body mentions each parameter first."""
    taken: set[str] = field(default_factory=set)

    # ---- errors ----

    def wrong(self, code: str, span: Span, message: str, hint: str | None = None) -> TypeMismatch:
        return TypeMismatch(message, at=self.source.locate(span), code=code, hint=hint)

    def unknown(
        self,
        code: str,
        span: Span,
        message: str,
        word: str,
        known: Iterable[str],
        *,
        sigil: str = "",
        hint: str | None = None,
    ) -> UnknownName:
        near = closest(word, known)
        suggestion = f"{sigil}{near}" if near is not None else None
        return UnknownName(message, at=self.source.locate(span), code=code, suggestion=suggestion, hint=hint)

    def no_property(self, code: str, span: Span, owner: str, word: str, known: list[str]) -> UnknownName:
        """A type without that property; those it has are named where none is called almost so."""
        error = self.unknown(code, span, f"{owner} has no property {word}", word, known)
        if error.suggestion is None:
            error.hint = f"{owner} has {', '.join(known)}" if known else f"{owner} has no properties"
        return error

    def written(self, span: Span) -> str:
        """The text of a place, for messages."""
        return self.source.text[span.start : span.end]

    def extension(self, span: Span, what: str) -> None:
        if not self.options.extensions:
            hint = "switch gq.extensions on, or pass the value as a parameter"
            raise self.wrong("T0", span, f"{what} is an extension of the language", hint)

    # ---- names ----

    def unique(self, name: str) -> str:
        """`name` if it is free in the statement, else the first free of `name_2`, `name_3` …; `_` always has one."""
        if name != ANONYMOUS and name not in self.taken:
            self.taken.add(name)
            return name
        stem, number = ("_", 1) if name == ANONYMOUS else (f"{name}_", 2)
        # A number the text writes itself, as in $_1, may stand further on and is left to it.
        while f"{stem}{number}" in self.taken or f"${stem}{number}" in self.source.text:
            number += 1
        self.taken.add(f"{stem}{number}")
        return f"{stem}{number}"

    def node_type(self, name: ast.Name) -> NodeType:
        found = self.catalog.node(name.text)
        if found is None:
            known = (n.name for n in self.catalog.nodes)
            hint = (
                "edges are written as steps, as in  $a route $b" if self.catalog.edge(name.text) is not None else None
            )
            raise self.unknown("T1", name.span, f"there is no node type {name.text}", name.text, known, hint=hint)
        return found

    # ---- parameters ----

    def parameter(self, var: ast.Var, meets: DataType | None, known: Iterable[str] = ()) -> Param:
        """The parameter `$name`; a bare body declares it by its first use, with the type of what it meets there."""
        found = self.params.get(var.name)
        if found is None and self.bare and var.name != ANONYMOUS:
            found = self._implicit(var, meets)
        if found is None:
            raise self._unbound(var, known)
        self.first_uses[var.name] = min(var.span.start, self.first_uses.get(var.name, var.span.start))
        if found.of == BLOB and not self.writes:
            message = f"parameter ${var.name} is a Blob; blobs are written, never read or compared"
            raise self.wrong("T24", var.span, message)
        return found

    def parameters(self) -> tuple[Param, ...]:
        """As declared; those of a bare body in the order of the text, not in that of binding."""
        if not self.bare:
            return tuple(self.params.values())
        return tuple(sorted(self.params.values(), key=lambda param: self.first_uses[param.name]))

    def _implicit(self, var: ast.Var, meets: DataType | None) -> Param:
        refuse_reserved(self, var)
        of = STRING if isinstance(meets, EnumType) else meets
        made = Param(var.name, of if of is not None else ANY)
        self.params[var.name] = made
        return made

    def _unbound(self, var: ast.Var, known: Iterable[str]) -> UnknownName:
        if self.writes:
            message = f"${var.name} is not a declared parameter; a write has no other variables"
            return self.unknown("T14", var.span, message, var.name, self.params, sigil="$")
        message = f"${var.name} is neither bound in match nor a declared parameter"
        if var.name == ANONYMOUS:
            message = "$_ is anonymous and cannot be mentioned again"
        return self.unknown("T0", var.span, message, var.name, [*known, *self.params], sigil="$")


def a(of: DataType | TableType) -> str:
    """A type with its article, for messages."""
    name = of.name if isinstance(of, NodeType | EdgeType) else type_text(of)
    return f"an {name}" if name.startswith(("A", "E", "I", "O", "F32", "F64", "e")) else f"a {name}"


def refuse_reserved(work: Work, var: ast.Var) -> None:
    """Names the engine keeps for itself."""
    if var.name.startswith("__"):
        raise work.wrong("T0", var.span, f"parameter ${var.name} is reserved: names that begin with __ are internal")
    if var.name == ANONYMOUS:
        raise work.wrong("T0", var.span, "$_ is anonymous and cannot be a parameter")
