"""EXPLAIN: the logical plan; with ANALYZE, then what was done to carry it out, with rows and times."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from omnigraph_sql.plan.explain import explain, explain_json
from omnigraph_sql.plan.node import Plan
from omnigraph_sql.run.read import read
from omnigraph_sql.run.scene import Scene


def explained(plan: Plan, form: str = "text") -> list[str]:
    """The plan line by line, or as one JSON document."""
    return [_document(explain_json(plan))] if form == "json" else explain(plan).splitlines()


def analyzed(plan: Plan, scene: Scene, form: str = "text") -> list[str]:
    """Run a read to its end and tell how it went. Questions that are answered from an index, a count or the kept
    adjacency never reach the query engine, and have no steps of its own to show."""
    clock = scene.world.seams.clock
    begun = clock.now()
    physical: list[Any] = []
    rows = sum(batch.num_rows for batch in read(plan, scene, physical.append))
    took = (clock.now() - begun).total_seconds() * 1000
    if form == "json":
        done = [line for one in physical for line in _steps(one, 0)]
        return [_document({"plan": explain_json(plan), "rows": rows, "milliseconds": round(took, 1), "engine": done})]
    lines = [*explained(plan), "", f"{rows} {'row' if rows == 1 else 'rows'} in {took:.1f} ms"]
    if not physical:
        return [*lines, "answered without the query engine"]
    return [*lines, *(line for one in physical for line in _steps(one, 0))]


def _document(value: dict[str, object]) -> str:
    return json.dumps(value, ensure_ascii=False)


def _steps(step: Any, depth: int) -> Iterator[str]:
    """A step of the query engine and those below it, each with the rows it gave and the time it worked."""
    told = step.metrics()
    facts = ""
    if told is not None and told.output_rows is not None:
        facts = f"  rows={told.output_rows}"
        if told.elapsed_compute is not None:
            facts += f"  time={told.elapsed_compute / 1_000_000:.2f} ms"
    yield f"{'  ' * depth}{' '.join(step.display().split())}{facts}"
    for below in step.children():
        yield from _steps(below, depth + 1)
