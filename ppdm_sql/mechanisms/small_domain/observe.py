"""Columns of small domains, in queries: in each part of the rows, a column that is kept or redrawn."""

from __future__ import annotations

from ppdm_sql.mechanisms.retained.observe import OBSERVER

MECHANISMS = {"small_domain": OBSERVER}
