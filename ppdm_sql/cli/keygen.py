"""`ppdm-sql keygen`: a fresh secret key, or a pair of keys for signatures."""

from __future__ import annotations

import argparse

from ppdm_sql.publishing import create_key, create_signing_key


def run(arguments: argparse.Namespace) -> int:
    """Write the key's file, or the pair's."""
    if not arguments.signing:
        create_key(arguments.file)
        print(f"key written to {arguments.file}: keep it secret, and keep it for as long as you publish this table")
        return 0
    public, made = create_signing_key(arguments.file)
    if made:
        print(f"signing key written to {arguments.file}: keep it secret; publish --sign signs with it")
    print(f"public key written to {public}: give it to whoever reads releases; query --verify verifies with it")
    return 0
