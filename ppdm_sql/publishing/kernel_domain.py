"""From a bound column to the kernel's domain: the declared values in the Arrow type that the column travels in."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
from ppdm_udfs import Grid, KernelError, Uniform, Values, encode

from ppdm_sql.domain import domain as declared
from ppdm_sql.errors import PolicyError
from ppdm_sql.policy import RetainedColumn


def fitting(column: RetainedColumn, kind: pa.DataType, make: Callable[[], Uniform]) -> Uniform:
    """What `make` gives; PolicyError where the column's domain does not fit the type, before any row is read."""
    try:
        kernel = make()
        encode(pa.array([], type=kind), kernel.domain, kernel.nulls, kernel.outside)
        return kernel
    except KernelError as error:
        reason = str(error)
    except (pa.ArrowException, ValueError, OverflowError):
        reason = "a declared value does not fit the type exactly"
    raise PolicyError(f"column {column.name!r} ({column.type.name}): {reason}.")


def kernel_domain(column: RetainedColumn, kind: pa.DataType) -> Grid | Values:
    """The domain as the kernels know it."""
    return kernel_values(column.domain, kind)


def kernel_values(domain: declared.Grid | declared.Values, kind: pa.DataType) -> Grid | Values:
    """The values that a domain declares, for columns that travel in a type."""
    if isinstance(domain, declared.Grid):
        return Grid(domain.low, domain.step, domain.size, domain.scale)
    held = kind.value_type if pa.types.is_dictionary(kind) else kind
    return Values(pa.array([_python(value, held) for value in domain.values], type=held))


def _python(value: declared.Scalar, kind: pa.DataType) -> object:
    """A declared value as what pyarrow takes for the type."""
    if pa.types.is_decimal(kind) and isinstance(value, int):
        return Decimal(value)
    if pa.types.is_floating(kind) and isinstance(value, int | Decimal):
        return float(value)
    if pa.types.is_timestamp(kind) and isinstance(value, date):
        moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
        return moment.replace(tzinfo=UTC) if kind.tz is not None else moment
    return value
