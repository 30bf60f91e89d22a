"""House statements → commands: transactions, session, branches, schema, maintenance and files."""

from __future__ import annotations

from typing import Literal, assert_never

from omnigraph_sql.base import commands
from omnigraph_sql.bind.bound import BoundControl, BoundStatement
from omnigraph_sql.bind.sql_binder import SqlBinder
from omnigraph_sql.bind.sql_control_branches import create_branch, drop_branch, merge_branch, use_branch
from omnigraph_sql.bind.sql_control_calls import call
from omnigraph_sql.bind.sql_control_files import copy_from, copy_to, export_graph, import_graph
from omnigraph_sql.bind.sql_control_graphs import create_property_graph, drop_property_graph
from omnigraph_sql.bind.sql_control_indexes import create_index, drop_index, optimize, vacuum
from omnigraph_sql.bind.sql_control_session import describe, set_option, show, summarize
from omnigraph_sql.bind.sql_control_views import create_view, drop_view
from omnigraph_sql.bind.sql_ddl import create_table, drop_table
from omnigraph_sql.bind.sql_ddl_alter import alter_table
from omnigraph_sql.bind.sql_mutation import bind_mutation
from omnigraph_sql.grammar.ast import sql as ast


def bind_control(binder: SqlBinder, tree: ast.HouseStatement) -> BoundStatement:
    """Bind a statement that sqlglot does not know; TRUNCATE alone becomes a mutation."""
    match tree:
        case ast.Truncate():
            return bind_mutation(binder, tree)
        case ast.Describe():
            return describe(binder, tree)
        case ast.Summarize():
            return summarize(binder, tree)
        case ast.CreateView():
            return create_view(binder, tree)
        case ast.CopyTo():
            return copy_to(binder, tree)
        case _:
            return BoundControl(_command(binder, tree))


_Plain = (
    ast.CreateBranch
    | ast.DropBranch
    | ast.MergeBranch
    | ast.UseBranch
    | ast.Show
    | ast.SetOption
    | ast.Transaction
    | ast.Call
    | ast.CreateTable
    | ast.AlterTable
    | ast.DropTable
    | ast.CreateIndex
    | ast.DropIndex
    | ast.DropView
    | ast.Optimize
    | ast.Vacuum
    | ast.CreatePropertyGraph
    | ast.DropPropertyGraph
    | ast.CopyFrom
    | ast.ExportGraph
    | ast.ImportGraph
)


def _command(binder: SqlBinder, tree: _Plain) -> commands.Command:
    """Statements without a query below them."""
    match tree:
        case ast.Transaction():
            return _transaction(tree.kind)
        case ast.Show():
            return show(binder, tree)
        case ast.SetOption():
            return set_option(binder, tree)
        case ast.Call():
            return call(binder, tree)
        case ast.CreateBranch() | ast.DropBranch() | ast.MergeBranch() | ast.UseBranch():
            return _branch(binder, tree)
        case ast.CopyFrom():
            return copy_from(binder, tree)
        case ast.ExportGraph():
            return export_graph(binder, tree)
        case ast.ImportGraph():
            return import_graph(binder, tree)
        case _:
            return _schema(binder, tree)


def _transaction(kind: Literal["begin", "commit", "rollback"]) -> commands.Command:
    match kind:
        case "begin":
            return commands.Begin()
        case "commit":
            return commands.Commit()
        case "rollback":
            return commands.Rollback()
        case _:
            assert_never(kind)


def _branch(
    binder: SqlBinder, tree: ast.CreateBranch | ast.DropBranch | ast.MergeBranch | ast.UseBranch
) -> commands.Command:
    match tree:
        case ast.CreateBranch():
            return create_branch(binder, tree)
        case ast.DropBranch():
            return drop_branch(binder, tree)
        case ast.MergeBranch():
            return merge_branch(binder, tree)
        case ast.UseBranch():
            return use_branch(binder, tree)
        case _:
            assert_never(tree)


def _schema(
    binder: SqlBinder,
    tree: ast.CreateTable
    | ast.AlterTable
    | ast.DropTable
    | ast.CreateIndex
    | ast.DropIndex
    | ast.DropView
    | ast.Optimize
    | ast.Vacuum
    | ast.CreatePropertyGraph
    | ast.DropPropertyGraph,
) -> commands.Command:
    match tree:
        case ast.CreateTable():
            return create_table(binder, tree)
        case ast.AlterTable():
            return alter_table(binder, tree)
        case ast.DropTable():
            return drop_table(binder, tree)
        case ast.CreateIndex():
            return create_index(binder, tree)
        case ast.DropIndex():
            return drop_index(binder, tree)
        case ast.DropView():
            return drop_view(binder, tree)
        case ast.CreatePropertyGraph():
            return create_property_graph(binder, tree)
        case ast.DropPropertyGraph():
            return drop_property_graph(binder, tree)
        case ast.Optimize():
            return optimize(binder, tree)
        case ast.Vacuum():
            return vacuum(binder, tree)
        case _:
            assert_never(tree)
