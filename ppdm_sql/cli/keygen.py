"""`ppdm-sql keygen`: a fresh secret key."""

from __future__ import annotations

import argparse

from ppdm_sql.publishing import create_key


def run(arguments: argparse.Namespace) -> int:
    """Write the key's file."""
    create_key(arguments.file)
    print(f"key written to {arguments.file}: keep it secret, and keep it for as long as you publish this table")
    return 0
