"""What SET changes for the statements after it, in one session."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import ConflictError, DataError
from omnigraph_sql.base.expr import Value
from omnigraph_sql.base.memory import memory_limit
from omnigraph_sql.engine.write.txn import Author

DESCRIPTIONS: Final = {
    "branch": "the branch that statements read and change",
    "actor": "who commits name as their author",
    "commit_message": "what commits say about themselves",
    "if_commit": "the head that a commit insists on; any other is refused",
    "edge_delete": "whether deleting a node takes its edges along (cascade) or is refused (restrict)",
    "hops_max": "how far a quantifier without an upper bound goes",
    "read_only": "whether changes are refused",
    "memory_limit": "how much memory the query engine may use for one statement",
}


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a session. Those of the commit are kept in its author."""

    branch: str
    author: Author
    edge_delete: str = "cascade"
    hops_max: int = limits.HOPS_MAX
    read_only: bool = False
    memory_limit: int | None = None

    def changed(self, name: str, value: Value, first: Settings) -> Settings:
        """With one setting changed; None goes back to what it was in `first`. Raises DataError for an unfit value."""
        match name:
            case "actor":
                return replace(self, author=replace(self.author, actor=_text(name, value, first.author.actor)))
            case "commit_message":
                return replace(self, author=replace(self.author, message=_text(name, value, first.author.message)))
            case "if_commit":
                head = _text(name, value, first.author.expected_head)
                return replace(self, author=replace(self.author, expected_head=head))
            case "edge_delete":
                return replace(self, edge_delete=_word(name, value, first.edge_delete, ("cascade", "restrict")))
            case "hops_max":
                return replace(self, hops_max=_number(name, value, first.hops_max))
            case "read_only":
                return replace(self, read_only=self._only_reading(value, first))
            case "memory_limit":
                limit = first.memory_limit if value is None else memory_limit(_text(name, value, None))
                return replace(self, memory_limit=limit)
            case "branch":
                found = _text(name, value, first.branch)
                if not found:
                    raise DataError("a branch has a name", hint="RESET branch goes back to the first one")
                return replace(self, branch=found)
            case _:
                raise DataError(f"there is no setting {name}")

    def _only_reading(self, value: Value, first: Settings) -> bool:
        wanted = first.read_only if value is None else value is True
        if first.read_only and not wanted:
            raise ConflictError("the graph is open for reading only", code="read_only", hint="open it for writing")
        return wanted

    def shown(self, first: Settings) -> list[dict[str, str | None]]:
        """A row for each setting: its name, what it is, what it was at first, and what it means."""
        now, then = self._values(), first._values()
        return [
            {"name": name, "value": now[name], "default_value": then[name], "description": meaning}
            for name, meaning in DESCRIPTIONS.items()
        ]

    def _values(self) -> dict[str, str | None]:
        return {
            "branch": self.branch,
            "actor": self.author.actor,
            "commit_message": self.author.message,
            "if_commit": self.author.expected_head,
            "edge_delete": self.edge_delete,
            "hops_max": str(self.hops_max),
            "read_only": "true" if self.read_only else "false",
            "memory_limit": None if self.memory_limit is None else str(self.memory_limit),
        }


def _text(name: str, value: Value, otherwise: str | None) -> str | None:
    if value is None:
        return otherwise
    if not isinstance(value, str):
        raise DataError(f"{name} is a text, not {value!r}")
    return value


def _word(name: str, value: Value, otherwise: str, words: tuple[str, ...]) -> str:
    found = _text(name, value, otherwise)
    if found not in words:
        raise DataError(f"{name} is one of {', '.join(words)}, not {value!r}")
    return found


def _number(name: str, value: Value, otherwise: int) -> int:
    if value is None:
        return otherwise
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= limits.HOPS_MAX:
        raise DataError(f"{name} is a number from 1 to {limits.HOPS_MAX}, not {value!r}")
    return value
