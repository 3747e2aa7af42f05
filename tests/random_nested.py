"""Random statements over nested queries whose names shadow each other, on releases by every mechanism.

A statement depends on nothing but its seed: `Nested(seed).statement()`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from random_scopes import NAMES, Expression, Scope
from random_sources import Sources
from random_world import BOOLEAN, DATE, INTEGER, ITEMS, TEXT, Column

QUANTILES = (
    *("median({0})", "quantile_cont({0}, 0.3)", "quantile_disc({0}, 0.7)", "quantile_cont({0}, [0.2, 0.9])"),
    "percentile_cont(0.4) WITHIN GROUP (ORDER BY {0})",
)
NOTHING = ("FALSE", "id < 0", "NULL", "1 > 2", "age > 1000", "age IS NULL AND age > 2")
SHAPES: dict[str, int] = {
    **{"plain": 22, "grouped": 26, "windowed": 8, "again": 10, "united": 6, "scalar": 5, "sets": 6, "rows": 8},
    **{"quantile": 6, "distinct": 4, "empty": 5},
}


@dataclass(frozen=True)
class Drawn:
    """A statement of some shape; `ordered` rows have one right order."""

    sql: str
    shape: str
    ordered: bool = False


class Nested(Sources):
    """Draws statements."""

    # Aggregates

    def aggregate(self, scope: Scope) -> str:
        kind = self.rng.random()
        baskets = [(q, c) for q, c in scope.columns if c.kind == ITEMS]
        if baskets and self.often(0.4):
            item = self.pick("'milk'", "'tea'", "'it''s'")
            return f"count(*) FILTER (WHERE list_contains({self.reference(scope, *baskets[0])}, {item}))"
        if kind < 0.25:
            text = "count(*)"
        elif kind < 0.4:
            text = self.pick(f"count({self.number(scope).text})", f"count_if({self.condition(scope, 1, 0.15)})")
        elif kind < 0.8:
            text = f"{self.pick('sum', 'avg', 'sum')}({self.number(scope).text})"
        elif kind < 0.9:
            text = f"{self.pick('var_pop', 'stddev', 'var_samp')}({self.number(scope, 0.2).text})"
        else:
            exact = self.expression(scope, INTEGER, frozenset(), 1) or Expression("1", INTEGER)
            text = f"{self.pick('min', 'max', 'sum', 'count')}({exact.text})"
        return f"{text} FILTER (WHERE {self.condition(scope, 1)})" if self.often(0.2) else text

    def estimate(self, scope: Scope) -> str:
        """An aggregate, or an expression over some."""
        if self.often(0.65):
            return self.aggregate(scope)
        one, other = self.aggregate(scope), self.aggregate(scope)
        return self.pick(
            *(f"{one} + {other}", f"{one} - {other} * 2", f"- {one}", f"{one} / nullif({other}, 0)"),
            *(f"coalesce({one}, -1)", f"round({one}, 2)", f"{one} * 2 - 1", f"CASE WHEN {one} > 2.5 THEN {other} END"),
            *(f"[{one}, {other}][1]", f"struct_extract({{'a': {one}}}, 'a')", f"abs({one})"),
        )

    def key(self, scope: Scope) -> Expression:
        """What rows are grouped by, mostly of exact columns."""
        if self.often(0.06):
            looked_up = self.looked_up(scope) if self.often(0.5) else None
            return looked_up or Expression(self.pick("2", "- 3"), INTEGER)
        roots = self.focus(scope) if self.often(0.25) else frozenset[str]()
        kind = self.rng.choice([INTEGER, INTEGER, TEXT, BOOLEAN, DATE] if roots else [INTEGER, INTEGER, TEXT, BOOLEAN])
        found = self.expression(scope, kind, roots, self.whole(0, 2))
        return found or self.column(scope, TEXT, frozenset()) or Expression("1 + 1", INTEGER)

    def alias(self, taken: Sequence[str] = ()) -> str:
        folded = {name.strip('"').casefold() for name in taken}
        return self.rng.choice([name for name in NAMES if name.strip('"').casefold() not in folded])

    # Statements

    def plain(self) -> Drawn:
        """One row of estimates."""
        source = self.source()
        items = [self.estimate(source.scope) for _ in range(self.whole(1, 3))]
        listed = ", ".join(f"{item} AS e{i}" if self.often(0.7) else item for i, item in enumerate(items))
        having = f" HAVING {self.aggregate(source.scope)} > {self.whole(0, 9)}.5" if self.often(0.08) else ""
        return Drawn(f"SELECT {listed} FROM {source.text}{self.where(source.scope)}{having}", "plain")

    def grouped(self) -> Drawn:
        """GROUP BY, with aliases that shadow columns, HAVING and ORDER BY."""
        source = self.source()
        keys = list({one.text: one for one in (self.key(source.scope) for _ in range(self.whole(1, 2)))}.values())
        names: list[str] = []
        for _ in range(len(keys) + self.whole(1, 2)):
            names.append(self.alias(names))
        items = [f"{key.text} AS {name}" for key, name in zip(keys, names, strict=False)]
        estimates = [self.estimate(source.scope) for _ in names[len(keys) :]]
        items += [f"{one} AS {name}" for one, name in zip(estimates, names[len(keys) :], strict=True)]
        by = self.rng.choice(
            [[key.text for key in keys], [str(i + 1) for i in range(len(keys))], ["ALL"], names[: len(keys)]]
        )
        sql = f"SELECT {', '.join(items)} FROM {source.text}{self.where(source.scope)} GROUP BY {', '.join(by)}"
        if self.often(0.25):
            sql += f" HAVING {self.having(names, keys, source.scope)}"
        shadowed = by[0] == names[0] and any(source.scope.has(name) for name in by)
        if self.often(0.4) or shadowed:  # then rows are not told apart by what is shown
            return Drawn(sql, "grouped")
        inside = [f"- {names[0]}", f"{names[0]} * 2 - 9", f"abs({names[0]} - 3)"] if keys[0].kind == INTEGER else []
        first = self.pick(*names, *inside, names[0].upper(), "count(*) DESC", keys[0].text)
        places = [str(i + 1) for i in range(len(keys))]
        way = self.pick("", " DESC", " NULLS FIRST") if "DESC" not in first else ""
        sql += f" ORDER BY {first}{way}, {', '.join(places)}"
        hidden_keys = (
            by == ["ALL"] and " HAVING " in sql
        )  # rows are grouped by columns of HAVING too, and nothing shows them
        exact = first not in names[len(keys) :] and not self.often(0.3) and not hidden_keys
        if exact and self.often(0.5):
            sql += f" LIMIT {self.whole(1, 4)}" + self.pick("", f" OFFSET {self.whole(0, 2)}")
        return Drawn(sql, "grouped", exact)

    def having(self, names: Sequence[str], keys: Sequence[Expression], scope: Scope) -> str:
        """A condition on groups: by an alias, by a key, by an aggregate."""
        name = self.rng.choice(names[len(keys) :])
        key = keys[0]
        found = {INTEGER: f"{names[0]} > 2", BOOLEAN: f"{names[0]}", TEXT: f"{names[0]} > 'H'"}.get(key.kind, "TRUE")
        return self.pick(
            *(f"{name} > {self.whole(0, 20)}.5", found, f"{self.aggregate(scope)} > {self.whole(0, 20)}.5"),
            *("count(*) > 3.5", f"{key.text} IS NOT NULL", f"{name} IS NOT NULL AND count(*) > 1.5"),
        )

    def windowed(self) -> Drawn:
        source = self.source()
        key, name, estimate = self.key(source.scope), self.alias(), self.aggregate(source.scope)
        window = self.pick(
            *(
                f"rank() OVER (ORDER BY {key.text} DESC)",
                f"sum({estimate}) OVER ()",
                f"lag(count(*)) OVER (ORDER BY {name})",
            ),
            *(f"row_number() OVER (ORDER BY {key.text})", "count(*) / sum(count(*)) OVER ()"),
            f"sum(count(*)) OVER (ORDER BY {key.text} ROWS UNBOUNDED PRECEDING)",
        )
        qualify = self.pick("", "", f" QUALIFY row_number() OVER (ORDER BY {key.text}) <= 3")
        sql = (
            f"SELECT {key.text} AS {name}, {estimate} AS e, {window} AS r FROM {source.text}{self.where(source.scope)}"
        )
        return Drawn(f"{sql} GROUP BY {key.text}{qualify}", "windowed")

    def again(self) -> Drawn:
        """Aggregates of aggregates, through subqueries and WITH."""
        source = self.source(self.whole(0, 2))
        key, name = self.key(source.scope), self.alias()
        value = self.alias([name])
        inner = f"SELECT {key.text} AS {name}, {self.estimate(source.scope)} AS {value} FROM {source.text}"
        inner += f"{self.where(source.scope)} GROUP BY {key.text}"
        outer = self.pick(
            "count(*)", "max({v}), min({v})", "sum({v} + 1 )", "avg({v}), count({k})", "sum({v} * 2) FILTER ({v} > 2.5)"
        )
        outer = outer.format(v=value, k=name)
        where = self.pick("", "", f" WHERE {value} > 3.5", f" WHERE {name} IS NOT NULL")
        if self.often(0.15):  # groups alone
            inner = f"SELECT {key.text} AS {name} FROM {source.text}{self.where(source.scope)} GROUP BY {key.text}"
            return Drawn(f"SELECT {self.pick('count(*)', f'count({name})')} FROM ({inner}) AS g", "again")
        if self.often(0.5):
            return Drawn(f"SELECT {outer} FROM ({inner}) AS g{where}", "again")
        middle = f"SELECT {value} AS {name}, {name} AS {value} FROM g"
        return Drawn(f"WITH g AS ({inner}), folk AS ({middle}) SELECT * FROM folk", "again")

    def united(self) -> Drawn:
        one, other = self.source(), self.source(self.whole(0, 1))
        kind = self.pick("UNION ALL", "UNION ALL", "UNION", "EXCEPT", "INTERSECT")
        first = f"SELECT {self.estimate(one.scope)} AS n FROM {one.text}{self.where(one.scope)}"
        second = f"SELECT {self.estimate(other.scope)} FROM {other.text}{self.where(other.scope)}"
        if self.often(0.3):
            second = f"SELECT {self.pick('x + 1', 'x * 2')} FROM plain"
        return Drawn(f"{first} {kind} {second}", "united")

    def scalar(self) -> Drawn:
        source = self.source()
        count = f"(SELECT {self.estimate(source.scope)} FROM {source.text}{self.where(source.scope)})"
        return Drawn(
            self.pick(
                f"SELECT {count} + 1 AS e",
                f"SELECT x AS age, {count} AS x FROM plain WHERE x < 3",
                f"WITH age AS (SELECT {count} AS age) SELECT age * 2 FROM age",
                f"SELECT k, {count} AS k2 FROM dup ORDER BY k, v",
            ),
            "scalar",
        )

    def sets(self) -> Drawn:
        source = self.source()
        drawn = {one.text: one for one in (self.key(source.scope) for _ in range(2))}
        keys = [f"({text})" for text in drawn]
        listed = ", ".join(keys)
        single = ", ".join(f"({key})" for key in keys)
        by = self.pick(
            f"ROLLUP ({listed})", f"CUBE ({listed})", f"GROUPING SETS ({single}, ())", f"{keys[0]}, CUBE ({keys[-1]})"
        )
        names = [self.alias()]
        names.append(self.alias(names))
        items = [f"{key} AS {name}" for key, name in zip(keys, names, strict=False)]
        items += [f"grouping({keys[0]}) AS g", f"{self.aggregate(source.scope)} AS e"]
        return Drawn(f"SELECT {', '.join(items)} FROM {source.text}{self.where(source.scope)} GROUP BY {by}", "sets")

    def quantile(self) -> Drawn:
        source = self.source()
        root = self.focus(source.scope)
        found = self.expression(source.scope, INTEGER, root, self.whole(0, 1)) or Expression("id", INTEGER)
        text = self.pick(*QUANTILES).format(found.text)
        key = self.column(source.scope, TEXT, frozenset())
        if key is not None and self.often(0.3):
            sql = f"SELECT {key.text} AS age, {text} AS q FROM {source.text}{self.where(source.scope)}"
            return Drawn(f"{sql} GROUP BY {key.text}", "quantile")
        return Drawn(f"SELECT {text} AS age, count(*) FROM {source.text}{self.where(source.scope)}", "quantile")

    def distinct(self) -> Drawn:
        source = self.source()
        key = self.expression(source.scope, INTEGER, frozenset(), 1) or Expression("1", INTEGER)
        rows = f"{source.text}{self.where(source.scope)}"
        return Drawn(
            self.pick(
                f"SELECT DISTINCT count(*) > {self.whole(0, 40)}.5 AS k FROM {rows} GROUP BY {key.text}",
                f"SELECT count(DISTINCT {key.text}) AS k FROM {source.text}",
                f"SELECT DISTINCT {key.text} AS age FROM {source.text} ORDER BY age",
            ),
            "distinct",
        )

    def rows(self) -> Drawn:
        """Rows of exact columns, however deep they come from."""
        source = self.source()
        exact = Scope(tuple(one for one in source.scope.columns if not one[1].perturbed))
        columns: list[Column] = []
        texts = []
        for _ in range(self.whole(1, 3)):
            found = self.any_kind(exact, frozenset())
            name = self.alias([column.name for column in columns])
            texts.append(f"{found.text} AS {name}")
            columns.append(found.named(name))
        where = f" WHERE {self.condition(exact, 1, 1.0)}" if self.often(0.6) else ""
        if where and self.often(0.3):
            where += f" AND {self.correlated(exact)}"
        window = f", rank() OVER (ORDER BY {columns[0].name}) AS r" if self.often(0.15) else ""
        places = ", ".join(str(i + 1) for i in range(len(texts)))
        order = f" ORDER BY {self.pick(*(c.name for c in columns))}, {places}" if self.often(0.5) else ""
        sql = f"SELECT {', '.join(texts)}{window} FROM {source.text}{where}{order}"
        return Drawn(sql, "rows", bool(order) and not window)

    def empty(self) -> Drawn:
        """Any of the others, over no rows of the release."""
        drawn = self.rng.choice([self.plain, self.plain, self.quantile, self.grouped, self.united, self.again])()
        nobody = f"SELECT * FROM people WHERE {self.pick(*NOTHING)}"
        table = self.pick(nobody, nobody, "SELECT * FROM people SEMI JOIN plain ON k < x - 9")
        sql = re.sub(r" FROM people(?! AS)\b", f" FROM ({table}) AS people", drawn.sql)
        return Drawn(re.sub(r" FROM people AS\b", f" FROM ({table}) AS", sql), "empty", drawn.ordered)

    def statement(self) -> Drawn:
        """Any statement."""
        (shape,) = self.rng.choices(list(SHAPES), list(SHAPES.values()))
        draw: Callable[[], Drawn] = getattr(self, shape)
        return draw()
