"""Steps along edges: one hop is a join with the edges, or with those at a few nodes; longer ones walk in memory."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base.catalog import DST, ID, SRC
from omnigraph_sql.bind.bound import ONE_HOP, Walk
from omnigraph_sql.plan import nodes as pn
from omnigraph_sql.run.ground import Ground
from omnigraph_sql.run.held import joined
from omnigraph_sql.run.joins import pairs_of
from omnigraph_sql.run.narrow import edges_at, is_narrow, nodes_with, rows_in_memory
from omnigraph_sql.run.relation import Build, Domain, Rel, listed, quoted
from omnigraph_sql.run.sources import only, table_rows


def expand(plan: pn.Expand, build: Build, domain: Domain | None) -> Rel:
    rel = build.plan(plan.input, domain)
    ends: pa.Array | None = None
    ground = Ground(build, plan.at)
    one_hop = plan.hops == ONE_HOP and plan.walk in (Walk.EDGES, Walk.NEIGHBORS) and not plan.path_columns
    if one_hop:
        near = None
        if domain is None and not build.careful and rel.all and is_narrow(plan.input):
            rel = build.kept(rel)
            near = edges_at(plan, ground, _sources(plan, rel, build))
            ends = _ends(plan, near) if near is not None else None
        start, end, links = _links(plan, build, domain, near)
    else:
        from omnigraph_sql.run.traverse import walked

        rel = build.steady(rel)
        start, end, links = walked(plan, rel, build)
    left = f"{plan.source}.{ID}"
    rel = pairs_of(build, "JOIN", rel, links, [f"{rel.column(left)} = {links.column(start)}"])
    rel = _at_targets(plan, rel, end, build, domain, (ground, ends))
    return only(build, rel, plan.schema.order)


def _sources(plan: pn.Expand, rel: Rel, build: Build) -> pa.Array:
    name = f"{plan.source}.{ID}"
    return pc.drop_null(pc.unique(joined(build.fetch(rel, (name,))[name].cast(pa.utf8()))))


def _ends(plan: pn.Expand, edges: pa.Table) -> pa.Array:
    """The nodes that some edges can lead to."""
    names = {"out": (DST,), "in": (SRC,), "both": (SRC, DST)}[plan.direction]
    return pc.unique(pa.concat_arrays([joined(edges[name]) for name in names]))


def _links(plan: pn.Expand, build: Build, domain: Domain | None, near: pa.Table | None) -> tuple[str, str, Rel]:
    """Edge rows with the node they are left from and the node they lead to; `near` are those that matter, if known."""
    variable = plan.edge_variable or build.fresh()
    columns = tuple(dict.fromkeys((SRC, DST, *plan.edge_columns)))
    if near is None:
        edges = table_rows(build, plan.edge, variable, columns, plan.edge_filter, plan.at, domain)
    else:
        edges = rows_in_memory(build, near, variable, columns, plan.edge_filter, domain)
    source, target = (f"{variable}.{c}" for c in (SRC, DST))
    start, end = build.fresh(), build.fresh()
    kept = tuple(f"{variable}.{c}" for c in plan.edge_columns)

    def seen(first: str, second: str, where: str = "") -> str:
        parts = [f"{quoted(first)} AS {quoted(start)}", f"{quoted(second)} AS {quoted(end)}"]
        rest = listed((*kept, *edges.carried))
        return f"SELECT {', '.join([*parts, *([rest] if rest else [])])} FROM {quoted(edges.name)}{where}"

    if plan.direction == "out":
        text = seen(source, target)
    elif plan.direction == "in":
        text = seen(target, source)
    else:
        loops = f" WHERE {quoted(source)} <> {quoted(target)}"
        text = f"{seen(source, target)} UNION ALL {seen(target, source, loops)}"
    links = build.add(text, (edges,), (start, end, *kept), edges.carried)
    if plan.walk is Walk.NEIGHBORS:
        shown = listed(links.all)
        links = build.add(f"SELECT DISTINCT {shown} FROM {quoted(links.name)}", (links,), links.columns, links.carried)
    return start, end, links


def _at_targets(
    plan: pn.Expand, rel: Rel, end: str, build: Build, domain: Domain | None, known: tuple[Ground, pa.Array | None]
) -> Rel:
    """The rows with the columns of the node they ended at; `known` are the nodes they can end at, where those are."""
    if plan.target_filter is None and set(plan.target_columns) <= {ID}:
        names = [f"{plan.target}.{c}" for c in plan.target_columns]
        return build.with_columns(rel, dict.fromkeys(names, quoted(end)))
    columns = tuple(dict.fromkeys((ID, *plan.target_columns)))
    ground, ends = known
    nodes = nodes_with(plan, columns, build, ground, ends, domain) if ends is not None else None
    if nodes is None:
        nodes = table_rows(build, plan.target_type, plan.target, columns, plan.target_filter, plan.at, domain)
    key = f"{plan.target}.{ID}"
    return pairs_of(build, "JOIN", rel, nodes, [f"{rel.column(end)} = {nodes.column(key)}"])
