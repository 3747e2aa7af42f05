"""The temporary directory of a run, with the tables that several measurements share."""

from __future__ import annotations

import secrets
import shutil
import sys
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from benchmarks.people import COLUMNS, Column, policy, write_people
from ppdm_sql.publishing import publish

KEY_BYTES = 32


class Workspace:
    """`rows` is the size of the main table; the others follow it."""

    def __init__(self, folder: Path, rows: int) -> None:
        self.folder = folder
        self.rows = rows

    @cached_property
    def people(self) -> tuple[str, Path]:
        """The main table: its Parquet files and its release, all columns perturbed."""
        return self.release("people", self.rows)

    def release(
        self, name: str, rows: int, columns: Sequence[Column] = COLUMNS, extra: dict[str, str] | None = None
    ) -> tuple[str, Path]:
        """Make up a table and publish it."""
        self.say(f"making and publishing {rows:,} rows")
        source = write_people(self.folder / name, rows, columns, extra)
        target = self.folder / f"{name}.duckdb"
        publish(source, policy(columns), to=target, key=secrets.token_bytes(KEY_BYTES))
        return source, target

    def free_bytes(self) -> int:
        """DenseGroupSetting that is left on the disk."""
        return shutil.disk_usage(self.folder).free

    def say(self, what: str) -> None:
        """A line on what is going on."""
        print(f"  {what}", file=sys.stderr, flush=True)
