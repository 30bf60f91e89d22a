"""A schema and what the shell knows of it."""

from omnigraph_sql.base.catalog import Catalog
from omnigraph_sql.bind.schema import compile_schema
from omnigraph_sql.repl.knowledge import Knowledge

SCHEMA = """
node Airport { code: String @key  city: String  elevation: I32? }
node Carrier { iata: String @key  name: String }
node Order { number: I64 @key  "": String }
edge Route: Airport -> Airport { miles: I32 }
edge Hub: Carrier -> Airport { since: Date? }
""".replace('  "": String', "")

COMMIT = "01M7QCMSP2GSPQ0SRB7T14VE01"


def catalog() -> Catalog:
    return compile_schema(SCHEMA).catalog


def knowledge() -> Knowledge:
    return Knowledge(
        catalog=catalog(),
        branches=("main", "review/x"),
        commits=((COMMIT, "ana: first"),),
        functions=(("count", "aggregate"), ("coalesce", "function"), ("upper", "function")),
        tables=(("_", (("n", "I64"),)), ("omni.commits", (("id", "String"), ("actor", "String")))),
        parameters=(("code", "'LIM'"), ("since", "2020")),
        queries=(("reach", "SELECT …"),),
        settings=(("timing", "true"), ("theme", "auto")),
        forms=("table", "csv", "json"),
    )


def many_types(number: int) -> Catalog:
    """A schema with that many node types, each with ten properties, and an edge from each to the next."""
    properties = " ".join(f"p{i}: String?" for i in range(10))
    nodes = [f"node Type{i} {{ k: String @key {properties} }}" for i in range(number // 2)]
    edges = [f"edge Link{i}: Type{i} -> Type{(i + 1) % (number // 2)}" for i in range(number // 2)]
    return compile_schema("\n".join(nodes + edges)).catalog
