"""`@card`: how many edges leave a source. Only sources whose edges change are counted, and only if they still exist."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base.catalog import ID, SRC, Cardinality, EdgeType
from omnigraph_sql.base.errors import ConstraintViolation
from omnigraph_sql.engine.write.validate_text import shown
from omnigraph_sql.engine.write.validate_view import GraphView, TableView, without


def cardinality_violations(graph: GraphView, edge: EdgeType) -> Iterator[ConstraintViolation]:
    """Sources of new edges, of edges that move away and of edges that go, with too few or too many edges."""
    edges, bounds = graph.of(edge), edge.cardinality
    if edges.changes is None or bounds == Cardinality():
        return
    touched = edges.former(SRC)
    if edges.rows is not None:
        touched = pa.concat_arrays([edges.rows[SRC].unique().drop_null(), touched]).unique()
    sources = without(touched, graph.node(edge.source).missing(touched))
    if not len(sources):
        return
    counts = _counts(edges, sources)
    most = np.iinfo(np.int64).max if bounds.maximum is None else bounds.maximum
    for place in np.flatnonzero((counts < bounds.minimum) | (counts > most)):
        yield cardinality_violation(edge, sources[int(place)].as_py(), int(counts[place]))


def _counts(edges: TableView, sources: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Edges per source afterwards; each id counts once, since the last image stands for it."""
    counts = np.zeros(len(sources), np.int64)
    kept = (piece[SRC] for piece in edges.committed_with([ID, SRC], SRC, sources))
    for column in (*([edges.rows[SRC]] if edges.rows is not None else []), *kept):
        codes = pc.index_in(column, value_set=sources)
        found = codes.drop_null().to_numpy()
        counts += np.bincount(found, minlength=len(sources))
    return counts


def cardinality_violation(edge: EdgeType, source: str, count: int) -> ConstraintViolation:
    """The refusal of a source with so many edges."""
    bounds = edge.cardinality
    if count < bounds.minimum:
        wanted = f"at least {bounds.minimum} {'is' if bounds.minimum == 1 else 'are'} required"
    else:
        wanted = f"at most {bounds.maximum} {'is' if bounds.maximum == 1 else 'are'} allowed"
    edges = f"{count} {edge.name} {'edge' if count == 1 else 'edges'}"
    return ConstraintViolation(
        f"{edge.source} {shown(source)} would have {edges}, {wanted}",
        rule="card",
        type=edge.name,
        properties=(SRC,),
        value=count,
        ids=(source,),
    )
