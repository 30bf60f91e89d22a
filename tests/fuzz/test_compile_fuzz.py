"""Any text at all gives a plan or a LanguageError with a place; never another exception.

`OMNI_FUZZ_INPUTS` sets the number of inputs per target, `OMNI_FUZZ_SEED` repeats a run; a failing run prints its seed.
"""

from __future__ import annotations

import os
import random
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, note, seed, settings
from hypothesis import strategies as st

from omnigraph_sql.base.errors import LanguageError
from omnigraph_sql.bind.schema import compile_schema
from omnigraph_sql.bind.sql import GUARDED
from omnigraph_sql.plan.compile import Compiled, compile_any, compile_gq, compile_sql
from omnigraph_sql.plan.explain import explain
from tests.case_files import CASES, airport_catalog
from tests.fuzz.corpus import bent_texts, corpus_texts
from tests.strategies_gq import queries, units
from tests.strategies_pg import schemas
from tests.strategies_sql import scripts, statements

INPUTS = int(os.environ.get("OMNI_FUZZ_INPUTS", "150"))
SEED = int(os.environ.get("OMNI_FUZZ_SEED", str(random.SystemRandom().randrange(2**32))))

BENT_PER_TEXT = 10

GROWN: dict[str, st.SearchStrategy[str]] = {
    "pg": schemas(),
    "gq": st.one_of(queries(), units()),
    "sql": st.one_of(statements(), statements(), scripts()),
}


@pytest.fixture(autouse=True)
def _faults_show() -> Iterator[None]:
    """The binder of SQL turns its own faults into refusals; here they are what is looked for."""
    token = GUARDED.set(False)
    yield
    GUARDED.reset(token)


def compiled(language: str, text: str) -> Compiled | None:
    match language:
        case "pg":
            compile_schema(text)
            return None
        case "gq":
            return compile_gq(text, airport_catalog())
        case "sql":
            return compile_sql(text, airport_catalog())
        case _:
            return compile_any(text, airport_catalog())


def is_ours(fault: BaseException | None) -> bool:
    """Whether a fault that the parser of SQL took for sqlglot's was made in our own code."""
    frames = traceback.extract_tb(fault.__traceback__) if fault is not None else []
    return bool(frames) and "sqlglot" not in Path(frames[-1].filename).parts


def gives_a_plan_or_a_placed_error(language: str, text: str) -> bool:
    """Whether it was a plan."""
    note(f"OMNI_FUZZ_SEED={SEED} {language} {text!r}")
    refusal: LanguageError | None = None
    try:
        found = compiled(language, text)
        for program in found.programs if found is not None else ():
            assert explain(program.plan)
            assert isinstance(program.fields, tuple)
    except LanguageError as error:
        refusal = error
    if refusal is not None:
        assert 0 <= refusal.at.start <= refusal.at.end <= len(text)
        assert refusal.report()
        assert refusal.to_dict()["code"]
        assert not is_ours(refusal.__cause__), refusal.__cause__
    return refusal is None


def run(texts: st.SearchStrategy[list[str]], check: Callable[[str], object], *, each: int = 1) -> None:
    """Check INPUTS texts, which come `each` at a time."""
    ran = 0

    @seed(SEED)
    @settings(
        max_examples=-(-INPUTS // each),
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(texts)
    def over_all(some: list[str]) -> None:
        nonlocal ran
        for text in some:
            check(text)
        ran += len(some)

    over_all()
    assert ran >= INPUTS, f"only {ran} of {INPUTS} texts were made"


def alone(texts: st.SearchStrategy[str]) -> st.SearchStrategy[list[str]]:
    return texts.map(lambda text: [text])


@pytest.mark.parametrize("language", ["pg", "gq", "sql"])
def test_texts_grown_from_the_grammar_are_planned_or_refused(language: str) -> None:
    planned: list[bool] = []
    run(alone(GROWN[language]), lambda text: planned.append(gives_a_plan_or_a_placed_error(language, text)))
    # a generator whose texts are all refused finds nothing behind the parser
    assert sum(planned) > len(planned) * 0.15


@pytest.mark.parametrize("language", ["pg", "gq", "sql"])
def test_bent_texts_of_the_case_files_are_planned_or_refused(language: str) -> None:
    texts = corpus_texts(language, CASES)
    assert len(texts) > 20
    bent = bent_texts(st.sampled_from(texts), 1)
    run(bent, lambda text: gives_a_plan_or_a_placed_error(language, text))


@pytest.mark.parametrize("language", ["pg", "gq", "sql"])
def test_bent_texts_of_the_grammar_are_planned_or_refused(language: str) -> None:
    bent = bent_texts(GROWN[language], BENT_PER_TEXT)
    run(bent, lambda text: gives_a_plan_or_a_placed_error(language, text), each=BENT_PER_TEXT)


@pytest.mark.parametrize("language", ["pg", "gq", "sql", "any"])
def test_raw_bytes_are_planned_or_refused(language: str) -> None:
    def check(raw: str) -> None:
        gives_a_plan_or_a_placed_error(language, raw)
        gives_a_plan_or_a_placed_error(language, raw.encode("latin-1").decode("utf-8", "replace"))

    run(alone(st.binary(max_size=200).map(lambda raw: raw.decode("latin-1"))), check)
