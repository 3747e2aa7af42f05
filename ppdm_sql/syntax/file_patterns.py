"""Names of files that stand for several."""

from __future__ import annotations

PATTERN = frozenset("*?[")
"""What makes a path a pattern, as DuckDB reads it."""
