"""The catalogue of places where a fault can be planned. A guard test compares it with the `hit` calls in the source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Failpoint:
    """A place where a fault can be planned, and why a fault there is worth planning."""

    name: str
    reason: str


_PROTOCOL: Final = """
write.before_lease      nothing durable has happened; whatever was staged is garbage
schema.before_contract  a schema change is prepared, nothing is written
schema.after_contract   a schema that nothing names
arm.before              the lease is held, the world is revalidated, nothing is announced
arm.after               an intent without effects
commit.before_table     an intent, and as many effects as tables came before
commit.after_fork       a Lance branch that only the intent knows
commit.before_create    an intent, and as many new tables as came before
commit.after_create     a new table that only the intent knows
commit.after_table      one more effect than announced to anybody
confirm.before          all effects, not confirmed: undone by a full recovery
confirm.after           all effects, confirmed: finished by the next writer
publish.before          the same, inside the publish step
publish.after_merge     visible, and nobody has been told
publish.after           visible, the intent still there
disarm.before           visible, the intent still there, the caller about to be told
disarm.after            done, but for the lease
"""

_RECOVERY: Final = """
heal.before_publish     a recovery that is about to roll forward dies
heal.after_publish      rolled forward and not yet logged
heal.before_restore     the decision to undo is on disk, nothing is undone
heal.after_restore      some tables are restored, nothing is published
heal.after_rollback     undone and published, not yet logged
heal.after_drop         a table that never became visible is removed, the intent still there
heal.after_audit        logged, the intent still there
"""

_INIT: Final = """
init.after_contract     schema files without a graph
init.after_table        tables that nothing names
init.before_manifest    everything but the commit point
init.after_manifest     a graph whose claim is still there
"""

_STORAGE: Final = """
store.put_new           creating a control object fails
store.put               replacing a control object fails
store.get               reading a control object fails
store.list              listing intents fails
store.delete            removing an intent fails
store.lease             taking the lease fails
store.open              opening a table fails
store.newest            asking for a table's newest version fails
store.create            creating a table fails
store.drop              removing a table that nothing names fails
store.branches          listing the branches of a table fails
store.fork              branching a table fails
store.restore           restoring a table fails
store.lookup            looking ids up fails
store.write             writing data files fails
store.commit            committing a table fails
store.index             building an index fails
store.sync              bringing files to the disk fails
store.move              moving loaded files to a branch fails
store.remove            removing loaded files that nothing names fails
load.after_files        all files of a load are written, nothing names them
manifest.open           opening the manifest fails
manifest.newest         asking for the newest manifest fails
manifest.read           reading the manifest fails
manifest.create         creating the manifest fails
manifest.merge          the compare-and-swap fails
manifest.compact        compacting the manifest fails
manifest.branches       listing branches fails
manifest.fork           creating a graph branch fails
audit.create            creating the log of recoveries fails
audit.read              reading the log of recoveries fails
audit.append            writing the log of recoveries fails
"""


def _listed(*texts: str) -> tuple[Failpoint, ...]:
    lines = (line.split(maxsplit=1) for text in texts for line in text.strip().splitlines())
    return tuple(Failpoint(name, reason) for name, reason in lines)


CATALOGUE: Final[tuple[Failpoint, ...]] = _listed(_PROTOCOL, _RECOVERY, _INIT, _STORAGE)
"""Every failpoint of the product."""
