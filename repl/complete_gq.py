"""Candidates inside a `.gq` text: types, edges that fit, properties, variables and the words of the language."""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph_sql.base.catalog import EdgeType, TableType
from omnigraph_sql.base.types import type_text
from omnigraph_sql.repl.knowledge import Knowledge
from omnigraph_sql.repl.suggestion import Candidate, Wanted
from omnigraph_sql.repl.tokens import Kind, Token, code, paths
from omnigraph_sql.repl.vocabulary import GQ_AGGREGATES, GQ_FUNCTIONS, GQ_STATEMENTS, GQ_TYPES, GQ_WORDS

_ENDS = ("from", "to")


def gq_candidates(text: str, cursor: int, knowledge: Knowledge) -> tuple[Wanted, list[Candidate]]:
    before = code(text[:cursor], "gq")
    word = before.pop() if before and before[-1].end == cursor and _is_typed(before[-1]) else None
    wanted = Wanted(word.text, word.start) if word is not None else Wanted("", cursor)
    if before and before[-1].kind is Kind.STRING and before[-1].open:
        return wanted, []
    scope = _Scope(knowledge, before, variable_types(code(text, "gq"), knowledge))
    return wanted, list(scope.candidates(word))


def _is_typed(token: Token) -> bool:
    return token.kind in (Kind.WORD, Kind.VARIABLE)


def edge_word(edge: EdgeType) -> str:
    """How a pattern writes an edge type: with a small first letter."""
    return edge.name[:1].lower() + edge.name[1:]


def variable_types(found: list[Token], knowledge: Knowledge) -> dict[str, str]:
    """The types of variables, as far as declarations and edges tell."""
    catalog, types = knowledge.catalog, dict[str, str]()
    for first, second, third in zip(found, found[1:], found[2:], strict=False):
        if first.kind is Kind.VARIABLE and second.is_mark(":"):
            edge = catalog.edge_word(third.text) if third.text[:1].islower() else None
            if catalog.node(third.text) is not None or edge is not None:
                types[first.text] = edge.name if edge is not None else third.text
    # An edge tells the types of its ends; one such end may make the next edge tell more.
    for _ in range(len(found)):
        fresh = dict(_told_by_edges(found, knowledge, types))
        if not fresh:
            break
        types |= fresh
    return types


def _told_by_edges(found: list[Token], knowledge: Knowledge, types: dict[str, str]) -> Iterator[tuple[str, str]]:
    walked = [t for t in found if not t.is_mark("<", ">")]
    for place, token in enumerate(walked[:-2]):
        edge = knowledge.catalog.edge_word(walked[place + 1].text)
        if token.kind is not Kind.VARIABLE or edge is None:
            continue
        after = place + 2
        if walked[after].is_mark("{"):
            after += next((n for n, t in enumerate(walked[after:], 1) if t.is_mark("}")), 1)
        if after >= len(walked) or walked[after].kind is not Kind.VARIABLE:
            continue
        left, right = token.text, walked[after].text
        backwards = types.get(left, edge.source) != edge.source
        ends = (edge.target, edge.source) if backwards else (edge.source, edge.target)
        yield from ((name, end) for name, end in zip((left, right), ends, strict=True) if name not in types)


class _Scope:
    """The place of the cursor: the tokens before it and the types of the variables around it."""

    def __init__(self, knowledge: Knowledge, before: list[Token], types: dict[str, str]) -> None:
        self._knowledge, self._catalog, self._before, self._types = knowledge, knowledge.catalog, before, types
        around = paths(before)[-1]
        self._block = self._opened(around[-1]) if around else None
        """The word in front of the innermost open brace or bracket."""
        self._opener = before[around[-1]] if around else None

    def _opened(self, place: int) -> Token | None:
        return self._before[place - 1] if place else None

    def candidates(self, word: Token | None) -> Iterator[Candidate]:
        before, last = self._before, self._before[-1] if self._before else None
        if last is None:
            yield from (Candidate(w, "statement") for w in GQ_STATEMENTS)
        elif last.is_mark(".") and len(before) > 1 and before[-2].kind is Kind.VARIABLE:
            yield from self._properties(self._types.get(before[-2].text))
        elif last.is_mark(":") and len(before) > 1 and before[-2].kind is Kind.VARIABLE:
            yield from self._after_colon(before)
        elif last.is_word("INSERT", "UPDATE", "DELETE"):
            yield from self._types_to_write(last)
        elif word is not None and word.kind is Kind.VARIABLE:
            yield from self._variables()
        elif last.kind is Kind.VARIABLE and self._in_match():
            yield from self._edges(self._types.get(last.text))
        else:
            yield from self._elsewhere(last)

    def _after_colon(self, before: list[Token]) -> Iterator[Candidate]:
        if self._opener is not None and self._opener.is_mark("("):
            yield from (Candidate(name, "type") for name in GQ_TYPES)
        elif len(before) > 2 and before[-3].kind is Kind.VARIABLE:
            yield from self._edges(self._types.get(before[-3].text))
        else:
            yield from (Candidate(node.name, "node") for node in self._catalog.nodes)

    def _types_to_write(self, verb: Token) -> Iterator[Candidate]:
        yield from (Candidate(node.name, "node") for node in self._catalog.nodes)
        if not verb.is_word("UPDATE"):
            yield from (Candidate(edge.name, "edge") for edge in self._catalog.edges)

    def _in_match(self) -> bool:
        return self._block is not None and self._block.is_word("MATCH", "NOT")

    def _edges(self, of: str | None) -> Iterator[Candidate]:
        for edge in self._catalog.edges:
            said = f"{edge.source} → {edge.target}"
            if of is None or of in (edge.source, edge.target):
                yield Candidate(edge_word(edge), said, 1 if edge.source == of else 2)

    def _variables(self) -> Iterator[Candidate]:
        yield from (Candidate(name, of) for name, of in self._types.items())
        seen = dict.fromkeys(t.text for t in self._before if t.kind is Kind.VARIABLE and len(t.text) > 1)
        yield from (Candidate(name, "variable") for name in seen if name not in self._types)
        yield from (Candidate(f"${name}", said) for name, said in self._knowledge.parameters)

    def _table(self, name: str | None) -> TableType | None:
        return self._catalog.node(name or "") or self._catalog.edge(name or "")

    def _properties(self, of: str | None, ending: str = "") -> Iterator[Candidate]:
        table = self._table(of)
        for one in table.properties if table is not None else ():
            yield Candidate(one.name + ending, type_text(one.type) + ("?" if one.nullable else ""))

    def _elsewhere(self, last: Token) -> Iterator[Candidate]:
        block, opener = self._block, self._opener
        if opener is None:
            yield from self._between_blocks()
        elif block is not None and self._table(block.text) is not None:  # Type { … }
            yield from self._fields(block.text)
        elif block is not None and block.is_word("SET"):
            yield from self._fields(self._updated())
        elif self._in_match():
            yield from self._variables()
            yield from (Candidate(w) for w in ("not", *GQ_FUNCTIONS[:3]))
            yield from (Candidate(w, rank=6) for w in GQ_WORDS)
        else:
            yield from self._values(last)

    def _fields(self, of: str | None) -> Iterator[Candidate]:
        if self._before[-1].is_mark(":"):
            yield from self._variables()
            return
        if self._catalog.edge(of or "") is not None:
            yield from (Candidate(f"{end}: ", "end of the edge", 1) for end in _ENDS)
        yield from self._properties(of, ": ")

    def _updated(self) -> str | None:
        words = [t.text for t in self._before if t.kind is Kind.WORD]
        return words[-2] if len(words) > 1 else None

    def _between_blocks(self) -> Iterator[Candidate]:
        """After `match { … }`, or behind the condition of a write."""
        seen = {t.upper for t in self._before if t.kind is Kind.WORD}
        last = self._before[-1]
        if last.is_word("WHERE"):
            yield from self._properties(self._written())
            return
        for needs, word in (("MATCH", "return"), ("RETURN", "order"), ("RETURN", "limit")):
            if needs in seen and word.upper() not in seen:
                yield Candidate(word, "clause")
        if self._table(last.text) is not None:
            yield Candidate("set" if "UPDATE" in seen else "where", "clause", 1)
        if "UPDATE" in seen and "WHERE" not in seen:
            yield Candidate("where", "clause")
        if not seen & {"MATCH", "QUERY"}:
            yield from (Candidate(w, "statement") for w in GQ_STATEMENTS[2:])

    def _written(self) -> str | None:
        return next((t.text for t in reversed(self._before) if self._table(t.text) is not None), None)

    def _values(self, last: Token) -> Iterator[Candidate]:
        yield from self._variables()
        if self._block is not None and self._block.is_mark(")"):  # query name(…) {
            yield from (Candidate(w, "statement", 1) for w in (GQ_STATEMENTS[0], *GQ_STATEMENTS[2:]))
        yield from (Candidate(f"{name}(", "aggregate") for name in GQ_AGGREGATES)
        yield from (Candidate(f"{name}(", "function") for name in GQ_FUNCTIONS)
        if not last.is_mark("{", ","):
            yield from (Candidate(w) for w in ("as", "asc", "desc"))
