"""Policies as they are written: what is understood, and one clear error for everything that is not."""

from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest

from ppdm_sql.domain.domain import Range, Values
from ppdm_sql.errors import PolicyError, PpdmError
from ppdm_sql.mechanisms.retention import Retention
from ppdm_sql.policy import Policy, load_policy

AGE = '[columns.age]\nmechanism = "uniform"\n'
DOMAIN = "domain = { min = 17, max = 90 }\n"

BAD = {
    "no table": ("identity = []\n", "the policy names no table"),
    "table not text": ("table = 3\n", "the policy names no table"),
    "blank table": ('table = " "\n', "the policy names no table"),
    "unknown key": ('table = "t"\ncolums = 3\n', "the policy has an unknown key 'colums'. Known: table, identity"),
    "not TOML": ('table = "t\n', "the policy is not TOML"),
    "nested": ("\nx = " + "[" * 100_000, "is nested too deeply"),
    "many digits": (
        f'table = "t"\n{AGE}domain = {{ min = 0, max = {"9" * 5_000} }}\n',
        "has a number that is too long",
    ),
    "exponent": (f'table = "t"\n{AGE}domain = {{ min = 0, max = 1e999999999, step = 1 }}\n', "has a number that is"),
    "small": (f'table = "t"\n{AGE}{DOMAIN}retain = 1e-999999999\n', "has a number that is too long or too large"),
    "columns not a table": ('table = "t"\ncolumns = 3\n', "[columns] must be a table of names and values"),
    "column not a table": ('table = "t"\n[columns]\nage = 3\n', "column 'age' must be a table of names and values"),
    "no mechanism": ('table = "t"\n[columns.age]\n', "column 'age' has no mechanism. Known: uniform, custom"),
    "unknown mechanism": (
        'table = "t"\n[columns.age]\nmechanism = "unifrom"\n',
        "column 'age' has unknown mechanism 'unifrom'. Known: uniform, custom",
    ),
    "unknown column key": (
        f'table = "t"\n{AGE}{DOMAIN}retian = 0.3\n',
        "column 'age' has an unknown key 'retian'. Known: mechanism, domain",
    ),
    "dropped with more": (
        'table = "t"\n[columns.age]\nmechanism = "drop"\nretain = 0.3\n',
        "column 'age' is dropped, so retain has no meaning there",
    ),
    "no domain": (f'table = "t"\n{AGE}retain = 0.3\n', "column 'age' has no domain. Declare it"),
    "domain not a table": (f'table = "t"\n{AGE}domain = 3\nretain = 0.3\n', "column 'age': domain must be a table"),
    "unknown domain key": (
        f'table = "t"\n{AGE}domain = {{ min = 1, max = 2, sep = 1 }}\nretain = 0.3\n',
        "column 'age': domain has an unknown key 'sep'. Known: min, max, step, values",
    ),
    "no max": (f'table = "t"\n{AGE}domain = {{ min = 1 }}\nretain = 0.3\n', "its domain has no max"),
    "empty domain": (f'table = "t"\n{AGE}domain = {{ }}\nretain = 0.3\n', "its domain has no min and no max"),
    "min above max": (
        f'table = "t"\n{AGE}domain = {{ min = 90, max = 17 }}\nretain = 0.3\n',
        "column 'age': min = 90 is above max = 17",
    ),
    "different kinds": (
        f'table = "t"\n{AGE}domain = {{ min = 1, max = 2020-01-01 }}\nretain = 0.3\n',
        "min and max are of different kinds",
    ),
    "one time zone": (
        f'table = "t"\n{AGE}domain = {{ min = 2020-01-01T00:00:00Z, max = 2021-01-01T00:00:00 }}\nretain = 0.3\n',
        "give both min and max a time zone, or neither",
    ),
    "text ends": (
        f'table = "t"\n{AGE}domain = {{ min = "a", max = "b" }}\nretain = 0.3\n',
        "min = 'a' is neither a number nor a date: list text in values",
    ),
    "boolean ends": (
        f'table = "t"\n{AGE}domain = {{ min = false, max = true }}\nretain = 0.3\n',
        "list true and false in values",
    ),
    "infinite end": (
        f'table = "t"\n{AGE}domain = {{ min = 0, max = inf }}\nretain = 0.3\n',
        "Infinity is not a finite number",
    ),
    "time as end": (
        f'table = "t"\n{AGE}domain = {{ min = 10:00:00, max = 11:00:00 }}\nretain = 0.3\n',
        "a value of a domain may be text, a number, true or false, or a date",
    ),
    "step zero": (
        f'table = "t"\n{AGE}domain = {{ min = 1, max = 2, step = 0 }}\nretain = 0.3\n',
        "step = 0 must be above 0",
    ),
    "step negative": (
        f'table = "t"\n{AGE}domain = {{ min = 1, max = 2, step = -0.5 }}\nretain = 0.3\n',
        "step = -0.5 must be above 0",
    ),
    "step without unit": (
        f'table = "t"\n{AGE}domain = {{ min = 2020-01-01T00:00:00, max = 2020-01-02T00:00:00, step = 1 }}\n',
        "step = 1 has no unit: write it as text, such as step = '1 hour'",
    ),
    "step of months": (
        f'table = "t"\n{AGE}domain = {{ min = 2020-01-01, max = 2021-01-01, step = "1 month" }}\nretain = 0.3\n',
        "step '1 month' is not a length of time",
    ),
    "step of no length": (
        f'table = "t"\n{AGE}domain = {{ min = 2020-01-01, max = 2021-01-01, step = "0 days" }}\nretain = 0.3\n',
        "must be longer than nothing",
    ),
    "step text for numbers": (
        f'table = "t"\n{AGE}domain = {{ min = 1, max = 2, step = "1 hour" }}\nretain = 0.3\n',
        "step '1 hour' is text, but min and max are numbers",
    ),
    "step a list": (
        f'table = "t"\n{AGE}domain = {{ min = 1, max = 2, step = [1] }}\nretain = 0.3\n',
        "step must be a number, or text",
    ),
    "values and min": (
        f'table = "t"\n{AGE}domain = {{ values = [1], min = 1 }}\nretain = 0.3\n',
        "a domain has either values, or min and max",
    ),
    "no values": (f'table = "t"\n{AGE}domain = {{ values = [] }}\nretain = 0.3\n', "at least one value"),
    "values of two kinds": (
        f'table = "t"\n{AGE}domain = {{ values = [1, "a"] }}\nretain = 0.3\n',
        "values are of different kinds (Decimal, str)",
    ),
    "value twice": (f'table = "t"\n{AGE}domain = {{ values = [1, 1.0] }}\nretain = 0.3\n', "a value is listed twice"),
    "nested value": (
        f'table = "t"\n{AGE}domain = {{ values = [[1]] }}\nretain = 0.3\n',
        "a value of a domain may be text",
    ),
    "no retention": (
        f'table = "t"\n{AGE}{DOMAIN}',
        "column 'age' says nothing of how much is kept: give exactly one of retain, gamma, epsilon, privacy",
    ),
    "two retentions": (f'table = "t"\n{AGE}{DOMAIN}retain = 0.3\ngamma = 9.0\n', "says it twice (retain, gamma)"),
    "retain zero": (f'table = "t"\n{AGE}{DOMAIN}retain = 0.0\n', "retain = 0 is not a probability in (0, 1]"),
    "retain above one": (f'table = "t"\n{AGE}{DOMAIN}retain = 1.5\n', "retain = 1.5 is not a probability in (0, 1]"),
    "retain nan": (f'table = "t"\n{AGE}{DOMAIN}retain = nan\n', "retain = nan is not a probability"),
    "retain text": (f'table = "t"\n{AGE}{DOMAIN}retain = "0.3"\n', "column 'age': retain must be a number"),
    "retain boolean": (f'table = "t"\n{AGE}{DOMAIN}retain = true\n', "column 'age': retain must be a number"),
    "gamma one": (f'table = "t"\n{AGE}{DOMAIN}gamma = 1\n', "gamma = 1 must be a number above 1"),
    "epsilon zero": (f'table = "t"\n{AGE}{DOMAIN}epsilon = 0\n', "epsilon = 0 must be above 0"),
    "privacy half": (f'table = "t"\n{AGE}{DOMAIN}privacy = {{ rho1 = 0.1 }}\n', "privacy needs both numbers"),
    "privacy turned": (
        f'table = "t"\n{AGE}{DOMAIN}privacy = {{ rho1 = 0.5, rho2 = 0.1 }}\n',
        "privacy needs 0 < rho1 < rho2 < 1",
    ),
    "privacy unknown": (
        f'table = "t"\n{AGE}{DOMAIN}privacy = {{ rho1 = 0.1, rho3 = 0.5 }}\n',
        "privacy has an unknown key 'rho3'",
    ),
    "nulls": (
        f'table = "t"\n{AGE}{DOMAIN}retain = 0.3\nnulls = "drop"\n',
        "nulls = 'drop' must be one of error, keep, value",
    ),
    "outside": (f'table = "t"\n{AGE}{DOMAIN}retain = 0.3\noutside = 1\n', "outside = 1 must be one of error, clamp"),
    "clamp a list": (
        f'table = "t"\n{AGE}domain = {{ values = [1, 2] }}\nretain = 0.3\noutside = "clamp"\n',
        'outside = "clamp" needs a domain with min and max',
    ),
    "identity a number": ('table = "t"\nidentity = 3\n', "identity must be a list of column names"),
    "identity of numbers": ('table = "t"\nidentity = [3]\n', "identity must be a list of column names"),
    "identity twice": ('table = "t"\nidentity = ["a", "A"]\n', "identity column 'A' is named twice"),
    "identity perturbed": (
        f'table = "t"\nidentity = ["AGE"]\n{AGE}{DOMAIN}retain = 0.3\n',
        "column 'AGE' is both identity and perturbed",
    ),
    "column twice": (
        f'table = "t"\n{AGE}{DOMAIN}retain = 0.3\n[columns.Age]\nmechanism = "drop"\n',
        "column 'Age' is named twice (names do not depend on case)",
    ),
    "level": ('table = "t"\n[levels]\nall = 2\n', "level 'all': retain = 2 is not a probability"),
    "level text": ('table = "t"\n[levels]\nall = "x"\n', "level 'all' must be a number"),
}


@pytest.mark.parametrize(
    "raw",
    [{"table": "t", "columns": {3: {"mechanism": "drop"}}}, {"table": "t", 3: 4}, {"table": "t", "levels": {3: 1}}],
)
def test_names_that_are_no_texts(raw):
    with pytest.raises(PolicyError, match="3"):
        load_policy(raw)


@pytest.mark.parametrize("name", BAD)
def test_bad_policy_gives_one_clear_error(name):
    text, expected = BAD[name]
    with pytest.raises(PolicyError) as caught:
        load_policy(text)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, PpdmError)
    assert isinstance(caught.value, ValueError)


def test_the_policy_of_the_documentation():
    policy = load_policy("""
        table = "adult"
        identity = ["id"]

        [columns.age]
        mechanism = "uniform"
        domain = { min = 17, max = 90 }
        retain = 0.3

        [columns.occupation]
        mechanism = "uniform"
        domain = { values = ["Sales", "Tech-support"] }
        privacy = { rho1 = 0.1, rho2 = 0.5 }
        nulls = "value"

        [columns.ssn]
        mechanism = "drop"

        [levels]
        government = 0.8
        public = 0.2
    """)
    age, occupation, ssn = policy.columns
    assert policy.table == "adult"
    assert policy.identity == ("id",)
    assert age.domain == Range(17, 90)
    assert age.retention == Retention("retain", 0.3)
    assert occupation.domain == Values(("Sales", "Tech-support"))
    assert occupation.retention == Retention("privacy", 0.1, 0.5)
    assert (occupation.nulls, occupation.outside) == ("value", "error")
    assert ssn.mechanism == "drop"
    assert policy.perturbed == (age, occupation)
    assert policy.dropped == ("ssn",)
    assert policy.levels == {"government": 0.8, "public": 0.2}


def test_numbers_stay_exact_and_dates_may_be_text():
    policy = load_policy("""
        table = "t"
        identity = "id"
        [columns.wage]
        mechanism = "uniform"
        domain = { min = 0.1, max = 0.3, step = 0.1 }
        retain = 0.3
        [columns.day]
        mechanism = "uniform"
        domain = { min = "2020-01-01", max = 2020-12-31, step = "7 days" }
        retain = 0.3
        [columns.moment]
        mechanism = "uniform"
        domain = { min = "2020-01-01T00:00:00", max = 2020-12-31T00:00:00, step = "15 minutes" }
        retain = 0.3
    """)
    wage, day, moment = (column.domain for column in policy.columns)
    assert wage == Range(Decimal("0.1"), Decimal("0.3"), Decimal("0.1"))
    assert day == Range(date(2020, 1, 1), date(2020, 12, 31), timedelta(days=7))
    assert moment == Range(datetime(2020, 1, 1), datetime(2020, 12, 31), timedelta(minutes=15))
    assert policy.identity == ("id",)


def test_a_mapping_with_floats_is_the_same_policy():
    column = {"mechanism": "uniform", "domain": {"min": 0, "max": 1, "step": 0.1}, "retain": 0.3}
    policy = load_policy({"table": "t", "columns": {"x": column}})
    assert policy.columns[0].domain == Range(0, 1, Decimal("0.1"))
    assert load_policy(policy) is policy


def test_policy_files(tmp_path):
    path = tmp_path / "policy.toml"
    path.write_text('table = "t"\n', encoding="utf-8")
    assert load_policy(path) == load_policy(str(path)) == Policy("t")
    with pytest.raises(PolicyError, match=r"policy '.*missing.toml' cannot be read: No such file"):
        load_policy(tmp_path / "missing.toml")
    path.write_bytes(b'table = "\xff"\n')
    with pytest.raises(PolicyError, match="not UTF-8 text"):
        load_policy(path)
    path.write_text("table = ", encoding="utf-8")
    with pytest.raises(PolicyError, match=r"policy '.*policy.toml' is not TOML"):
        load_policy(path)
    with pytest.raises(PolicyError, match="cannot be read"):
        load_policy("a\0b")


def test_levels():
    column = {"mechanism": "uniform", "domain": {"min": 1, "max": 2}}
    policy = load_policy(
        {"table": "t", "columns": {"x": column, "y": {"mechanism": "drop"}}, "levels": {"public": 0.2, "state": 0.8}}
    )
    assert policy.at_level("public").columns[0].retention == Retention("retain", 0.2)
    assert policy.at_level("public").columns[1].retention is None
    with pytest.raises(
        PolicyError, match=r"column 'x' has no retention of its own: name a level \(declared: public, state"
    ):
        policy.at_level(None)
    with pytest.raises(PolicyError, match=r"level 'press' is not declared in \[levels\] \(declared: public, state\)"):
        policy.at_level("press")
    with pytest.raises(PolicyError, match=r"declared: none"):
        load_policy('table = "t"\n').at_level("public")
