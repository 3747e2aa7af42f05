"""Publishing with Gaussian noise: covariance declared or read off, levels that couple, types, errors."""

import json

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ppdm_udfs import Gaussian, Step, factor, joint_noise, row_blocks

import ppdm_sql
from ppdm_sql.errors import PolicyError, SourceError

KEY = bytes(range(32))


def table(rows=20_000):
    generator = np.random.default_rng(11)
    one = generator.normal(size=rows)
    other = 0.8 * one + 0.6 * generator.normal(size=rows)
    return pa.table(
        {
            "id": np.arange(rows),
            "a": np.round(50 + 12 * one).astype(np.int16),
            "b": 3e6 + 1234.5 * other,
            "group": generator.integers(0, 3, rows),
        }
    )


def publish(to, columns, source=None, **more):
    policy = {"table": "t", "identity": ["id"], "columns": columns}
    return ppdm_sql.publish(table() if source is None else source, policy, to=to, key=KEY, **more)


def read(path):
    return pq.read_table(path)


BOTH = {
    "a": {"mechanism": "gaussian", "noise": 0.5, "covariance": "data"},
    "b": {"mechanism": "gaussian", "noise": 0.5, "covariance": "data", "step": 0.1},
}


def test_noise_has_the_rounded_covariance_of_the_originals(tmp_path):
    manifest = publish(tmp_path / "r.parquet", BOTH)
    a, b = manifest.perturbed
    assert (a.spread, round(b.spread, 6)) == (12.0, 1200.0)
    assert a.columns == ("a",) and b.columns == ("a", "b")
    assert b.weights[0] / b.spread == pytest.approx(0.8, abs=0.011)
    original, released = table(), read(tmp_path / "r.parquet")
    assert released.schema.field("a").type == released.schema.field("b").type == pa.float64()
    noise = np.stack([released[c].to_numpy() - original[c].to_numpy() for c in "ab"])
    expected = np.array([[a.shared(a), a.shared(b)], [a.shared(b), b.shared(b)]])
    spread = np.sqrt((np.outer(np.diag(expected), np.diag(expected)) + expected**2) / noise.shape[1])
    assert (np.abs(np.cov(noise) - expected) / spread).max() < 4
    assert np.abs(noise.mean(axis=1) / np.sqrt(np.diag(expected) / noise.shape[1])).max() < 4


def test_the_kernel_is_what_publishes_and_the_order_of_columns_does_not_matter(tmp_path):
    manifest = publish(tmp_path / "r.parquet", BOTH)
    publish(tmp_path / "s.parquet", dict(reversed(BOTH.items())))
    released = read(tmp_path / "r.parquet")
    assert released.equals(read(tmp_path / "s.parquet"))
    rows = row_blocks([pa.array(np.arange(20_000))], KEY, "t")
    kernels = [Gaussian(c.noise, c.columns, c.weights, Step(*c.units)) for c in manifest.perturbed]
    noise = joint_noise([table()["a"], table()["b"]], kernels, key=KEY, table="t", rows=rows)[1]
    assert np.abs(released["b"].to_numpy() - table()["b"].to_numpy() - noise).max() < 0.0501


def test_declared_and_independent_covariances(tmp_path):
    declared = {
        "a": {"mechanism": "gaussian", "noise": 1, "covariance": {"a": 144, "b": 10000}},
        "b": {"mechanism": "gaussian", "noise": 2, "covariance": {"b": 1.5e6}, "step": 0.1},
    }
    a, b = publish(tmp_path / "r.parquet", declared).perturbed
    triangle = factor([[144.0, 10000.0], [10000.0, 1.5e6]])
    assert a.weights == (12.0,) and b.weights == pytest.approx(tuple(triangle[1]), rel=1e-9)
    alone = {
        "a": {"mechanism": "gaussian", "noise": 1},
        "b": {"mechanism": "gaussian", "noise": 1, "deviation": 1000, "step": 1},
    }
    a, b = publish(tmp_path / "s.parquet", alone).perturbed
    assert (a.columns, a.weights, b.columns, b.weights) == (("a",), (12.0,), ("b",), (1000.0,))


def test_levels_are_coupled(tmp_path):
    columns = {"b": {"mechanism": "gaussian", "noise": {"near": 0.25, "far": 4}, "deviation": 1000, "step": 0.01}}
    for level in ("far", "near"):
        publish(tmp_path / f"{level}.parquet", columns, level=level, ledger=tmp_path / "a.ledger")
    original = table()["b"].to_numpy()
    near, far = (read(tmp_path / f"{level}.parquet")["b"].to_numpy() - original for level in ("near", "far"))
    expected = 1e6 * np.array([[0.25, 0.25], [0.25, 4]])
    spread = np.sqrt((np.outer(np.diag(expected), np.diag(expected)) + expected**2) / len(near))
    assert (np.abs(np.cov(near, far) - expected) / spread).max() < 4


def test_duckdb_and_parquet_releases_and_streams_are_the_same(tmp_path):
    columns = {"b": {"mechanism": "gaussian", "noise": 1, "deviation": 1000, "step": 0.01}}
    publish(tmp_path / "r.parquet", columns)
    publish(tmp_path / "r.duckdb", columns, source=table().to_reader(700))
    with duckdb.connect(str(tmp_path / "r.duckdb")) as con:
        stored = con.sql("SELECT b FROM perturbed.t ORDER BY id").to_arrow_table()
    assert stored["b"].to_numpy().tolist() == read(tmp_path / "r.parquet")["b"].to_numpy().tolist()


def test_nulls(tmp_path):
    values = [1.0, None, 3.0, None]
    source = pa.table({"id": range(4), "a": [1, 2, 3, 4], "b": pa.array(values, pa.float64()), "group": [0] * 4})
    columns = {"b": {"mechanism": "gaussian", "noise": 1, "deviation": 1, "step": 0.01}}
    with pytest.raises(SourceError, match="row 2 is the first of at least 2"):
        publish(tmp_path / "r.parquet", columns, source)
    columns["b"]["nulls"] = "keep"
    publish(tmp_path / "r.parquet", columns, source)
    assert read(tmp_path / "r.parquet")["b"].is_null().to_pylist() == [False, True, False, True]


def one(values, **body):
    source = pa.table({"id": range(len(values)), "a": values, "b": [0.5] * len(values), "group": [0] * len(values)})
    return source, {"a": {"mechanism": "gaussian", "noise": 1} | body}


@pytest.mark.parametrize(
    ("case", "error", "reason"),
    [
        (one([1.5, float("nan")], step=0.1, deviation=1), SourceError, "row 2 is the first"),
        (one([1.5, float("inf")], step=0.1, deviation=1), SourceError, "within 2.53 steps"),
        (one([7, 7, 7]), SourceError, "all its values are alike"),
        (one([7]), SourceError, "fewer than two"),
        (one([1, 2, 3], deviation=0.5), PolicyError, "coarser than the noise"),
        (one([1, 2, 3]), PolicyError, None),
        (one([1, 2], covariance={"a": 4, "b": 9}), PolicyError, "'b', which has no covariance"),
    ],
)
def test_errors_name_the_rule_and_write_nothing(tmp_path, case, error, reason):
    source, columns = case
    if reason is None:  # noise of the data's own spread, 1, is as coarse as the step: still allowed
        publish(tmp_path / "r.parquet", columns, source)
        return
    with pytest.raises(error, match=reason):
        publish(tmp_path / "r.parquet", columns, source)
    assert list(tmp_path.iterdir()) == []


def test_a_matrix_that_is_no_covariance_is_refused(tmp_path):
    columns = {
        "a": {"mechanism": "gaussian", "noise": 1, "covariance": {"a": 1, "b": 5}},
        "b": {"mechanism": "gaussian", "noise": 1, "covariance": {"b": 1}, "step": 0.1},
    }
    with pytest.raises(PolicyError, match="the covariance of a, b: a covariance is positive definite"):
        publish(tmp_path / "r.parquet", columns)


def test_a_stream_cannot_be_read_twice(tmp_path):
    with pytest.raises(SourceError, match="can be read once only"):
        publish(tmp_path / "r.parquet", BOTH, source=table().to_reader())


def test_nothing_secret_is_in_the_manifest(tmp_path):
    manifest = publish(tmp_path / "r.parquet", BOTH)
    body = json.loads(manifest.to_json())["columns"][1]
    words = {"name", "type", "mechanism", "noise", "step", "nulls", "covariance", "mixed", "unit", "centre"}
    assert set(body) == words


def test_columns_that_go_together_in_full_still_get_a_covariance(tmp_path):
    numbers = np.random.default_rng(1).normal(size=1_000) * 10
    source = pa.table({"id": np.arange(1_000), "a": numbers, "b": 2 * numbers, "group": -numbers})
    columns = {
        c: {"mechanism": "gaussian", "noise": 1, "covariance": "data", "step": 0.01} for c in ("a", "b", "group")
    }
    perturbed = publish(tmp_path / "r.parquet", columns, source).perturbed
    assert all(np.isfinite(column.weights).all() and column.spread > 0 for column in perturbed)


def test_a_key_file_couples_levels_and_refuses_another_covariance(tmp_path):
    key = tmp_path / "k.key"
    policy = {
        "table": "t",
        "identity": ["id"],
        "columns": {"b": {"mechanism": "gaussian", "step": 1, "deviation": 1000}},
    }

    def again(to, **body):
        columns = {"b": policy["columns"]["b"] | body}
        return ppdm_sql.publish(table(), policy | {"columns": columns}, to=tmp_path / to, key=key)

    again("far.parquet", noise=4)
    again("near.parquet", noise=0.25)
    with pytest.raises(PolicyError, match="cannot be coupled"):
        again("other.parquet", noise=1, deviation=900)
