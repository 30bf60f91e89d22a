"""Branches of a graph."""
