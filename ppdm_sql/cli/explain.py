"""`ppdm-sql explain`: what a query will do, what a release holds, what a policy promises."""

from __future__ import annotations

import argparse
from pathlib import Path

from ppdm_sql.cli.query import sql_of
from ppdm_sql.cli.release import describe, open_release
from ppdm_sql.errors import QueryError
from ppdm_sql.policy import load_policy
from ppdm_sql.policy.explain import explain_policy


def run(arguments: argparse.Namespace) -> int:
    """Print the explanation."""
    target: str = arguments.target
    if target.lower().endswith(".toml"):
        if arguments.sql is not None:
            raise QueryError(f"{target!r} is a policy, which cannot be asked: name a release to explain a query.")
        if arguments.verify is not None:
            raise QueryError(f"{target!r} is a policy, which is not signed: --verify is for releases.")
        print(explain_policy(load_policy(Path(target))))
    elif arguments.sql is None:
        with open_release(target, arguments.verify) as con:
            print("\n\n".join(describe(manifest) for manifest in con.manifests()))
    else:
        sql = sql_of(arguments.sql)
        with open_release(target, arguments.verify) as con:
            print(con.compile(sql, arguments.dialect) if arguments.dialect else con.explain(sql))
    return 0
