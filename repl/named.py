"""Named queries: files in the person's folder, and entries of the project's file."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from omnigraph_sql.base.errors import DataError
from omnigraph_sql.grammar.language import Language, language_of

_NAME: Final = re.compile(r"[A-Za-z_][\w-]{0,63}")
_ENDINGS: Final[dict[str, Language]] = {".sql": "sql", ".gq": "gq"}


@dataclass(frozen=True, slots=True)
class Named:
    """A statement under a name; `path` is None when the project's file holds it."""

    name: str
    text: str
    language: Language
    path: Path | None = None


class Queries:
    """Every named query. One of the person's hides one of the project's with the same name."""

    def __init__(self, folder: Path, project: Mapping[str, str]) -> None:
        self._folder, self._project = folder, project

    def all(self) -> dict[str, Named]:
        found = {name: Named(name, text, language_of(text)) for name, text in self._project.items()}
        for path in sorted(self._folder.glob("*")) if self._folder.is_dir() else ():
            if path.suffix in _ENDINGS and _NAME.fullmatch(path.stem):
                text = path.read_text(encoding="utf-8")
                found[path.stem] = Named(path.stem, text, _ENDINGS[path.suffix], path)
        return found

    def get(self, name: str) -> Named:
        """Raises DataError when there is none of that name."""
        known = self.all()
        if name not in known:
            from difflib import get_close_matches

            near = get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]}?" if near else "\\ns NAME STATEMENT keeps one"
            raise DataError(f"there is no named query {name!r}", hint=hint)
        return known[name]

    def save(self, name: str, text: str) -> Path:
        """Keep a statement. Raises DataError for a name that cannot be a file's, or when there is no statement."""
        if not _NAME.fullmatch(name):
            raise DataError(f"{name!r} cannot name a query", hint="use letters, digits, - and _")
        if not text.strip():
            raise DataError("there is no statement to keep", hint="\\ns NAME STATEMENT")
        language = language_of(text)
        self._folder.mkdir(parents=True, exist_ok=True)
        for ending in _ENDINGS:
            (self._folder / f"{name}{ending}").unlink(missing_ok=True)
        path = self._folder / f"{name}.{language}"
        path.write_text(text.strip() + "\n", encoding="utf-8")
        return path

    def drop(self, name: str) -> None:
        """Raises DataError when there is none, or when it is the project's."""
        found = self.get(name)
        if found.path is None:
            raise DataError(f"{name} stands in the project's file", hint="take it out there")
        found.path.unlink()


def value_of(text: str) -> object:
    """A value as a person types it: JSON where it is JSON, a quoted text without its quotes, the text itself else."""
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return text if isinstance(value, float) and value != value else value


def values_of(arguments: str, names: Sequence[str]) -> dict[str, object]:
    """Values for a named query: `name=value`, or in the order of the parameters. Raises DataError."""
    try:
        words = shlex.split(arguments)
    except ValueError as wrong:
        raise DataError(f"the values cannot be read: {wrong}") from None
    values: dict[str, object] = {}
    waiting = [name for name in names if not any(word.startswith(f"{name}=") for word in words)]
    for word in words:
        name, sign, value = word.partition("=")
        if sign and name in names:
            values[name] = value_of(value)
        elif waiting:
            values[waiting.pop(0)] = value_of(word)
        else:
            taken = f"it takes {', '.join(names)}" if names else "it takes none"
            raise DataError(f"{word!r} is a value too many", hint=taken)
    return values
