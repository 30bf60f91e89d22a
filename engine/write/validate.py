"""The rules of the schema over what is about to change; the first violation is raised before anything is durable.

One evaluator for mutations, loads and merges. Values come first, then unique tuples of nodes, then for each edge type
unique tuples, endpoints and cardinality. What is committed is read at the base of the attempt and only as far as the
changes make it necessary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from omnigraph_sql.base.catalog import Catalog
from omnigraph_sql.base.errors import ConstraintViolation
from omnigraph_sql.engine.values import Snapshot
from omnigraph_sql.engine.world import World
from omnigraph_sql.engine.write.staging import TableChanges, together
from omnigraph_sql.engine.write.validate_cardinality import cardinality_violations
from omnigraph_sql.engine.write.validate_endpoints import endpoint_violations
from omnigraph_sql.engine.write.validate_unique import unique_violations
from omnigraph_sql.engine.write.validate_values import value_violations
from omnigraph_sql.engine.write.validate_view import GraphView


def validate(world: World, base: Snapshot, catalog: Catalog, changes: Sequence[TableChanges]) -> None:
    """Raise ConstraintViolation for the first rule that the changed graph would break."""
    for violation in violations(world, base, catalog, changes):
        raise violation


def violations(
    world: World, base: Snapshot, catalog: Catalog, changes: Sequence[TableChanges]
) -> Iterator[ConstraintViolation]:
    """Every rule that the changed graph would break, found as far as the caller asks."""
    graph = GraphView(world, base, catalog, changes)
    for table in catalog.tables():
        batches = graph.of(table).batches
        # What does not even have the table's types is looked at as it is, so that it can be refused.
        alike = len(batches) > 1 and all(batch.schema.equals(batches[0].schema) for batch in batches)
        for batch in (together(batches),) if alike else batches:
            yield from value_violations(table, batch)
    yield from violations_between_rows(graph)


def violations_between_rows(graph: GraphView) -> Iterator[ConstraintViolation]:
    """The rules about several rows at once. Batches need only hold ids, ends and members of unique tuples."""
    for node in graph.changed_nodes():
        yield from unique_violations(graph.of(node))
    for edge in graph.catalog.edges:
        yield from unique_violations(graph.of(edge))
        yield from endpoint_violations(graph, edge)
        yield from cardinality_violations(graph, edge)
