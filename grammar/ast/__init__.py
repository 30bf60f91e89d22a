"""Frozen syntax trees; every node carries its span."""
