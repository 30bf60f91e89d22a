"""What Spark says when a job fails, as an error of ours: one sentence, and whose move is next.

Everything that runs on Spark runs before anything is announced, so a failure here has changed nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from omnigraph_sql.base import errors
from omnigraph_sql.base.errors import DataError, ExecutionError, OmniError, StorageError

_OURS: Final = re.compile(r"^omnigraph_sql\.base\.errors\.(\w+): (.+)$", re.MULTILINE)
_PYTHON: Final = re.compile(r"^(?:[\w.]+\.)?([A-Z]\w*): ?(.*)$", re.MULTILINE)
_STAGE: Final = re.compile(
    r"^Job aborted due to stage failure: .*?most recent failure: (?:Lost task [^)]*\)(?: \([^)]*\))*: )?", re.DOTALL
)
_CLASSES: Final = re.compile(r"^(?:[\w.$]+(?:Exception|Error): )+")
_CONDITION: Final = re.compile(r"^\[([A-Z_0-9.]+)\]")
_LOST: Final = (
    "Python worker exited unexpectedly",
    "ExecutorLostFailure",
    "stopped SparkContext",
    "SparkContext was shut down",
    "cancelled because SparkContext",
    "Master removed our application",
    "All masters are unresponsive",
)
_AWAY: Final = ("Connection refused", "UnknownHostException", "ConnectException", "timed out", "NoRouteToHost")
_NO_LIBRARY: Final = ("ClassNotFoundException", "No FileSystem for scheme")
_NOTHING: Final = "nothing was published"


@contextmanager
def telling_spark(doing: str = "Spark") -> Iterator[None]:
    """Raises what Spark raises inside as DataError, ExecutionError or StorageError; errors of ours pass."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise failure(str(error), doing) from error


def failure(text: str, doing: str) -> OmniError:
    """The error for a text of Spark's, which may hold the traces of two languages."""
    if "Traceback (most recent call last)" in text:
        return _of_python(text, doing)
    if found := next((word for word in _LOST if word in text), None):
        hint = f"{_NOTHING}; run it again, with more memory for executors if it happens again"
        return StorageError(f"{doing}: a process of Spark's is gone ({found})", kind="transient", hint=hint)
    told = shortened(text)
    if any(word in text for word in _NO_LIBRARY) and not _CONDITION.match(told):
        hint = "give Spark the library for such addresses, as in --packages of spark-submit"
        return StorageError(f"{doing}: {told}", kind="configuration", hint=hint)
    if any(word in told for word in _AWAY):
        return StorageError(f"{doing}: {told}", kind="transient", hint=_NOTHING)
    if _CONDITION.match(told):
        return DataError(f"{doing}: {told}")
    return StorageError(f"{doing}: {told}", kind="unknown", hint=_NOTHING)


def shortened(text: str) -> str:
    """The sentence in a text of Spark's: without calls, names of classes, stages and traces of Java."""
    told = text.partition("\n: ")[2] if text.startswith("An error occurred while calling") else text
    told = _CLASSES.sub("", told.partition("\n\tat ")[0].partition("SQLSTATE")[0].partition("\n== SQL")[0].strip())
    told = _CLASSES.sub("", _STAGE.sub("", told))
    return " ".join(told.split()).rstrip(" ;.") or "it failed and did not say why"


def _of_python(text: str, doing: str) -> OmniError:
    """A task that raised: an error of ours as it was, as far as a text can tell; whatever else as what failed."""
    ours = _OURS.findall(text)
    if ours:
        name, told = ours[-1]
        of = getattr(errors, name, OmniError)
        message = f"{doing}: {told}"
        return DataError(message) if issubclass(of, DataError) else StorageError(message, kind="unknown", hint=_NOTHING)
    raised = _PYTHON.findall(text.rpartition("Traceback (most recent call last)")[2])
    name, told = raised[-1] if raised else ("", "")
    if name == "ModuleNotFoundError":
        what = f"where tasks run there is {told[:1].lower()}{told[1:]}"
        hint = f"{_NOTHING}; install it for the Python of the executors, which PYSPARK_PYTHON names"
        return StorageError(f"{doing}: {what}", kind="configuration", hint=hint)
    what = f"{name}: {told}" if told else name
    return ExecutionError(f"{doing}: a task failed: {what or shortened(text)}", hint=_NOTHING)
