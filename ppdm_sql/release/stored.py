"""Where a release is in a DuckDB database: its rows are `perturbed.adult`, which we show as `adult`.

A client without our code that asks FROM adult is told that there is `perturbed.adult`, and what is written beside it
says what it holds. The manifest is a macro, which no listing of tables shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import duckdb

from ppdm_sql.errors import ReleaseError
from ppdm_sql.mechanisms.registry import MECHANISMS
from ppdm_sql.policy.manifest import Manifest
from ppdm_sql.release.functions import Function, read_functions
from ppdm_sql.syntax.quoting import quote_name, quote_text

PERTURBED = "perturbed"
"""The schema of the rows that are shown in `main`; for another schema, its name follows after an underscore."""

MANIFEST_MACRO = "ppdm_manifest_"
"""What the name of a manifest's macro begins with; the table's follows."""

OLD_MANIFESTS = "ppdm_manifest"
"""The table of manifests that releases had while their rows were in `main`."""

ASK = (
    "Ask through ppdm_sql, which estimates the original's answers with their errors: "
    'ppdm_sql.connect(FILE).sql("SELECT .."), or ppdm-sql query FILE "SELECT .."'
)


@dataclass(frozen=True)
class Place:
    """Where a release is shown, and where it is stored."""

    database: str
    schema: str
    name: str

    @property
    def stored_schema(self) -> str:
        """The schema that holds its rows."""
        return stored_schema(self.schema)

    @property
    def schema_sql(self) -> str:
        """The schema that holds its rows, with the database, quoted."""
        return f"{quote_name(self.database)}.{quote_name(self.stored_schema)}"

    @property
    def sql(self) -> str:
        """The whole name of what holds its rows, quoted."""
        return f"{self.schema_sql}.{quote_name(self.name)}"

    @property
    def macro(self) -> str:
        """The whole name of the macro that holds its manifest, quoted."""
        return f"{self.schema_sql}.{quote_name(MANIFEST_MACRO + self.name)}"

    def described(self, manifest: Manifest, kind: str = "TABLE") -> Iterator[str]:
        """The statements that write a manifest, and the comments beside its rows."""
        yield f"CREATE OR REPLACE MACRO {self.macro}() AS {quote_text(manifest.to_json())}"
        yield f"COMMENT ON {kind} {self.sql} IS {quote_text(_table_comment(manifest))}"
        for column in manifest.columns:
            comment = "Exact: as in the original."
            if column.perturbed is not None:
                public = MECHANISMS[column.perturbed.mechanism].describe(column.perturbed)
                domain = f"; domain: {public.domain}" if public.domain else ""
                comment = (
                    f"Perturbed ({column.perturbed.mechanism}: {public.kept}{domain}). These are not the original's "
                    f"values. {ASK}."
                )
            yield f"COMMENT ON COLUMN {self.sql}.{quote_name(column.name)} IS {quote_text(comment)}"


def stored_schema(schema: str) -> str:
    """The schema that holds the rows of releases that are shown in another.

    >>> stored_schema("main"), stored_schema("sales")
    ('perturbed', 'perturbed_sales')
    """
    return PERTURBED if schema.casefold() == "main" else f"{PERTURBED}_{schema}"


def shown_schema(schema: str) -> str:
    """The schema in which releases are shown whose rows are in this one."""
    return "main" if schema.casefold() == PERTURBED else schema[len(PERTURBED) + 1 :]


def stored_manifests(
    con: duckdb.DuckDBPyConnection, functions: Iterable[Function] | None = None
) -> list[tuple[Place, str]]:
    """The releases in all databases in sight, with the text of their manifests; nothing of theirs is run.

    `functions` are those of the connection, where they are known already.
    """
    old = con.execute(
        "SELECT database_name FROM duckdb_columns() WHERE table_name = ? AND column_name = 'manifest'", [OLD_MANIFESTS]
    ).fetchall()
    if old:
        raise ReleaseError(
            f"database {old[0][0]!r} holds a release of an older version, whose rows other clients take for true "
            "ones. Publish it again with this version."
        )
    known = read_functions(con) if functions is None else functions
    found = []
    for function in sorted(filter(_is_manifest, known), key=lambda one: one[:3]):
        place = Place(function.database, shown_schema(function.schema), function.name[len(MANIFEST_MACRO) :])
        body = function.definition or ""
        if function.parameters or len(body) < 2 or body[0] != "'" or body[-1] != "'":
            raise ReleaseError(
                f"the manifest of {place.name!r} in database {place.database!r} is damaged: it is no text."
            )
        found.append((place, body[1:-1].replace("''", "'")))
    return found


def _is_manifest(function: Function) -> bool:
    schema = function.schema.lower()
    home = schema == PERTURBED or schema.startswith(f"{PERTURBED}_")
    return (
        home and not function.internal and function.kind == "macro" and function.name.lower().startswith(MANIFEST_MACRO)
    )


def _table_comment(manifest: Manifest) -> str:
    kept = [f"{c.name} ({MECHANISMS[c.mechanism].describe(c).kept})" for c in manifest.perturbed]
    exact = [column.name for column in manifest.columns if column.perturbed is None]
    parts = [
        f"A release of {manifest.table} by ppdm_sql, {manifest.rows:,} rows.",
        f"Perturbed: {', '.join(kept) or 'nothing'}.",
        f"Exact: {', '.join(exact) or 'nothing'}.",
        f"What is computed from perturbed columns here is wrong. {ASK}.",
    ]
    return " ".join(parts)
