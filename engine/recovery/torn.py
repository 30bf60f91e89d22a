"""Lance branches whose maker died half way.

Lance writes the first version of a branch and then its name. A death in between leaves a version without a name, which
nothing shows and which Lance refuses to make anew.
"""

from __future__ import annotations

from typing import Final

from omnigraph_sql.engine.store.objects import Objects

_FOLDERS: Final = ("_versions", "_transactions")


def clear_torn_branch(objects: Objects, path: str, branch: str) -> None:
    """Remove what is left of a branch that the dataset at `path` has no name for.

    Only under the lease of the graph branch, and only when the dataset does not list the branch: what has no name was
    never shown to anybody. Branches whose names begin with this one stay.
    """
    for folder in _FOLDERS:
        place = f"{path}/tree/{branch}/{folder}"
        for name in objects.list(place):
            objects.delete(f"{place}/{name}")
