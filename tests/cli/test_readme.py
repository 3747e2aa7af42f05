"""The README is true: its blocks run, one after the other in one folder, and print what it shows.

`console` blocks hold commands after `$` with their output, `python` blocks a program whose output a `text` block may
show. Blocks that only call make are not run: these tests are part of what they do. Keys are random, so numbers are
compared by place, not by value; help texts are compared as they are.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks() -> list[tuple[str, str]]:
    return BLOCK.findall(README.read_text(encoding="utf-8"))


def steps() -> list[tuple[list[str], str]]:
    """Every command with the output that is shown for it."""
    result: list[tuple[list[str], str]] = []
    for kind, text in blocks():
        if kind == "python":
            result.append(([sys.executable, "-W", "error", "-c", text], ""))
        elif kind == "text":
            result[-1] = (result[-1][0], text)
        elif kind == "console":
            for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                command, _, output = part.partition("\n")
                result.append((["sh", "-c", command], output))
        else:
            assert kind == "sh" and all(line.startswith("make ") for line in text.splitlines()), text
    return result


def shape(text: str) -> str:
    """The text without its numbers, and without the widths that depend on them."""
    words = re.sub(r"-?\d[\d,.]*", "#", text)
    return re.sub(r"[\s─-]+", " ", words).strip()


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[list[str], str, int, str]]:
    folder = tmp_path_factory.mktemp("readme")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "100"}
    result = []
    for command, shown in steps():
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        result.append((command, shown, done.returncode, done.stdout))
    return result


def test_every_block_runs_and_prints_what_is_shown(outputs):
    assert len(outputs) >= 7
    for command, shown, code, out in outputs:
        assert code == (2 if shown.startswith("ppdm-sql: ") else 0), (command, out)
        assert shape(out) == shape(shown), command


def test_help_texts_are_the_real_ones(outputs):
    helps = [(shown, out) for command, shown, _, out in outputs if command[-1].endswith("--help")]
    assert len(helps) == 2
    for shown, out in helps:
        assert shown.split() == out.split()  # versions of Python differ in where they break a line


def test_the_refusal_is_the_real_one(outputs):
    refusals = [(shown, out) for _, shown, code, out in outputs if code == 2]
    assert len(refusals) == 1
    assert refusals[0][0] == refusals[0][1]


def test_the_policy_table_names_every_key():
    from ppdm_sql.policy.load import COLUMN_KEYS, POLICY_KEYS

    text = README.read_text(encoding="utf-8")
    for key in {*POLICY_KEYS, *COLUMN_KEYS} - {"columns", "levels"}:
        assert f"| `{key}` |" in text
    assert "| `[levels]` |" in text


def test_folders_that_are_named_exist():
    text = README.read_text(encoding="utf-8")
    for name in re.findall(r"^\| `([\w/.]+)` \|", text, re.MULTILINE):
        if "/" in name:
            assert (README.parent / name).exists(), name
