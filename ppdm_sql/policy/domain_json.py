"""Domains as a manifest holds them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from ppdm_sql.policy.domain import Grid, Scalar, Values
from ppdm_sql.policy.types import SqlType


def domain_to_json(domain: Grid | Values) -> dict[str, Any]:
    """A domain as JSON."""
    if isinstance(domain, Grid):
        return {"low": domain.low, "step": domain.step, "size": domain.size, "scale": domain.scale}
    return {"values": [v if isinstance(v, bool | int | str) else str(v) for v in domain.values]}


def domain_from_json(body: Mapping[str, Any], sql_type: SqlType) -> Grid | Values:
    """A domain from JSON."""
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
