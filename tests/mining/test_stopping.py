"""A tree is refused where it would take for ever, tells how far it is, and stops at Ctrl-C."""

from __future__ import annotations

import hashlib
import io
import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

import ppdm_sql
from ppdm_sql.cli.main import main
from ppdm_sql.cli.notices import progress_line
from ppdm_sql.errors import QueryError
from ppdm_sql.mining import decision_tree

ENDLESS = """
import sys
from ppdm_sql.cli.main import main
from ppdm_sql.mining.growing import _Grower

def grow(self, depth):
    print("growing", flush=True)
    self.con.execute("SELECT sum(hash(a.range + b.range)) FROM range(10000000) a, range(10000000) b").fetchall()

_Grower.grow = grow
sys.exit(main(["mine", "tree", sys.argv[1], "--target", "sex"]))
"""


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    rng = np.random.default_rng(1)
    rows = 2_000
    sex = rng.integers(0, 2, rows)
    age = np.clip(rng.normal(35 + 20 * sex, 6, rows), 17, 90).astype(int)
    table = pa.table({"age": age, "sex": np.array(["f", "m"])[sex]})
    column = {"mechanism": "uniform", "domain": {"min": 17, "max": 90}, "retain": 0.8}
    path = tmp_path_factory.mktemp("trees") / "people.duckdb"
    key = hashlib.sha256(b"stopping").digest()
    ppdm_sql.publish(table, {"table": "people", "columns": {"age": column}}, to=path, key=key)
    return str(path)


def test_too_many_classes_are_refused_by_name(release, capsys):
    with (
        ppdm_sql.connect(release, read_only=True) as con,
        pytest.raises(QueryError, match=r"'age' must have from 2 to 20 classes.*publish one with fewer"),
    ):
        decision_tree(con, "people", "age")
    assert main(["mine", "tree", release, "--target", "age"]) == 2
    assert "'age' must have from 2 to 20 classes" in capsys.readouterr().err


def test_how_far_it_is(release):
    told: list[str] = []
    with ppdm_sql.connect(release, read_only=True) as con:
        decision_tree(con, "people", "sex", depth=1, progress=told.append)
    assert told == ["level 1 of at most 1: counting age", "level 1 of at most 1: node 1 of 1"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_it_is_shown_on_a_terminal_only(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress_line() as progress:
        assert progress is not None
        progress("level 1")
    assert "ppdm-sql: level 1" in sys.stderr.getvalue() and sys.stderr.getvalue().endswith("\r\x1b[K")
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress_line() as progress:
        assert progress is None


def test_ctrl_c_stops_what_would_not_end(release):
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS, release], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "growing\n"
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=120)
        finally:
            process.kill()
    assert process.returncode == 130
    assert "Traceback" not in err
