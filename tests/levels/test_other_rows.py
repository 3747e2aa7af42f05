"""What the ledger knows of the rows: how they are named, in what order, and whether positions may name others now."""

from __future__ import annotations

import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ppdm_sql.errors import OtherRows, PolicyError
from ppdm_sql.publishing import publish

KEY = bytes(range(32))
ROWS = 1_000
UNIFORM = {"x": {"mechanism": "uniform", "domain": {"min": 0, "max": 49}, "retain": 0.4}}


def table(rows=ROWS, **more):
    ids = np.arange(rows)
    return pa.table({"id": ids, "turned": ids[::-1] + 5, "x": ids * 7 % 50} | more)


def release(source, folder, name, *, identity=("id",), columns=UNIFORM):
    policy = {"table": "t", "columns": columns} | ({"identity": list(identity)} if identity else {})
    publish(source, policy, to=folder / name, key=KEY, ledger=folder / "ledger", progress=False)
    return pq.read_table(folder / name).sort_by("id")


def test_the_order_of_an_identity_does_not_matter(tmp_path):
    one = release(table(), tmp_path, "one.parquet", identity=["id", "turned"])
    other = release(table(), tmp_path, "other.parquet", identity=["turned", "id"])
    assert one["x"].equals(other["x"])


def test_an_identity_of_another_type_is_refused(tmp_path):
    one = release(table(), tmp_path, "one.parquet")
    small = release(table(id=pa.array(np.arange(ROWS), pa.int16())), tmp_path, "small.parquet")
    assert one["x"].equals(small["x"])
    for kind in (pa.string(), pa.float64()):
        with pytest.raises(PolicyError, match="rows were named by values of another type then"):
            release(table(id=pa.array(np.arange(ROWS)).cast(kind)), tmp_path, "other.parquet")


def test_deviations_that_differ_a_little_do_not_share_paths(tmp_path):
    """The same paths under weights of 15 and 15.0000000015 would give the paths away, and with them the originals."""

    def noisy(deviation, name):
        rule = {"mechanism": "gaussian", "noise": 1, "deviation": deviation, "step": 1e-12}
        return release(table(), tmp_path, name, columns={"x": rule})["x"].to_numpy()

    one, other = noisy(15.0, "one.parquet"), noisy(15.0 * (1 + 1e-10), "other.parquet")
    path = (other - one) / 15e-10
    assert np.abs(one - 15 * path - table()["x"].to_numpy()).mean() > 5
    with pytest.raises(PolicyError, match="covariance was"):
        noisy(15.0 * (1 + 1e-8), "third.parquet")


def test_positions_of_another_source_or_of_fewer_rows_are_warned_of(tmp_path):
    for name, rows in (("a", ROWS), ("b", ROWS)):
        pq.write_table(table(rows), tmp_path / f"{name}.source.parquet")
    release(tmp_path / "a.source.parquet", tmp_path, "first.parquet", identity=())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release(tmp_path / "a.source.parquet", tmp_path, "again.parquet", identity=())
    with pytest.warns(OtherRows, match=r"released 't' before from another source, as .*again.parquet.*row 1 here"):
        release(tmp_path / "b.source.parquet", tmp_path, "second.parquet", identity=())
    pq.write_table(table(ROWS - 1), tmp_path / "b.source.parquet")
    with pytest.warns(OtherRows, match="before with 1,000 rows, where there are 999 now"):
        release(tmp_path / "b.source.parquet", tmp_path, "third.parquet", identity=())
