"""Pass: find the aggregates, and write each as an expression over totals.

AVG is a sum over a count, a variance comes from the sums of a number and its square, and so on: what is reconstructed
are only totals, and every error follows from theirs.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from ppdm_sql.query.understand.pieces import PIECES, counting
from ppdm_sql.query.understand.quantiles import Asked, is_quantile, quantile_name, read_quantile
from ppdm_sql.query.understand.query import Condition, Junction, Label, Query, conjuncts, totals_in
from ppdm_sql.query.understand.scan import PREFIX, conjunction, count_rows, disjunction, estimate_name, number, typed
from ppdm_sql.query.understand.shape import PPDM_FUNCTIONS, aggregate_nodes
from ppdm_sql.query.understand.shifts import shifted
from ppdm_sql.query.understand.terms import Terms
from ppdm_sql.query.understand.total_arithmetic import is_nothing, less_one, over, product, real_product, unless_nothing
from ppdm_sql.query.understand.totals import Totals, both
from ppdm_sql.syntax.dialects import ANALYST
from ppdm_sql.syntax.parentheses import bare, grouped
from ppdm_sql.syntax.refuse import refuse

EXTREME = "An extreme value belongs to one row, and no row can be trusted: count a range, or ask for a quantile."
REMEDIES: dict[type[exp.Expr], str] = {exp.Min: EXTREME, exp.Max: EXTREME}
REMEDY = "COUNT, SUM, AVG, VAR, STDDEV, COVAR, CORR, MEDIAN and quantiles are reconstructed."
SPREADS = (exp.Variance, exp.VariancePop, exp.Stddev, exp.StddevSamp, exp.StddevPop)
PAIRS = (exp.CovarPop, exp.CovarSamp, exp.Corr)


def collect_aggregates(query: Query) -> Query:
    """Before: `avg(hours) FILTER (WHERE age > 30)`; after: the sum of hours over their number, both where age > 30."""
    joined: frozenset[frozenset[str]] = frozenset()
    while True:  # again, where columns turned out to be joined after one of them had an axis of its own
        collector = _Collector(query, joined)
        aggregates = {_text(node): collector.rewrite(node) for node in aggregate_nodes(query.tree)}
        present = collector.present()
        pairs = {pair for node in _bounded(query) for pair in _pairs(node, aggregates)}
        squares = {pair: collector.totals.square(*pair) for pair in sorted(pairs)}
        if collector.terms.joined == joined:
            break
        joined = collector.terms.joined
    return replace(
        query,
        aggregates=aggregates,
        squares=squares,
        totals=tuple(collector.totals.found),
        natives=tuple(collector.natives),
        quantiles=tuple(collector.quantiles),
        axes=collector.terms.axes,
        labels=collector.labels,
        condition=collector.hidden,
        present=present,
    )


def _bounded(query: Query) -> Iterator[exp.Expr]:
    """The expressions whose errors somebody asks for."""
    for call in query.tree.find_all(exp.Anonymous):
        if call.name.lower() in PPDM_FUNCTIONS:
            yield call
    if query.settings.errors != "off":
        yield from query.tree.expressions


def _pairs(node: exp.Expr, aggregates: Mapping[str, exp.Expr]) -> Iterator[tuple[int, int]]:
    """The pairs of totals whose covariances the error of an expression needs."""
    found = [aggregates[_text(inner)] for inner in node.walk() if _text(inner) in aggregates]
    numbers = sorted({number for value in found for number in totals_in(value)})
    yield from itertools.combinations_with_replacement(numbers, 2)


def native_name(index: int) -> str:
    """Name of an aggregate that is exact as it stands, between the steps."""
    return f"{PREFIX}x{index}"


class _Collector:
    def __init__(self, query: Query, joined: frozenset[frozenset[str]]) -> None:
        self.query = query
        self.terms = Terms(query, joined)
        self.totals = Totals(query, self.terms)
        self.natives: list[exp.Expr] = []
        self.quantiles: list[Asked] = []
        self.counted_rows: exp.Expr = count_rows()
        self.hidden = both(*(self.terms.condition(condition) for condition in query.hidden))
        blurred = [i for i, key in enumerate(query.keys) if query.perturbed_in(key)]
        self.labels = {i: self.label(query.keys[i]) for i in blurred if i not in query.absent}
        taking_part = [one for node in (query.tree, *query.hidden) for one in query.perturbed_in(node)]
        self.unperturbed = all(column.exact for column in taking_part)
        self.domain_groups = bool(blurred)  # of any grouping set: an aggregate must mean the same in all of them

    def present(self) -> int | None:
        """The total that tells whether a group has a row, where no perturbation blurs it; else groups are shown."""
        deciding = [
            column for node in (*self.query.hidden, *self.query.keys) for column in self.query.perturbed_in(node)
        ]
        certain = deciding and all(column.exact for column in deciding)
        return self.totals.count(self.hidden) if self.query.keys and certain else None

    def label(self, key: exp.Expr) -> Label:
        """A grouping expression of a perturbed column."""
        perturbed = self.query.perturbed_in(key)
        if len(perturbed) > 1 or self.terms.has_exact(key):
            refuse(
                self.query.sql,
                key,
                f"a group must depend on one perturbed column alone, here {perturbed[0].name}.",
                "Group by several expressions, one for each column.",
            )
        return self.terms.label(bare(key), perturbed[0])

    def rewrite(self, node: exp.Expr) -> exp.Expr:
        """An aggregate as an expression over totals, or the name of a native one."""
        plain = not self.query.hidden and not self.domain_groups and not self.query.perturbed_in(node)
        if plain and (not self.query.piecewise or type(counting(node)) in PIECES):
            return self.native(node)
        condition, function, self.counted_rows = self.hidden, node, count_rows()
        if isinstance(node, exp.Filter):
            function = node.this
            condition = both(condition, self.terms.condition(node.expression.this))
            self.counted_rows = self.rows_passing(node.expression.this)
        if is_quantile(function):
            return self.quantile(function, node.expression.this if isinstance(node, exp.Filter) else None)
        inside = function.walk(prune=lambda below: isinstance(below, exp.Query))
        if any(isinstance(inner, exp.AggFunc | exp.Window) and inner is not function for inner in inside):
            refuse(self.query.sql, function, "an aggregate of an aggregate or a window is not supported.", "")
        return self.function(function, condition)

    def quantile(self, function: exp.Expr, condition: exp.Expr | None) -> exp.Expr:
        """Quantiles by name, one or a list; the distributions that they are found in are for later."""
        asked, listed = read_quantile(self.query, function, condition)
        argument = asked[0].argument
        perturbed = self.query.perturbed_in(argument)
        conditions = (argument, *self.query.hidden, *([condition] if condition is not None else []))
        noisy = [column for node in conditions for column in self.totals.noisy(node)]
        if noisy:
            why = f"{noisy[0].name} has Gaussian noise: no quantile of it, or under a range of it, is known."
            refuse(self.query.sql, function, why, "Count ranges instead.")
        if self.query.piecewise:
            why = "the rows it runs over are of a union, or of a join that repeats them, and share their coins."
            refuse(self.query.sql, function, why, "Ask for the quantile of one release, each of its rows once.")
        if self.domain_groups:
            why = "a quantile in groups of a perturbed column is not reconstructed yet."
            refuse(self.query.sql, function, why, "Ask for one group at a time, by a condition.")
        if len(perturbed) > 1 or (perturbed and self.terms.has_exact(argument)):
            why = "a quantile must depend on one perturbed column alone, or on exact ones."
            refuse(self.query.sql, function, why, "Ask for those of each column.")
        self.terms.check(argument)
        self.native(exp.Count(this=exp.Star(), big_int=True))  # so that there is a row for every group
        names: list[exp.Expr] = []
        for one in asked:
            if one not in self.quantiles:
                self.quantiles.append(one)
            names.append(exp.column(quantile_name(self.quantiles.index(one))))
        return _listed(names) if listed else names[0]

    def function(self, function: exp.Expr, condition: Condition) -> exp.Expr:
        """The aggregate over the rows meeting a condition."""
        if isinstance(function, exp.CountIf):
            return self.counted_if(function.this, condition)
        if isinstance(function, exp.Count) and not function.expressions:
            return self.counted(function, condition)
        if isinstance(function, exp.Sum | exp.Avg) and not isinstance(function.this, exp.Distinct):
            return self.sum_or_mean(function, condition)
        if isinstance(function, SPREADS):
            return self.spread(function, condition)
        if isinstance(function, PAIRS):
            return self.pair(function, condition)
        return self.refuse(function)

    def sum_or_mean(self, function: exp.Expr, condition: Condition) -> exp.Expr:
        """SUM, or AVG as a sum over the number of known values."""
        summed = self.sum(function.this, condition)
        if isinstance(function, exp.Avg):
            return over(summed, self.count(both(condition, self.totals.known(function.this))))
        return self.unless_nobody(summed, condition, lambda: self.totals.known(function.this))

    def counted_if(self, test: exp.Expr, condition: Condition) -> exp.Expr:
        """COUNT_IF: the rows for which a test is TRUE; it is known where it is TRUE or FALSE."""

        def known() -> Condition:
            return Junction(False, (self.terms.condition(test), self.terms.condition(test, truth=False)))

        return self.unless_nobody(self.count(both(condition, self.terms.condition(test))), condition, known)

    def unless_nobody(self, summed: exp.Expr, condition: Condition, known: Callable[[], Condition]) -> exp.Expr:
        """SUM and COUNT_IF of nothing are NULL in DuckDB; of a group of a perturbed column nothing is known surely."""
        if self.domain_groups and not self.unperturbed:
            return summed
        # An estimate is never quite zero, but there may be no row at all.
        rows = self.count(both(condition, known())) if self.unperturbed else self.native(self.counted_rows)
        nobody = exp.EQ(this=rows, expression=exp.Literal.number(0))
        return exp.Case(ifs=[exp.If(this=nobody, true=exp.Null())], default=summed)

    def rows_passing(self, condition: exp.Expr) -> exp.Expr:
        """How many rows pass what is exact of a FILTER."""
        exact = [grouped(part.copy()) for part in conjuncts(condition) if not self.query.perturbed_in(part)]
        if not exact:
            return count_rows()
        return exp.Filter(this=count_rows(), expression=exp.Where(this=conjunction(exact)))

    def native(self, node: exp.Expr) -> exp.Expr:
        """An aggregate that is exact as it stands."""
        if node not in self.natives:
            self.natives.append(node)
        return exp.column(native_name(self.natives.index(node)))

    def counted(self, function: exp.Count, condition: Condition) -> exp.Expr:
        """COUNT(*) or COUNT(expression)."""
        argument = function.this
        if argument is None or isinstance(argument, exp.Star):
            return self.count(condition)
        if isinstance(argument, exp.Distinct):
            refuse(
                self.query.sql,
                function,
                "the distinct values that survive perturbation are not those of the original.",
                "Count the rows of one value at a time.",
            )
        return self.count(both(condition, self.totals.known(argument)))

    def spread(self, function: exp.Expr, condition: Condition) -> exp.Expr:
        """A variance or standard deviation, of the rows themselves or as of a sample."""
        value = shifted(self.query, function.this)
        rows = self.count(both(condition, self.totals.known(function.this)))
        about_mean = self.about_means(value, value, condition, rows)
        if not isinstance(function.this, exp.Column):  # it may be one number on the whole domain
            about_mean = unless_nothing(about_mean, self.sum(real_product(value, value), condition))
        pop = isinstance(function, exp.VariancePop | exp.StddevPop)
        variance = over(about_mean, rows if pop else less_one(rows))
        if isinstance(function, exp.Variance | exp.VariancePop):
            return variance
        return exp.Sqrt(this=exp.Greatest(this=variance, expressions=[exp.Literal.number("0e0")]))

    def pair(self, function: exp.Expr, condition: Condition) -> exp.Expr:
        """A covariance or correlation, over the rows where both numbers are known."""
        numbers = (function.this, function.expression)
        x, y = (shifted(self.query, one) for one in numbers)
        condition = both(condition, *(self.totals.known(one) for one in numbers))
        rows = self.count(condition)

        def about_means(a: exp.Expr, b: exp.Expr) -> exp.Expr:
            return self.about_means(a, b, condition, rows)

        if isinstance(function, exp.Corr):
            spreads = [about_means(x, x), about_means(y, y)]
            both_spread = exp.Greatest(this=product(*spreads), expressions=[exp.Literal.number("0e0")])
            squares = [self.sum(real_product(value, value), condition) for value in (x, y)]
            constant = disjunction([is_nothing(part, of) for part, of in zip(spreads, squares, strict=True)])
            nobody = exp.EQ(this=rows, expression=exp.Literal.number(0))
            nan = typed(exp.Literal.string("NaN"), "DOUBLE")  # as in DuckDB, where one of the two is constant
            return exp.Case(
                ifs=[exp.If(this=nobody, true=exp.Null()), exp.If(this=constant, true=nan)],
                default=over(about_means(x, y), exp.Sqrt(this=both_spread)),
            )
        return over(about_means(x, y), rows if isinstance(function, exp.CovarPop) else less_one(rows))

    def about_means(self, a: exp.Expr, b: exp.Expr, condition: Condition, rows: exp.Expr) -> exp.Expr:
        """The sum of the products of two numbers about their means.

        A product of two estimated sums is too large by their covariance. For columns with noise that is as large as a
        single row's, and is put back; elsewhere it is left, being small against the error.
        """
        means = over(product(self.sum(a, condition), self.sum(b, condition)), rows)
        result = exp.Sub(this=self.sum(real_product(a, b), condition), expression=means)
        one, other = (self.totals.noisy(node) if isinstance(node, exp.Column) else [] for node in (a, b))
        shared = one[0].noise_with(other[0]) if one and other else 0.0
        return exp.Paren(this=exp.Add(this=result, expression=number(shared)) if shared else result)

    def count(self, condition: Condition) -> exp.Expr:
        """The total that counts rows."""
        return exp.column(estimate_name(self.totals.count(condition)))

    def sum(self, node: exp.Expr, condition: Condition) -> exp.Expr:
        """The total of an expression."""
        return exp.column(estimate_name(self.totals.sum(node, condition)))

    def refuse(self, function: exp.Expr) -> exp.Expr:
        """Name what cannot be reconstructed, and why."""
        perturbed = self.query.perturbed_in(function)
        if perturbed:
            why = f"{perturbed[0].name} is perturbed and this aggregate of it cannot be reconstructed."
        elif self.domain_groups:
            why = "the groups it runs over are of a perturbed column."
        elif self.query.piecewise:
            why = "the rows it runs over are of a union, or of a join that repeats them, beside perturbed columns."
        elif self.query.hidden:
            picked = self.query.perturbed_in(self.query.hidden[0])[0].name
            why = f"the rows it runs over are picked by {picked}, which is perturbed."
        else:
            why = "its FILTER is on a perturbed column."
        refuse(self.query.sql, function, why, REMEDIES.get(type(function), REMEDY))


def _listed(names: Sequence[exp.Expr]) -> exp.Expr:
    """Quantiles as a list, NULL where there are none: then each of them is."""
    nobody = exp.Is(this=names[0].copy(), expression=exp.Null())
    return exp.Case(ifs=[exp.If(this=nobody, true=exp.Null())], default=exp.Array(expressions=list(names)))


def _text(node: exp.Expr) -> str:
    return node.sql(dialect=ANALYST)
