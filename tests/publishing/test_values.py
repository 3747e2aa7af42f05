"""Values that break the policy: one clear error, no value in it, nothing left behind."""

import duckdb
import pytest

from ppdm_sql.errors import KeyFileError, PolicyError, PpdmError, SourceError
from ppdm_sql.publishing import publish

from .conftest import KEY, files_in, rows_of

UNIFORM = 'mechanism = "uniform"\nretain = 0.5\n'


def column(domain, more=""):
    return f'table = "t"\n[columns.x]\n{UNIFORM}domain = {domain}\n{more}'


def numbers(expression, rows=1_000):
    return duckdb.connect(), f"SELECT i AS id, {expression} AS x FROM range({rows}) t(i)"


SMALL = column("{ min = 0, max = 99 }")
REFUSED = {
    "outside": (
        numbers("CASE WHEN i IN (700, 702) THEN 7654321 ELSE i % 100 END"),
        SMALL,
        "the source query: column 'x' has values outside its declared domain; row 701 is the first of at least 2. "
        'Correct them, or widen its domain, or say outside = "clamp".',
    ),
    "not in the list": (
        numbers("CASE WHEN i = 3 THEN 'v7654321' ELSE 'a' END"),
        column('{ values = ["a"] }'),
        "row 4 is the first of at least 1. Correct them, or add what is missing to its list of values.",
    ),
    "not on the grid": (
        numbers("CASE WHEN i = 3 THEN 15 ELSE i % 10 * 10 END"),
        column("{ min = 0, max = 90, step = 10 }"),
        "row 4 is the first of at least 1",
    ),
    "not a number": (
        numbers("CASE WHEN i = 3 THEN 'nan'::DOUBLE ELSE i % 100 END"),
        column("{ min = 0, max = 99, step = 1 }", 'outside = "clamp"'),
        "row 4 is the first of at least 1. Correct them, or widen its domain.",
    ),
    "infinite": (
        numbers("CASE WHEN i = 3 THEN 'inf'::DOUBLE ELSE i % 100 END"),
        column("{ min = 0, max = 99, step = 1 }"),
        "row 4 is the first of at least 1",
    ),
    "null": (
        numbers("CASE WHEN i % 100 = 30 THEN NULL ELSE i % 100 END"),
        SMALL,
        "column 'x' is NULL where nulls = \"error\" allows none; row 31 is the first of at least 10. Say nulls",
    ),
    "null identity": (
        (duckdb.connect(), "SELECT nullif(i, 7) AS id, i AS x FROM range(50) t(i)"),
        'identity = ["id"]\n' + SMALL,
        "row 8 has no identity, for a column of it is NULL",
    ),
    "duplicate identity": (
        (duckdb.connect(), "SELECT i % 45 AS id, i AS x FROM range(50) t(i)"),
        'identity = ["id"]\n' + SMALL,
        "5 rows repeat the identity of an earlier row, such as row ",
    ),
    "coarse integers": (
        numbers("(i % 90) * 1000"),
        column("{ min = 0, max = 100000 }"),
        "every value of column 'x' is 0 plus a multiple of 1000, but its domain has a step of 1: kept values would be "
        "told from drawn ones by their digits. Declare step = 1000, min = 0, max = 100000.",
    ),
    "coarse with an offset": (
        numbers("(i % 9) * 10 + 3"),
        column("{ min = 0, max = 100 }"),
        "would be told from drawn ones by their digits. Declare step = 10, min = 3, max = 93.",
    ),
    "coarse reals": (
        numbers("(i % 90) / 2 - 10"),
        column("{ min = -10, max = 50, step = 0.01 }"),
        "is -10 plus a multiple of 0.5, but its domain has a step of 0.01",
    ),
    "coarse decimals": (
        numbers("((i % 90) / 4)::DECIMAL(10,2)"),
        column("{ min = 0, max = 50 }"),
        "Declare step = 0.25, min = 0, max = 50.",
    ),
    "coarse dates": (
        numbers("DATE '2020-01-06' + 7 * (i % 20)::INT"),
        column("{ min = 2020-01-01, max = 2021-01-01 }"),
        "is 2020-01-06 plus a multiple of 7 days, but its domain has a step of 1 day: kept values would be told from "
        "drawn ones by their digits. Declare step = '7 days', min = 2020-01-06, max = 2020-12-28.",
    ),
    "coarse moments": (
        numbers("TIMESTAMP '2020-01-01 00:30:00' + to_hours(2 * (i % 50))"),
        column('{ min = 2020-01-01T00:00:00, max = 2020-02-01T00:00:00, step = "1 minute" }'),
        "is 2020-01-01T00:30:00 plus a multiple of 2 hours, but its domain has a step of 1 minute",
    ),
    "coarse, clamped, with NULLs": (
        numbers("CASE WHEN i % 3 = 0 THEN NULL ELSE (i % 20) * 10 END"),
        column("{ min = 0, max = 100 }", 'outside = "clamp"\nnulls = "keep"'),
        "is 0 plus a multiple of 10",
    ),
}


@pytest.mark.parametrize("ending", ["duckdb", "parquet"])
@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_nothing_left_behind_but_a_fresh_key(name, ending, tmp_path):
    source, policy, message = REFUSED[name]
    with pytest.raises(SourceError) as caught:
        publish(source, policy, to=tmp_path / f"r.{ending}", key=tmp_path / "a.key")
    assert message in str(caught.value)
    assert "7654321" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert files_in(tmp_path) == ["a.key"]


ACCEPTED = {
    "fifteen rows": (numbers("(i % 5) * 10", 15), column("{ min = 0, max = 99 }")),
    "one value": (numbers("50"), column("{ min = 0, max = 99 }")),
    "one off the coarse grid, late": (
        numbers("CASE WHEN i = 9999 THEN 7 ELSE (i % 9) * 10 END", 10_000),
        column("{ min = 0, max = 99 }"),
    ),
    "only NULL": (numbers("NULL::INT"), column("{ min = 0, max = 99 }", 'nulls = "value"')),
    "rounded reals": (numbers("((i % 99) + 0.001)::DOUBLE"), column("{ min = 0, max = 99, step = 1 }")),
    "clamped": (numbers("i"), column("{ min = 0, max = 99 }", 'outside = "clamp"')),
    "a step that fits": (numbers("(i % 9) * 10"), column("{ min = 0, max = 90, step = 10 }")),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name, tmp_path):
    source, policy = ACCEPTED[name]
    manifest = publish(source, policy, to=tmp_path / "r.duckdb", key=KEY)
    assert manifest.rows == len(rows_of(tmp_path / "r.duckdb", "t"))


def test_the_coarse_grid_is_found_whatever_the_batches(tmp_path, monkeypatch):
    monkeypatch.setattr("ppdm_sql.publishing.layout.ROWS_A_BATCH", 2048)
    with pytest.raises(SourceError, match="plus a multiple of 10,"):
        publish(
            numbers("(i % 9) * 10 + i // 5000 * 20", 10_000),
            SMALL.replace("99", "199"),
            to=tmp_path / "r.duckdb",
            key=KEY,
        )


def test_positions_count_all_batches(tmp_path, monkeypatch):
    monkeypatch.setattr("ppdm_sql.publishing.layout.ROWS_A_BATCH", 2048)
    with pytest.raises(SourceError, match="row 9,001 is the first of at least 1"):
        publish(
            numbers("CASE WHEN i = 9000 THEN 500 ELSE i % 100 END", 10_000), SMALL, to=tmp_path / "r.parquet", key=KEY
        )


BAD_POLICIES = {
    "no domain": (f'table = "t"\n[columns.x]\n{UNIFORM}', PolicyError, "has no domain"),
    "min above max": (column("{ min = 9, max = 1 }"), PolicyError, "is above max"),
    "unknown mechanism": ('table = "t"\n[columns.x]\nmechanism = "gauss"\n', PolicyError, "unknown mechanism"),
    "unknown key": (SMALL + "p = 3\n", PolicyError, "unknown key 'p'"),
    "retention": (SMALL.replace("0.5", "1.01"), PolicyError, r"not a probability in \(0, 1\]"),
    "identity perturbed": ('identity = ["x"]\n' + SMALL, PolicyError, "both identity and perturbed"),
    "identity unknown": ('identity = ["nobody"]\n' + SMALL, PolicyError, "column 'nobody' of the policy is not in"),
    "wrong type": (column('{ values = ["a"] }'), PolicyError, "does not fit this type"),
    "all dropped": (
        'table = "t"\n[columns.x]\nmechanism = "drop"\n[columns.id]\nmechanism = "drop"\n',
        PolicyError,
        "drops every column",
    ),
    "no such file": ("no.toml", PolicyError, "cannot be read"),
}


@pytest.mark.parametrize("name", BAD_POLICIES)
def test_bad_policies_write_nothing(name, tmp_path):
    policy, kind, message = BAD_POLICIES[name]
    with pytest.raises(kind, match=message):
        publish(numbers("i % 100"), policy, to=tmp_path / "r.duckdb", key=tmp_path / "a.key")
    assert files_in(tmp_path) == []


def test_levels(tmp_path):
    policy = SMALL.replace("retain = 0.5\n", "") + "[levels]\nstate = 0.9\npublic = 0.1\n"
    shares = {}
    more = {"key": KEY, "ledger": tmp_path / "a.ledger"}
    for level in ("state", "public"):
        manifest = publish(numbers("i % 100", 20_000), policy, to=tmp_path / f"{level}.duckdb", level=level, **more)
        assert manifest.level == level
        assert manifest.perturbed[0].retain == {"state": 0.9, "public": 0.1}[level]
        rows = rows_of(tmp_path / f"{level}.duckdb", "t")
        shares[level] = sum(row[0] % 100 == row[1] for row in rows) / len(rows)
    assert abs(shares["state"] - 0.901) < 0.01
    assert abs(shares["public"] - 0.109) < 0.01
    with pytest.raises(PolicyError, match="has no retention of its own: name a level"):
        publish(numbers("i % 100"), policy, to=tmp_path / "none.duckdb", key=KEY)
    with pytest.raises(PolicyError, match="level 'press' is not declared"):
        publish(numbers("i % 100"), policy, to=tmp_path / "none.duckdb", level="press", **more)


def test_retention_one_releases_the_original(table, tmp_path):
    publish(numbers("i % 100"), SMALL.replace("0.5", "1.0"), to=tmp_path / "r.duckdb", key=KEY)
    assert sorted(rows_of(tmp_path / "r.duckdb", "t")) == [(i, i % 100) for i in range(1_000)]


def test_null_as_a_value_hides_which_rows_are_null(tmp_path):
    source = numbers("CASE WHEN i % 2 = 0 THEN NULL ELSE i % 100 END", 20_000)
    domain = f"{{ values = {list(range(100))} }}"
    publish(source, column(domain, 'nulls = "value"'), to=tmp_path / "v.duckdb", key=KEY)
    rows = rows_of(tmp_path / "v.duckdb", "t")
    were_null = [row[1] for row in rows if row[0] % 2 == 0]
    assert abs(sum(value is None for value in were_null) / len(were_null) - (0.5 + 0.5 / 101)) < 0.02
    assert any(row[1] is None for row in rows if row[0] % 2 == 1)


def test_null_kept_stays_where_it_was(tmp_path):
    source = numbers("CASE WHEN i % 5 = 0 THEN NULL ELSE i % 100 END")
    publish(source, column("{ min = 0, max = 99 }", 'nulls = "keep"'), to=tmp_path / "k.duckdb", key=KEY)
    assert all((row[1] is None) == (row[0] % 5 == 0) for row in rows_of(tmp_path / "k.duckdb", "t"))


def test_a_key_of_another_length(tmp_path):
    with pytest.raises(KeyFileError, match="a key has 32 bytes, this one has 5"):
        publish(numbers("i % 100"), SMALL, to=tmp_path / "r.duckdb", key=b"short")
    assert issubclass(KeyFileError, PpdmError)
