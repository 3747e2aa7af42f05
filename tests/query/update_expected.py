"""Writes the SQL that runs into the case files, for every case that has `--! expect`; look at the difference it makes.

Run as `python tests/query/update_expected.py`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import duckdb

sys.path.insert(0, str(Path(__file__).parents[1]))

from beside import RELEASES, partition, partition_policy
from people import people, policy
from query.case_files import FOLDER, read_cases
from query.test_cases import opened

from ppdm_sql.publishing.release import publish


def main() -> None:
    """Publish the people once, and explain every such case."""
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as source:
        source.register("generated", people(1000))
        enum = "grade::ENUM('low', 'middle', 'high') AS grade"
        source.execute(f"CREATE TABLE people AS SELECT * REPLACE ({enum}) FROM generated")
        paths = {name: Path(folder) / f"{name}.duckdb" for name in ("people", *RELEASES)}
        publish(source.table("people"), policy(0.5), to=paths["people"], key=f"{folder}/key")
        for name in RELEASES:
            publish(source.sql(partition(name)), partition_policy(name, 0.5), to=paths[name], key=f"{folder}/key")
        with opened(paths.pop("people"), paths) as con:
            for case in read_cases():
                if case.expect is not None:
                    path = FOLDER / f"{case.file}.sql"
                    text = path.read_text(encoding="utf-8")
                    start = text.index(f"--! case: {case.name}\n")
                    mark = text.index("--! expect", start) + len("--! expect\n")
                    end = text.find("--! case:", mark)
                    tail = "" if end < 0 else text[end:]
                    found = (
                        con.explain(case.sql).split("SQL:\n")[1].replace('"perturbed".', "")
                    )  # where rows are stored
                    plain = "\n".join(line.removeprefix("  ") for line in found.splitlines())
                    path.write_text(f"{text[:mark]}{plain}\n{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
