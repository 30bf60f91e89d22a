"""Texts as vectors, through the function a graph was opened with."""

from __future__ import annotations

from typing import Any

from omnigraph_sql.base.catalog import TableType
from omnigraph_sql.base.errors import DataError, ExecutionError, InternalError, OmniError
from omnigraph_sql.base.expr import Expr
from omnigraph_sql.run.scalars import NOT_CONSTANT, constant
from omnigraph_sql.run.scene import Scene
from omnigraph_sql.run.search_score import point_of

_OPEN_WITH = "open the graph with embed=…, a function from texts to vectors; ogsql takes --embed FILE.py:FUNCTION"


def value_of(expr: Expr, scene: Scene) -> object:
    """An argument of a search, which is a literal or a parameter."""
    value = constant(expr, scene)
    if value is NOT_CONSTANT:
        raise InternalError("the arguments of a search are constants")
    return value


def point_for(query: object, of: TableType, column: str, dimension: int, scene: Scene) -> Any:
    """The query of `nearest` as a point; a text is embedded, once per statement."""
    if query is None:
        raise DataError("the query of nearest is missing", hint="hand over a vector or a text")
    if not isinstance(query, str):
        return point_of(query, dimension)
    known = scene.embedded.get(query)
    if known is None:
        _check_model(scene, of, column.partition(".")[2])
        known = scene.embedded[query] = _embedded(scene, query)
    return point_of(known, dimension)


def _check_model(scene: Scene, of: TableType, member: str) -> None:
    """The provider may say which model it uses; the schema may have said which one made the stored vectors."""
    embed = scene.world.embed
    if embed is None:
        raise ExecutionError("a text is no vector, and no embedding function was given", hint=_OPEN_WITH)
    made = next((p.embedding for p in of.properties if p.name == member), None)
    wanted, used = made.model if made is not None else None, getattr(embed, "model", None)
    if wanted is not None and used is not None and wanted != used:
        raise ExecutionError(
            f"{of.name}.{member} was made by the model {wanted}, and the embedding function uses {used}",
            hint="open the graph with a function that uses the same model",
        )


def _embedded(scene: Scene, text: str) -> Any:
    embed = scene.world.embed
    assert embed is not None
    try:
        made = embed([text])
        vectors = list(made)
    except OmniError:
        raise
    except Exception as error:
        raise ExecutionError(f"the embedding function failed: {error}", hint="see the cause") from error
    if len(vectors) != 1:
        raise ExecutionError(f"the embedding function gave {len(vectors)} vectors for 1 text")
    return vectors[0]
