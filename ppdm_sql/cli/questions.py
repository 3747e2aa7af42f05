"""What the demo asks: each question once in words and once in SQL."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    """`sql` gives one count a row, after the row's group where it has one."""

    words: str
    sql: str
    method: str = "auto"


QUESTIONS = (
    Question("a range of one column", "SELECT count(*) FROM people WHERE age BETWEEN 25 AND 45"),
    Question("two ranges of one column", "SELECT count(*) FROM people WHERE age < 25 OR age >= 65"),
    Question("two columns", "SELECT count(*) FROM people WHERE age >= 40 AND wage > 50000"),
    Question(
        "three columns, and an exact one",
        "SELECT count(*) FROM people WHERE age BETWEEN 25 AND 60 AND hours >= 40 AND education <> 'Primary' "
        "AND region = 'North'",
    ),
    Question("either of two columns", "SELECT count(*) FROM people WHERE age >= 60 OR wage > 80000"),
    Question(
        "text: a pattern, a list", "SELECT count(*) FROM people WHERE occupation LIKE '%er' OR occupation = 'Nurse'"
    ),
    Question("who has no occupation", "SELECT count(*) FROM people WHERE occupation IS NULL"),
    Question("count of a column", "SELECT count(occupation) FROM people WHERE education IN ('Master', 'Doctorate')"),
    Question("a part of a date", "SELECT count(*) FROM people WHERE extract(year FROM moved) >= 2020"),
    Question("true or false", "SELECT count(*) FROM people WHERE married"),
    Question("not", "SELECT count(*) FROM people WHERE NOT (married OR age > 35)"),
    Question(
        "grouped by an exact column",
        "SELECT region, count(*) FROM people WHERE wage > 50000 GROUP BY region ORDER BY region",
    ),
    Question("a FILTER", "SELECT count(*) FILTER (WHERE age >= 60) FROM people WHERE sex = 'F'"),
    Question(
        "few people, by iterative Bayes",
        "SELECT count(*) FROM people WHERE education = 'Doctorate' AND wage > 100000",
        "bayes",
    ),
)

REFUSED = "SELECT max(wage) FROM people"
EXPLAINED = "SELECT count(*) FROM people WHERE age BETWEEN 25 AND 45 AND wage > 50000"
