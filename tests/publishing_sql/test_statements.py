"""What is read from a statement's text, and what is said where it cannot be read."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest

from ppdm_sql.domain.domain import Range, Values
from ppdm_sql.errors import PolicyError, QueryError
from ppdm_sql.policy import load_policy
from ppdm_sql.publishing_sql.statements import (
    CreatePerturbed,
    DescribePerturbed,
    DropPerturbed,
    PublishingText,
    SetKey,
    ShowPerturbed,
    publishing_statement,
    split_publishing,
)

AGE = "age UNIFORM RETAIN 0.3 DOMAIN (17 TO 90)"


def create(text):
    statement = publishing_statement(text)
    assert isinstance(statement, CreatePerturbed)
    return statement


def column(text):
    """The one column of a clause."""
    return create(f"CREATE PERTURBED TABLE t AS SELECT 1 PERTURB ({text})").policy.columns[0]


def test_the_example_of_the_design():
    found = create(
        """CREATE PERTURBED TABLE adult_public AS SELECT * FROM adult
        PERTURB (age UNIFORM RETAIN 0.3 DOMAIN (17 TO 90),
                 occupation UNIFORM PRIVACY (0.1 TO 0.5) DOMAIN ('Sales', 'Tech-support'))
        IDENTIFIED BY (id);"""
    )
    assert found.policy == load_policy(
        """
        table = "adult_public"
        identity = ["id"]
        [columns.age]
        mechanism = "uniform"
        domain = { min = 17, max = 90 }
        retain = 0.3
        [columns.occupation]
        mechanism = "uniform"
        domain = { values = ["Sales", "Tech-support"] }
        privacy = { rho1 = 0.1, rho2 = 0.5 }
        """
    )
    assert (found.kind, found.name, found.query) == ("table", ("adult_public",), "SELECT * FROM adult")
    assert not found.replace and found.to is None


@pytest.mark.parametrize(
    ("text", "domain"),
    [
        ("DOMAIN (-5 TO +5)", Range(-5, 5)),
        ("DOMAIN (0 TO 1) STEP 0.01", Range(0, 1, Decimal("0.01"))),
        ("STEP .5 DOMAIN (.5 TO 1.5)", Range(Decimal("0.5"), Decimal("1.5"), Decimal("0.5"))),
        ("DOMAIN (0 TO 1e3) STEP 1_00", Range(0, Decimal("1e3"), 100)),
        ("DOMAIN (DATE '1930-01-01' TO DATE '2009-12-31')", Range(date(1930, 1, 1), date(2009, 12, 31))),
        (
            "DOMAIN (TIMESTAMP '2020-01-01' TO TIMESTAMP '2020-01-02 00:00:00') STEP '1 hour'",
            Range(datetime(2020, 1, 1), datetime(2020, 1, 2), timedelta(hours=1)),
        ),
        (
            "DOMAIN (TIMESTAMP '2020-01-01' TO TIMESTAMP '2020-01-02') STEP INTERVAL '15 minutes'",
            Range(datetime(2020, 1, 1), datetime(2020, 1, 2), timedelta(minutes=15)),
        ),
        ("DOMAIN ('Sales', 'it''s', 'TO', '1 , (')", Values(("Sales", "it's", "TO", "1 , ("))),
        ("DOMAIN (TRUE, false)", Values((True, False))),
        ("DOMAIN (1, 2, 5)", Values((1, 2, 5))),
        ("DOMAIN (DATE '2020-02-29')", Values((date(2020, 2, 29),))),
        ("DOMAIN ($$dollars$$)", Values(("dollars",))),
    ],
)
def test_domains(text, domain):
    assert column(f"x UNIFORM RETAIN 0.5 {text}").domain == domain


def test_a_domain_with_time_zones():
    for word in ("TIMESTAMPTZ", "timestamp with time zone", "TIMESTAMP"):
        found = column(
            f"x UNIFORM RETAIN 1 DOMAIN ({word} '2020-01-01 00:00:00+02:00' TO {word} '2020-01-02 00:00:00+02:00') "
            "STEP '1 hour'"
        ).domain
        assert found.low.utcoffset() == timedelta(hours=2)


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("RETAIN 0.3", ("retain", 0.3, None)),
        ("GAMMA 9", ("gamma", 9.0, None)),
        ("EPSILON 2.2", ("epsilon", 2.2, None)),
        ("PRIVACY (0.1 TO 0.5)", ("privacy", 0.1, 0.5)),
    ],
)
def test_retentions(text, asked):
    found = column(f"x UNIFORM {text} DOMAIN (1 TO 2)").retention
    assert (found.asked, found.value, found.rho2) == asked


def test_the_rest_of_a_column():
    found = column("x UNIFORM DOMAIN (1 TO 2) OUTSIDE CLAMP NULLS KEEP RETAIN 1")
    assert (found.nulls, found.outside) == ("keep", "clamp")
    assert column("x uniform nulls value domain (1 to 2) retain 1").nulls == "value"
    assert column("ssn DROP").mechanism == "drop"


def test_keywords_in_any_case_comments_and_names_that_are_keywords():
    found = create(
        """-- before
        create /* here */ Or RePlace perturbed Table "my db"."Sch""ema".TABLE to 'public.duckdb' as
        select 1 -- PERTURB (no)
        perturb("domain" uniform retain 1 domain (1 to 2), Order DROP, "größe" drop, Δ Drop) identified
        by ("perturb", By) ;;""".replace('"my db"."Sch""ema".TABLE', '"TABLE"')
    )
    assert found.name == ("TABLE",) and found.replace and found.to == "public.duckdb"
    assert [c.name for c in found.policy.columns] == ["domain", "Order", "größe", "Δ"]
    assert found.policy.identity == ("perturb", "By")
    assert found.query == "select 1 -- PERTURB (no)"


def test_names_of_several_parts():
    found = create(f'CREATE PERTURBED VIEW "my db"."Sch""ema".Zoë AS SELECT 1 PERTURB ({AGE}) IDENTIFIED BY (id)')
    assert found.name == ("my db", 'Sch"ema', "Zoë") and found.kind == "view" and found.policy.table == "Zoë"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 'PERTURB (x) IDENTIFIED BY (y)' AS a FROM t",
        'SELECT "PERTURB", "IDENTIFIED BY" FROM "PERTURB"',
        "SELECT perturb FROM identified",
        "SELECT * FROM (SELECT perturb (x) FROM t) PERTURB",
        "SELECT perturb (x) AS a, [perturb (2)] FROM t",
        "WITH a AS (SELECT 1) SELECT * FROM a WHERE x IN (SELECT y FROM b) ORDER BY 1",
        "FROM t",
        "TABLE t",
        "(SELECT 1) UNION ALL (SELECT 2)",
        "SELECT $$PERTURB (' $$, E'it\\'s PERTURB (', {'a': 'PERTURB ('} /* PERTURB ( */ FROM t",
    ],
)
def test_the_select_may_hold_anything(query):
    found = create(f"CREATE PERTURBED TABLE t AS {query}\nPERTURB ({AGE}) IDENTIFIED BY (id)")
    assert found.query == query and found.policy.identity == ("id",)


def test_the_other_statements():
    assert publishing_statement("DROP PERTURBED TABLE a.b") == DropPerturbed("table", ("a", "b"))
    assert publishing_statement("drop perturbed view if exists x ;") == DropPerturbed("view", ("x",), True)
    assert publishing_statement("show  perturbed\ntables") == ShowPerturbed()
    assert publishing_statement('DESCRIBE PERTURBED "My T"') == DescribePerturbed(("My T",))
    assert publishing_statement("DESC PERTURBED t") == DescribePerturbed(("t",))
    assert publishing_statement("SET ppdm_key = 'it''s.key'") == SetKey("it's.key")
    assert publishing_statement("set session PPDM_KEY to 'a'") == SetKey("a")
    assert publishing_statement(" RESET ppdm_key;") == SetKey(None)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1",
        "SELECT 'CREATE PERTURBED TABLE t'",
        'CREATE TABLE perturbed AS SELECT "ppdm_key" FROM t',
        "DROP TABLE perturbed",
        "SHOW perturbed_tables",
        "SET ppdm_method = 'bayes' -- perturbed",
        "SELECT perturbed, 'not closed",
        "",
    ],
)
def test_what_is_not_ours_is_left_alone(text):
    assert publishing_statement(text) is None
    assert split_publishing(text) == [text]


def test_a_text_of_several_statements():
    text = "SELECT ';', 1;\n ;SHOW PERTURBED TABLES; SELECT 2; -- end"
    first, second, third, rest = split_publishing(text)
    assert (first, third, rest.strip()) == ("SELECT ';', 1", " SELECT 2", "-- end")
    assert second == PublishingText("SHOW PERTURBED TABLES", ShowPerturbed())
    with pytest.raises(QueryError, match=r"^line 2, column 16: expected TABLES, found x\."):
        split_publishing("SELECT 1;\nSHOW PERTURBED x")


T = "CREATE PERTURBED TABLE t AS SELECT 1 "


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("CREATE PERTURBED t", r"line 1, column 18: expected TABLE or VIEW, found t\."),
        ("CREATE PERTURBED TABLE", r"line 1, column 23: expected the name of a release, the statement ends\."),
        ("CREATE PERTURBED TABLE 't' AS SELECT 1", "column 24: expected the name of a release, found 't'"),
        ("CREATE PERTURBED TABLE a.b.c.d AS SELECT 1", "database.schema.name at most"),
        ("CREATE PERTURBED TABLE t SELECT 1", "column 26: expected AS, found SELECT"),
        ("CREATE PERTURBED TABLE t TO file AS SELECT 1", "expected the file of the release in quotes"),
        ("CREATE PERTURBED TABLE a.t TO 'f.duckdb' AS SELECT 1", "has a plain name: write 't' only"),
        (f"CREATE PERTURBED VIEW t TO 'f' AS SELECT 1 PERTURB ({AGE}) IDENTIFIED BY (id)", "a view stores nothing"),
        (f"CREATE PERTURBED VIEW t AS SELECT 1 PERTURB ({AGE})", "needs IDENTIFIED BY"),
        (T, "column 29: the SELECT is not followed by PERTURB"),
        (T + "FROM (a PERTURB (x DROP)", "is not followed by PERTURB"),
        (f"CREATE PERTURBED TABLE t AS PERTURB ({AGE})", "column 29: expected a SELECT before PERTURB"),
        (T + "PERTURB ()", "expected the name of a column, found "),
        (T + "PERTURB (age)", r"expected a mechanism, UNIFORM, .* or DROP, found \)"),
        (T + "PERTURB (age UNIFORM", "expected one of RETAIN, GAMMA, .* the statement ends"),
        (T + "PERTURB (age UNIFORM KEEP 3)", "expected one of RETAIN, GAMMA, .* found KEEP"),
        (T + "PERTURB (age UNIFORM RETAIN DOMAIN (1 TO 2))", "expected a number, found DOMAIN"),
        (T + "PERTURB (age UNIFORM RETAIN - DOMAIN (1 TO 2))", "expected a number, found -"),
        (T + "PERTURB (age UNIFORM RETAIN 1 RETAIN 1 DOMAIN (1 TO 2))", "RETAIN stands twice for column 'age'"),
        (T + "PERTURB (age UNIFORM STEP 1 STEP 2 DOMAIN (1 TO 2))", "STEP stands twice"),
        (T + "PERTURB (age UNIFORM RETAIN 1 STEP 1)", "a STEP and no DOMAIN"),
        (T + "PERTURB (age UNIFORM RETAIN 1 DOMAIN (1 TO 9) STEP x)", "expected a step, such as 0.01 or '1 hour'"),
        (T + "PERTURB (age UNIFORM PRIVACY (0.1, 0.5) DOMAIN (1 TO 2))", "expected TO, found ,"),
        (T + "PERTURB (age UNIFORM PRIVACY 0.1 DOMAIN (1 TO 2))", r"expected \(, found 0.1"),
        (T + "PERTURB (age UNIFORM RETAIN 1 DOMAIN 1)", r"expected \(, found 1"),
        (T + "PERTURB (age UNIFORM RETAIN 1 DOMAIN (1 TO))", "expected a value: a number"),
        (T + "PERTURB (age UNIFORM RETAIN 1 DOMAIN (a, b))", "expected a value: a number, 'text', .* found a"),
        (T + "PERTURB (age UNIFORM RETAIN 1 DOMAIN (DATE 1 TO 2))", "expected a date in quotes, found 1"),
        (
            T + "PERTURB (age UNIFORM RETAIN 1 DOMAIN (1 TO 2) NULLS FIRST)",
            "expected ERROR, KEEP or VALUE, found FIRST",
        ),
        (T + "PERTURB (age UNIFORM RETAIN 1 DOMAIN (1 TO 2) OUTSIDE KEEP)", "expected ERROR or CLAMP, found KEEP"),
        (T + f"PERTURB ({AGE}) IDENTIFIED (id)", r"expected BY, found \("),
        (T + f"PERTURB ({AGE}) IDENTIFIED BY id", r"expected \(, found id"),
        (T + f"PERTURB ({AGE}) IDENTIFIED BY ()", "expected the name of a column"),
        (T + f"PERTURB ({AGE}) IDENTIFIED BY (1)", "expected the name of a column, found 1"),
        (T + f"PERTURB ({AGE}) ORDER BY 1", "expected the end of the statement, found ORDER"),
        (T + "PERTURB (age UNIFORM RETAIN 1 DOMAIN ('a", "is not closed"),
        ("DROP PERTURBED t", "expected TABLE or VIEW, found t"),
        ("DROP PERTURBED TABLE t CASCADE", "expected the end of the statement, found CASCADE"),
        ("SHOW PERTURBED VIEWS", "expected TABLES, found VIEWS"),
        ("DESCRIBE PERTURBED", "expected the name of a release"),
        ("SET ppdm_key 'x'", "expected =, found 'x'"),
        ("SET ppdm_key = x", "expected the path of a key file in quotes, found x"),
    ],
)
def test_what_cannot_be_read(text, said):
    with pytest.raises(QueryError, match=said):
        publishing_statement(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("age UNIFORM RETAIN 0.3", "line 2, column 10: column 'age' has no DOMAIN"),
        ("age UNIFORM DOMAIN (1 TO 2)", "says nothing of how much is kept: write exactly one of RETAIN 0.3"),
        ("age UNIFORM RETAIN 1 GAMMA 2 DOMAIN (1 TO 2)", r"says it twice \(RETAIN, GAMMA\)"),
        ("age UNIFORM RETAIN 2 DOMAIN (1 TO 2)", r"line 2, column 10: column 'age': retain = 2 is not a prob"),
        ("age UNIFORM RETAIN 0 DOMAIN (1 TO 2)", "retain = 0 is not"),
        ("age UNIFORM GAMMA 1 DOMAIN (1 TO 2)", "must be a number above 1"),
        ("age UNIFORM EPSILON -1 DOMAIN (1 TO 2)", "must be above 0"),
        ("age UNIFORM PRIVACY (0.5 TO 0.1) DOMAIN (1 TO 2)", "0 < rho1 < rho2 < 1"),
        ("age UNIFORM RETAIN 1 DOMAIN (2 TO 1)", "min = 2 is above max = 1"),
        ("age UNIFORM RETAIN 1 DOMAIN (1 TO DATE '2020-01-01')", "of different kinds"),
        ("age UNIFORM RETAIN 1 DOMAIN (1, 'a')", "of different kinds"),
        ("age UNIFORM RETAIN 1 DOMAIN (1, 1)", "listed twice"),
        ("age UNIFORM RETAIN 1 DOMAIN (1, 2) STEP 1", "either values, or min and max"),
        ("age UNIFORM RETAIN 1 DOMAIN (1, 2) OUTSIDE CLAMP", "a list has no nearest value"),
        ("age UNIFORM RETAIN 1 DOMAIN (DATE '2020-13-01')", "column 44: '2020-13-01' is not a date"),
        ("age UNIFORM RETAIN 1 DOMAIN (TIMESTAMP 'noon')", "'noon' is not a time"),
        ("age UNIFORM RETAIN 1 DOMAIN (1 TO 9) STEP 0", "step = 0 must be above 0"),
        ("age UNIFORM RETAIN 1 DOMAIN (1 TO 9) STEP '1 hour'", "but min and max are numbers"),
        ("age LAPLACE", "unknown mechanism 'laplace'"),
        ("age DROP RETAIN 1", "is dropped, so retain has no meaning"),
        ("a DROP, A DROP", "line 2, column 18: column 'A' is named twice"),
        ("id UNIFORM RETAIN 1 DOMAIN (1 TO 9)", "both identity and perturbed"),
    ],
)
def test_rules_of_policies(text, said):
    with pytest.raises(PolicyError, match=said):
        publishing_statement(f"CREATE PERTURBED TABLE t AS SELECT 1\nPERTURB ({text}) IDENTIFIED BY (id)")
