"""A release as a Parquet file, with the manifest in its metadata."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ppdm_sql.errors import TargetError
from ppdm_sql.policy import Manifest
from ppdm_sql.policy.manifest import METADATA_KEY
from ppdm_sql.publishing.layout import Layout
from ppdm_sql.publishing.pipeline import Batches
from ppdm_sql.publishing.targets import Writer
from ppdm_sql.publishing.writer.process import WriterProcess

COMPRESSION = "zstd"


class ParquetWriter(Writer):
    """Writes a new file."""

    def __init__(
        self, process: WriterProcess, target: Path, aside: Path, layout: Layout, table: str, *, replace: bool
    ) -> None:
        where = f"target {str(target)!r}"
        if target.exists() and not replace:
            raise TargetError(
                f"{where} exists already. Say replace = True (--replace) to put a new release in its place, or name "
                "another target."
            )
        if target.exists() and _other_data(target):
            raise TargetError(
                f"{where} is a Parquet file that is no release, an original perhaps: replace = True (--replace) only "
                "takes the place of a release. Name another target, or move the file away first."
            )
        self._order = layout.order.sent_names
        names = [column.name for column in layout.columns]
        uuids = [i for i, column in enumerate(layout.columns) if column.uuid]
        self._process = process
        process.open("parquet", aside=str(aside), names=names, uuids=uuids, compression=COMPRESSION)

    def types(self, schema: pa.Schema) -> list[str]:
        """What DuckDB reads from an empty file of this schema: ENUM comes back as VARCHAR, HUGEINT as DECIMAL(38,0)."""
        return [str(kind) for kind in self._process.ask("types", schema=schema.serialize().to_pybytes().hex())]

    def write(self, schema: pa.Schema, batches: Batches) -> None:
        """Hand all rows over."""
        self._process.send_rows(schema, batches, order=self._order)

    def finish(self, manifest: Manifest) -> Path:
        """The number of rows is known now, so the manifest goes in at the end."""
        text = replace(manifest, sealed=True).to_json()
        return Path(self._process.ask("finish", metadata={METADATA_KEY: text}))

    def abandon(self) -> None:
        """Stop at once."""
        self._process.kill()

    def close(self) -> None:
        """Let go of the file."""
        self._process.close()


def _other_data(target: Path) -> bool:
    """Whether a Parquet file, as far as it can be read, holds something else than a release."""
    try:
        found = pq.read_metadata(target).metadata or {}
    except (OSError, pa.ArrowException):
        return False
    return METADATA_KEY.encode() not in found
