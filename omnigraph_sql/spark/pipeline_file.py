"""Pipeline files: which sources feed which types, read strictly from TOML. Nothing here needs Spark."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from omnigraph_sql.base.catalog import ID, Catalog, TableType
from omnigraph_sql.base.errors import DataError, StorageError
from omnigraph_sql.engine.load.columns_given import column_names
from omnigraph_sql.engine.load.readers import source_type
from omnigraph_sql.engine.load.report import LoadMode
from omnigraph_sql.engine.load.values import Source
from omnigraph_sql.engine.values import MAIN

_TOP: Final = ("graph", "branch", "mode", "on_error", "quarantine", "actor", "message", "storage", "source")
_SOURCE: Final = ("name", "format", "path", "options", "type", "columns", "where", "distinct", "order")
_ENVIRONMENT: Final = "env:"


@dataclass(frozen=True, slots=True)
class PipelineSource:
    """One source: how Spark reads it, the type it feeds, and an expression per column of that type.

    `distinct` are columns of which each combination is taken once: the first row in `order`.
    """

    name: str
    format: str
    paths: tuple[str, ...]
    options: tuple[tuple[str, str], ...]
    type: str
    columns: tuple[tuple[str, str], ...]
    where: str | None
    distinct: tuple[str, ...]
    order: str | None


@dataclass(frozen=True, slots=True)
class PipelineFile:
    """A whole file. `storage` holds values as they are written; those that begin with env: name a variable."""

    path: Path
    graph: str
    branch: str
    mode: LoadMode
    on_error: str
    quarantine: str | None
    actor: str | None
    message: str | None
    sources: tuple[PipelineSource, ...]
    storage: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def storage_options(self) -> dict[str, str]:
        """The options with the values of variables. Raises StorageError (configuration) for one that is not set."""
        found = {}
        for name, value in self.storage:
            if value.startswith(_ENVIRONMENT):
                variable = value.removeprefix(_ENVIRONMENT)
                if variable not in os.environ:
                    raise StorageError(f"the variable {variable} is not set", kind="configuration")
                value = os.environ[variable]
            found[name] = value
        return found


def read_pipeline(path: Path) -> PipelineFile:
    """Raises DataError, naming the file and what is wrong in it."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}") from None
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{path}: {error}") from None
    try:
        return _pipeline(path, found)
    except DataError as error:
        raise DataError(f"{path}: {error.message}", hint=error.hint) from None


def _pipeline(path: Path, found: dict[str, Any]) -> PipelineFile:
    _refuse_unknown(found, _TOP, "a pipeline")
    mode = _text(found, "mode", "a pipeline")
    if mode not in tuple(LoadMode):
        raise DataError(f"there is no mode {mode!r}", hint=f"choose one of {', '.join(LoadMode)}")
    on_error = found.get("on_error", "fail")
    if on_error not in ("fail", "skip"):
        raise DataError(f"on_error is 'fail' or 'skip', not {on_error!r}")
    sources = found.get("source", [])
    if not isinstance(sources, list) or not sources:
        raise DataError("there is no [[source]]")
    made = tuple(_source(path, number, one) for number, one in enumerate(sources, 1))
    names = [one.name for one in made]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"two sources are called {twice!r}")
    return PipelineFile(
        path,
        _placed(path, _text(found, "graph", "a pipeline")),
        _given(found, "branch", "a pipeline") or MAIN,
        LoadMode(mode),
        on_error,
        _placed(path, found["quarantine"]) if "quarantine" in found else None,
        _given(found, "actor", "a pipeline"),
        _given(found, "message", "a pipeline"),
        made,
        _pairs(found.get("storage", {}), "storage"),
    )


def _source(path: Path, number: int, found: Any) -> PipelineSource:
    if not isinstance(found, dict):
        raise DataError("a source is a table: write [[source]]")
    name = _given(found, "name", f"source {number}") or f"source {number}"
    _refuse_unknown(found, _SOURCE, name)
    paths = found.get("path", [])
    columns = found.get("columns")
    if not isinstance(columns, dict) or not columns:
        raise DataError(f"{name} has no columns", hint="write [source.columns] with an expression per property")
    distinct = found.get("distinct", [])
    if not isinstance(distinct, list) or not all(isinstance(one, str) for one in distinct):
        raise DataError(f"{name}: distinct is a list of columns")
    if "order" in found and not distinct:
        raise DataError(f"{name}: order says which row stays of those that distinct takes once, and there is none")
    return PipelineSource(
        name,
        _text(found, "format", name),
        tuple(_placed(path, one) for one in (paths if isinstance(paths, list) else [paths])),
        _pairs(found.get("options", {}), f"{name}: options"),
        _text(found, "type", name),
        _pairs(columns, f"{name}: columns"),
        _given(found, "where", name),
        tuple(distinct),
        _given(found, "order", name),
    )


def _refuse_unknown(found: dict[str, Any], known: tuple[str, ...], where: str) -> None:
    for name in found:
        if name not in known:
            raise DataError(f"{where} has no {name!r}", hint=f"it has {', '.join(known)}")


def _text(found: Mapping[str, Any], name: str, where: str) -> str:
    value = _given(found, name, where)
    if value is None:
        raise DataError(f"{where} needs {name}, a text")
    return value


def _given(found: Mapping[str, Any], name: str, where: str) -> str | None:
    """A text that may be left out."""
    value = found.get(name)
    if value is not None and (not isinstance(value, str) or not value):
        raise DataError(f"{where}: {name} is a text, not {value!r}")
    return value


def _pairs(found: Any, where: str) -> tuple[tuple[str, str], ...]:
    if not isinstance(found, dict):
        raise DataError(f"{where} is a table of names and values")
    made = []
    for name, value in found.items():
        if isinstance(value, dict | list):
            raise DataError(f"{where}: {name} is a single value")
        made.append((str(name), str(value).lower() if isinstance(value, bool) else str(value)))
    return tuple(made)


def _placed(path: Path, text: Any) -> str:
    """A path relative to the file's own folder; addresses with a scheme and absolute paths stay."""
    if not isinstance(text, str) or not text:
        raise DataError("a path is a text")
    return text if "://" in text or text.startswith("/") else str(path.parent.resolve() / text)


def check_pipeline(found: PipelineFile, catalog: Catalog) -> list[tuple[PipelineSource, TableType]]:
    """The type of every source. Raises DataError for a type or a column that the schema does not have."""
    made = []
    for source in found.sources:
        of = source_type(Source("", source.type), catalog, source.name)
        column_names(of, [name for name, _ in source.columns], source.name)
        if of.key and ID in dict(source.columns):
            raise DataError(f"{source.name}: the id of {of.name} follows from its key", hint="leave id out")
        if found.mode is LoadMode.MERGE and not of.key and ID not in dict(source.columns):
            raise DataError(
                f"{source.name}: {of.name} has no key, so merging would add its rows again at every run",
                hint="give the rows an id, for example id = \"concat_ws('-', a, b)\"",
            )
        made.append((source, of))
    return made
