"""Joins in which a row of a release may occur several times.

All occurrences of a row share its coins. Their weights are summed before anything is squared: the rows of the join are
put together to one for each row of the release and each group, where the exact parts of what is asked, how often the
row occurs among them, have become numbers. On that the usual formulas hold.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from ppdm_sql.query.understand.pieces import piece_of, put_together
from ppdm_sql.query.understand.query import Condition, Junction, Product, Query, Test, Total, own_columns
from ppdm_sql.query.understand.relation import Relation, Source, named_column
from ppdm_sql.query.understand.scan import conjunction, named, no_position, number, product, typed
from ppdm_sql.syntax.parentheses import bare, grouped
from ppdm_sql.syntax.refuse import refuse

ALWAYS, NEVER = Junction(True), Junction(False)
MAX_SPLIT = 4
"""No more exact conditions are told apart under OR: each doubles the number of sums."""

IsUnique = Callable[[Source, Sequence[str]], bool]
"""Asks whether no two rows of a source have the same values, NULL apart, in some of its columns."""


def occurs_once(relation: Relation, start: int, exact: Sequence[exp.Expr], is_unique: IsUnique) -> bool:
    """Whether a row of the source numbered `start` is in at most one row of the relation, by the keys of the others.

    A source whose columns are a key, and are equal to something known of the sources reached so far, adds no rows.
    """
    owner = {name: i for i, source in enumerate(relation.sources) for name in source.columns}
    reached, tried = {start}, set()
    equal = [*_equalities((*relation.exact, *exact), owner)]
    while len(reached) < len(relation.sources):
        for i, source in enumerate(relation.sources):
            keys = tuple(sorted({name for name, others in equal if owner[name] == i and others <= reached}))
            if i in reached or not keys or (i, keys) in tried:
                continue
            tried.add((i, keys))
            if is_unique(source, [source.columns[name] for name in keys]):
                reached.add(i)
                break
        else:
            return False
    return True


def _equalities(exact: Sequence[exp.Expr], owner: dict[str, int]) -> Iterator[tuple[str, set[int]]]:
    """Columns that equal an expression, with the sources that the expression is of."""
    for test in (bare(part) for part in exact):
        if not isinstance(test, exp.EQ) or test.find(exp.Query) is not None:
            continue
        for one, other in ((test.this, test.expression), (test.expression, test.this)):
            if isinstance(one, exp.Column) and len(one.parts) == 1:
                yield one.name, {owner[column.parts[0].name] for column in own_columns(other)}


def once_a_row(query: Query, row: str) -> Query:
    """The query on one row for each row of the release, by its number `row`, and group.

    Before: `SUM(visits.cost) .. WHERE age > 30` over `people JOIN visits`; after: the sum over people of the sum of
    each one's costs, a number like any exact column.
    """
    pieces = _Pieces(query)
    split = [[pieces.of_product(part) for part in total.products] for total in query.totals]
    totals = [
        Total(tuple(itertools.chain(*parts)), of_occurrences=total.is_count)
        for total, parts in zip(query.totals, split, strict=True)
    ]
    squares = {}
    for (one, other), square in query.squares.items():
        squares[one, other] = len(totals)
        totals.append(_square(query.totals[square], split[one], split[other]))
    natives = tuple(put_together(node, pieces.native(node)) for node in query.natives)
    names = [f"ppdm_g{i}" for i in range(len(query.keys))]
    exact_keys = [named(query.keys[i].copy(), names[i]) for i in query.exact_keys]
    columns = [column for axis in query.axes for column in axis.columns]
    perturbed = [named_column(column.name) for column in columns]
    grouping = [named_column(row), *(no_position(query.keys[i].copy()) for i in query.exact_keys), *perturbed]
    items = [
        *exact_keys,
        *(column.copy() for column in perturbed),
        *(named(node, name) for node, name in pieces.found.items()),
    ]
    inner = exp.Select(
        expressions=items, from_=exp.From(this=query.table.copy()), group=exp.Group(expressions=grouping)
    )
    if query.exact:
        inner.set("where", exp.Where(this=conjunction([grouped(part.copy()) for part in query.exact])))
    table = exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier(query.table.alias_or_name)))
    keys = [exp.column(name) if i in query.exact_keys else query.keys[i] for i, name in enumerate(names)]
    return replace(
        query, table=table, exact=(), totals=tuple(totals), squares=squares, natives=natives, grouping=tuple(keys)
    )


class _Pieces:
    """Collects the sums over the occurrences of a row, each once."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self.found: dict[exp.Expr, str] = {}

    def native(self, node: exp.Expr) -> exp.Expr:
        """An exact aggregate over the occurrences of a row in a group."""
        return self._named(piece_of(node))

    def of_product(self, part: Product) -> list[Product]:
        """A part of a total whose exact conditions and factors have become one factor, or several that add up."""
        value = number(1.0) if part.factor is None else _known(part.factor)
        return [
            Product(hidden, part.values, self._factor(tests, value)) for tests, hidden in self._split(part.condition)
        ]

    def _factor(self, tests: list[exp.Expr], value: exp.Expr) -> exp.Column:
        if tests:
            value = exp.Case(ifs=[exp.If(this=conjunction(tests), true=value)], default=number(0.0))
        return self._named(exp.Sum(this=value))

    def _named(self, node: exp.Expr) -> exp.Column:
        return exp.column(self.found.setdefault(node, f"ppdm_f{len(self.found)}"))

    def _split(self, condition: Condition) -> Iterator[tuple[list[exp.Expr], Condition]]:
        """Exact conditions, as tests, with the others beside them; under OR, every way in which the exact ones hold."""
        always: list[exp.Expr] = []
        mixed: list[Condition] = []
        hidden: list[Condition] = []
        for part in _flat(condition):
            exact = {test for test in _tests(part) if not self.query.axes[test.axis].columns}
            if isinstance(part, Test) and exact:
                always.append(self._test(part))
            else:
                (mixed if exact else hidden).append(part)
        atoms = sorted(
            {(t.axis, t.term) for part in mixed for t in _tests(part) if not self.query.axes[t.axis].columns}
        )
        if len(atoms) > MAX_SPLIT:
            refuse(
                self.query.sql,
                self.query.axes[atoms[0][0]].terms[0],
                f"the join repeats rows of the release, and more than {MAX_SPLIT} exact conditions stand beside "
                "perturbed ones under OR, CASE or NOT.",
                "Ask for parts that exclude each other, their conditions joined by AND, and add them up.",
            )
        for truths in itertools.product([True, False], repeat=len(atoms)):
            settled = dict(zip(atoms, truths, strict=True))
            rest = [_settled(part, settled) for part in mixed]
            if all(part != NEVER for part in rest):
                tests = [self._test(Test(*atom, True, not truth)) for atom, truth in settled.items()]
                yield [*always, *tests], Junction(True, (*hidden, *rest))

    def _test(self, test: Test) -> exp.Expr:
        term = grouped(self.query.axes[test.axis].terms[test.term].copy())
        return exp.Not(this=exp.Coalesce(this=term, expressions=[exp.false()])) if test.otherwise else term


def _square(square: Total, one: Sequence[Sequence[Product]], other: Sequence[Sequence[Product]]) -> Total:
    """The sum over rows of the products of two totals: each row's factors are those of the two."""
    parts = []
    for part, (first, second) in zip(square.products, itertools.product(one, other), strict=True):
        for a, b in itertools.product(first, second):
            factors = [factor.copy() for factor in (a.factor, b.factor) if factor is not None]
            parts.append(Product(Junction(True, (a.condition, b.condition)), part.values, product(factors)))
    return Total(tuple(parts))


def _settled(condition: Condition, truths: Mapping[tuple[int, int], bool]) -> Condition:
    """A condition whose exact tests are known."""
    if isinstance(condition, Test):
        truth = truths.get((condition.axis, condition.term))
        return condition if truth is None else (ALWAYS if truth != condition.otherwise else NEVER)
    parts = [_settled(part, truths) for part in condition.parts]
    absorbing = NEVER if condition.every else ALWAYS
    return absorbing if absorbing in parts else Junction(condition.every, tuple(parts))


def _known(factor: exp.Expr) -> exp.Expr:
    return exp.Coalesce(this=typed(factor.copy(), "DOUBLE"), expressions=[number(0.0)])


def _flat(condition: Condition) -> Iterator[Condition]:
    if isinstance(condition, Junction) and condition.every:
        for part in condition.parts:
            yield from _flat(part)
    else:
        yield condition


def _tests(condition: Condition) -> Iterator[Test]:
    if isinstance(condition, Test):
        yield condition
    else:
        for part in condition.parts:
            yield from _tests(part)
