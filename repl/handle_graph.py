"""Commands about the graph: its tables, functions, branches and commits."""

from __future__ import annotations

from typing import Any, Final

from omnigraph_sql.base.catalog import (
    Catalog,
    Check,
    Constraint,
    EdgeType,
    Index,
    Key,
    NodeType,
    Range,
    TableType,
    Unique,
)
from omnigraph_sql.base.errors import DataError
from omnigraph_sql.bind.suggest import closest
from omnigraph_sql.repl.knowledge import quoted
from omnigraph_sql.repl.shell import Shell
from omnigraph_sql.repl.work import Order, Piece

_COMMITS_SHOWN: Final = 10


def show_sql(shell: Shell, text: str) -> None:
    """The rows of a statement the shell writes itself; they do not become `_`."""
    answer = shell.with_graph(lambda work: work.run(Order(Piece(text, 0, "sql"), {})))
    if answer.table is not None:
        shell.show_table(answer.table, form="box")


def describe(shell: Shell, name: str) -> None:
    if not name:
        show_sql(shell, "SHOW TABLES")
        return
    table = _table(shell, name)
    if isinstance(table, EdgeType):
        shell.talk(f"edge {table.name}: {table.source} → {table.target}")
    else:
        shell.talk(f"node {table.name}")
    show_sql(shell, f"DESCRIBE {quoted(table.name)}")


def describe_more(shell: Shell, name: str) -> None:
    if not name:
        catalog = shell.with_graph(lambda work: work.graph.catalog)
        rows = shell.with_graph(lambda work: {t["name"]: t["rows"] for t in work.graph.stats()["tables"]})
        shown = [
            (t.name, _kind(t), _ends(t), rows.get(f"{_kind(t)}:{t.name}"), ", ".join(t.key), t.description)
            for t in catalog.tables()
        ]
        shell.show_rows(("name", "kind", "ends", "rows", "key", "description"), shown)
        return
    table = _table(shell, name)
    describe(shell, name)
    catalog = shell.knowledge.catalog
    for line in _facts(table, catalog):
        shell.talk(line)


def _facts(table: TableType, catalog: Catalog) -> list[str]:
    lines = [table.description] if table.description else []
    lines += [f"  {rule_text(rule)}" for rule in table.constraints]
    if isinstance(table, NodeType):
        lines += [f"  edge {e.name}: {e.source} → {e.target}" for e in catalog.incident_edges(table.name)]
    elif table.cardinality.minimum or table.cardinality.maximum is not None:
        most = table.cardinality.maximum
        lines.append(f"  @card({table.cardinality.minimum}..{'' if most is None else most})")
    return lines


def rule_text(rule: Constraint) -> str:
    """A rule as the schema language writes it."""
    match rule:
        case Key(properties=names):
            return f"@key({', '.join(names)})"
        case Unique(properties=names):
            return f"@unique({', '.join(names)})"
        case Index(properties=names):
            return f"@index({', '.join(names)})"
        case Range(property=name, low=low, high=high):
            return f"@range({name}, {'' if low is None else low}..{'' if high is None else high})"
        case Check(property=name, pattern=pattern):
            return f'@check({name}, "{pattern}")'


def _table(shell: Shell, name: str) -> TableType:
    """The table of that name. Raises DataError with the nearest one."""
    wanted = name.strip().removesuffix(";").strip('"')
    catalog = shell.with_graph(lambda work: work.graph.catalog)
    found = catalog.tables_like(wanted)
    if not found:
        near = closest(wanted, (t.name for t in catalog.tables()))
        hint = f"did you mean {near}?" if near else "\\d lists the tables"
        raise DataError(f"there is no table {wanted}", hint=hint)
    return next((table for table in found if table.name == wanted), found[0])


def _kind(table: TableType) -> str:
    return "node" if isinstance(table, NodeType) else "edge"


def _ends(table: TableType) -> str | None:
    return f"{table.source} → {table.target}" if isinstance(table, EdgeType) else None


def show_indexes(shell: Shell, name: str) -> None:
    tables = [_table(shell, name)] if name else list(shell.with_graph(lambda work: work.graph.catalog).tables())
    rows = [
        (table.name, ", ".join(rule.properties), "key" if isinstance(rule, Key) else "index")
        for table in tables
        for rule in table.constraints
        if isinstance(rule, Key | Index)
    ]
    shell.show_rows(("table", "columns", "rule"), rows)


def show_functions(shell: Shell, text: str) -> None:
    rows = [entry for entry in shell.knowledge.functions if text.casefold() in entry[0].casefold()]
    shell.show_rows(("function", "kind"), rows)


def branch(shell: Shell, text: str) -> None:
    words = text.split()
    if not words:
        found = shell.with_graph(lambda work: work.graph.branches())
        rows: list[tuple[Any, ...]] = [
            ("*" if b.name == shell.state.branch else "", b.name, b.head, b.created_at) for b in found
        ]
        shell.show_rows(("", "branch", "head", "created_at"), rows)
        return
    if len(words) > 2:
        raise DataError("name a branch, and perhaps the one it starts from", hint="\\branch review/x main")
    start = words[1] if len(words) == 2 else shell.state.branch
    made = shell.with_graph(lambda work: work.graph.create_branch(words[0], from_=start))
    shell.learn_later()
    shell.talk(f"made {made.name} at {made.head}; \\checkout {made.name} works on it")


def checkout(shell: Shell, text: str) -> None:
    if not text:
        raise DataError("name a branch or a commit", hint="\\checkout main, or \\checkout @COMMIT")
    if text.startswith("@"):
        point: str | int = int(text[1:]) if text[1:].isdecimal() else _whole_id(shell, text[1:])
        shell.with_graph(lambda work: work.read_at(point))
    else:
        shell.with_graph(lambda work: work.checkout(text))
    shell.learn_later()
    shell.with_graph(lambda _: None)
    shell.talk(f"on {shell.state.branch} at {shell.state.head}" + (", read only" if shell.state.read_only else ""))


def _whole_id(shell: Shell, part: str) -> str:
    """A commit's id from its beginning or its end, as the toolbar shows it."""
    known = shell.with_graph(lambda work: [c.id for c in work.graph.commits()])
    found = [one for one in known if one.startswith(part.upper()) or one.endswith(part.upper())]
    return found[0] if len(found) == 1 else part


def log(shell: Shell, text: str) -> None:
    if text and not text.isdecimal():
        raise DataError(f"{text!r} is no number of commits", hint="\\log 20")
    limit = int(text) if text else _COMMITS_SHOWN
    found = shell.with_graph(lambda work: work.graph.commits(limit=limit))
    rows = [(c.id, c.created_at, c.actor, c.message) for c in found]
    shell.show_rows(("commit", "created_at", "actor", "message"), rows)
