"""Randomized baskets as an engine holds them, read once for any number of itemsets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ppdm_sql.domain.domain import Grid, Scalar, Values
from ppdm_sql.errors import QueryError
from ppdm_sql.itemsets.patterns import Baskets, Integers, pattern_counts
from ppdm_sql.itemsets.supports import Supports
from ppdm_sql.mechanisms.baskets.column import BasketColumn
from ppdm_sql.syntax.quoting import quote_name

ROWS = 65_536


def supports_of(
    con: duckdb.DuckDBPyConnection,
    table: str,
    column: BasketColumn,
    itemsets: Sequence[Sequence[Scalar]],
    where: str = "",
) -> Supports:
    """What is known of the supports of itemsets, all of one length, from one scan of a release.

    Parameters
    ----------
    table : str
        The release, as SQL names it: quoted where it has to be.
    where : str
        A condition on exact columns, as SQL.

    Returns
    -------
    Supports
        Estimates, errors and covariances of every itemset and of its subsets.

    Raises
    ------
    QueryError
        Where something is no item of the item set, or an itemset is larger than seeds can tell of.
    """
    numbers = item_numbers(column, itemsets)
    if column.code is not None and numbers.shape[1] > column.code.itemsets:
        raise QueryError(
            f"the baskets of {column.name!r} are compressed: they tell of itemsets of up to {column.code.itemsets} "
            f"items, not of {numbers.shape[1]}."
        )
    counts = np.zeros((len(numbers), column.largest + 1, 1 << numbers.shape[1]), dtype=np.int64)
    for baskets in read_baskets(con, table, column, np.unique(numbers), where):
        counts += pattern_counts(baskets, numbers, column.largest)
    return Supports(column.operators, counts)


def item_numbers(column: BasketColumn, itemsets: Sequence[Sequence[Scalar]]) -> Integers:
    """Itemsets by the numbers of their items, shape (itemsets, items)."""
    if len({len(itemset) for itemset in itemsets}) > 1:
        raise QueryError("itemsets that are asked for together have the same number of items.")
    place = {column.item(number): number for number in range(column.items.size)}
    found = [[place.get(item, -1) for item in itemset] for itemset in itemsets]
    for itemset, numbers in zip(itemsets, found, strict=True):
        if -1 in numbers:
            raise QueryError(f"{itemset[numbers.index(-1)]!r} is not an item of {column.name!r}.")
        if len(set(numbers)) < len(numbers):
            raise QueryError("an item stands twice in one itemset.")
    return np.array(found, dtype=np.int64).reshape(len(itemsets), -1 if itemsets else 1)


def read_baskets(
    con: duckdb.DuckDBPyConnection, table: str, column: BasketColumn, used: Integers, where: str = ""
) -> Iterator[Baskets]:
    """The baskets of a release, part by part; of compressed ones, only the items in `used` are shown."""
    items, sizes = quote_name(column.name), quote_name(column.size_column)
    present = f"{items} IS NOT NULL" + (f" AND ({where})" if where else "")
    relation = con.sql(f"SELECT {items} AS items, {sizes} AS sizes FROM {table} WHERE {present}")
    for batch in relation.to_arrow_reader(ROWS):
        size = batch.column("sizes").to_numpy(zero_copy_only=False).astype(np.int64)
        values = batch.column("items")
        if column.code is None:
            yield Baskets(size, *listed_items(values, column))
        else:
            yield Baskets(size, *shown_items(values, size, column, used))


def listed_items(lists: pa.Array, column: BasketColumn) -> tuple[Integers, Integers]:
    """Where each list begins and ends, and the numbers of its items."""
    lengths = pc.list_value_length(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    flat = lists.flatten()
    if isinstance(column.items, Grid):
        numbers = (flat.to_numpy(zero_copy_only=False).astype(np.int64) - column.items.low) // column.items.step
    else:
        assert isinstance(column.items, Values)
        known = pa.array(column.items.values, flat.type)
        numbers = pc.index_in(flat, value_set=known).to_numpy(zero_copy_only=False).astype(np.int64)
    return np.concatenate(([0], np.cumsum(lengths))), numbers


def shown_items(seeds: pa.Array, sizes: Integers, column: BasketColumn, used: Integers) -> tuple[Integers, Integers]:
    """The same for seeds, of which only the items in `used` are tried."""
    from ppdm_udfs.codes import Code  # noqa: PLC0415 - only seeds need the kernels
    from ppdm_udfs.seeds import from_binary, shows  # noqa: PLC0415

    assert column.code is not None
    code = Code(column.code.degree, column.code.powers, column.code.bits)
    thresholds = np.array([code.threshold(operator.rho) for operator in column.operators])[sizes]
    words = from_binary(seeds, code)
    seen = np.zeros((len(seeds), len(used)), dtype=np.bool_)
    for place, number in enumerate(used.tolist()):
        seen[:, place] = shows(words, number, thresholds, code)
    lengths = np.count_nonzero(seen, axis=1)
    return np.concatenate(([0], np.cumsum(lengths))), used[np.nonzero(seen)[1]]
