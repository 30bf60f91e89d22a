"""`ogsql init`: a new graph from a schema."""

from __future__ import annotations

import click

from omnigraph_sql.base.errors import ConflictError
from omnigraph_sql.cli.exit_codes import ExitCode
from omnigraph_sql.cli.graphs import actor_option, durability_option, pairs, storage_option
from omnigraph_sql.cli.terminal import tell
from omnigraph_sql.cli.texts import read_text, shown_name

_EPILOG = """\b
Examples:
  ogsql init air.omni --schema air.pg
  ogsql init s3://bucket/air.omni --schema air.pg --storage-option region=eu-west-1
"""


@click.command(epilog=_EPILOG)
@click.argument("graph")
@click.option("--schema", required=True, metavar="FILE", help="The schema of the graph, a .pg file.")
@click.option("--force", is_flag=True, help="Replace schema files that lie there without a graph. Never a graph.")
@actor_option
@durability_option
@storage_option
def init(graph: str, schema: str, force: bool, actor: str | None, durability: str, storage: tuple[str, ...]) -> int:
    """Make a graph from a schema.

    GRAPH is a folder, by convention something.omni, or s3://bucket/prefix. Its tables are empty.
    """
    from omnigraph_sql.bind.schema import compile_schema
    from omnigraph_sql.graph import init as make

    text = read_text(schema)
    catalog = compile_schema(text, name=shown_name(schema)).catalog
    options = pairs(storage, "--storage-option") or None
    try:
        new = make(graph, schema=text, actor=actor, force=force, durability=durability, storage_options=options)
    except ConflictError as error:
        if error.code == "exists" and not force:
            error.hint = f"ogsql {graph} opens it; for a new one choose another place"
        raise
    with new as made:
        nodes, edges = len(catalog.nodes), len(catalog.edges)
        tell(f"made {graph}: {_counted(nodes, 'node type')}, {_counted(edges, 'edge type')}, commit {made.head}")
    return ExitCode.OK


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
