"""What a search should give, in plain Python: no numpy, no Arrow, one row after the other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

K1, B = 1.2, 0.75
ALPHABET = "abcABC019éÉßΣς _-'\"%*()&|!中\u043d\u0438\u0301\u0915\u093fİ😀"
"""Signs that texts are made of: letters with and without case, digits, marks, signs of query languages."""
_WORD_SIGNS = frozenset("abcABC019éÉßΣς中\u043d\u0438\u0915\u093fİ")


def words(text: str) -> list[str]:
    """Runs of letters and digits, in lower case."""
    found, word = [], ""
    for sign in text:
        if sign in _WORD_SIGNS or (sign not in ALPHABET and sign.isalnum()):
            word += {"Σ": "σ"}.get(sign, sign.lower())
        elif word:
            found.append(word)
            word = ""
    return [*found, word] if word else found


def edits(left: str, right: str) -> int:
    if not left or not right:
        return len(left) + len(right)
    if left[-1] == right[-1]:
        return edits(left[:-1], right[:-1])
    return 1 + min(edits(left[:-1], right), edits(left, right[:-1]), edits(left[:-1], right[:-1]))


def matches(kind: str, text: str | None, query: str, allowed: int = 2) -> bool:
    if text is None or not words(query):
        return False
    held, wanted = words(text), words(query)
    if kind == "search":
        return any(word in held for word in wanted)
    if kind == "fuzzy":
        return any(edits(word, other) <= allowed for word in wanted for other in held)
    return any(held[at : at + len(wanted)] == wanted for at in range(len(held)))


def distance(vector: Sequence[float] | None, point: Sequence[float]) -> float | None:
    if vector is None or not any(vector):
        return None
    dot = math.fsum(a * b for a, b in zip(vector, point, strict=True))
    norms = math.sqrt(math.fsum(a * a for a in vector)) * math.sqrt(math.fsum(b * b for b in point))
    return max(1.0 - dot / norms, 0.0)


def bm25(text: str | None, query: str, corpus: Iterable[str | None]) -> float | None:
    """Against the texts of a corpus, which the text itself may or may not be one of."""
    texts = [words(one) for one in corpus if one is not None and words(one)]
    terms = list(dict.fromkeys(words(query)))
    if text is None or not set(terms) & set(words(text)):
        return None
    average = sum(map(len, texts)) / len(texts) if texts else 0
    held = words(text)
    norm = K1 * (1 - B + B * (len(held) / average if average else 1))
    score = 0.0
    for term in terms:
        holding = sum(term in one for one in texts)
        often = held.count(term)
        score += math.log(1 + (len(texts) - holding + 0.5) / (holding + 0.5)) * often * (K1 + 1) / (often + norm)
    return score


def ranks(scores: Mapping[str, float | None], *, best_is_high: bool) -> dict[str, int]:
    """Places from 0, ties by id; who has no score has no place."""
    known = {one: score for one, score in scores.items() if score is not None}
    order = sorted(known, key=lambda one: (-known[one] if best_is_high else known[one], one))
    return {one: place for place, one in enumerate(order)}


def fused(*rankings: Mapping[str, int], k: int = 60, depth: int = 256) -> dict[str, float]:
    found: dict[str, float] = {}
    for ranking in rankings:
        for one, place in ranking.items():
            if place < depth:
                found[one] = found.get(one, 0.0) + 1 / (k + place + 1)
    return found


@dataclass(frozen=True)
class Doc:
    code: str
    text: str | None
    vec: tuple[float, ...] | None
    n: int
