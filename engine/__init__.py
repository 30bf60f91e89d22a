"""omnigraph_sql.engine"""

if __name__ != "omnigraph_sql.engine":
    raise ImportError("import this layer as omnigraph_sql.engine: a second identity would make two of every class")
