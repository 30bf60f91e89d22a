"""Rewrite rules: one file, one function of the same name, plan in, plan out."""
