"""What the conditions on a column with Gaussian noise compare, and with what.

Conditions are evaluated on points of a line, and a single value lies between two of them. So an expression that is
compared by its order gets a point of its own where it meets what it is compared with, and anything else, such as an
equality, may only look at expressions that stay the same over some of the line, as floor(v / 10) does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from ppdm_sql.syntax.dialects import ANALYST

Array = npt.NDArray[np.float64]
ORDERS = (exp.GT, exp.GTE, exp.LT, exp.LTE)
ZERO = exp.Literal.number(0)
NUMERIC = (*exp.DataType.NUMERIC_TYPES, exp.DType.DOUBLE)
CONDITIONS = (exp.Predicate, exp.Connector, exp.Not, exp.Case)
IDENTIFYING = (
    *(exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.In, exp.Between, exp.Nullif, exp.Like, exp.ILike),
    *(exp.RegexpLike, exp.Contains, exp.ArrayContains, exp.StartsWith),
)
"""What may tell single values apart; a BETWEEN here has the same bound twice."""


@dataclass
class Comparisons:
    """`terms` with every expression that is compared by order under a name of its own.

    `compared` has these expressions and what each is compared with; `identified` are those of which single values are
    told apart otherwise, each with the condition that does so. No range is meant that is narrower than `least`.
    """

    least: float
    terms: list[exp.Expr] = field(default_factory=list)
    compared: dict[str, list[str]] = field(default_factory=dict)
    identified: list[tuple[exp.Expr, exp.Expr]] = field(default_factory=list)

    def names(self) -> Iterator[tuple[str, str]]:
        """Each compared expression, as SQL, with its name."""
        return ((text, compared_name(i)) for i, text in enumerate(self.compared))

    def read(self, term: exp.Expr) -> None:
        """Take one more condition, or expression that rows are grouped by, in."""
        root = exp.Paren(this=term.copy())
        self._read(root)
        for sign in root.find_all(exp.Sign):
            if _varies(sign.this):
                sign.set("this", self._named(sign.this, ZERO))
        self.terms.append(root)

    def _read(self, node: exp.Expr) -> None:
        """Look for comparisons at and below a node."""
        if not _varies(node):
            return
        if isinstance(node, exp.Between) and not _same(node.args["low"], node.args["high"]):
            if not any(_varies(node.args[bound]) for bound in ("low", "high")):
                self._read(node.this)
                names = [self._named(node.this, node.args[bound]) for bound in ("low", "high")]
                node.set("this", names[0])
        elif isinstance(node, ORDERS):
            self._order(node)
        elif isinstance(node, exp.Cast) and not node.to.is_type(*NUMERIC):
            inner = node.this.unnest()
            unknown = isinstance(inner, exp.Anonymous)
            self._identify(node, inner.expressions if unknown else [inner], plainly=not isinstance(inner, CONDITIONS))
        elif self._identifies(node):
            self._identify(node, [node.this] if isinstance(node, exp.Case) else list(node.iter_expressions()))
        else:
            for child in list(node.iter_expressions()):
                self._read(child)

    def _identifies(self, node: exp.Expr) -> bool:
        """Whether a node may tell single values apart."""
        if isinstance(node, exp.Mod):
            modulus = node.expression.unnest()
            known = isinstance(modulus, exp.Literal) and not modulus.is_string
            return not known or float(modulus.this) < 2 * self.least
        listed = any(isinstance(child, exp.Array) for child in node.iter_expressions())
        return isinstance(node, IDENTIFYING) or listed or (isinstance(node, exp.Case) and node.this is not None)

    def _identify(self, node: exp.Expr, operands: Sequence[exp.Expr | None], plainly: bool = True) -> None:
        for operand in operands:
            if operand is not None and _varies(operand):
                if plainly:
                    self.identified.append((operand.unnest().copy(), node.copy()))
                self._read(operand)
        for branch in node.args.get("ifs") or ():
            self._read(branch)

    def _order(self, node: exp.Expr) -> None:
        """Of two sides that both vary, it is their difference that is compared, with 0."""
        self._read(node.this)
        self._read(node.expression)
        if _varies(node.this) and _varies(node.expression):
            sides = (exp.Paren(this=node.args[side].copy()) for side in ("this", "expression"))
            node.set("this", self._named(exp.Sub(**dict(zip(("this", "expression"), sides, strict=True))), ZERO))
            node.set("expression", ZERO.copy())
        elif _varies(node.this):
            node.set("this", self._named(node.this, node.expression))
        else:
            node.set("expression", self._named(node.expression, node.this))

    def _named(self, side: exp.Expr, constant: exp.Expr) -> exp.Column:
        text = side.unnest().sql(dialect=ANALYST)
        self.compared.setdefault(text, []).append(constant.sql(dialect=ANALYST))
        return exp.column(compared_name(list(self.compared).index(text)))


def compared_name(index: int) -> str:
    """Name of an expression that is compared by order."""
    return f"ppdm_e{index}"


def meetings(values: Array, constants: Array) -> tuple[Array, Array]:
    """Where an expression, known on points 0, 1, .., meets constants between them: the places, and the constants.

    It meets a constant, and what lies half way to the next, where it passes it. It may meet and pass one where it turns
    back before it, no further away than the distance between two points there.

    >>> meetings(np.array([0.0, 2.0, 4.0]), np.array([3.0]))
    (array([1.5]), array([3.]))
    """
    constants = np.unique(constants[np.isfinite(constants)])
    constants = np.union1d(constants, (constants[1:] + constants[:-1]) / 2)
    steps = np.diff(values)
    turns = 1 + np.nonzero(steps[:-1] * steps[1:] < 0)[0]
    reach = np.maximum(np.abs(steps[turns - 1]), np.abs(steps[turns]))
    places, met = [np.zeros(0)], [np.zeros(0)]
    for constant in constants:
        gaps = np.nonzero((values[:-1] - constant) * (values[1:] - constant) < 0)[0]
        places.append(gaps + (constant - values[gaps]) / steps[gaps])
        met.append(np.full(len(gaps), constant))
        away = constant - values[turns]
        near = (np.abs(away) <= reach) & (away * steps[turns] < 0)
        places += [turns[near] + 0.25, turns[near] + 0.5]
        met += [np.full(int(near.sum()), constant), constant + away[near]]
    return np.concatenate(places), np.concatenate(met)


def _varies(node: exp.Expr) -> bool:
    """Whether the column takes part, those of subqueries left out."""
    pruned = node.walk(prune=lambda below: isinstance(below, exp.Select | exp.SetOperation))
    return any(isinstance(found, exp.Column) for found in pruned)


def _same(one: exp.Expr, other: exp.Expr) -> bool:
    return one.unnest() == other.unnest()
