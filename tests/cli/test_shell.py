from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ppdm_sql.cli.shell import complete_statements

PROGRAM = str(Path(sys.executable).parent / "ppdm-sql")
SESSION = """\
-- a comment first
SELECT count(*) AS people,
       'a;b' AS text
FROM people;
.tables
SET ppdm_errors = 'columns'; SELECT count(*) AS n FROM people WHERE age < 30;
SET ppdm_method = 'bayes';
.explain SELECT count(*) FROM people WHERE age < 30
SELECT 11 AS last
"""


def test_a_piped_session(program, demo):
    done = program("shell", demo.release, stdin=SESSION)
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[:4] == ["people | text", "-------+-----", "  5000 | a;b", "(1 row)"]
    assert "people: 5,000 rows" in lines
    assert any(line.split() == ["n", "|", "n_low", "|", "n_high"] for line in lines)
    assert any(line.startswith("method: iterative Bayes") for line in lines)
    assert lines[-4:] == ["last", "----", "  11", "(1 row)"]
    assert "ppdm>" not in done.out


def test_errors_are_told_and_the_loop_goes_on(program, demo):
    done = program(
        "shell",
        demo.release,
        stdin="SELECT min(age) FROM people;\nSELEC;\n.dance\n.explain\nSELECT error('x');\n"
        "SELECT 11 AS x;\n.quit\nSELECT 12;",
    )
    assert done.code == 2
    assert done.out == " x\n--\n11\n(1 row)\n"
    told = done.err.splitlines()
    assert [line.split(":")[0] for line in told] == ["ppdm-sql"] * 5
    assert 'Unsupported: min("age") (line 1, column 8)' in told[0]
    assert "there is no command '.dance'" in told[2]


def test_help(program, demo):
    done = program("shell", demo.release, stdin=".help\n")
    assert done.code == 0
    for word in (".tables", ".explain", ".quit", "ppdm_method", "ppdm_confidence"):
        assert word in done.out


def test_nothing_to_read(program, demo):
    done = program("shell", demo.release, stdin="")
    assert (done.code, done.out, done.err) == (0, "", "")


def test_no_release(run):
    assert run("shell", "gone.duckdb").err == "ppdm-sql: there is no file 'gone.duckdb'.\n"


@pytest.mark.parametrize(
    ("text", "found", "rest"),
    [
        ("SELECT 1;", ["SELECT 1"], ""),
        ("SELECT 1; SELECT", ["SELECT 1"], " SELECT"),
        ("SELECT ';' --;\n;", ["SELECT ';' --;\n"], ""),
        ("SELECT 'a;", [], "SELECT 'a;"),
        ("SELECT /* ;", [], "SELECT /* ;"),
        ("SELECT $$;$$; -- the end", ["SELECT $$;$$"], ""),
        (";;", [], ""),
    ],
)
def test_statements_end_at_semicolons_outside_of_strings_and_comments(text, found, rest):
    assert complete_statements(text) == (found, rest)


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo terminal")
def test_a_terminal_gets_prompts(demo):
    import pty

    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [PROGRAM, "shell", demo.release], stdin=theirs, stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "dumb"}
    ) as shell:
        os.close(theirs)
        seen = _until(ours, b"ppdm> ")
        os.write(ours, b"SELECT\n")
        seen += _until(ours, b"..> ")
        os.write(ours, b"41 + 1 AS x;\n")
        seen += _until(ours, b"ppdm> ")
        os.write(ours, b"SELEC;\n")
        seen += _until(ours, b"ppdm> ")
        os.write(ours, b".quit\n")
        assert shell.wait(20) == 0
    os.close(ours)
    assert b"released: people." in seen
    assert b"42" in seen
    assert b"ppdm-sql: Parser Error" in seen


def _until(terminal: int, mark: bytes) -> bytes:
    seen = b""
    while not seen.endswith(mark):
        assert select.select([terminal], [], [], 20)[0], seen
        seen += os.read(terminal, 4096)
    return seen


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
@pytest.mark.parametrize("more", ["", "SELECT count(*) FROM range(1000000000000) WHERE hash(range) = 1;\n"])
def test_an_interrupt_ends_quietly(demo, more):
    with subprocess.Popen(
        [PROGRAM, "shell", demo.release], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as shell:
        assert shell.stdin is not None and shell.stdout is not None and shell.stderr is not None
        shell.stdin.write(b"SELECT 11 AS x;\n" + more.encode())
        shell.stdin.flush()
        assert shell.stdout.readline() == b" x\n"
        time.sleep(0.5)  # the next statement runs, or the next line is waited for
        shell.send_signal(signal.SIGINT)
        try:
            assert shell.wait(20) == 130
        finally:
            shell.kill()
        assert shell.stderr.read() == b""
