"""Advice on noise and small domains, against releases that follow it."""

from __future__ import annotations

import hashlib
import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ppdm_sql
from ppdm_sql.auditing import attack
from ppdm_sql.cli.main import main

ROWS = 6_000
POLICY = """
table = "t"
identity = ["id"]

[columns.pay]
mechanism = "gaussian"
noise = 0.5
step = 0.1

[columns.zip]
mechanism = "small_domain"
domain = { min = 0, max = 29 }
privacy = { rho1 = 0.1, rho2 = 0.4 }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("advice")
    rng = np.random.default_rng(8)
    common = np.repeat([0.09, 0.005], [10, 20])
    table = {"id": np.arange(ROWS), "pay": rng.gamma(4, 5, ROWS).round(1), "zip": rng.choice(30, ROWS, p=common)}
    pq.write_table(pa.table(table), path / "t.parquet")
    (path / "p.toml").write_text(POLICY)
    return path


def asked(folder, capsys, *more):
    assert main(["advise", str(folder / "p.toml"), "--rows", str(ROWS), "--format", "json", *more]) == 0
    return json.loads(capsys.readouterr().out)


def test_noise_for_a_distortion_leaves_guesses_with_it(folder, capsys, tmp_path):
    (found,) = asked(folder, capsys, "--distortion", "0.6")["noise"]
    assert found["declared"] == 0.5
    assert found["noise"] == pytest.approx(1.5, rel=1e-5)
    assert found["distortion"] == pytest.approx(0.6, rel=1e-5)
    source = pq.read_table(folder / "t.parquet")
    noisy = POLICY.partition("[columns.zip]")[0].replace("noise = 0.5", f"noise = {found['noise']}")
    rules = ppdm_sql.policy.load_policy(noisy)
    draws = 50
    means, kept = [], []
    for number in range(draws):
        key = hashlib.sha256(f"advised {number}".encode()).digest()
        path = tmp_path / f"{number}.parquet"
        ppdm_sql.publish(source.select(["id", "pay"]), rules, to=path, key=key, progress=False)
        means.append(np.mean(pq.read_table(path, columns=["pay"])["pay"].to_numpy()))
        kept.append(path)
    (number,) = attack(kept[:1], source).numbers
    assert (number.together.error / number.deviation) ** 2 == pytest.approx(0.6, rel=0.07)
    errors = (np.array(means) - np.mean(source["pay"].to_numpy())) / number.deviation
    assert np.mean(errors**2) == pytest.approx(found["mean_error"] ** 2, rel=2.5 * math.sqrt(2 / draws))


def test_small_domains_beside_plain_uniform(folder, capsys, tmp_path):
    (found,) = asked(folder, capsys, "--source", str(folder / "t.parquet"))["small_domains"]
    assert not found["equal"] and found["problem"] is None
    assert sum(rows for _, rows, _ in found["parts"]) == ROWS
    assert all(retain > found["plain"] for _, _, retain in found["parts"])
    assert found["error"] < found["plain_error"]
    # The release keeps what was advised, as near as coins part the rows.
    manifest = ppdm_sql.publish(
        folder / "t.parquet", folder / "p.toml", to=tmp_path / "r.parquet", key=bytes(32), progress=False
    )
    parts = next(column for column in manifest.perturbed if column.name == "zip").parts
    advised = np.average([p[2] for p in found["parts"]], weights=[p[1] for p in found["parts"]])
    assert np.mean([part.retain for part in parts]) == pytest.approx(advised, rel=0.3)
    (promise,) = attack([tmp_path / "r.parquet"], folder / "t.parquet").columns[0].promises
    assert promise.kept


def test_the_error_of_parts_is_that_of_counts_added_up(folder, capsys):
    """By simulation: in each part half of the values and of the rows meet the condition."""
    (found,) = asked(folder, capsys, "--source", str(folder / "t.parquet"))["small_domains"]
    rng = np.random.default_rng(3)
    total = np.zeros(3_000)
    for _, rows, p in found["parts"]:
        inside = rows // 2
        shown = rng.binomial(inside, p + (1 - p) / 2, 3_000) + rng.binomial(rows - inside, (1 - p) / 2, 3_000)
        total += (shown - rows * (1 - p) / 2) / p - inside
    assert total.std() / ROWS == pytest.approx(found["error"], rel=0.06)


def test_without_shares_all_are_taken_to_be_equal(folder, capsys):
    (found,) = asked(folder, capsys)["small_domains"]
    assert found["equal"] and found["parts"] == [[30, ROWS, found["parts"][0][2]]]
    assert main(["advise", str(folder / "p.toml"), "--rows", str(ROWS)]) == 0
    text = capsys.readouterr().out
    assert "on the assumption that all values are as common" in text
    assert "Gaussian noise:" in text and "33.3 %" in text


def test_what_is_asked_in_vain(folder, capsys, tmp_path):
    assert main(["advise", str(folder / "p.toml"), "--rows", "10", "--distortion", "1.5"]) == 2
    assert "distortion = 1.5 must be above 0 and below 1" in capsys.readouterr().err
    plain = tmp_path / "plain.toml"
    plain.write_text(
        'table = "t"\n[columns.zip]\nmechanism = "uniform"\ndomain = { min = 0, max = 29 }\nretain = 0.4\n'
    )
    assert main(["advise", str(plain), "--rows", "10", "--distortion", "0.5"]) == 2
    assert "no column has Gaussian noise" in capsys.readouterr().err
    assert main(["advise", str(plain), "--rows", "10", "--source", str(tmp_path / "gone.parquet")]) == 2
    source = str(folder / "t.parquet")
    more = ["--rho1", "0.1", "--rho2", "0.4", "--source", source]
    assert main(["advise", str(plain), "--rows", str(ROWS), *more]) == 0
    assert "zip: in small domains beside plain uniform" in capsys.readouterr().out
