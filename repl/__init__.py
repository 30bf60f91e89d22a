"""omnigraph_sql.repl"""

if __name__ != "omnigraph_sql.repl":
    raise ImportError("import this layer as omnigraph_sql.repl: a second identity would make two of every class")
