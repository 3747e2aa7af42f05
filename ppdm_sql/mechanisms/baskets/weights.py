"""The weight of a row towards a condition on the items of its basket.

A condition on k items is a polynomial in their 0s and 1s, with one coefficient for each subset S of them. For each
subset, ``prod(y_i - rho) / c`` is unbiased for "the basket holds all of S", with the rho and the contrast c of the
basket's size (`ppdm_sql.itemsets.operator`). What a seed shows of an item is a sum of parities, in plain SQL.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import sqlglot
from sqlglot import exp

from ppdm_sql.errors import Unsupported
from ppdm_sql.mechanisms.baskets.column import BasketColumn
from ppdm_sql.query.understand.memberships import column_of, membership
from ppdm_sql.query.understand.scan import number, product, total, typed
from ppdm_sql.syntax.dialects import ANALYST


def basket_weight(
    basket: BasketColumn, asked: Sequence[int], inside: Sequence[int], fixed: bool, portable: bool
) -> tuple[exp.Expr, int]:
    """The weight towards the baskets that hold some sets of the items `asked` for, and how many factors it has.

    A set is a mask of them; `fixed` says whether baskets that are NULL count, too.
    """
    parts: list[exp.Expr] = []
    factors = 0
    for mask, coefficient in _coefficients(len(asked), inside):
        items = [item for place, item in enumerate(asked) if mask >> place & 1]
        _check_told(basket, len(items))
        weight: exp.Expr = number(coefficient)
        if items:
            seen = [unbiased(basket, shown(basket, item, portable), portable) for item in items]
            scales = by_size(basket, [coefficient * c for c in inverse_contrasts(basket, len(items))], portable)
            weight = product([scales, *seen])
        parts.append(weight)
        factors += 1 + len(items)
    body = exp.Paren(this=total(parts)) if len(parts) > 1 else parts[0] if parts else number(0.0)
    if basket.nulls == "keep":
        kept = number(1.0 if fixed else 0.0)
        null = exp.Is(this=column_of(basket), expression=exp.Null())
        body = exp.Case(ifs=[exp.If(this=null, true=kept)], default=body)
    return body, factors


def inverse_contrasts(basket: BasketColumn, items: int) -> list[float]:
    """1 / c of itemsets by the basket's size; 0 for sizes that cannot hold one, whose rows then add nothing."""
    contrasts = [operator.contrast(items) if operator.size >= items else 0.0 for operator in basket.operators]
    if any(contrast == 0 for contrast in contrasts[items:]):
        raise Unsupported(f"Unsupported: the operators of {basket.name} tell nothing of itemsets of {items} items.")
    return [1 / contrast if contrast else 0.0 for contrast in contrasts]


def rhos(basket: BasketColumn) -> list[float]:
    """rho by the basket's size; an empty basket, which adds nothing anyway, has that of the next."""
    first, *others = (operator.rho for operator in basket.operators[1:])
    return [first, first, *others]


def unbiased(basket: BasketColumn, seen: exp.Expr, portable: bool) -> exp.Expr:
    """y - rho, with the rho of the basket's size."""
    rho = by_size(basket, rhos(basket), portable)
    return exp.Paren(this=exp.Sub(this=seen, expression=rho))


def by_size(basket: BasketColumn, values: Sequence[float], portable: bool) -> exp.Expr:
    """A number that depends on the basket's size."""
    if len(set(values)) == 1:
        return number(values[0])
    size = exp.column(exp.to_identifier(basket.size_column, quoted=True))
    if portable:
        ifs = [exp.If(this=exp.Literal.number(m), true=number(value)) for m, value in enumerate(values)]
        return exp.Case(this=size, ifs=ifs, default=number(0.0))
    place = exp.Add(this=size, expression=exp.Literal.number(1))
    return exp.Anonymous(this="list_extract", expressions=[exp.Array(expressions=list(map(number, values))), place])


def shown(basket: BasketColumn, item: int, portable: bool) -> exp.Expr:
    """1 where the randomized basket shows an item, else 0."""
    if basket.code is None:
        test = membership(basket, basket.item(item))
    elif portable:
        raise Unsupported(
            f"Unsupported: the baskets of {basket.name} are compressed, and only DuckDB reads their seeds. Publish "
            "them as lists for other engines."
        )
    else:
        test = exp.LT(this=_value(basket, item), expression=_threshold(basket))
    if portable:
        return exp.Case(ifs=[exp.If(this=test, true=number(1.0))], default=number(0.0))
    return typed(exp.Paren(this=test), "DOUBLE")


def _value(basket: BasketColumn, item: int) -> exp.Expr:
    """The number that a seed shows for an item."""
    masks = ("".join(f"\\x{octet:02X}" for octet in mask) for mask in item_masks(basket, [item])[0])
    name = column_of(basket).sql(dialect=ANALYST)
    return sqlglot.parse_one(seed_value(name, [f"'{mask}'::BLOB" for mask in masks]), dialect=ANALYST)


def seed_value(seed: str, masks: Sequence[str]) -> str:
    """The number that a seed shows, one parity a bit, as SQL."""
    parities = (f"(bit_count(CAST({seed} AS BIT) & CAST({mask} AS BIT)) % 2)" for mask in masks)
    return f"({' + '.join(f'{1 << bit} * {parity}' for bit, parity in enumerate(parities))})"


def item_masks(basket: BasketColumn, items: Sequence[int]) -> list[list[bytes]]:
    """The bits of a seed whose parity shows each bit of each item, in the bytes of a seed."""
    from ppdm_udfs.codes import Code, columns_of  # noqa: PLC0415 - only seeds need the kernels

    assert basket.code is not None
    code = Code(basket.code.degree, basket.code.powers, basket.code.bits)
    columns = np.ascontiguousarray(columns_of(code, np.array(items, dtype=np.int64)).astype("<u8")).view(np.uint8)
    return [[bit.tobytes() for bit in item] for item in np.ascontiguousarray(columns[:, :, : code.seed_bytes])]


def _threshold(basket: BasketColumn) -> exp.Expr:
    assert basket.code is not None
    return by_size(basket, [rho * (1 << basket.code.bits) for rho in rhos(basket)], False)


def _coefficients(items: int, inside: Sequence[int]) -> Iterator[tuple[int, float]]:
    """The polynomial that is 1 for the sets and 0 for all others: the coefficients that are not zero."""
    values = np.zeros(1 << items)
    values[list(inside)] = 1.0
    for place in range(items):
        upper = np.array([mask for mask in range(len(values)) if mask >> place & 1])
        values[upper] -= values[upper ^ (1 << place)]
    return ((int(mask), float(values[mask])) for mask in np.flatnonzero(values))


def _check_told(basket: BasketColumn, items: int) -> None:
    if basket.code is not None and items > basket.code.itemsets:
        raise Unsupported(
            f"Unsupported: the baskets of {basket.name} are compressed, and tell of itemsets of up to "
            f"{basket.code.itemsets} items; this asks for {items} at once, together with its errors. Ask for fewer."
        )
