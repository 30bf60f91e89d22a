"""Where the shell keeps its files, and the history it keeps there."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from prompt_toolkit.history import FileHistory

from omnigraph_sql.repl import settings

_APP: Final = "omnigraph"
_PRIVATE: Final = 0o600


@dataclass(frozen=True, slots=True)
class Places:
    """The person's folders for settings and for what the shell remembers, and the folder it was started in."""

    config: Path
    state: Path
    project: Path

    @classmethod
    def of_person(cls, environment: Mapping[str, str]) -> Places:
        """The usual folders of the platform; `OMNIGRAPH_CONFIG_DIR` and `OMNIGRAPH_STATE_DIR` name others."""
        from platformdirs import user_config_path, user_state_path

        config = environment.get("OMNIGRAPH_CONFIG_DIR") or user_config_path(_APP)
        state = environment.get("OMNIGRAPH_STATE_DIR") or user_state_path(_APP)
        return cls(Path(config), Path(state), Path.cwd())

    @property
    def user_file(self) -> Path:
        return self.config / settings.USER_FILE

    @property
    def project_file(self) -> Path:
        return self.project / settings.PROJECT_FILE

    @property
    def startup(self) -> Path:
        return self.config / settings.STARTUP_FILE

    @property
    def queries(self) -> Path:
        return self.config / settings.QUERIES_FOLDER

    @property
    def history(self) -> Path:
        return self.state / settings.HISTORY_FILE


class PrivateHistory(FileHistory):
    """Statements in a file only its owner can read. One that begins with a blank is not written."""

    def __init__(self, path: Path, size: int) -> None:
        self._size = size
        self._writable = _made_private(path)
        super().__init__(str(path))

    def load_history_strings(self) -> Iterable[str]:
        if not self._writable:
            return
        for number, text in enumerate(super().load_history_strings()):
            if number >= self._size:
                break
            yield text

    def append_string(self, string: str) -> None:
        if not string.startswith((" ", "\t")):
            super().append_string(string)

    def store_string(self, string: str) -> None:
        if self._writable and self._size:
            super().store_string(string)


def _made_private(path: Path) -> bool:
    """Make the file if there is none, and keep others out of it. False when there is no place for it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_RDWR, _PRIVATE))
        path.chmod(_PRIVATE)
    except OSError:
        return False
    return True
