"""Random expressions over the people: numbers, conditions, aggregates; what random statements are made of."""

from __future__ import annotations

import random

OCCUPATIONS = ("'Sales'", "'Tech-support'", "'Farming'", "'O''Brien''s'", "'Zoë'", "'nobody'", "'; DROP TABLE people'")


class Expressions:
    """Draws expressions; `name` is what the release is called."""

    def __init__(self, seed: int | str, name: str = "people") -> None:
        self.rng = random.Random(seed)
        self.name = name

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    def often(self, chance: float) -> bool:
        return self.rng.random() < chance

    def whole(self, low: int, high: int) -> int:
        return self.rng.randint(low, high)

    # Numbers and predicates of one perturbed column

    def number(self) -> str:
        """A number that depends on one perturbed column."""
        w = self.whole
        return self.pick(
            *("age", "hours", "education", "wage", "salary", '"Order"', "age", "hours", "wage"),
            *('abs("Order")', "age * 2 + 1", "floor(age / 10) * 10", "length(occupation)", "-hours", "hours / 7"),
            *("education % 4", "round(wage)", "sqrt(hours)", "coalesce(education, 0)", "nullif(education, 9)"),
            *("age // 10", "hours::DOUBLE", f"greatest(age, {w(20, 60)})", "year(birth)", "date_part('month', seen)"),
            f"CASE WHEN age > {w(20, 70)} THEN 1 ELSE 0 END",
            f"CASE WHEN married THEN {w(1, 5)} END",
            f"CASE education WHEN 9 THEN 1 WHEN {w(1, 16)} THEN 2 ELSE 0.5 END",
            f"CASE occupation WHEN {self.pick(*OCCUPATIONS)} THEN 1.5 ELSE -1 END",
            "datediff('day', birth, DATE '2020-02-29') / 365.25",
            "ln(wage + 1)",
            "age * age",
            f"if(hours > {w(20, 60)}, hours, NULL)",
        )

    def exact_number(self) -> str:
        return self.pick("weight", "weight", "id", "id % 5", "length(region)", "1", "2.5", "weight / 10 - 3", "NULL")

    def summand(self) -> str:
        """What may stand inside SUM or AVG."""
        kind = self.rng.random()
        if kind < 0.5:
            return self.number()
        if kind < 0.65:
            return self.exact_number()
        if kind < 0.8:
            return f"({self.number()}) * ({self.exact_number()})"
        if kind < 0.9:
            return f"CASE WHEN {self.predicate()} THEN {self.exact_number()} ELSE {self.number()} END"
        return self.pick(
            "age + hours", "age * hours", "wage - 2 * age", "hours * weight / 10", "(age - 40) * (hours - 40)"
        )

    def predicate(self) -> str:
        """A condition on one perturbed column."""
        w, year = self.whole, self.whole(1940, 1995)
        word = self.pick(*OCCUPATIONS)
        return self.pick(
            f"age BETWEEN {w(18, 40)} AND {w(35, 80)}",
            f"age {self.pick('<', '>=', '<>', '=')} {w(25, 60)}",
            f"people.age NOT BETWEEN {w(18, 30)} AND {w(31, 80)}".replace("people", self.name),
            f"age % {w(2, 5)} = {w(0, 1)}",
            self.pick("age > 1000", "age BETWEEN 60 AND 20", "hours >= -5", "age IS NULL", "wage IS NOT NULL"),
            f"{w(30, 50)} {self.pick('<', '>=')} hours",
            f"hours IN ({', '.join(str(w(25, 55)) for _ in range(6))})",
            f"hours NOT IN ({w(38, 40)}, {w(41, 45)}{self.pick('', ', NULL')})",
            f"education {self.pick('<=', '>')} {w(4, 13)}",
            self.pick("education IS NULL", "education IS NOT NULL", "education IS DISTINCT FROM 9"),
            f"coalesce(education, 16) > {w(6, 12)}",
            f"wage {self.pick('<', '>')} {w(8000, 30000) / 100}",
            f"round(wage / 100) = {w(1, 3)}",
            f"salary BETWEEN {w(0, 40000)}.5 AND {w(50000, 90000)}.25",
            f"hours::VARCHAR < '{w(20, 60)}'",
            f"extract(year FROM birth) {self.pick('<', '>=')} {year}",
            f"birth >= DATE '{year}-03-{w(1, 28):02d}'",
            f"birth + INTERVAL {w(1, 20)} YEAR > TIMESTAMP '{year + 10}-01-01 00:00:00'",
            f"strftime(birth, '%m') {self.pick('=', '<')} '0{w(2, 9)}'",
            f"seen < TIMESTAMP '{w(2021, 2023)}-0{w(1, 9)}-{w(1, 28):02d} 11:30:00'",
            f"extract(hour FROM seen) < {w(6, 20)}",
            f"date_trunc('year', seen) = DATE '{w(2020, 2023)}-01-01'",
            self.pick("married", "NOT married", "married IS TRUE", "married = FALSE", "(married IS NOT FALSE)"),
            f"occupation {self.pick('=', '<>')} {word}",
            f"occupation IN ({word}, {self.pick(*OCCUPATIONS)})",
            f"occupation LIKE '%{self.pick('e', 'a', 'ch', 's', 'ë')}%'",
            f"regexp_matches(occupation, '{self.pick('^S', 'g$', '[a-f]{2}')}')",
            self.pick("occupation IS NULL", "occupation IS NOT NULL", "upper(occupation) = 'ZOË'"),
            f"grade {self.pick('>', '<=', '=', '<>')} '{self.pick('low', 'middle', 'high')}'",
            f'"Order" {self.pick("<", ">")} {w(-2, 3)}',
            f'abs("Order") <= {w(1, 4)}',
            f"age > (SELECT max(x) * {w(2, 6)} FROM plain)",
            f"age IN (SELECT x * 7 + {w(1, 9)} FROM plain)",
            f"hours > {w(1, 9)} + {w(20, 40)}",
            f"CASE WHEN age < {w(20, 40)} THEN TRUE WHEN age > {w(50, 70)} THEN FALSE ELSE NULL END",
            self.spanning() if self.often(0.6) else "hours <> 40",
        )

    def spanning(self) -> str:
        """A condition on two perturbed columns at once."""
        w = self.whole
        return self.pick(
            "age < hours",
            f"age + {w(1, 20)} > hours",
            f"education * {w(2, 4)} < hours",
            'married = ("Order" > 0)',
            "age BETWEEN hours - 5 AND hours + 5",
            "length(occupation) > education",
            f"greatest(age, hours) > {w(40, 60)}",
        )

    def exact_predicate(self) -> str:
        w = self.whole
        return self.pick(
            *("sex = 'F'", "region = 'north'", "region <> 'south'", "region IS NULL", "TRUE", "1 = 1"),
            f"weight > {w(60, 140)}",
            f"id % {w(2, 4)} = 1",
            f"region IN ('east', '{self.pick('west', 'nowhere')}')",
            f"id % 10 IN (SELECT x FROM plain WHERE x > {w(3, 8)})",
            f"EXISTS (SELECT 1 FROM plain WHERE x = {w(5, 12)})",
            f"EXISTS (SELECT 1 FROM plain AS other WHERE other.x = id % {w(8, 20)})",
            f"weight > (SELECT avg(x) * {w(10, 30)} FROM plain)",
            self.pick("NULL", "FALSE", "1 > 2", "id < 0") if self.often(0.2) else "weight IS NOT NULL",
        )

    def condition(self, depth: int = 2) -> str:
        """A Boolean combination of predicates."""
        if depth == 0 or self.often(0.5):
            return self.exact_predicate() if self.often(0.25) else self.predicate()
        if self.often(0.15):
            return f"NOT ({self.condition(depth - 1)})"
        joined = self.pick(" AND ", " AND ", " OR ").join(self.condition(depth - 1) for _ in range(2))
        return f"({joined})"

    # Aggregates and expressions over them

    def aggregate(self) -> str:
        kind = self.rng.random()
        if kind < 0.25:
            text = "count(*)"
        elif kind < 0.35:
            text = self.pick(
                f"count({self.number()})", f"count({self.exact_number()})", f"count_if({self.condition(1)})"
            )
        elif kind < 0.75:
            text = f"{self.pick('sum', 'avg', 'sum', 'avg', 'mean')}({self.summand()})"
        elif kind < 0.9:
            spread = self.pick("var_pop", "var_samp", "variance", "stddev", "stddev_pop", "stddev_samp")
            text = f"{spread}({self.number()})"
        else:
            pair = self.pick("covar_pop", "covar_samp", "corr")
            text = f"{pair}({self.number()}, {self.pick(self.number(), self.exact_number())})"
        return f"{text} FILTER (WHERE {self.condition(1)})" if self.often(0.25) else text

    def estimate(self) -> str:
        """An aggregate, or an expression over some."""
        if self.often(0.6):
            return self.aggregate()
        a, b = self.aggregate(), self.aggregate()
        return self.pick(
            f"{a} + {b}",
            f"{a} - 2 * {b}",
            f"100.0 * {a} / nullif(round({b}, 6), 0)",
            f"round({a}, 2)",
            f"coalesce({a}, -1)",
            f"CASE WHEN {a} > {b} THEN {a} ELSE {b} END",
            f"greatest({a}, {b})",
            f"abs({a}) + 1",
            f"sqrt(abs({a}))",
            f"CAST({a} AS DOUBLE)",
            f"100.0 * count(*) FILTER (WHERE {self.condition(1)}) / count(*)",
            f"sum(CASE WHEN {self.predicate()} THEN 1 ELSE 0 END)",
        )
