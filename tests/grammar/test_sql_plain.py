"""Operands that are read at once give the tree that all levels of operators give."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from sqlglot import exp
from sqlglot.parser import Parser

from omnigraph_sql.base.errors import LanguageError
from omnigraph_sql.grammar.sql import parse
from omnigraph_sql.grammar.sql.plain import PlainParser
from tests.case_files import CASES, read_cases

OPERANDS = (
    "a",
    "t.a",
    '"q"',
    't."q"',
    "1",
    "'x'",
    "t.a.b",
    "t.*",
    "*",
    "f(a)",
    "current_date",
    "date",
    "case",
    "map",
    "$p",
    "?",
)
BEHIND = (
    *(
        "",
        ",b",
        ")",
        "]",
        "AS z",
        "z",
        "= b",
        "!= b",
        "< b",
        "<< b",
        "> b",
        ">> b",
        "<= b",
        ">= b",
        "AND b",
        "OR b",
        "NOT b",
    ),
    *("NOT IN (1)", "IN (1)", "IN (1, 2) = c", "IS NULL", "IS NOT NULL", "ISNULL", "NOTNULL", "IS NULL = b", "LIKE b"),
    *("BETWEEN 1 AND 2", "+ b", "- b", "* b", "/ b", "// b", "% b", "** b", "^ b", "|| b", "& b", "| b", "~ b", "-> b"),
    *(
        ":: int",
        "[1]",
        ".c",
        ": b",
        ":= b",
        "COLLATE c",
        "AT TIME ZONE 'UTC'",
        "'y'",
        "(b)",
        "<-> b",
        "@> b",
        "&& b",
        "?",
    ),
    *(
        "DESC",
        "THEN b",
        "ELSE b",
        "END",
        "JOIN u",
        "LEFT JOIN u",
        "WHERE b",
        "GROUP BY b",
        "ORDER BY b",
        "LIMIT 1",
        "UNION",
    ),
)
FRAMES = ("SELECT {} FROM t", "SELECT 1 FROM t WHERE {}", "SELECT f({}) FROM t", "SELECT x IN ({}, 2), {} FROM t")


def tree_of(text: str) -> str:
    """Every statement with the places of its nodes, or the error."""
    try:
        found = parse.parse_script(text)
    except LanguageError as error:
        return f"{error.to_dict()}"
    return "\n".join(shown(statement.tree) for statement in found)


def shown(tree: object) -> str:
    if not isinstance(tree, exp.Expr):
        return repr(tree)
    return "\n".join(f"{node!r} {node.meta}" for node in tree.walk())


def in_full(text: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The same with every level asked."""

    def all_levels(self: Any) -> Any:
        return Parser._parse_disjunction(self)

    with monkeypatch.context() as patched:
        patched.setattr(PlainParser, "_parse_disjunction", all_levels)
        patched.setattr(PlainParser, "_parse_range", Parser._parse_range)
        return tree_of(text)


def test_operands_before_every_operator_have_the_tree_of_all_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    for frame, operand, behind in product(FRAMES, OPERANDS, BEHIND):
        text = frame.replace("{}", f"{operand} {behind}")
        assert tree_of(text) == in_full(text, monkeypatch), text


def test_the_case_files_have_the_trees_of_all_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {
        text
        for path in sorted(CASES.rglob("*.case"))
        for case in read_cases(str(path.relative_to(CASES)))
        for kind, text in case.sections
        if kind in ("sql", "graph_table")
    }
    assert len(texts) > 500
    for text in sorted(texts):
        assert tree_of(text) == in_full(text, monkeypatch), text
