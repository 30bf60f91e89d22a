"""Changes of the schema of a graph."""
