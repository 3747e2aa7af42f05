"""Pass: predicates become formulas over axes.

For each perturbed column the largest expressions that depend on it alone are its terms. Two terms on one column are two
terms of one axis, so that they are never taken for independent.
"""

from __future__ import annotations

from sqlglot import exp

from ppdm_sql.policy.binding import BoundColumn, PerturbedColumn
from ppdm_sql.rewrite.names import ANSWERED
from ppdm_sql.rewrite.query import Condition, Junction, Label, Query, QueryAxis, Test, Value, own_columns
from ppdm_sql.rewrite.refuse import refuse
from ppdm_sql.rewrite.scan import typed

VOLATILE = (exp.Rand, exp.Uuid, exp.Randn)
VOLATILE_NAMES = ("random", "uuid", "uuidv4", "uuidv7", "gen_random_uuid", "nextval", "currval", "setseed")


class Terms:
    """Collects the axes of one query while its predicates are turned into formulas."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self._columns: dict[str, int] = {}
        self._exact: dict[str, int] = {}
        self._terms: list[dict[str, exp.Expr]] = []
        self._values: list[dict[str, exp.Expr]] = []
        self._labels: list[dict[str, exp.Expr]] = []
        self._owner: list[BoundColumn | None] = []

    @property
    def axes(self) -> tuple[QueryAxis, ...]:
        """The axes found so far."""
        return tuple(
            QueryAxis(owner, *(tuple(found.values()) for found in parts))
            for owner, *parts in zip(self._owner, self._terms, self._values, self._labels, strict=True)
        )

    def condition(self, node: exp.Expr, truth: bool = True, otherwise: bool = False) -> Condition:
        """The rows where `node` is TRUE (or FALSE), or with `otherwise` all others; NULL is neither.

        Before: `NOT (age > 30 AND sex = 'F')`; after: `age > 30` is FALSE or `sex = 'F'` is FALSE.
        """
        node = node.unnest()
        perturbed = self.query.perturbed_in(node)
        if len(perturbed) + self.has_exact(node) <= 1:
            return self._leaf(node, perturbed, truth, otherwise)
        if isinstance(node, exp.Not):
            return self.condition(node.this, not truth, otherwise)
        if isinstance(node, exp.And | exp.Or):
            every = (isinstance(node, exp.And) == truth) != otherwise
            sides = (self.condition(side, truth, otherwise) for side in (node.left, node.right))
            return Junction(every, tuple(sides))
        if isinstance(node, exp.Between) and not node.args.get("symmetric"):
            value = node.this
            bounds = exp.and_(
                exp.GTE(this=value.copy(), expression=node.args["low"].copy()),
                exp.LTE(this=value.copy(), expression=node.args["high"].copy()),
            )
            return self.condition(bounds, truth, otherwise)
        return self._spans(node, perturbed)

    def value(self, node: exp.Expr, column: PerturbedColumn) -> Value:
        """A number that depends on one perturbed column."""
        self._check(node)
        axis = self._axis(self._columns, column.name, self._replaced(node, column))
        values = self._values[axis]
        text = node.sql(dialect="duckdb")
        values.setdefault(text, node)
        return Value(axis, list(values).index(text))

    def label(self, node: exp.Expr, column: PerturbedColumn) -> Label:
        """A grouping expression that depends on one perturbed column."""
        self._check(node)
        axis = self._axis(self._columns, column.name, self._replaced(node, column))
        labels = self._labels[axis]
        text = node.sql(dialect="duckdb")
        labels.setdefault(text, node)
        return Label(axis, list(labels).index(text))

    def value_of(self, value: Value) -> tuple[exp.Expr, BoundColumn]:
        """The expression behind a value, and its column."""
        column = self._owner[value.axis]
        assert column is not None
        return list(self._values[value.axis].values())[value.index], column

    def _leaf(self, node: exp.Expr, perturbed: list[PerturbedColumn], truth: bool, otherwise: bool) -> Test:
        self._check(node)
        term = _as_boolean(node)
        if not perturbed:  # an exact predicate has two cells: TRUE, and the rest
            if not truth:
                term, truth = exp.not_(exp.paren(term.copy())), True
            axis = self._axis(self._exact, term.sql(dialect="duckdb"), None)
        else:
            axis = self._axis(self._columns, perturbed[0].name, self._replaced(node, perturbed[0]))
        text = term.sql(dialect="duckdb")
        terms = self._terms[axis]
        terms.setdefault(text, term)
        return Test(axis, list(terms).index(text), truth, otherwise)

    def _replaced(self, node: exp.Expr, column: PerturbedColumn) -> BoundColumn:
        """The column, if its values are kept or replaced: cells and weights are known for those alone."""
        if isinstance(column, BoundColumn):
            return column
        why = f"{column.name} is perturbed by {column.mechanism}, for which this cannot be reconstructed."
        refuse(self.query.sql, node, why, "See what is answered for this mechanism in the README.")

    def _check(self, node: exp.Expr) -> None:
        for call in node.find_all(exp.Func):
            if isinstance(call, VOLATILE) or (isinstance(call, exp.Anonymous) and call.name.lower() in VOLATILE_NAMES):
                refuse(self.query.sql, call, "it gives another value at each call, so its share is not known.", "")
        if node.find(exp.TableSample) is not None:
            refuse(self.query.sql, node, "a sample in it gives another value at each call.", "")
        if self.query.perturbed_in(node) and any(select.meta.get(ANSWERED) for select in node.find_all(exp.Select)):
            why = "it compares a perturbed column with an estimate from a release, which depends on the same coins."
            refuse(self.query.sql, node, why, "Ask for the estimate first, and put the number in.")
        inside = node.walk(prune=lambda below: isinstance(below, exp.Query))
        if any(isinstance(found, exp.AggFunc | exp.Window) for found in inside):
            refuse(self.query.sql, node, "aggregates cannot stand inside WHERE, FILTER or another aggregate.", "")

    def _axis(self, known: dict[str, int], name: str, owner: BoundColumn | None) -> int:
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

    def _spans(self, node: exp.Expr, perturbed: list[PerturbedColumn]) -> Test:
        names = " and ".join(column.name for column in perturbed)
        if len(perturbed) > 1:
            why = f"it compares the perturbed columns {names} with each other."
        else:
            why = f"it mixes the perturbed column {names} with exact ones."
        remedy = "Compare each perturbed column with constants, and join the conditions by AND, OR and NOT."
        refuse(self.query.sql, node, why, remedy)


def _as_boolean(node: exp.Expr) -> exp.Expr:
    """A bare column or function used as a condition is cast, as DuckDB does."""
    if isinstance(node, exp.Predicate | exp.Connector | exp.Not | exp.Boolean):
        return node
    return typed(node.copy(), "BOOLEAN")
