"""COPY and EXPORT GRAPH: rows out to files and in from them. A path is a value, and is used as it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from omnigraph_sql.base.catalog import Catalog, TableType
from omnigraph_sql.base.commands import CopyFrom, CopyTo, ExportGraph, ImportGraph, Options
from omnigraph_sql.base.errors import DataError, ExecutionError, InternalError
from omnigraph_sql.base.expr import Expr, Value
from omnigraph_sql.engine.load.export import ExportReport, export_lines, exported_types
from omnigraph_sql.engine.load.forms import Form
from omnigraph_sql.engine.load.report import LoadReport, Progress, Watch
from omnigraph_sql.engine.load.values import LoadMode, Source
from omnigraph_sql.engine.values import Snapshot, table_key
from omnigraph_sql.engine.world import World
from omnigraph_sql.plan.lower import output_fields
from omnigraph_sql.plan.node import Plan
from omnigraph_sql.run.files import FileForm, complete, write_rows
from omnigraph_sql.run.read import read
from omnigraph_sql.run.scalars import NOT_CONSTANT, constant
from omnigraph_sql.run.scene import Scene


def copy_to(command: CopyTo, plan: Plan | None, scene: Scene) -> int:
    """Write the rows of a query to a file; how many there were."""
    if plan is None:
        raise InternalError("COPY … TO has a query")
    path, options = path_of(command.path, scene), _values(command.options, scene)
    kind = str(options.pop("format"))
    _refuse_lance(kind)
    options = _with_tabs(kind, options, path)
    rows = read(plan, scene)
    schema = pa.schema([f.with_name(o.name) for f, o in zip(rows.schema, output_fields(plan), strict=True)])
    batches = (pa.RecordBatch.from_arrays(batch.columns, schema=schema) for batch in rows)
    return write_rows(path, FileForm(kind, options), pa.RecordBatchReader.from_batches(schema, batches))


def copy_source(command: CopyFrom, scene: Scene) -> tuple[Source, LoadMode]:
    """What a load is given for COPY … FROM."""
    path, options = path_of(command.path, scene), _values(command.options, scene)
    kind = str(options.pop("format"))
    _refuse_lance(kind)
    form = Form(kind, command.columns, **_with_tabs(kind, options, path))  # type: ignore[arg-type]
    return Source(path, command.type, form=form), LoadMode(command.mode)


def import_source(command: ImportGraph, scene: Scene) -> tuple[Source, LoadMode]:
    return Source(path_of(command.path, scene), form=Form("graph")), LoadMode(command.mode)


def export_graph(command: ExportGraph, scene: Scene) -> ExportReport:
    return export_to(scene.world, scene.snapshot, scene.catalog, path_of(command.path, scene))


def export_to(
    world: World,
    snapshot: Snapshot,
    catalog: Catalog,
    path: Path,
    types: Sequence[str] = (),
    watch: Watch | None = None,
) -> ExportReport:
    """Write the graph, or some of its types, to a file of JSON lines. Raises DataError for an unknown type."""
    wanted = chosen_types(catalog, types)
    counts = {table_key(of): 0 for of in wanted}

    def counting(progress: Progress) -> None:
        counts.update(progress.tables)
        if watch is not None:
            watch(progress)

    with complete(path) as part, open(part, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in export_lines(world, snapshot, wanted, counting))
    return ExportReport(snapshot.head, tuple(counts.items()))


def chosen_types(catalog: Catalog, names: Sequence[str]) -> tuple[TableType, ...]:
    """The types of these names, or all of them, in the order of an export."""
    every = exported_types(catalog)
    for name in names:
        if not any(name in (of.name, table_key(of)) for of in every):
            known = ", ".join(of.name for of in every)
            raise DataError(f"there is no type {name!r}", hint=f"the schema has {known or 'none'}")
    return tuple(of for of in every if not names or of.name in names or table_key(of) in names)


def affected(report: LoadReport) -> tuple[int, int]:
    """Nodes and edges that a load wrote."""
    nodes = sum(table.rows for table in report.tables if table.table.startswith("node:"))
    return nodes, sum(table.rows for table in report.tables) - nodes


def path_of(expr: Expr, scene: Scene) -> Path:
    """The place a statement names: a local path, taken as it is."""
    value = constant(expr, scene)
    if not isinstance(value, str) or not value.strip() or "\x00" in value:
        raise DataError(f"{value!r} is no path of a file", hint="hand over a text")
    if "://" in value:
        scheme = value.partition("://")[0]
        raise ExecutionError(f"files at {scheme}:// are neither read nor written", hint="copy by way of a local file")
    return Path(value)


def _values(options: Options, scene: Scene) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for name, expr in options:
        value = constant(expr, scene)
        if value is NOT_CONSTANT:
            raise ExecutionError(f"the option {name.upper()} is no constant")
        found[name] = value  # type: ignore[assignment]
    return found


def _with_tabs(kind: str, options: dict[str, Value], path: Path) -> dict[str, Value]:
    """Values of a `.tsv` file stand between tabs unless the statement says otherwise."""
    tabs = kind == "csv" and ".tsv" in [suffix.casefold() for suffix in path.suffixes]
    return {"delimiter": "\t", **options} if tabs else options


def _refuse_lance(kind: str) -> None:
    if kind == "lance":
        raise ExecutionError("COPY does not read or write Lance files", hint="use parquet or arrow")
