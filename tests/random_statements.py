"""Random SQL over the whole supported grammar, on the people and on a plain table beside them.

A statement depends on nothing but its seed: `Grammar(seed).statement()`. Whatever is drawn is valid SQL for DuckDB;
what ppdm_sql makes of it is an answer or a refusal, see tests/connection/test_random_statements.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from random_expressions import Expressions


@dataclass(frozen=True)
class Drawn:
    """`keys` columns come first and tell rows apart, the rest are estimates; `ordered` rows have one right order."""

    sql: str
    keys: int = 0
    ordered: bool = False


class Grammar(Expressions):
    """Draws statements."""

    # Groups

    def exact_key(self) -> str:
        return self.pick(
            "sex", "region", "sex", "id % 3", "upper(region)", "CAST(weight / 50 AS INTEGER)", "weight > 100"
        )

    def perturbed_key(self) -> str:
        return self.pick(
            *("married", "grade", "occupation", "education", '"Order"', "floor(age / 10) * 10", "age // 20"),
            *("hours > 40", "date_trunc('year', seen)", "year(birth) // 10", "lower(occupation)", "education IS NULL"),
            "CASE WHEN age < 30 THEN 'young' WHEN age < 60 THEN 'middle' ELSE 'old' END",
            "CASE WHEN hours >= 40 THEN 'full' END",
        )

    def keys(self, perturbed: float) -> list[str]:
        count = self.pick("1", "1", "1", "2")
        found = [self.perturbed_key() if self.often(perturbed) else self.exact_key() for _ in range(int(count))]
        return list(dict.fromkeys(found))

    def source(self) -> str:
        """FROM and WHERE: the release itself, or rows of it through a subquery."""
        where = f" WHERE {self.condition()}" if self.often(0.75) else ""
        if self.often(0.75):
            return f"{self.name}{where}"
        if self.often(0.5):
            return f"{self.name} {self.join()}{where}"
        inner = f" WHERE {self.condition(1)}" if self.often(0.5) else ""
        return f"(SELECT * FROM {self.name}{inner}) AS {self.name}{where}"

    def join(self) -> str:
        """An exact table beside the release, on an exact key; it may repeat rows or lose them."""
        return self.pick(
            "JOIN plain ON x = id % 10",
            "LEFT JOIN plain ON plain.x = id % 13",
            f"JOIN (SELECT x AS part, x * 2 AS half FROM plain WHERE x > {self.whole(0, 4)}) AS parts ON part = id % 7",
            "JOIN plain ON x < id % 3",
        )

    def sets(self) -> Drawn:
        """GROUPING SETS, ROLLUP and CUBE."""
        drawn = dict.fromkeys([self.exact_key(), self.pick(self.exact_key(), self.perturbed_key())])
        keys = [f"({key})" for key in drawn]
        listed = ", ".join(keys)
        single = ", ".join(f"({key})" for key in keys)
        by = self.pick(
            f"ROLLUP ({listed})", f"CUBE ({listed})", f"GROUPING SETS ({single}, ())", f"{keys[0]}, CUBE ({keys[-1]})"
        )
        items = ", ".join([*keys, f"grouping({keys[0]})", self.aggregate()])
        return Drawn(f"SELECT {items} FROM {self.source()} GROUP BY {by}", len(keys) + 1)

    def grouped(self, perturbed: float = 0.3, limit: bool = True) -> Drawn:
        """GROUP BY, with whatever may follow."""
        keys = self.keys(perturbed)
        named = [f"k{i}" for i in range(len(keys))]
        items = [f"{key} AS {name}" for key, name in zip(keys, named, strict=True)]
        estimates = [self.estimate() for _ in range(self.whole(1, 2))]
        items += [f"{estimate} AS e{i}" for i, estimate in enumerate(estimates)]
        by = self.rng.choice([keys, named, [str(i + 1) for i in range(len(keys))], ["ALL"]])
        sql = f"SELECT {', '.join(items)} FROM {self.source()} GROUP BY {', '.join(by)}"
        if self.often(0.25):
            sql += f" HAVING {self.pick('count(*) > 20', f'{self.aggregate()} > {self.whole(0, 90)}', 'count(*) >= 1')}"
        if not limit or self.often(0.5):
            return Drawn(sql, len(keys))
        order = ", ".join([self.pick("e0 DESC NULLS LAST", "k0", "count(*) DESC", "2 NULLS FIRST"), *named])
        sql += f" ORDER BY {order}"
        if self.often(0.4):
            sql += f" LIMIT {self.whole(1, 6)}" + self.pick("", f" OFFSET {self.whole(0, 2)}")
        return Drawn(sql, len(keys), ordered=True)

    def plain(self) -> Drawn:
        """One row of estimates."""
        items = [self.estimate() for _ in range(self.whole(1, 4))]
        having = f" HAVING {self.aggregate()} > {self.whole(0, 50)}" if self.often(0.08) else ""
        return Drawn(
            f"SELECT {', '.join(f'{item} AS e{i}' for i, item in enumerate(items))} FROM {self.source()}{having}"
        )

    # Larger statements

    def windowed(self) -> Drawn:
        key, estimate = self.pick(self.exact_key(), self.exact_key(), self.perturbed_key()), self.aggregate()
        window = self.pick(
            f"rank() OVER (ORDER BY {estimate} DESC NULLS LAST)",
            f"sum({estimate}) OVER ()",
            f"{estimate} / sum({estimate}) OVER ()",
            f"row_number() OVER (ORDER BY {key})",
            f"lag({estimate}) OVER (ORDER BY {key})",
            f"sum(count(*)) OVER (ORDER BY {key} ROWS UNBOUNDED PRECEDING)",
        )
        qualify = self.pick("", "", f" QUALIFY row_number() OVER (ORDER BY {key}) <= 3")
        return Drawn(
            f"SELECT {key} AS k0, {estimate} AS e0, {window} AS e1 FROM {self.source()} GROUP BY {key}{qualify}", 1
        )

    def again(self) -> Drawn:
        """Aggregates of aggregates, through a subquery or WITH."""
        inner = self.grouped(limit=False)
        outer = self.pick(
            "count(*)",
            "max(e0), min(e0)",
            "sum(e0)",
            "avg(e0), count(e0)",
            "count(DISTINCT k0), sum(e0) FILTER (e0 > 9)",
        )
        where = self.pick("", "", " WHERE e0 > 10", " WHERE k0 IS NOT NULL")
        if self.often(0.5):
            return Drawn(f"SELECT {outer} FROM ({inner.sql}) AS g{where}")
        return Drawn(f"WITH g AS ({inner.sql}) SELECT {outer} FROM g{where}")

    def scalar(self) -> Drawn:
        count = f"(SELECT {self.estimate()} FROM {self.source()})"
        return Drawn(
            self.pick(
                f"SELECT {count} AS e0",
                f"SELECT {count} + (SELECT max(x) FROM plain) AS e0",
                f"SELECT x, {count} AS e0 FROM plain WHERE x < 3",
                f"WITH t AS (SELECT {self.aggregate()} AS n FROM {self.source()}) SELECT n * 2 FROM t",
                f"SELECT max(x) FROM plain WHERE x < {count}",
            )
        )

    def united(self) -> Drawn:
        one, other = self.aggregate(), self.aggregate()
        kind = self.pick("UNION ALL", "UNION ALL", "UNION", "EXCEPT")
        return Drawn(f"SELECT {one} FROM {self.source()} {kind} SELECT {other} FROM {self.source()}")

    def joined(self) -> Drawn:
        """Two answers, or an answer and a plain table, joined on an exact key."""
        one = f"(SELECT sex, {self.aggregate()} AS a FROM {self.source()} GROUP BY sex) AS l"
        other = f"(SELECT sex, {self.aggregate()} AS b FROM {self.source()} GROUP BY sex) AS r"
        if self.often(0.3):
            return Drawn(
                f"SELECT x, n FROM plain JOIN (SELECT id % 3 AS k, {self.aggregate()} AS n FROM {self.source()} "
                "GROUP BY 1) AS g ON x = k"
            )
        return Drawn(f"SELECT sex, a, b, a / nullif(b, 0) FROM {one} JOIN {other} USING (sex)")

    def distinct(self) -> Drawn:
        return Drawn(
            f"SELECT DISTINCT {self.aggregate()} > {self.whole(0, 300)} AS k FROM {self.source()} "
            f"GROUP BY {self.exact_key()}"
        )

    def refused(self) -> Drawn:
        """What can never be answered."""
        column = self.pick("age", "hours", "wage", "occupation", "birth", '"Order"')
        return Drawn(
            self.pick(
                f"SELECT {self.pick('min', 'max', 'mode', 'first', 'any_value')}({column}) FROM {self.name}",
                f"SELECT sex, count(DISTINCT {column}) FROM {self.name} GROUP BY sex",
                f"SELECT {self.pick('list', 'string_agg', 'array_agg')}({column}) FROM {self.name}",
                f"SELECT arg_max(id, {column}) FROM {self.name}",
                f"SELECT id FROM {self.name} WHERE {self.predicate()}",
                f"SELECT id, rank() OVER (ORDER BY {column}) FROM {self.name}",
                f"SELECT id, count(*) OVER (PARTITION BY {column}) FROM {self.name}",
                f"SELECT DISTINCT {column} FROM {self.name}",
                f"SELECT id FROM {self.name} ORDER BY {column} LIMIT 3",
                f"SELECT x, count(*) FROM plain JOIN {self.name} ON x = age GROUP BY x",
            )
        )

    def statement(self) -> Drawn:
        """Any statement that should be answered."""
        shapes = {
            **{self.plain: 30, self.grouped: 30, self.windowed: 8, self.again: 10, self.scalar: 6, self.united: 5},
            **{self.joined: 6, self.distinct: 4, self.sets: 7},
        }
        (shape,) = self.rng.choices(list(shapes), list(shapes.values()))
        return shape()
