"""The graph manifest: the one authority over which version of which table is visible."""
