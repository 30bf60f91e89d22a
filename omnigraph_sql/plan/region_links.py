"""Edge tables that are joined at their ends become links of the query graph, as if a pattern had been written."""

from __future__ import annotations

from omnigraph_sql.base.catalog import DST, ID, SRC, EdgeType, NodeType
from omnigraph_sql.base.expr import Column, Compare, Expr, column_names
from omnigraph_sql.base.types import STRING
from omnigraph_sql.bind.bound import ONE_HOP, Walk
from omnigraph_sql.plan.nodes import Argument
from omnigraph_sql.plan.region import ANONYMOUS, Link, Opaque, Region, Table, is_temporary, variable_of


class _Classes:
    """Columns known to hold the same id; `kinds` is the node type an id belongs to, None where anything may stand."""

    def __init__(self) -> None:
        self.parent: dict[str, str] = {}
        self.kinds: dict[str, object] = {}

    def add(self, column: str, kind: object) -> None:
        if column not in self.parent:
            self.parent[column] = column
            self.kinds[column] = kind

    def find(self, column: str) -> str:
        while self.parent[column] != column:
            column = self.parent[column]
        return column

    def union(self, left: str, right: str) -> None:
        first, second = self.find(left), self.find(right)
        if first != second:
            self.parent[second] = first

    def fits(self, left: str, right: str) -> bool:
        one, other = self.kinds[left], self.kinds[right]
        return one is None or other is None or one == other

    def members(self) -> dict[str, list[str]]:
        groups: dict[str, list[str]] = {}
        for column in self.parent:
            groups.setdefault(self.find(column), []).append(column)
        return groups


def link_edges(region: Region, types: dict[str, NodeType]) -> None:
    """Turn edge tables with a joined end into links, and temporary nodes into what they were compared with.

    `types` gives the node types of edge ends that no leaf stands for.
    """
    _merge_temporaries(region)
    edges = {leaf.variable: leaf for leaf in region.leaves if _is_edge(leaf) and isinstance(leaf, Table)}
    if not edges:
        return
    classes = _classes(region, edges)
    equalities = [part for part in region.conjuncts if _joins(part, classes)]
    for part in equalities:
        classes.union(*_sides(part))
    groups = classes.members()
    joined = {r for group in groups.values() if len(group) > 1 for c in group if (r := variable_of(c)) in edges}
    joined = {r for r in joined if all(end in types for end in _ends(edges[r]))}
    if not joined:
        return
    touched = {key for key, group in groups.items() if any(variable_of(c) in joined for c in group)}
    covered = [p for p in equalities if classes.find(_sides(p)[0]) in touched]
    region.conjuncts = [p for p in region.conjuncts if p not in covered]
    stands = {key: _stand_in(groups[key], region, edges, joined, types, classes) for key in touched}
    leaves = region.leaves
    region.leaves = [leaf for leaf in leaves if not (isinstance(leaf, Table) and leaf.variable in joined)]
    for leaf in leaves:
        if isinstance(leaf, Table) and leaf.variable in joined:
            region.links.append(_link(leaf, stands, classes))


def _is_edge(leaf: object) -> bool:
    return isinstance(leaf, Table) and isinstance(leaf.type, EdgeType)


def _ends(leaf: Table) -> tuple[str, str]:
    assert isinstance(leaf.type, EdgeType)
    return leaf.type.source, leaf.type.target


def _link(leaf: Table, stands: dict[str, str], classes: _Classes) -> Link:
    assert isinstance(leaf.type, EdgeType)
    source = stands[classes.find(f"{leaf.variable}.{SRC}")]
    target = stands[classes.find(f"{leaf.variable}.{DST}")]
    return Link(leaf.type, source, target, Walk.EDGES, ONE_HOP, False, leaf.variable, leaf.columns, None, (), leaf.at)


def _id_classes(region: Region) -> _Classes:
    classes = _Classes()
    for leaf in region.leaves:
        if isinstance(leaf, Opaque) and isinstance(leaf.plan, Argument):
            for f in leaf.plan.fields:
                if f.name.endswith(f".{ID}"):
                    classes.add(f.name, None)
        elif isinstance(leaf, Table) and isinstance(leaf.type, NodeType):
            classes.add(f"{leaf.variable}.{ID}", (leaf.type.name, leaf.at))
    return classes


def _classes(region: Region, edges: dict[str, Table]) -> _Classes:
    classes = _id_classes(region)
    for leaf in edges.values():
        source, target = _ends(leaf)
        classes.add(f"{leaf.variable}.{SRC}", (source, leaf.at))
        classes.add(f"{leaf.variable}.{DST}", (target, leaf.at))
    for link in region.links:
        if link.variable is not None and not link.undirected:
            for own, end, kind in ((SRC, link.source, link.edge.source), (DST, link.target, link.edge.target)):
                classes.add(f"{link.variable}.{own}", (kind, link.at))
                if f"{end}.{ID}" in classes.parent:
                    classes.union(f"{end}.{ID}", f"{link.variable}.{own}")
    return classes


def _sides(part: Expr) -> tuple[str, str]:
    assert isinstance(part, Compare)
    assert isinstance(part.left, Column)
    assert isinstance(part.right, Column)
    return part.left.name, part.right.name


def _joins(part: Expr, classes: _Classes) -> bool:
    """Whether the predicate equates two ids that may stand for the same node."""
    if not (isinstance(part, Compare) and part.op == "="):
        return False
    if not (isinstance(part.left, Column) and isinstance(part.right, Column)):
        return False
    left, right = _sides(part)
    return left in classes.parent and right in classes.parent and classes.fits(left, right)


def _stand_in(
    group: list[str],
    region: Region,
    edges: dict[str, Table],
    joined: set[str],
    types: dict[str, NodeType],
    classes: _Classes,
) -> str:
    """The node variable of the class: a known one, or a new anonymous node. Equalities it does not cover come back."""
    known = [c for c in group if c.endswith(f".{ID}")]
    known.sort(key=lambda c: classes.kinds[c] is not None)
    ends = sorted(c for c in group if variable_of(c) in joined)
    loose = [c for c in group if c not in ends and not c.endswith(f".{ID}") and variable_of(c) in edges]
    if known:
        variable = variable_of(known[0])
    else:
        edge = edges[variable_of(ends[0])]
        variable = f"{ANONYMOUS}{ends[0]}"
        of = types[_ends(edge)[0 if ends[0].endswith(f".{SRC}") else 1]]
        region.leaves.append(Table(variable, of, {ID}, edge.at))
    for other in (*known[1:], *loose):
        region.conjuncts.append(Compare("=", _id(f"{variable}.{ID}"), _id(other)))
    return variable


def _id(column: str) -> Column:
    return Column(column, STRING, False)


def _merge_temporaries(region: Region) -> None:
    """An anonymous node that must equal another one is that other one."""
    tables = {leaf.variable: leaf for leaf in region.leaves if isinstance(leaf, Table)}
    if not any(map(is_temporary, tables)):
        return
    classes = _id_classes(region)
    order = list(tables)
    # Renaming changes later conjuncts, so each is looked at in its current form.
    for number in range(len(region.conjuncts) - 1, -1, -1):
        part = region.conjuncts[number]
        if not _joins(part, classes):
            continue
        left, right = map(variable_of, _sides(part))
        temporary = max((v for v in (left, right) if is_temporary(v) and v in tables), key=order.index, default=None)
        if temporary is None:
            continue
        other = left if temporary == right else right
        if other not in tables and _reads_more_than_id(region, temporary):
            continue
        del region.conjuncts[number]
        _absorb(region, tables, temporary, other)


def _reads_more_than_id(region: Region, variable: str) -> bool:
    names = (name for part in region.conjuncts for name in column_names(part))
    return any(variable_of(name) == variable and name != f"{variable}.{ID}" for name in names)


def _absorb(region: Region, tables: dict[str, Table], temporary: str, other: str) -> None:
    region.rename(temporary, other)
    gone = tables.pop(temporary)
    if other in tables:
        tables[other].columns |= gone.columns
    region.leaves = [leaf for leaf in region.leaves if leaf is not gone]
