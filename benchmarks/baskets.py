"""Baskets: randomizing them, and the supports of many candidate pairs from one scan."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from time import perf_counter

import duckdb
import numpy as np
import pyarrow as pa
from ppdm_udfs import Grid, SelectASize, SizeOperator, code_for, position_blocks, randomize

from benchmarks.results import Result
from benchmarks.workspace import KEY_BYTES, Workspace
from ppdm_sql.engine.duckdb.basket_rows import supports_of
from ppdm_sql.itemsets import best_operator
from ppdm_sql.publishing import publish

BASKETS, ITEMS, SIZE, PAIRS = 1_000_000, 1_000, 10, 10_000
TURNS = 3


def of_both_kinds(space: Workspace) -> Iterator[Result]:
    """A million baskets of ten of a thousand items, or fewer where the main table is small."""
    count = min(BASKETS, max(space.rows // 20, 1_000))
    space.say(f"making {count:,} baskets")
    lists, rows, key = _baskets(count), position_blocks(0, count), secrets.token_bytes(KEY_BYTES)
    for what, rho, bits, aim in (
        ("lists, rho 0.01", 0.01, None, 2.0),
        ("lists, rho 0.1", 0.1, None, None),
        ("seeds, rho 1/2", 0.5, 1, None),
    ):
        kernel = _kernel(rho, bits)
        seconds = _least(lambda k=kernel: randomize(lists, k, key=key, table="t", column="c", rows=rows))
        detail = f"{count:,} baskets of {SIZE} of {ITEMS:,} items"
        yield Result(f"randomize baskets, {what}", seconds, "s", aim=aim, detail=detail)
    yield _supports(space, lists, count)


def _supports(space: Workspace, lists: pa.Array, count: int) -> Result:
    target = space.folder / "baskets.duckdb"
    items = {"mechanism": "select_a_size", "domain": {"min": 0, "max": ITEMS - 1}, "gamma": 19.0, "max_size": SIZE}
    policy = {"table": "baskets", "columns": {"items": {**items, "rho": 0.01}}}
    manifest = publish(pa.table({"items": lists}), policy, to=target, key=secrets.token_bytes(KEY_BYTES))
    pairs = [(i, j) for i in range(142) for j in range(i)][:PAIRS]
    with duckdb.connect(str(target), read_only=True) as con:
        seconds = _least(lambda: supports_of(con, "perturbed.baskets", manifest.perturbed[0], pairs).errors())
    return Result(f"supports of {PAIRS:,} pairs, one scan", seconds, "s", detail=f"{count:,} baskets with errors")


def _baskets(count: int) -> pa.Array:
    """Ten distinct items each, the lower numbers more often."""
    rng = np.random.default_rng(1)
    some = np.stack([rng.permutation(ITEMS)[:SIZE] for _ in range(10_000)]).astype(np.int32)
    chosen = some[rng.integers(0, len(some), count)]
    offsets = np.arange(0, count * SIZE + 1, SIZE, dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(chosen.ravel()))


def _kernel(rho: float, bits: int | None) -> SelectASize:
    chosen = [best_operator(size, 19.0, (rho,)) for size in range(SIZE + 1)]
    operators = tuple(SizeOperator(operator.rho, operator.keep) for operator in chosen)
    code = None if bits is None else code_for(ITEMS, bits, SIZE + 3)
    return SelectASize(Grid(0, 1, ITEMS), operators, code=code)


def _least(work: Callable[[], object]) -> float:
    times = []
    for _ in range(TURNS):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return min(times)
