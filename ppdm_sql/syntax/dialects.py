"""Dialects of SQL, by the names that sqlglot has for them."""

from __future__ import annotations

ANALYST = "duckdb"
"""What analysts write, and what texts of ours are written in unless another dialect is asked for."""

COMPILED = ("bigquery", ANALYST, "postgres", "snowflake", "spark", "trino")
"""What an answer can be compiled to."""
