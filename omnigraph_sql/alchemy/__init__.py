"""The SQLAlchemy dialect: `create_engine("omnigraph:///air.omni?branch=main")`."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Final

from sqlalchemy import exc
from sqlalchemy.engine import default
from sqlalchemy.engine.reflection import cache
from sqlalchemy.engine.url import URL
from sqlalchemy.types import DateTime

from omnigraph_sql.alchemy import reflection as facts
from omnigraph_sql.alchemy.compiler import StatementCompiler
from omnigraph_sql.alchemy.types import Instant, TypeCompiler, Vector, reflected_type
from omnigraph_sql.base import limits
from omnigraph_sql.base.catalog import Catalog, TableType

__all__ = ["OmniGraphDialect", "Vector"]

_FLAGS: Final = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_TEXTS: Final = ("branch", "actor", "durability", "memory_limit")
_SWITCHES: Final = ("read_only", "create")
_AUTOCOMMIT: Final = "AUTOCOMMIT"
_SERIALIZABLE: Final = "SERIALIZABLE"


class OmniGraphDialect(default.DefaultDialect):
    """Graphs for SQLAlchemy Core: node and edge types are tables, the connection is that of PEP 249."""

    name = "omnigraph"
    driver = "omnigraph_sql"
    supports_statement_cache = True
    default_paramstyle = "qmark"
    max_identifier_length = limits.IDENTIFIER_CHARACTERS_MAX

    statement_compiler = StatementCompiler
    type_compiler_cls = TypeCompiler
    colspecs = {DateTime: Instant}  # noqa: RUF012  (read by the base class as it is)

    supports_native_boolean = True
    supports_native_enum = True
    supports_multivalues_insert = True
    supports_default_values = True
    supports_empty_insert = False
    supports_sane_rowcount = True
    supports_sane_multi_rowcount = True
    insert_returning = True
    use_insertmanyvalues = True
    update_returning = True
    delete_returning = True
    update_returning_multifrom = True
    delete_returning_multifrom = True
    supports_alter = False
    supports_comments = False
    supports_sequences = False
    postfetch_lastrowid = False
    supports_views = True

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        import omnigraph_sql.dbapi

        return omnigraph_sql.dbapi

    # ---- connecting -------------------------------------------------------------------------------------------

    def create_connect_args(self, url: URL) -> tuple[list[str], dict[str, Any]]:
        """`omnigraph:///relative/path`, `omnigraph:////absolute/path` or `omnigraph:///s3://bucket/prefix`."""
        if url.host or url.username or url.password or url.port:
            raise exc.ArgumentError("a graph has no host: write omnigraph:///path/graph.omni, with three slashes")
        if not url.database:
            raise exc.ArgumentError("name the graph: omnigraph:///path/graph.omni")
        options: dict[str, Any] = {}
        for name, value in url.query.items():
            if name not in (*_TEXTS, *_SWITCHES) or not isinstance(value, str):
                known = ", ".join((*_TEXTS, *_SWITCHES))
                raise exc.ArgumentError(f"the address has an option {name!r}; there are {known}")
            options[name] = value if name in _TEXTS else _flag(name, value)
        return [url.database], options

    def is_disconnect(self, e: Any, connection: Any, cursor: Any) -> bool:
        """Whether the pool should give the connection up: it was closed, or its process was forked."""
        del connection, cursor
        return getattr(e, "code", None) in ("closed", "forked")

    def get_isolation_level_values(self, dbapi_conn: Any) -> list[Any]:
        del dbapi_conn
        return [_SERIALIZABLE, _AUTOCOMMIT]

    def get_default_isolation_level(self, dbapi_conn: Any) -> Any:
        return self.get_isolation_level(dbapi_conn)

    def get_isolation_level(self, dbapi_connection: Any) -> Any:
        return _AUTOCOMMIT if dbapi_connection.autocommit else _SERIALIZABLE

    def set_isolation_level(self, dbapi_connection: Any, level: Any) -> None:
        dbapi_connection.autocommit = level == _AUTOCOMMIT

    def _get_default_schema_name(self, connection: Any) -> str:
        return str(_graph(connection).branch)

    # ---- reflection -------------------------------------------------------------------------------------------

    def get_schema_names(self, connection: Any, **kw: Any) -> list[str]:
        """The branches."""
        del kw
        return [branch.name for branch in _graph(connection).branches()]

    def has_table(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> bool:
        del kw
        graph = _graph(connection, schema)
        if facts.table_named(graph.catalog, table_name) is not None:
            return True
        return any(name.casefold() == table_name.casefold() for name, _ in graph.session.schema().views)

    @cache
    def get_table_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        del kw
        return [of.name for of in _graph(connection, schema).catalog.tables()]

    @cache
    def get_view_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        del kw
        return [name for name, _ in _graph(connection, schema).session.schema().views]

    @cache
    def get_view_definition(self, connection: Any, view_name: str, schema: str | None = None, **kw: Any) -> str:
        del kw
        for name, text in _graph(connection, schema).session.schema().views:
            if name.casefold() == view_name.casefold():
                return str(text)
        raise exc.NoSuchTableError(view_name)

    @cache
    def get_columns(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> list[Any]:
        del kw
        catalog = _graph(connection, schema).catalog
        of = facts.table_named(catalog, table_name)
        if of is not None:
            return facts.columns(of, catalog)
        return self._view_columns(connection, table_name, schema)

    def _view_columns(self, connection: Any, name: str, schema: str | None) -> list[Any]:
        """The columns of a view are those of what it selects."""
        if name.casefold() not in (view.casefold() for view in self.get_view_names(connection, schema)):
            raise exc.NoSuchTableError(name)
        quoted = self.identifier_preparer.quote(name)
        (program,) = _graph(connection, schema).compile(f"SELECT * FROM {quoted}").programs
        return [
            {"name": f.name, "type": reflected_type(f.type), "nullable": f.nullable, "default": None}
            for f in program.fields
        ]

    @cache
    def get_pk_constraint(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        del kw
        of = self._table(connection, table_name, schema)
        return facts.primary_key(of) if of is not None else {"constrained_columns": [], "name": None}

    @cache
    def get_foreign_keys(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> list[Any]:
        del kw
        of = self._table(connection, table_name, schema)
        return (
            []
            if of is None
            else [{**key, "referred_schema": schema} for key in facts.foreign_keys(of, _catalog(connection, schema))]
        )

    @cache
    def get_indexes(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> list[Any]:
        del kw
        of = self._table(connection, table_name, schema)
        return [] if of is None else facts.indexes(of)

    @cache
    def get_unique_constraints(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[Any]:
        del kw
        of = self._table(connection, table_name, schema)
        return [] if of is None else facts.unique_constraints(of)

    @cache
    def get_check_constraints(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[Any]:
        del kw
        of = self._table(connection, table_name, schema)
        return [] if of is None else facts.check_constraints(of)

    @cache
    def get_table_comment(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        del kw
        of = self._table(connection, table_name, schema)
        return {"text": of.description if of is not None else None}

    def _table(self, connection: Any, name: str, schema: str | None) -> TableType | None:
        """The table; None for a view, which has no rules. Raises NoSuchTableError."""
        of = facts.table_named(_catalog(connection, schema), name)
        if of is None and name not in self.get_view_names(connection, schema):
            raise exc.NoSuchTableError(name)
        return of


def _flag(name: str, value: str) -> bool:
    found = _FLAGS.get(value.casefold())
    if found is None:
        raise exc.ArgumentError(f"{name} is true or false, not {value!r}")
    return found


def _graph(connection: Any, schema: str | None = None) -> Any:
    """The graph under a SQLAlchemy connection, on the branch that a schema names."""
    graph = connection.connection.dbapi_connection.graph
    return graph if schema is None or schema == graph.branch else graph.checkout(schema)


def _catalog(connection: Any, schema: str | None) -> Catalog:
    catalog: Catalog = _graph(connection, schema).catalog
    return catalog
