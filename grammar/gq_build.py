"""From what the parser recognises to the syntax tree: one method per rule of the grammar, called as rules complete.

Methods know no text and keep no state, so one builder serves every parse. What they have to refuse they raise as
`Refused`, which becomes an error with a place once the text is at hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Final, NoReturn

from omnigraph_sql.base import limits
from omnigraph_sql.grammar.ast import gq as ast
from omnigraph_sql.grammar.gq_calls import TEXT_TESTS, build_call
from omnigraph_sql.grammar.gq_leaves import (
    DIGITS_MAX,
    Columns,
    Parts,
    across,
    at,
    separated,
    several,
    short,
    to_edge_word,
    to_input,
    to_integer,
    to_name,
    to_string,
    to_var,
)
from omnigraph_sql.grammar.gq_lexer import Tok
from omnigraph_sql.grammar.gq_refused import Refused, near
from omnigraph_sql.grammar.source import Source, Span

_RELATIONS: Final = {relation.value: relation for relation in ast.Relation}
_RELATIONS_ELSEWHERE: Final = {"==": "=", "<>": "!=", "=~": "contains", "=<": "<="}
_DOCS: Final = ("@description", "@instruction")


@dataclass(frozen=True, slots=True)
class QueryParts:
    """A query before it knows its text."""

    name: ast.Name | None
    formals: tuple[ast.Formal, ...]
    docs: dict[str, str]
    body: ast.ReadBody | ast.WriteBody
    span: Span

    def of(self, source: Source) -> ast.Query:
        """The query, now that there is a text."""
        description, instruction = self.docs.get("@description"), self.docs.get("@instruction")
        return ast.Query(source, self.name, self.formals, description, instruction, self.body, self.span)


class Builder:
    """Methods are named after the rules and aliases of the grammar."""

    # ---- queries --------------------------------------------------------------------------------------------

    def unit(self, parts: Parts) -> list[QueryParts]:
        return parts

    def body(self, parts: Parts) -> QueryParts:
        body = self._body(parts[0])
        return QueryParts(None, (), {}, body, body.span)

    def query(self, parts: Parts) -> QueryParts:
        formals: tuple[ast.Formal, ...] = ()
        docs: dict[str, str] = {}
        for part in parts[3:-2]:
            if isinstance(part, list):
                formals = tuple(part)
            elif isinstance(part, dict):
                docs = part
        return QueryParts(to_name(parts[1]), formals, docs, self._body(parts[-2]), across(parts))

    def _body(self, part: ast.ReadBody | Parts) -> ast.ReadBody | ast.WriteBody:
        return ast.WriteBody(tuple(part), across(part)) if isinstance(part, list) else part

    def docs(self, parts: Parts) -> dict[str, str]:
        known: dict[str, str] = parts[0] if len(parts) > 1 else {}
        kind, text = parts[-1]
        if kind.text in known:
            raise Refused(f"{kind.text} is given twice", at(kind), hint="keep one of them")
        known[kind.text] = text
        return known

    def doc(self, parts: Parts) -> tuple[Tok, str]:
        kind: Tok = parts[0]
        if kind.text not in _DOCS:
            raise Refused(
                f"there is no note '{kind.text}' on a query",
                at(kind),
                expected=_DOCS,
                suggestion=near(kind.text, _DOCS),
            )
        return kind, to_string(parts[2])

    formals = staticmethod(separated)

    def formal(self, parts: Parts) -> ast.Formal:
        return ast.Formal(to_var(parts[0]), parts[2], across(parts))

    def formal_type(self, parts: Parts) -> ast.FormalType:
        nullable = parts[-1].type == "QUESTION"
        is_list = parts[0].type == "LSQB"
        word: Tok = parts[1 if is_list else 0]
        sized = not is_list and len(parts) > 2
        dimensions = None
        if sized and word.text == "Vector":
            dimensions = to_integer(parts[2], at(parts[2]))
            if not 1 <= dimensions <= limits.VECTOR_DIMENSIONS_MAX:
                raise Refused(f"a vector has 1 to {limits.VECTOR_DIMENSIONS_MAX} dimensions", at(parts[2]))
        elif sized:
            raise Refused(f"'{word.text}' takes no size, only Vector(n) does", at(word))
        elif word.text == "Vector":
            raise Refused("a vector says how long it is, as in Vector(8), and is no list item", at(word))
        return ast.FormalType(to_name(word), is_list, dimensions, nullable, across(parts))

    # ---- reading --------------------------------------------------------------------------------------------

    def read(self, parts: Parts) -> ast.ReadBody:
        clauses: tuple[ast.Clause, ...]
        clauses, _ = parts[1]
        order: tuple[ast.SortTerm, ...] = ()
        limit: ast.IntLit | ast.Var | None = None
        end = parts[5].end
        for tail in parts[6:]:
            kind, found, end = tail
            if kind == "order":
                order = found
            else:
                limit = found
        return ast.ReadBody(clauses, tuple(parts[4].items), order, limit, Span(parts[0].start, end))

    def pattern(self, parts: Parts) -> tuple[tuple[ast.Clause, ...], int]:
        return tuple(parts[1]), parts[2].end

    def clauses(self, parts: Parts) -> Parts:
        return several(parts, "clauses")

    def absence(self, parts: Parts) -> ast.Absence:
        clauses, end = parts[1]
        return ast.Absence(clauses, Span(parts[0].start, end))

    def node(self, parts: Parts) -> ast.NodeClause:
        tests = tuple(parts[4]) if len(parts) > 3 else ()
        return ast.NodeClause(to_var(parts[0]), to_name(parts[2]), tests, across(parts))

    def edge(self, parts: Parts) -> ast.EdgeClause:
        return self._edge(parts[0], None, parts[1:-1], parts[-1])

    def bound_edge(self, parts: Parts) -> ast.EdgeClause:
        return self._edge(parts[0], to_var(parts[1]), parts[3:-1], parts[-1])

    def _edge(self, left: Tok, variable: ast.Var | None, step: Parts, right: Tok) -> ast.EdgeClause:
        undirected = step[0].type == "LT"
        word = to_edge_word(step[1 if undirected else 0])
        hops = step[-1] if isinstance(step[-1], ast.Hops) else None
        span = Span(left.start, right.end)
        return ast.EdgeClause(to_var(left), variable, word, undirected, hops, to_var(right), span)

    def hops(self, parts: Parts) -> ast.Hops:
        minimum = to_integer(parts[1], at(parts[1]))
        maximum = to_integer(parts[3], at(parts[3])) if len(parts) > 4 else None
        return ast.Hops(minimum, maximum, across(parts))

    def test(self, parts: Parts) -> ast.Test:
        left, sign, right = parts
        if isinstance(left, Tok):
            left = to_var(left)
        return ast.Test(left, _RELATIONS[sign.text], right, Span(left.span.start, right.span.end))

    def text_clause(self, parts: Parts) -> ast.Test:
        predicate = parts[0]
        if not isinstance(predicate, ast.TextTest):
            raise Refused(
                "this call is no condition by itself, compare it with something",
                predicate.span,
                hint=f"only {', '.join(TEXT_TESTS)} can stand alone; rankings stand in order {{ … }}",
            )
        end = predicate.span.end
        return ast.Test(predicate, ast.Relation.EQ, ast.BoolLit(True, Span(end, end)), predicate.span)

    def null_test(self, parts: Parts) -> ast.NullTest:
        value = to_var(parts[0]) if isinstance(parts[0], Tok) else parts[0]
        return ast.NullTest(value, len(parts) == 4, across(parts))

    field_tests = staticmethod(separated)

    def field_test(self, parts: Parts) -> ast.FieldTest:
        return ast.FieldTest(to_name(parts[0]), to_input(parts[2]), across(parts))

    def comparison(self, parts: Parts) -> Tok:
        sign: Tok = parts[0]
        if sign.type == "WRONG_RELATION":
            ours = _RELATIONS_ELSEWHERE[sign.text]
            raise Refused(f"'{sign.text}' is written '{ours}' here", at(sign), suggestion=ours)
        return sign

    def columns(self, parts: Parts) -> Columns:
        columns: Columns = parts[0] if len(parts) > 1 else Columns()
        columns.add(*parts[-1])
        return columns

    def column(self, parts: Parts) -> tuple[ast.Returned, bool]:
        comma = isinstance(parts[-1], Tok) and parts[-1].type == "COMMA"
        if comma:
            parts.pop()
        alias = to_name(parts[2]) if len(parts) == 3 else None
        return ast.Returned(parts[0], alias, across(parts)), comma

    def order(self, parts: Parts) -> tuple[str, tuple[ast.SortTerm, ...], int]:
        return "order", tuple(parts[2]), parts[3].end

    sort_terms = staticmethod(separated)

    def sort_term(self, parts: Parts) -> ast.SortTerm:
        value = parts[0]
        if len(parts) == 2 and isinstance(value, ast.Nearest):
            raise Refused(
                "'nearest' always sorts the nearest first",
                at(parts[1]),
                hint=f"remove '{parts[1].text}'",
            )
        return ast.SortTerm(value, len(parts) == 2 and parts[1].type == "DESC", across(parts))

    def limit(self, parts: Parts) -> tuple[str, ast.IntLit | ast.Var, int]:
        token: Tok = parts[1]
        count = to_var(token) if token.type == "VAR" else ast.IntLit(to_integer(token, at(token)), at(token))
        return "limit", count, token.end

    # ---- writing --------------------------------------------------------------------------------------------

    def write(self, parts: Parts) -> Parts:
        return several(parts, "statements")

    def insert(self, parts: Parts) -> ast.Insert:
        return ast.Insert(to_name(parts[1]), tuple(parts[3]), across(parts))

    def update(self, parts: Parts) -> ast.Update:
        return ast.Update(to_name(parts[1]), tuple(parts[4]), parts[7], across(parts))

    def delete(self, parts: Parts) -> ast.Delete:
        return ast.Delete(to_name(parts[1]), parts[3], across(parts))

    def assignments(self, parts: Parts) -> Parts:
        return several(parts, "assignments")

    def assignment(self, parts: Parts) -> ast.Assignment:
        name, _, given = parts[:3]
        if isinstance(given, Tok) and given.type == "NULL":
            value: ast.Value = ast.NullLit(at(given))
        else:
            value = to_input(given)
        return ast.Assignment(to_name(name), value, Span(name.start, value.span.end))

    def row_test(self, parts: Parts) -> ast.RowTest:
        value = to_input(parts[2])
        return ast.RowTest(to_name(parts[0]), _RELATIONS[parts[1].text], value, Span(parts[0].start, value.span.end))

    def null_row_test(self, parts: Parts) -> ast.NullRowTest:
        return ast.NullRowTest(to_name(parts[0]), len(parts) == 4, across(parts))

    # ---- values ---------------------------------------------------------------------------------------------

    def property_of(self, parts: Parts) -> ast.PropertyOf:
        return ast.PropertyOf(to_var(parts[0]), to_name(parts[2]), across(parts))

    def variable(self, parts: Parts) -> ast.Var:
        return to_var(parts[0])

    def alias(self, parts: Parts) -> ast.AliasRef:
        return ast.AliasRef(short(parts[0].text, parts[0]), at(parts[0]))

    def misplaced(self, parts: Parts) -> NoReturn:
        raise Refused(
            "null can be assigned, but nothing is equal to it",
            at(parts[0]),
            hint="test for it with  … is null  or  … is not null",
        )

    def call(self, parts: Parts) -> ast.Value:
        return build_call(parts[0], parts[2] if len(parts) == 4 else [], across(parts))

    arguments = staticmethod(separated)

    def string(self, parts: Parts) -> ast.StringLit:
        return ast.StringLit(to_string(parts[0]), at(parts[0]))

    def integer(self, parts: Parts) -> ast.IntLit:
        span = across(parts)
        return ast.IntLit(to_integer(parts[-1], span, negative=len(parts) == 2), span)

    def real(self, parts: Parts) -> ast.FloatLit:
        span = across(parts)
        text = "".join(part.text for part in parts)
        if len(text) > DIGITS_MAX or not isfinite(float(text)):
            raise Refused("this number is too large or too long for a float", span)
        return ast.FloatLit(float(text), text, span)

    def wrong_number(self, parts: Parts) -> NoReturn:
        raise Refused(
            f"'{parts[-1].text[:40]}' is neither a number nor a word",
            across(parts),
            hint="numbers are digits, or digits.digits; there are no exponents and no suffixes",
        )

    def boolean(self, parts: Parts) -> ast.BoolLit:
        return ast.BoolLit(parts[0].type == "TRUE", at(parts[0]))

    def list_literal(self, parts: Parts) -> ast.ListLit:
        return ast.ListLit(tuple(parts[1]) if len(parts) == 3 else (), across(parts))

    def items(self, parts: Parts) -> Parts:
        item = parts[-1]
        if isinstance(item, ast.Now | ast.Nearest | ast.Bm25 | ast.Fuse | ast.TextTest | ast.Aggregate):
            raise Refused("a list holds literals only", item.span, hint="pass the whole list as a parameter")
        return separated(parts)
