"""Measure everything, or what is named, and print it beside its aims and limits.

The exit status is 1 where a limit is not kept at full size; smaller tables have other ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import duckdb

from benchmarks import (
    aggregating,
    baskets,
    counting,
    grouping,
    importing,
    leveling,
    memory,
    noise,
    overhead,
    parting,
    publishing,
    rewriting,
)
from benchmarks.results import Result, table
from benchmarks.workspace import Workspace

FULL = 20_000_000

MEASUREMENTS: dict[str, Callable[[Workspace], Iterator[Result]]] = {
    "count": counting.by_inversion,
    "error": counting.with_error,
    "bayes": counting.by_bayes,
    "overhead": overhead.of_a_query,
    "rewrite": rewriting.of_queries,
    "lists": rewriting.of_lists,
    "sum": aggregating.of_all_kinds,
    "group": grouping.by_exact_columns,
    "cells": aggregating.by_perturbed_column,
    "publish": publishing.over_create_table,
    "writer": publishing.over_one_process,
    "levels": leveling.after_many,
    "noise": noise.of_many_copies,
    "parts": parting.of_many_rows,
    "baskets": baskets.of_both_kinds,
    "import": importing.of_the_package,
    "memory": memory.of_publishing,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    options = _options(arguments)
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="ppdm-bench-", dir=options.folder) as folder:
        space = Workspace(Path(folder), options.rows)
        for name in options.names or MEASUREMENTS:
            print(f"{name}:", file=sys.stderr, flush=True)
            for result in MEASUREMENTS[name](space):
                space.say("  ".join(result.row()))
                results.append(result)
    print(f"{options.rows:,} rows, {os.cpu_count()} cores, DuckDB {duckdb.__version__}, ", end="")
    print(f"Python {platform.python_version()}")
    print(table(results))
    if options.json is not None:
        entries = [result.entry() for result in results]
        options.json.write_text(json.dumps({"rows": options.rows, "results": entries}, indent=2) + "\n")
    kept = all(result.within or not result.binding for result in results)
    return 0 if kept or options.rows < FULL else 1


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Ratios against DuckDB itself.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of: {', '.join(MEASUREMENTS)}")
    parser.add_argument("--rows", type=int, default=FULL, help="size of the main table; the others follow it")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers here, too")
    parser.add_argument("--folder", type=Path, help="where temporary files go, instead of the system's place")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in MEASUREMENTS]
    if unknown:
        parser.error(f"there is no measurement {unknown[0]!r}; there are {', '.join(MEASUREMENTS)}")
    if options.rows < 1_000:
        parser.error("--rows must be 1000 or more")
    return options


if __name__ == "__main__":
    sys.exit(main())
