"""omnigraph_sql.grammar"""

if __name__ != "omnigraph_sql.grammar":
    raise ImportError("import this layer as omnigraph_sql.grammar: a second identity would make two of every class")
