"""Select-a-size: baskets of items, of which some are kept, and to which others of the item set are added."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ppdm_sql.domain.binding import bind_domain
from ppdm_sql.domain.checks import mapping, number, one_of
from ppdm_sql.domain.declaration import declared_domain
from ppdm_sql.domain.declared import parse_domain
from ppdm_sql.domain.domain import Grid, Values
from ppdm_sql.domain.fields import Fields, damaged
from ppdm_sql.domain.json_form import domain_from_json, domain_to_json
from ppdm_sql.domain.types import UNKNOWN, SqlType, parse_type
from ppdm_sql.errors import PolicyError
from ppdm_sql.itemsets import Operator, best_operator, lowest_discoverable
from ppdm_sql.mechanisms.base import ColumnPolicy, Description, Mechanism, PerturbedColumn, declared_rules
from ppdm_sql.mechanisms.baskets.column import SELECT_A_SIZE, BasketColumn, SeedCode, size_column
from ppdm_sql.mechanisms.retention import LARGEST_BELOW_ONE, parse_retention

NULL_RULES = ("error", "keep")
MAX_SIZE = 255
MAX_ITEMSETS = 8
DEFAULT_ITEMSETS = 3
MAX_ITEMS = 1 << 24
MAX_BITS = 8
NEARLY = 1.05
"""A seed has the fewest bits an item with which the standard error of the worst size grows by no more than this."""

_SHOWN_BASKETS = 1e6
_SHOWN_VALUES = 8
ITEM_FAMILIES = ("text", "integer")
MOST_GAMMA = 1e12


@dataclass(frozen=True)
class BasketPolicy(ColumnPolicy):
    """`rho` is None where it is to be chosen, `itemsets` where baskets are released as lists."""

    max_size: int = 0
    rho: float | None = None
    itemsets: int | None = None

    def at_level(self, level: str, shared: float | None) -> ColumnPolicy:
        """A basket has no retention: every recipient gets the same randomized one."""
        return self


class SelectASize(Mechanism):
    """Randomized baskets."""

    name = SELECT_A_SIZE
    keys: ClassVar[tuple[str, ...]] = (
        *("domain", "gamma", "epsilon", "privacy", "max_size"),
        *("rho", "compress", "itemsets", "nulls"),
    )

    def parse(self, name: str, raw: Mapping[str, Any], *, has_levels: bool) -> ColumnPolicy:
        """Items, the promise, the largest size, and how randomized baskets are stored."""
        where = f"column {name!r}"
        if "domain" not in raw:
            raise PolicyError(
                f"{where} has no domain. Declare its items, domain = {{ values = [..] }} or {{ min = .., max = .. }}: "
                "they are never read off the data."
            )
        if not {"gamma", "epsilon", "privacy"} & raw.keys():
            raise PolicyError(f"{where} says nothing of what is promised: give exactly one of gamma, epsilon, privacy.")
        domain = parse_domain(where, mapping(f"{where}: domain", raw["domain"]))
        retention, _ = parse_retention(where, raw, False)
        assert retention is not None
        if retention.amplification > MOST_GAMMA:
            raise PolicyError(f"{where}: a gamma above 1e12 protects nothing that a basket holds: ask for less.")
        if "max_size" not in raw:
            raise PolicyError(
                f"{where} has no max_size. Declare how many items a basket may hold, such as max_size = 10: larger "
                "baskets are cut to it, and the larger it is, the less can be told of large baskets."
            )
        max_size = _whole(f"{where}: max_size", raw["max_size"], MAX_SIZE)
        nulls = one_of(where, "nulls", raw.get("nulls", "error"), NULL_RULES)
        rho = _rho(where, raw) if "rho" in raw else None
        itemsets = _itemsets(where, raw)
        return BasketPolicy(name, self.name, domain, retention, nulls, max_size=max_size, rho=rho, itemsets=itemsets)

    def bind(self, column: ColumnPolicy, type_name: str) -> PerturbedColumn:
        """The item set in the type of the items, and the operators that keep the promise."""
        assert isinstance(column, BasketPolicy) and column.domain is not None and column.retention is not None
        where = f"column {column.name!r} ({type_name})"
        listed = re.fullmatch(r"(.*)\[\d*\]", type_name, re.DOTALL)
        if listed is None:
            raise PolicyError(f'{where}: mechanism = "{self.name}" is for lists of items, such as VARCHAR[].')
        if parse_type(listed.group(1)).family not in ITEM_FAMILIES:
            raise PolicyError(f"{where}: items are text or whole numbers. Cast the lists to VARCHAR[] in the source.")
        items, item_type = bind_domain(where, column.domain, listed.group(1))
        if not column.max_size <= items.size <= MAX_ITEMS:
            raise PolicyError(
                f"{where}: its item set has {items.size:,} items; at least max_size = {column.max_size} and at most "
                f"{MAX_ITEMS:,} are allowed."
            )
        operators, bits = chosen_operators(column)
        code = None
        if column.itemsets is not None:
            code = _code(where, items.size, bits, column.max_size, column.itemsets)
        sql_type = parse_type("BLOB" if code else f"{listed.group(1)}[]")
        gamma = column.retention.amplification
        return BasketColumn(column.name, sql_type, items, item_type, operators, gamma, column.nulls, code)

    def to_json(self, column: PerturbedColumn) -> dict[str, Any]:
        """Items, operators, and the code of seeds."""
        assert isinstance(column, BasketColumn)
        body: dict[str, Any] = {
            "items": domain_to_json(column.items),
            "item_type": column.item_type.name,
            "gamma": column.gamma,
            "nulls": column.nulls,
            "cut": column.cut,
            "size_column": column.size_column,
            "operators": [{"rho": operator.rho, "keep": list(operator.keep)} for operator in column.operators],
        }
        if column.code is not None:
            code = column.code
            body["code"] = {
                **{"degree": code.degree, "powers": code.powers},
                **{"bits": code.bits, "itemsets": code.itemsets},
            }
        return body

    def from_json(self, name: str, fields: Fields, sql_type: SqlType) -> PerturbedColumn:
        """The column as it was bound."""
        item_type = parse_type(fields.text("item_type"))
        if item_type.family not in ITEM_FAMILIES:
            fields.refuse("item_type", "is neither text nor a type of whole numbers")
        items = domain_from_json(fields.inside("items"), item_type, MAX_ITEMS)
        listed = fields.each("operators", 2, MAX_SIZE + 1)
        operators = tuple(_operator(one, size) for size, one in enumerate(listed))
        code = None
        if "code" in fields:
            code = _code_from_json(fields.inside("code"), items.size, len(operators) - 1)
        if sql_type not in (UNKNOWN, parse_type(f"{item_type.name}[]" if code is None else "BLOB")):
            fields.refuse("type", f"is not what baskets of {item_type.name} are released as")
        if len(operators) - 1 > items.size:
            fields.refuse("operators", "is longer than the list of items")
        gamma, nulls = fields.number("gamma", 1, MOST_GAMMA), fields.word("nulls", NULL_RULES)
        cut = fields.whole("cut", 0, 2**63)
        fields.word("size_column", (size_column(name),))
        return BasketColumn(name, sql_type, items, item_type, operators, gamma, nulls, code, cut)

    def declared(self, column: PerturbedColumn, perturbed: Sequence[PerturbedColumn]) -> dict[str, Any]:
        """Items, promise and largest size; rho where it is one for all sizes, and was not left to be chosen by size."""
        assert isinstance(column, BasketColumn)
        body: dict[str, Any] = {
            "gamma": column.gamma,
            "domain": declared_domain(column.items, column.item_type),
            "max_size": column.largest,
        }
        rho = {operator.rho for operator in column.operators[1:]}  # an empty basket has an operator of its own
        if len(rho) == 1:
            body["rho"] = rho.pop()
        if column.code is not None:
            body |= {"compress": True, "itemsets": column.code.itemsets}
        return body | declared_rules(column.nulls)

    def companions(self, column: PerturbedColumn) -> tuple[str, ...]:
        """The column that has the number of items."""
        return (size_column(column.name),)

    def explain(self, column: ColumnPolicy, type_name: str | None, levels: Mapping[str, float | None]) -> list[str]:
        """Items, what becomes of a basket of each size, and what can be found out of a million of them."""
        assert isinstance(column, BasketPolicy) and column.retention is not None
        bound = None if type_name is None else self.bind(column, type_name)
        operators, bits = chosen_operators(column)
        gamma = column.retention.amplification
        null = "NULL stays NULL, so which rows are NULL stays visible" if column.nulls == "keep" else "NULL is refused"
        lines = [
            f"{column.name}: baskets, some items kept and others added; gamma {gamma:.4g}, epsilon "
            f"{math.log(gamma):.4g} among baskets of one size",
            f"  items: {_items(column)}",
            f"  {null}; an item outside the item set is refused",
            f"  the number of items is released as it is, in column {size_column(column.name)}; baskets of more than "
            f"{column.max_size} items are cut to {column.max_size}",
        ]
        shown = {size for size in (1, 2, 3, 5, column.max_size) if size <= column.max_size}
        lines += [f"  {_fate(operators[size])}" for size in sorted(shown)]
        if column.itemsets is not None:
            length = f"of {bits} bit{'' if bits == 1 else 's'} an item"
            if isinstance(bound, BasketColumn) and bound.code is not None:
                length = f"of {bound.code.degree * bound.code.powers} bits"
            lines.append(f"  released as a seed {length}, which tells of itemsets of up to {column.itemsets} items")
        return lines

    def describe(self, column: PerturbedColumn) -> Description:
        """Everything that is declared."""
        assert isinstance(column, BasketColumn)
        kept = f"baskets of up to {column.largest} items, gamma {column.gamma:.4g}"
        if column.cut:
            kept += f", {column.cut:,} cut to {column.largest} items"
        domain = column.items
        return Description(
            kept,
            _domain_words(domain),
            domain.size,
            None,
            column.gamma,
            math.log(column.gamma),
            column.nulls,
            "error",
        )


def _operator(fields: Fields, size: int) -> Operator:
    rho, keep = fields.number("rho", 0, LARGEST_BELOW_ONE), fields.numbers("keep", (size + 1, size + 1), 0, 1)
    fields.end()
    try:
        return Operator(rho, keep)
    except ValueError as error:
        damaged(f"{fields.where}: {error}")


def _code_from_json(fields: Fields, items: int, largest: int) -> SeedCode:
    """The code, which follows from all but its degree and powers."""
    bits, itemsets = fields.whole("bits", 1, MAX_BITS), fields.whole("itemsets", 1, MAX_ITEMSETS)
    try:
        code = _code(fields.where, items, bits, largest, itemsets)
    except PolicyError as error:
        damaged(str(error))
    fields.whole("degree", code.degree, code.degree)
    fields.whole("powers", code.powers, code.powers)
    fields.end()
    return code


def chosen_operators(column: BasketPolicy) -> tuple[tuple[Operator, ...], int]:
    """The operators for baskets of 0 to max_size items, and the bits that an item of a seed has."""
    assert column.retention is not None
    gamma = column.retention.amplification
    sizes = range(column.max_size + 1)
    if column.rho is not None:
        needed = bits_needed(column.rho)
        return tuple(best_operator(size, gamma, (column.rho,)) for size in sizes), needed or 1
    free = tuple(best_operator(size, gamma) for size in sizes)
    if column.itemsets is None:
        return free, 1
    for bits in range(1, MAX_BITS + 1):
        steps = tuple(a / (1 << bits) for a in range(1, 1 << bits))
        tried = tuple(best_operator(size, gamma, steps) for size in sizes)
        if max(map(_spread, tried[1:])) <= NEARLY * max(map(_spread, free[1:])):
            break
    return tried, bits


def _spread(operator: Operator) -> float:
    """The largest standard error of itemsets of 1, 2 and 3 items that are absent, for one basket."""
    contrasts = ((k, abs(operator.contrast(k))) for k in range(1, min(3, operator.size) + 1))
    noise = operator.rho * (1 - operator.rho)
    return max(math.inf if contrast == 0 else noise ** (k / 2) / contrast for k, contrast in contrasts)


def _code(where: str, items: int, bits: int, largest: int, itemsets: int) -> SeedCode:
    from ppdm_udfs import KernelError, code_for  # noqa: PLC0415 - an analyst needs no kernel

    try:
        code = code_for(items, bits, largest + itemsets)
    except KernelError as error:
        raise PolicyError(f"{where}: {error}. Leave compress out, or say a rho of fewer bits.") from None
    return SeedCode(code.degree, code.powers, code.bits, itemsets)


def bits_needed(rho: float) -> int | None:
    """The least number of bits whose numbers make a probability, None where it takes more than are allowed.

    >>> bits_needed(0.375), bits_needed(0.1)
    (3, None)
    """
    return next((bits for bits in range(1, MAX_BITS + 1) if math.ldexp(rho, bits).is_integer()), None)


def _rho(where: str, raw: Mapping[str, Any]) -> float:
    rho = number(f"{where}: rho", raw["rho"])
    if not 0 < rho < 1:
        raise PolicyError(f"{where}: rho = {rho:g} is the probability that another item is added: above 0, below 1.")
    if raw.get("compress") and bits_needed(rho) is None:
        raise PolicyError(
            f"{where}: with compress, rho is a whole number of 1/{1 << MAX_BITS}, such as 0.5 or 0.0625, not {rho:g}."
        )
    return rho


def _itemsets(where: str, raw: Mapping[str, Any]) -> int | None:
    compress = raw.get("compress", False)
    if not isinstance(compress, bool):
        raise PolicyError(f"{where}: compress must be true or false, not {compress!r}.")
    if not compress:
        if "itemsets" in raw:
            raise PolicyError(f"{where}: itemsets is for compress = true; lists tell of itemsets of any size.")
        return None
    return _whole(f"{where}: itemsets", raw.get("itemsets", DEFAULT_ITEMSETS), MAX_ITEMSETS)


def _whole(where: str, value: Any, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise PolicyError(f"{where} must be a whole number from 1 to {most}, not {value!r}.")
    return value


def _items(column: BasketPolicy) -> str:
    domain = column.domain
    if isinstance(domain, Values):
        return f"{_domain_words(domain)} ({domain.size:,} items)"
    assert domain is not None
    return f"{domain.low} to {domain.high}"


def _domain_words(domain: Grid | Values) -> str:
    if isinstance(domain, Grid):
        return f"{domain.low} to {domain.high}" + ("" if domain.step == 1 else f" by {domain.step}")
    shown = ", ".join(str(value) for value in domain.values[:_SHOWN_VALUES])
    return f"{shown}, .." if domain.size > _SHOWN_VALUES else shown


def _fate(operator: Operator) -> str:
    kept = sum(j * p for j, p in enumerate(operator.keep)) / operator.size
    able = range(1, min(3, operator.size) + 1)
    lowest = ", ".join(_share(lowest_discoverable(operator, items, _SHOWN_BASKETS)) for items in able)
    sets = "of 1 item" if operator.size == 1 else f"of 1 to {len(able)} items"
    return (
        f"of {operator.size} item{'' if operator.size == 1 else 's'}: each is kept with {100 * kept:.3g} %, any other "
        f"added with {100 * operator.rho:.3g} %; in a million such baskets, itemsets {sets} are found from a support "
        f"of {lowest} on"
    )


def _share(support: float) -> str:
    return "no support" if math.isinf(support) else f"{100 * support:.2g} %"


MECHANISMS: dict[str, Mechanism] = {"select_a_size": SelectASize()}
