"""Where counts are run: the embedded DuckDB, behind one small protocol."""
