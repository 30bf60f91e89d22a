"""The examples in docstrings are true: each is run in an empty folder and shows what it says."""

from __future__ import annotations

import doctest
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

MODULES = (
    "omnigraph_sql.graph",
    "omnigraph_sql.result",
    "omnigraph_sql.transaction",
    "omnigraph_sql.dbapi",
    "omnigraph_sql.dbapi.connection",
    "omnigraph_sql.dbapi.cursor",
    "omnigraph_sql.dbapi.types",
)


def examples() -> Iterator[doctest.DocTest]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    for name in MODULES:
        module = importlib.import_module(name)
        for found in finder.find(module, name, module=module):
            if found.examples:
                yield found


EXAMPLES = list(examples())


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_an_example_shows_what_happens(
    example: doctest.DocTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(example, out=told.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(told)


def test_the_classes_an_application_holds_have_examples() -> None:
    shown = {example.name.rpartition(".")[2] for example in EXAMPLES}
    assert {"Graph", "Result", "Transaction", "connect", "Connection", "Cursor"} <= shown
