"""Candidates inside a SQL text: tables, columns of aliases, edge joins, graph patterns, refs and the words of SQL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from omnigraph_sql.base.catalog import DST, ID, SRC, EdgeType, NodeType
from omnigraph_sql.repl.complete_pattern import pattern_candidates, pattern_tokens
from omnigraph_sql.repl.knowledge import Knowledge, columns_of, literal, quoted
from omnigraph_sql.repl.sql_scope import Statement, Table, statement_at
from omnigraph_sql.repl.suggestion import PATH, Candidate, Wanted
from omnigraph_sql.repl.tokens import Kind, Token, tokens
from omnigraph_sql.repl.vocabulary import CLAUSES, OBJECTS, STATEMENTS, TABLE_FUNCTIONS, TYPES

_TABLE_WORDS: Final = (
    "FROM",
    "JOIN",
    "INTO",
    "UPDATE",
    "TABLE",
    "DESCRIBE",
    "SUMMARIZE",
    "USING",
    "TRUNCATE",
    "OPTIMIZE",
)
_FILE_WORDS: Final = ("COPY", "EXPORT", "IMPORT")


def sql_candidates(text: str, cursor: int, knowledge: Knowledge) -> tuple[Wanted, list[Candidate]]:
    before = tokens(text[:cursor], "sql")
    last = before[-1] if before else None
    if last is not None and last.kind is Kind.STRING and last.open:
        return _inside_string(last, before, knowledge)
    typed = last if last is not None and last.end == cursor and _is_typed(last) else None
    wanted = Wanted(typed.text, typed.start) if typed is not None else Wanted("", cursor)
    if typed is not None and typed.kind is Kind.NUMBER:
        return wanted, []
    statement = statement_at(text, cursor, knowledge)
    if typed is not None and typed.kind is Kind.VARIABLE:
        return wanted, [Candidate(f"${name}", said) for name, said in knowledge.parameters]
    return wanted, list(_candidates(statement))


def _is_typed(token: Token) -> bool:
    return token.kind in (Kind.WORD, Kind.VARIABLE, Kind.NUMBER) or (token.kind is Kind.NAME and token.open)


def _inside_string(last: Token, before: list[Token], knowledge: Knowledge) -> tuple[Wanted, list[Candidate]]:
    inner = Wanted(last.text.lstrip("eEnN")[1:], last.start + last.text.index("'") + 1)
    words = [t.upper for t in before[:-1] if t.kind is Kind.WORD]
    previous = before[-2] if len(before) > 1 else None
    if words and words[0] in _FILE_WORDS:
        return inner, [PATH]
    if words[-2:] == ["AS", "OF"] or (previous is not None and previous.is_mark("=>") and words[-1:] == ["BRANCH"]):
        whole = Wanted(last.text, last.start)
        return whole, list(_refs(knowledge, branches_only=words[-1] == "BRANCH"))
    return inner, []


def _candidates(statement: Statement) -> Iterator[Candidate]:
    before, knowledge = statement.before, statement.knowledge
    if not before:
        yield from (Candidate(word, "statement") for word in STATEMENTS)
        return
    pattern = pattern_tokens(statement)
    if pattern is not None:
        yield from pattern_candidates(statement, pattern)
        return
    last = before[-1]
    if last.is_mark(".") and len(before) > 1 and before[-2].is_name:
        yield from _after_dot(statement, before[-2].name)
    elif last.is_word("OF") and len(before) > 1 and before[-2].is_word("AS"):
        yield from _refs(knowledge)
    elif last.is_word("BRANCH") or _names_branch(before):
        at_point = last.is_mark("=>")
        yield from (Candidate(literal(b) if at_point else quoted(b), "branch") for b in knowledge.branches)
    elif len(before) == 1 and last.upper in OBJECTS:
        yield from (Candidate(word, "") for word in OBJECTS[last.upper])
    elif _wants_table(statement):
        yield from _tables(statement)
    elif last.is_word("ON") and not before[0].is_word("CREATE", "SHOW"):
        yield from _joins(statement)
        yield from _expression(statement)
    elif (listed := _column_list(statement)) is not None:
        yield from listed
    else:
        yield from _expression(statement)


def _names_branch(before: list[Token]) -> bool:
    return len(before) > 1 and before[-1].is_mark("=>") and before[-2].is_word("BRANCH")


def _refs(knowledge: Knowledge, *, branches_only: bool = False) -> Iterator[Candidate]:
    yield from (Candidate(literal(name), "branch", 1) for name in knowledge.branches)
    if not branches_only:
        yield from (Candidate(literal(name), said) for name, said in knowledge.commits)


# ---- tables -----------------------------------------------------------------------------------------------------


def _wants_table(statement: Statement) -> bool:
    last, before = statement.before[-1], statement.before
    if last.is_word("ON"):
        return before[0].is_word("CREATE", "SHOW") and len(before) > 1
    if last.is_word(*_TABLE_WORDS):
        return not (last.is_word("UPDATE") and len(before) > 1 and before[-2].is_word("DO"))
    if last.is_mark(","):
        words = [
            t.upper
            for t, path in zip(before, statement.paths, strict=False)
            if path == statement.path and t.kind is Kind.WORD
        ]
        clause = next(
            (w for w in reversed(words) if w in ("SELECT", "FROM", "WHERE", "GROUP", "ORDER", "SET", "ON")), ""
        )
        return clause == "FROM"
    return last.is_word("COPY", "VACUUM") and len(before) == 1


def _tables(statement: Statement) -> Iterator[Candidate]:
    knowledge, last = statement.knowledge, statement.before[-1]
    near = _neighbours(statement) if last.is_word("JOIN") else frozenset()
    reading = last.is_word("FROM", "JOIN", "USING") or last.is_mark(",")
    if reading:
        yield from (Candidate(quoted(name), "in this statement", 1) for name, _ in statement.named())
    for table in knowledge.catalog.tables():
        said = f"{table.source} → {table.target}" if isinstance(table, EdgeType) else "node"
        yield Candidate(quoted(table.name), said, 1 if table.name in near else 2)
    if reading:
        yield from (Candidate(name, "table", 3) for name, _ in knowledge.tables)
        yield from (Candidate(f"{name}(", "table function", 4) for name in TABLE_FUNCTIONS)


def _neighbours(statement: Statement) -> frozenset[str]:
    """Types that an edge connects with a table of the statement."""
    catalog, near = statement.knowledge.catalog, set[str]()
    for table in statement.visible():
        if catalog.node(table.of or "") is not None:
            near |= {edge.name for edge in catalog.incident_edges(table.of or "")}
        elif (edge := catalog.edge(table.of or "")) is not None:
            near |= {edge.source, edge.target}
    return frozenset(near)


# ---- joins ------------------------------------------------------------------------------------------------------


def _joins(statement: Statement, only: str | None = None) -> Iterator[Candidate]:
    """Conditions that join the table before ON with the others, along edges; with `only`, what follows that alias."""
    place = statement.here
    known = [t for t in statement.visible() if t.place < place and t.of is not None]
    if len(known) < 2:
        return
    used = {
        (a.name, c.name)
        for a, b, c in zip(statement.tokens, statement.tokens[1:], statement.tokens[2:], strict=False)
        if b.is_mark(".")
    }
    new, others = known[-1], known[:-1]
    for other in others:
        for left, left_end, right, right_end in _conditions(statement.knowledge, new, other):
            rank = 1 if (left.alias, left_end) not in used or left_end == ID else 2
            text = f"{quoted(left.alias)}.{left_end} = {quoted(right.alias)}.{right_end}"
            if only is None:
                yield Candidate(text, "edge join", rank)
            elif only == left.alias:
                yield Candidate(text.partition(".")[2], "edge join", rank)
            elif only == right.alias:
                yield Candidate(f"{right_end} = {quoted(left.alias)}.{left_end}", "edge join", rank)


def _conditions(knowledge: Knowledge, new: Table, other: Table) -> Iterator[tuple[Table, str, Table, str]]:
    catalog = knowledge.catalog
    types = (catalog.tables_like(new.of or ""), catalog.tables_like(other.of or ""))
    if not all(types):
        return
    match types[0][0], types[1][0]:
        case EdgeType() as edge, NodeType() as node:
            yield from ((new, end, other, ID) for end, of in _ends(edge) if of == node.name)
        case NodeType() as node, EdgeType() as edge:
            yield from ((other, end, new, ID) for end, of in reversed(_ends(edge)) if of == node.name)
        case EdgeType() as edge, EdgeType() as before:
            yield from (
                (new, end, other, its) for end, of in _ends(edge) for its, at in reversed(_ends(before)) if of == at
            )
        case _:
            return


def _ends(edge: EdgeType) -> tuple[tuple[str, str], ...]:
    return (SRC, edge.source), (DST, edge.target)


# ---- columns ----------------------------------------------------------------------------------------------------


def _after_dot(statement: Statement, name: str) -> Iterator[Candidate]:
    folded = name.casefold()
    before = statement.before
    if len(before) > 2 and before[-3].is_word("ON"):
        yield from _joins(statement, only=name)
    for table in reversed(statement.visible()):
        if table.alias.casefold() == folded and table.columns:
            yield from (Candidate(quoted(column), of) for column, of in table.columns)
            return
    knowledge = statement.knowledge
    yield from (
        Candidate(table.partition(".")[2], "table")
        for table, _ in knowledge.tables
        if table.casefold().startswith(f"{folded}.")
    )
    if name in knowledge.branches:
        yield from (Candidate(quoted(table.name), f"on {name}") for table in knowledge.catalog.tables())
    elif before[0].is_word("SELECT", "FROM", "WITH"):
        yield from (Candidate(quoted(column), of) for column, of in columns_of(knowledge, name))


def _column_list(statement: Statement) -> list[Candidate] | None:
    """Columns in `INSERT INTO t (…`, `UPDATE t SET …` and `CREATE INDEX ON t (…`; None elsewhere."""
    before, path = statement.before, statement.path
    tables = statement.tables()
    if (
        before[0].is_word("INSERT", "COPY")
        and len(path) == 1
        and not any(t.is_word("VALUES", "SELECT") for t in before)
    ):
        name = before[path[0] - 1].name
        taken = {t.name for t in before[path[0] :] if t.is_name}
        return [
            Candidate(quoted(c), of) for c, of in columns_of(statement.knowledge, name) if c not in taken and c != ID
        ]
    last_clause = next((t for t in reversed(before) if t.is_word("SET", "WHERE", "FROM", "RETURNING", "=")), None)
    if before[0].is_word("UPDATE") and tables and last_clause is not None and last_clause.is_word("SET"):
        if before[-1].is_word("SET") or before[-1].is_mark(","):
            return [Candidate(f"{quoted(c)} =", of) for c, of in tables[0].columns if c != ID]
        return None
    if (
        before[0].is_word("CREATE")
        and path
        and before[-1].is_mark("(", ",")
        and any(t.is_word("INDEX") for t in before)
    ):
        return [Candidate(quoted(c), of) for c, of in columns_of(statement.knowledge, before[path[0] - 1].name)]
    return None


def _expression(statement: Statement) -> Iterator[Candidate]:
    visible = statement.visible()
    for table in visible:
        yield from (Candidate(quoted(column), f"{of} · {table.alias}".strip(" ·"), 2) for column, of in table.columns)
    yield from (Candidate(quoted(table.alias), table.of or "table", 3) for table in visible)
    yield from (Candidate(word, "", 6) for word in CLAUSES)
    yield from (Candidate(f"{name}(", said, 7) for name, said in statement.knowledge.functions)
    if statement.before[0].is_word("CREATE", "ALTER"):
        yield from (Candidate(word, "type", 4) for word in TYPES)
    if not visible:
        yield from (Candidate(quoted(table.name), "table", 8) for table in statement.knowledge.catalog.tables())
