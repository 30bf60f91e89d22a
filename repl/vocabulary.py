"""The words the shell knows by itself: for colours, and for suggestions before a graph is open."""

from __future__ import annotations

from typing import Final

STATEMENTS: Final = (
    *("SELECT", "WITH", "FROM", "INSERT INTO", "UPDATE", "DELETE FROM", "MERGE INTO", "TRUNCATE", "VALUES"),
    *("BEGIN", "COMMIT", "ROLLBACK", "CREATE", "DROP", "ALTER TABLE", "COPY", "SET", "RESET", "USE BRANCH"),
    *("SHOW", "DESCRIBE", "SUMMARIZE", "EXPLAIN", "OPTIMIZE", "VACUUM", "CALL", "EXPORT GRAPH", "IMPORT GRAPH"),
)
"""How a SQL statement may begin."""

GQ_STATEMENTS: Final = ("match", "query", "insert", "update", "delete")

CLAUSES: Final = (
    *("SELECT", "DISTINCT", "FROM", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", "ON", "USING"),
    *("WHERE", "GROUP BY", "GROUP BY ALL", "HAVING", "QUALIFY", "WINDOW", "ORDER BY", "LIMIT", "OFFSET", "AS"),
    *("AND", "OR", "NOT", "IN", "EXISTS", "BETWEEN", "LIKE", "ILIKE", "IS NULL", "IS NOT NULL", "NULL", "TRUE"),
    *("FALSE", "CASE", "WHEN", "THEN", "ELSE", "END", "CAST", "UNION", "UNION ALL", "INTERSECT", "EXCEPT", "ASC"),
    *("DESC", "NULLS FIRST", "NULLS LAST", "VALUES", "SET", "RETURNING", "ON CONFLICT", "DO NOTHING"),
    *("DO UPDATE SET", "OVER", "PARTITION BY", "FILTER", "INTERVAL", "DATE", "TIMESTAMP", "VERSION AS OF"),
    *("TIMESTAMP AS OF", "AT (BRANCH =>", "GRAPH_TABLE", "MATCH", "COLUMNS", "RECURSIVE", "LATERAL"),
)
"""What may stand inside a SQL statement."""

OBJECTS: Final = {
    "CREATE": ("NODE TABLE", "EDGE TABLE", "TABLE", "INDEX ON", "VIEW", "OR REPLACE VIEW", "BRANCH", "PROPERTY GRAPH"),
    "DROP": ("TABLE", "INDEX", "VIEW", "BRANCH", "PROPERTY GRAPH"),
    "SHOW": ("TABLES", "NODES", "EDGES", "BRANCHES", "COMMITS", "INDEXES ON", "SETTINGS", "VIEWS"),
    "EXPLAIN": ("ANALYZE", "SELECT", "MATCH"),
    "SET": ("commit_message =", "actor =", "branch =", "if_commit =", "edge_delete =", "hops_max =", "read_only ="),
    "RESET": ("commit_message", "actor", "branch", "if_commit", "edge_delete", "hops_max", "read_only"),
}
"""What may follow the first word of a statement."""

TYPES: Final = (
    *("TEXT", "VARCHAR", "BOOLEAN", "INT", "BIGINT", "SMALLINT", "UINTEGER", "UBIGINT", "REAL", "FLOAT", "DOUBLE"),
    *("DATE", "TIMESTAMP", "TIMESTAMPTZ", "VECTOR", "ENUM", "BLOB"),
)

GQ_WORDS: Final = (
    *("match", "return", "order", "limit", "not", "as", "asc", "desc", "set", "where", "is", "null", "true", "false"),
    *("contains", "starts_with"),
)
GQ_AGGREGATES: Final = ("count", "sum", "avg", "min", "max")
GQ_FUNCTIONS: Final = ("search", "fuzzy", "match_text", "bm25", "nearest", "rrf", "now", "date", "datetime")
GQ_TYPES: Final = (
    *("String", "Bool", "I32", "I64", "U32", "U64", "F32", "F64", "Date", "DateTime", "Blob", "Vector(n)", "[String]"),
)

TABLE_FUNCTIONS: Final = ("GRAPH_TABLE", "gq", "unnest", "generate_series", "range", "nearest", "bm25", "hybrid")

SQL_WORDS: Final = frozenset(
    word for phrase in (*STATEMENTS, *CLAUSES) for word in phrase.replace("(", " ").split() if word.isalpha()
) | {
    *("INTO", "TABLE", "NODE", "EDGE", "INDEX", "VIEW", "BRANCH", "PROPERTY", "GRAPH", "PRIMARY", "KEY", "UNIQUE"),
    *("CHECK", "TO", "IF", "REPLACE", "IGNORE", "ADD", "COLUMN", "RENAME", "TABLES", "NODES", "EDGES", "BRANCHES"),
    *("COMMITS", "INDEXES", "SETTINGS", "VIEWS", "ANALYZE", "VERSION", "OF", "NEAREST", "GRAPH_TABLE", "MATCHED"),
    *(
        "CONFLICT",
        "DO",
        "NOTHING",
        "TRANSACTION",
        "WORK",
        "INNER",
        "OUTER",
        "NATURAL",
        "FETCH",
        "FIRST",
        "NEXT",
        "ROWS",
    ),
    *("ONLY", "VERTEX", "SHORTEST", "ANY", "ALL", "SOURCE", "FOR", "NAME", "CARDINALITY", "ROLLUP", "CUBE", "EXCLUDE"),
}
"""Words of SQL that are coloured, in capitals."""

RESERVED: Final = frozenset(
    {
        *(
            "SELECT",
            "FROM",
            "WHERE",
            "GROUP",
            "ORDER",
            "BY",
            "JOIN",
            "ON",
            "AS",
            "AND",
            "OR",
            "NOT",
            "IN",
            "IS",
            "NULL",
        ),
        *("TRUE", "FALSE", "CASE", "WHEN", "THEN", "ELSE", "END", "UNION", "INTERSECT", "EXCEPT", "LIMIT", "OFFSET"),
        *("SET", "VALUES", "INTO", "TABLE", "CREATE", "DROP", "ALTER", "USING", "WITH", "HAVING", "DISTINCT", "LIKE"),
        *("BETWEEN", "EXISTS", "CAST", "DESC", "ASC", "DEFAULT", "CHECK", "PRIMARY", "UNIQUE", "REFERENCES", "TO"),
        *("ALL", "ANY", "LEFT", "RIGHT", "FULL", "CROSS", "INNER", "OUTER", "NATURAL", "LATERAL", "WINDOW", "QUALIFY"),
        *("RETURNING", "INTERVAL", "UPDATE", "DELETE", "INSERT", "MERGE", "COLUMN", "FOR", "OVER"),
    }
)
"""Words that name a table or a column only in double quotes."""
