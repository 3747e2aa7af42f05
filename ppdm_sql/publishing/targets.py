"""Where a release can be written, and that nothing is there unless it is whole.

A release is written to a file beside its target and renamed into place at the end. Whatever happens before, the target
stays as it was.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa

from ppdm_sql.errors import TargetError
from ppdm_sql.policy import Manifest
from ppdm_sql.publishing.layout import Layout
from ppdm_sql.publishing.locking import (
    aside_path,
    exclusive,
    lock_path,
    remove_aside,
    remove_leftovers,
    sync_file,
    sync_folder,
)
from ppdm_sql.publishing.pipeline import Batches
from ppdm_sql.publishing.signing import TargetSignature
from ppdm_sql.publishing.sources import DUCKDB_ENDINGS
from ppdm_sql.publishing.writer.process import WriterProcess
from ppdm_sql.publishing.writing import writing

PARQUET_ENDING = ".parquet"


class Writer(ABC):
    """Writes one release to a file that is not yet in place.

    `keeps` says whether tables or views that are at the target stay beside the new one.
    """

    keeps: bool = False

    @abstractmethod
    def types(self, schema: pa.Schema) -> list[str]:
        """The SQL types that DuckDB will see in the release, in the layout's order; refuses what cannot be stored."""

    @abstractmethod
    def write(self, schema: pa.Schema, batches: Batches) -> None:
        """Write all rows."""

    @abstractmethod
    def finish(self, manifest: Manifest) -> Path:
        """Add the manifest, close the file, and return the path that is to be renamed."""

    @abstractmethod
    def abandon(self) -> None:
        """Stop writing at once, from whatever thread: the release is not wanted any more."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the file."""


def check_target(to: str | Path, *, table: str, sources: list[Path], adopted: Sequence[Path] = ()) -> Path:
    """The target's path if a release may be written there, as far as its name tells; of a link, what it leads to."""
    where = f"target {str(to)!r}"
    target = _followed(Path(to), where)
    if not is_duckdb(target) and target.suffix.lower() != PARQUET_ENDING:
        known = ", ".join((*DUCKDB_ENDINGS, PARQUET_ENDING))
        raise TargetError(f"{where}: a release is a DuckDB or a Parquet file, so its name ends with one of {known}.")
    if not target.parent.is_dir():
        raise TargetError(f"{where}: the directory {str(target.parent)!r} does not exist. Make it first.")
    if target.is_dir():
        raise TargetError(f"{where} is a directory: name a file.")
    if any(_same(target, source) for source in sources):
        raise TargetError(f"{where} is the source itself: a release must not travel with the original. Name another.")
    if any(_same(target, copy) for copy in adopted):
        raise TargetError(f"{where} is an adopted copy, which every later release must name too. Name another.")
    return target


def _followed(path: Path, where: str) -> Path:
    """What a link leads to, or two publications could hold different locks on one file."""
    try:
        if "\0" not in str(path):
            return path.resolve() if path.is_symlink() else path
    except (OSError, RuntimeError):  # a link that leads to itself
        pass
    raise TargetError(f"{where} is not a path that can be used.")


def is_duckdb(target: Path) -> bool:
    """Whether the release is a DuckDB file."""
    return target.suffix.lower() in DUCKDB_ENDINGS


def writer_process(target: Path) -> WriterProcess:
    """The process that will write there: it starts while the source is looked at."""
    return WriterProcess(f"target {str(target)!r}")


@contextmanager
def open_writer(
    process: WriterProcess, target: Path, layout: Layout, table: str, signature: TargetSignature, *, replace: bool
) -> Iterator[Writer]:
    """A writer whose files are gone afterwards, unless they were renamed."""
    from ppdm_sql.publishing.duckdb_target import DuckdbWriter  # noqa: PLC0415 - they build on this module
    from ppdm_sql.publishing.parquet_target import ParquetWriter  # noqa: PLC0415

    kind = DuckdbWriter if is_duckdb(target) else ParquetWriter
    # From the first look at the target to the renaming, or what somebody else adds meanwhile would be lost.
    with exclusive(lock_path(target), f"target {str(target)!r}", TargetError):
        remove_leftovers(target)
        signature.look()
        signature.compare()
        aside = aside_path(target)
        writer: Writer | None = None
        try:
            writer = kind(process, target, aside, layout, table, replace=replace)
            signature.check_kept(writer.keeps)
            yield writer
        finally:
            if writer is not None:
                writer.close()
            remove_aside(aside)


def on_disk(finished: Path, target: Path) -> Path:
    """A finished release, of which nothing waits in memory any more: its renaming must not overtake it."""
    writing(f"target {str(target)!r}", lambda: sync_file(finished))
    return finished


def put_in_place(finished: Path, target: Path, signature: TargetSignature) -> None:
    """Rename a whole release to its name, and its signature with it."""
    with signature.placed(finished):
        _rename(finished, target)


def _rename(finished: Path, target: Path) -> None:
    try:
        os.replace(finished, target)  # noqa: PTH105 - Path.replace says the same, less plainly
    except OSError as error:
        raise TargetError(f"target {str(target)!r} cannot be put in place: {error.strerror}.") from None
    try:
        sync_folder(target.parent)
    except OSError as error:
        raise TargetError(
            f"target {str(target)!r} is in place, but may not outlive a crash of the machine: {error.strerror}."
        ) from None


def _same(one: Path, other: Path) -> bool:
    with suppress(OSError):
        return one.samefile(other)
    return False
