"""Texts that try to become statements, names, paths or more than they are. None succeeds."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph_sql import graph as og
from omnigraph_sql.base.errors import OmniError

HOSTILE = (
    "'; DROP TABLE Secret; --",
    '"; DROP TABLE Secret; --',
    "x' OR '1'='1",
    "') ; DELETE FROM Secret --",
    "$1",
    "?",
    ":name",
    "`Secret`",
    "{{7*7}}",
    "%s%n",
    "\\'; DROP TABLE Secret; --",
    "a\x00b",
    "=cmd|' /C calc'!A0",
    "../../etc/passwd",
    "\u202e\u0000"[:1],
    "' UNION SELECT k FROM Secret --",
)


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = og.init(tmp_path / "g.omni", schema="node P { k: String @key  t: String? }\nnode Secret { k: String @key }")
    made.sql("INSERT INTO Secret VALUES ('hidden'); INSERT INTO P VALUES ('known', 'x')")
    return made


def untouched(graph: og.Graph) -> bool:
    return graph.sql("SELECT k FROM Secret").fetchall() == [("hidden",)]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_parameter_stays_a_value(graph: og.Graph, text: str) -> None:
    assert graph.sql("SELECT k FROM P WHERE k = ?", [text]).fetchall() == []
    assert graph.sql("SELECT $x AS x", {"x": text}).fetchall() == [(text,)]
    graph.sql("INSERT INTO P VALUES (:k, :t)", {"k": f"k{text}", "t": text})
    assert graph.sql("SELECT t FROM P WHERE t = $t", {"t": text}).fetchall() == [(text,)]
    graph.sql("UPDATE P SET t = ? WHERE t = ?", [f"{text}2", text])
    found = graph.gq("query q($t: String) { match { $p: P { t: $t } } return { $p.k } }", {"t": f"{text}2"}).fetchall()
    assert found == [(f"k{text}",)]
    assert graph.sql("SELECT k FROM P WHERE t LIKE ? || '%'", ["nothing" + text]).fetchall() == []
    if not set(text) & set("%_\\"):
        assert (
            graph.sql("SELECT k FROM P WHERE t LIKE $t AND t || 'x' = $t || 'x'", {"t": f"{text}2"}).fetchall() == found
        )
    assert graph.sql("SELECT k FROM P WHERE $t = $t AND k = 'known'", {"t": text}).fetchall() == [("known",)]
    assert graph.sql("SELECT k FROM P WHERE $t <> $t", {"t": text}).fetchall() == []
    assert graph.sql("UPDATE P SET t = t WHERE t LIKE $t AND length(k) > 0", {"t": f"%{text}2"}).affected_nodes <= 1
    assert graph.sql("DELETE FROM P WHERE t IN (?)", [f"{text}2"]).affected_nodes == 1
    assert untouched(graph)


@pytest.mark.parametrize("text", HOSTILE)
def test_an_identifier_is_a_name_or_refused(graph: og.Graph, text: str) -> None:
    name = '"' + text.replace('"', '""') + '"'
    for statement in (
        f"SELECT {name} FROM P",
        f"SELECT * FROM {name}",
        f"CREATE TABLE {name} (a INT)",
        f"CREATE TABLE t ({name} INT)",
        f"ALTER TABLE P ADD COLUMN {name} INT",
        f"CREATE VIEW {name} AS SELECT 1 AS a",
        f"DROP TABLE {name}",
        f"USE BRANCH {name}",
    ):
        with pytest.raises(OmniError):
            graph.sql(statement)
    if "\x00" not in text:
        assert graph.sql(f"SELECT k AS {name} FROM P").columns == (text,)
    assert untouched(graph)
    assert [of.name for of in graph.catalog.nodes] == ["P", "Secret"]


@pytest.mark.parametrize("text", [*HOSTILE, "..", ".", "a/../b", "/etc", "x.lock", "a//b", "-d", "", " "])
def test_a_branch_name_cannot_leave_its_place(graph: og.Graph, tmp_path: Path, text: str) -> None:
    before = {path.name for path in tmp_path.iterdir()}
    with pytest.raises(OmniError):
        graph.create_branch(text)
    with pytest.raises(OmniError):
        graph.sql('CREATE BRANCH "' + text.replace('"', '""') + '"')
    with pytest.raises(OmniError):
        graph.sql("SET branch = $b", {"b": text})
    with pytest.raises(OmniError):
        graph.checkout(text)
    assert {path.name for path in tmp_path.iterdir()} == before
    assert [branch.name for branch in graph.branches()] == ["main"]


@pytest.mark.parametrize("text", [t for t in HOSTILE if "\x00" not in t and "/" not in t])
def test_a_file_name_is_a_file_name(
    graph: og.Graph, tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    graph.sql("COPY P TO $f (FORMAT csv)", {"f": text})
    assert Path(text).read_text() == "k,t\nknown,x\n"
    graph.sql("COPY P FROM $f (FORMAT csv, MODE merge)", {"f": text})
    graph.export(f"{text}.jsonl")
    assert Path(f"{text}.jsonl").exists()
    assert untouched(graph)


@pytest.mark.parametrize("path", ["a\x00b.csv", "s3://bucket/x.csv", "file:///etc/hostname", "http://host/x.csv"])
def test_a_place_that_is_no_local_file_is_refused(graph: og.Graph, path: str) -> None:
    for text in ("COPY P TO $f (FORMAT csv)", "COPY P FROM $f (FORMAT csv)", "EXPORT GRAPH $f"):
        with pytest.raises(OmniError):
            graph.sql(text, {"f": path})


def test_cells_of_a_file_are_values(graph: og.Graph, tmp_path: Path) -> None:
    shown = [text for text in HOSTILE if "\x00" not in text]
    lines = ["k,t", *(f'{n},"{text.replace(chr(34), chr(34) * 2)}"' for n, text in enumerate(shown))]
    (tmp_path / "cells.csv").write_text("\n".join(lines) + "\n")
    graph.sql("COPY P FROM $f (FORMAT csv)", {"f": str(tmp_path / "cells.csv")})
    found = dict(graph.sql("SELECT k, t FROM P").fetchall())
    assert [found[str(n)] for n in range(len(shown))] == shown
    assert untouched(graph)
    graph.sql("COPY P TO $f (FORMAT csv)", {"f": str(tmp_path / "again.csv")})
    graph.sql("DELETE FROM P")
    graph.sql("COPY P FROM $f (FORMAT csv)", {"f": str(tmp_path / "again.csv")})
    assert dict(graph.sql("SELECT k, t FROM P").fetchall()) == found


def test_options_of_copy_are_values_too(graph: og.Graph, tmp_path: Path) -> None:
    path = str(tmp_path / "p.csv")
    with pytest.raises(OmniError):
        graph.sql("COPY P TO $f (FORMAT csv, DELIMITER '; DROP TABLE Secret')", {"f": path})
    graph.sql("COPY P TO $f (FORMAT csv, NULL '''; DROP TABLE Secret; --')", {"f": path})
    assert untouched(graph)
