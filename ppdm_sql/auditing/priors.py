"""How often each value of a column's domain occurs: in the original, and as a release lets one guess."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from ppdm_udfs import RowError, encode

from ppdm_sql.auditing.tables import SCANNED, Copy, Original
from ppdm_sql.errors import SourceError
from ppdm_sql.mechanisms.self_replaced.column import SelfReplacedColumn
from ppdm_sql.mechanisms.small_domain.column import SmallDomainColumn
from ppdm_sql.policy import RetainedColumn
from ppdm_sql.privacy.collusion import Array, Numbers, Prior, likeliest_prior
from ppdm_sql.privacy.coupling import Draws
from ppdm_sql.publishing.kernel_domain import kernel_domain
from ppdm_sql.syntax.quoting import quote_name


def numbers_of(where: str, array: pa.Array, column: RetainedColumn) -> Numbers:
    """The numbers of values in their domain; NULL is the number after the last."""
    domain = kernel_domain(column, array.type)
    try:
        return encode(array, domain, column.nulls, column.outside).astype(np.int64)
    except RowError:
        pass
    # Outside of the handler: an exception remembers the one it was raised in.
    raise SourceError(
        f"{where}: column {column.name!r} has values that its released domain does not hold: is it the table that was "
        "published?"
    )


def counts_of(original: Original, column: RetainedColumn) -> tuple[Numbers, Numbers]:
    """The numbers that occur in the original, ascending, and how many rows have each; NULLs that stay are left out."""
    select = f"CAST({quote_name(original.name(column.name))} AS {column.type.name}) AS v"
    counted = original.arrow(select, f"SELECT v, count(*) AS n FROM {SCANNED} GROUP BY v")
    return _counts(original.where, counted, column)


def release_prior(copy: Copy, column: RetainedColumn) -> Prior | None:
    """The distribution under which the release is likeliest; None where no row takes part."""
    name = quote_name(column.name)
    counted = copy.cursor.sql(f"SELECT {name} AS v, count(*) AS n FROM {copy.table} GROUP BY v").to_arrow_table()
    values, counts = _counts(repr(copy.path), counted, column)
    return likeliest_prior(values, counts, column.retain, drawn(column, values)) if len(values) else None


def own_counts(table: Original | Copy, column: SelfReplacedColumn) -> tuple[pa.Array, Numbers]:
    """The values that occur, in their order, and how many rows have each; NULL is one where it is a value."""
    where = "" if column.nulls == "value" else " WHERE v IS NOT NULL"
    sql = f"SELECT v, count(*) AS n FROM {{}}{where} GROUP BY v ORDER BY v"
    if isinstance(table, Original):
        select = f"CAST({quote_name(table.name(column.name))} AS {column.type.name}) AS v"
        counted = table.arrow(select, sql.format(SCANNED))
    else:
        counted = table.cursor.sql(sql.format(f"(SELECT {quote_name(column.name)} AS v FROM {table.table})"))
        counted = counted.to_arrow_table()
    values = counted.column("v").combine_chunks()
    array = values if isinstance(values, pa.Array) else pa.chunked_array(values).combine_chunks()
    plain = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    return plain, counted.column("n").to_numpy().astype(np.int64)


def part_counts(copy: Copy, column: SmallDomainColumn) -> Array:
    """How often each value occurs in each part, as the release alone makes it likeliest; shape (parts, size)."""
    whole = RetainedColumn(column.name, column.type, column.domain, 1.0, column.nulls, column.outside)
    name, part_name = quote_name(column.name), quote_name(column.part_column)
    counted = np.zeros((len(column.parts), column.size))
    for i, part in enumerate(column.parts):
        query = f"SELECT {name} AS v, count(*) AS n FROM {copy.table} WHERE {part_name} = {i} GROUP BY v"
        values, counts = _counts(repr(copy.path), copy.cursor.sql(query).to_arrow_table(), whole)
        if len(values):
            found = likeliest_prior(values, counts, part.retain, 1 / len(part.places))
            counted[i, found.values] = found.shares * counts.sum()
    return counted


def drawn(column: RetainedColumn, values: Numbers) -> Array:
    """The shares of values among draws."""
    if column.weights is None:
        return np.broadcast_to(np.float64(1 / column.size), values.shape)
    weights = np.asarray(column.weights)
    return np.asarray(weights[values] / weights.sum())


def draws_of(column: RetainedColumn, values: Numbers, counts: Numbers) -> Draws:
    """How often a draw hits a row's own value, and another draw."""
    if column.weights is None:
        return Draws.even(column.size)
    shares = np.asarray(column.weights) / sum(column.weights)
    return Draws(float(counts @ shares[values] / counts.sum()), float(shares @ shares))


def _counts(where: str, counted: pa.Table, column: RetainedColumn) -> tuple[Numbers, Numbers]:
    table = counted.combine_chunks()
    values = table.column("v").combine_chunks()
    array = values if isinstance(values, pa.Array) else pa.chunked_array(values).combine_chunks()
    numbers = numbers_of(where, array, column)
    taking = numbers < column.size
    distinct, place = np.unique(numbers[taking], return_inverse=True)  # rounding may make two values one
    totals = np.bincount(place, weights=table.column("n").to_numpy()[taking], minlength=len(distinct))
    return distinct, totals.astype(np.int64)
