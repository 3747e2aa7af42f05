from __future__ import annotations

import subprocess
import sys

import pytest

COMMANDS = ("demo", "publish", "query", "explain", "advise", "shell", "report", "attack", "keygen", "sign")


def test_help_names_every_command(run):
    done = run("--help")
    assert done.code == 0
    assert done.err == ""
    for command in COMMANDS:
        assert f"    {command}" in done.out


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help(run, command):
    done = run(command, "--help")
    assert done.code == 0
    assert done.out.startswith(f"usage: ppdm-sql {command} [-h]")


def test_version(run):
    import ppdm_sql

    assert run("--version").out == f"ppdm-sql {ppdm_sql.__version__}\n"


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from ppdm_sql.cli.main import main; main(['--help']); "
        "print(sorted({'duckdb', 'numpy', 'pyarrow', 'scipy', 'sqlglot'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


def test_module_runs_as_the_program_does():
    done = subprocess.run(
        [sys.executable, "-m", "ppdm_sql.cli", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("ppdm-sql ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "the following arguments are required: COMMAND (see ppdm-sql --help)"),
        (("dance",), "argument COMMAND: invalid choice: 'dance'"),
        (("query", "x.duckdb"), "the following arguments are required: SQL (see ppdm-sql query --help)"),
        (("query", "x.duckdb", "SELECT 1", "--format", "xml"), "argument --format: invalid choice: 'xml'"),
        (("query", "x.duckdb", "SELECT 1", "--method", "guess"), "argument --method: invalid choice: 'guess'"),
        (
            ("query", "x.duckdb", "SELECT 1", "--confidence", "high"),
            "argument --confidence: invalid float value: 'high'",
        ),
        (("query", "x.duckdb", "SELECT 1", "--err"), "unrecognized arguments: --err"),
        (("publish", "x.parquet"), "the following arguments are required: --policy, --to, --key"),
        (("advise", "policy.toml"), "the following arguments are required: --rows"),
        (("advise", "policy.toml", "--rows", "many"), "argument --rows: invalid int value: 'many'"),
        (("demo", "--rows", "12"), "argument --rows: '12' is not a whole number from 1000 to 10000000"),
        (("demo", "--rows", "many"), "argument --rows: 'many' is not a whole number"),
        (("keygen", "\udcff"), "argument '\\udcff' is not UTF-8 text"),
    ],
)
def test_a_bad_command_is_one_line_and_exit_code_2(run, arguments, message):
    done = run(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith(f"ppdm-sql: {message}")
    assert done.err.count("\n") == 1
