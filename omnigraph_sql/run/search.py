"""Scores of rows: functions of a row, pending or stored, however it was reached, or the best rows from the store."""

from __future__ import annotations

import pyarrow as pa

from omnigraph_sql.base import expr as ex
from omnigraph_sql.base import limits
from omnigraph_sql.base.catalog import ID, TableType
from omnigraph_sql.base.errors import ExecutionError, InternalError
from omnigraph_sql.base.expr import Column, Expr
from omnigraph_sql.base.travel import ReadPoint
from omnigraph_sql.base.types import VectorType, arrow_type
from omnigraph_sql.engine.write.staging import Mode
from omnigraph_sql.plan import nodes as pn
from omnigraph_sql.plan.node import Plan, walk_plan
from omnigraph_sql.run.relation import Build, Domain, Rel, listed, quoted
from omnigraph_sql.run.search_corpus import corpus_of, stored_corpus
from omnigraph_sql.run.search_embed import point_for, value_of
from omnigraph_sql.run.search_score import Corpus, distances, relevance
from omnigraph_sql.run.search_top import fusion_k, top
from omnigraph_sql.run.search_words import terms_of

# ---- scores -----------------------------------------------------------------------------------------------------


def rank(plan: pn.Rank, build: Build, domain: Domain | None) -> Rel:
    """The rows with their score; null where a ranker has none. Where only the best matter, others may be missing."""
    count = build.wanted.get(id(plan))
    if count is not None and domain is None:
        best = top(plan, count, build, lambda ranker: _score_text(ranker, plan.input, build))
        if best is not None:
            return best
    rel = build.plan(plan.input, domain)
    score = plan.score
    if isinstance(score, ex.Fuse):
        made = _fused(score, plan, rel, build)
    else:
        made = build.with_columns(rel, {plan.name: _score_text(score, plan.input, build)})
    shown = listed((*plan.schema.order, *made.hidden))
    return build.add(f"SELECT {shown} FROM {quoted(made.name)}", (made,), plan.schema.order, made.carried, made.order)


def _score_text(score: Expr, source: Plan, build: Build) -> str:
    match score:
        case ex.Nearest(field=Column(name=name, of=VectorType(dimensions=dimension) as of), query=query):
            point = point_for(value_of(query, build.scene), place_of(source, name)[0], name, dimension, build.scene)
            function = build.function(lambda vectors: distances(vectors, point), arrow_type(of), pa.float64())
            return f"{function}({quoted(name)})"
        case ex.Bm25(field=Column(name=name), query=query):
            terms = terms_of(value_of(query, build.scene), "bm25")
            corpus = corpus_for(source, name, terms, build)
            function = build.function(relevance(terms, corpus), pa.utf8(), pa.float64())
            return f"{function}(arrow_cast({quoted(name)}, 'Utf8'))"
        case _:
            raise InternalError(f"{type(score).__name__} is no ranker")


def place_of(source: Plan, column: str) -> tuple[TableType, ReadPoint]:
    """The table whose rows a variable stands for, and when."""
    variable = column.partition(".")[0]
    for node in walk_plan(source):
        if isinstance(node, pn.Scan) and node.variable == variable:
            return node.type, node.at
        if isinstance(node, pn.Expand) and node.target == variable:
            return node.target_type, node.at
    raise ExecutionError(f"{column} is not a column of a table here", hint="search in the query that reads the table")


def corpus_for(source: Plan, column: str, terms: tuple[str, ...], build: Build) -> Corpus:
    of, at = place_of(source, column)
    member = column.partition(".")[2]
    table, changes = build.committed(of, at)
    if changes is not None and changes.mode is Mode.OVERWRITE:
        return corpus_of(changes.rows()[member], terms)
    return stored_corpus(build.scene.world.tables, table, member, terms)


def _fused(score: ex.Fuse, plan: pn.Rank, rel: Rel, build: Build) -> Rel:
    """Reciprocal ranks: every ranker counts its best entities, whose rows share a rank; none anywhere is no score."""
    k = fusion_k(score, build.scene)
    depth = max(limits.FUSION_DEPTH, build.wanted.get(id(plan), 0))
    rankers = {build.fresh(): ranker for ranker in score.rankers}
    rel = build.with_columns(rel, {name: _score_text(r, plan.input, build) for name, r in rankers.items()})
    parts = f"PARTITION BY {listed(rel.carried)} " if rel.carried else ""
    ranks = {}
    for name, ranker in rankers.items():
        assert isinstance(ranker, ex.Nearest | ex.Bm25)
        assert isinstance(ranker.field, Column)
        best = "ASC" if isinstance(ranker, ex.Nearest) else "DESC"
        entity = quoted(f"{ranker.field.name.partition('.')[0]}.{ID}")
        ranks[build.fresh()] = f"dense_rank() OVER ({parts}ORDER BY {quoted(name)} {best} NULLS LAST, {entity})"
    rel = build.with_columns(rel, ranks)
    counts = [
        f"({quoted(name)} IS NOT NULL AND {quoted(rank)} <= {depth})" for name, rank in zip(rankers, ranks, strict=True)
    ]
    terms = [f"CASE WHEN {c} THEN 1.0 / ({k} + {quoted(r)}) ELSE 0.0 END" for c, r in zip(counts, ranks, strict=True)]
    text = f"CASE WHEN {' OR '.join(counts)} THEN {' + '.join(terms)} END"
    return build.with_columns(rel, {plan.name: text})


def want_best(plan: pn.Limit, count: int | None, offset: int, build: Build) -> None:
    """Note for a ranking right below how many of its best rows a limit lets through, if it is ordered best first."""
    sort = plan.input
    if count is None or not isinstance(sort, pn.Sort) or not isinstance(sort.keys[0].expr, Column):
        return
    key, node = sort.keys[0], sort.input
    while isinstance(node, pn.Rank):
        if node.name == sort.keys[0].expr.name and key.descending is not isinstance(node.score, ex.Nearest):
            build.wanted[id(node)] = count + offset
        node = node.input


def scores_in(plan: Plan) -> frozenset[str]:
    """Those columns of a plan's rows that are scores of its rankers, under the names they have there."""
    match plan:
        case pn.Rank():
            return scores_in(plan.input) | {plan.name}
        case pn.Project():
            inner = scores_in(plan.input)
            return frozenset(n for n, e in plan.items if isinstance(e, Column) and e.name in inner)
        case pn.Filter() | pn.Limit() | pn.Sort() | pn.Window() | pn.Relabel() | pn.Distinct():
            return scores_in(plan.input)
        case _:
            return frozenset()
