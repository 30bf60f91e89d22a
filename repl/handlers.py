"""Which function carries out which command of the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from omnigraph_sql.repl import handle_general, handle_graph, handle_results, handle_statements
from omnigraph_sql.repl.shell import Shell

Handler = Callable[[Shell, str], None]

HANDLERS: Final[dict[str, Handler]] = {
    "?": handle_general.show_help,
    "q": handle_general.leave,
    "conninfo": handle_general.tell_connection,
    "refresh": handle_general.refresh,
    "history": handle_general.show_history,
    "echo": lambda shell, text: shell.talk(text),
    "sql": lambda shell, text: shell.run_text(text, language="sql"),
    "gq": lambda shell, text: shell.run_text(text, language="gq"),
    "explain": handle_statements.explain,
    "watch": handle_statements.watch,
    "i": handle_statements.include,
    "e": handle_statements.edit,
    "set": handle_statements.set_parameter,
    "unset": handle_statements.unset_parameter,
    "n": handle_statements.run_named,
    "ns": handle_statements.save_named,
    "nd": handle_statements.drop_named,
    "d": handle_graph.describe,
    "d+": handle_graph.describe_more,
    "dn": lambda shell, _: handle_graph.show_sql(shell, "SHOW NODES"),
    "de": lambda shell, _: handle_graph.show_sql(shell, "SHOW EDGES"),
    "di": handle_graph.show_indexes,
    "df": handle_graph.show_functions,
    "branch": handle_graph.branch,
    "checkout": handle_graph.checkout,
    "log": handle_graph.log,
    "x": handle_results.expanded,
    "T": handle_results.form,
    "timing": handle_results.timing,
    "pager": handle_results.pager,
    "o": handle_results.output,
    "once": handle_results.output_once,
    "_": handle_results.show_last,
    "plot": handle_results.plot,
    "config": handle_general.configure,
}
