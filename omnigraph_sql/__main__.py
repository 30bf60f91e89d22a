"""`python -m omnigraph_sql` is the `ogsql` command."""

from omnigraph_sql.cli import main

if __name__ == "__main__":
    main()
