"""What is asked of a session: a text with its parameters, its statements, and their rows as a client sees them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Final, Literal, assert_never

import pyarrow as pa

from omnigraph_sql.base.errors import DataError, LanguageError, Location
from omnigraph_sql.base.expr import Value
from omnigraph_sql.base.process import refuse_forked
from omnigraph_sql.base.schema import Field
from omnigraph_sql.bind.parameters import PARAMETERS, Given, bind_parameters, bind_sets
from omnigraph_sql.bind.sql_binder import SqlOptions
from omnigraph_sql.grammar.source import Source, Span
from omnigraph_sql.plan.compile import Compiled, Program, compile_any, compile_gq, compile_sql
from omnigraph_sql.result import Counts, Result
from omnigraph_sql.run.contract import StoredSchema
from omnigraph_sql.run.read import read
from omnigraph_sql.run.scene import Scene, Sets

Language = Literal["gq", "sql", "any"]
_PLANS_KEPT: Final = 256
_PLACE_CHARACTERS: Final = 80
_GIVE: Final = "hand over a value for it, None for null"


@dataclass(frozen=True, slots=True)
class Request:
    """A text to be run, with the values of its parameters and, for a file of queries, the name of one.

    `sets`: the text stands for as many statements as there are sets of values, carried out together.
    """

    text: str
    params: Given = None
    language: Language = "any"
    name: str | None = None
    sets: tuple[Given, ...] | None = None

    def place(self) -> Location:
        """The beginning of the text, for errors about a whole statement."""
        return Source(self.text, "<statement>").locate(Span(0, min(len(self.text), _PLACE_CHARACTERS)))


class PlanCache:
    """Compiled texts by language, text and schema; shared by the sessions of a graph and safe for threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str, str, int], Compiled] = OrderedDict()
        self._lock = Lock()

    def compile(self, request: Request, schema: StoredSchema, skip: int = 0) -> Compiled:
        """The statements of a text but for the first `skip`, which a change of the schema has left behind."""
        key = (request.language, request.text, schema.key, skip)
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                return found
        made = _compile(request, schema, skip)
        with self._lock:
            self._kept[key] = made
            while len(self._kept) > _PLANS_KEPT:
                self._kept.popitem(last=False)
        return made


def compiled_under(schema: StoredSchema, request: Request) -> Compiled:
    """A text under a schema, not kept."""
    return _compile(request, schema, 0)


def _options(schema: StoredSchema) -> SqlOptions:
    return SqlOptions(hops_max=schema.hops_max, views=schema.views, graphs=schema.graphs)


def _compile(request: Request, schema: StoredSchema, skip: int) -> Compiled:
    catalog, options = schema.catalog, _options(schema)
    match request.language:
        case "gq":
            return compile_gq(request.text, catalog, name="<statement>")
        case "sql":
            return compile_sql(request.text, catalog, name="<statement>", options=options, skip=skip)
        case "any":
            return compile_any(request.text, catalog, name="<statement>", sql=options, skip=skip)
        case _:
            assert_never(request.language)


@dataclass(frozen=True, slots=True)
class Step:
    """One statement of a request: its place in the text, its plan, and whether others stand beside it.

    `declares`: its parameters are declared with their types, so a nullable one may be left out (`.gq`). `schema` is the
    key of the schema it was compiled under, `skipped` how many statements of the text were left out then.
    """

    request: Request
    index: int
    program: Program
    alone: bool
    declares: bool
    schema: str
    skipped: int = 0

    def values(self) -> dict[str, Value]:
        """The statement's parameters. In a script each statement takes its own of the names that were given."""
        given = self.request.params
        if not self.alone and isinstance(given, Mapping):
            names = {param.name for param in self.program.parameters}
            given = {name: value for name, value in given.items() if name in names}
        if not self.declares and (given is None or isinstance(given, Mapping)):
            _refuse_missing(self.program, given or {})
        return bind_parameters(self.program.parameters, given)

    def sets(self) -> Sets | None:
        """The values of all sets at once; None when the request has none."""
        given = self.request.sets
        if given is None:
            return None
        columns = bind_sets(self.program.parameters, given, optional=self.declares)
        return Sets(len(given), columns)


def _refuse_missing(program: Program, given: Mapping[str, object]) -> None:
    wanted = [param.name for param in program.parameters]
    for name in wanted:
        if name not in given:
            strange = [other for other in given if other not in wanted]
            hint = f"a value for {strange[0]} was given, which no statement takes" if strange else _GIVE
            raise DataError(f"parameter {name} is missing", hint=hint, code=PARAMETERS)


def steps(request: Request, plans: PlanCache, schema: StoredSchema, skip: int = 0) -> list[Step]:
    """The statements of a request, but for the first `skip`; of a file of queries the one that was asked for."""
    compiled = plans.compile(request, schema, skip)
    every = list(enumerate(compiled.programs, skip))
    if skip:
        return [Step(request, index, program, False, False, schema.key, skip) for index, program in every]
    if compiled.language == "gq" and (request.name is not None or len(every) > 1):
        chosen = [(index, program) for index, program in every if program.name == request.name]
        if not chosen:
            raise _no_such_query(request, [program.name or "" for _, program in every])
        every = chosen
    return steps_of(compiled, request, schema, every)


def steps_of(
    compiled: Compiled, request: Request, schema: StoredSchema, chosen: list[tuple[int, Program]] | None = None
) -> list[Step]:
    """Every statement of a text, or those that were chosen by their place, with the values that were given."""
    every = list(enumerate(compiled.programs)) if chosen is None else chosen
    _refuse_unknown_names(request, [program for _, program in every])
    declares = compiled.language == "gq"
    return [Step(request, index, program, len(every) == 1, declares, schema.key) for index, program in every]


def _no_such_query(request: Request, known: list[str]) -> LanguageError:
    message = f"there is no query {request.name}" if request.name else "the text has several queries"
    return LanguageError(message, at=request.place(), code="query_name", hint=f"name one of: {', '.join(known)}")


def _refuse_unknown_names(request: Request, programs: list[Program]) -> None:
    """A value that no statement of a script takes is a mistake; a single statement says so itself."""
    if len(programs) > 1 and isinstance(request.params, Mapping):
        every = tuple({p.name: p for program in programs for p in program.parameters}.values())
        bind_parameters(every, request.params)


# ---- rows -------------------------------------------------------------------------------------------------------


def rows_of(program: Program, scene: Scene) -> Result:
    """The rows of a read, streaming, under the names a client sees."""
    reader = read(program.plan, scene)
    names = [field.name for field in program.fields]
    schema = pa.schema([f.with_name(name) for f, name in zip(reader.schema, names, strict=True)])
    return Result(pa.RecordBatchReader.from_batches(schema, _named(reader, schema)))


def _named(reader: pa.RecordBatchReader, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    refuse_forked()
    for batch in reader:
        yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)
        refuse_forked()


def labelled(returned: pa.Table | None, fields: Iterable[Field]) -> pa.RecordBatchReader:
    """The rows of RETURNING under the names a client sees; none without RETURNING."""
    return empty_reader() if returned is None else returned.rename_columns([f.name for f in fields]).to_reader()


def empty_reader() -> pa.RecordBatchReader:
    return pa.schema([]).empty_table().to_reader()


def empty_result() -> Result:
    return Result(empty_reader(), counts=Counts())
