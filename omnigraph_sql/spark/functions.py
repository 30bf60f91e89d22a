"""`og_degree`, `og_neighbors`, `og_reach`, `og_lookup`: scalar functions over Arrow batches, at the pinned snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import DataError
from omnigraph_sql.run.ids import Ints
from omnigraph_sql.spark.crossing import crossing
from omnigraph_sql.spark.links import looked_up, neighbors
from omnigraph_sql.spark.place import GraphPlace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register_functions(spark: SparkSession, place: GraphPlace, prefix: str) -> None:
    """Make the functions known to a session, each bound to the place."""
    from pyspark.sql import functions as sf

    arrow_udf: Any = sf.arrow_udf  # type: ignore[attr-defined]  # there, and in no list of names

    for name, (returns, names, act) in FUNCTIONS.items():
        spark.udf.register(f"{prefix}{name}", arrow_udf(_function(name, names, partial(act, place)), returns))


def _function(name: str, names: tuple[str, ...], act: Callable[..., pa.Array]) -> Callable[..., pa.Array]:
    """What Spark calls. It takes any number of columns, since Spark tells nobody that there are too few."""

    def function(*columns: pa.Array) -> pa.Array:
        with crossing():
            if len(columns) != len(names):
                raise DataError(f"{name} takes {', '.join(names)}, {len(columns)} of {len(names)} were given")
            return act(*columns)

    function.__name__ = name
    return function


def degree(place: GraphPlace, edge: pa.Array, ids: pa.Array) -> pa.Array:
    """Edges of the type that leave each node."""
    return _each((edge,), ids, pa.int64(), lambda given, some: neighbors(place, _text(given[0])).degrees(some))


def neighborhood(place: GraphPlace, edge: pa.Array, ids: pa.Array, hops: pa.Array) -> pa.Array:
    """Ids of the nodes within so many hops, sorted."""

    def some(given: tuple[object, ...], part: pa.Array) -> pa.Array:
        walks = neighbors(place, _text(given[0]))
        lists = [_listed(walks.names, *one) for one in walks.reached(part, _hops(given[1]))]
        return pa.concat_arrays(lists) if lists else pa.array([], _TEXTS)

    return _each((edge, hops), ids, _TEXTS, some)


def reach(place: GraphPlace, edge: pa.Array, ids: pa.Array, hops: pa.Array) -> pa.Array:
    """How many nodes are within so many hops."""

    def some(given: tuple[object, ...], part: pa.Array) -> pa.Array:
        counts = [
            np.bincount(owner, minlength=count)
            for count, owner, _ in neighbors(place, _text(given[0])).reached(part, _hops(given[1]))
        ]
        return pa.array(np.concatenate(counts), pa.int64())

    return _each((edge, hops), ids, pa.int64(), some)


def lookup(place: GraphPlace, of: pa.Array, ids: pa.Array, name: pa.Array) -> pa.Array:
    """A property of each node or edge, as text; null when there is none."""
    return _each(
        (of, name), ids, pa.utf8(), lambda given, some: looked_up(place, _text(given[0]), _text(given[1]), some)
    )


FUNCTIONS: Final[Mapping[str, tuple[str, tuple[str, ...], Callable[..., pa.Array]]]] = {
    "og_degree": ("bigint", ("edge", "id"), degree),
    "og_neighbors": ("array<string>", ("edge", "id", "hops"), neighborhood),
    "og_reach": ("bigint", ("edge", "id", "hops"), reach),
    "og_lookup": ("string", ("type", "id", "property"), lookup),
}
"""What each gives, in Spark's words, what it takes, and what it does at a place."""
_TEXTS = pa.list_(pa.field("element", pa.utf8()))


def _listed(names: pa.Array, count: int, owner: Ints, node: Ints) -> pa.Array:
    """The names of each owner's nodes, sorted."""
    found = pa.table({"owner": owner, "name": names.take(pa.array(node))})
    order = pc.sort_indices(found, sort_keys=[("owner", "ascending"), ("name", "ascending")])
    offsets = np.searchsorted(owner, np.arange(count + 1)).astype(np.int32)
    texts = pa.concat_arrays([pa.array([], pa.utf8()), *found["name"].take(order).chunks])
    return pa.ListArray.from_arrays(pa.array(offsets), texts, type=_TEXTS)


def _text(value: object) -> str:
    return str(value)


def _hops(value: object) -> int:
    if not isinstance(value, int) or not 1 <= value <= limits.HOPS_MAX:
        raise DataError(f"{value} hops are not between 1 and {limits.HOPS_MAX}")
    return value


def _each(
    given: tuple[pa.Array, ...],
    ids: pa.Array,
    of: pa.DataType,
    act: Callable[[tuple[object, ...], pa.Array], pa.Array],
) -> pa.Array:
    """`act` for every combination of the other arguments, which are mostly the same in all rows; null gives null."""
    texts = ids if pa.types.is_string(ids.type) else ids.cast(pa.utf8())
    if len(texts) == 0:
        return pa.array([], of)
    whole = _same(given)
    if whole is not None:
        made = act(whole, texts)
        return pc.if_else(texts.is_valid(), made, pa.scalar(None, of)) if texts.null_count else made.cast(of)
    parts: list[pa.Array] = []
    places: list[np.ndarray[tuple[int], np.dtype[np.int64]]] = []
    for values, rows in _groups(given):
        part = texts.take(pa.array(rows))
        made = pa.nulls(len(part), of) if None in values else act(values, part).cast(of)
        parts.append(pc.if_else(part.is_valid(), made, pa.scalar(None, of)))
        places.append(rows)
    return pa.concat_arrays(parts).take(pa.array(np.argsort(np.concatenate(places), kind="stable")))


def _same(given: tuple[pa.Array, ...]) -> tuple[object, ...] | None:
    """The values of arguments that are the same in all rows; None when they differ or are null."""
    values = []
    for column in given:
        distinct = column.unique()
        if len(distinct) != 1 or distinct.null_count:
            return None
        values.append(distinct[0].as_py())
    return tuple(values)


def _groups(
    given: tuple[pa.Array, ...],
) -> Iterator[tuple[tuple[object, ...], np.ndarray[tuple[int], np.dtype[np.int64]]]]:
    rows = list(zip(*(column.to_pylist() for column in given), strict=True))
    by_values: dict[tuple[object, ...], list[int]] = {}
    for place, values in enumerate(rows):
        by_values.setdefault(values, []).append(place)
    for values, places in by_values.items():
        yield values, np.array(places, np.int64)
