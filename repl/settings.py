"""Settings of the shell: where they come from, what they may be, and how one is written back.

Later sources win: defaults, the person's file, the project's file, the environment. A project's file cannot name
programs to run or files to execute, since whoever wrote the folder is not necessarily whoever opens it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final

from omnigraph_sql.base.errors import DataError

PROJECT_FILE: Final = ".omnigraph.toml"
USER_FILE: Final = "config.toml"
STARTUP_FILE: Final = "omnirc.sql"
QUERIES_FOLDER: Final = "queries"
HISTORY_FILE: Final = "history"
PREFIX: Final = "OMNIGRAPH_"
TABLE: Final = "shell"
QUERIES_TABLE: Final = "queries"

_BOOLEANS: Final = {
    "true": True,
    "on": True,
    "yes": True,
    "1": True,
    "false": False,
    "off": False,
    "no": False,
    "0": False,
}
_ROWS_MAX: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set. The metadata say what it means, what it may be, and who may say it."""

    prompt: str = field(
        default="omni:{graph}@{branch}{star}> ",
        metadata={"help": "the prompt; {graph}, {branch} and {star} are filled in"},
    )
    multiline: bool = field(default=True, metadata={"help": "Enter sends a statement only when it is complete (F3)"})
    vi: bool = field(default=False, metadata={"help": "keys of vi instead of those of emacs"})
    complete: bool = field(default=True, metadata={"help": "suggest while typing; otherwise with Tab alone"})
    suggest: bool = field(default=True, metadata={"help": "show the rest of a line from the history, in grey"})
    format: str = field(default="box", metadata={"help": "the form of rows; \\T lists them"})
    expanded: str = field(default="auto", metadata={"help": "one value per line", "choices": ("on", "off", "auto")})
    rows: str = field(default="auto", metadata={"help": "rows shown of a result: auto, all, or a number"})
    cell: int = field(default=200, metadata={"help": "characters shown of one value", "least": 8, "most": 100_000})
    null: str = field(default="NULL", metadata={"help": "what stands for null"})
    timing: bool = field(default=True, metadata={"help": "tell how long statements take"})
    pager: str = field(default="auto", metadata={"help": "when to use the pager", "choices": ("auto", "always", "off")})
    pager_command: str = field(default="", metadata={"help": "the pager; $PAGER or less when empty", "own": True})
    editor: str = field(default="", metadata={"help": "the editor; $VISUAL or $EDITOR when empty", "own": True})
    theme: str = field(default="auto", metadata={"help": "colours", "choices": ("auto", "dark", "light", "none")})
    confirm: bool = field(default=True, metadata={"help": "ask before statements that destroy", "own": True})
    history_size: int = field(default=10_000, metadata={"help": "statements remembered", "least": 0, "most": 1_000_000})
    startup: bool = field(default=True, metadata={"help": "run omnirc.sql at the start", "own": True})


FIELDS: Final = {one.name: one for one in fields(Settings)}


def parsed(name: str, value: object, source: str) -> Any:
    """A value as the setting wants it. Raises DataError, naming the setting and where the value came from."""
    one = FIELDS.get(name)
    if one is None:
        from difflib import get_close_matches

        near = get_close_matches(name, FIELDS, 1)
        hint = f"did you mean {near[0]}?" if near else "\\config lists the settings"
        raise DataError(f"{source}: there is no setting {name!r}", hint=hint)
    default = one.default
    if isinstance(default, bool):
        found = value if isinstance(value, bool) else _BOOLEANS.get(str(value).strip().casefold())
        if found is None:
            raise DataError(f"{source}: {name} is on or off, not {value!r}")
        return found
    if isinstance(default, int):
        return _number(name, value, source, one.metadata["least"], one.metadata["most"])
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise DataError(f"{source}: {name} is a text, not {value!r}")
    text = str(value)
    choices = one.metadata.get("choices")
    if choices is not None and text not in choices:
        raise DataError(f"{source}: {name} is one of {', '.join(choices)}, not {text!r}")
    if name == "rows" and text not in ("auto", "all"):
        return str(_number(name, text, source, 1, _ROWS_MAX))
    return text


def _number(name: str, value: object, source: str, least: int, most: int) -> int:
    try:
        number = int(value) if isinstance(value, int | str) and not isinstance(value, bool) else None
    except ValueError:
        number = None
    if number is None or not least <= number <= most:
        raise DataError(f"{source}: {name} is a number from {least} to {most}, not {value!r}")
    return number


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings with where each came from, the project's named queries, and what was wrong with the sources."""

    settings: Settings
    origins: Mapping[str, str]
    queries: Mapping[str, str]
    problems: tuple[str, ...] = ()


def load(user: Path, project: Path, environment: Mapping[str, str]) -> Loaded:
    """Settings from every source. What is wrong is told and left out; nothing raises."""
    found: dict[str, Any] = {}
    origins: dict[str, str] = {}
    queries: dict[str, str] = {}
    problems: list[str] = []
    for source, values, trusted in _sources(user, project, environment, queries, problems):
        for name, value in values.items():
            try:
                if not trusted and name in FIELDS and FIELDS[name].metadata.get("own"):
                    raise DataError(f"{source}: {name} can only be set in your own file", hint=f"write it into {user}")
                found[name] = parsed(name, value, source)
                origins[name] = source
            except DataError as wrong:
                problems.append(f"{wrong.message}{f'; {wrong.hint}' if wrong.hint else ''}")
    return Loaded(replace(Settings(), **found), origins, queries, tuple(problems))


def _sources(
    user: Path, project: Path, environment: Mapping[str, str], queries: dict[str, str], problems: list[str]
) -> Iterator[tuple[str, Mapping[str, Any], bool]]:
    for path, trusted in ((user, True), (project, False)):
        whole = _read(path, problems)
        table = whole.get(TABLE, {})
        if not isinstance(table, dict):
            problems.append(f"{path}: [{TABLE}] is a table")
            table = {}
        yield str(path), table, trusted
        _take_queries(path, whole, queries, problems)
    given = {
        name: environment[f"{PREFIX}{name.upper()}"] for name in FIELDS if f"{PREFIX}{name.upper()}" in environment
    }
    yield "the environment", given, True


def _take_queries(path: Path, whole: Mapping[str, Any], queries: dict[str, str], problems: list[str]) -> None:
    named = whole.get(QUERIES_TABLE, {})
    for name, text in named.items() if isinstance(named, dict) else ():
        if isinstance(text, str):
            queries[name] = text
        else:
            problems.append(f"{path}: the query {name} is a text")
    for name in whole.keys() - {TABLE, QUERIES_TABLE}:
        problems.append(f"{path}: there is no table [{name}]; settings stand in [{TABLE}]")


def _read(path: Path, problems: list[str]) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as failure:
        problems.append(f"{path} cannot be read: {failure}")
        return {}


def write_setting(path: Path, name: str, value: object) -> None:
    """Write one setting into the person's file; whatever else stands there, comments included, stays.

    Raises DataError for a value that does not fit and for a file that is none, OSError when it cannot be written.
    """
    import tomlkit

    fit = parsed(name, value, "the setting")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        document = tomlkit.parse(path.read_text(encoding="utf-8")) if path.exists() else tomlkit.document()
    except ValueError as failure:
        raise _no_settings(path, str(failure)) from failure
    if TABLE not in document:
        document.add(TABLE, tomlkit.table())
    table: Any = document[TABLE]
    if not isinstance(table, MutableMapping):
        raise _no_settings(path, f"{TABLE} is no table")
    table[name] = fit
    fresh = path.with_name(f".{path.name}.part")
    fresh.write_text(tomlkit.dumps(document), encoding="utf-8")
    fresh.replace(path)


def _no_settings(path: Path, why: str) -> DataError:
    return DataError(
        f"{path} is no settings file: {why}", hint="ogsql config validate tells where; mend the file first"
    )
