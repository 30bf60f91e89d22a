"""`ogsql commit`, `ogsql branch` and `ogsql schema`: what a graph is and was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from omnigraph_sql.cli.exit_codes import ExitCode
from omnigraph_sql.cli.formats import FORMS
from omnigraph_sql.cli.graphs import Address, actor_option, address, branch_option, storage_option
from omnigraph_sql.cli.points import at_option, opened_at
from omnigraph_sql.cli.terminal import say, tell
from omnigraph_sql.cli.texts import Unreadable

if TYPE_CHECKING:
    from omnigraph_sql.engine.values import GraphCommit

_COMMITS = """\b
Examples:
  ogsql commit list air.omni --limit 10
  ogsql commit show air.omni 01M7QDBWXD227NZRX78XEG1FA8 --format json
"""
_BRANCHES = """\b
Examples:
  ogsql branch list air.omni
  ogsql branch create air.omni review/ana --from main
"""
_SCHEMAS = """\b
Examples:
  ogsql schema show air.omni
  ogsql schema show air.omni --at 12 > air.pg
"""
_form = click.option("--format", "form", type=click.Choice(list(FORMS)), default="table", help="How rows are written.")


def _rows(columns: tuple[str, ...], rows: list[tuple[object, ...]], form: str) -> None:
    for piece in FORMS[form](columns, iter([rows]) if rows else iter([])):
        say(piece)


@click.group(epilog=_COMMITS)
def commit() -> None:
    """Show the commits of a graph."""


@commit.command("list", epilog=_COMMITS)
@click.argument("graph")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most so many, the newest.")
@_form
@branch_option
@storage_option
def list_commits(graph: str, limit: int | None, form: str, branch: str, storage: tuple[str, ...]) -> int:
    """List the commits that led to the head of a branch, newest first."""
    with address(graph, branch, storage=storage).open(read_only=True) as opened:
        found = [_facts(one) for one in opened.commits(limit=limit)]
    _rows(_COLUMNS, found, form)
    return ExitCode.OK


_COLUMNS = ("commit", "version", "branch", "actor", "created_at", "message", "parents")


def _facts(one: GraphCommit) -> tuple[object, ...]:
    parents = ", ".join(one.parents)
    return one.id, one.version, one.branch, one.actor, one.created_at, one.message, parents


@commit.command("show", epilog=_COMMITS)
@click.argument("graph")
@click.argument("commit_id", metavar="COMMIT")
@_form
@branch_option
@storage_option
def show_commit(graph: str, commit_id: str, form: str, branch: str, storage: tuple[str, ...]) -> int:
    """Show one commit, and the tables of the graph as it made them."""
    with address(graph, branch, storage=storage).open(read_only=True) as opened:
        found = next((one for one in opened.commits() if one.id == commit_id), None)
        if found is None:
            raise Unreadable(f"branch {branch} has no commit '{commit_id}'", hint="ogsql commit list shows them")
        tables = opened.at(commit_id).stats()["tables"]
    counts = ", ".join(f"{t['name']} {t['rows']}" for t in tables)
    _rows((*_COLUMNS, "rows"), [(*_facts(found), counts)], "vertical" if form == "table" else form)
    return ExitCode.OK


@click.group(epilog=_BRANCHES)
def branch() -> None:
    """List and make branches."""


@branch.command("list", epilog=_BRANCHES)
@click.argument("graph")
@_form
@storage_option
def list_branches(graph: str, form: str, storage: tuple[str, ...]) -> int:
    """List the branches of a graph with their heads, main first."""
    with address(graph, storage=storage).open(read_only=True) as opened:
        found: list[tuple[object, ...]] = [(one.name, one.head, one.created_at) for one in opened.branches()]
    _rows(("branch", "head", "created_at"), found, form)
    return ExitCode.OK


@branch.command("create", epilog=_BRANCHES)
@click.argument("graph")
@click.argument("name")
@click.option("--from", "start", default="main", show_default=True, metavar="NAME", help="The branch to begin at.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing about what was done.")
@actor_option
@storage_option
def create(graph: str, name: str, start: str, quiet: bool, actor: str | None, storage: tuple[str, ...]) -> int:
    """Make a branch at the head of another one. No rows are copied."""
    with Address(graph, start, actor, address(graph, storage=storage).storage).open(read_only=False) as opened:
        made = opened.create_branch(name, from_=start)
        if not quiet:
            tell(f"made branch {made.name} at commit {made.head}")
    return ExitCode.OK


@click.group(epilog=_SCHEMAS)
def schema() -> None:
    """Show the schema of a graph."""


@schema.command("show", epilog=_SCHEMAS)
@click.argument("graph")
@at_option
@branch_option
@storage_option
def show_schema(graph: str, at: str | None, branch: str, storage: tuple[str, ...]) -> int:
    """Show the schema of a graph as a .pg text."""
    with opened_at(address(graph, branch, storage=storage), at) as opened:
        say(opened.schema_text.rstrip("\n"))
    return ExitCode.OK
