"""The best rows of a table, found by the store instead of by scoring every row: for ORDER BY score LIMIT k.

Candidates come from a Lance scan, a few more than are asked for. Their scores are computed here, as they are anywhere
else, and the answer stands when what was left out cannot reach into it; otherwise more candidates are asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from omnigraph_sql.base import expr as ex
from omnigraph_sql.base import limits
from omnigraph_sql.base.catalog import ID
from omnigraph_sql.base.errors import ExecutionError
from omnigraph_sql.base.expr import Column, Expr
from omnigraph_sql.base.types import BLOB, VectorType
from omnigraph_sql.engine.store.search import DISTANCE, SCORE, Candidates, has_vector_index, nearest_rows, text_rows
from omnigraph_sql.engine.store.tables import OpenTable, Tables
from omnigraph_sql.engine.write.staging import Mode, TableChanges
from omnigraph_sql.plan import nodes as pn
from omnigraph_sql.run.expr_text import predicate_text
from omnigraph_sql.run.pending import pending_of
from omnigraph_sql.run.relation import Build, Rel, listed, quoted
from omnigraph_sql.run.scene import Scene
from omnigraph_sql.run.search_corpus import is_indexed, stored_corpus
from omnigraph_sql.run.search_embed import point_for, value_of
from omnigraph_sql.run.search_filter import filter_text
from omnigraph_sql.run.search_score import distances, relevance
from omnigraph_sql.run.search_words import spelled, terms_of
from omnigraph_sql.run.subqueries import settled

_SLACK: Final = 2e-5
"""By how much a score of Lance, in single precision, may be off."""
_MORE: Final = 8
"""Candidates beyond those asked for, so that one look mostly is enough."""
_LISTED_IDS_MAX: Final = 1024


@dataclass(frozen=True, slots=True)
class _Held:
    """What is pending on a table: its rows, and the committed rows that are hidden by them."""

    rows: pa.Table | None
    hidden: bytes | None


def _held(tables: Tables, table: OpenTable, changes: TableChanges) -> _Held:
    pending = pending_of(tables, table, changes)
    hidden = pending.shadow.block() if pending.shadow is not None else None
    return _Held(pending.rows if changes.batches else None, hidden)


@dataclass(frozen=True, slots=True)
class _Source:
    """A scan that is ranked: its table, what is pending on it, and its condition in the store's words."""

    scan: pn.Scan
    table: OpenTable
    pending: pa.Table | None
    where: str | None
    hidden: bytes | None

    def among(self, column: str, columns: tuple[str, ...]) -> Candidates:
        return Candidates(self.table, column, columns, self.where, self.hidden)


@dataclass(frozen=True, slots=True)
class _Ranker:
    """Asks the store for candidates, scores them, and tells the better score from the worse."""

    column: str
    fetch: Callable[[Candidates, int, bool], pa.Table]
    score: Callable[[pa.Array], pa.Array]
    theirs: str
    high: bool
    approximate: bool = False
    """An index may leave rows out, unless it is told to be exact."""


def top(plan: pn.Rank, count: int, build: Build, score_text: Callable[[Expr], str]) -> Rel | None:
    """A ranking with at least its `count` best rows; None when every row has to be scored to know them."""
    source = _source_of(plan, build)
    if source is None or count == 0:
        return None
    score = plan.score
    rankers = [_ranker_of(one, source, build) for one in (score.rankers if isinstance(score, ex.Fuse) else (score,))]
    known = [one for one in rankers if one is not None]
    if len(known) != len(rankers):
        return None
    if isinstance(score, ex.Fuse):
        return _fused(plan, score, source, known, count, build, score_text)
    return _single(plan, source, known[0], count, build, score_text)


def _source_of(plan: pn.Rank, build: Build) -> _Source | None:
    """The scan below a ranking if the store can rank its rows."""
    scan = plan.input
    if not isinstance(scan, pn.Scan) or any(f.type == BLOB for f in scan.schema.fields):
        return None
    where = None
    test = ex.all_of([t for t in ex.conjuncts(scan.filter) if not _is_implied(t, plan.score)])
    if test is not None:
        where = filter_text(test, scan.variable, build.scene)
        if where is None:
            return None
    table, changes = build.committed(scan.type, scan.at)
    if not table.pin.row_count or (changes is not None and changes.mode is Mode.OVERWRITE):
        return None
    held = _held(build.scene.world.tables, table, changes) if changes is not None else _Held(None, None)
    return _Source(scan, table, held.rows, where, held.hidden)


def _is_implied(test: Expr, score: Expr) -> bool:
    """Whether only rows that pass the test have a score anyway."""
    same = isinstance(test, ex.TextMatch) and test.kind == "search" and isinstance(score, ex.Bm25)
    return same and (test.field, test.query) == (score.field, score.query)  # type: ignore[attr-defined]


def _ranker_of(score: Expr, source: _Source, build: Build) -> _Ranker | None:
    """How the store ranks by a score; None when it would weigh rows otherwise than they are scored here."""
    scene = build.scene
    tables, table = scene.world.tables, source.table
    match score:
        case ex.Nearest(field=Column(name=name, of=VectorType(dimensions=dimension)), query=query):
            member = name.partition(".")[2]
            point = point_for(value_of(query, scene), source.scan.type, name, dimension, scene)
            single = point.astype("float32")

            def near(among: Candidates, count: int, exact: bool) -> pa.Table:
                return nearest_rows(tables, among, single, count, exact=exact)

            approximate = has_vector_index(tables, table, member)
            return _Ranker(member, near, lambda vectors: distances(vectors, point), DISTANCE, False, approximate)
        case ex.Bm25(field=Column(name=name), query=query):
            member = name.partition(".")[2]
            terms = terms_of(value_of(query, scene), "bm25")
            if not terms or not is_indexed(tables, table, member):
                return None
            words = [spelled(term) for term in terms]

            def saying(among: Candidates, count: int, exact: bool) -> pa.Table:
                del exact
                return text_rows(tables, among, member, words, count)

            corpus = stored_corpus(tables, table, member, terms)
            return _Ranker(member, saying, relevance(terms, corpus), SCORE, True)
        case _:
            return None


# ---- certain candidates -----------------------------------------------------------------------------------------


def _best_rows(ranker: _Ranker, source: _Source, count: int, columns: tuple[str, ...]) -> tuple[pa.Table, pa.Array]:
    """The committed rows with the `count` best scores, all that tie with the last included, and their scores."""
    import numpy as np

    among = source.among(ranker.column, tuple(dict.fromkeys((ID, *columns))))
    fetch = count + count // 8 + _MORE
    exact = not ranker.approximate
    sign = -1.0 if ranker.high else 1.0
    while True:
        found = ranker.fetch(among, fetch, exact)
        if not exact and found.num_rows < count:
            exact = True
            continue
        scores = ranker.score(found[ranker.column].combine_chunks())
        keys = sign * scores.to_numpy(zero_copy_only=False)
        keys[np.isnan(keys)] = np.inf
        last = np.partition(keys, count - 1)[count - 1] if len(keys) >= count else np.inf
        edge = sign * found[ranker.theirs].to_numpy()[-1] if found.num_rows else np.inf
        slack = _SLACK * max(1.0, abs(last)) if np.isfinite(last) else 0.0
        if found.num_rows < fetch or edge > last + slack:
            kept = pa.array(np.flatnonzero((keys <= last) & np.isfinite(keys)))
            return found.take(kept), scores.take(kept)
        fetch *= 4


# ---- rows -------------------------------------------------------------------------------------------------------


def _single(
    plan: pn.Rank, source: _Source, ranker: _Ranker, count: int, build: Build, score_text: Callable[[Expr], str]
) -> Rel:
    """The best committed rows as they came from the store, and every pending row."""
    scan = source.scan
    found, scores = _best_rows(ranker, source, count, scan.columns)
    wanted = plan.schema.order
    columns = [found[c] for c in scan.columns]
    rel = build.given(pa.table([*columns, scores], names=list(wanted)), wanted)
    pending = _pending_rows(source, {plan.name: score_text(plan.score)}, build)
    if pending is None:
        return rel
    text = " UNION ALL ".join(f"SELECT {listed(wanted)} FROM {quoted(one.name)}" for one in (rel, pending))
    return build.add(text, (rel, pending), wanted)


def _pending_rows(source: _Source, scored: dict[str, str], build: Build) -> Rel | None:
    """The pending rows that pass the condition, with their scores: new columns and the text that makes them."""
    rows, scan = source.pending, source.scan
    if rows is None or not rows.num_rows:
        return None
    names = [f"{scan.variable}.{name}" for name in rows.schema.names]
    rel = build.given(rows.rename_columns(names), names)
    if scan.filter is not None:
        rel, (condition,) = settled(build, rel, (scan.filter,), None)
        rel = build.where(rel, predicate_text(condition, build))
    return build.with_columns(rel, scored)


# ---- fusion -----------------------------------------------------------------------------------------------------


def fusion_k(score: ex.Fuse, scene: Scene) -> int:
    k = value_of(score.k, scene)
    if isinstance(k, bool) or not isinstance(k, int) or k <= 0:
        raise ExecutionError(f"k of rrf is a whole number above 0, not {k!r}")
    return k


def _fused(
    plan: pn.Rank,
    score: ex.Fuse,
    source: _Source,
    rankers: list[_Ranker],
    count: int,
    build: Build,
    score_text: Callable[[Expr], str],
) -> Rel:
    """Each ranker's best entities, pending ones among them, fused by their places; then the rows of the best."""
    k, depth = fusion_k(score, build.scene), max(limits.FUSION_DEPTH, count)
    variable = source.scan.variable
    named = {build.fresh(): one for one in score.rankers}
    pending = _pending_rows(source, {name: score_text(one) for name, one in named.items()}, build)
    waiting = build.fetch(pending, (f"{variable}.{ID}", *named)) if pending is not None else None
    fused: dict[str, float] = {}
    for name, ranker in zip(named, rankers, strict=True):
        found, scores = _best_rows(ranker, source, depth, ())
        pairs = list(zip(found[ID].to_pylist(), scores.to_pylist(), strict=True))
        if waiting is not None:
            ids, theirs = waiting[f"{variable}.{ID}"].to_pylist(), waiting[name].to_pylist()
            pairs += [(one, value) for one, value in zip(ids, theirs, strict=True) if value is not None]
        sign = -1.0 if ranker.high else 1.0
        pairs.sort(key=lambda pair: (sign * pair[1], pair[0]))
        for place, (one, _) in enumerate(pairs[:depth], 1):
            fused[one] = fused.get(one, 0.0) + 1.0 / (k + place)
    return _rows_of(plan, _leading(fused, count), source, build)


def _leading(fused: dict[str, float], count: int) -> dict[str, float]:
    """The entities with the `count` best scores, and those that tie with the last."""
    best = sorted(fused.values(), reverse=True)
    least = best[count - 1] if len(best) >= count else 0.0
    return {one: value for one, value in fused.items() if value >= least}


def _rows_of(plan: pn.Rank, scores: dict[str, float], source: _Source, build: Build) -> Rel:
    rel = build.plan(source.scan, None)
    identity = f"{source.scan.variable}.{ID}"
    if len(scores) <= _LISTED_IDS_MAX:
        values = ", ".join(build.bind(pa.scalar(one, pa.utf8())) for one in scores)
        rel = build.where(rel, f"{quoted(identity)} IN ({values})" if scores else "FALSE")
    one = build.fresh()
    table = pa.table({one: pa.array(list(scores), pa.utf8()), plan.name: pa.array(list(scores.values()), pa.float64())})
    found = build.given(table, (one, plan.name))
    text = (
        f"SELECT {listed(rel.columns, rel.name)}, {found.column(plan.name)} FROM {quoted(rel.name)} "
        f"JOIN {quoted(found.name)} ON {rel.column(identity)} = {found.column(one)}"
    )
    return build.add(text, (rel, found), plan.schema.order)
