"""One statement: whether it touches a release, and what runs in its place."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from ppdm_sql.answers import answer
from ppdm_sql.engines.embedded import EmbeddedEngine
from ppdm_sql.errors import QueryError, Unsupported
from ppdm_sql.policy.manifest import Manifest
from ppdm_sql.rewrite.parse import Parameters, bind_parameters, number_placeholders, parse
from ppdm_sql.rewrite.passes import AGGREGATE, UNDERSTAND, run
from ppdm_sql.rewrite.plan import Plan, make_plan
from ppdm_sql.rewrite.query import Query
from ppdm_sql.rewrite.refuse import place
from ppdm_sql.rewrite.shape import check_rows, is_aggregate, touches_perturbed
from ppdm_sql.session import Session

EXPLAIN = re.compile(r"\s*EXPLAIN\s+(?:ANALYZE\s+)?(?=SELECT\b|FROM\b|WITH\b|\()", re.IGNORECASE)
READERS = (exp.Query, exp.Describe, exp.Show, exp.Summarize)


@dataclass(frozen=True)
class Statement:
    """`rewritten` runs in the place of `sql`, or None where `sql` runs as it is; `why` says which case it is."""

    sql: str
    why: str
    rewritten: str | None = None
    groups: pa.Table | None = None
    plan: Plan | None = None
    reads_only: bool = False


def understand(engine: EmbeddedEngine, session: Session, sql: str, parameters: Parameters) -> Statement:
    """Rewrite a statement that touches a release, let any other through untouched, refuse what cannot be answered."""
    tree = parse(number_placeholders(sql))
    if tree is None or isinstance(tree, exp.Command):
        return _unread(session, engine, sql)
    as_is = Statement(sql, "touches no release: runs in DuckDB as it is", reads_only=isinstance(tree, READERS))
    touched = session.releases(engine.con, tree)
    if not touched or isinstance(tree, exp.Describe | exp.Use | exp.Attach | exp.Detach):
        return as_is
    table, manifest = touched[0]
    _check_kind(sql, tree, table, manifest)
    assert isinstance(tree, exp.Select) and manifest is not None
    if len(touched) > 1:
        other = touched[1][0]
        raise Unsupported(
            f"Unsupported: {other.sql(dialect='duckdb')} ({place(sql, other)}): a query reads one release only, yet."
        )
    return _select(engine, session, tree, manifest, parameters, as_is)


def _select(
    engine: EmbeddedEngine,
    session: Session,
    tree: exp.Select,
    manifest: Manifest,
    parameters: Parameters,
    as_is: Statement,
) -> Statement:
    sql = as_is.sql
    bound = bind_parameters(tree, parameters)
    assert isinstance(bound, exp.Select)
    table = bound.args["from_"].this
    if not isinstance(table, exp.Table):
        raise Unsupported(
            f"Unsupported: a subquery in FROM ({place(sql, table)}) of a query on a release is not supported yet."
        )
    query = run(UNDERSTAND, Query(sql, bound, table, manifest, session.settings))
    if not touches_perturbed(query):
        return replace(as_is, why="no perturbed column takes part: runs in DuckDB as it is, and is exact")
    if not is_aggregate(query):
        check_rows(query)
        return replace(as_is, why="reads rows: they are the release's own, perturbed")
    plan = make_plan(run(AGGREGATE, query), engine.measure)
    found = answer(engine, plan)
    return Statement(
        sql,
        "reconstructed",
        found.statement.sql(dialect=engine.dialect, copy=False),
        found.groups,
        plan,
        reads_only=True,
    )


def _unread(session: Session, engine: EmbeddedEngine, sql: str) -> Statement:
    """A statement that sqlglot keeps as text: let through unless it names a release."""
    explained = EXPLAIN.match(sql)
    inner = parse(sql[explained.end() :]) if explained else None
    if inner is not None and not session.releases(engine.con, inner):
        return Statement(sql, "touches no release: runs in DuckDB as it is", reads_only=True)
    if session.mentions_release(engine.con, sql):
        remedy = "Use con.explain(..) or ppdm-sql explain." if explained else "Write it as a plain SELECT."
        raise QueryError(f"this statement names a release in a form that cannot be checked: {remedy}")
    return Statement(sql, "touches no release: runs in DuckDB as it is")


def _check_kind(sql: str, tree: exp.Expr, table: exp.Table, manifest: Manifest | None) -> None:
    name = table.sql(dialect="duckdb")
    where = place(sql, table)
    if manifest is None:
        raise Unsupported(
            f"Unsupported: {name} ({where}) reads a release, and views and macros on releases are not supported yet. "
            "Ask the release itself."
        )
    if isinstance(tree, exp.Summarize):
        raise Unsupported(
            f"Unsupported: SUMMARIZE {name} ({where}) would read perturbed values as true ones. Count ranges instead."
        )
    if not isinstance(tree, exp.Select):
        kind = tree.key.upper()
        what = "a release is only read" if not isinstance(tree, exp.Query) else "only a plain SELECT is supported yet"
        raise Unsupported(f"Unsupported: {kind} on the release {name} ({where}): {what}.")
