"""`ppdm-sql sign`: sign a release as it is."""

from __future__ import annotations

import argparse

from ppdm_sql.publishing import sign_release


def run(arguments: argparse.Namespace) -> int:
    """Write the signature, and say what it vouches for."""
    found = sign_release(arguments.release, sign=arguments.sign)
    said = ", ".join(f"{manifest.table} ({manifest.rows:,} rows)" for manifest in found)
    print(f"signed as it is: {arguments.release}, with {said}")
    return 0
