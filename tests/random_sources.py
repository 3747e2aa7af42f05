"""Random tables, joins, unions and queries in FROM, up to three deep, whose names shadow each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from random_scopes import LITERALS, NAMES, Expression, Expressions, Scope
from random_world import BESIDE, INTEGER, ITEMS, PEOPLE, SHOP, STAFF, TEXT, Column, Table

ALIASES = ("p", "q", "people", "t", "dup", '"My rows"', "age")


@dataclass(frozen=True)
class Source:
    """What stands in FROM, and the columns that it gives."""

    text: str
    scope: Scope


class Sources(Expressions):
    """Draws what stands in FROM, and conditions on it."""

    def leaf(self, table: Table | None = None) -> Source:
        """A table, with the few of its perturbed columns that the statement is about."""
        table = table or self.rng.choices((PEOPLE, STAFF, SHOP), (80, 13, 7))[0]
        roots = [column.name for column in table.columns if column.perturbed and column.kind != ITEMS]
        kept = set(self.rng.sample(roots, min(len(roots), self.whole(1, 2))))
        if table is STAFF:
            kept.add(self.pick("code", "noisy"))
        columns = tuple(c for c in table.columns if not c.perturbed or c.kind == ITEMS or c.name in kept)
        alias = self.pick(*ALIASES) if self.often(0.25) else ""
        text = f"{table.name} AS {alias}" if alias else table.name
        return Source(text, Scope(tuple((alias or table.name, column) for column in columns)))

    def source(self, depth: int | None = None) -> Source:
        """A table, a join, or a query in its place, up to three deep."""
        depth = self.rng.choices((0, 1, 2, 3), (35, 30, 20, 15))[0] if depth is None else depth
        if depth == 0:
            found = self.leaf()
            return self.joined(found) if self.often(0.15) else found
        found = self.union(depth) if self.often(0.12) else self.derived(depth)
        return self.joined(found) if self.often(0.12) else found

    def joined(self, found: Source) -> Source:
        """With an exact table beside it, on exact columns; it may repeat rows or lose them."""
        table = self.rng.choice(BESIDE)
        taken = {qualifier for qualifier, _ in found.scope.columns}
        alias = next(name for name in (table.name, "beside", "other") if name not in taken)
        renamed = self.often(0.2)
        if renamed:
            names = self.rng.sample([name for name in NAMES if not name.startswith('"')], len(table.columns))
            columns = tuple(replace(column, name=name) for column, name in zip(table.columns, names, strict=True))
            items = ", ".join(f"{old.name} AS {new.name}" for old, new in zip(table.columns, columns, strict=True))
            there, table = table.name, replace(table, columns=columns)
        other = tuple((alias, column) for column in table.columns)
        keys = {column.name for _, column in found.scope.columns if not column.perturbed and column.kind == INTEGER}
        keys = {key for key in keys if not found.scope.clashing(key)}
        shared = sorted(keys & {column.name for column in table.columns if column.kind == INTEGER})
        kind = self.pick("JOIN", "JOIN", "LEFT JOIN", "SEMI JOIN", "ANTI JOIN")
        named = table.name if alias == table.name else f"{table.name} AS {alias}"
        named = f"(SELECT {items} FROM {there}) AS {alias}" if renamed else named
        gives = () if kind in ("SEMI JOIN", "ANTI JOIN") else other
        if shared and self.often(0.4):
            key = self.rng.choice(shared)
            gives = tuple(one for one in gives if one[1].name != key)
            columns = tuple(("", c) if c.name == key else (q, c) for q, c in found.scope.columns)
            return Source(f"{found.text} {kind} {named} USING ({key})", Scope((*columns, *gives)))
        both = Scope((*found.scope.columns, *other))
        one = self.expression(found.scope, INTEGER, frozenset(), self.whole(0, 1))
        there = [c for c in table.columns if c.kind == INTEGER]
        right = f"{alias}.{self.rng.choice(there).name}"
        if one is None or any(both.clashing(c.name) and f".{c.name}" not in one.text for c in table.columns):
            qualifier, column = self.rng.choice(
                [(q, c) for q, c in found.scope.columns if not c.perturbed] or [("", there[0])]
            )
            if column.kind != INTEGER or not qualifier:
                return found
            left = f"{qualifier}.{column.name}"
        else:
            left = one.text
        both = Scope((*found.scope.columns, *gives))
        if kind == "JOIN" and self.often(0.3):
            return Source(f"{named} JOIN {found.text} ON {left} = {right}", both)
        return Source(f"{found.text} {kind} {named} ON {left} = {right}", both)

    def items(self, scope: Scope, whole: bool) -> tuple[list[str], list[Column]]:
        """The items of a subquery: columns as they are, under another's name, or computed."""
        texts: list[str] = []
        columns: list[Column] = []
        if whole and self.often(0.2) and not any(scope.clashing(column.name) for _, column in scope.columns):
            return self.starred(scope)
        for _ in range(self.whole(2, 5)):
            names = {column.name.strip('"').casefold() for column in columns}
            free = [name for name in NAMES if name.strip('"').casefold() not in names]
            aliases = scope.with_aliases(columns) if self.often(0.15) else scope
            roots = frozenset[str]() if self.often(0.35) else self.focus(scope)
            if self.often(0.4):
                qualifier, column = self.rng.choice(scope.columns)
                found = Expression(
                    self.reference(scope, qualifier, column), column.kind, column.perturbed, column.exact
                )
                if self.often(0.5) and column.name.strip('"').casefold() not in names:
                    texts.append(found.text)
                    columns.append(column)
                    continue
            else:
                found = self.any_kind(aliases, roots)
            name = self.rng.choice(free)
            texts.append(f"{found.text} AS {name}")
            columns.append(found.named(name))
        return texts, columns

    def starred(self, scope: Scope) -> tuple[list[str], list[Column]]:
        """A star, with a further item beside it."""
        columns = [column for _, column in scope.columns]
        fresh = next(name for name in (*NAMES, "new") if not scope.has(name))
        found = self.any_kind(scope, self.focus(scope))
        return ["*", f"{found.text} AS {fresh}"], [*columns, found.named(fresh)]

    def query(self, depth: int) -> tuple[str, list[Column]]:
        """A query that passes rows on: its items and conditions are those of the query around it."""
        inner = self.source(depth - 1)
        texts, columns = self.items(inner.scope, depth > 1 and " JOIN " not in inner.text)
        where = f" WHERE {self.condition(inner.scope)}" if self.often(0.35) else ""
        return f"SELECT {', '.join(texts)} FROM {inner.text}{where}", columns

    def derived(self, depth: int) -> Source:
        text, columns = self.query(depth)
        alias = self.pick(*ALIASES)
        if self.often(0.35):
            named = alias if self.often(0.8) else "s2"
            again = self.items(Scope(tuple((named, c) for c in columns)), True)
            text, columns = f"WITH {named} AS ({text}) SELECT {', '.join(again[0])} FROM {named}", again[1]
        return Source(f"({text}) AS {alias}", Scope(tuple((alias, column) for column in columns)))

    def union(self, depth: int) -> Source:
        """Rows of a release, and rows of an exact table or of another release below them."""
        inner = self.leaf(PEOPLE) if depth == 1 or self.often(0.5) else self.source(depth - 1)
        shown = self.rng.sample(inner.scope.columns, min(4, len(inner.scope.columns)))
        names = self.rng.sample(NAMES, len(shown))
        texts = [f"{self.reference(inner.scope, *one)} AS {name}" for one, name in zip(shown, names, strict=True)]
        columns = [replace(one[1], name=name) for one, name in zip(shown, names, strict=True)]
        exact = Scope(tuple(one for one in inner.scope.columns if not one[1].perturbed))
        where = f" WHERE {self.condition(exact, 1, 1.0)}" if self.often(0.3) else ""
        text = f"SELECT {', '.join(texts)} FROM {inner.text}{where}"
        members = [text, *(self.below(columns) for _ in range(self.rng.choices((1, 2), (3, 1))[0]))]
        alias = self.pick(*ALIASES)
        return Source(f"({' UNION ALL '.join(members)}) AS {alias}", Scope(tuple((alias, c) for c in columns)))

    def below(self, columns: Sequence[Column]) -> str:
        """A further member of a union, whose columns are of the same kinds."""
        if self.often(0.25) and all(c.kind in (INTEGER, TEXT) for c in columns):
            # of another release: a perturbed column below a perturbed one, an exact one below an exact one
            names = {True: {INTEGER: "age"}, False: {INTEGER: "k", TEXT: "sex"}}
            texts = [names[bool(c.perturbed)].get(c.kind, "NULL") for c in columns]
            return f"SELECT {', '.join(texts)} FROM {self.pick('staff', 'shop')}"
        other = self.rng.choice(BESIDE)
        scope = Scope(tuple((other.name, column) for column in other.columns))
        texts = [
            (self.expression(scope, c.kind, frozenset(), 1) or Expression(LITERALS[c.kind], c.kind)).text
            for c in columns
        ]
        return f"SELECT {', '.join(texts)} FROM {other.name}"

    # Subqueries on exact tables

    def number(self, scope: Scope, exact: float = 0.3) -> Expression:
        looked_up = self.looked_up(scope) if self.often(0.04) else None
        return looked_up or super().number(scope, exact)

    def looked_up(self, scope: Scope) -> Expression | None:
        """A number of an exact table, for an exact column of the query around it."""
        table = self.rng.choice(BESIDE)
        one, other = (self.rng.choice([c for c in table.columns if c.kind == INTEGER]).name for _ in range(2))
        found = [(q, c) for q, c in scope.columns if c.kind == INTEGER and not c.perturbed and q not in ("", "other")]
        if not found or self.often(0.2):
            return Expression(f"(SELECT max({one}) FROM {table.name})", INTEGER)
        qualifier, column = self.rng.choice(found)
        where = f"other.{other} = {qualifier}.{column.name}"
        return Expression(f"(SELECT max(other.{one}) FROM {table.name} AS other WHERE {where})", INTEGER)

    def where(self, scope: Scope, chance: float = 0.6) -> str:
        if not self.often(chance):
            return ""
        text = self.condition(scope)
        if self.often(0.2):
            text = f"{text if ' OR ' not in text else f'({text})'} AND {self.correlated(scope)}"
        return f" WHERE {text}"

    def correlated(self, scope: Scope) -> str:
        """A subquery on an exact table that names exact columns of the query around it."""
        table = self.rng.choice(BESIDE)
        alias = self.pick("other", table.name)
        inner = self.rng.choice([column for column in table.columns if column.kind == INTEGER])
        outside = Scope(tuple(one for one in scope.columns if not table_has(table, one[1].name)))
        outer = self.expression(outside, INTEGER, frozenset(), self.whole(0, 1))
        qualified = [(q, c) for q, c in scope.columns if c.kind == INTEGER and not c.perturbed and q not in ("", alias)]
        if qualified and self.often(0.5):  # a name that the table in the subquery may have, too
            qualifier, column = self.rng.choice(qualified)
            outer = Expression(f"{qualifier}.{column.name}", INTEGER)
        left = f"{alias}.{inner.name}"
        if outer is None:
            return f"EXISTS (SELECT 1 FROM {table.name} AS {alias} WHERE {left} > {self.whole(0, 9)})"
        name, text = self.pick("x", "id", "age", "s"), outer.text
        bare = [column for _, column in scope.columns if column.name == text]
        name = "y" if bare and name == text else name
        return self.pick(
            f"EXISTS (SELECT 1 FROM {table.name} AS {alias} WHERE {left} = {outer.text})",
            f"NOT EXISTS (SELECT 1 FROM {table.name} AS {alias} WHERE {outer.text} = {left})",
            f"{outer.text} IN (SELECT {inner.name} FROM {table.name})",
            f"{outer.text} > (SELECT min({left}) FROM {table.name} AS {alias})",
            f"{outer.text} < (SELECT count(*) FROM {table.name} AS {alias} WHERE {left} < {outer.text})",
            f"EXISTS (FROM (SELECT {inner.name} AS {name} FROM {table.name}) AS {alias} WHERE {alias}.{name} = {text})",
        )


def table_has(table: Table, name: str) -> bool:
    return any(column.name == name.strip('"').casefold() for column in table.columns)
