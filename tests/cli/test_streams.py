"""What happens when an output ends early, or cannot be written."""

from __future__ import annotations

import io
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from ppdm_sql.cli.main import main
from ppdm_sql.errors import NotConverged

PROGRAM = str(Path(sys.executable).parent / "ppdm-sql")


@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_closed_pipe_is_quiet(demo, form):
    with subprocess.Popen(
        [PROGRAM, "query", demo.release, "SELECT range FROM range(1000000)", "--format", form],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(20) == 141


@pytest.mark.parametrize(
    ("sql", "closed", "code", "said"),
    [
        ("SELECT 1", ">&-", 0, ""),
        ("-", "<&-", 2, "ppdm-sql: the query is empty.\n"),
        ("SELECT 1", "<&- >&- 2>&-", 0, ""),
    ],
)
def test_streams_that_are_closed_from_the_start(demo, sql, closed, code, said):
    command = ["sh", "-c", f'"$@" {closed}', "sh", PROGRAM, "query", demo.release, sql]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", said)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
def test_a_full_disk_is_one_line(demo):
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [PROGRAM, "query", demo.release, "SELECT 1"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (2, "ppdm-sql: No space left on device\n")


def test_letters_survive_any_locale(demo):
    done = subprocess.run(
        [PROGRAM, "query", demo.release, "SELECT 'Zürich 東京' AS x", "--format", "csv"],
        capture_output=True,
        env={"PYTHONIOENCODING": "ascii"},
        check=True,
    )
    assert done.stdout.decode() == "x\nZürich 東京\n"


def test_an_interrupt_is_exit_code_130(monkeypatch, demo, capsys):
    class Interrupted(io.StringIO):
        def read(self, size: int | None = -1) -> str:
            raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdin", Interrupted())
    assert main(["query", demo.release, "-"]) == 130
    assert capsys.readouterr().err == ""


def test_sql_that_is_not_text(demo):
    done = subprocess.run(
        [PROGRAM, "query", demo.release, "-"], input=b"SELECT '\xff'", capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"ppdm-sql: ")
    assert done.stderr.count(b"\n") == 1


def test_warnings_are_lines(monkeypatch, demo, capsys):
    from ppdm_sql.connection.connection import Connection

    def warned(self: Connection, query: str) -> None:
        warnings.warn(NotConverged("the gap is\n0.5"), stacklevel=2)

    monkeypatch.setattr(Connection, "execute", warned)
    assert main(["query", demo.release, "SET ppdm_method = 'bayes'"]) == 0
    assert set(capsys.readouterr().err.splitlines()) == {"ppdm-sql: warning: the gap is 0.5"}


def test_a_bug_keeps_its_traceback(monkeypatch, demo):
    from ppdm_sql.connection.connection import Connection

    def broken(self: Connection, query: str) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Connection, "execute", broken)
    with pytest.raises(ZeroDivisionError):
        main(["query", demo.release, "SELECT 1"])
