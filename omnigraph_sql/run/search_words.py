"""Words of a text, and whether texts hold the words that are looked for.

A word is a run of letters, digits and the marks that belong to letters, in lower case; nothing is stemmed or left out.
These are the words a text index of Lance made with `TOKENIZER` holds, so an index decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import DataError, ResourceLimitExceeded

_MARKS: Final = (
    "345 363-36f 5b0-5bd 5bf 5c1-5c2 5c4-5c5 5c7 610-61a 64b-657 659-65f 670 6d6-6dc 6e1-6e4 6e7-6e8 6ed "
    "711 730-73f 7a6-7b0 816-817 81b-823 825-827 829-82c 88f 897 8d4-8df 8e3-8e9 8f0-903 93a-93b 93e-94c "
    "94e-94f 955-957 962-963 981-983 9be-9c4 9c7-9c8 9cb-9cc 9d7 9e2-9e3 a01-a03 a3e-a42 a47-a48 a4b-a4c "
    "a51 a70-a71 a75 a81-a83 abe-ac5 ac7-ac9 acb-acc ae2-ae3 afa-afc b01-b03 b3e-b44 b47-b48 b4b-b4c "
    "b56-b57 b62-b63 b82 bbe-bc2 bc6-bc8 bca-bcc bd7 c00-c04 c3e-c44 c46-c48 c4a-c4c c55-c56 c5c c62-c63 "
    "c81-c83 cbe-cc4 cc6-cc8 cca-ccc cd5-cd6 cdc ce2-ce3 cf3 d00-d03 d3e-d44 d46-d48 d4a-d4c d57 d62-d63 "
    "d81-d83 dcf-dd4 dd6 dd8-ddf df2-df3 e31 e34-e3a e4d eb1 eb4-eb9 ebb-ebc ecd f71-f83 f8d-f97 f99-fbc "
    "102b-1036 1038 103b-103e 1056-1059 105e-1060 1062-1064 1067-106d 1071-1074 1082-108d 108f 109a-109d "
    "1712-1713 1732-1733 1752-1753 1772-1773 17b6-17c8 1885-1886 18a9 1920-192b 1930-1938 1a17-1a1b "
    "1a55-1a5e 1a61-1a74 1abf-1ac0 1acc-1ace 1b00-1b04 1b35-1b43 1b80-1b82 1ba1-1ba9 1bac-1bad 1be7-1bf1 "
    "1c24-1c36 1c89-1c8a 1dd3-1df4 24b6-24e9 2de0-2dff a674-a67b a69e-a69f a7cb-a7cf a7d2 a7d4 a7da-a7dc "
    "a7f1 a802 a80b a823-a827 a880-a881 a8b4-a8c3 a8c5 a8ff a926-a92a a947-a952 a980-a983 a9b4-a9bf a9e5 "
    "aa29-aa36 aa43 aa4c-aa4d aa7b-aa7d aab0 aab2-aab4 aab7-aab8 aabe aaeb-aaef aaf5 abe3-abea fb1e "
    "10376-1037a 105c0-105f3 10940-10959 10a01-10a03 10a05-10a06 10a0c-10a0f 10d24-10d27 10d40-10d65 "
    "10d69 10d6f-10d85 10eab-10eac 10ec2-10ec7 10efa-10efc 11000-11002 11038-11045 11073-11074 "
    "11080-11082 110b0-110b8 110c2 11100-11102 11127-11132 11145-11146 11180-11182 111b3-111bf "
    "111ce-111cf 1122c-11234 11237 1123e-11241 112df-112e8 11300-11303 1133e-11344 11347-11348 "
    "1134b-1134c 11357 11362-11363 11380-11389 1138b 1138e 11390-113b5 113b7-113c0 113c2 113c5 "
    "113c7-113ca 113cc-113cd 113d1 113d3 11435-11441 11443-11445 114b0-114c1 115af-115b5 115b8-115be "
    "115dc-115dd 11630-1163e 11640 116ab-116b5 116d0-116e3 1171d-1172a 1182c-11838 11930-11935 "
    "11937-11938 1193b-1193c 11940 11942 119d1-119d7 119da-119df 119e4 11a01-11a0a 11a35-11a39 "
    "11a3b-11a3e 11a51-11a5b 11a8a-11a97 11b60-11b67 11bc0-11be0 11bf0-11bf9 11c2f-11c36 11c38-11c3e "
    "11c92-11ca7 11ca9-11cb6 11d31-11d36 11d3a 11d3c-11d3d 11d3f-11d41 11d43 11d47 11d8a-11d8e "
    "11d90-11d91 11d93-11d96 11db0-11ddb 11de0-11de9 11ef3-11ef6 11f00-11f10 11f12-11f3a 11f3e-11f40 "
    "11f50-11f59 1342f 13441-13446 13460-143fa 16100-1612e 16130-16139 16d40-16d6c 16d70-16d79 "
    "16ea0-16eb8 16ebb-16ed3 16f4f 16f51-16f87 16f8f-16f92 16ff0-16ff6 187f8-187ff 18cff 18d09-18d1e "
    "18d80-18df2 1b132 1b155 1bc9e 1ccf0-1ccf9 1d2c0-1d2d3 1df25-1df2a 1e000-1e006 1e008-1e018 "
    "1e01b-1e021 1e023-1e024 1e026-1e02a 1e030-1e06d 1e08f 1e4d0-1e4eb 1e4f0-1e4f9 1e5d0-1e5ed "
    "1e5f0-1e5fa 1e6c0-1e6de 1e6e0-1e6f5 1e6fe-1e6ff 1e947 1f130-1f149 1f150-1f169 1f170-1f189 "
    "2b739-2b73f 2cea2-2cead 2ebf0-2ee5d 31350-33479 "
)
"""Code points that count as letters or digits in words beyond those of the categories L and N, in hex."""


def _ranges() -> list[tuple[str, str]]:
    ends = [one.split("-") for one in _MARKS.split()]
    return [(pair[0], pair[-1]) for pair in ends]


_DOTTED: Final = "\ua7f7"
"""Stands for the dotted capital I inside words: the one letter whose small form is two characters."""
_WORD: Final = re.compile("[\\w" + "".join(f"{chr(int(a, 16))}-{chr(int(b, 16))}" for a, b in _ranges()) + "]+")
_LETTERS: Final = r"\p{L}\p{N}" + "".join(rf"\x{{{a}}}-\x{{{b}}}" for a, b in _ranges())
_WORDS_MEMO_MAX: Final = 65_536


def words(text: str) -> list[str]:
    """The words of a text, in order."""
    plain = text.replace("_", " ").replace("İ", _DOTTED)
    # One letter at a time: a sigma at the end of a word stays what it is.
    return _WORD.findall(plain.replace("Σ", "σ").lower())


def spelled(word: str) -> str:
    """A word as a text of which it is the only word."""
    return word.replace(_DOTTED, "İ")


def normal(texts: pa.Array) -> pa.Array:
    """Texts as their words alone, each between spaces of its own."""
    spaced = pc.replace_substring_regex(_lower(texts), f"[^{_letters(texts)}]+", "  ")
    return pc.binary_join_element_wise(" ", spaced, " ", "")


def word_counts(texts: pa.Array) -> pa.Array:
    """How many words each text has."""
    return pc.count_substring_regex(texts, f"[{_letters(texts)}]+")


def holding(texts: pa.Array, terms: Sequence[str]) -> pa.Array:
    """Whether each text holds one of the words; null for null."""
    letters, alternatives = _letters(texts), "|".join(terms)
    return pc.match_substring_regex(_lower(texts), f"(?:^|[^{letters}])(?:{alternatives})(?:$|[^{letters}])")


def occurrences(normalised: pa.Array, term: str) -> pa.Array:
    """How often a word occurs in each of the texts that `normal` made."""
    return pc.count_substring(normalised, f" {term} ")


def _letters(texts: pa.Array) -> str:
    """The inside of a class of signs; the one for every script takes milliseconds to compile."""
    return "A-Za-z0-9" if pc.all(pc.string_is_ascii(texts)).as_py() is not False else _LETTERS


def _lower(texts: pa.Array) -> pa.Array:
    return pc.utf8_lower(pc.replace_substring(texts, "İ", _DOTTED))


# ---- what is looked for -----------------------------------------------------------------------------------------


def terms_of(query: object, function: str) -> tuple[str, ...]:
    """The distinct words of a query, in order. Raises ResourceLimitExceeded for one that is too long."""
    if query is None:
        return ()
    if not isinstance(query, str):
        raise DataError(f"the query of {function} is a text, not {query!r:.60}")
    size = len(query.encode("utf-8", "surrogatepass"))
    if size > limits.SEARCH_QUERY_BYTES_MAX:
        raise _too_much(function, "search_query_bytes", limits.SEARCH_QUERY_BYTES_MAX, size)
    return tuple(dict.fromkeys(words(query)))


def _too_much(function: str, resource: str, limit: int, actual: int) -> ResourceLimitExceeded:
    return ResourceLimitExceeded(
        f"{function} takes at most {limit} {resource.replace('_', ' ')}",
        resource=resource,
        limit=limit,
        actual=actual,
        hint="search for less",
    )


@dataclass(frozen=True, slots=True)
class TextTest:
    """A text predicate with its query: one of the words, a word spelled nearly so, or the words in a row."""

    kind: str
    terms: tuple[str, ...]
    edits: int = 0

    @classmethod
    def of(cls, kind: str, query: object, edits: object = None) -> TextTest:
        """Raises DataError for a number of edits that makes no sense."""
        terms = terms_of(query, kind)
        if kind != "fuzzy":
            # A phrase keeps its repeated words.
            return cls(kind, tuple(words(query)) if kind == "match_text" and isinstance(query, str) else terms)
        allowed = limits.FUZZY_EDITS_DEFAULT if edits is None else edits
        if isinstance(allowed, bool) or not isinstance(allowed, int) or allowed < 0:
            raise DataError(f"max_edits of fuzzy is a whole number, 0 or more, not {allowed!r}")
        if allowed > limits.FUZZY_EDITS_MAX:
            raise _too_much(kind, "fuzzy_edits", limits.FUZZY_EDITS_MAX, allowed)
        return cls(kind, terms, allowed)

    def matcher(self) -> Callable[[pa.Array], pa.Array]:
        """Texts → whether they match. A missing text never does."""
        if not self.terms:
            return lambda texts: pa.array([False] * len(texts), pa.bool_())
        if self.kind == "match_text":
            phrase = "".join(f" {term} " for term in self.terms)
            return lambda texts: _known(pc.match_substring(normal(texts), phrase))
        if self.kind == "fuzzy" and self.edits:
            return _Fuzzy(self.terms, self.edits)
        return lambda texts: _known(holding(texts, self.terms))


def _known(truth: pa.Array) -> pa.Array:
    return pc.fill_null(truth, False)


class _Fuzzy:
    """Remembers the words it has judged: texts share most of theirs."""

    __slots__ = ("_edits", "_judged", "_terms")

    def __init__(self, terms: tuple[str, ...], edits: int) -> None:
        self._terms, self._edits = terms, edits
        self._judged: dict[str, bool] = {}

    def __call__(self, texts: pa.Array) -> pa.Array:
        import numpy as np

        lists = pc.utf8_split_whitespace(normal(pc.fill_null(texts, "")))
        found: Any = lists.flatten()
        coded = found.dictionary_encode()
        if len(self._judged) > _WORDS_MEMO_MAX:
            self._judged.clear()
        near = np.array([self._is_near(word) for word in coded.dictionary.to_pylist()], bool)
        truth = np.zeros(len(texts), bool)
        if len(found):
            parents = lists.value_parent_indices().to_numpy(zero_copy_only=False)
            truth[parents[near[coded.indices.to_numpy(zero_copy_only=False)]]] = True
        return pa.array(truth)

    def _is_near(self, word: str) -> bool:
        known = self._judged.get(word)
        if known is None:
            # An empty piece stands before the first space and is no word.
            known = bool(word) and any(within(term, word, self._edits) for term in self._terms)
            self._judged[word] = known
        return known


def within(left: str, right: str, edits: int) -> bool:
    """Whether at most `edits` letters are to be inserted, removed or exchanged to make one word the other."""
    if abs(len(left) - len(right)) > edits:
        return False
    row = list(range(len(right) + 1))
    for at, sign in enumerate(left, 1):
        above, row[0] = row[0], at
        for place, other in enumerate(right, 1):
            above, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, above + (sign != other))
        if min(row) > edits:
            return False
    return row[-1] <= edits
