"""`ppdm-sql demo`: make up people, publish them, ask the release, and show the truth beside each answer."""

from __future__ import annotations

import argparse
import textwrap
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq

from ppdm_sql.cli.census import POLICY, census
from ppdm_sql.cli.output import table
from ppdm_sql.cli.publish import outcome
from ppdm_sql.cli.questions import EXPLAINED, QUESTIONS, REFUSED, Question
from ppdm_sql.connection.connect import connect
from ppdm_sql.connection.connection import Connection
from ppdm_sql.errors import TargetError, Unsupported
from ppdm_sql.policy import load_policy
from ppdm_sql.publishing import publish

SIDE_BY_SIDE = ("age", "education", "wage", "moved")
WIDTH = 100


@dataclass(frozen=True)
class Files:
    """What the demo writes, all in one folder."""

    folder: Path

    @property
    def source(self) -> Path:
        """The original, which stays with the publisher."""
        return self.folder / "people.parquet"

    @property
    def policy(self) -> Path:
        """What is done to it."""
        return self.folder / "policy.toml"

    @property
    def key(self) -> Path:
        """The publisher's secret."""
        return self.folder / "people.key"

    @property
    def release(self) -> Path:
        """What everybody may have."""
        return self.folder / "release.duckdb"


def run(arguments: argparse.Namespace) -> int:
    """The whole story."""
    files = Files(Path(arguments.to))
    _prepare(files)
    _publish(files, arguments.rows)
    with duckdb.connect() as original, connect(files.release, read_only=True) as con:
        original.read_parquet(str(files.source)).create_view("people")
        _attacker(original, files.release)
        _questions(original, con)
        _refusal(con)
        print("\n5. What a query does, told by ppdm-sql explain.\n")
        print(textwrap.indent(f"{EXPLAINED}\n\n{con.explain(EXPLAINED)}", "  "))
    print(f"\nThe files are in {files.folder}:")
    print(f"  {files.source.name:16} the original: stays with the publisher")
    print(f"  {files.policy.name:16} what is done to it")
    print(f"  {files.key.name:16} the secret key: stays with the publisher")
    print(f"  {files.release.name:16} the release: for everybody")
    print(f"Go on:  ppdm-sql shell {files.release}")
    return 0


def _prepare(files: Files) -> None:
    """Write over what an earlier demo wrote, never over anything else."""
    mine = files.policy.is_file() and files.policy.read_text(encoding="utf-8").startswith(POLICY.splitlines()[0])
    for path in (files.source, files.policy, files.key, files.release):
        if path.exists() and not mine:
            raise TargetError(f"{str(path)!r} is there already, and not from a demo: choose another folder with --to.")
    files.folder.mkdir(parents=True, exist_ok=True)
    files.policy.write_text(POLICY, encoding="utf-8")


def _publish(files: Files, rows: int) -> None:
    print(f"1. {rows:,} made-up people are published.\n")
    pq.write_table(census(rows), files.source)
    began = time.perf_counter()
    manifest = publish(files.source, files.policy, to=files.release, key=files.key, replace=True, progress=False)
    took = time.perf_counter() - began
    for line in outcome(manifest, load_policy(files.policy)).splitlines():
        print(textwrap.fill(line, WIDTH, initial_indent="  ", subsequent_indent="    "))
    print(f"  ({took:.1f} s)")


def _attacker(original: duckdb.DuckDBPyConnection, release: Path) -> None:
    """Some rows before and after; the release is attached as any DuckDB client would."""
    original.execute("ATTACH ? AS published (READ_ONLY)", [str(release)])
    columns = ", ".join(f"o.{name}, p.{name}" for name in SIDE_BY_SIDE)
    both = "people AS o JOIN published.perturbed.people AS p USING (id)"
    rows = original.execute(f"SELECT id, {columns} FROM {both} WHERE id <= 6 ORDER BY id").fetchall()
    (same,) = original.execute(f"SELECT avg((o.age = p.age)::INT) FROM {both}").fetchall()[0]
    original.execute("DETACH published")
    names = ["id", *(word for name in SIDE_BY_SIDE for word in (name, "published"))]
    print("\n2. What an attacker sees: the published values, each of which may be true or drawn.\n")
    print(textwrap.indent(table(names, rows), "  "))
    print(f"  {100 * same:.0f} % of all published ages are true, and nothing tells which.")


def _questions(original: duckdb.DuckDBPyConnection, con: Connection) -> None:
    print("\n3. What an analyst gets: answers for the original, from the release alone.\n")
    con.execute("SET ppdm_errors = 'columns'")
    began = time.perf_counter()
    verdicts = [verdict for question in QUESTIONS for verdict in _ask(question, original, con)]
    took = time.perf_counter() - began
    held = f"{sum(verdicts)} of {len(verdicts)} intervals hold the truth"
    print(f"  {held}; in the long run 95 % of them do. ({took:.1f} s)")
    con.execute("SET ppdm_method = 'auto'; SET ppdm_errors = 'off'")


def _ask(question: Question, original: duckdb.DuckDBPyConnection, con: Connection) -> Iterator[bool]:
    """Print a question with its answers; for each of them whether the interval holds the truth."""
    con.execute(f"SET ppdm_method = '{question.method}'")
    print(f"  {question.words}")
    print(textwrap.indent(textwrap.fill(question.sql, WIDTH - 4, break_on_hyphens=False), "    "))
    truths: dict[Any, int] = {row[:-1]: row[-1] for row in original.execute(question.sql).fetchall()}
    for *group, estimate, low, high in con.execute(question.sql).fetchall():
        truth = truths[tuple(group)]
        inside = low <= truth <= high
        name = "".join(f"{value:8}" for value in group)
        print(
            f"      {name:8}truth {truth:>9,}   estimate {estimate:>9,.0f}   "
            f"95 % interval {low:>9,.0f} to {high:>9,.0f}   {'inside' if inside else 'OUTSIDE'}"
        )
        yield inside
    print()


def _refusal(con: Connection) -> None:
    print("\n4. What cannot be reconstructed is refused, never answered from perturbed values.\n")
    print(f"  {REFUSED}")
    try:
        con.execute(REFUSED)
    except Unsupported as error:
        print(textwrap.indent(textwrap.fill(str(error), WIDTH - 4), "    "))
