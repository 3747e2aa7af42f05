"""Connections to ask: one to a release, one with a release among other tables."""

from __future__ import annotations

import pytest

import ppdm_sql


@pytest.fixture
def con(release):
    with ppdm_sql.connect(release(0.5), read_only=True) as con:
        yield con


@pytest.fixture
def writable(release):
    """A database of the analyst's own, with a release attached."""
    with ppdm_sql.connect() as con:
        con.execute(f"ATTACH '{release(0.5)}' AS half (READ_ONLY)")
        con.execute("CREATE TABLE mine AS SELECT range AS a, 'x' || range AS b FROM range(5)")
        yield con
