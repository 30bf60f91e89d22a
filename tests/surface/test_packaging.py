"""The files around the code agree with each other."""

import re
import tomllib
from pathlib import Path
from typing import Any, Protocol

TARGETS = {
    "help",
    "setup",
    "demo",
    "test",
    "fast",
    "lint",
    "types",
    "bench",
    "crash",
    "fuzz",
    "oracle",
    "peers",
    "spark",
    "docs",
    "build",
    "clean",
}


class HasRoot(Protocol):
    @property
    def root(self) -> Path: ...


def canonical(name: str) -> str:
    """One spelling per distribution: the one installers compare by."""
    return re.sub(r"[-_.]+", "-", name).lower()


def project(tree: HasRoot) -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((tree.root / "pyproject.toml").read_text())["project"]
    return table


def pinned(tree: HasRoot) -> set[str]:
    lines = (tree.root / "constraints.txt").read_text().splitlines()
    return {canonical(line.partition("==")[0]) for line in lines}


def test_constraints_are_names_with_exact_versions_and_nothing_else(tree: HasRoot) -> None:
    lines = (tree.root / "constraints.txt").read_text().splitlines()
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.+!]*", line)] == []


def test_every_declared_dependency_is_pinned(tree: HasRoot) -> None:
    table = project(tree)
    declared = [*table["dependencies"], *(d for extra in table["optional-dependencies"].values() for d in extra)]
    names = {canonical(match.group()) for d in declared if (match := re.match(r"[A-Za-z0-9._-]+", d))}
    assert names - pinned(tree) == set()


def test_the_project_does_not_pin_itself(tree: HasRoot) -> None:
    assert canonical(project(tree)["name"]) not in pinned(tree)


def test_every_make_target_explains_itself_in_one_line(tree: HasRoot) -> None:
    text = (tree.root / "Makefile").read_text()
    assert set(re.findall(r"^([a-z]+):.*## \S", text, re.MULTILINE)) == TARGETS


def test_the_changelog_knows_the_current_version(tree: HasRoot) -> None:
    assert f"## {project(tree)['version']}" in (tree.root / "CHANGELOG.md").read_text()
