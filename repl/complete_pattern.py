"""Candidates inside `GRAPH_TABLE (MATCH … COLUMNS …)`: labels, edges that fit the node before them, properties."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from omnigraph_sql.repl.knowledge import Knowledge, columns_of, quoted
from omnigraph_sql.repl.sql_scope import Statement
from omnigraph_sql.repl.suggestion import Candidate
from omnigraph_sql.repl.tokens import Token

_SECTIONS = ("MATCH", "WHERE", "COLUMNS")


def pattern_tokens(statement: Statement) -> list[Token] | None:
    """The tokens from the bracket of the GRAPH_TABLE around the cursor on; None outside of one."""
    for place in reversed(statement.path):
        if place and statement.tokens[place - 1].is_word("GRAPH_TABLE"):
            return statement.before[place + 1 :]
    return None


def labels_of(found: list[Token]) -> dict[str, str]:
    """The labels of variables: `(a:Airport` and `-[r:Route`, written with a colon or IS."""
    labels: dict[str, str] = {}
    for first, second, third in zip(found, found[1:], found[2:], strict=False):
        if first.is_name and third.is_name and (second.is_mark(":") or second.is_word("IS")):
            labels[first.name] = third.name
    return labels


def pattern_candidates(statement: Statement, found: list[Token]) -> Iterator[Candidate]:
    knowledge, labels = statement.knowledge, labels_of(found)
    if not found:
        yield Candidate("MATCH ", "the pattern", 1)
        return
    last = found[-1]
    if last.is_mark(".") and len(found) > 1:
        label = labels.get(found[-2].name, "")
        yield from (Candidate(quoted(name), of) for name, of in columns_of(knowledge, label))
        return
    section = next((t.upper for t in reversed(found) if t.is_word(*_SECTIONS)), "")
    if section != "MATCH" or last.is_word("WHERE"):
        yield from (Candidate(name, label, 1) for name, label in labels.items())
        return
    opener = _opener(found)
    if opener is None:
        yield from (Candidate(word) for word in ("COLUMNS (", "WHERE "))
    elif found[opener].is_mark("["):
        yield from _edges(found, opener, knowledge, labels, named=last.is_mark("["))
    else:
        yield from _nodes(found, opener, knowledge, labels, named=last.is_mark("("))


def _opener(found: list[Token]) -> int | None:
    level = 0
    for place in range(len(found) - 1, -1, -1):
        if found[place].is_mark(")", "]"):
            level += 1
        elif found[place].is_mark("(", "["):
            if not level:
                return place
            level -= 1
    return None


def _edges(
    found: list[Token], opener: int, knowledge: Knowledge, labels: dict[str, str], *, named: bool
) -> Iterator[Candidate]:
    backwards = opener > 1 and found[opener - 2].is_mark("<")
    left = _node_before(found, opener, labels)
    for edge in knowledge.catalog.edges:
        end = edge.target if backwards else edge.source
        if left is None or end.casefold() == left.casefold():
            text = f"{_fresh(edge.name, labels)}:{quoted(edge.name)}" if named else quoted(edge.name)
            yield Candidate(text, f"{edge.source} → {edge.target}")


def _node_before(found: list[Token], opener: int, labels: dict[str, str]) -> str | None:
    """The label of the node pattern that ends before the edge that opens at `opener`."""
    close = next((n for n in range(opener - 1, -1, -1) if found[n].is_mark(")")), None)
    if close is None:
        return None
    start = next((n for n in range(close - 1, -1, -1) if found[n].is_mark("(")), None)
    if start is None:
        return None
    inner = found[start + 1 : close]
    after = [b for a, b in pairwise(inner) if a.is_mark(":") or a.is_word("IS")]
    if after:
        return after[0].name
    return labels.get(inner[0].name) if inner and inner[0].is_name else None


def _nodes(
    found: list[Token], opener: int, knowledge: Knowledge, labels: dict[str, str], *, named: bool
) -> Iterator[Candidate]:
    close = next((n for n in range(opener - 1, -1, -1) if found[n].is_mark("]", ")")), None)
    fitting: str | None = None
    if close is not None and found[close].is_mark("]"):
        fitting = _far_end(found, close, opener, knowledge)
    if named:
        yield from (Candidate(name, label, 3) for name, label in labels.items() if knowledge.catalog.node(label))
    for node in knowledge.catalog.nodes:
        text = f"{_fresh(node.name, labels)}:{quoted(node.name)}" if named else quoted(node.name)
        yield Candidate(text, "node", 1 if node.name == fitting else 5)


def _far_end(found: list[Token], close: int, opener: int, knowledge: Knowledge) -> str | None:
    """The type of node the edge before leads to."""
    names = [t.name for t in found[:close] if t.is_name]
    edges = knowledge.catalog.tables_like(names[-1]) if names else []
    edge = knowledge.catalog.edge(edges[-1].name) if edges else None
    if edge is None:
        return None
    forward = any(t.is_mark("->", ">") for t in found[close:opener])
    return edge.target if forward else edge.source


def _fresh(name: str, labels: dict[str, str]) -> str:
    letter = name[:1].lower()
    number = 1
    while (wanted := letter if number == 1 else f"{letter}{number}") in labels:
        number += 1
    return wanted
