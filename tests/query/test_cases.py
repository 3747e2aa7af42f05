"""Every case of the case files: refused as it says, or answered, and then compared with the truth."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from beside import exact_tables
from query.case_files import Case, read_cases

import ppdm_sql
from ppdm_sql.connection.connection import Connection
from ppdm_sql.engine.duckdb.embedded import EmbeddedEngine
from ppdm_sql.errors import PpdmError, QueryError, Unsupported
from ppdm_sql.syntax.parse import parse

CASES = read_cases()
MANY_KINDS = (
    "sums",
    "domain_groups",
    "structure",
    "grouping_sets",
    "spanning",
    "quantiles",
    "joins",
    "unions",
    "found",
    "names",
)
"""Files with aggregates that Bayes does not reconstruct among them."""
ACCEPTED = [case for case in CASES if case.accepted]
BOUNDS = re.compile(r"ppdm_(?:low|high)\(")
ERROR = re.compile(r"ppdm_error\((?:[^()]|\([^()]*\))*\)")


def named(case: Case) -> str:
    return f"{case.file}: {case.name}"


def plain(sql: str) -> str:
    """The question put to the original: bounds are the value itself, errors are nothing."""
    return re.sub(r"\b(everybody|indirect)\b(?! FROM)", "people", BOUNDS.sub("(", ERROR.sub("0.0", sql)))


def opened(path: Path, beside: dict[str, Path]) -> Connection:
    con = ppdm_sql.connect(":memory:")
    con.execute(f"ATTACH '{path}' AS release (READ_ONLY); USE release")
    for name, other in beside.items():
        con.execute(f"ATTACH '{other}' AS {name} (READ_ONLY)")
    con.execute("CREATE TEMP TABLE plain AS SELECT range AS x FROM range(10)")
    con._con.execute(exact_tables("release.perturbed.people", "TEMP"))
    con._con.execute("CREATE TEMP VIEW everybody AS SELECT * FROM release.perturbed.people")
    con._con.execute("CREATE TEMP VIEW indirect AS SELECT * FROM everybody")
    con._con.execute("CREATE TEMP MACRO leak() AS TABLE SELECT avg(age) FROM release.perturbed.people")
    return con


@pytest.fixture(scope="module")
def exact(release, beside) -> Iterator[Connection]:
    with opened(release(1.0), beside(1.0)) as con:
        yield con


@pytest.fixture(scope="module")
def half(release, beside) -> Iterator[Connection]:
    with opened(release(0.5), beside(0.5)) as con:
        yield con


def rows_of(result: duckdb.DuckDBPyRelation, keep_order: bool) -> list[tuple[object, ...]]:
    rows = result.fetchall()
    return rows if keep_order else sorted(rows, key=repr)


def assert_same(found: list[tuple[object, ...]], truth: list[tuple[object, ...]]) -> None:
    """Equal, counts exactly; sums and what follows from them up to rounding."""
    assert len(found) == len(truth)
    for row, true_row in zip(found, truth, strict=True):
        for value, true_value in zip(row, true_row, strict=True):
            if isinstance(value, float) and true_value is not None and float(true_value) % 1:
                assert value == pytest.approx(float(true_value), rel=1e-9, nan_ok=True)
            else:
                assert value == true_value


def test_there_are_many_cases_with_different_names():
    assert len(CASES) >= 130
    assert len({named(case) for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", [case for case in CASES if case.error], ids=named)
def test_refused_with_its_reason(case, half):
    with pytest.raises((PpdmError, duckdb.Error)) as caught:
        half.sql(case.sql).fetchall()
    assert str(caught.value).startswith(case.error)


@pytest.mark.parametrize("case", [case for case in CASES if case.untouched], ids=named)
def test_untouched_statements_run_as_they_are(case, exact, original):
    keep_order = "ORDER BY" in case.sql
    assert rows_of(exact.sql(case.sql), keep_order) == rows_of(original.sql(plain(case.sql)), keep_order)
    assert "reconstructed" not in exact.explain(case.sql)


@pytest.mark.parametrize("method", ["inversion", "bayes"])
@pytest.mark.parametrize("case", ACCEPTED, ids=named)
def test_with_retention_one_the_answer_is_the_plain_one(case, method, exact, original):
    exact.execute(f"SET ppdm_method = '{method}'")
    if method == "bayes" and (case.only_inversion or case.file in MANY_KINDS):
        try:
            exact.sql(case.sql)
        except Unsupported as refusal:
            assert "Bayes reconstructs" in str(refusal)
            return
    keep_order = "ORDER BY" in case.sql
    truth = rows_of(original.sql(plain(case.sql)), keep_order)
    found = rows_of(exact.sql(case.sql), keep_order)
    if case.file == "domain_groups":  # groups that nobody is in are shown, too
        found = [row for row in found if any(value for value in row[1:] if isinstance(value, float))]
    assert_same(found, truth)


@pytest.mark.parametrize("case", ACCEPTED, ids=named)
def test_result_columns_have_the_names_that_duckdb_gives(case, exact, original):
    simple = re.search(r"SELECT (?:count\((?:\*|\w+)\)|\w+, .*|.* AS \w+) FROM", case.sql)
    exact.execute("RESET ppdm_method")
    if simple and "ppdm_" not in case.sql:
        assert exact.sql(case.sql).columns == original.sql(plain(case.sql)).columns


@pytest.mark.parametrize("case", ACCEPTED, ids=named)
def test_rewriting_leaves_the_input_alone_and_gives_sql_that_parses(case, half):
    half.execute("RESET ppdm_method")
    before = parse(case.sql)
    half.sql(case.sql)
    assert parse(case.sql) == before
    text = half.explain(case.sql)
    assert "SQL:" in text
    for statement in text.split("SQL:\n")[1:]:
        assert parse(statement.split("\n\npart")[0]) is not None


@pytest.mark.parametrize("case", ACCEPTED, ids=named)
def test_what_only_explains_or_compiles_reads_no_rows(case, half, monkeypatch):
    def reads(self: EmbeddedEngine, statement: object, tables: object = None) -> None:
        raise AssertionError(f"it runs {statement}")

    half.execute("RESET ppdm_method")
    monkeypatch.setattr(EmbeddedEngine, "table", reads)
    assert "SQL:" in half.explain(case.sql)
    with contextlib.suppress(Unsupported):
        assert half.compile(case.sql, dialect="spark")
    with pytest.raises(QueryError, match="executemany is for statements that change tables"):
        half.executemany(case.sql, [[]])


@pytest.mark.parametrize("case", [case for case in CASES if case.expect], ids=named)
def test_the_sql_that_runs(case, half):
    half.execute("RESET ppdm_method")
    runs = half.explain(case.sql).split("SQL:\n")[1].replace('"perturbed".', "")  # where rows are stored
    assert runs.split() == case.expect.split()
