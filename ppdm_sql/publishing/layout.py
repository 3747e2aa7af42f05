"""What happens to every column of the source: the policy met with the columns and types that are really there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from duckdb.sqltypes import DuckDBPyType

from ppdm_sql.domain.domain import Values
from ppdm_sql.domain.types import parse_type
from ppdm_sql.errors import PolicyError
from ppdm_sql.mechanisms.self_replaced.column import SelfReplacedColumn
from ppdm_sql.policy import ColumnPolicy, Policy, RetainedColumn, bind
from ppdm_sql.policy.model import DROP
from ppdm_sql.publishing.column import Column
from ppdm_sql.publishing.names import nearest
from ppdm_sql.publishing.ordering import RowOrder, order_of
from ppdm_sql.publishing.perturbers import added_columns
from ppdm_sql.publishing.safe_read import guarded
from ppdm_sql.publishing.sources import Source
from ppdm_sql.publishing.transport import released_type, travelling
from ppdm_sql.syntax.quoting import quote_name, quote_text

_WIDE = ("BLOB", "VARCHAR", "JSON")  # one value may be as large as it likes
_NESTED = ("STRUCT(", "MAP(", "UNION(", "TUPLE(")
ROWS_A_BATCH = 524_288
ROWS_A_WIDE_BATCH = 131_072
VALUES_A_BATCH = 16_777_216
LEAST_ROWS_A_BATCH = 32_768


@dataclass(frozen=True)
class Layout:
    """The columns of the release in their order, the expressions that name a row, and the order of rows.

    `rows` is how many there are, where the source was read to find that out; `kinds` says of what kind the values are
    that name a row, for 1 and '1' name two.
    """

    columns: tuple[Column, ...]
    identity: tuple[str, ...]
    order: RowOrder
    rows: int | None = None
    kinds: tuple[str, ...] = ()

    @property
    def query(self) -> str:
        """The select list: first the released columns, then the identity, under names of ours."""
        released = [f"{column.expression} AS c{i}" for i, column in enumerate(self.columns)]
        return ", ".join(released + [f"{expression} AS i{i}" for i, expression in enumerate(self.identity)])

    @property
    def batch_rows(self) -> int:
        """Rows of a batch, fewer where there are many columns, or single values may be large."""
        kinds = ((column.type, column.perturbed is None) for column in self.columns)
        wide = any(kind.endswith("]") or (exact and kind.startswith((*_WIDE, *_NESTED))) for kind, exact in kinds)
        most = ROWS_A_WIDE_BATCH if wide else ROWS_A_BATCH
        return max(min(most, VALUES_A_BATCH // len(self.columns)), min(most, LEAST_ROWS_A_BATCH))


def lay_out(policy: Policy, source: Source, *, parquet: bool) -> Layout:
    """Check the policy against the source's columns and decide how each of them is read and released."""
    folded = {name.casefold(): name for name in source.names}
    for name in (*(column.name for column in policy.columns), *policy.identity):
        if name.casefold() not in folded:
            raise PolicyError(f"column {name!r} of the policy is not in {source.where}. {nearest(name, source.names)}")
    said = {column.name.casefold(): column for column in policy.columns}
    kinds = dict(zip(source.names, source.types, strict=True))
    rows, labels = _occurring(source, [name for name in source.names if name.casefold() not in said])
    columns = tuple(
        _column(name, kind, said.get(name.casefold()), labels.get(name, []), parquet=parquet)
        for name, kind in kinds.items()
        if (declared := said.get(name.casefold())) is None or declared.mechanism != DROP
    )
    if not columns:
        raise PolicyError("the policy drops every column: nothing is left to release.")
    columns += _added(columns, source.names)
    named = [folded[name.casefold()] for name in policy.naming]
    identity = tuple(naming(name, kinds[name]) for name in named)
    return Layout(columns, identity, order_of(policy, columns), rows, tuple(_kind(kinds[name]) for name in named))


def _occurring(source: Source, exact: Sequence[str]) -> tuple[int | None, dict[str, list[str]]]:
    """How many rows there are, and the labels that occur in exact ENUM columns: others must not be released.

    Without such columns nothing is read.
    """
    kinds = dict(zip(source.names, source.types, strict=True))
    names = [name for name in exact if kinds[name].id == "enum"]
    if not names:
        return None, {}
    lists = ", ".join(f"list(DISTINCT {quote_name(name)})" for name in names)
    row = guarded(source.where, lambda: source.relation.aggregate(f"count(*), {lists}").fetchall()[0])
    labels = ([str(label) for label in found or () if label is not None] for found in row[1:])
    return row[0], dict(zip(names, labels, strict=True))


def _added(columns: tuple[Column, ...], names: tuple[str, ...]) -> tuple[Column, ...]:
    added = added_columns([c.perturbed for c in columns if c.perturbed is not None])
    taken = {name.casefold() for name in names}
    for column in added:
        if column.name.casefold() in taken:
            raise PolicyError(f"the release gets a column {column.name!r}, and the source has one: rename that one.")
    return tuple(added)


def _column(
    name: str, kind: DuckDBPyType, declared: ColumnPolicy | None, occurring: Sequence[str], *, parquet: bool
) -> Column:
    type_name = str(kind)
    if declared is None and kind.id == "enum":
        labels = [label for label in _labels(kind) if label in set(occurring)]
        type_name = _enum(labels) if labels else "VARCHAR"
        return Column(name, type_name, f"CAST({quote_name(name)} AS {type_name})")
    if declared is None:
        type_name = released_type(kind)
        expression = travelling(name, kind, parquet=parquet)
        return Column(name, type_name, expression, uuid=parquet and kind.id == "uuid")
    if kind.id == "uhugeint":
        raise PolicyError(
            f"column {name!r} (UHUGEINT): values of this type cannot be perturbed. Cast it in the source to HUGEINT or "
            "a smaller type."
        )
    bound = replace(bind(declared, type_name), name=name)
    if isinstance(bound, SelfReplacedColumn):
        expression = f"CAST({quote_name(name)} AS VARCHAR)" if kind.id == "enum" else quote_name(name)
        return Column(name, bound.type.name, expression, bound)
    if bound.type.family == "enum" and isinstance(bound, RetainedColumn):
        type_name = _restricted_enum(name, kind, bound)
        bound = replace(bound, type=parse_type(type_name))
    if kind.id in ("list", "array"):
        return Column(name, bound.type.name, quote_name(name), bound)
    if bound.type.name != type_name and bound.type.family != "enum":  # noise makes doubles of all numbers
        return Column(name, bound.type.name, f"CAST({quote_name(name)} AS {bound.type.name})", bound)
    return Column(name, type_name, quote_name(name), bound)


def _restricted_enum(name: str, kind: DuckDBPyType, bound: RetainedColumn) -> str:
    """The ENUM of the declared labels only: the others would tell what occurs in the original."""
    labels = _labels(kind)
    assert isinstance(bound.domain, Values)
    for value in bound.domain.values:
        if value not in labels:
            raise PolicyError(f"column {name!r}: its domain lists {value!r}, which is no label of its ENUM.")
    declared = set(bound.domain.values)
    return _enum([label for label in labels if label in declared])


def _labels(kind: DuckDBPyType) -> list[str]:
    labels = dict(kind.children)["values"]
    assert isinstance(labels, list)
    return labels


def _enum(labels: Sequence[str]) -> str:
    return f"ENUM({', '.join(quote_text(label) for label in labels)})"


def _kind(kind: DuckDBPyType) -> str:
    """What the kernels take the values of an identity column for: types of one kind name a row alike."""
    family = parse_type(str(kind)).family
    if family == "decimal":
        return "integer"
    if family in ("enum", "other"):
        return "blob" if kind.id == "blob" else "text"
    return family


def naming(name: str, kind: DuckDBPyType) -> str:
    """An identity column in a form that the kernels read alike from every engine."""
    family = parse_type(str(kind)).family
    if family != "other" or kind.id in ("uuid", "blob", "varchar"):
        return quote_name(name)
    if kind.id in ("uhugeint", "time", "time with time zone", "bit"):
        return f"CAST({quote_name(name)} AS VARCHAR)"
    raise PolicyError(f"identity column {name!r} ({kind}): a value of this type cannot name a row. Use another column.")
