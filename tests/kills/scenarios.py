"""Publications to be killed, and what must hold of each whatever came of it."""

from __future__ import annotations

import stat
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

import ppdm_sql
from ppdm_sql.publishing.keyfile import create_key, load_key, read_key
from ppdm_sql.publishing.ledger import Entry, read_ledger
from ppdm_sql.publishing.locking import aside_path, lock_path
from ppdm_sql.publishing.release import publish
from ppdm_sql.publishing.signing_key import create_signing_key

ROWS = 2_000
CANARY = "canary"
SOURCE = "source.duckdb"
SIGNING, PUBLIC = "s.sign", "s.pub"
COLUMN = {"mechanism": "uniform", "domain": {"min": 0, "max": 99}, "retain": 0.5}


def policy(table: str) -> dict[str, Any]:
    """One column at three levels, two exact, one that is dropped."""
    columns = {"x": COLUMN, "secret": {"mechanism": "drop"}}
    return {"table": table, "identity": ["id"], "columns": columns, "levels": {"some": 0.3, "few": 0.1}}


@cache
def original() -> pa.Table:
    """Strings, so that a file has several blocks and a row group some pages; identities in no order."""
    ids = np.arange(ROWS) * 7919 % 1_000_003
    words = [f"word {i * 31 % 1_000_003}" for i in ids]
    return pa.table({"id": ids, "x": ids * 7 % 100, "word": words, "secret": [f"{CANARY} {word}" for word in words]})


@cache
def exact() -> list[tuple[int, str]]:
    """What a whole release has of its exact columns."""
    return sorted(zip(original()["id"].to_pylist(), original()["word"].to_pylist(), strict=True))


@dataclass(frozen=True)
class Step:
    """One publication: of a table to a file. `table` is empty where nothing but a key is made."""

    run: Callable[[Path], object]
    again: Callable[[Path], object]
    to: str
    table: str = "t"


@dataclass(frozen=True)
class Scenario:
    """What is there before, and the publications, at once, that something happens to."""

    steps: tuple[Step, ...]
    before: Callable[[Path], object] = lambda folder: None
    ledger: str | None = "a.key.ledger"


def _release(to: str, table: str = "t", **more: Any) -> Step:
    def run(folder: Path, *, replace: bool) -> object:
        given = {"key": folder / "a.key", "replace": replace} | more
        for name in {"ledger", "sign"} & set(given):
            given[name] = folder / given[name]
        return publish(original(), policy(table), to=folder / to, progress=False, **given)

    return Step(lambda folder: run(folder, replace=False), lambda folder: run(folder, replace=True), to, table)


def _in_turn(*steps: Step) -> Callable[[Path], object]:
    def run(folder: Path) -> None:
        for step in steps:
            step.run(folder)

    return run


def _sql(to: str | None) -> Step:
    def run(folder: Path) -> None:
        with ppdm_sql.connect(folder / SOURCE) as con:
            con.execute(f"SET ppdm_key = '{folder / 'a.key'}'")
            where = "" if to is None else f" TO '{folder / to}'"
            con.execute(
                f"CREATE OR REPLACE PERTURBED TABLE t{where} AS SELECT id, x, word FROM people "
                "PERTURB (x UNIFORM RETAIN 0.5 DOMAIN (0 TO 99)) IDENTIFIED BY (id)"
            )

    return Step(run, run, to or SOURCE)


def _database(folder: Path) -> None:
    with duckdb.connect(str(folder / SOURCE)) as con:
        con.register("given", original())
        con.execute("CREATE TABLE people AS FROM given")


def _key_of(folder: Path) -> object:
    return load_key(folder / "a.key")


def _signing(*steps: Step) -> Callable[[Path], object]:
    def run(folder: Path) -> None:
        create_signing_key(folder / SIGNING)
        _in_turn(*steps)(folder)

    return run


def _leftovers(folder: Path) -> None:
    """What publications that died left beside a key and two targets; the earlier release is whole."""
    _release("r.duckdb", "other").run(folder)
    for name in ("a.key", "r.duckdb", "r.parquet"):
        aside = aside_path(folder / name)
        aside.write_text("half of it")
        lock_path(folder / name).touch()
        aside.with_name(aside.name + ".wal").touch()
        spill = aside.with_name(aside.name + ".spill")
        spill.mkdir()
        (spill / "rows").write_text("some of them")


_FEW = {"level": "few", "replace": True}
_SIGNED = {"sign": SIGNING}
_BYTES = {"key": bytes(range(32)), "ledger": "b.ledger", "level": "some"}

SCENARIOS = {
    "a fresh key, a new database": Scenario((_release("r.duckdb"),)),
    "a fresh key, a new Parquet file": Scenario((_release("r.parquet"),)),
    "one more table": Scenario((_release("r.duckdb"),), _release("r.duckdb", "other").run),
    "a table replaced": Scenario(
        (_release("r.duckdb", **_FEW),), _in_turn(_release("r.duckdb", "other"), _release("r.duckdb"))
    ),
    "a database replaced": Scenario((_release("r.duckdb", **_FEW),), _release("r.duckdb").run),
    "a Parquet file replaced": Scenario((_release("r.parquet", **_FEW),), _release("r.parquet").run),
    "a second level": Scenario(
        (_release("some.parquet", level="some"),), _release("few.parquet", level="few").run
    ),
    "a key of bytes": Scenario(
        (_release("r.duckdb", **_BYTES),), lambda folder: create_key(folder / "a.key"), "b.ledger"
    ),
    "two with one fresh key": Scenario((_release("r.duckdb"), _release("r.parquet"))),
    "two into one database": Scenario((_release("r.duckdb"), _release("r.duckdb", "other"))),
    "SQL, to a file": Scenario((_sql("r.duckdb"),), _database),
    "SQL, inside the database": Scenario((_sql(None),), _database, None),
    "after some that died": Scenario((_release("r.duckdb"), _release("r.parquet")), _leftovers),
    "a signed Parquet file": Scenario((_release("r.parquet", **_SIGNED),), _signing()),
    "a signed database replaced": Scenario(
        (_release("r.duckdb", **_FEW, **_SIGNED),), _signing(_release("r.duckdb", **_SIGNED))
    ),
    "one more table, signed": Scenario(
        (_release("r.duckdb", **_SIGNED),), _signing(_release("r.duckdb", "other", **_SIGNED))
    ),
    "a key": Scenario((Step(_key_of, _key_of, "", ""),), ledger=None),
}  # fmt: skip


@dataclass(frozen=True)
class Found:
    """What is out: the key, and the rows of each release that was not there before, by file and table."""

    key: bytes | None
    rows: dict[tuple[str, str], list[tuple[Any, ...]]]

    def has(self, step: Step) -> bool:
        """Whether a publication did what it is for."""
        return (step.to, step.table) in self.rows if step.table else self.key is not None


def releases(folder: Path, name: str | None) -> list[Entry]:
    """What the ledger has."""
    return [] if name is None else read_ledger(folder / name)


def found(scenario: Scenario, folder: Path, old: Path) -> Found:
    """What is there now; AssertionError where something is half, lost, forgotten or given away."""
    key = folder / "a.key"
    if key.exists():
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
    rows = {}
    for to in {step.to for step in scenario.steps if step.table}:
        tables = _tables(folder / to)
        before = _old_tables(old / to)
        assert set(before) <= set(tables), "the old release is gone"
        published = {step.table for step in scenario.steps if step.to == to}
        assert set(tables) <= set(before) | published, f"there are {set(tables)}"
        rows |= {(to, name): found for name, found in tables.items() if found != before.get(name)}
        assert {name for file, name in rows if file == to} <= published, "a release changed that is another's"
    result = Found(read_key(key) if key.exists() else None, rows)
    _check_ledger(scenario, folder, old, result)
    for path in folder.rglob("*"):
        if path.is_file() and not path.name.startswith(SOURCE):
            assert CANARY.encode() not in path.read_bytes(), f"{path.name} has originals"
    return result


def _check_ledger(scenario: Scenario, folder: Path, old: Path, result: Found) -> None:
    kept = [entry.id for entry in releases(old, scenario.ledger)]
    entered = releases(folder, scenario.ledger)
    assert [entry.id for entry in entered][: len(kept)] == kept, "a release that was out before is forgotten"
    if result.rows or len(entered) > len(kept):
        assert result.key is not None, "the key is lost"
    if scenario.ledger is not None:
        known = {(Path(entry.to).name, entry.table) for entry in entered[len(kept) :]}
        assert set(result.rows) <= known, "a release is forgotten"


@cache
def _old_tables(target: Path) -> dict[str, list[tuple[Any, ...]]]:
    return _tables(target)


def _tables(target: Path) -> dict[str, list[tuple[Any, ...]]]:
    """The releases in a file, each whole, and signed as it is in folders that have a key for it."""
    if not target.exists():
        return {}
    in_place = target.name == SOURCE  # beside the original, in a database that has a log of its own
    assert in_place or not target.with_name(target.name + ".wal").exists(), "a part of the release is in a log"
    public = target.with_name(PUBLIC)
    with ppdm_sql.connect(target, verify=public if public.exists() else None) as con:
        if in_place:
            count, total = ROWS, int(original()["x"].to_numpy().sum())
            assert con.execute("SELECT count(*), sum(x) FROM people").fetchall() == [(count, total)]
        names = [row[0] for row in con.execute("SHOW PERTURBED TABLES").fetchall()]
        rows = {name: sorted(con.execute(f"SELECT id, x, word FROM {name}").fetchall()) for name in names}
    for found in rows.values():
        assert [(number, word) for number, _, word in found] == exact(), "a release is not whole"
        assert all(0 <= x <= 99 for _, x, _ in found)
    return rows
