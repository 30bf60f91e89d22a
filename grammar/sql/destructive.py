"""Which statements take away more than a reader of their text may expect. Pure, and without a catalog."""

from __future__ import annotations

from sqlglot import exp

from omnigraph_sql.grammar.ast.sql import AlterTable, DropBranch, DropColumn, DropTable, SqlStatement, Truncate


def destroys(statement: SqlStatement) -> str | None:
    """What a person should confirm, in a few words; None for a statement that is harmless or names its rows."""
    if statement.explain is not None and not statement.explain.analyze:
        return None
    tree = statement.tree
    match tree:
        case exp.Delete() if not tree.args.get("where") and not tree.args.get("using"):
            return f"DELETE without WHERE removes every row of {_table(tree)}"
        case exp.Update() if not tree.args.get("where") and not tree.args.get("from_"):
            return f"UPDATE without WHERE changes every row of {_table(tree)}"
        case Truncate(table=table):
            return f"TRUNCATE removes every row of {table.name.text}"
        case DropTable(name=table):
            return f"DROP TABLE removes {table.name.text} and every row of it"
        case DropBranch(name=branch):
            return f"DROP BRANCH removes {branch.text}"
        case AlterTable(name=table, actions=actions) if any(isinstance(a, DropColumn) for a in actions):
            return f"DROP COLUMN removes values of every row of {table.name.text}"
        case _:
            return None


def _table(tree: exp.Delete | exp.Update) -> str:
    found = tree.find(exp.Table)
    return found.name if found is not None else "the table"
