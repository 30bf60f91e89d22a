"""The DataFusion sessions of the process: locked, deterministic, with the checked functions statements rely on."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from itertools import count
from threading import Event, Lock, Thread
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base.errors import ExecutionError, OmniError, ResourceLimitExceeded
from omnigraph_sql.engine.store.provider import failure_in

MARK: Final = "omnigraph says: "
"""What our own functions begin their messages with, so that they are found in what the engine makes of them."""

MEMORY_LIMIT: Final = "memory_limit"
_SORT_AHEAD_BYTES: Final = 10 * 1024 * 1024
_names = count(1)
_making = Lock()
"""Two threads that ask first must not make a session each."""
_starting, _loaded = Lock(), Event()
_loading: list[Thread] = []
_INTEGERS: Final = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_CHECKED: Final[dict[str, Callable[..., Any]]] = {
    "add": pc.add_checked,
    "subtract": pc.subtract_checked,
    "multiply": pc.multiply_checked,
}


def fresh_name() -> str:
    """A table name no other statement of the process uses."""
    return f"og_{next(_names)}"


def session() -> Any:
    """The session of statements without a limit, the same one for every thread. One partition: a statement that reads
    a part twice sees the same rows in the same order."""
    with _making:
        return _unlimited()


@cache
def _unlimited() -> Any:
    return _made(1, {})


def engine_for(memory_limit: int | None) -> Any:
    """The session for a statement. One with a limit of its own, in bytes, keeps to it by writing to disk what it can;
    joins sort their sides then, which can be written, and hash none."""
    if memory_limit is None:
        return session()
    _load()
    from datafusion import RuntimeEnvBuilder

    runtime = RuntimeEnvBuilder().with_fair_spill_pool(memory_limit).with_disk_manager_os()
    # Joins are sorted only where rows could be spread over partitions.
    ahead = max(1, min(_SORT_AHEAD_BYTES, memory_limit // 8))
    options = {
        "datafusion.optimizer.prefer_hash_join": "false",
        "datafusion.execution.sort_spill_reservation_bytes": str(ahead),
    }
    return _made(2, options, runtime)


def _load() -> None:
    """Load the library in a thread that nobody stops: cut off halfway, it could not be loaded again in this process."""
    with _starting:
        if not _loading:
            _loading.append(Thread(target=_import, name="omnigraph-load", daemon=True))
            _loading[0].start()
    _loaded.wait()


def _import() -> None:
    try:
        import_module("datafusion")
    finally:
        _loaded.set()


def _made(partitions: int, options: dict[str, str], runtime: Any = None) -> Any:
    # A step that does not give its thread back for long must not keep others from being stopped.
    os.environ.setdefault("TOKIO_WORKER_THREADS", str((os.cpu_count() or 1) + 2))
    _load()
    from datafusion import SessionConfig, SessionContext

    config = (
        SessionConfig()
        .with_target_partitions(partitions)
        .with_information_schema(False)
        .set("datafusion.sql_parser.map_string_types_to_utf8view", "false")
        .set("datafusion.sql_parser.recursion_limit", "1000")
        .set("datafusion.sql_parser.dialect", "duckdb")
        .set("datafusion.execution.time_zone", "UTC")
        # Bounds found while a join is built do not reach our tables, and not every key has bounds.
        .set("datafusion.optimizer.enable_dynamic_filter_pushdown", "false")
    )
    for name, value in options.items():
        config = config.set(name, value)
    made = SessionContext(config, runtime)
    for function in _registered():
        made.register_udf(function)
    return made


@cache
def _registered() -> tuple[Any, ...]:
    return tuple(_functions())


@cache
def _locked() -> Any:
    from datafusion import SQLOptions

    return SQLOptions().with_allow_ddl(False).with_allow_dml(False).with_allow_statements(False)


def ask(engine: Any, text: str, values: dict[str, pa.Scalar]) -> Any:
    """A DataFrame for a query; values are bound, never pasted. Raises ExecutionError."""
    with telling():
        return engine.sql_with_options(text, _locked(), param_values=values)


# ---- checked functions ------------------------------------------------------------------------------------------


def _functions() -> Iterator[Any]:
    from datafusion import udf

    for name, function in _CHECKED.items():
        for of in _INTEGERS:
            kind = pa.type_for_alias(of)
            yield udf(_checked(function), [kind, kind], kind, "immutable", f"og_{name}_{of}")
    double = pa.float64()
    yield udf(_divided, [double, double], double, "immutable", "og_divide")
    yield udf(_at_most_one, [pa.int64()], pa.bool_(), "immutable", "og_single")
    # Volatile functions are neither computed before the statement runs nor handed down to tables.
    yield udf(lambda truth: truth, [pa.bool_()], pa.bool_(), "immutable", "og_test")
    yield udf(lambda truth: truth, [pa.bool_()], pa.bool_(), "volatile", "og_hold")


def _checked(function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    def compute(left: Any, right: Any) -> Any:
        try:
            return function(left, right)
        except pa.ArrowInvalid:
            raise ValueError(f"{MARK}a whole number is out of range") from None

    return compute


def _divided(left: Any, right: Any) -> Any:
    if pc.any(pc.and_(pc.equal(right, 0.0), pc.is_valid(left))).as_py():
        raise ValueError(f"{MARK}division by zero")
    return pc.divide(left, right)


def _at_most_one(counts: Any) -> Any:
    most = pc.max(counts).as_py()
    if most is not None and most > 1:
        raise ValueError(f"{MARK}a sub-query that stands for one value gave {most} rows")
    return pa.array([True] * len(counts), pa.bool_())


class Unpushable(ExecutionError):
    """A condition reached a table that came out as a bare truth value; it has to be kept from there."""


# ---- failures ---------------------------------------------------------------------------------------------------

_FAILURES: Final = (
    (re.compile(re.escape(MARK) + r"([\w ,.-]*)"), r"\1"),
    (re.compile(r"divide by zero", re.IGNORECASE), "division by zero"),
    (re.compile(r"Cannot cast (?:string|value) '([^\n]{0,80}?)' to value of (\w+) type"), r"'\1' is not a \2"),
    (re.compile(r"Error parsing (?:timestamp|date) from '([^\n]{0,80}?)'"), r"'\1' is not a point in time"),
    (
        re.compile(r"overflow|out of range|too large to store|can't cast value", re.IGNORECASE),
        "a number is out of range",
    ),
    (re.compile(r"regular expression|regex parse|Regular expression did not compile"), "the pattern is not valid"),
)
_BARE_TRUTHS: Final = ("BooleanScalar", "bit_wise_and")
"""What is in the engine's words when it combines conditions for a table of which one is a bare truth value."""
_FALLBACK: Final = "the statement cannot be carried out"


def execution_error(error: BaseException) -> OmniError:
    """What the engine raised, in plain words; its own text stays in the cause."""
    text = str(error)
    stored = failure_in(text)
    if stored is not None:
        return stored
    if "Resources exhausted" in text:
        return _exhausted(text)
    if any(sign in text for sign in _BARE_TRUTHS):
        return Unpushable(_FALLBACK)
    for pattern, words in _FAILURES:
        found = pattern.search(text)
        if found is not None:
            return ExecutionError(found.expand(words).rstrip(" '"))
    return ExecutionError(_FALLBACK, hint="a part of it is not supported by the query engine")


_POOL: Final = re.compile(r"\(pool_size: ([\d.]+) (B|KB|MB|GB|TB)\)")
_ASKED: Final = re.compile(r"allocate additional ([\d.]+) (B|KB|MB|GB|TB)")
_UNITS: Final = {"B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}


def _exhausted(text: str) -> ResourceLimitExceeded:
    limit, more = (_bytes(pattern.search(text)) for pattern in (_POOL, _ASKED))
    return ResourceLimitExceeded(
        "the statement needs more memory than it may use, in a step that cannot go on on disk",
        resource=MEMORY_LIMIT,
        limit=limit,
        actual=limit + more,
        hint="raise memory_limit, or ask for less at once",
    )


def _bytes(found: re.Match[str] | None) -> int:
    return int(float(found[1]) * _UNITS[found[2]]) if found is not None else 0


@contextmanager
def telling() -> Iterator[None]:
    """Turns what the engine raises, its panics included, into an ExecutionError."""
    try:
        yield
    except (OmniError, KeyboardInterrupt, SystemExit, GeneratorExit, StopIteration):
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise execution_error(error) from error
