"""A column's policy met with its SQL type."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from ppdm_sql.domain.domain import Grid, Range, Values
from ppdm_sql.errors import PolicyError
from ppdm_sql.mechanisms.retention import Retention
from ppdm_sql.policy import ColumnPolicy, bind

DAY = 86_400_000_000
NS_END = (2**63 - 1) // 1000


def bound(type_name, domain, **more):
    return bind(ColumnPolicy("x", "uniform", domain, Retention("retain", 0.3), **more), type_name)


GRIDS = [
    ("INTEGER", Range(17, 90), Grid(17, 1, 74)),
    ("UTINYINT", Range(0, 255), Grid(0, 1, 256)),
    ("TINYINT", Range(-128, 127, 5), Grid(-128, 5, 52)),
    ("UBIGINT", Range(2**64 - 10, 2**64 - 1), Grid(2**64 - 10, 1, 10)),
    ("HUGEINT", Range(10**30 + 1, 10**30 + 9, 2), Grid(10**30 + 1, 2, 5)),
    ("INTEGER", Range(Decimal("1.0"), Decimal("2.0")), Grid(1, 1, 2)),
    ("DECIMAL(10,2)", Range(0, 10), Grid(0, 1, 1001, 2)),
    ("DECIMAL(10,2)", Range(0, 10, Decimal("0.5")), Grid(0, 50, 21, 2)),
    ("DECIMAL(38,0)", Range(10**37 + 1, 10**37 + 3), Grid(10**37 + 1, 1, 3)),
    (
        "DECIMAL(38,10)",
        Range(Decimal("1234567890123456789012345678.0000000001"), Decimal("1234567890123456789012345678.0000000003")),
        Grid(12345678901234567890123456780000000001, 1, 3, 10),
    ),
    ("DOUBLE", Range(0, 1, Decimal("0.01")), Grid(0, 1, 101, 2)),
    ("DOUBLE", Range(-5, 5, Decimal("2.50")), Grid(-50, 25, 5, 1)),
    ("FLOAT", Range(0, 1000, 10), Grid(0, 10, 101)),
    ("DOUBLE", Range(Decimal("1E+3"), Decimal("3E+3"), Decimal("1E+3")), Grid(1000, 1000, 3)),
    ("DATE", Range(date(1969, 12, 31), date(1970, 1, 2)), Grid(-1, 1, 3)),
    ("DATE", Range(date(1970, 1, 1), date(1970, 1, 15), timedelta(days=7)), Grid(0, 7, 3)),
    ("DATE", Range(date(1970, 1, 1), date(1970, 1, 15), 7), Grid(0, 7, 3)),
    ("TIMESTAMP", Range(datetime(1970, 1, 1), datetime(1970, 1, 2), timedelta(hours=1)), Grid(0, DAY // 24, 25)),
    ("TIMESTAMP_S", Range(date(1970, 1, 1), date(1970, 1, 3), timedelta(days=1)), Grid(0, DAY, 3)),
    (
        "TIMESTAMP WITH TIME ZONE",
        Range(
            datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))),
            datetime(1970, 1, 1, 1, tzinfo=UTC),
            timedelta(minutes=30),
        ),
        Grid(0, 1_800_000_000, 3),
    ),
]


@pytest.mark.parametrize(("type_name", "declared", "expected"), GRIDS)
def test_grids(type_name, declared, expected):
    column = bound(type_name, declared)
    assert column.domain == expected
    assert column.size == expected.size
    assert bound(type_name, declared, nulls="value").size == expected.size + 1
    assert bound(type_name, declared, nulls="keep").size == expected.size


REFUSED = [
    ("VARCHAR", Values(("a\0b", "c")), "up to 10,000 characters, and none of them is NUL"),
    ("VARCHAR", Values(("x" * 10_001, "c")), "up to 10,000 characters, and none of them is NUL"),
    ("INTEGER", Range(0, 2**31), "reaches beyond what this type can hold"),
    ("UTINYINT", Range(-1, 5), "reaches beyond what this type can hold"),
    ("INTEGER", Range(0, 10, 3), "max is not a whole number of steps above min"),
    ("INTEGER", Range(Decimal("0.5"), 10), "0.5 is not a whole number"),
    ("INTEGER", Range(0, 10, Decimal("0.5")), "step: 0.5 is not a whole number"),
    ("INTEGER", Range(0, 10, timedelta(days=1)), "the step is a length of time, but the column holds numbers"),
    ("INTEGER", Range(date(2020, 1, 1), date(2021, 1, 1)), "does not fit this type, which needs whole numbers"),
    ("DATE", Range(0, 10), "does not fit this type, which needs dates"),
    ("DATE", Range(datetime(2020, 1, 1), datetime(2021, 1, 1)), "does not fit this type, which needs dates"),
    (
        "DATE",
        Range(date(2020, 1, 1), date(2021, 1, 1), timedelta(hours=1)),
        "the step of a date is a whole number of days",
    ),
    ("DATE", Range(date(2020, 1, 1), date(2021, 1, 1), Decimal("1.5")), "the step of a date is a whole number of days"),
    ("DOUBLE", Range(0, 10), "a column of reals needs a step"),
    ("FLOAT", Range(0, 10), "a column of reals needs a step"),
    ("DOUBLE", Range(0, 1, Decimal("1E-16")), "at most 15 decimal places"),
    ("DOUBLE", Range(0, 2**53, Decimal("0.5")), "reaches beyond what this type can hold"),
    ("DOUBLE", Range(2**52, 2**52 + 10, 1), "neighbouring points of its domain are one and the same DOUBLE"),
    ("FLOAT", Range(0, 1_000_000, Decimal("0.01")), "neighbouring points of its domain are one and the same FLOAT"),
    (
        "TIMESTAMP",
        Range(datetime(2020, 1, 1), datetime(2021, 1, 1)),
        "a timestamp needs a step, such as step = '1 hour'",
    ),
    (
        "TIMESTAMP_S",
        Range(datetime(2020, 1, 1), datetime(2020, 1, 2), timedelta(milliseconds=1)),
        "the step is finer than what this type can hold",
    ),
    (
        "TIMESTAMP_S",
        Range(datetime(2020, 1, 1, 0, 0, 0, 1), datetime(2020, 1, 2, 0, 0, 0, 1), timedelta(seconds=1)),
        "min is finer than what this type can hold",
    ),
    (
        "TIMESTAMP_NS",
        Range(datetime(1600, 1, 1), datetime(2020, 1, 1), timedelta(days=1)),
        "reaches beyond what this type can hold",
    ),
    ("VARCHAR", Range(0, 10), "min and max do not fit this type: list its values"),
    ("BOOLEAN", Range(0, 1), "min and max do not fit this type: list its values"),
    ("ENUM('a')", Range(0, 1), "min and max do not fit this type: list its values"),
    ("BLOB", Range(0, 1), "values of this type cannot be perturbed"),
    ("INTEGER[]", Range(0, 1), "values of this type cannot be perturbed"),
    ("UUID", Values(("a",)), "values of this type cannot be perturbed"),
    ("BIGINT", Range(-(2**62), 2**62), "more than 2^53: use a coarser step"),
    ("DECIMAL(3,1)", Range(0, 100), "reaches beyond what this type can hold"),
    ("DECIMAL(3,1)", Range(Decimal("0.05"), 1), "0.05 is not a number with at most 1 decimal places"),
    ("INTEGER", Values(("a",)), "'a' in its domain does not fit this type, which needs whole numbers"),
    ("INTEGER", Values((True,)), "True in its domain does not fit this type"),
    ("TINYINT", Values((1, 200)), "reaches beyond what this type can hold"),
    ("VARCHAR", Values((1,)), "1 in its domain does not fit this type, which needs text"),
    ("BOOLEAN", Values(("true",)), "which needs true and false"),
    ("DATE", Values((datetime(2020, 1, 1),)), "which needs dates"),
    ("DECIMAL(3,1)", Values((Decimal("0.05"),)), "at most 1 decimal places"),
    ("FLOAT", Values((Decimal("0.1"), Decimal("0.100000000001"))), "are one and the same FLOAT"),
    ("FLOAT", Values((Decimal("1E+300"),)), "reaches beyond what this type can hold"),
    ("TIMESTAMP_S", Values((datetime(2020, 1, 1, 0, 0, 0, 5),)), "finer than what this type can hold"),
    (
        "TIMESTAMP WITH TIME ZONE",
        Values((datetime(2020, 1, 1), datetime(2020, 1, 1, tzinfo=UTC))),
        "are the same moment",
    ),
]


@pytest.mark.parametrize(("type_name", "declared", "expected"), REFUSED)
def test_what_does_not_fit_the_type(type_name, declared, expected):
    with pytest.raises(PolicyError) as caught:
        bound(type_name, declared)
    assert expected in str(caught.value)
    assert str(caught.value).startswith(f"column 'x' ({type_name})")


def test_values():
    assert bound("VARCHAR", Values(("a", "b"))).domain == Values(("a", "b"))
    assert bound("ENUM('a', 'b')", Values(("a",))).type.family == "enum"
    assert bound("BOOLEAN", Values((True, False))).size == 2
    assert bound("TIMESTAMP", Values((date(2020, 1, 1),))).domain == Values((datetime(2020, 1, 1),))
    aware = bound("TIMESTAMP WITH TIME ZONE", Values((datetime(2020, 1, 1),)))
    assert aware.domain == Values((datetime(2020, 1, 1, tzinfo=UTC),))


def test_retention_follows_the_size_with_null_as_a_value():
    column = ColumnPolicy("x", "uniform", Values(tuple("abcd")), Retention("gamma", 5.0), nulls="value")
    assert bind(column, "VARCHAR").retain == pytest.approx(4 / (5 - 1 + 5))


def test_the_last_nanosecond_timestamp_fits():
    low = datetime(1970, 1, 1)
    high = low + timedelta(microseconds=NS_END // DAY * DAY)
    assert bound("TIMESTAMP_NS", Range(low, high, timedelta(days=1))).size == NS_END // DAY + 1
