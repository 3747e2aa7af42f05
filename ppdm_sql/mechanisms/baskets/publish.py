"""Randomized baskets: the kernel of each column, and the public size that goes with every basket."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
from ppdm_udfs import Code, KernelError, NullFound, RowError, SelectASize, SizeOperator, randomize

from ppdm_sql.errors import PolicyError, SourceError
from ppdm_sql.mechanisms.base import PerturbedColumn
from ppdm_sql.mechanisms.baskets.column import BasketColumn
from ppdm_sql.publishing.column import Column
from ppdm_sql.publishing.kernel_domain import kernel_values
from ppdm_sql.publishing.perturber import Perturber, Publishing, Rows


class Baskets(Perturber):
    """One column of baskets, and the column of their sizes."""

    def __init__(self, places: tuple[int, int], column: BasketColumn, kind: pa.DataType) -> None:
        super().__init__(places)
        self.column = column
        self.kernel = _kernel(column, kind)
        self._kind = kind
        self._cut = 0

    def perturb(self, arrays: Sequence[pa.Array], rows: Rows) -> list[pa.Array]:
        """The randomized baskets and their public sizes."""
        name = self.column.name
        try:
            found = randomize(
                arrays[0],
                self.kernel,
                key=rows.key,
                table=rows.table,
                column=name,
                rows=rows.keyed,
                threads=rows.threads,
            )
        except RowError as error:
            refused = error
        else:
            self._cut += found.cut
            return [found.values, found.sizes]
        place = f"row {rows.before + refused.offset + 1:,} is the first of at least {refused.count:,}"
        if isinstance(refused, NullFound):
            raise SourceError(
                f"{rows.where}: column {name!r} has a basket, or an item in one, that is NULL; {place}. Remove such "
                'items; for baskets that are NULL say nulls = "keep" (which ones they are stays visible).'
            )
        raise SourceError(
            f"{rows.where}: column {name!r} has items outside its declared item set; {place}. Correct them, or add "
            "what is missing to its domain."
        )

    def coins(self) -> Mapping[int, str]:
        """The item set and what becomes of a basket."""
        return {self.columns[0]: self.kernel.parameters(self._kind)}

    def kinds(self) -> Mapping[int, pa.DataType]:
        """Lists of a fixed length become plain lists, and compressed baskets seeds; sizes are whole numbers."""
        code = self.kernel.code
        plain = self._kind if not pa.types.is_fixed_size_list(self._kind) else pa.list_(self._kind.value_type)
        return {self.columns[0]: plain if code is None else pa.binary(code.seed_bytes), self.columns[1]: pa.int32()}

    def released(self) -> Mapping[int, PerturbedColumn]:
        """How many baskets were cut is known now."""
        return {self.columns[0]: replace(self.column, cut=self._cut)}


def _kernel(column: BasketColumn, kind: pa.DataType) -> SelectASize:
    """The kernel's parameters; PolicyError where they do not fit the type, before any row is read."""
    operators = tuple(SizeOperator(operator.rho, operator.keep) for operator in column.operators)
    code = None if column.code is None else Code(column.code.degree, column.code.powers, column.code.bits)
    try:
        return SelectASize(kernel_values(column.items, kind.value_type), operators, column.nulls, code)
    except KernelError as error:
        reason = str(error)
    except (pa.ArrowException, ValueError, OverflowError):
        reason = "a declared item does not fit the type exactly"
    raise PolicyError(f"column {column.name!r} ({column.type.name}): {reason}.")


def perturbers(columns: Sequence[Column], kinds: Sequence[pa.DataType], mine: Sequence[int]) -> list[Perturber]:
    """One for each column of baskets, with the column of its sizes."""
    places = {column.name: i for i, column in enumerate(columns)}
    found: list[Perturber] = []
    for place in mine:
        bound = columns[place].perturbed
        assert isinstance(bound, BasketColumn)
        found.append(Baskets((place, places[bound.size_column]), bound, kinds[place]))
    return found


def added(columns: Sequence[PerturbedColumn]) -> list[Column]:
    """The sizes, which are exact."""
    named = [column.size_column for column in columns if isinstance(column, BasketColumn)]
    return [Column(name, "INTEGER", "CAST(NULL AS INTEGER)") for name in named]


MECHANISMS: dict[str, Publishing] = {"select_a_size": Publishing(perturbers, added)}
