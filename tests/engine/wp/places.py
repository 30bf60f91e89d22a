"""Failpoints that let a test do something at a named place, and digests of what is on disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from omnigraph_sql.engine.world import World
from tests.crash.scenes import world_with


class At:
    """Do something when `name` is reached for the first time; count everything."""

    def __init__(self, name: str = "", do: Callable[[], object] = lambda: None) -> None:
        self.name, self._do = name, do
        self.hits: Counter[str] = Counter()

    def hit(self, name: str) -> None:
        self.hits[name] += 1
        if name == self.name and self.hits[name] == 1:
            self._do()

    def requests(self) -> int:
        """How often storage was asked for something."""
        return sum(count for name, count in self.hits.items() if name.startswith(("store.", "manifest.", "audit.")))


def world_doing(root: Path, name: str, do: Callable[[], object]) -> World:
    return world_with(root, At(name, do))


def digest(root: Path) -> dict[str, str]:
    """Every file below a folder but leases, which hold nothing."""
    return {
        str(path.relative_to(root)): sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.name.startswith(".lease-")
    }
