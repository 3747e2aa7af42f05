"""How the domain of two columns together falls into cells: every pair of values is looked at, by the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from ppdm_sql.channels.cells import Cell
from ppdm_sql.channels.joint import Array, JointCells, Margin, positions, weights
from ppdm_sql.domain.domain import Grid
from ppdm_sql.errors import Unsupported
from ppdm_sql.measuring.domains import constant, places, point
from ppdm_sql.mechanisms.retained.column import RetainedColumn
from ppdm_sql.syntax.dialects import ANALYST
from ppdm_sql.syntax.quoting import quote_name

MAX_PAIRS = 2**24
"""Pairs of values that a condition on two columns is evaluated on: about a second of work."""

MAX_KEPT_PAIRS = 65_536
"""Up to here the cell of each pair is kept, for Bayes; as many states as it reconstructs."""

MAX_TERMS = 30
"""Three truth values each: more do not fit one number."""

TRUTHS = (False, True, None)
Table = Callable[[str], pa.Table]


def measure_joint(
    table: Table, columns: tuple[RetainedColumn, RetainedColumn], terms: Sequence[exp.Expr], values: Sequence[exp.Expr]
) -> JointCells:
    """The cells of two columns under terms that may span both."""
    sizes = [positions(column) for column in columns]
    _check(columns, sizes, [*terms, *values])
    truths = [f"COALESCE(CAST(({t.sql(dialect=ANALYST)}) AS BIGINT), 2) * {3**i}" for i, t in enumerate(terms)]
    numbers = "".join(f", COALESCE({v.sql(dialect=ANALYST)}, 0e0) AS ppdm_v{i}" for i, v in enumerate(values))
    code = f"CAST({' + '.join(truths) or '0'} AS BIGINT) AS code"
    both = ", ".join(f"({_values(column, number)})" for number, column in enumerate(columns))
    pairs = f"SELECT i0, i1, fixed0, fixed1, w0, w1, {code}{numbers} FROM {both}"
    found = []
    for own, other in ((0, 1), (1, 0)):
        sums = "".join(f", sum(w{other} * ppdm_v{i}) AS ppdm_v{i}" for i in range(len(values)))
        weight = f"CAST(sum(w{other}) AS DOUBLE) AS weight"
        found.append(
            table(f"SELECT i{own} AS i, code, {weight}{sums} FROM ({pairs}) WHERE NOT fixed{other} GROUP BY 1, 2")
        )
    nulls = table(f"SELECT DISTINCT code FROM ({pairs}) WHERE fixed0 AND fixed1")
    codes = np.unique(np.concatenate([_integers(part, "code") for part in (*found, nulls)]))
    codes = codes[np.argsort([_rank(int(code), len(terms)) for code in codes])]
    draws = [weights(column) for column in columns]
    margins = tuple(
        _margin(part, codes, len(values), own, float(other.sum()))
        for part, own, other in zip(found, draws, reversed(draws), strict=True)
    )
    by_cell = draws[0] @ margins[0].weight
    sums = np.einsum("i,icv->cv", draws[0], margins[0].sums)
    cells = tuple(
        Cell(_truth(int(code), len(terms)), float(by_cell[i]), False, tuple(sums[i].tolist()))
        for i, code in enumerate(codes)
    )
    kept = None
    if sizes[0] * sizes[1] <= MAX_KEPT_PAIRS:
        kept = np.zeros(sizes, dtype=np.int64)
        every = table(f"SELECT i0, i1, code FROM ({pairs})")
        kept[_integers(every, "i0"), _integers(every, "i1")] = _place(codes, _integers(every, "code"))
    return JointCells(cells, (margins[0], margins[1]), kept)


def _check(columns: Sequence[RetainedColumn], sizes: Sequence[int], asked: Sequence[exp.Expr]) -> None:
    names = " and ".join(column.name for column in columns)
    if sizes[0] * sizes[1] > MAX_PAIRS:
        spanning = next((e for e in asked if len({c.name for c in e.find_all(exp.Column)}) > 1), asked[0])
        raise Unsupported(
            f"Unsupported: {spanning.sql(dialect=ANALYST)}: {names} together have {sizes[0] * sizes[1]:,} pairs of "
            f"values, and an expression of two perturbed columns is evaluated on at most {MAX_PAIRS:,}. "
            "Compare each with constants."
        )
    if len(asked) > MAX_TERMS:
        raise Unsupported(
            f"Unsupported: {names} stand in {len(asked)} different expressions beside one that spans both, and at most "
            f"{MAX_TERMS} are told apart. Ask for fewer at a time."
        )


def _values(column: RetainedColumn, number: int) -> str:
    """The values that a column may show, numbered; `fixed` is the NULL that nothing becomes."""
    name, domain = quote_name(column.name), column.domain
    if isinstance(domain, Grid):
        value, relation = point(column, "ppdm_i"), places(column)
    else:
        drawn = weights(column).tolist()
        rows = ", ".join(f"({i}, {constant(value)}, {drawn[i]!r})" for i, value in enumerate(domain.values))
        value, relation = f"CAST(v AS {column.type.name})", f"SELECT * FROM (VALUES {rows}) AS t(ppdm_i, v, ppdm_w)"
    head = f"SELECT ppdm_i AS i{number}, {value} AS {name}, CAST(ppdm_w AS DOUBLE) AS w{number}"
    relation = f"{head}, FALSE AS fixed{number} FROM ({relation})"
    if column.nulls != "error":
        fixed = "TRUE" if column.nulls == "keep" else "FALSE"
        relation += f" UNION ALL SELECT {domain.size}, NULL, {float(weights(column)[-1])!r}, {fixed}"
    return relation


def _margin(found: pa.Table, codes: npt.NDArray[np.int64], values: int, own: Array, drawn: float) -> Margin:
    weight = np.zeros((len(own), len(codes)))
    sums = np.zeros((len(own), len(codes), values))
    place = _integers(found, "i"), _place(codes, _integers(found, "code"))
    weight[place] = np.asarray(found.column("weight").to_numpy())
    for i in range(values):
        sums[(*place, i)] = np.asarray(found.column(f"ppdm_v{i}").to_numpy(), dtype=float)
    return Margin(weight, sums, own, drawn)


def _place(codes: npt.NDArray[np.int64], wanted: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    order = np.argsort(codes)
    return order[np.searchsorted(codes[order], wanted)]


def _integers(found: pa.Table, name: str) -> npt.NDArray[np.int64]:
    return np.asarray(found.column(name).to_numpy()).astype(np.int64)


def _truth(code: int, terms: int) -> tuple[bool | None, ...]:
    return tuple(TRUTHS[code // 3**i % 3] for i in range(terms))


def _rank(code: int, terms: int) -> float:
    """TRUE before FALSE before NULL, the first term first: the same plan for the same query."""
    return sum({True: 0, False: 1, None: 2}[t] * 3.0**-i for i, t in enumerate(_truth(code, terms)))
