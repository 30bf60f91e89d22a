"""Time, randomness and planned faults enter the product through base/seams.py alone."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from omnigraph_sql.base.seams import CATALOGUE

SEAMS = "omnigraph_sql/base/seams.py"
MODULES = {"uuid", "random", "secrets", "ulid"}
CALLS = {
    "time.time",
    "time.time_ns",
    "time.sleep",
    "time.localtime",
    "time.gmtime",
    "datetime.now",
    "datetime.utcnow",
    "datetime.today",
    "date.today",
    "os.urandom",
    "os.getrandom",
}


class Tree(Protocol):
    def parsed(self) -> Iterator[tuple[Path, ast.Module]]: ...
    def name(self, path: Path) -> str: ...


def outside_world(module: ast.Module) -> list[str]:
    """The words by which `module` reads a clock, sleeps, or draws randomness, in source order."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(module):
        match node:
            case ast.Import(names=names):
                found += [(node.lineno, a.name) for a in names if a.name.partition(".")[0] in MODULES]
            case ast.ImportFrom(module=str(source), names=names) if source.partition(".")[0] in MODULES:
                found += [(node.lineno, f"{source}.{a.name}") for a in names]
            case ast.ImportFrom(module=str(source), names=names):
                found += [(node.lineno, f"{source}.{a.name}") for a in names if f"{source}.{a.name}" in CALLS]
            case ast.Attribute(attr=attribute, value=ast.Name(id=owner) | ast.Attribute(attr=owner)):
                if f"{owner}.{attribute}" in CALLS:
                    found.append((node.lineno, f"{owner}.{attribute}"))
            case _:
                pass
    return [word for _, word in sorted(found)]


def hits(module: ast.Module) -> Iterator[str]:
    """The names given to `hit(...)` calls; a name that is not a literal is reported as it is written."""
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "hit":
            for argument in node.args:
                literal = isinstance(argument, ast.Constant) and isinstance(argument.value, str)
                yield ast.literal_eval(argument) if literal else ast.unparse(argument)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("import uuid", "uuid"),
        ("from random import choice", "random.choice"),
        ("import time\nx = time.time()", "time.time"),
        ("from time import time", "time.time"),
        ("from datetime import datetime\ndatetime.now()", "datetime.now"),
        ("import datetime\ndatetime.datetime.now()", "datetime.now"),
        ("import datetime as d\nd.date.today()", "date.today"),
        ("key = sorted(x, key=os.urandom)", "os.urandom"),
        ("def f():\n    from ulid import ULID", "ulid.ULID"),
    ],
)
def test_reading_the_outside_world_is_recognised(text: str, word: str) -> None:
    assert outside_world(ast.parse(text)) == [word]


@pytest.mark.parametrize("text", ["import time\ntime.perf_counter()", "from datetime import datetime", "clock.now()"])
def test_measuring_a_duration_or_asking_a_seam_is_not_reported(text: str) -> None:
    assert outside_world(ast.parse(text)) == []


def test_only_the_seams_read_the_outside_world(tree: Tree) -> None:
    found = {tree.name(path): outside_world(module) for path, module in tree.parsed()}
    assert {name: words for name, words in found.items() if words and name != SEAMS} == {}
    assert found[SEAMS]


def test_every_failpoint_that_is_hit_is_in_the_catalogue_and_the_other_way_round(tree: Tree) -> None:
    hit = {name for path, module in tree.parsed() if tree.name(path) != SEAMS for name in hits(module)}
    assert hit == {point.name for point in CATALOGUE}


def test_a_hit_is_found_in_source() -> None:
    found = hits(ast.parse("failpoints.hit('commit.after_table')\nself.points.hit(name)"))
    assert list(found) == ["commit.after_table", "name"]
