"""The page on publishing in SQL is true: its statements run, one after the other."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb

import ppdm_sql

PAGE = Path(__file__).parents[2] / "examples" / "publishing_in_sql.md"


def test_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```sql\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 5
    with ppdm_sql.connect() as con:
        for block in blocks:
            con.execute(block)
        assert con.execute("SHOW PERTURBED TABLES").fetchall() == []
    with duckdb.connect("public.duckdb") as con:
        assert con.execute("SELECT count(*) FROM perturbed.adult").fetchall() == [(2_000,)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["adult.key", "adult.key.ledger", "public.duckdb"]
