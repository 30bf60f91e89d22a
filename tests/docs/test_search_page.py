"""Every statement of the page about search runs on the rows it shows, and finds something."""

from __future__ import annotations

import pytest

import omnigraph_sql as og
from tests.docs.test_docs import ROOT, Block, blocks

PAGE = ROOT / "docs" / "user" / "search.md"
VALUES = {"words": "sea letters", "mood": [0.9, 0.2, 0.1], "who": "ana"}
EMPTY_ANSWERS = ("omni.indexes",)
"""So few rows have no index."""


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    shown = blocks(PAGE)
    schema = next(block.text for block in shown if block.language == "pg")
    made = og.init(tmp_path_factory.mktemp("page") / "films.omni", schema=schema)
    made.sql(next(block.text for block in shown if block.language == "sql"))
    return made


READS = [b for b in blocks(PAGE) if b.language in ("gq", "sql") and not b.text.startswith("INSERT")]


@pytest.mark.parametrize("block", READS, ids=str)
def test_a_statement_of_the_page_finds_something(graph: og.Graph, block: Block) -> None:
    for text in block.text.split(";") if block.language == "sql" else [block.text]:
        given = {name: value for name, value in VALUES.items() if f"${name}" in text}
        rows = (graph.sql if block.language == "sql" else graph.gq)(text, given).fetchall()
        assert bool(rows) is not any(word in text for word in EMPTY_ANSWERS), text


def test_the_page_says_what_the_words_are(graph: og.Graph) -> None:
    for word, expected in (("letter", ["tide"]), ("LETTERS", ["harbor"]), ("the", ["harbor", "tide"]), ("*", [])):
        found = graph.sql("SELECT slug FROM Film WHERE search(blurb, $w) ORDER BY slug", {"w": word}).fetchall()
        assert [row[0] for row in found] == expected
