"""Publish: from a source and a policy to a release that is either whole or not there."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace as changed
from pathlib import Path
from typing import Any

from tqdm import tqdm

from ppdm_sql.domain.types import parse_type
from ppdm_sql.errors import KeyFileError
from ppdm_sql.mechanisms.retained.column import RetainedColumn
from ppdm_sql.mechanisms.self_replaced.column import SelfReplacedColumn
from ppdm_sql.policy import Manifest, Policy, ReleasedColumn, load_policy
from ppdm_sql.publishing.adopting import Declared, adopted_pairs, adopting
from ppdm_sql.publishing.keyfile import KEY_BYTES, key_in, read_key
from ppdm_sql.publishing.layout import Layout, lay_out
from ppdm_sql.publishing.ledger import check_coupled, entry_of, ledger_of, read_ledger, recording
from ppdm_sql.publishing.manifests import manifest_of
from ppdm_sql.publishing.originals import check_original
from ppdm_sql.publishing.perturber import Perturber, released_schema
from ppdm_sql.publishing.perturbers import perturbers_of
from ppdm_sql.publishing.perturbing import Perturbation
from ppdm_sql.publishing.pipeline import run
from ppdm_sql.publishing.safe_read import guarded
from ppdm_sql.publishing.signing import TargetSignature
from ppdm_sql.publishing.signing_key import SigningKey, read_signing_key
from ppdm_sql.publishing.source_passes import Readings, passes_of
from ppdm_sql.publishing.sources import open_source, source_files
from ppdm_sql.publishing.targets import check_target, is_duckdb, on_disk, open_writer, put_in_place, writer_process
from ppdm_sql.release.signature import signature_path


def publish(
    source: Any,
    policy: Policy | dict[str, Any] | str | Path,
    *,
    to: str | Path,
    key: str | Path | bytes,
    level: str | None = None,
    replace: bool = False,
    adopt: Mapping[Any, Declared] | Sequence[tuple[Any, Declared]] = (),
    independent: bool = False,
    ledger: str | Path | None = None,
    sign: SigningKey | None = None,
    progress: bool | None = None,
) -> Manifest:
    """Perturb a table as its policy says and write the release.

    Parameters
    ----------
    source
        A Parquet or CSV file (or a pattern), ``"file.duckdb::table"``, a DuckDB relation,
        ``(connection, "SELECT ..")``, an Arrow table, reader or dataset, a DataFrame.
    policy
        A policy, its TOML file or text, or a mapping of the same shape.
    to
        ``*.duckdb`` (further tables may join an existing release) or ``*.parquet``.
    key
        The key file, made where there is none yet, which stays also where publishing fails; or the 32 bytes themselves.
    level
        One of the policy's levels, whose retention holds for every perturbed column.
    replace
        Put the release in the place of one that is already there.
    adopt
        Copies that were released before without this key, each with its retention, or with the retention or noise
        of its columns, ``{"old.parquet": {"age": 0.4, "wage": 0.25}}``; as a mapping or as pairs. They become levels,
        with which this release and all later ones are coupled: name them at every release from now on. Copies that
        are not what is said of them are refused.
    independent
        Publish although an earlier release of this key cannot be coupled with this one; `ledger.py` has the rules.
    ledger
        Where a key that is given as bytes keeps its ledger, made where there is none yet: what it has released, which
        levels, adopted copies and independent releases are checked against. That of a key file lies beside it.
    sign
        The private signing key, a PEM file as ``ppdm-sql keygen --signing`` makes it, its bytes, or the key itself:
        beside the release comes its signature, ``public.duckdb.sig``, which ``connect(.., verify=)`` asks for.
    progress
        Show a bar; None shows one on a terminal only.

    Returns
    -------
    Manifest
        What an analyst needs to know of the release, which holds it too.

    Raises
    ------
    PpdmError
        Names the rule that was broken and what to do. Nothing is written then, and the target is as it was.
    """
    declared = load_policy(policy).at_level(level)
    copies = adopted_pairs(adopt)
    adopted_files = [file for copy, _ in copies for file in source_files(copy)]
    target = check_target(to, table=declared.table, sources=source_files(source), adopted=adopted_files)
    _check_key_path(key, target, source_files(source))
    signature = TargetSignature(target, None if sign is None else read_signing_key(sign))
    others = [target, signature_path(target), *source_files(source)]
    recorded = ledger_of(key, ledger, _needs(level, copies, independent=independent), others)
    with writer_process(target) as process, open_source(source, declared) as opened:
        check_original(source, opened)
        layout = lay_out(declared, opened, parquet=not is_duckdb(target))
        query = guarded(opened.where, lambda: opened.relation.project(layout.query))
        opening = open_writer(process, target, layout, declared.table, signature, replace=replace)
        with opening as writer, Readings(opened, query, layout) as readings:
            perturbers = perturbers_of(layout.columns, readings.schema.types)
            released = released_schema(readings.schema, perturbers)
            types = writer.types(released)
            sent = layout.order.sent(released)
            readings.check(perturbers)
            with _key(key) as secret, _bar(progress, declared.table, opened.rows, perturbers) as bar:
                changing, adopted = adopting(perturbers, copies, layout, declared, secret)
                work = Perturbation(opened.where, layout, changing, secret, declared.table, target.parent)
                if recorded is not None:  # again at the end, for others may publish meanwhile
                    named = (declared.identity, secret, _origin(source), adopted, work.coins(), layout.kinds)
                    foreseen = entry_of(_foreseen(declared, layout, types, level), target, *named)
                    earlier = read_ledger(recorded, beside=foreseen)
                    if not independent:
                        check_coupled(foreseen, earlier)
                with work:
                    readings.look(work, bar.update)
                    run(
                        readings.batches(),
                        lambda batch: work.perturb(batch, bar.update),
                        lambda batches: writer.write(sent, batches),
                        writer.abandon,
                    )
                    work.check()
                columns = _released_columns(work.layout(), types)
                order = layout.order.names(layout.columns)
                manifest = manifest_of(declared, secret, work.rows, columns, order, level)
                finished = on_disk(writer.finish(manifest), target)
                signature.prepare(finished)
                named = (declared.identity, secret, _origin(source), adopted, work.coins(), layout.kinds)
                entry = entry_of(manifest, target, *named)
                with recording(recorded, entry, finished, independent=independent):
                    put_in_place(finished, target, signature)
    return manifest


def _needs(level: str | None, copies: Sequence[tuple[Any, Declared]], *, independent: bool) -> str | None:
    """What cannot be done without knowing what the key has released."""
    if level is not None:
        return f"level {level!r}"
    return "adopted copies" if copies else "an independent release" if independent else None


def _origin(source: Any) -> str | None:
    """What the source is called wherever one stands, None where it is an object in memory."""
    files = source_files(source)
    return f"{files[0].resolve()}::{str(source).partition('::')[2].casefold()}" if files else None


def _foreseen(declared: Policy, layout: Layout, types: list[str], level: str | None) -> Manifest:
    """The part of the manifest that is known before a row is read."""
    columns = _released_columns(layout, types)
    return Manifest(
        declared.table, 0, tuple(c for c in columns if type(c.perturbed) in (RetainedColumn, SelfReplacedColumn)), level
    )


def _released_columns(layout: Layout, types: list[str]) -> tuple[ReleasedColumn, ...]:
    """The columns under the types that DuckDB sees in the release."""
    result = []
    for column, type_name in zip(layout.columns, types, strict=True):
        kind = parse_type(type_name)
        bound = None if column.perturbed is None else changed(column.perturbed, type=kind)
        result.append(ReleasedColumn(column.name, kind, bound))
    return tuple(result)


def _check_key_path(key: str | Path | bytes, target: Path, sources: list[Path]) -> None:
    if isinstance(key, bytes):
        if len(key) != KEY_BYTES:
            raise KeyFileError(f"a key has {KEY_BYTES} bytes, this one has {len(key)}.")
        return
    try:
        path = Path(key).resolve()
    except (OSError, ValueError, RuntimeError):
        raise KeyFileError(f"key {str(key)!r} is not a path that can be used.") from None
    if path in (target.resolve(), signature_path(target).resolve()) or target.resolve() in path.parents:
        raise KeyFileError(f"key {str(key)!r} is where the release goes: whoever gets the release would have the key.")
    if path in [source.resolve() for source in sources]:
        raise KeyFileError(f"key {str(key)!r} is the source itself: name another file.")
    if not path.parent.is_dir():
        raise KeyFileError(f"key {str(key)!r}: the directory does not exist. Make it first.")
    if path.exists():
        read_key(path)  # so that a bad key is known before a row is read


@contextmanager
def _key(key: str | Path | bytes) -> Iterator[bytes]:
    """The secret, made where there is none."""
    if isinstance(key, bytes):
        yield key
        return
    with key_in(Path(key)) as secret:
        yield secret


def _bar(progress: bool | None, table: str, rows: int | None, perturbers: Sequence[Perturber]) -> Any:
    shown = sys.stderr.isatty() if progress is None else progress
    read = 1 + passes_of(perturbers)
    return tqdm(
        total=None if rows is None else rows * read, desc=table, unit=" rows", unit_scale=True, disable=not shown
    )
