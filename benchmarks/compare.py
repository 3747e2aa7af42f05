"""Whether two checkouts of the project do the same: `python -m benchmarks.compare OLD NEW`.

For a change that is meant to change nothing: what each releases under one key, its manifests, what it answers, refuses
and compiles are compared, text by text and bit by bit. It uses the public interface alone, and the old checkout's
statements for both.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

KEY = bytes(range(32))
NESTED = 400
"""Random statements, beside those of the case files."""
OF_A_MOMENT = ("made", "digest")
"""What a manifest says of when it was made."""


def main(arguments: list[str]) -> int:
    """Compare, and say what differs."""
    if len(arguments) == 3 and arguments[0] == "--of":
        tell(Path(arguments[1]), Path(arguments[2]))
        return 0
    if len(arguments) != 2:
        print(__doc__)
        return 2
    old, new = (told(Path(each).absolute(), Path(arguments[0]).absolute()) for each in arguments)
    wrong = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    for name in wrong[:20]:
        print(f"{name}\n  old {str(old.get(name))[:500]}\n  new {str(new.get(name))[:500]}")
    kinds = {kind: sum(name.startswith(kind) for name in old) for kind in ("release", "answer", "explain", "compile")}
    print(f"{', '.join(f'{count:,} of {kind}' for kind, count in kinds.items())}: {len(wrong):,} differences")
    return 1 if wrong else 0


def told(checkout: Path, statements: Path) -> dict[str, Any]:
    """What a checkout tells of itself, in a process of its own."""
    paths = os.pathsep.join(str(checkout / part) for part in (".", "udfs", "tests"))
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "told.json"
        command = [sys.executable, "-P", str(Path(__file__).absolute()), "--of", str(statements), str(out)]
        subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": paths}, cwd=checkout)  # noqa: S603
        found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return found


def tell(statements: Path, out: Path) -> None:
    """Write down all that is compared."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        found |= dict([*released(Path(folder)), *answered(Path(folder), statements)])
    out.write_text(json.dumps(found), encoding="utf-8")


def released(folder: Path) -> Iterator[tuple[str, Any]]:
    """The rows and the manifest of releases by every mechanism, at two retentions."""
    import duckdb  # noqa: PLC0415  # here and below: of the checkout that is asked
    import pyarrow.parquet as pq  # noqa: PLC0415
    from random_world import original, policies  # noqa: PLC0415

    import ppdm_sql  # noqa: PLC0415

    with original() as source:
        for retain in (1, 0.4):
            for table, policy in policies(retain).items():
                path = folder / f"{table}_{retain}.parquet"
                columns = "* EXCLUDE (items_size)" if table == "shop" else "*"
                rows = source.sql(f"SELECT {columns} FROM {table}")
                ppdm_sql.publish(rows, policy, to=path, key=KEY, progress=False)
                digest = duckdb.sql(f"SELECT md5(string_agg(t::VARCHAR, '|')) FROM '{path}' AS t").fetchall()
                manifest = json.loads(pq.read_metadata(path).metadata[b"ppdm_manifest"])
                yield f"release {table} {retain}", [digest, {k: v for k, v in manifest.items() if k not in OF_A_MOMENT}]


def answered(folder: Path, statements: Path) -> Iterator[tuple[str, Any]]:
    """What becomes of statements: answers with their intervals, explanations and compiled texts, or refusals."""
    from people import people, policy  # noqa: PLC0415
    from random_nested import Nested  # noqa: PLC0415
    from random_world import original, released  # noqa: PLC0415

    import ppdm_sql  # noqa: PLC0415

    ppdm_sql.publish(people(3_000), policy(0.5), to=folder / "people.duckdb", key=KEY, progress=False)
    with ppdm_sql.connect(folder / "people.duckdb", read_only=True) as con:
        con.execute("SET threads = 1")  # sums of numbers in one order, so that they are the same to the last bit
        con.execute("CREATE TEMP TABLE plain AS SELECT range AS x FROM range(10)")
        con.execute("SET ppdm_errors = 'columns'")
        for name, sql in cases(statements):
            yield f"answer {name}", outcome(con, sql)
            yield f"explain {name}", text_of(con.explain, sql)
            yield f"compile {name}", text_of(lambda sql: con.compile(sql, dialect="postgres"), sql)
    (folder / "world").mkdir()
    with original() as source, released(source, folder / "world") as con:
        for seed in range(NESTED):
            yield f"answer {seed}", outcome(con, Nested(seed).statement().sql)


def cases(statements: Path) -> Iterator[tuple[str, str]]:
    """The statements of the case files, by name."""
    for path in sorted((statements / "tests").glob("*/cases/*.sql")):
        for number, case in enumerate(path.read_text(encoding="utf-8").split("--! case:")[1:]):
            lines = case.splitlines()[1:]
            end = next((i for i, line in enumerate(lines) if line.startswith("--!")), len(lines))
            if sql := "\n".join(lines[:end]).strip().rstrip(";"):
                yield f"{path.stem} {number}", sql


def outcome(con: Any, sql: str) -> str:
    """The rows to the last bit, or the refusal."""
    return text_of(lambda sql: sorted(map(repr, con.execute(sql).fetchall())), sql)


def text_of(ask: Any, sql: str) -> str:
    """What is said, short."""
    try:
        said = str(ask(sql))
    except Exception as error:  # whatever it is, both checkouts are to say the same
        said = f"{type(error).__name__}: {error}"
    return said if len(said) < 400 else f"{said[:300]}.. {hashlib.sha256(said.encode()).hexdigest()}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
