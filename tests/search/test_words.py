"""Words are what a text index of Lance made with the same settings holds, sign for sign."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import DataError, ResourceLimitExceeded
from omnigraph_sql.engine.store.indexes import TEXT_SETTINGS
from omnigraph_sql.run.search_words import TextTest, holding, normal, occurrences, terms_of, within, word_counts, words
from tests.search import oracle

TEXTS = st.text(oracle.ALPHABET, max_size=24)


@given(TEXTS)
def test_words_are_runs_of_letters_and_digits_in_lower_case(text: str) -> None:
    assert [word.replace("\ua7f7", "i̇") for word in words(text)] == oracle.words(text)


@given(st.lists(TEXTS | st.none(), min_size=1, max_size=6))
def test_texts_in_columns_have_the_same_words(texts: list[str | None]) -> None:
    column = pa.array(texts, pa.utf8())
    known = [[] if text is None else words(text) for text in texts]
    assert [one.split() if one is not None else [] for one in normal(column).to_pylist()] == known
    assert word_counts(column).to_pylist() == [None if text is None else len(words(text)) for text in texts]
    for term in {word for one in known for word in one}:
        assert occurrences(normal(column), term).fill_null(0).to_pylist() == [one.count(term) for one in known]
        assert holding(column, (term,)).fill_null(False).to_pylist() == [term in one for one in known]


def test_every_character_is_a_letter_of_a_word_to_both_engines_or_to_neither(tmp_path: Path) -> None:
    import lance

    chosen = [*range(1, 0x3100), *range(0xA000, 0xAC00), *range(0x10000, 0x11000), *range(0x1F100, 0x1F200)]
    signs = pa.array([chr(c) for c in chosen])
    kept = pc.filter(signs, pc.greater(word_counts(signs), 0)).to_pylist()
    assert set(kept) == {chr(c) for c in chosen if words(chr(c))}
    # A character that splits words shows as a text in which the letter beside it is a word of its own.
    beside = pa.table({"id": pa.array([str(c) for c in chosen]), "t": pa.array([f"q{chr(c)}" for c in chosen])})
    made = lance.write_dataset(beside, str(tmp_path / "signs"))
    made.create_scalar_index("t", "INVERTED", **TEXT_SETTINGS)
    found = made.scanner(columns=["id", "_score"], full_text_query="q").to_table()["id"].to_pylist()
    assert {int(one) for one in found} == {c for c in chosen if not words(chr(c))}


@given(st.text("ab", max_size=5), st.text("abc", max_size=5), st.integers(0, 4))
def test_words_within_some_edits_are_those_a_slow_count_finds(left: str, right: str, allowed: int) -> None:
    assert within(left, right, allowed) == (oracle.edits(left, right) <= allowed)


@given(
    st.sampled_from(["search", "fuzzy", "match_text"]),
    st.lists(TEXTS | st.none(), max_size=6),
    TEXTS,
    st.integers(0, 2),
)
def test_predicates_are_what_they_say(kind: str, texts: list[str | None], query: str, allowed: int) -> None:
    test = TextTest.of(kind, query, allowed if kind == "fuzzy" else None)
    expected = [oracle.matches(kind, text, query, allowed) for text in texts]
    assert test.matcher()(pa.array(texts, pa.utf8())).to_pylist() == expected


def test_a_query_may_be_as_long_as_the_limit_and_no_longer() -> None:
    longest = "ab " * (limits.SEARCH_QUERY_BYTES_MAX // 3) + "a"
    assert len(longest) == limits.SEARCH_QUERY_BYTES_MAX
    assert terms_of(longest, "search") == ("ab", "a")
    with pytest.raises(ResourceLimitExceeded) as refused:
        terms_of(longest + "a", "search")
    assert refused.value.fields() == {
        "resource": "search_query_bytes",
        "limit": limits.SEARCH_QUERY_BYTES_MAX,
        "actual": limits.SEARCH_QUERY_BYTES_MAX + 1,
    }


def test_thousands_of_different_words_are_looked_for_at_once() -> None:
    query = " ".join(f"{n:x}" for n in range(3000))
    matcher = TextTest.of("search", query).matcher()
    assert matcher(pa.array(["x bb7 y", "zz", "bb8"])).to_pylist() == [True, False, False]


def test_edits_have_a_ceiling_and_a_floor() -> None:
    assert TextTest.of("fuzzy", "word", limits.FUZZY_EDITS_MAX).edits == limits.FUZZY_EDITS_MAX
    with pytest.raises(ResourceLimitExceeded, match="fuzzy edits"):
        TextTest.of("fuzzy", "word", limits.FUZZY_EDITS_MAX + 1)
    for wrong in (-1, True, "two"):
        with pytest.raises(DataError, match="whole number"):
            TextTest.of("fuzzy", "word", wrong)
