"""`ppdm-sql report`: one page on a policy or a release."""

from __future__ import annotations

import argparse
import importlib.util

from ppdm_sql.errors import PpdmError

NEEDED = {"altair": "altair", "vl_convert": "vl-convert-python", "jinja2": "jinja2"}


def run(arguments: argparse.Namespace) -> int:
    """Write the page."""
    check_packages()
    if arguments.verify is not None:
        _verify(arguments.target, arguments.verify)
    from ppdm_sql.report.writing import report  # noqa: PLC0415 - these packages may not be there

    page = report(
        arguments.target,
        arguments.output,
        source=arguments.source,
        level=arguments.level,
        ledger=arguments.ledger,
        table=arguments.table,
        rows=arguments.rows,
        replace=arguments.replace,
    )
    private = "; it was made with the original, and is not for publication" if arguments.source else ""
    print(f"page written to {page}{private}")
    return 0


def _verify(target: str, verify: str) -> None:
    if target.lower().endswith(".toml"):
        raise PpdmError(f"{target!r} is a policy, which is not signed: --verify is for releases.")
    from ppdm_sql.cli.release import verify_first  # noqa: PLC0415 - so that what is missing is said at once

    verify_first([target], verify)


def check_packages() -> None:
    """Say what is missing before anything is done."""
    missing = [package for module, package in NEEDED.items() if importlib.util.find_spec(module) is None]
    if missing:
        raise PpdmError(f"pages need the packages {', '.join(missing)}: pip install 'ppdm_sql[report]'.")
