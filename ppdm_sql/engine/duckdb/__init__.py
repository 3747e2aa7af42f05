"""The embedded DuckDB: how it runs statements, what is in its catalog, and what a statement may spend."""
