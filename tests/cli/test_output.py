from __future__ import annotations

import csv
import io
import json

import duckdb
import pytest

from ppdm_sql.cli.output import show, table

KINDS = """
    SELECT NULL AS nothing, 'a,"b"' AS text, true AS yes, 1.50::DECIMAL(9, 2) AS price,
           12345678901234567890123456.75::DECIMAL(38, 2) AS long, 'nan'::DOUBLE AS nan, '-inf'::DOUBLE AS inf,
           DATE '2020-02-29' AS day, TIMESTAMP '2020-02-29 12:30:00' AS moment, TIME '12:30:00' AS clock,
           [1, NULL] AS list, {'x': 1.5} AS struct, '\\xAB'::BLOB AS bytes,
           170141183460469231731687303715884105727 AS big,
           INTERVAL 1 DAY AS span, uuid '12345678-1234-1234-1234-123456789abc' AS id
"""


def shown(capsys: pytest.CaptureFixture[str], sql: str, form: str) -> str:
    with duckdb.connect() as con:
        con.execute(sql)
        show([column[0] for column in con.description], con.fetchall(), form)
    return capsys.readouterr().out


def test_json_of_every_kind(capsys):
    [row] = json.loads(shown(capsys, KINDS, "json"))
    assert row == {
        "nothing": None,
        "text": 'a,"b"',
        "yes": True,
        "price": 1.5,
        "long": "12345678901234567890123456.75",
        "nan": None,
        "inf": None,
        "day": "2020-02-29",
        "moment": "2020-02-29T12:30:00",
        "clock": "12:30:00",
        "list": [1, None],
        "struct": {"x": 1.5},
        "bytes": "ab",
        "big": 170141183460469231731687303715884105727,
        "span": "1 day, 0:00:00",
        "id": "12345678-1234-1234-1234-123456789abc",
    }


def test_csv_of_every_kind(capsys):
    [row] = csv.DictReader(io.StringIO(shown(capsys, KINDS, "csv")))
    assert row["nothing"] == ""
    assert row["text"] == 'a,"b"'
    assert row["yes"] == "true"
    assert row["price"] == "1.50"
    assert row["day"] == "2020-02-29"
    assert row["list"] == "[1, null]"


def test_table_of_every_kind(capsys):
    out = shown(capsys, KINDS, "table")
    assert "NULL" in out
    assert out.endswith("(1 row)\n")


def test_no_rows(capsys):
    assert shown(capsys, "SELECT 1 AS x WHERE false", "table") == "x\n-\n(0 rows)\n"
    assert shown(capsys, "SELECT 1 AS x WHERE false", "csv") == "x\n"
    assert json.loads(shown(capsys, "SELECT 1 AS x WHERE false", "json")) == []


def test_equal_names_stay_apart_in_json(capsys):
    assert json.loads(shown(capsys, "SELECT 1 AS a, 2 AS a", "json")) == [{"a": 1, "a_2": 2}]


def test_control_characters_cannot_break_a_table():
    out = table(["x"], [("one\ntwo",), ("\x1b[31m",)])
    assert out.splitlines() == ["x", "--------", "one\\ntwo", "\\x1b[31m"]


def test_wide_letters_are_aligned():
    lines = table(["name", "n"], [("東京", 1), ("Zürich", 2)]).splitlines()
    assert lines[2] == "東京   | 1"
    assert lines[3] == "Zürich | 2"


@pytest.mark.parametrize(
    ("value", "text"), [(2895.045045, "2895.05"), (-1234.5, "-1234.50"), (0.001234567, "0.00123457"), (1e300, "1e+300")]
)
def test_numbers_in_tables_are_short(value, text):
    assert table(["x"], [(value,)]).splitlines()[2].strip() == text
