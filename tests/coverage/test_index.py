"""The index of what the language documents promise: every entry names tests that exist, and none is named twice."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests.case_files import read_cases
from tests.cases_pg import wrong_texts
from tests.gq_cases import gq_cases

HERE = Path(__file__).parent
TESTS = HERE.parent
INDEXES = sorted(path.stem for path in HERE.glob("*.toml"))
_LABEL = re.compile(r'^("(?:[^"\\]|\\.)*"|\[[^\]]+\])', re.MULTILINE)
SENTENCES = {
    "3.3": 3, "5.1": 1, "5.2": 8, "5.3": 11, "5.4": 12, "5.5": 5, "5.6": 8, "5.7": 12, "5.8": 11, "6.1": 4, "6.2": 14,
    "7": 10, "8.1": 6, "8.2": 8, "8.3": 3, "8.4": 5, "8.5": 3, "8.6": 4, "8.7": 1, "9": 6, "10": 6,
}  # fmt: skip


@cache
def cases() -> frozenset[str]:
    """Every text case, under the name that an index uses."""
    gq = {f"gq: {name}" for kind in ("tree", "bound", "error") for name, _ in gq_cases(kind)}
    same = {f"same: {case.name}" for file in ("reads", "writes") for case in read_cases(f"same/{file}.case")}
    return frozenset(gq | same | sentences("gq") | sentences("sql") | {f"pg: {case.name}" for case in wrong_texts()})


@cache
def sentences(language: str) -> frozenset[str]:
    """Every case that runs one sentence of a language."""
    word = {"gq": "run", "sql": "sql"}[language]
    return frozenset(f"{word}: {case.name}" for case in read_cases(f"run/{language}.case"))


@cache
def functions(path: str) -> frozenset[str]:
    """Names of the test functions in a file."""
    tree = ast.parse((TESTS / path).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name[:5] == "test_")


def exists(reference: str) -> bool:
    path, sign, name = reference.partition("::")
    if not sign:
        return reference in cases()
    return (TESTS / path).is_file() and name in functions(path)


def entries(index: str) -> list[tuple[str, list[str]]]:
    found = tomllib.loads((HERE / f"{index}.toml").read_text(encoding="utf-8"))
    return [(f"{part}: {label}", references) for part, labels in found.items() for label, references in labels.items()]


@pytest.mark.parametrize("index", INDEXES)
def test_every_entry_of_an_index_is_owned_by_tests_that_exist(index: str) -> None:
    missing = [f"{label} → {one}" for label, references in entries(index) for one in references if not exists(one)]
    empty = [label for label, references in entries(index) if not references]
    assert not missing + empty


@pytest.mark.parametrize("index", INDEXES)
def test_no_entry_of_an_index_is_there_twice(index: str) -> None:
    """The format refuses the same label twice in a part; that every line became an entry is looked at here."""
    lines = _LABEL.findall((HERE / f"{index}.toml").read_text(encoding="utf-8"))
    assert len([line for line in lines if line.startswith('"')]) == len(entries(index))


def test_the_indexes_are_as_long_as_what_they_index() -> None:
    """Rows of the parser, of the type checker and of plans; examples, error examples and numbered statements."""
    counted = {
        part: len([label for index in INDEXES for label, _ in entries(index) if label.startswith(f"{part}: ")])
        for part in ("parser", "type_checker", "plans", "gallery", "error_examples", "switches", "statements")
    }
    assert counted == {
        "parser": 44,
        "type_checker": 67,
        "plans": 12,
        "gallery": 21,
        "error_examples": 26,
        "switches": 5,
        "statements": 12,
    }


def test_every_sentence_about_reading_has_its_case_and_every_case_its_sentence() -> None:
    """Sections are counted, so that a sentence that goes missing is noticed; a case is under its own section."""
    listed = entries("sentences_gq")
    named = Counter(one for _, references in listed for one in references if one.startswith("run: "))
    assert named == Counter(sentences("gq"))
    strays = [
        (label, one)
        for label, references in listed
        for one in references
        if one.startswith("run: ") and not f"{one.split()[1]}.".startswith(f"{label.split(':')[0]}.")
    ]
    assert not strays
    assert Counter(label.split(": ")[0] for label, _ in listed) == SENTENCES


SURFACE = {"query": 30, "graph": 23, "catalog": 12, "travel": 7, "branch": 2, "history": 2, "search": 1}
SURFACE |= {"change": 6, "schema": 3, "copy": 4, "transaction": 4}


def test_every_row_of_the_surface_of_sql_has_its_case_and_every_case_its_row() -> None:
    listed = entries("surface_sql")
    named = Counter(one for _, references in listed for one in references if one.startswith("sql: "))
    assert named == Counter(sentences("sql"))
    assert Counter(label.split(": ")[0] for label, _ in listed) == SURFACE
