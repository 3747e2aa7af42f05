"""`ppdm-sql explain`: what a query will do, what a release holds, what a policy promises."""

from __future__ import annotations

import argparse
from pathlib import Path

from ppdm_sql.cli.query import sql_of
from ppdm_sql.cli.release import describe, open_release
from ppdm_sql.engines.release_files import manifests
from ppdm_sql.errors import QueryError
from ppdm_sql.policy import load_policy
from ppdm_sql.policy.explain import explain_policy


def run(arguments: argparse.Namespace) -> int:
    """Print the explanation."""
    target: str = arguments.target
    if target.lower().endswith(".toml"):
        if arguments.sql is not None:
            raise QueryError(f"{target!r} is a policy, which cannot be asked: name a release to explain a query.")
        print(explain_policy(load_policy(Path(target))))
    elif arguments.sql is None:
        print("\n\n".join(describe(manifest) for manifest in manifests(target)))
    else:
        sql = sql_of(arguments.sql)
        with open_release(target) as con:
            print(con.compile(sql, arguments.dialect) if arguments.dialect else con.explain(sql))
    return 0
