"""The manifest: the public parameters that travel with a release, as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ppdm_sql.errors import ReleaseError
from ppdm_sql.policy.binding import PerturbedColumn
from ppdm_sql.policy.mechanisms import MECHANISMS
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
    perturbed: PerturbedColumn | None = None


@dataclass(frozen=True)
class Manifest:
    """What an analyst needs to know of one released table."""

    table: str
    rows: int
    columns: tuple[ReleasedColumn, ...]
    level: str | None = None

    @property
    def perturbed(self) -> tuple[PerturbedColumn, ...]:
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
        body |= {"mechanism": bound.mechanism, **MECHANISMS[bound.mechanism].to_json(bound)}
    return body


def _column_from_json(body: Mapping[str, Any]) -> ReleasedColumn:
    sql_type = parse_type(body["type"])
    if "mechanism" not in body:
        return ReleasedColumn(body["name"], sql_type)
    mechanism = MECHANISMS.get(body["mechanism"])
    if mechanism is None:
        raise ReleaseError(
            f"column {body['name']!r} was perturbed by {body['mechanism']!r}, which this version does not know: "
            "update ppdm_sql."
        )
    return ReleasedColumn(body["name"], sql_type, mechanism.from_json(body, sql_type))
