"""Chunks → rows in a table's full schema, with ids and the ends of edges made canonical."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base.catalog import DST, ID, SRC, Catalog, EdgeType, NodeType, TableType
from omnigraph_sql.base.errors import ConstraintViolation, DataError
from omnigraph_sql.base.identity import key_members
from omnigraph_sql.base.seams import IdSource
from omnigraph_sql.base.types import DATE, DATETIME, STRING, is_integer
from omnigraph_sql.engine.load.columns import converted, is_text_array
from omnigraph_sql.engine.load.places import located, placed
from omnigraph_sql.engine.load.values import Chunk, Spelling
from omnigraph_sql.engine.store.tables import table_schema
from omnigraph_sql.engine.write.images import canonical_column, derived_ids
from omnigraph_sql.engine.write.validate_values import value_violations

_LIKE_A_DAY: Final = r"^\d{4}-\d{2}-\d{2}"


@dataclass(frozen=True, slots=True)
class Rows:
    """Checked rows of one table. `fresh` when all their ids were made for this load."""

    batch: pa.RecordBatch
    fresh: bool


def rows_of(chunk: Chunk, catalog: Catalog, ids: IdSource) -> Rows:
    """The rows of a chunk. Raises DataError with the place of the first bad row."""

    def attempt(start: int, stop: int) -> dict[str, pa.Array]:
        return _prepared(chunk, catalog, start, stop)

    rows = _with_ids(chunk.type, located(chunk.rows, chunk.place, attempt), chunk.rows, ids)

    def check(start: int, stop: int) -> None:
        _check(chunk.type, rows.batch.slice(start, stop - start))

    located(chunk.rows, chunk.place, check)
    return rows


def rows_between(chunk: Chunk, catalog: Catalog, ids: IdSource, start: int, stop: int) -> Rows:
    """Some rows of a chunk. Raises DataError when one of them is bad, without its place."""
    rows = _with_ids(chunk.type, _prepared(chunk, catalog, start, stop), stop - start, ids)
    _check(chunk.type, rows.batch)
    return rows


def _with_ids(of: TableType, columns: dict[str, pa.Array], rows: int, ids: IdSource) -> Rows:
    """The rows in the table's schema, with ids made where there are none."""
    own = columns[ID]
    fresh = own.null_count == len(own)
    if fresh:
        own = ids.ulids(rows)
    elif own.null_count:
        own = pc.coalesce(own, ids.ulids(rows))
    schema = table_schema(of)
    arrays = [own if name == ID else columns[name] for name in schema.names]
    return Rows(pa.RecordBatch.from_arrays(arrays, schema=schema), fresh)


def _check(of: TableType, batch: pa.RecordBatch) -> None:
    for violation in value_violations(of, pa.Table.from_batches([batch])):
        raise violation


def _prepared(chunk: Chunk, catalog: Catalog, start: int, stop: int) -> dict[str, pa.Array]:
    """The columns of some rows in their final types; ids are null where one has to be made."""
    of, size = chunk.type, stop - start
    given = {name: _whole(chunk.columns[name].slice(start, size)) for name in chunk.columns.column_names}
    columns: dict[str, pa.Array] = {}
    for field in of.schema.fields:
        if field.name == ID:
            continue
        values = given.get(field.name, pa.nulls(size))
        try:
            if field.name in (SRC, DST):
                columns[field.name] = _ends(of, field.name, values, catalog, chunk.spelling)
            else:
                columns[field.name] = converted(values, field.type, chunk.spelling)
        except DataError as error:
            raise placed(error, f"{of.name}.{field.name}") from error
    columns[ID] = _ids(of, given.get(ID), columns, size)
    return columns


def _whole(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _ids(of: TableType, given: pa.Array | None, columns: Mapping[str, pa.Array], rows: int) -> pa.Array:
    explicit = _explicit(of, given)
    if not of.key:
        return pa.nulls(rows, pa.utf8()) if explicit is None else explicit
    derived = derived_ids(of, columns, rows)
    if explicit is not None:
        differs = pc.fill_null(pc.not_equal(explicit, derived), False)
        if pc.any(differs).as_py():
            said, meant = explicit.filter(differs)[0].as_py(), derived.filter(differs)[0].as_py()
            raise DataError(
                f"the id is {said!r}, but the key of this {of.name} makes it {meant!r}",
                hint="leave the id out; it follows from the key",
            )
    return derived


def _explicit(of: TableType, given: pa.Array | None) -> pa.Array | None:
    if given is None:
        return None
    members = key_members(of)
    if isinstance(of, NodeType) and len(members) == 1 and not is_text_array(given.type):
        return canonical_column(converted(given, members[0].type, Spelling.TYPED), members[0].type)
    try:
        found = converted(given, STRING, Spelling.TYPED)
    except DataError as error:
        raise placed(error, f"{of.name}.{ID}") from error
    if pc.any(pc.equal(found, "")).as_py():
        raise DataError(f"an id of {of.name} is empty")
    return found


def _ends(of: TableType, side: str, values: pa.Array, catalog: Catalog, spelling: Spelling) -> pa.Array:
    """The ids at one end of edges: texts are ids, other values are those of the node's only key."""
    assert isinstance(of, EdgeType)
    if values.null_count:
        raise ConstraintViolation("cannot be null", rule="not null", type=of.name, properties=(side,))
    name = of.source if side == SRC else of.target
    node = catalog.node(name)
    members = key_members(node) if node is not None else ()
    only = members[0].type if len(members) == 1 else None
    text = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
    if is_text_array(text.type):
        ids = text.cast(pa.utf8())
        if only is not None and is_integer(only) and spelling is Spelling.TEXT:
            return canonical_column(converted(ids, only, spelling), only)
        return _with_moments(ids, only) if only in (DATE, DATETIME) else ids
    if only is None:
        raise DataError(f"holds ids, which are texts; {name} has no key of a single property")
    return canonical_column(converted(text, only, Spelling.TYPED), only)


def _with_moments(ids: pa.Array, of: object) -> pa.Array:
    """Days and instants written out become the ids they stand for; an id has no hyphen there."""
    written = pc.match_substring_regex(ids, _LIKE_A_DAY)
    if not pc.any(written).as_py():
        return ids
    only = DATE if of == DATE else DATETIME
    read = canonical_column(converted(ids.filter(written), only, Spelling.JSON), only)
    return pc.replace_with_mask(ids, written, read)
