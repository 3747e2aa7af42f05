"""Perturb the rows of a query on a connection of the caller's, with the checks of every publication."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import pyarrow as pa

from ppdm_sql.domain.types import parse_type
from ppdm_sql.engine.duckdb.embedded import first_line
from ppdm_sql.errors import QueryError
from ppdm_sql.policy import Manifest, Policy, ReleasedColumn
from ppdm_sql.publishing.layout import Layout, lay_out
from ppdm_sql.publishing.manifests import manifest_of
from ppdm_sql.publishing.perturber import released_schema
from ppdm_sql.publishing.perturbers import perturbers_of
from ppdm_sql.publishing.perturbing import Perturbation
from ppdm_sql.publishing.pipeline import Batches, run
from ppdm_sql.publishing.safe_read import guarded
from ppdm_sql.publishing.source_passes import Readings
from ppdm_sql.publishing.sources import open_source

Parameters: TypeAlias = Sequence[Any] | Mapping[str, Any] | None
Write: TypeAlias = Callable[[pa.Schema, Batches], None]


@dataclass(frozen=True)
class Perturbed:
    """What became of a query: its columns, the types of its rows' identity, and the manifest."""

    layout: Layout
    identity: tuple[str, ...]
    manifest: Manifest


def relation_of(con: duckdb.DuckDBPyConnection, query: str, parameters: Parameters) -> duckdb.DuckDBPyRelation:
    """The query, bound and not yet run; what DuckDB finds wrong with its text is told."""
    try:
        statements = con.extract_statements(query)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise QueryError("what stands between AS and PERTURB must be one SELECT.")
        con.execute("SELECT 1").fetchall()  # gives up an earlier result that was never fetched
        return con.sql(query) if parameters is None else con.sql(query, params=parameters)
    except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException) as error:
        raise QueryError(f"the SELECT before PERTURB: {first_line(error)}") from None
    except duckdb.Error as error:
        reason = type(error).__name__
    raise QueryError(f"the SELECT before PERTURB cannot be run ({reason}).")


def perturb_query(relation: duckdb.DuckDBPyRelation, policy: Policy, key: bytes, write: Write) -> Perturbed:
    """Hand the perturbed rows to `write`, then check what only all rows together tell."""
    with open_source(relation, policy) as source:
        layout = lay_out(policy, source, parquet=False)
        query = guarded(source.where, lambda: source.relation.project(layout.query))
        kinds = tuple(str(kind) for kind in query.types[len(layout.columns) :])
        with Readings(source, query, layout) as readings:
            perturbers = perturbers_of(layout.columns, readings.schema.types)
            released = released_schema(readings.schema, perturbers)
            readings.check(perturbers)
            folder = Path(tempfile.gettempdir())
            with Perturbation(source.where, layout, perturbers, key, policy.table, folder) as work:
                readings.look(work, lambda rows: None)
                run(
                    readings.batches(),
                    lambda batch: work.perturb(batch, lambda rows: None),
                    lambda batches: write(layout.order.sent(released), batches),
                )
                work.check()
                layout = work.layout()
    columns = tuple(ReleasedColumn(c.name, parse_type(c.type), c.perturbed) for c in layout.columns)
    order = layout.order.names(layout.columns)
    return Perturbed(layout, kinds, manifest_of(policy, key, work.rows, columns, order))
