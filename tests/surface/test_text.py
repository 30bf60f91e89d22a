"""The text of the repository: no traces of a machine, no loose ends, nothing too long."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

MODULE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70

# Spelled so that this file does not find itself.
MACHINE_PATH = re.compile(r"(?<![\w.$)}*])/(?:w[o]rk|r[o]ot|h[o]me|U[s]ers|t[m]p|o[p]t)/")
REGISTRY = re.compile(r"p[y]pi\.|python[h]osted|index[-_][u]rl")
LOOSE_END = re.compile(r"\b(?:T[O]DO|F[I]XME|X[X]X|H[A]CK)\b")


class Tree(Protocol):
    def files(self) -> Iterator[Path]: ...
    def modules(self) -> Iterator[Path]: ...
    def parsed(self) -> Iterator[tuple[Path, ast.Module]]: ...
    def name(self, path: Path) -> str: ...


def text_of(path: Path) -> str:
    return path.read_bytes().decode("utf-8", errors="replace")


def places(tree: Tree, pattern: re.Pattern[str]) -> list[str]:
    """Every line of the tree on which `pattern` occurs, as file:line."""
    return [
        f"{tree.name(path)}:{number}"
        for path in tree.files()
        for number, line in enumerate(text_of(path).splitlines(), 1)
        if pattern.search(line)
    ]


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from `def` to the end, the docstring not counted."""
    end = function.end_lineno or function.lineno
    first = function.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    docstring = (first.end_lineno or first.lineno) - first.lineno + 1 if documented else 0
    return end - function.lineno + 1 - docstring


@pytest.mark.parametrize("line", ["see /" + "home/ana/x", "cd '/" + "tmp/a'", "/" + "work/main"])
def test_a_machine_path_is_recognised(line: str) -> None:
    assert MACHINE_PATH.search(line)


@pytest.mark.parametrize(
    "line", ["https://example.org/ho" + "me/x", "path/to/tmp/x", "a.b/opt/c", "#!/usr/bin/env bash"]
)
def test_an_address_or_a_relative_path_is_no_machine_path(line: str) -> None:
    assert not MACHINE_PATH.search(line)


def test_no_file_mentions_a_path_of_some_machine(tree: Tree) -> None:
    assert places(tree, MACHINE_PATH) == []


def test_no_file_mentions_a_package_registry(tree: Tree) -> None:
    assert places(tree, REGISTRY) == []


def test_no_file_leaves_a_loose_end(tree: Tree) -> None:
    assert places(tree, LOOSE_END) == []


def test_every_file_is_utf8_ends_with_a_newline_and_has_no_stray_blanks(tree: Tree) -> None:
    wrong = []
    for path in tree.files():
        data = path.read_bytes()
        stray = re.search(rb"[ \t]+$|\r", data, re.MULTILINE)
        if stray or (data and not data.endswith(b"\n")) or "\ufffd" in text_of(path):
            wrong.append(tree.name(path))
    assert wrong == []


def test_no_product_module_is_too_long(tree: Tree) -> None:
    long = {tree.name(path): len(text_of(path).splitlines()) for path in tree.modules()}
    assert {name: lines for name, lines in long.items() if lines > MODULE_LINES_MAX} == {}


def test_no_product_function_is_too_long(tree: Tree) -> None:
    long = {
        f"{tree.name(path)}:{node.lineno} {node.name}": length(node)
        for path, module in tree.parsed()
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and length(node) > FUNCTION_LINES_MAX
    }
    assert long == {}


def test_every_product_module_says_what_it_is_for(tree: Tree) -> None:
    assert [tree.name(path) for path, module in tree.parsed() if not ast.get_docstring(module)] == []
