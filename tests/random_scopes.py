"""Random expressions over the columns in scope, without parentheses of their own; names that shadow others."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from random_world import BOOLEAN, DATE, INTEGER, ITEMS, REAL, TEXT, Column

NAMES = ("age", "k", "id", "j", "married", "sex", "n", "s", "swp", "x", "v", '"Odd name"', '"order"', "w", "dup")

TEMPLATES = {
    INTEGER: (
        *("{i} + {n}", "{i} * {n}", "- {i}", "{i} - {n}", "{i} - {i}", "{i} + {i} * {n}", "{n} - {i}", "{i} % {p}"),
        *("{i} // {p}", "abs({i})", "coalesce({i}, {n})", "nullif({i}, {n})", "length({t})", "[{i}, {n}][1]"),
        *("[3, 1, 2, 5][{n}]", "CASE WHEN {b} THEN {n} ELSE {i} END", "CASE {i} WHEN {n} THEN 1 ELSE {i} END"),
        *("CASE WHEN {b} THEN {i} END", "[4, 7, 9][abs({i}) % 3 + 1]", "if({b}, {n}, {i})", "year({d})", "month({d})"),
        *(
            "MAP {{1: 5, 2: 7}}[{c}]",
            "[{i}, {n}, 2][2:3][1]",
            "struct_extract({{'a': {i}}}, 'a')",
            "date_diff('day', DATE '2000-01-01', {d})",
        ),
    ),
    REAL: ("{i} / {p}", "{r} * {n}", "{r} - {i}", "{r} + 0.5", "- {r}", "sqrt(abs({i}))", "round({r}, 1)", "{i} * 0.5"),
    TEXT: (
        *(
            "upper({t})",
            "lower({t})",
            "{t} || 'a'",
            "{t}[1]",
            "{t}[1:2]",
            "substring({t}, 2, 2)",
            "CAST({i} AS VARCHAR)",
        ),
        *("CASE WHEN {b} THEN 'yes' ELSE 'no' END", "coalesce({t}, 'none')", "'it''s ' || {t}", "left({t}, 1)"),
        *("strftime({d}, '%m')", "CASE WHEN {b} THEN {t} END", "reverse({t})"),
    ),
    BOOLEAN: (
        *("{i} > {n}", "{i} <= {n}", "{i} = {n}", "{i} <> {n}", "{i} BETWEEN {n} AND 7", "{i} IN ({n}, {n})"),
        *("{i} IS NULL", "{i} IS NOT NULL", "{b} AND {b}", "{b} OR {b}", "NOT {b}", "{t} = 'M'", "{t} LIKE '%o%'"),
        *(
            "{t} IN ('cook', 'F', 'Rome')",
            "{d} > DATE '2000-02-01'",
            "{i} > {i}",
            "{i} % 2 = 1",
            "{t} IS NULL",
            "{c} < {n}",
        ),
        *(
            "{i} NOT IN ({n}, {n})",
            "{i} IS DISTINCT FROM {n}",
            "{t}[1] = 'c'",
            "{d} BETWEEN DATE '2000-01-10' AND DATE '2020-02-28'",
        ),
        *("{n} < {i}", "CASE WHEN {b} THEN {b} ELSE FALSE END", "coalesce({b}, TRUE)", "{b} IS TRUE", "{r} < 2.5"),
    ),
    DATE: ("{d} + {n}", "{d} - {n}", "date_trunc('month', {d})::DATE", "last_day({d})"),
    ITEMS: (),
}
LITERALS = {INTEGER: "2", REAL: "1.5", TEXT: "'Oslo'", BOOLEAN: "TRUE", DATE: "DATE '2000-02-02'", ITEMS: "['tea']"}
KINDS = {"i": INTEGER, "r": REAL, "t": TEXT, "b": BOOLEAN, "d": DATE}
TIGHT = frozenset({"{t}[1]", "{t}[1:2]", "{t}[1] = 'c'"})
"""Whose operand must be a name or a call: an index binds more tightly than any operator."""


@dataclass(frozen=True)
class Expression:
    """The text of an expression, and what it depends on; a column has the same."""

    text: str
    kind: str
    perturbed: frozenset[str] = frozenset()
    exact: bool = False

    def named(self, name: str) -> Column:
        return Column(name, self.kind, self.perturbed, self.exact)


@dataclass(frozen=True)
class Scope:
    """The columns that can be named, each with the table that has it."""

    columns: tuple[tuple[str, Column], ...]

    def clashing(self, name: str) -> bool:
        return sum(_folded(column.name) == _folded(name) for _, column in self.columns) > 1

    def has(self, name: str) -> bool:
        return any(_folded(column.name) == _folded(name) for _, column in self.columns)

    def with_aliases(self, aliases: Sequence[Column]) -> Scope:
        """Further names, which mean items of the SELECT list; the columns go before them."""
        return replace(self, columns=(*self.columns, *(("", one) for one in aliases if not self.has(one.name))))

    def roots(self) -> list[str]:
        return sorted({root for _, column in self.columns for root in column.perturbed})


def _folded(name: str) -> str:
    return name.strip('"').casefold()


class Expressions:
    """Draws expressions."""

    def __init__(self, seed: int | str) -> None:
        self.rng = random.Random(seed)

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    def often(self, chance: float) -> bool:
        return self.rng.random() < chance

    def whole(self, low: int, high: int) -> int:
        return self.rng.randint(low, high)

    def reference(self, scope: Scope, qualifier: str, column: Column) -> str:
        """A column's name: bare, quoted, in capitals, or with its table's."""
        name = column.name
        if not name.startswith('"'):
            name = f'"{name}"' if self.often(0.1) else name.upper() if self.often(0.05) else name
        if qualifier and (scope.clashing(column.name) or self.often(0.15)):
            return f"{qualifier}.{name}"
        return name

    def column(self, scope: Scope, kind: str, roots: frozenset[str] | None) -> Expression | None:
        """A column of that kind that depends on the roots alone (exact ones where there are none); any for None."""
        fitting = [
            (qualifier, column)
            for qualifier, column in scope.columns
            if column.kind == kind and (roots is None or (column.perturbed <= roots and not (roots and column.exact)))
        ]
        if not fitting:
            return None
        qualifier, column = self.rng.choice(fitting)
        return Expression(self.reference(scope, qualifier, column), kind, column.perturbed, column.exact)

    def expression(self, scope: Scope, kind: str, roots: frozenset[str] | None, depth: int = 1) -> Expression | None:
        """An expression of the roots alone; None where nothing of that kind can be made."""
        if depth == 0 or self.often(0.3) or not TEMPLATES[kind]:
            found = self.column(scope, kind, roots)
            if found is not None or depth == 0 or not TEMPLATES[kind]:
                return found
        for _ in range(6):
            template = self.rng.choice(TEMPLATES[kind])
            made = self.filled(scope, template, kind, roots, depth - 1)
            if made is not None:
                return made
        return self.column(scope, kind, roots)

    def filled(
        self, scope: Scope, template: str, kind: str, roots: frozenset[str] | None, depth: int
    ) -> Expression | None:
        parts: list[Expression] = []
        text, rest = "", template
        while rest:
            before, brace, after = rest.partition("{")
            text += before
            if not brace:
                break
            if after.startswith("{"):
                text, rest = text + "{", after[1:]
                continue
            letter, _, rest = after.partition("}")
            if letter in "np":
                text += str(self.whole(0 if letter == "n" else 1, 6))
                continue
            tight = letter == "c" or template in TIGHT
            found = self.expression(scope, KINDS.get(letter, INTEGER), roots, 0 if tight else depth)
            if found is None:
                return None
            parts.append(found)
            text += found.text
        if roots and not any(part.perturbed for part in parts):
            return None
        perturbed = frozenset[str]().union(*(part.perturbed for part in parts))
        return Expression(text.replace("}}", "}"), kind, perturbed, any(part.exact for part in parts))

    def focus(self, scope: Scope) -> frozenset[str]:
        """The perturbed columns of one expression: mostly one, sometimes two."""
        roots = scope.roots()
        if not roots:
            return frozenset()
        return frozenset(self.rng.sample(roots, 2 if len(roots) > 1 and self.often(0.08) else 1))

    def number(self, scope: Scope, exact: float = 0.3) -> Expression:
        """A number of perturbed columns, of exact ones, or of both."""
        kind = REAL if self.often(0.2) else INTEGER
        roots = None if self.often(0.04) else frozenset[str]() if self.often(exact) else self.focus(scope)
        found = self.expression(scope, kind, roots, self.whole(0, 2))
        other = self.expression(scope, INTEGER, frozenset(), 1) if self.often(0.1) else None
        if found is not None and other is not None:
            text = f"{found.text} {self.pick('*', '+', '-')} {other.text}"
            return Expression(text, kind, found.perturbed | other.perturbed, found.exact or other.exact)
        return found or Expression(LITERALS[INTEGER], INTEGER)

    def any_kind(self, scope: Scope, roots: frozenset[str]) -> Expression:
        kind = self.rng.choice([INTEGER, INTEGER, INTEGER, REAL, TEXT, BOOLEAN, DATE])
        found = self.expression(scope, kind, roots, self.whole(0, 2))
        return found or self.expression(scope, INTEGER, roots, 1) or Expression(LITERALS[kind], kind)

    def condition(self, scope: Scope, depth: int = 1, exact: float = 0.3) -> str:
        """A condition, of atoms that have perturbed columns or exact ones."""
        if depth and self.often(0.4):
            joined = self.pick("AND", "AND", "OR")
            text = f"{self.condition(scope, depth - 1, exact)} {joined} {self.condition(scope, depth - 1, exact)}"
            return f"({text})" if self.often(0.2) else text
        roots = frozenset[str]() if self.often(exact) else self.focus(scope)
        found = self.expression(scope, BOOLEAN, roots, self.whole(1, 2))
        return found.text if found is not None else self.pick("TRUE", "1 < 2", "2 = 2 OR FALSE")
