"""The samples compile and run, and the demo shows what it promises."""

import re
from pathlib import Path

import pytest

import omnigraph_sql
from omnigraph_sql.base.errors import LanguageError
from omnigraph_sql.bind.lint import lint
from omnigraph_sql.cli.demo import (
    CARRIERS,
    OPENING,
    QUESTIONS,
    REFUSALS,
    SCENES,
    TRANSACTION,
    Question,
    Scene,
    ask,
    chapters,
    refuse,
)
from omnigraph_sql.cli.samples import samples
from omnigraph_sql.graph import Graph
from omnigraph_sql.plan.compile import compile_sql
from tests.cli.conftest import Command

SAMPLES = samples()
WRONG = {"mixture": "D2", "wrong_type": "type", "misspelt": "unknown_name"}
PLAYED = {name for scene in SCENES for name in scene.parts}
BREAKING = {"too_high": "constraint", "nowhere": "constraint", "taken": "key_conflict"}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    folder = tmp_path_factory.mktemp("demo")
    (folder / "air.jsonl").write_text(SAMPLES.rows, encoding="utf-8")
    made = omnigraph_sql.init(folder / "air.omni", schema=SAMPLES.schema)
    made.load(folder / "air.jsonl", mode="append")
    return made


def test_the_sample_queries_have_no_findings() -> None:
    assert lint(SAMPLES.gq, SAMPLES.catalog).findings == ()


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.title)
def test_the_statements_of_a_scene_compile_one_after_the_other(scene: Scene) -> None:
    texts = [SAMPLES.parts[name] for name in scene.parts]
    assert len(compile_sql("\n".join(texts), SAMPLES.catalog).programs) >= len(texts)


@pytest.mark.parametrize("name", sorted(SAMPLES.parts.keys() - WRONG - PLAYED))
def test_a_sample_statement_compiles(name: str) -> None:
    assert compile_sql(SAMPLES.parts[name], SAMPLES.catalog).programs


@pytest.mark.parametrize(("name", "code"), WRONG.items())
def test_a_sample_that_is_meant_to_be_refused_is(name: str, code: str) -> None:
    with pytest.raises(LanguageError) as refused:
        compile_sql(SAMPLES.parts[name], SAMPLES.catalog)
    assert refused.value.code == code


def test_the_demo_uses_every_sample() -> None:
    asked = (*QUESTIONS, OPENING)
    used = {q.sql for q in asked} | {q.pattern for q in asked if q.pattern} | set(TRANSACTION) | PLAYED
    assert used | {name for name, _ in [(n, t) for t, n in REFUSALS]} == SAMPLES.parts.keys()
    assert {q.gq for q in asked} == SAMPLES.queries.keys()
    assert {name for _, name in REFUSALS} == WRONG.keys() | BREAKING.keys()


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.title)
def test_a_question_has_one_plan_and_one_answer_in_whatever_language_it_is_asked(
    question: Question, graph: Graph
) -> None:
    shown = ask(question, SAMPLES, graph)
    ways = 2 if question.pattern is None else 3
    assert f"{'All' if ways == 3 else 'Both'} have this plan:" in shown
    assert shown.count(":\n\n") == ways + 2
    assert len(shown.partition("The answer")[2].splitlines()) > 5


def test_plans_that_differ_are_shown_each_below_its_text(graph: Graph) -> None:
    shown = ask(Question("Two ways", "by_country", "by_country", "by_country_pattern"), SAMPLES, graph)
    assert "Its plan:" not in shown
    with pytest.raises(AssertionError):
        ask(Question("Two questions", "no_hub", "by_country"), SAMPLES, graph)


@pytest.mark.parametrize(("name", "code"), (WRONG | BREAKING).items())
def test_a_refusal_is_shown_with_its_code(name: str, code: str, graph: Graph) -> None:
    assert f"error[{code}]: " in refuse("title", name, SAMPLES, graph)


def test_a_sample_that_is_no_longer_refused_is_noticed(graph: Graph) -> None:
    with pytest.raises(AssertionError):
        refuse("title", "no_hub", SAMPLES, graph)


def test_the_demo_tells_the_whole_story(ogsql: Command) -> None:
    done = ogsql("demo")
    assert (done.code, done.err) == (0, "")
    titles = re.findall(r"^# (.*)$", done.out, re.MULTILINE)
    asked, scenes = [question.title for question in QUESTIONS], [scene.title for scene in SCENES]
    assert titles[2:-2] == [*asked, OPENING.title, titles[-3 - len(scenes)], *scenes]
    named = (*titles[:2], titles[-3 - len(scenes)], *titles[-2:])
    for title, word in zip(named, ("schema", "rows", "own", "refused", "history"), strict=True):
        assert word in title
    for line in (
        "AQP,Arequipa",
        *CARRIERS.splitlines(),
        "LIM         2  Lima    10090000",
        "LIM   Lima     Lima-Callao",
    ):
        assert f"    {line}\n" in done.out
    assert re.search(r"airports_now +airports_at_first\n[ -]+\n +9 +8$", done.out, re.MULTILINE)
    inside, outside, after = re.findall(r"airports_from_lima\n +-+\n +(\d+)$", done.out, re.MULTILINE)
    assert (int(inside), int(outside), int(after)) == (6, 5, 6)


def test_the_demo_leaves_nothing_behind(tmp_path: Path) -> None:
    assert len(list(chapters(SAMPLES, tmp_path))) == len(QUESTIONS) + len(SCENES) + 6
    assert {path.name for path in tmp_path.iterdir()} == {"air.omni", "air.jsonl", "carriers.csv", "peru.csv"}
