"""Query graph → plan: where to start, which step next, and every predicate as early as its columns exist."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph_sql.base.catalog import DST, ID, SRC, NodeType, TableType
from omnigraph_sql.base.expr import Call, Column, Compare, Expr, InList, Literal, OuterColumn, Param, column_names, walk
from omnigraph_sql.base.limits import FRONTIER_NODES_MAX
from omnigraph_sql.base.types import STRING
from omnigraph_sql.bind.bound import JoinKind
from omnigraph_sql.plan.node import SUBQUERIES
from omnigraph_sql.plan.nodes import (
    AntiJoin,
    Argument,
    Expand,
    Filter,
    Join,
    OneRow,
    Plan,
    Scan,
    SemiJoin,
    arguments,
)
from omnigraph_sql.plan.region import ANONYMOUS, Leaf, Link, Opaque, Region, Table, conjunction, variable_of
from omnigraph_sql.plan.rewrite import VOLATILE, is_one_way, is_volatile, substitute

_WHOLE_KEY, _KEY_LIST, _EQUALITY, _FILTERED, _UNFILTERED = range(5)


@dataclass(slots=True)
class _Part:
    """A finished component, or a join of several."""

    plan: Plan
    order: tuple[int, bool, str]


@dataclass(slots=True, eq=False)
class _Waiting:
    """A predicate that waits for its columns."""

    part: Expr
    names: frozenset[str]
    volatile: bool


@dataclass(slots=True, eq=False)
class _Check:
    """An anti or semi join that waits for the columns its inner plan takes."""

    anti: bool
    inner: Plan
    taken: list[str]

    def over(self, plan: Plan) -> Plan:
        return AntiJoin(plan, self.inner) if self.anti else SemiJoin(plan, self.inner)


class _Builder:
    def __init__(self, region: Region, types: dict[str, NodeType]) -> None:
        self.types = types
        self.tables = {leaf.variable: leaf for leaf in region.leaves if isinstance(leaf, Table)}
        self.leaves = region.leaves
        self.links = list(region.links)
        for link in self.links:
            # Without a path to write down, or loops at the far end to count, an undirected step has no beginning.
            endless = link.undirected and link.path is None and not is_one_way(link.walk, link.hops)
            if endless and link.source > link.target:
                link.source, link.target = link.target, link.source
        self.edges = {link.variable: link for link in region.links if link.variable is not None}
        self.filters: dict[str, list[Expr]] = {}
        self.pending: list[_Waiting] = []
        self.checks = [_Check(anti, inner, [f.name for f in arguments(inner)]) for anti, inner in region.checks]
        self.closed: dict[str, int] = {}
        ends = self._edge_ends()
        for part in region.conjuncts:
            self._place(substitute(part, ends) if ends else part)
        self._widen()
        self.ranks = {variable: self._narrowed(leaf) for variable, leaf in self.tables.items()}

    def _edge_ends(self) -> dict[str, Expr]:
        """The node at either end of a step, by the column of the edge that holds its id."""
        found: dict[str, Expr] = {}
        for link in self.links:
            if link.variable is not None and not link.undirected:
                for own, node in ((SRC, link.source), (DST, link.target)):
                    found[f"{link.variable}.{own}"] = Column(f"{node}.{ID}", STRING, False)
        return found

    def _place(self, part: Expr) -> None:
        """One-variable predicates belong to the variable's scan or step; the others wait for their columns."""
        names = column_names(part)
        variables = {variable_of(name) for name in names}
        owner = next(iter(variables)) if len(variables) == 1 else None
        owned = owner is not None and (owner in self.tables or owner in self.edges)
        if owner is not None and owned and all(_is_stored(e) for e in walk(part)):
            self.filters.setdefault(owner, []).append(part)
        else:
            self.pending.append(_Waiting(part, names, is_volatile(part)))

    def _widen(self) -> None:
        """Leaves produce what waiting predicates, checks and steps read."""
        wanted = {name for waiting in self.pending for name in waiting.names}
        wanted |= {name for check in self.checks for name in check.taken}
        wanted |= {f"{end}.{ID}" for link in self.links for end in (link.source, link.target)}
        for name in wanted:
            variable, _, column = name.rpartition(".")
            if variable in self.tables:
                self.tables[variable].columns.add(column)
            elif variable in self.edges:
                self.edges[variable].columns.add(column)

    def build(self) -> Plan:
        parts = [self._component(leaves) for leaves in self._components()]
        parts.sort(key=lambda part: part.order)
        plan: Plan = parts[0].plan if parts else OneRow()
        for number in self._join_order([part.plan for part in parts]):
            plan = self._join(plan, parts[number].plan)
        if self.pending:
            plan = self._filter(plan, self.pending)
        for check in self.checks:
            # Those that take no column are the same for every row and come last.
            plan = check.over(plan)
        return plan

    def _join_order(self, plans: list[Plan]) -> list[int]:
        """Parts after the first: each time the first one that a predicate connects, else the first of the rest."""
        wanted = {name for waiting in self.pending for name in waiting.names}
        home = {f.name: i for i, plan in enumerate(plans) for f in plan.schema.fields if f.name in wanted}
        spans = [
            {home[name] for name in waiting.names}
            for waiting in self.pending
            if not waiting.volatile and waiting.names <= home.keys()
        ]
        order: list[int] = []
        joined, rest = {0}, list(range(1, len(plans)))
        while rest:
            spans = [span for span in spans if not span <= joined]
            near = {min(span - joined) for span in spans if span & joined and len(span - joined) == 1}
            number = min(near) if near else rest[0]
            rest.remove(number)
            joined.add(number)
            order.append(number)
        return order

    def _components(self) -> list[list[Leaf]]:
        """Leaves connected by links, in order of their first leaf."""
        home: dict[int, list[Leaf]] = {id(leaf): [leaf] for leaf in self.leaves}
        by_variable = {v: leaf for leaf in self.leaves for v in _variables(leaf)}
        for link in self.links:
            left, right = home[id(by_variable[link.source])], home[id(by_variable[link.target])]
            if left is not right:
                left += right
                for leaf in right:
                    home[id(leaf)] = left
        place = {id(leaf): i for i, leaf in enumerate(self.leaves)}
        groups = {id(group): group for group in home.values()}
        for group in groups.values():
            group.sort(key=lambda leaf: place[id(leaf)])
        return sorted(groups.values(), key=lambda group: place[id(group[0])])

    def _component(self, leaves: list[Leaf]) -> _Part:
        start = min(leaves, key=self._order)
        bound = set(_variables(start))
        plan = self._ready(start.plan if isinstance(start, Opaque) else self._scan(start))
        own = {v for leaf in leaves for v in _variables(leaf)}
        links = sorted((link for link in self.links if link.source in own), key=_link_order)
        while links:
            link = min((k for k in links if k.source in bound or k.target in bound), key=lambda k: self._gain(k, bound))
            links.remove(link)
            plan = self._ready(self._step(plan, link, bound))
            bound |= {link.source, link.target}
        return _Part(plan, self._order(start))

    def _order(self, leaf: Leaf) -> tuple[int, bool, str]:
        """The best filtered leaf first; among equals names decide, so that the order of the text does not."""
        if isinstance(leaf, Opaque):
            place = next(i for i, other in enumerate(self.leaves) if other is leaf)
            return self._rank(leaf), False, f"{place:04}"
        return self._rank(leaf), leaf.variable.startswith(ANONYMOUS), leaf.variable

    def _gain(self, link: Link, bound: set[str]) -> int:
        """A step that closes a circle comes first, then the one to the best filtered node."""
        if link.source in bound and link.target in bound:
            return -1
        target = link.target if link.source in bound else link.source
        return self._rank(self.tables[target])

    def _rank(self, leaf: Leaf) -> int:
        """How well the leaf is narrowed down; lower is better."""
        if isinstance(leaf, Opaque):
            return -1 if isinstance(leaf.plan, Argument) else _UNFILTERED
        return self.ranks[leaf.variable]

    def _narrowed(self, leaf: Table) -> int:
        filters = self.filters.get(leaf.variable, ())
        fixed = {name for part in filters if (name := _fixed(part)) is not None}
        if _is_key(leaf.type, fixed):
            return _WHOLE_KEY
        if _is_key(leaf.type, fixed | {name for part in filters if (name := _listed(part)) is not None}):
            return _KEY_LIST
        return _EQUALITY if fixed else _FILTERED if filters else _UNFILTERED

    def _scan(self, leaf: Table) -> Scan:
        condition = conjunction(self.filters.get(leaf.variable, []))
        return Scan(leaf.type, leaf.variable, _ordered(leaf.type, leaf.columns), condition, leaf.at)

    def _step(self, plan: Plan, link: Link, bound: set[str]) -> Plan:
        if link.source in bound and link.target in bound:
            return self._close(plan, link)
        onward = link.source in bound
        source, target = (link.source, link.target) if onward else (link.target, link.source)
        leaf = self.tables[target]
        assert isinstance(leaf.type, NodeType)
        condition = conjunction(self.filters.get(target, []))
        columns = _ordered(leaf.type, leaf.columns)
        return self._expand(plan, link, source, (target, leaf.type, columns), condition, onward)

    def _close(self, plan: Plan, link: Link) -> Plan:
        """Both ends exist already: step to a temporary node and require that it is the other end."""
        step = f"{ANONYMOUS}{link.source}.{link.edge.name}.{link.target}"
        self.closed[step] = self.closed.get(step, 0) + 1
        temporary = f"{step}.{self.closed[step]}"
        leaf = self.tables.get(link.target)
        of = leaf.type if leaf is not None else self.types[link.edge.target]
        assert isinstance(of, NodeType)
        plan = self._expand(plan, link, link.source, (temporary, of, (ID,)), None, True)
        same = Compare("=", Column(f"{temporary}.{ID}", STRING, False), Column(f"{link.target}.{ID}", STRING, False))
        self.pending.append(_Waiting(same, column_names(same), False))
        return plan

    def _expand(
        self,
        plan: Plan,
        link: Link,
        source: str,
        target: tuple[str, NodeType, tuple[str, ...]],
        condition: Expr | None,
        onward: bool,
    ) -> Expand:
        edge_filter = None if link.variable is None else conjunction(self.filters.get(link.variable, []))
        variable, of, columns = target
        return Expand(
            plan,
            link.edge,
            source,
            variable,
            of,
            "both" if link.undirected else "out" if onward else "in",
            link.walk,
            link.hops,
            link.variable,
            _ordered(link.edge, link.columns),
            columns,
            edge_filter,
            condition,
            link.path,
            link.path_columns,
            link.undirected and not onward and (link.path is not None or is_one_way(link.walk, link.hops)),
            link.at,
        )

    def _ready(self, plan: Plan) -> Plan:
        """Apply every waiting predicate and check whose columns now exist; what is volatile waits for all rows."""
        if self.pending:
            names = plan.schema.names
            ready = [w for w in self.pending if w.names and not w.volatile and w.names <= names]
            if ready:
                plan = self._filter(plan, ready)
        for check in list(self.checks):
            if check.taken and all(name in plan.schema for name in check.taken):
                self.checks.remove(check)
                plan = check.over(plan)
        return plan

    def _take(self, parts: list[_Waiting]) -> Expr | None:
        """The conjunction of waiting predicates, which wait no longer."""
        self.pending = [waiting for waiting in self.pending if waiting not in parts]
        return conjunction([waiting.part for waiting in parts])

    def _filter(self, plan: Plan, parts: list[_Waiting]) -> Plan:
        condition = self._take(parts)
        return plan if condition is None else Filter(plan, condition)

    def _join(self, left: Plan, right: Plan) -> Plan:
        on = self._take([waiting for waiting in self.pending if _spans(waiting, left, right)])
        return self._ready(Join(JoinKind.CROSS if on is None else JoinKind.INNER, left, right, on))


def _spans(waiting: _Waiting, left: Plan, right: Plan) -> bool:
    names, first, second = waiting.names, left.schema, right.schema
    if waiting.volatile or not all(name in first or name in second for name in names):
        return False
    return any(name in first for name in names) and any(name in second for name in names)


def _is_stored(part: Expr) -> bool:
    """Whether storage can ask it: no correlation, no sub-query, the same answer whenever it is asked."""
    if isinstance(part, Call):
        return part.function not in VOLATILE
    return not isinstance(part, (*SUBQUERIES, OuterColumn))


def _link_order(link: Link) -> tuple[str, str, str]:
    return link.source, link.target, link.edge.name


def _variables(leaf: Leaf) -> tuple[str, ...]:
    """Node variables a step may start from."""
    if isinstance(leaf, Table):
        return (leaf.variable,)
    if isinstance(leaf.plan, Argument):
        return tuple(variable_of(f.name) for f in leaf.plan.fields if f.name.endswith(f".{ID}"))
    return ()


def _ordered(of: TableType, columns: set[str]) -> tuple[str, ...]:
    return tuple(name for name in of.schema.order if name in columns)


def _fixed(part: Expr) -> str | None:
    """The column that an equality with a constant or parameter pins down."""
    if not (isinstance(part, Compare) and part.op == "="):
        return None
    for one, other in ((part.left, part.right), (part.right, part.left)):
        if isinstance(one, Column) and isinstance(other, Literal | Param):
            return one.name.rpartition(".")[2]
    return None


def _listed(part: Expr) -> str | None:
    """The column that a short list of constants and parameters pins down."""
    match part:
        case InList(operand=Column(name=name), items=items, negated=False) if len(items) <= FRONTIER_NODES_MAX:
            return name.rpartition(".")[2] if all(isinstance(item, Literal | Param) for item in items) else None
        case _:
            return None


def _is_key(of: TableType, fixed: set[str]) -> bool:
    return ID in fixed or bool(of.key and fixed.issuperset(of.key))


def build(region: Region, types: dict[str, NodeType]) -> Plan:
    """The plan of the region; every column its leaves promise is in the result."""
    return _Builder(region, types).build()
