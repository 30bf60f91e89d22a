"""The Lance table `__manifest`: read its rows, and change them by the compare-and-swap that publishes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any, Final

import pyarrow as pa

from omnigraph_sql.base.errors import FormatError, OmniError, StorageError
from omnigraph_sql.base.seams import Failpoints
from omnigraph_sql.engine.store.durable import Disk, LeftToSystem
from omnigraph_sql.engine.store.failures import says_missing, storage_error
from omnigraph_sql.engine.store.root import MANIFEST, GraphRoot
from omnigraph_sql.engine.store.versions import has_successor
from omnigraph_sql.engine.values import MAIN

_CONTENTION: Final = ("too many concurrent writers", "retryable commit conflict", "incompatible transaction")
"""How the message of a lost compare-and-swap starts; anywhere else in it the words may be part of a path."""

_KNOWN_SECONDS: Final = 60.0
"""No cleanup takes a manifest version away that is younger than this."""


class Contention(Exception):
    """Another publish changed one of the same rows first; nothing of this one happened."""


@dataclass(frozen=True, slots=True)
class ManifestView:
    """The manifest of one branch at one version."""

    branch: str
    version: int
    dataset: Any

    @property
    def metadata(self) -> dict[bytes, bytes]:
        return dict(self.dataset.schema.metadata or {})


class ManifestTable:
    def __init__(self, root: GraphRoot, failpoints: Failpoints, disk: Disk | None = None) -> None:
        import lance

        self._lance: Any = lance
        self._root, self.failpoints, self._disk = root, failpoints, disk or LeftToSystem()
        self._session = self._lance.Session()
        self._listed: dict[str, tuple[int, float]] = {}
        """The newest version of each branch when it was last made or listed, and when that was."""

    def _address(self, branch: str) -> str:
        return self._root.child(manifest_home(branch))

    def settle(self, view: ManifestView) -> None:
        """Return when the view is as durable as the graph was opened for. Raises StorageError."""
        self._disk.settle(manifest_home(view.branch), view.dataset)

    def exists(self) -> bool:
        """Whether there is a manifest at all. Raises StorageError when that cannot be told."""
        try:
            self.open(MAIN)
        except StorageError as error:
            if error.kind == "not_found":
                return False
            raise
        return True

    def open(self, branch: str, version: int | None = None) -> ManifestView:
        """The newest version, or a given one. Raises StorageError; kind not_found when there is none."""
        try:
            self.failpoints.hit("manifest.open")
            options = self._root.storage_options
            made = self._lance.dataset(
                self._address(branch), version=version, session=self._session, storage_options=options
            )
        except ValueError as error:
            raise self._missing(branch, version, error) from error
        except Exception as error:
            raise storage_error(error, "opening the graph manifest", self._root) from error
        return ManifestView(branch, int(made.version), made)

    def _missing(self, branch: str, version: int | None, error: Exception) -> OmniError:
        if not says_missing(error, self._root):
            return storage_error(error, "opening the graph manifest", self._root)
        if version is not None:
            what = f"version {version} of branch {branch} is gone"
        elif branch != MAIN:
            what = f"there is no branch {branch}"
        else:
            what = f"there is no graph at {self._root.uri}"
        return StorageError(what, kind="not_found", hint=None if branch != MAIN else "make one with init")

    def newest(self, view: ManifestView) -> int:
        """The newest version of the view's branch."""
        try:
            self.failpoints.hit("manifest.newest")
            if self._known(view) and has_successor(Path(self._address(view.branch)), view.version) is False:
                return view.version
            found = int(view.dataset.latest_version)
        except Exception as error:
            raise storage_error(error, "looking for the newest manifest", self._root) from error
        self._listed[view.branch] = (found, monotonic())
        return found

    def _known(self, view: ManifestView) -> bool:
        """Whether the version was the newest of all a moment ago, so that no cleanup can have hidden later ones."""
        version, at = self._listed.get(view.branch, (0, 0.0))
        return self._root.local is not None and version == view.version and monotonic() - at < _KNOWN_SECONDS

    def rows(self, view: ManifestView) -> pa.Table:
        try:
            self.failpoints.hit("manifest.read")
            found: pa.Table = view.dataset.to_table()
        except Exception as error:
            raise storage_error(error, "reading the graph manifest", self._root) from error
        return found

    def create(self, rows: pa.Table, metadata: dict[bytes, bytes]) -> ManifestView:
        """The first version, with everything in it. Raises FileExistsError when there is a manifest already."""
        try:
            self.failpoints.hit("manifest.create")
            made = self._lance.write_dataset(
                rows.replace_schema_metadata(metadata),
                self._root.child(MANIFEST),
                mode="create",
                enable_v2_manifest_paths=True,
                storage_options=self._root.storage_options,
                session=self._session,
                auto_cleanup_options=None,
            )
        except OSError as error:
            if "already exists" in str(error).casefold():
                raise FileExistsError(str(error)) from error
            raise storage_error(error, "creating the graph manifest", self._root) from error
        return ManifestView(MAIN, int(made.version), made)

    def merge(self, view: ManifestView, rows: pa.Table) -> ManifestView:
        """The compare-and-swap: replace or add rows by object id, on top of `view`.

        Raises Contention when another publish changed one of these rows since, StorageError when the outcome is not
        known.
        """
        try:
            self.failpoints.hit("manifest.merge")
            # A commit moves the dataset it is called on; the view stays where it is.
            target = view.dataset.checkout_version(view.version)
            (
                target.merge_insert("object_id")
                .when_matched_update_all()
                .when_not_matched_insert_all()
                .use_index(False)
                .conflict_retries(0)
                .execute(rows)
            )
        except Exception as error:
            if isinstance(error, OSError) and str(error).casefold().startswith(_CONTENTION):
                raise Contention(str(error)) from error
            raise storage_error(error, "publishing", self._root) from error
        made = ManifestView(view.branch, int(target.version), target)
        if made.version == view.version + 1 and self._known(view):
            self._listed[view.branch] = (made.version, monotonic())
        return made

    def fragments(self, view: ManifestView) -> int:
        return len(view.dataset.get_fragments())

    def compact(self, view: ManifestView) -> ManifestView:
        """Fewer, larger files with the same rows; old versions stay readable. Only under the lease."""
        try:
            self.failpoints.hit("manifest.compact")
            target = self.open(view.branch).dataset
            target.optimize.compact_files(num_threads=1)
            made = self.open(view.branch)
        except Exception as error:
            raise storage_error(error, "compacting the graph manifest", self._root) from error
        self.settle(made)
        return made

    # ---- branches ---------------------------------------------------------------------------------------------

    def branches(self) -> dict[str, str]:
        """Names and identifiers of all branches but main; an identifier is never given twice."""
        return {name: _identifier(name, facts) for name, facts in self._branches().items()}

    def branch_instants(self) -> dict[str, datetime]:
        """When each branch but main was made, to the second."""
        return {name: datetime.fromtimestamp(int(facts["create_at"]), UTC) for name, facts in self._branches().items()}

    def _branches(self) -> dict[str, dict[str, Any]]:
        view = self.open(MAIN)
        try:
            self.failpoints.hit("manifest.branches")
            found: dict[str, dict[str, Any]] = view.dataset.branches.list()
            return found
        except Exception as error:
            raise storage_error(error, "listing branches", self._root) from error

    def create_branch(self, name: str, source: ManifestView) -> None:
        try:
            self.failpoints.hit("manifest.fork")
            owner = None if source.branch == MAIN else source.branch
            made = source.dataset.create_branch(name, (owner, source.version))
        except Exception as error:
            raise storage_error(error, f"creating branch {name}", self._root) from error
        self._disk.settle(manifest_home(name), made)


def manifest_home(branch: str) -> str:
    """The folder of the manifest of a branch, below the root."""
    return MANIFEST if branch == MAIN else f"{MANIFEST}/tree/{branch}"


def _identifier(name: str, facts: dict[str, Any]) -> str:
    found = facts.get("branch_identifier") or facts.get("identifier")
    if found is None:
        raise FormatError(f"branch {name} has no identifier")
    if isinstance(found, (list, tuple)):
        return "/".join(str(part) for part in found)
    return str(found)
