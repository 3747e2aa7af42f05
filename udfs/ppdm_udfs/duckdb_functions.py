"""The kernels as DuckDB functions, for use by hand.

``SELECT ppdm_uniform_bigint(age, id, 'adult', 'age', 0.3, 17, 90) FROM adult``

DuckDB lets a Python function have one signature only, hence one name a type. All take the value, the row's id, the
table's and the column's name, the retention and the domain; NULL stays NULL.

=========================  =====================  ==========================================
function                   value and result       domain
=========================  =====================  ==========================================
ppdm_uniform_bigint        BIGINT                 low, high BIGINT
ppdm_uniform_hugeint       HUGEINT                low, high HUGEINT
ppdm_uniform_double        DOUBLE                 low, high, step DOUBLE
ppdm_uniform_decimal       DECIMAL(38, 10)        low, high, step DECIMAL(38, 10)
ppdm_uniform_date          DATE                   low, high DATE
ppdm_uniform_timestamp     TIMESTAMP              low, high TIMESTAMP, step INTERVAL
ppdm_uniform_varchar       VARCHAR                values VARCHAR[]
ppdm_uniform_boolean       BOOLEAN                none: false and true
=========================  =====================  ==========================================

The id is a HUGEINT, to which DuckDB casts every integer. A text id goes through ``ppdm_identity(name, 'adult')``, which
gives the same coins as publishing under that text does. The key lives in Python only: no function shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Context, Decimal
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ppdm_udfs.buffers import build, joined, nulls_of
from ppdm_udfs.domain import Domain, Grid, Values
from ppdm_udfs.errors import KernelError, RowError
from ppdm_udfs.identity import row_blocks
from ppdm_udfs.uniform import Uniform, perturb

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_EPOCH = datetime(1970, 1, 1)
_DAY = 86_400_000_000
_EXACT = Context(prec=700)  # the default of 28 digits would round a DECIMAL(38, 10)
_NAMES = ("id", "table", "column", "retain")


@dataclass(frozen=True)
class _Family:
    """One SQL type: its domain's parameters, and the domain that they mean."""

    kind: str
    parameters: tuple[str, ...]
    domain: Callable[..., Domain]


def _whole(low: int, high: int) -> Grid:
    return Grid(int(low), 1, int(high) - int(low) + 1)


def _numbers(low: float | Decimal, high: float | Decimal, step: float | Decimal) -> Grid:
    """Read reals as the decimals that they print as, for 0.1 is meant as a tenth."""
    exact = [Decimal(repr(number)) if isinstance(number, float) else number for number in (low, high, step)]
    if not all(number.is_finite() for number in exact):
        raise KernelError("a domain of numbers has finite ends and a finite step")
    scale = max(0, *(-int(number.normalize(_EXACT).as_tuple().exponent) for number in exact))
    first, last, width = (int(number.scaleb(scale, _EXACT)) for number in exact)
    return _spaced(first, last, width, scale)


def _dates(low: date, high: date) -> Grid:
    return _whole((low - _EPOCH.date()).days, (high - _EPOCH.date()).days)


def _moments(low: datetime, high: datetime, step: pa.MonthDayNano) -> Grid:
    if step.months or step.nanoseconds % 1_000:
        raise KernelError("a step is a number of days, hours, .. microseconds: months differ in length")
    return _spaced(_microseconds(low), _microseconds(high), step.days * _DAY + step.nanoseconds // 1_000)


def _microseconds(moment: datetime) -> int:
    past = moment - _EPOCH
    return past.days * _DAY + past.seconds * 1_000_000 + past.microseconds


def _spaced(low: int, high: int, step: int, scale: int = 0) -> Grid:
    if step < 1 or (high - low) % step:
        raise KernelError("a domain's step is positive and leads from its low end to its high end")
    return Grid(low, step, (high - low) // step + 1, scale)


_DECIMAL = "DECIMAL(38, 10)"
_FAMILIES = {
    "bigint": _Family("BIGINT", ("BIGINT", "BIGINT"), _whole),
    "hugeint": _Family("HUGEINT", ("HUGEINT", "HUGEINT"), _whole),
    "double": _Family("DOUBLE", ("DOUBLE", "DOUBLE", "DOUBLE"), _numbers),
    "decimal": _Family(_DECIMAL, (_DECIMAL, _DECIMAL, _DECIMAL), _numbers),
    "date": _Family("DATE", ("DATE", "DATE"), _dates),
    "timestamp": _Family("TIMESTAMP", ("TIMESTAMP", "TIMESTAMP", "INTERVAL"), _moments),
    "varchar": _Family("VARCHAR", ("VARCHAR[]",), lambda values: Values(pa.array(values, pa.string()))),
    "boolean": _Family("BOOLEAN", (), lambda: Values(pa.array([False, True]))),
}


def register(con: DuckDBPyConnection, key: bytes) -> None:
    """Register the functions on one connection, which must be closed before the program ends.

    They are called with 2,048 rows at a time and are several times slower than `perturb` on a whole column.
    """
    from duckdb.func import FunctionNullHandling, PythonUDFType  # noqa: PLC0415 - the kernels run where no DuckDB is installed

    def create(name: str, function: Callable[..., pa.Array], parameters: Sequence[str], result: str) -> None:
        con.create_function(
            name,
            function,
            list(parameters),
            result,
            type=PythonUDFType.ARROW,
            null_handling=FunctionNullHandling.SPECIAL,
        )

    for suffix, family in _FAMILIES.items():
        signature = (family.kind, "HUGEINT", "VARCHAR", "VARCHAR", "DOUBLE", *family.parameters)
        create(f"ppdm_uniform_{suffix}", _uniform(f"ppdm_uniform_{suffix}", family, key), signature, family.kind)
    create("ppdm_identity", _identity(key), ("VARCHAR", "VARCHAR"), "HUGEINT")


def _uniform(name: str, family: _Family, key: bytes) -> Callable[..., pa.Array]:
    def group(columns: Sequence[pa.Array], parameters: Sequence[Any]) -> pa.Array:
        table, column, retain, *rest = parameters
        mechanism = Uniform(family.domain(*rest), retain, nulls="keep")
        rows = row_blocks([columns[1]], key, table)
        return perturb(columns[0], mechanism, key=key, table=table, column=column, rows=rows)

    return _callable(name, len(_NAMES) + 1 + len(family.parameters), 2, group)


def _identity(key: bytes) -> Callable[..., pa.Array]:
    def group(columns: Sequence[pa.Array], parameters: Sequence[Any]) -> pa.Array:
        blocks = row_blocks(columns, key, parameters[0])
        return build(pa.decimal128(38, 0), blocks, None)

    return _callable("ppdm_identity", 2, 1, group)


def _callable(name: str, arity: int, data: int, group: Callable[..., pa.Array]) -> Callable[..., pa.Array]:
    """Return what DuckDB calls: the first `data` arguments are columns, the others parameters.

    An error is told without offsets, for those of a batch of 2,048 rows say nothing, and without its cause.
    """

    def function(*arguments: pa.ChunkedArray) -> pa.Array:
        arrays = [joined(argument) for argument in arguments]
        try:
            return _by_parameters(arrays[:data], arrays[data:], group)
        except RowError as error:
            raise KernelError(f"{name}: rows {error.reason}") from None
        except KernelError as error:
            raise KernelError(f"{name}: {error}") from None

    # DuckDB counts a function's parameters by its signature and knows nothing of *arguments.
    places = [Parameter(f"argument{place}", Parameter.POSITIONAL_ONLY) for place in range(arity)]
    function.__signature__ = Signature(places)  # type: ignore[attr-defined]
    return function


def _by_parameters(
    columns: Sequence[pa.Array], parameters: Sequence[pa.Array], group: Callable[..., pa.Array]
) -> pa.Array:
    """Call `group` once for each combination of parameters, nearly always one, and put the rows back in order."""
    count = len(columns[0])
    if any(nulls_of(parameter) is not None for parameter in parameters):
        raise KernelError("a parameter is NULL")
    if all(parameter.slice(1).equals(parameter.slice(0, max(count - 1, 0))) for parameter in parameters):
        return group(columns, [parameter[0].as_py() for parameter in parameters])
    found: dict[str, list[int]] = {}
    values = list(zip(*(parameter.to_pylist() for parameter in parameters), strict=True))
    for row, combination in enumerate(values):
        found.setdefault(repr(combination), []).append(row)
    parts = [group([column.take(pa.array(rows)) for column in columns], values[rows[0]]) for rows in found.values()]
    order = np.argsort(np.concatenate([np.array(rows) for rows in found.values()]))
    return pa.concat_arrays(parts).take(pa.array(order))
