"""Maps engine/, grammar/ and repl/ into the omnigraph_sql package; its only job."""

from setuptools import find_packages, setup

LAYERS = ("engine", "grammar", "repl")

setup(
    packages=find_packages(
        include=["omnigraph_sql", "omnigraph_sql.*"],
        exclude=[f"omnigraph_sql.{layer}*" for layer in LAYERS],
    )
    + [f"omnigraph_sql.{layer}" for layer in LAYERS]
    + [f"omnigraph_sql.{layer}.{sub}" for layer in LAYERS for sub in find_packages(layer)],
    package_dir={"omnigraph_sql": "omnigraph_sql"} | {f"omnigraph_sql.{layer}": layer for layer in LAYERS},
)
