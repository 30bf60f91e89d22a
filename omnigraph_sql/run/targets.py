"""Which branch a mutation changes, and what else it reads."""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph_sql.base.names import PointKind
from omnigraph_sql.base.travel import ReadPoint
from omnigraph_sql.plan.explain import children
from omnigraph_sql.plan.mutations import Delete, Insert, Merge, Update, Upsert
from omnigraph_sql.plan.node import Plan

_MUTATIONS = (Insert, Upsert, Update, Delete, Merge)


def target_branch(plan: Plan) -> str | None:
    """The branch that a mutation names for its table; None for that of the session."""
    if not isinstance(plan, _MUTATIONS) or plan.at.kind is not PointKind.BRANCH or plan.at.branch is None:
        return None
    return plan.at.branch.text


def reads_session(plan: Plan) -> bool:
    """Whether a mutation reads a table without a branch or a point in history, which is one of the session's branch."""
    return any(isinstance(at, ReadPoint) and at.kind is PointKind.HEAD for at in _points(plan))


def _points(plan: Plan) -> Iterator[object]:
    for _, below in children(plan):
        yield getattr(below, "at", None)
        yield from _points(below)
