from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"
EXPECTED = {
    "attack_and_report.py": ["and the public", "heaping: salary, multiples of 50", "with no script in it"],
    "baskets.py": ["as lists: ", "as seeds: 0.", "bread and butter: truth 5,697", "most bought: 0, 1"],
    "lowest_discoverable_support.py": ["     5: 0.48 %, 0.49 %, 0.50 %", "    10: 0.34 %, 0.34 %, 0.35 %"],
    "publish_and_query.py": ["F: truth", "M: truth", "Unsupported: max"],
    "gaussian_noise.py": ["public: average wage", "partner: average wage", "from 2000: ", "left with 20%", "own: 17%"],
    "parquet_release.py": ["first rows", "clinic 0: ", "clinic 2: "],
    "bayes_or_inversion.py": ["inversion  mean", "bayes      mean"],
    "before_publishing.py": ["gamma   9: 50.0%", "next to nothing", "diagnosis: kept 0.78", "would do: step ="],
    "publish_for_levels.sh": ["at level government", "published to public.duckdb", "sex,people,people_low,people_high"],
}


def test_every_example_is_tested():
    assert {path.name for path in FOLDER.iterdir() if path.suffix in (".py", ".sh")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_runs_from_any_directory(name, tmp_path):
    program = [sys.executable, "-W", "error"] if name.endswith(".py") else ["sh"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [*program, str(FOLDER / name)],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    for part in EXPECTED[name]:
        assert part in done.stdout
    assert list(tmp_path.iterdir()) == []
