"""Whether the rows of releases in DuckDB databases agree with their manifests: looked at once, when first in sight."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import duckdb

from ppdm_sql.policy.manifest import Manifest
from ppdm_sql.release.agreement import check_columns, check_count, check_sample, disagree
from ppdm_sql.release.stored import Place

Checked = set[tuple[int, int, str]]
"""Tables that agree with their manifests: numbers of the database and the table, and a digest of the manifest."""


def check_stored(
    con: duckdb.DuckDBPyConnection, releases: Iterable[tuple[Place, str, Manifest]], known: Checked
) -> None:
    """Refuse rows that their manifests do not fit; `known` has those that were looked at, and gets the others.

    What a view shows is computed when it is asked for: of it only the name is looked at.
    """
    tables = {
        (database.casefold(), schema.casefold(), name.casefold()): (number, own)
        for database, schema, name, number, own in con.execute(
            "SELECT database_name, schema_name, table_name, database_oid, table_oid FROM duckdb_tables() UNION ALL "
            "SELECT database_name, schema_name, view_name, database_oid, NULL FROM duckdb_views() WHERE NOT internal"
        ).fetchall()
    }
    for place, text, manifest in releases:
        where = f"release {place.name!r} in database {place.database!r}"
        key = (place.database.casefold(), place.stored_schema.casefold(), place.name.casefold())
        if key not in tables:
            disagree(where, "its rows are not there")
        database, table = tables[key]
        seen = (database, table, hashlib.sha256(text.encode()).hexdigest())
        if table is None or seen in known:
            continue
        relation = con.sql(f"FROM {place.sql}")
        check_columns(
            where, manifest, [(n, str(kind)) for n, kind in zip(relation.columns, relation.types, strict=True)]
        )
        check_count(where, manifest, con.execute(f"SELECT count(*) FROM {place.sql}").fetchall()[0][0])
        try:
            check_sample(con, where, manifest, f"FROM {place.sql}")
        except duckdb.DataError as error:
            disagree(where, f"its rows cannot be read as the manifest tells ({type(error).__name__})")
        known.add(seen)
