"""What can be published: files, DuckDB tables and queries, Arrow and pandas objects; each becomes a DuckDB relation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
from duckdb.sqltypes import DuckDBPyType

from ppdm_sql.domain.domain import Values
from ppdm_sql.errors import SourceError
from ppdm_sql.policy import Policy
from ppdm_sql.publishing.memory import bounded, limits_restored
from ppdm_sql.publishing.names import nearest, quote_path
from ppdm_sql.publishing.safe_read import guarded
from ppdm_sql.syntax.file_patterns import PATTERN
from ppdm_sql.syntax.quoting import quote_name, quote_text

DUCKDB_ENDINGS = (".duckdb", ".db", ".ddb")
PARQUET_ENDINGS = (".parquet", ".parq", ".pq")
CSV_ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".csv.zst", ".tsv.zst")
_KINDS = (
    "Name a Parquet or CSV file (or a pattern such as 'year=*/part-*.parquet'), 'file.duckdb::table', or pass a DuckDB "
    "relation, (connection, 'SELECT ..'), an Arrow table, reader or dataset, or a DataFrame."
)


@dataclass(frozen=True)
class Source:
    """A table that is to be published; `once` where it is over when it has been read."""

    where: str
    relation: duckdb.DuckDBPyRelation
    names: tuple[str, ...]
    types: tuple[DuckDBPyType, ...]
    rows: int | None = None
    once: bool = False


@contextmanager
def open_source(source: Any, policy: Policy) -> Iterator[Source]:
    """Open anything that can be published. Nothing is read yet, and a source file is never written."""
    if isinstance(source, str | Path):
        with _open_path(str(source), policy) as opened:
            yield opened
        return
    if isinstance(source, duckdb.DuckDBPyRelation):
        yield _source("the source relation", lambda: source)
        return
    if isinstance(source, tuple) and len(source) == 2 and isinstance(source[0], duckdb.DuckDBPyConnection):
        given, query = source
        yield _source("the source query", lambda: given.sql(query))
        return
    with connection() as own:
        yield _open_object(own, source)


def source_files(source: Any) -> list[Path]:
    """The files that a source given by name is read from."""
    if not isinstance(source, str | Path):
        return []
    name = str(source).partition("::")[0]
    return [Path(name)] if not any(mark in name for mark in PATTERN) or Path(name).exists() else _glob(name)


@contextmanager
def connection(path: str = ":memory:") -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to read an original with: nothing of it is spilled, and no file is written."""
    own = guarded(f"source {path!r}", lambda: duckdb.connect(path, read_only=path != ":memory:"))
    try:
        if path == ":memory:":
            own.execute("SET temp_directory = ''")  # nothing of the original may spill to a disk
            yield own
        else:
            with limits_restored(own):  # whoever has the file open in this process shares its settings
                yield own
    finally:
        own.close()


def _source(
    where: str,
    make: Callable[[], duckdb.DuckDBPyRelation],
    rows: int | None = None,
    given: Iterable[Any] = (),
    own: duckdb.DuckDBPyConnection | None = None,
) -> Source:
    """`given` are the names as the object has them: DuckDB would rename AGE beside age to AGE_1, and release it."""
    _check_names(where, [str(name) for name in given])
    relation = guarded(where, make)
    if relation is None:
        raise SourceError(f"{where} gives no rows: it must be a SELECT.")
    names, types = guarded(where, lambda: (tuple(relation.columns), tuple(relation.types)))
    _check_names(where, names)
    if own is not None:
        bounded(own, len(names))
    return Source(where, relation, names, types, rows)


def _check_names(where: str, names: Iterable[str]) -> None:
    seen: dict[str, str] = {}
    for name in names:
        folded = name.casefold()
        if folded in seen:
            raise SourceError(
                f"{where} has the columns {seen[folded]!r} and {name!r}, which SQL cannot tell apart: rename one."
            )
        seen[folded] = name


def _open_object(own: duckdb.DuckDBPyConnection, source: Any) -> Source:
    kind = f"{type(source).__module__.partition('.')[0]}.{type(source).__name__}"
    where = f"the source ({kind})"
    if isinstance(source, pa.Table | pa.RecordBatch):
        table = pa.Table.from_batches([source]) if isinstance(source, pa.RecordBatch) else source
        return _source(where, lambda: own.from_arrow(table), table.num_rows, table.schema.names, own)
    if isinstance(source, pa.RecordBatchReader | pads.Dataset):
        found = _source(where, lambda: own.from_arrow(source), given=source.schema.names, own=own)
        return replace(found, once=isinstance(source, pa.RecordBatchReader))
    if kind == "pandas.DataFrame":
        return _source(where, lambda: own.from_df(source), len(source), source.columns, own)
    if hasattr(source, "__arrow_c_stream__"):
        stream = guarded(where, lambda: pa.RecordBatchReader.from_stream(source))
        return replace(_source(where, lambda: own.from_arrow(stream), given=stream.schema.names, own=own), once=True)
    raise SourceError(f"a source cannot be {type(source).__name__!r}. {_KINDS}")


@contextmanager
def _open_path(text: str, policy: Policy) -> Iterator[Source]:
    file, separator, table = text.partition("::")
    lower = file.lower()
    where = f"source {text!r}"
    if lower.endswith(DUCKDB_ENDINGS):
        _existing(where, file)
        if not table:
            raise SourceError(f"{where} is a database: name its table too, {file + '::table'!r}.")
        with connection(file) as own:
            yield _open_table(own, where, table)
        return
    if separator:
        raise SourceError(f"{where}: a table can be named in a DuckDB file only ({', '.join(DUCKDB_ENDINGS)}).")
    if not lower.endswith(PARQUET_ENDINGS + CSV_ENDINGS):
        if Path(file).is_dir():
            raise SourceError(f"{where} is a directory: name its files, such as {file.rstrip('/') + '/*.parquet'!r}.")
        raise SourceError(f"{where} has an ending that is not known. {_KINDS}")
    files = _existing(where, file)
    with connection() as own:
        if lower.endswith(PARQUET_ENDINGS):
            query = f"FROM read_parquet([{_list(files)}])"
            rows = _parquet_rows(own, where, files)
            given = guarded(where, lambda: pq.read_schema(files[0]).names)
            yield _source(where, lambda: own.sql(query), rows, given, own)
        else:
            yield _open_csv(own, where, files, policy, tabs=".tsv" in lower)


def _existing(where: str, file: str) -> list[Path]:
    if any(mark in file for mark in PATTERN) and not Path(file).exists():
        files = _glob(file)
        if not files:
            raise SourceError(f"{where}: no file matches this pattern (from {str(Path.cwd())!r}).")
        return files
    path = Path(file)
    if path.is_dir():
        raise SourceError(f"{where} is a directory: name its files, such as {str(path / '*.parquet')!r}.")
    if not path.exists():
        raise SourceError(f"{where} does not exist. Check the name, and that it is relative to {str(Path.cwd())!r}.")
    return [path]


def _glob(pattern: str) -> list[Path]:
    path = Path(pattern)
    root = Path(path.anchor) if path.anchor else Path()
    parts = path.relative_to(path.anchor) if path.anchor else path
    return sorted(found for found in root.glob(str(parts)) if found.is_file())


def _list(files: list[Path]) -> str:
    return ", ".join(quote_path(file) for file in files)


def _parquet_rows(own: duckdb.DuckDBPyConnection, where: str, files: list[Path]) -> int:
    """From the files' ends, without reading a row."""
    query = f"SELECT sum(num_rows) FROM parquet_file_metadata([{_list(files)}])"
    return int(guarded(where, lambda: own.sql(query).fetchall())[0][0])


def _open_csv(own: duckdb.DuckDBPyConnection, where: str, files: list[Path], policy: Policy, *, tabs: bool) -> Source:
    """A policy names columns, so a first line with names is taken for granted."""
    tab = ", delim = '\t'" if tabs else ""
    first = f"FROM read_csv({quote_path(files[0])}, header = false, all_varchar = true{tab}) LIMIT 1"
    given = [name for line in guarded(where, lambda: own.sql(first).fetchall()) for name in line if name is not None]
    call = f"FROM read_csv([{_list(files)}], header = true{tab}"
    found = _source(where, lambda: own.sql(f"{call})"), given=given, own=own)
    listed = {
        c.name.casefold()
        for c in policy.perturbed
        if isinstance(c.domain, Values) and isinstance(c.domain.values[0], str)
    }
    # A code such as 01 is text to its policy; the reader would make it the number 1.
    texts = [f"{quote_text(name)}: 'VARCHAR'" for name in found.names if name.casefold() in listed]
    if not texts:
        return found
    return _source(where, lambda: own.sql(f"{call}, types = {{{', '.join(texts)}}})"), own=own)


def _open_table(own: duckdb.DuckDBPyConnection, where: str, table: str) -> Source:
    """`table` or `schema.table`, whatever characters the names have."""
    known = own.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal UNION ALL "
        "SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal"
    ).fetchall()
    full = {name if schema == "main" else f"{schema}.{name}": (schema, name) for schema, name in known}
    full |= {f"main.{name}": (schema, name) for schema, name in known if schema == "main"}
    found = {each.casefold(): parts for each, parts in full.items()}.get(table.casefold())
    if found is None:
        raise SourceError(f"{where}: the database has no such table. {nearest(table, full)}")
    query = f"FROM {quote_name(found[0])}.{quote_name(found[1])}"
    return _source(where, lambda: own.sql(query), own=own)
