"""Columns that are replaced by their own values, in queries: as any that are kept or redrawn."""

from __future__ import annotations

from ppdm_sql.mechanisms.retained.observe import OBSERVER

MECHANISMS = {"identity": OBSERVER, "swap": OBSERVER}
