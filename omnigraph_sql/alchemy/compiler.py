"""Where our SQL differs from what SQLAlchemy writes on its own."""

from __future__ import annotations

from typing import Any

from sqlalchemy.sql import compiler


class StatementCompiler(compiler.SQLCompiler):
    """SELECT, INSERT, UPDATE and DELETE."""

    def limit_clause(self, select: Any, **kw: Any) -> str:
        parts = [("LIMIT", select._limit_clause), ("OFFSET", select._offset_clause)]
        return "".join(f"\n {word} {self.process(clause, **kw)}" for word, clause in parts if clause is not None)

    def for_update_clause(self, select: Any, **kw: Any) -> str:
        """Nothing is locked: a commit is refused when what it read has changed."""
        del select, kw
        return ""

    def visit_empty_set_expr(self, element_types: Any, **kw: Any) -> str:
        del kw
        return f"SELECT {', '.join('NULL' for _ in element_types or [None])} WHERE 1 != 1"

    def visit_is_distinct_from_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        del operator
        return f"{self.process(binary.left, **kw)} IS DISTINCT FROM {self.process(binary.right, **kw)}"

    def visit_is_not_distinct_from_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        del operator
        return f"{self.process(binary.left, **kw)} IS NOT DISTINCT FROM {self.process(binary.right, **kw)}"

    def update_from_clause(
        self, update_stmt: Any, from_table: Any, extra_froms: Any, from_hints: Any, **kw: Any
    ) -> str:
        del update_stmt, from_table
        return "FROM " + self._tables(extra_froms, from_hints, kw)

    def delete_extra_from_clause(
        self, delete_stmt: Any, from_table: Any, extra_froms: Any, from_hints: Any, **kw: Any
    ) -> str:
        del delete_stmt, from_table
        return "USING " + self._tables(extra_froms, from_hints, kw)

    def _tables(self, extra: Any, hints: Any, kw: dict[str, Any]) -> str:
        return ", ".join(t._compiler_dispatch(self, asfrom=True, fromhints=hints, **kw) for t in extra)
