"""Pass: predicates become formulas over axes.

For each perturbed column the largest expressions that depend on it alone are its terms. Two terms on one column are two
terms of one axis, so that they are never taken for independent. Columns that one expression spans have one axis, with
all that is asked of either.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from sqlglot import exp

from ppdm_sql.mechanisms.base import PerturbedColumn
from ppdm_sql.query.understand.memberships import asked, column_of, constant, is_item, membership
from ppdm_sql.query.understand.names import CORRELATED
from ppdm_sql.query.understand.query import Condition, Junction, Label, Query, QueryAxis, Test, Value, own_columns
from ppdm_sql.query.understand.scan import typed
from ppdm_sql.syntax.dialects import ANALYST
from ppdm_sql.syntax.parentheses import bare
from ppdm_sql.syntax.refuse import refuse

VOLATILE = (exp.Rand, exp.Uuid, exp.Randn)
VOLATILE_NAMES = ("random", "uuid", "uuidv4", "uuidv7", "gen_random_uuid", "nextval", "currval", "setseed")


class Terms:
    """Collects the axes of one query while its predicates are turned into formulas."""

    def __init__(self, query: Query, joined: frozenset[frozenset[str]] = frozenset()) -> None:
        self.query = query
        self.joined = joined
        self._columns: dict[str, int] = {}
        self._exact: dict[str, int] = {}
        self._terms: list[dict[str, exp.Expr]] = []
        self._values: list[dict[str, exp.Expr]] = []
        self._labels: list[dict[str, exp.Expr]] = []
        self._owner: list[tuple[PerturbedColumn, ...]] = []

    @property
    def axes(self) -> tuple[QueryAxis, ...]:
        """The axes found so far."""
        return tuple(
            QueryAxis(owner, tuple(terms.values()), tuple(values.values()), tuple(labels.values()))
            for owner, terms, values, labels in zip(self._owner, self._terms, self._values, self._labels, strict=True)
        )

    def condition(self, node: exp.Expr, truth: bool = True, otherwise: bool = False) -> Condition:
        """The rows where `node` is TRUE (or FALSE), or with `otherwise` all others; NULL is neither.

        Before: `NOT (age > 30 AND sex = 'F')`; after: `age > 30` is FALSE or `sex = 'F'` is FALSE.
        """
        node = bare(node)
        perturbed = self.query.perturbed_in(node)
        if perturbed and perturbed[0].ranges_only and _tests_null(node):  # which rows are NULL is known
            return self._leaf(node, [], truth, otherwise)
        # A subquery may look at columns of the row around it, so it is kept apart from what it is joined with.
        joined = isinstance(node, exp.And | exp.Or | exp.Not) and node.find(exp.Query) is not None
        basket = next((column for column in perturbed if column.holds_items), None)
        if len(perturbed) + self.has_exact(node) <= 1 and not (joined and perturbed) and basket is None:
            return self._leaf(node, perturbed, truth, otherwise)
        if isinstance(node, exp.Not):
            return self.condition(node.this, not truth, otherwise)
        if isinstance(node, exp.And | exp.Or):
            every = (isinstance(node, exp.And) == truth) != otherwise
            sides = (self.condition(side, truth, otherwise) for side in (node.left, node.right))
            return Junction(every, tuple(sides))
        if basket is not None:
            return self._membership(node, basket, truth, otherwise)
        if isinstance(node, exp.Between) and not node.args.get("symmetric"):
            value = node.this
            bounds = exp.and_(
                exp.GTE(this=value.copy(), expression=node.args["low"].copy()),
                exp.LTE(this=value.copy(), expression=node.args["high"].copy()),
            )
            return self.condition(bounds, truth, otherwise)
        if self.has_exact(node):
            names = " and ".join(column.name for column in perturbed)
            why = f"it mixes the perturbed {'columns' if len(perturbed) > 1 else 'column'} {names} with exact ones."
            remedy = "Compare each perturbed column with constants, and join the conditions by AND, OR and NOT."
            refuse(self.query.sql, node, why, remedy)
        return self._leaf(node, perturbed, truth, otherwise)

    def present(self, column: PerturbedColumn) -> Condition:
        """The rows in which a column with noise is not NULL."""
        name = exp.column(exp.to_identifier(column.name, quoted=True))
        return self.condition(exp.Not(this=exp.Is(this=name, expression=exp.Null())))

    def value(self, node: exp.Expr, columns: Sequence[PerturbedColumn]) -> Value:
        """A number that depends on perturbed columns alone."""
        self.check(node)
        axis = self._of_columns(node, columns)
        values = self._values[axis]
        text = node.sql(dialect=ANALYST)
        values.setdefault(text, node)
        return Value(axis, list(values).index(text))

    def label(self, node: exp.Expr, column: PerturbedColumn) -> Label:
        """A grouping expression that depends on one perturbed column."""
        self.check(node)
        if column.holds_items and is_item(node):
            axis = self._of_basket(node, column)
        else:
            axis = self._of_columns(node, [column])
        if len(self._owner[axis]) > 1:
            why = f"rows are grouped by {column.name}, which another expression of the query ties to a second column."
            refuse(self.query.sql, node, why, "Group by another column, or leave out the comparison of two columns.")
        labels = self._labels[axis]
        text = node.sql(dialect=ANALYST)
        labels.setdefault(text, node)
        return Label(axis, list(labels).index(text))

    def product(self, one: Value, other: Value) -> Value:
        """The product of two numbers of one axis."""
        values = list(self._values[one.axis].values())
        product = exp.Mul(this=values[one.index].copy(), expression=values[other.index].copy())
        return self.value(product, self._owner[one.axis])

    def _leaf(self, node: exp.Expr, perturbed: list[PerturbedColumn], truth: bool, otherwise: bool) -> Test:
        self.check(node)
        term = _as_boolean(node)
        if not perturbed:  # an exact predicate has two cells: TRUE, and the rest
            if not truth:
                term, truth = exp.not_(exp.paren(term.copy())), True
            axis = self._axis(self._exact, term.sql(dialect=ANALYST), ())
        else:
            axis = self._of_columns(node, perturbed)
        text = term.sql(dialect=ANALYST)
        terms = self._terms[axis]
        terms.setdefault(text, term)
        return Test(axis, list(terms).index(text), truth, otherwise)

    def _membership(self, node: exp.Expr, basket: PerturbedColumn, truth: bool, otherwise: bool) -> Condition:
        """What a condition asks of baskets: one test an item."""
        self.check(node)
        question = asked(node, basket)
        if question is None:
            self._refuse_basket(node, basket)
        items = [constant(item, basket) for item in question.items]
        if None in items:
            why = "which item it asks for is not a constant of the items' type, so its chances are not known."
            refuse(self.query.sql, node, why, "Name the item itself.")
        axis = self._of_basket(node, basket)
        terms = self._terms[axis]
        truth = truth != question.negated
        if question.quantified:
            truth, otherwise = True, truth == otherwise
        tests = []
        for item in items or [None]:
            absent = exp.Is(this=column_of(basket), expression=exp.Null())
            term = absent if item is None else membership(basket, item)
            text = term.sql(dialect=ANALYST)
            terms.setdefault(text, term)
            tests.append(Test(axis, list(terms).index(text), truth, otherwise))
        return tests[0] if len(tests) == 1 else Junction((question.every == truth) != otherwise, tuple(tests))

    def _of_basket(self, node: exp.Expr, basket: PerturbedColumn) -> int:
        """The axis of a column of baskets, whose sizes must be at hand."""
        if not isinstance(self.query.table, exp.Table):
            why = f"{basket.name} holds baskets, which are reconstructed from their release alone, not from a join."
            refuse(self.query.sql, node, why, "Ask the release by itself.")
        return self._axis(self._columns, basket.name, (basket,))

    def _by_value(self, node: exp.Expr, column: PerturbedColumn) -> PerturbedColumn:
        """The column, if its cells are known: where values are kept or replaced, or have noise."""
        if column.by_value:
            return column
        if column.holds_items:
            self._refuse_basket(node, column)
        why = f"{column.name} is perturbed by {column.mechanism}, for which this cannot be reconstructed."
        refuse(self.query.sql, node, why, "See what is answered for this mechanism in the README.")

    def _refuse_basket(self, node: exp.Expr, basket: PerturbedColumn) -> NoReturn:
        if any(is_item(call) for call in node.find_all(exp.Anonymous)):
            why = "one item of a randomized basket says nothing of the original: only counts of each item do."
            refuse(self.query.sql, node, why, "Pick groups by HAVING, or baskets by list_contains.")
        name = basket.name
        why = f"items were taken out of {name} and others put in, so this is not known of the original baskets."
        remedy = "list_contains, list_has_all and list_has_any with constants are reconstructed, and counts by "
        remedy += f"unnest({name}); the number of items is in {basket.size_column}, exactly."
        refuse(self.query.sql, node, why, remedy)

    def check(self, node: exp.Expr) -> None:
        """Refuse what has no value of its own at each value of its columns."""
        for call in node.find_all(exp.Func):
            if isinstance(call, VOLATILE) or (isinstance(call, exp.Anonymous) and call.name.lower() in VOLATILE_NAMES):
                refuse(self.query.sql, call, "it gives another value at each call, so its share is not known.", "")
        if node.find(exp.TableSample) is not None:
            refuse(self.query.sql, node, "a sample in it gives another value at each call.", "")
        inside = node.walk(prune=lambda below: isinstance(below, exp.Query))
        if any(isinstance(found, exp.AggFunc | exp.Window) for found in inside):
            refuse(self.query.sql, node, "aggregates cannot stand inside WHERE, FILTER or another aggregate.", "")

    def _of_columns(self, node: exp.Expr, columns: Sequence[PerturbedColumn]) -> int:
        """The axis of some columns and of those that they are joined with."""
        if any(column.meta.get(CORRELATED) for column in node.find_all(exp.Column)):
            why = "a subquery in it looks at other columns of the row around it."
            refuse(self.query.sql, node, why, "Compare the perturbed column with a number, and join conditions by AND.")
        names = {column.name for column in columns}
        touching = [group for group in self.joined if group & names]
        everyone = frozenset(names.union(*touching))
        if len(everyone) > 2:
            why = f"it ties the perturbed columns {', '.join(sorted(everyone))} together, and at most two can be."
            refuse(self.query.sql, node, why, "Compare each with constants, or only two of them with each other.")
        own = [c.name for c in self.query.manifest.perturbed if c.drawn_from_release and c.name in everyone]
        if len(everyone) > 1 and own:
            why = f"it ties {own[0]}, which is replaced by its own values, to another perturbed column."
            refuse(self.query.sql, node, why, "Compare each perturbed column with constants.")
        noisy = [column.name for column in columns if column.ranges_only]
        if len(everyone) > 1 and noisy:
            why = f"it compares {noisy[0]}, which has Gaussian noise, with another perturbed column."
            refuse(self.query.sql, node, why, "Compare it with constants.")
        if len(everyone) > 1:
            self.joined = self.joined - frozenset(touching) | {everyone}
        owner = tuple(
            self._by_value(node, column) for column in self.query.manifest.perturbed if column.name in everyone
        )
        return self._axis(self._columns, "\0".join(sorted(everyone)), owner)

    def _axis(self, known: dict[str, int], name: str, owner: tuple[PerturbedColumn, ...]) -> int:
        if name not in known:
            known[name] = len(self._terms)
            self._terms.append({})
            self._values.append({})
            self._labels.append({})
            self._owner.append(owner)
        return known[name]

    def has_exact(self, node: exp.Expr) -> bool:
        """Whether an exact column takes part."""
        names = {column.name for column in self.query.perturbed_in(node)}
        return any(column.parts[0].name not in names for column in own_columns(node))


def _tests_null(node: exp.Expr) -> bool:
    """Whether it is column IS NULL, or the opposite."""
    inner = bare(node.this) if isinstance(node, exp.Not) else node
    return isinstance(inner, exp.Is) and isinstance(inner.this, exp.Column) and isinstance(inner.expression, exp.Null)


def _as_boolean(node: exp.Expr) -> exp.Expr:
    """A bare column or function used as a condition is cast, as DuckDB does."""
    if isinstance(node, exp.Predicate | exp.Connector | exp.Not | exp.Boolean):
        return node
    return typed(node.copy(), "BOOLEAN")
