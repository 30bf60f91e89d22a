"""Scores: cosine distances and BM25, in double precision and the same for a row wherever it is scored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base.errors import DataError
from omnigraph_sql.run.search_words import holding, normal, occurrences, word_counts

SATURATION: Final = 1.2
"""k1: how soon further occurrences of a word stop counting."""
LENGTH_WEIGHT: Final = 0.75
"""b: how much a text longer than the average loses."""
_BLOCK_ROWS: Final = 65_536


def point_of(value: object, dimension: int) -> Any:
    """A query vector. Raises DataError for one of another dimension, without direction, or not made of numbers."""
    import numpy as np

    try:
        point = np.asarray(value, np.float32).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError("the query of nearest is a vector of numbers") from error
    if point.shape != (dimension,):
        raise DataError(f"the query of nearest has {point.size} numbers, and the vectors have {dimension}")
    if not np.isfinite(point).all():
        raise DataError("the query of nearest has a number that is not finite")
    if not point.any():
        raise DataError("the query of nearest is zero everywhere, so nothing is near it", hint="hand over a direction")
    return point


def distances(vectors: pa.Array, point: Any) -> pa.Array:
    """Cosine distances to a point; null where a vector is missing, zero, or not all finite numbers."""
    import numpy as np

    rows = _matrix(vectors, len(point))
    made = np.empty(len(rows), np.float64)
    length = np.sqrt((point * point).sum())
    with np.errstate(all="ignore"):
        for start in range(0, len(rows), _BLOCK_ROWS):
            block = rows[start : start + _BLOCK_ROWS].astype(np.float64)
            # Sums along a row do not depend on the rows around it, as a matrix product's do.
            norms = np.sqrt((block * block).sum(axis=1)) * length
            made[start : start + _BLOCK_ROWS] = 1.0 - (block * point).sum(axis=1) / norms
    missing = ~np.isfinite(made)
    if vectors.null_count:
        missing |= pc.is_null(vectors).to_numpy(zero_copy_only=False)
    # The distance of a vector to itself is 0 and not a rounding error beside it.
    return pa.array(np.maximum(made, 0.0), mask=missing)


def _matrix(vectors: pa.Array, dimension: int) -> Any:
    import numpy as np

    flat = vectors.values.slice(vectors.offset * dimension, len(vectors) * dimension)
    values = flat.to_numpy(zero_copy_only=False) if flat.null_count == 0 else pc.fill_null(flat, float("nan"))
    return np.asarray(values, np.float32).reshape(len(vectors), dimension)


@dataclass(frozen=True, slots=True)
class Corpus:
    """What BM25 knows of the texts a text is among: how many there are, their words, and how many hold each term."""

    texts: int
    words: int
    holding: tuple[int, ...]

    def __post_init__(self) -> None:
        if min(self.texts, self.words, *self.holding, 0) < 0:
            raise ValueError("a corpus is counted from 0")


def relevance(terms: tuple[str, ...], corpus: Corpus) -> Callable[[pa.Array], pa.Array]:
    """Texts → BM25 of the terms; null for a text that is missing or holds none of them."""
    if not terms:
        return lambda texts: pa.nulls(len(texts), pa.float64())

    def compute(texts: pa.Array) -> pa.Array:
        import numpy as np

        places = np.flatnonzero(pc.fill_null(holding(texts, terms), False).to_numpy(zero_copy_only=False))
        made = np.full(len(texts), np.nan)
        if len(places):
            chosen = texts.take(pa.array(places))
            made[places] = _relevances(normal(chosen), word_counts(chosen), terms, corpus)
        return pa.array(made, mask=np.isnan(made))

    return compute


def _relevances(normalised: pa.Array, counts: pa.Array, terms: tuple[str, ...], corpus: Corpus) -> Any:
    import numpy as np

    length = counts.to_numpy(zero_copy_only=False).astype(np.float64)
    # Texts that are not committed may be all there are; then none is longer than another.
    relative = length / (corpus.words / corpus.texts) if corpus.words else np.ones(len(length))
    norm = SATURATION * (1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * relative)
    total = np.zeros(len(length))
    for term, held in zip(terms, corpus.holding, strict=True):
        often = occurrences(normalised, term).to_numpy(zero_copy_only=False).astype(np.float64)
        rarity = np.log(1.0 + (corpus.texts - held + 0.5) / (held + 0.5))
        total += rarity * often * (SATURATION + 1.0) / (often + norm)
    return total
