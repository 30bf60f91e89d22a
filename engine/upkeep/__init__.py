"""Upkeep: what keeps a graph fast without changing what it holds."""
