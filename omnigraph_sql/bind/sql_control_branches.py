"""CREATE, DROP, MERGE and USE BRANCH."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from omnigraph_sql.base import commands
from omnigraph_sql.base.names import BranchName, PointKind
from omnigraph_sql.base.travel import HEAD, ReadPoint
from omnigraph_sql.bind.sql_binder import SqlBinder
from omnigraph_sql.bind.sql_tables import read_point
from omnigraph_sql.bind.sql_targets import branch_name
from omnigraph_sql.grammar.ast import sql as ast
from omnigraph_sql.grammar.source import Span

TRUNK: Final = BranchName("main")
"""The branch every graph has; it stays."""


def create_branch(binder: SqlBinder, statement: ast.CreateBranch) -> commands.CreateBranch:
    name = branch_name(binder, statement.name)
    if statement.from_branch is not None and statement.as_of is not None:
        hint = f'switch first: USE BRANCH "{statement.from_branch.text}", then CREATE BRANCH … AS OF …'
        raise binder.unsupported("a branch starts at a branch or at a point of history", statement.as_of, hint)
    start = HEAD
    if statement.from_branch is not None:
        start = ReadPoint(PointKind.BRANCH, branch=branch_name(binder, statement.from_branch))
    elif statement.as_of is not None:
        start = read_point(binder, exp.Table(version=statement.as_of.copy()))
    return started(binder, name, statement.if_not_exists, start, statement.name.span)


def started(binder: SqlBinder, name: BranchName, exists: bool, start: ReadPoint, at: Span) -> commands.CreateBranch:
    if start.branch == name:
        raise binder.mismatch("a branch cannot start at itself", at, "name another branch behind FROM")
    if name == TRUNK and not exists:
        raise binder.mismatch(f"every graph has the branch {TRUNK.text} already", at, "choose another name")
    return commands.CreateBranch(name, exists, start)


def drop_branch(binder: SqlBinder, statement: ast.DropBranch) -> commands.DropBranch:
    return dropped(binder, branch_name(binder, statement.name), statement.if_exists, statement.name.span)


def dropped(binder: SqlBinder, name: BranchName, if_exists: bool, at: Span) -> commands.DropBranch:
    if name == TRUNK:
        raise binder.mismatch(f"the branch {TRUNK.text} cannot be dropped", at)
    return commands.DropBranch(name, if_exists)


def merge_branch(binder: SqlBinder, statement: ast.MergeBranch) -> commands.MergeBranch:
    source = branch_name(binder, statement.source)
    into = branch_name(binder, statement.into) if statement.into is not None else None
    return merged(binder, source, into, statement.delete_source, statement.source.span)


def merged(
    binder: SqlBinder, source: BranchName, into: BranchName | None, delete_source: bool, at: Span
) -> commands.MergeBranch:
    if source == into:
        raise binder.mismatch("a branch cannot be merged into itself", at)
    if delete_source and source == TRUNK:
        raise binder.mismatch(f"the branch {TRUNK.text} cannot be dropped", at, "leave DELETE SOURCE out")
    return commands.MergeBranch(source, into, delete_source)


def use_branch(binder: SqlBinder, statement: ast.UseBranch) -> commands.UseBranch:
    return commands.UseBranch(branch_name(binder, statement.name))
