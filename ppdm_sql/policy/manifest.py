"""The manifest: the public parameters that travel with a release, as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from ppdm_sql.errors import ReleaseError
from ppdm_sql.policy.binding import BoundColumn
from ppdm_sql.policy.domain import Grid, Scalar, Values
from ppdm_sql.policy.model import NULL_RULES, OUTSIDE_RULES
from ppdm_sql.policy.types import SqlType, parse_type

FORMAT = 1
MANIFEST_TABLE = "ppdm_manifest"
"""In a DuckDB release: a table with the columns table_name and manifest, one row a released table."""
METADATA_KEY = "ppdm_manifest"
"""In a Parquet release: the key in the file's metadata."""


@dataclass(frozen=True)
class ReleasedColumn:
    """A column as released; `perturbed` is None where its values are exact."""

    name: str
    type: SqlType
    perturbed: BoundColumn | None = None


@dataclass(frozen=True)
class Manifest:
    """What an analyst needs to know of one released table."""

    table: str
    rows: int
    columns: tuple[ReleasedColumn, ...]
    level: str | None = None

    @property
    def perturbed(self) -> tuple[BoundColumn, ...]:
        """The perturbed columns."""
        return tuple(c.perturbed for c in self.columns if c.perturbed is not None)

    def to_json(self) -> str:
        """The manifest as text."""
        body: dict[str, Any] = {
            "ppdm_sql": FORMAT,
            "table": self.table,
            "rows": self.rows,
            "columns": [_column_to_json(c) for c in self.columns],
        }
        if self.level is not None:
            body["level"] = self.level
        return json.dumps(body, ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> Manifest:
        """Read a manifest; ReleaseError where it is not one, or comes from a later version."""
        try:
            body = json.loads(text)
            if body["ppdm_sql"] != FORMAT:
                raise ReleaseError(
                    f"the release has manifest format {body['ppdm_sql']}, this version reads {FORMAT}: update ppdm_sql."
                )
            columns = tuple(_column_from_json(c) for c in body["columns"])
            return Manifest(body["table"], body["rows"], columns, body.get("level"))
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            if isinstance(error, ReleaseError):
                raise
            raise ReleaseError(f"the release's manifest cannot be read ({type(error).__name__}).") from None


def _column_to_json(column: ReleasedColumn) -> dict[str, Any]:
    body: dict[str, Any] = {"name": column.name, "type": column.type.name}
    bound = column.perturbed
    if bound is not None:
        body |= {
            "mechanism": "uniform",
            "retain": bound.retain,
            "nulls": bound.nulls,
            "domain": _domain_to_json(bound.domain),
        }
        if bound.outside != "error":
            body["outside"] = bound.outside
    return body


def _column_from_json(body: Mapping[str, Any]) -> ReleasedColumn:
    sql_type = parse_type(body["type"])
    if "mechanism" not in body:
        return ReleasedColumn(body["name"], sql_type)
    if body["mechanism"] != "uniform":
        raise ReleaseError(
            f"column {body['name']!r} was perturbed by {body['mechanism']!r}, which this version does not know: "
            "update ppdm_sql."
        )
    domain = _domain_from_json(body["domain"], sql_type)
    retain, outside = float(body["retain"]), body.get("outside", "error")
    if not 0 < retain <= 1 or domain.size < 1 or body["nulls"] not in NULL_RULES or outside not in OUTSIDE_RULES:
        raise ValueError("a parameter is out of its range")
    bound = BoundColumn(body["name"], sql_type, domain, retain, body["nulls"], outside)
    return ReleasedColumn(body["name"], sql_type, bound)


def _domain_to_json(domain: Grid | Values) -> dict[str, Any]:
    if isinstance(domain, Grid):
        return {"low": domain.low, "step": domain.step, "size": domain.size, "scale": domain.scale}
    return {"values": [v if isinstance(v, bool | int | str) else str(v) for v in domain.values]}


def _domain_from_json(body: Mapping[str, Any], sql_type: SqlType) -> Grid | Values:
    if "values" not in body:
        return Grid(body["low"], body["step"], body["size"], body["scale"])
    return Values(tuple(_scalar_from_json(v, sql_type) for v in body["values"]))


def _scalar_from_json(value: Any, sql_type: SqlType) -> Scalar:
    if sql_type.family in ("decimal", "real"):
        return Decimal(value)
    if sql_type.family == "date":
        return date.fromisoformat(value)
    if sql_type.family == "timestamp":
        return datetime.fromisoformat(value)
    result: Scalar = value
    return result
