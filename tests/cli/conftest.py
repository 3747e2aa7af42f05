"""A small demo that all tests of the command line share, and two ways to run a command."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest

from ppdm_sql.cli.main import main

PROGRAM = str(Path(sys.executable).parent / "ppdm-sql")
ROWS = 5_000


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Demo:
    folder: Path
    out: str

    @property
    def source(self) -> str:
        return str(self.folder / "people.parquet")

    @property
    def policy(self) -> str:
        return str(self.folder / "policy.toml")

    @property
    def key(self) -> str:
        return str(self.folder / "people.key")

    @property
    def release(self) -> str:
        return str(self.folder / "release.duckdb")

    @property
    def secret(self) -> str:
        return Path(self.key).read_text(encoding="ascii").splitlines()[-1]


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    folder = tmp_path_factory.mktemp("demo") / "ppdm-demo"
    with redirect_stdout(StringIO()) as out:
        assert main(["demo", "--rows", str(ROWS), "--to", str(folder)]) == 0
    return Demo(folder, out.getvalue())


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Run a command in this process."""

    def call(*arguments: str) -> Outcome:
        capsys.readouterr()
        code = main(list(arguments))
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


@pytest.fixture
def program() -> Callable[..., Outcome]:
    """Run the installed program."""

    def call(*arguments: str, stdin: str = "", cwd: Path | None = None) -> Outcome:
        done = subprocess.run(
            [PROGRAM, *arguments],
            check=False,
            input=stdin,
            capture_output=True,
            text=True,
            encoding="utf-8",
            cwd=cwd,
            timeout=60,
            env={**os.environ, "COLUMNS": "100"},
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return call
