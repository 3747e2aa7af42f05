"""What is published is an original: a release that is published again would be perturbed twice, in silence.

A release is known by its manifest: in the metadata of Arrow data and of Parquet files, and beside the rows in a
database. Of a query DuckDB tells the tables that it reads, through views and macros too; the files that it reads are
looked for in its text, in texts that it may run, and in the views and macros it names. What cannot be seen: a file
whose name a query computes or takes as a parameter or reads from another machine, and rows that were read out of a
release before, into a table or as Arrow data or a data frame: DuckDB drops what would tell.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as pads
from sqlglot import Token, TokenType

from ppdm_sql.errors import ReleaseError, SourceError
from ppdm_sql.policy.manifest import METADATA_KEY
from ppdm_sql.publishing.safe_read import guarded
from ppdm_sql.publishing.sources import Source, connection
from ppdm_sql.release.seal import RELEASE_KEY, is_sealed
from ppdm_sql.release.stored import MANIFEST_MACRO, OLD_MANIFESTS, PERTURBED, stored_manifests
from ppdm_sql.syntax.file_patterns import PATTERN
from ppdm_sql.syntax.quoting import quote_name, quote_text
from ppdm_sql.syntax.words import tokens_of

_SOURCE = "ppdm_source"
"""What a relation is called in a query on it."""

_PART = re.compile(r'"((?:[^"]|"")*)"|([^."]+)')
"""A part of a table's name in a plan."""
_QUOTED = frozenset({TokenType.STRING, TokenType.IDENTIFIER, TokenType.HEREDOC_STRING, TokenType.BYTE_STRING})
_FROM = re.compile(r"\b(from|table)\b", re.IGNORECASE)
_BACKTICKS = re.compile(r"`([^`]+)`")
"""Names as MySQL quotes them, which DuckDB takes for names too."""
_READERS = frozenset({"read_parquet", "parquet_scan"})
_MOST_FILES = 10_000
_WITHOUT_DATA = frozenset({"RANGE", "GENERATE_SERIES", "UNNEST"})
"""Functions of a plan that read nothing."""

_DEFINITIONS = (
    "SELECT lower(database_name), lower(schema_name), lower(view_name), sql, TRUE FROM duckdb_views() "
    "WHERE NOT internal UNION ALL "
    "SELECT lower(database_name), lower(schema_name), lower(function_name), macro_definition, FALSE "
    "FROM duckdb_functions() "
    "WHERE NOT internal AND macro_definition IS NOT NULL"
)
_OLD = (
    "SELECT DISTINCT database_name, schema_name FROM duckdb_columns() "
    f"WHERE column_name IN ('manifest', 'table_name') AND table_name = {quote_text(OLD_MANIFESTS)}"
)
"""Where releases of an older version have their manifests, beside their rows."""


def check_original(source: Any, opened: Source) -> None:
    """Refuse what is read from a release."""
    if guarded(opened.where, lambda: _is_arrow_release(source) or _reads_release(opened.relation)):
        raise SourceError(
            f"{opened.where} is a release: its values would be perturbed a second time, and answers would be wrong. "
            "Publish from the original."
        )


def _is_arrow_release(source: Any) -> bool:
    if not isinstance(source, pa.Table | pa.RecordBatch | pa.RecordBatchReader | pads.Dataset):
        return False
    fragments = list(source.get_fragments()) if isinstance(source, pads.Dataset) else []
    files = [fragment.metadata for fragment in fragments if isinstance(fragment, pads.ParquetFileFragment)]
    found = [source.schema.metadata, *(f.physical_schema.metadata for f in fragments), *(f.metadata for f in files)]
    marks = {METADATA_KEY.encode(), RELEASE_KEY.encode()}
    return any(not marks.isdisjoint(metadata or {}) for metadata in found)


def _reads_release(relation: duckdb.DuckDBPyRelation) -> bool:
    def rows(query: str) -> list[tuple[Any, ...]]:
        found = relation.query(_SOURCE, query)
        return [] if found is None else found.fetchall()

    definitions = rows(_DEFINITIONS)
    stored = {
        (database, schema, name[len(MANIFEST_MACRO) :])
        for database, schema, name, _, is_view in definitions
        if not is_view and name.startswith(MANIFEST_MACRO) and schema.startswith(PERTURBED)
    }
    for database, schema in rows(_OLD):
        place = f"{quote_name(database)}.{quote_name(schema)}.{quote_name(OLD_MANIFESTS)}"
        names = rows(f"SELECT lower(table_name) FROM {place}")
        stored |= {(database.lower(), schema.lower(), name) for (name,) in names}
    steps = list(_steps(_plan(relation)))
    if not stored.isdisjoint(_tables(steps)):
        return True
    words, files = _text(relation.sql_query(), [(name, text or "") for _, _, name, text, _ in definitions])
    views = {(*place, name) for *place, name, _, is_view in definitions if is_view} & stored
    if {(schema, ".", name) for _, schema, name in views} & set(zip(words, words[1:], words[2:], strict=False)):
        return True
    reads_databases = any(step["extra_info"].get("Function") == "READ_DUCKDB" for step in steps)
    if reads_databases and any(_holds_releases(file) for name in files for file in _files(name)):
        return True
    return any(_is_parquet_release(name) for name in files)


def reads_elsewhere(relation: duckdb.DuckDBPyRelation, database: str) -> bool:
    """Whether a query reads anything but stored tables of one database, and what its text says itself."""
    steps = list(_steps(_plan(relation)))
    inside = all(name[:1] == (database.lower(),) for name in _tables(steps))
    functions = {step["extra_info"]["Function"] for step in steps if "Function" in step["extra_info"]}
    return not inside or not functions <= _WITHOUT_DATA


def _plan(relation: duckdb.DuckDBPyRelation) -> list[dict[str, Any]]:
    found = relation.query(_SOURCE, f"EXPLAIN (FORMAT JSON) FROM {_SOURCE}")
    plan: list[dict[str, Any]] = [] if found is None else json.loads(found.fetchall()[0][1])
    return plan


def _steps(plan: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for step in plan:
        yield step
        yield from _steps(step["children"])


def _tables(steps: Iterable[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    """The stored tables that a plan reads, with database and schema, in lower case; it quotes names that need it."""
    for step in steps:
        if "Table" in step["extra_info"]:
            parts = _PART.findall(step["extra_info"]["Table"])
            yield tuple((quoted.replace('""', '"') or plain).lower() for quoted, plain in parts)


def _text(sql: str, definitions: list[tuple[str, str]]) -> tuple[list[str], set[str]]:
    """The words of a query and of all views, macros and texts in it that it comes to, and those that may be files."""
    words: list[str] = []
    names: set[str] = set()
    folders: set[str] = set()
    texts = [sql]
    while texts:
        text = texts.pop()
        tokens = tokens_of(text) or []
        found = {token.text.lower() for token in tokens}
        words += ["", *(token.text.lower() for token in tokens)]
        quoted = {token.text for token in tokens if token.token_type in _QUOTED} | set(_BACKTICKS.findall(text))
        folders |= set(_arguments(tokens))
        texts += [name for name in quoted - names if _FROM.search(name)]  # what query('..') runs
        names |= quoted
        texts += [body for name, body in definitions if name in found]
        definitions = [(name, body) for name, body in definitions if name not in found]
    inside = (str(file) for name in folders for file in _inside(name))
    return words, names.union(inside)


def _arguments(tokens: Iterable[Token]) -> Iterator[str]:
    """The texts among the arguments of functions that read Parquet files, by which a folder may be named."""
    open_calls, last = 0, ""
    for token in tokens:
        if token.token_type == TokenType.L_PAREN and (open_calls or last in _READERS):
            open_calls += 1
        elif token.token_type == TokenType.R_PAREN and open_calls:
            open_calls -= 1
        elif open_calls and token.token_type in _QUOTED:
            yield token.text
        last = token.text.lower()


def _is_parquet_release(name: str) -> bool:
    """Whether one of the files of a name or pattern is a release, also one that has lost its manifest."""
    files = (file for file in _files(name) if _begins_with(file, b"PAR1", b"PARE"))
    return any(is_sealed(file) or _has_manifest(file) for file in files)


def _holds_releases(file: Path) -> bool:
    """Whether a file is a DuckDB database with releases in it."""
    if not _begins_with(file, b"DUCK", after=8):
        return False
    try:
        with duckdb.connect(str(file), read_only=True) as own:
            return bool(stored_manifests(own))
    except ReleaseError:
        return True  # one that cannot be read here
    except duckdb.Error:
        return False


def _files(name: str) -> Iterator[Path]:
    """The files on this machine that DuckDB would read by a name."""
    try:
        path = _local(name)
        yield from ([path] if path.is_file() else _glob(path))
    except (OSError, ValueError, RuntimeError):
        return  # no file: whoever reads it says what is wrong


def _local(name: str) -> Path:
    path = name.removeprefix("file://localhost").removeprefix("file:")
    return Path(f"/{path.lstrip('/')}" if path.startswith("//") else path).expanduser()


def _inside(name: str) -> Iterator[Path]:
    """The Parquet files in a folder and below it, as far as a reasonable number of files goes."""
    try:
        found = ((Path(place), file) for place, _, files in os.walk(_local(name)) for file in files)
        yield from (place / file for place, file in islice(found, _MOST_FILES) if file.lower().endswith(".parquet"))
    except (OSError, ValueError, RuntimeError):
        return


def _glob(path: Path) -> list[Path]:
    pattern = str(path)
    if "://" in pattern or not any(mark in pattern for mark in PATTERN):
        return []
    with connection() as own:
        try:
            found = (Path(file) for (file,) in own.execute("SELECT file FROM glob(?)", [pattern]).fetchall())
            return [file for file in found if file.is_file()]
        except duckdb.Error:
            return []


def _begins_with(file: Path, *marks: bytes, after: int = 0) -> bool:
    try:
        with file.open("rb") as content:
            content.seek(after)
            return content.read(4) in marks
    except OSError:
        return False  # whoever reads it says what is wrong


def _has_manifest(file: Path) -> bool:
    with connection() as own:
        try:
            key = f"SELECT count(*) FROM parquet_kv_metadata(?) WHERE key = encode({quote_text(METADATA_KEY)})"
            return bool(own.execute(key, [str(file)]).fetchall()[0][0])
        except duckdb.Error:
            return False
