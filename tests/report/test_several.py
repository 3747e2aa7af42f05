"""What a ledger's releases tell together, on the page and against an attack on them."""

from __future__ import annotations

import hashlib
import math
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ppdm_sql.auditing import attack
from ppdm_sql.cli.main import main
from ppdm_sql.privacy import UniformChannel, highest_posterior
from ppdm_sql.publishing import publish
from ppdm_sql.report.ledger_section import several_page

ROWS, SIZE, RETAIN = 20_000, 10, 0.3


def policy(table: str = "t", low: int = 0) -> dict:
    rule = {"mechanism": "uniform", "domain": {"min": low, "max": SIZE - 1}, "retain": RETAIN}
    noisy = {"mechanism": "gaussian", "noise": 1.0, "deviation": 5, "step": 0.1}
    return {"table": table, "identity": ["id"], "columns": {"age": rule, "pay": noisy}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("several")
    rng = np.random.default_rng(9)
    table = {"id": np.arange(ROWS), "age": rng.permutation(ROWS) % SIZE, "pay": rng.normal(40, 5, ROWS).round(1)}
    pq.write_table(pa.table(table), path / "t.parquet")
    (path / "k.key").write_text(hashlib.sha256(b"several").hexdigest() + "\n")
    (path / "k.key").chmod(0o600)
    for name, table_name, more in (("a", "t", {}), ("b", "other", {"independent": True})):
        to = path / f"{name}.parquet"
        publish(path / "t.parquet", policy(table_name), to=to, key=path / "k.key", progress=False, **more)
    return path


def test_releases_that_cannot_be_coupled_add_up(folder):
    page = several_page(folder / "k.key.ledger", "t")
    gamma = UniformChannel(RETAIN, SIZE).gamma
    age, pay = page.rows
    assert age[:2] == ("age", "2") and pay[3] == "no such number"
    assert [float(number) for number in age[2:4]] == pytest.approx([math.log(gamma), 2 * math.log(gamma)], rel=0.01)
    assert "Copies of age cannot be coupled" in page.words[0]
    # A guess from both is surer than one release allows, and no surer than their sum does: here it is as sure.
    score = next(c for c in attack_both(folder).columns if c.name == "age").together
    one, both = (float(highest_posterior(g, 1 / SIZE)) for g in (gamma, gamma**2))
    assert one < score.surest.confidence <= both < score.surest.confidence + 0.05
    assert score.surest.right / score.surest.rows == pytest.approx(both, abs=4 * math.sqrt(0.25 / score.surest.rows))


def attack_both(folder):
    """Of one name, which is what an attacker would give them."""
    return attack([folder / "a.parquet", folder / "b.parquet"], folder / "t.parquet")


def test_the_page_shows_it(folder, capsys):
    arguments = ["report", str(folder / "a.parquet"), "-o", str(folder / "a.html")]
    assert main([*arguments, "--ledger", str(folder / "k.key.ledger")]) == 0
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", (folder / "a.html").read_text(encoding="utf-8")))
    assert "The ledger knows 2 releases of t. Copies of age cannot be coupled with each other" in text
    assert main([*arguments, "--replace", "--ledger", str(folder / "gone.ledger")]) == 2
    assert "there is no ledger" in capsys.readouterr().err


def test_coupled_copies_do_not_add_up(folder, tmp_path):
    key = tmp_path / "k.key"
    for retain in (0.3, 0.5):
        rules = policy()
        rules["columns"]["age"]["retain"] = retain
        publish(folder / "t.parquet", rules, to=tmp_path / f"{retain}.parquet", key=key, progress=False)
    page = several_page(tmp_path / "k.key.ledger", "T")
    assert "no more than the one that keeps most" in page.words[0]
    assert page.rows[0][2] == page.rows[0][3]
    assert several_page(tmp_path / "k.key.ledger", "cats").rows == ()
