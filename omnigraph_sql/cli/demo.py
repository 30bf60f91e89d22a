"""`ogsql demo`: a graph in a temporary folder, asked in three ways, changed, grown, branched, defended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import click

from omnigraph_sql.base.errors import OmniError
from omnigraph_sql.cli.exit_codes import ExitCode
from omnigraph_sql.cli.formats import Row, table
from omnigraph_sql.cli.load import told
from omnigraph_sql.cli.samples import Samples, samples
from omnigraph_sql.cli.statements import outcome
from omnigraph_sql.cli.terminal import say

if TYPE_CHECKING:
    from omnigraph_sql.graph import Graph
    from omnigraph_sql.result import Result

_EPILOG = """\b
Example:
  ogsql demo | less
"""


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the names of its texts: parts of air.sql (plain, then by pattern) and a query of air.gq."""

    title: str
    sql: str
    gq: str
    pattern: str | None = None
    given: tuple[tuple[str, object], ...] = ()

    @property
    def values(self) -> dict[str, object] | None:
        return dict(self.given) or None


QUESTIONS: Final = (
    Question("Where can one fly from Lima?", "from_lima", "from_lima", "from_lima_pattern"),
    Question("How many airports does each country have?", "by_country", "by_country", "by_country_pattern"),
    Question("Which airports are nobody's hub?", "no_hub", "no_hub"),
    Question("How far does one get within three legs?", "three_legs", "three_legs", given=(("from", "CUZ"),)),
)
OPENING: Final = Question(
    "A new route opens.", "open_route", "open_route", given=(("from", "MIA"), ("to", "BOG"), ("miles", 1512))
)

TRANSACTION: Final = ("new_airport", "new_route", "reachable", "reachable")
"""Parts of air.sql: two writes, a look from inside, a look from outside."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A title, and parts of air.sql that are run one after the other, each with what it came to."""

    title: str
    parts: tuple[str, ...]


FILES: Final = Scene("Rows leave to a file, and come from one", ("write_file", "read_file"))
GROWTH: Final = Scene("The schema grows, and rows with it", ("new_tables", "new_rows", "new_question"))
BRANCH: Final = Scene(
    "A branch copies nothing, and keeps a change apart", ("branch_off", "branch_change", "branch_compare")
)
PAST: Final = Scene("The past stays readable", ("past",))
SCENES: Final = (FILES, GROWTH, BRANCH, PAST)

CARRIERS: Final = "iata,name,status\nH2,SKY,active\nJZ,JetSmart,seasonal\n"
"""A file that the demo loads."""

REFUSALS: Final = (
    ("What commits together either builds or tears down; a mixture is refused:", "mixture"),
    ("Values must fit their columns:", "wrong_type"),
    ("Names must exist:", "misspelt"),
    ("The rules of the schema hold; here, elevations end at 6000:", "too_high"),
    ("An edge needs both its ends:", "nowhere"),
    ("A key exists once:", "taken"),
)


@click.command(epilog=_EPILOG)
def demo() -> int:
    """Make a graph, load samples, ask, change, branch, look back.

    Everything happens in a temporary folder, which is gone at the end.
    """
    texts = samples()
    with TemporaryDirectory(prefix="ogsql-demo-") as folder:
        for chapter in chapters(texts, Path(folder)):
            say(chapter + "\n")
    return ExitCode.OK


def chapters(texts: Samples, folder: Path) -> Iterator[str]:
    """What the demo shows, one part at a time."""
    from omnigraph_sql.graph import init

    yield "\n".join(["# The schema: nodes, edges and their rules", "", _indented(texts.schema.strip())])
    with init(folder / "air.omni", schema=texts.schema, actor="ana") as graph:
        yield fill(texts, graph, folder)
        for question in QUESTIONS:
            yield ask(question, texts, graph)
        yield change(OPENING, texts, graph)
        yield transact(texts, graph)
        written, given = folder / "peru.csv", folder / "carriers.csv"
        given.write_text(CARRIERS, encoding="utf-8")
        yield play(FILES, texts, graph, {"write_file": written, "read_file": given})
        for scene in (GROWTH, BRANCH, PAST):
            yield play(scene, texts, graph)
        refused = [refuse(title, name, texts, graph) for title, name in REFUSALS]
        yield "\n\n".join(["# What is refused, and how", *refused])
        yield history(graph)


def fill(texts: Samples, graph: Graph, folder: Path) -> str:
    """The sample rows, loaded."""
    path = folder / "air.jsonl"
    path.write_text(texts.rows, encoding="utf-8")
    lines = texts.rows.splitlines()
    shown = [lines[0], "…", next(line for line in lines if '"edge"' in line), "…"]
    report = graph.load(path, mode="append")
    return "\n\n".join(["# The rows: one line each, one commit for all", _indented("\n".join(shown)), told(report)])


def ask(question: Question, texts: Samples, graph: Graph) -> str:
    """The question in each language with plan and answer; when the plans differ, each text is followed by its own."""
    ways = _ways(question, texts)
    plans = [graph.explain(text) for _, text in ways]
    answers = [_answer(way, text, question, graph) for way, text in ways]
    if len(set(answers)) > 1:
        raise AssertionError(f"{question.title} has several answers")
    lines = [f"# {question.title}"]
    if len(set(plans)) == 1:
        lines += [f"{way}:\n\n{_indented(text)}" for way, text in ways]
        lines.append(f"{'Both' if len(plans) == 2 else 'All'} have this plan:\n\n{_indented(plans[0])}")
    else:
        lines += [
            f"{way}:\n\n{_indented(text)}\n\nIts plan:\n\n{_indented(plan)}"
            for (way, text), plan in zip(ways, plans, strict=True)
        ]
    given = ", ".join(f"${name} = {value!r}" for name, value in question.given)
    return "\n\n".join([*lines, f"The answer{f' for {given}' if given else ''}:\n\n{_indented(answers[0])}"])


def _ways(question: Question, texts: Samples) -> list[tuple[str, str]]:
    ways = [("SQL", texts.parts[question.sql])]
    if question.pattern is not None:
        ways.append(("SQL with GRAPH_TABLE", texts.parts[question.pattern]))
    return [*ways, (".gq", texts.queries[question.gq])]


def _answer(way: str, text: str, question: Question, graph: Graph) -> str:
    run = graph.gq if way == ".gq" else graph.sql
    return _shown(run(text, question.values))


def _shown(result: Result) -> str:
    """Rows as a table; their order means nothing in these questions, so they are sorted."""
    rows: list[Row] = sorted(result.fetchall(), key=str)
    return "\n".join(table(result.columns, iter([rows])))


def change(question: Question, texts: Samples, graph: Graph) -> str:
    """A mutation in both languages, and what running it once came to."""
    lines = [f"# {question.title}"]
    lines += [f"{way}:\n\n{_indented(text)}" for way, text in _ways(question, texts)]
    given = ", ".join(f"${name} = {value!r}" for name, value in question.given)
    return "\n\n".join([*lines, f"Run with {given}:", _indented(outcome(graph.sql(*_first(question, texts))))])


def _first(question: Question, texts: Samples) -> tuple[str, dict[str, object] | None]:
    return texts.parts[question.sql], question.values


def transact(texts: Samples, graph: Graph) -> str:
    """Several statements, one commit; inside, its own writes are seen, outside they are not."""
    first, second, inside, outside = (texts.parts[name] for name in TRANSACTION)
    lines = ["# A transaction sees its own writes; others see them when it commits"]
    with graph.transaction(message="Puno gets an airport") as tx:
        for text in (first, second):
            lines.append(f"{_indented(text)}\n\n{_indented(outcome(tx.sql(text)))}")
        lines.append(f"Inside:\n\n{_indented(inside)}\n\n{_indented(_shown(tx.sql(inside)))}")
        lines.append(f"Outside, at the same time:\n\n{_indented(_shown(graph.sql(outside)))}")
    lines.append(f"After the commit:\n\n{_indented(_shown(graph.sql(outside)))}")
    return "\n\n".join(lines)


def play(scene: Scene, texts: Samples, graph: Graph, files: Mapping[str, Path] | None = None) -> str:
    """Each statement with its rows, or with what it changed; of a file, what is in it too."""
    lines = [f"# {scene.title}"]
    for name in scene.parts:
        text, file = texts.parts[name], (files or {}).get(name)
        if file is not None and name == "read_file":
            lines.append(f"A file, {file.name}:\n\n{_indented(file.read_text(encoding='utf-8'))}")
        result = graph.sql(text, None if file is None else {"file": str(file)})
        lines.append(_indented(text if file is None else text.replace("$file", f"'{file.name}'")))
        lines.append(_indented(_shown(result) if result.columns else outcome(result) if result.commit_id else "done"))
        if file is not None and name == "write_file":
            lines.append(f"In {file.name} stands:\n\n{_indented(file.read_text(encoding='utf-8'))}")
    return "\n\n".join(lines)


def refuse(title: str, name: str, texts: Samples, graph: Graph) -> str:
    """A statement and the error it ends with."""
    text = texts.parts[name]
    before = graph.head
    report = _refusal(lambda: graph.sql(text))
    if report is None or graph.head != before:
        raise AssertionError(f"the sample {name} is meant to be refused")
    return f"{title}\n\n{_indented(text)}\n\n{_indented(report)}"


def _refusal(act: Callable[[], object]) -> str | None:
    try:
        act()
    except OmniError as refused:
        return refused.report()
    return None


def history(graph: Graph) -> str:
    """Every commit, newest first."""
    rows: list[Row] = [
        (commit.id, commit.created_at.isoformat(timespec="seconds"), commit.actor, commit.message)
        for commit in graph.commits()
    ]
    shown = "\n".join(table(("commit", "at", "actor", "message"), iter([rows])))
    return f"# The history\n\n{_indented(shown)}"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" if line else "" for line in text.splitlines())
