"""Bound statements become the one logical plan of SQL and .gq."""
