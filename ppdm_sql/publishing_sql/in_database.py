"""A perturbed table inside the database of the connection that asks for it, in one transaction.

One connection cannot read a result and write another at once, so the perturbed rows, and no others, wait in between: in
memory while they are few, else in a file that has no name. The process that reads originals writes here, so parts of
them may stay in the file: it is refused where that does not hold them already.
"""

from __future__ import annotations

import tempfile
from functools import partial
from typing import IO

import duckdb
import pyarrow as pa

from ppdm_sql.publishing.pipeline import Batches
from ppdm_sql.publishing.writer.hidden import plain_schema, without_hidden
from ppdm_sql.publishing.writer.ordering import STREAM, released_rows
from ppdm_sql.publishing.writing import writing
from ppdm_sql.publishing_sql.database import (
    changing,
    check_free,
    check_holds_original,
    drop_answers,
    make_schema,
    transaction,
    write_manifest,
)
from ppdm_sql.publishing_sql.query_source import Parameters, Perturbed, perturb_query, relation_of
from ppdm_sql.publishing_sql.statements import CreatePerturbed
from ppdm_sql.release.stored import Place

_IN_MEMORY = 1 << 26


def create_table(
    con: duckdb.DuckDBPyConnection, place: Place, statement: CreatePerturbed, key: bytes, parameters: Parameters
) -> None:
    """Publish the statement's query as a table; nothing changes where anything fails."""
    with transaction(con, place), tempfile.SpooledTemporaryFile(_IN_MEMORY) as waiting:
        check_free(con, place, "table", replace=statement.replace)
        relation = relation_of(con, statement.query, parameters)
        check_holds_original(con, place, relation)
        perturbed = perturb_query(
            relation, statement.policy, key, lambda schema, batches: _put(waiting, schema, batches)
        )
        waiting.seek(0)
        changing(place, lambda: _create(con, place, perturbed, waiting))


def _put(waiting: IO[bytes], schema: pa.Schema, batches: Batches) -> None:
    schema, options = plain_schema(schema), pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_stream(waiting, schema, options=options) as sink:
        for batch in batches:
            whole = pa.RecordBatch.from_arrays([without_hidden(array) for array in batch.columns], schema=schema)
            writing("the space for temporary files", partial(sink.write_batch, whole))


def _create(con: duckdb.DuckDBPyConnection, place: Place, perturbed: Perturbed, waiting: IO[bytes]) -> None:
    columns = [(column.name, column.type) for column in perturbed.layout.columns]
    query = released_rows(columns, perturbed.layout.order.sent_names)
    make_schema(con, place)
    drop_answers(con, place)
    con.register(STREAM, pa.ipc.open_stream(waiting))
    try:
        con.execute(f"CREATE OR REPLACE TABLE {place.sql} AS {query}")
    finally:
        con.unregister(STREAM)
    write_manifest(con, place, perturbed.manifest)
