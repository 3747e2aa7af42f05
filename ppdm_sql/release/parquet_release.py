"""Releases in Parquet files: one file, or the parts of one table in several.

Parts are read as one table where their manifests say the same of every column, and where no coin was tossed twice: each
part has a fingerprint of its own, or rows that no other part with its fingerprint has.
"""

from __future__ import annotations

import os
import re
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb

from ppdm_sql.errors import AGAIN, ReleaseError
from ppdm_sql.mechanisms.self_replaced.column import SelfReplacedColumn
from ppdm_sql.policy.manifest import METADATA_KEY, Manifest
from ppdm_sql.release.agreement import SAMPLE, check_columns, check_count, check_sample, disagree
from ppdm_sql.release.seal import check_seal, is_sealed
from ppdm_sql.release.signature import State, state_of
from ppdm_sql.syntax.quoting import quote_name, quote_text

SAMPLED = 8
"""Files of which a sample of rows is looked at."""
REMEMBERED = 64

_read: OrderedDict[tuple[State, ...], Manifest] = OrderedDict()


@dataclass(frozen=True)
class Part:
    """One file of a release."""

    file: str
    manifest: Manifest


def parquet_manifest(con: duckdb.DuckDBPyConnection, path: str | Sequence[str]) -> Manifest | None:
    """The manifest of a Parquet file, or of all files of a pattern or list as one table; None where there is none.

    ReleaseError where they are damaged, or are not parts of one table. What was read once is not read again while the
    files stay as they are.
    """
    paths = quote_text(path) if isinstance(path, str) else f"[{', '.join(map(quote_text, path))}]"
    named = path if isinstance(path, str) else ", ".join(path)
    with con.cursor() as aside:  # a failed look must not end a transaction of the connection
        try:
            counted = f"SELECT file_name, num_rows FROM parquet_file_metadata({paths})"
            files: list[tuple[str, int]] = aside.execute(counted).fetchall()
            state = _state([file for file, _ in files])
            if state is not None and state in _read:
                _read.move_to_end(state)
                return _read[state]
            key = f"key = encode({quote_text(METADATA_KEY)})"
            query = f"SELECT file_name, value FROM parquet_kv_metadata({paths}) WHERE {key}"
            texts: list[tuple[str, bytes]] = aside.execute(query).fetchall()
        except duckdb.Error:
            return None
        if not texts:
            _check_bare([file for file, _ in files])
            return None
        manifest = _whole(aside, named, paths, files, texts)
    if state is not None:
        _read[state] = manifest
        while len(_read) > REMEMBERED:
            _read.popitem(last=False)
    return manifest


def _whole(
    con: duckdb.DuckDBPyConnection,
    named: str,
    paths: str,
    files: Sequence[tuple[str, int]],
    texts: Sequence[tuple[str, bytes]],
) -> Manifest:
    """The manifest of all parts together, each of which is checked."""
    parsed = {text: Manifest.from_json(bytes(text)) for text in {bytes(text) for _, text in texts}}
    found = {file: parsed[bytes(text)] for file, text in texts}
    if len(texts) != len(files) or len({_alike(manifest) for manifest in found.values()}) > 1:
        raise ReleaseError(
            f"the files of {named!r} are not parts of one release: their manifests differ, or some have none. Read "
            "each release by itself, and put them together by UNION ALL."
        )
    parts = [Part(file, found[file]) for file, _ in files]
    for part, (file, rows) in zip(parts, files, strict=True):
        check_count(repr(file), part.manifest, rows)
        if part.manifest.sealed and (local := _local(file)) is not None:
            check_seal(local)
    first = parts[0].manifest
    _check_folders([part.file for part in parts], first)
    _check_rows(con, named, paths, parts)
    if len(parts) > 1:
        _check_drawn(named, first)
        _check_coins(con, named, parts)
    coins = frozenset(part.manifest.fingerprint for part in parts)
    return replace(first, rows=sum(part.manifest.rows for part in parts), fingerprints=coins)


def _alike(manifest: Manifest) -> Manifest:
    """What must be the same of all parts of one table."""
    return replace(manifest, rows=0, fingerprint="", policy="", level=None, order=None)


def _check_bare(files: Sequence[str]) -> None:
    """Refuse a release that has lost its manifest: its perturbed values would be read as true ones."""
    for file in files:
        local = _local(file)
        if local is not None and is_sealed(local):
            raise ReleaseError(f"{file!r} was sealed as a release, and its manifest is missing. {AGAIN}")


def _check_folders(files: Sequence[str], manifest: Manifest) -> None:
    """Refuse folders whose names would be read in place of a column, as DuckDB reads `age=31/part.parquet`."""
    names = {column.name.casefold() for column in manifest.columns}
    for file in files:
        for folder in re.split(r"[/\\]", file)[:-1]:
            name, equals, _ = folder.partition("=")
            if equals and name.casefold() in names:
                raise ReleaseError(
                    f"{file!r} lies in a folder called {folder!r}, which DuckDB reads in place of the release's column "
                    f"{name!r}: rename the folder."
                )


def _check_rows(con: duckdb.DuckDBPyConnection, named: str, paths: str, parts: Sequence[Part]) -> None:
    """Compare the manifest with columns and types of all files, and with a sample of rows of some."""
    where, manifest = repr(named), parts[0].manifest
    try:
        relation = con.sql(f"FROM read_parquet({paths}, hive_partitioning = false)")
        columns = [(name, str(kind)) for name, kind in zip(relation.columns, relation.types, strict=True)]
        query = f"SELECT count(DISTINCT columns) FROM ({_SCHEMAS.format(paths)})"
        [(schemas,)] = con.execute(query).fetchall() if len(parts) > 1 else [(1,)]
    except duckdb.Error as error:
        raise ReleaseError(f"{where} cannot be read ({type(error).__name__}). {AGAIN}") from None
    check_columns(where, manifest, columns)
    if schemas > 1:
        raise ReleaseError(f"the files of {where} are not parts of one release: their columns have other types.")
    step = -(-len(parts) // SAMPLED)
    some = parts[::step]
    rows = " UNION ALL ".join(
        f"(FROM read_parquet({quote_text(part.file)}, hive_partitioning = false) LIMIT {SAMPLE // len(some)})"
        for part in some
    )
    try:
        check_sample(con, where, manifest, rows)
    except duckdb.Error as error:
        disagree(where, f"its rows cannot be read as the manifest tells ({type(error).__name__})")


_SCHEMAS = (
    "SELECT file_name, list((name, type, type_length, num_children, converted_type, scale, precision, logical_type)) "
    "AS columns FROM parquet_schema({}) GROUP BY file_name"
)


def _check_drawn(named: str, manifest: Manifest) -> None:
    """Refuse parts with a column that was replaced by values of its own part, of which the whole table cannot tell."""
    for column in manifest.perturbed:
        if isinstance(column, SelfReplacedColumn) and not column.exact:
            raise ReleaseError(
                f"the files of {named!r} cannot be read as one table: {column.name!r} is perturbed by "
                f"{column.mechanism} within each of them. Ask them one by one."
            )


def _check_coins(con: duckdb.DuckDBPyConnection, named: str, parts: Sequence[Part]) -> None:
    """Refuse parts of which two may have one and the same row, with the same coins."""
    if not parts[0].manifest.perturbed:
        return
    used = Counter(part.manifest.fingerprint for part in parts)
    for fingerprint in [found for found, times in used.items() if times > 1]:
        together = [part for part in parts if part.manifest.fingerprint == fingerprint]
        identity = together[0].manifest.identity
        if not identity:
            raise ReleaseError(
                f"{len(together)} files of {named!r} were made with the same coins, and the columns that name their "
                "rows are not released: nothing tells whether two files hold the same row, whose coins would count "
                "twice. Name each file once; publish parts with keys of their own, or with their identity released."
            )
        keys = ", ".join(quote_name(name) for name in identity)
        files = ", ".join(quote_text(part.file) for part in together)
        query = f"SELECT 1 FROM read_parquet([{files}]) GROUP BY {keys} HAVING count(*) > 1 LIMIT 1"
        if con.execute(query).fetchall():
            raise ReleaseError(
                f"files of {named!r} that were made with the same coins hold the same rows (by {', '.join(identity)}): "
                "a row would count twice, and its coins too. Name each file once, and parts that share no row."
            )


def _state(files: Sequence[str]) -> tuple[State, ...] | None:
    """What tells whether files may have changed; None where a file is none that can be looked at here."""
    result = []
    for file in files:
        local = _local(file)
        if local is None:
            return None
        result.append(state_of(Path(os.path.realpath(local))))
    return tuple(result)


def _local(file: str) -> Path | None:
    path = Path(file)
    try:
        return path if path.is_file() else None
    except (OSError, ValueError):
        return None
