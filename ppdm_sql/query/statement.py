"""One statement: whether it touches a release, and what runs in its place."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import exp

from ppdm_sql.engine.duckdb.embedded import EmbeddedEngine
from ppdm_sql.engine.duckdb.listings import listed, listed_text
from ppdm_sql.errors import QueryError, Unsupported
from ppdm_sql.mechanisms.base import PerturbedColumn
from ppdm_sql.policy.manifest import Manifest
from ppdm_sql.query.execute.answer import GROUPS, Groups, answer, as_one_relation, sized
from ppdm_sql.query.plan.joined import Joined
from ppdm_sql.query.plan.plan import Plan, make_plan
from ppdm_sql.query.plan.seldom_shown import check_shown
from ppdm_sql.query.plan.small_domains import in_parts, parted, plan_parts
from ppdm_sql.query.release_references import READERS, file_name, is_database_file
from ppdm_sql.query.session import Session
from ppdm_sql.query.sql.item_groups import check_grouped, group_items
from ppdm_sql.query.sql.union_intervals import align_intervals
from ppdm_sql.query.statement_text import (
    check_whole_databases,
    numbered,
    prepared_inside,
    read,
    statement_inside,
    words_of,
)
from ppdm_sql.query.understand.correlated import LOCAL
from ppdm_sql.query.understand.file_names import name_files
from ppdm_sql.query.understand.group_counting import mark_groups, refuse_counted_groups
from ppdm_sql.query.understand.grouping_sets import each_set
from ppdm_sql.query.understand.inline import Tables, inline
from ppdm_sql.query.understand.macros import write_out
from ppdm_sql.query.understand.names import ANSWERED, note_written, refuse_correlated
from ppdm_sql.query.understand.passes import AGGREGATE, UNDERSTAND, run
from ppdm_sql.query.understand.query import Query
from ppdm_sql.query.understand.relation import SchemaLookup
from ppdm_sql.query.understand.rows import passed, sources
from ppdm_sql.query.understand.settings import Settings
from ppdm_sql.query.understand.shape import check_rows, is_aggregate, touches_perturbed
from ppdm_sql.syntax.dialects import ANALYST
from ppdm_sql.syntax.long_lists import as_queries, put_back, take_out
from ppdm_sql.syntax.parse import Parameters, bind_parameters, known_parameters, parse
from ppdm_sql.syntax.refuse import place, refuse
from ppdm_sql.syntax.scopes import in_sight, with_query

SCANS = re.compile(r"\bpython_scan_all_frames\b", re.IGNORECASE)
REMEDIES = {
    "explain": "Use con.explain(..) or ppdm-sql explain.",
    "prepare": "Give parameters to con.execute(sql, parameters).",
    "execute": "Give parameters to con.execute(sql, parameters).",
}
GENERATED = ("ppdm_scan", "ppdm_groups", "ppdm_sloped", "ppdm_rows", "ppdm_parts")
"""Names that only our own statements give."""


@dataclass(frozen=True)
class Statement:
    """`rewritten` runs in the place of `sql`, or None where `sql` runs as it is; `why` says which case it is.

    `renamed` runs in the place of `sql`, with its parameters, where only names of releases differ. `groups` are
    the relations of groups that it reads, each reconstructed when it runs.
    """

    sql: str
    why: str
    rewritten: str | None = None
    groups: tuple[Groups, ...] = ()
    plans: tuple[Plan, ...] = ()
    reads_only: bool = False
    tree: exp.Expr | None = None
    renamed: str | None = None

    @property
    def released(self) -> frozenset[str]:
        """The names of the tables that estimates are made from."""
        read = (piece.query.table for plan in self.plans for piece in plan.pieces)
        return frozenset(table.name.casefold() for source in read for table in source.find_all(exp.Table))


def understand(
    engine: EmbeddedEngine, session: Session, sql: str, parameters: Parameters, settings: Settings | None = None
) -> Statement:
    """Rewrite a statement that touches a release, let any other through untouched, refuse what cannot be answered.

    `settings` stand in for those of the session.
    """
    try:
        return _understand(engine, session, sql, parameters, settings or session.settings)
    except RecursionError:
        raise QueryError("the query is nested too deeply to be read: join fewer conditions at a time.") from None


def _understand(
    engine: EmbeddedEngine, session: Session, sql: str, parameters: Parameters, settings: Settings
) -> Statement:
    if SCANS.search(sql):
        raise QueryError("python_scan_all_frames would let SQL read the variables of ppdm_sql itself: it stays off.")
    short, lists = take_out(sql)
    tree = read(short)
    if tree is None:
        return _unread(session, engine, sql)
    tree = put_back(tree, lists)
    check_whole_databases(short, session.catalog(engine.con))
    as_is = Statement(sql, "touches no release: runs in DuckDB as it is", reads_only=isinstance(tree, READERS))
    touched = session.releases(engine.con, known_parameters(tree, parameters))
    if not touched:
        _check_seen(session, engine, sql, tree)
        renamed = listed(engine.con, session.catalog(engine.con), numbered(sql), tree)
        return replace(as_is, renamed=renamed)
    described = isinstance(tree, exp.Describe) and isinstance(tree.this, exp.Query)
    if isinstance(tree, exp.Describe | exp.Use | exp.Detach) and not described:
        at_home = session.located(engine.con, tree)
        return as_is if at_home is tree else replace(as_is, renamed=at_home.sql(dialect=engine.dialect))
    tree = tree.this if described else tree
    for table, manifest in touched:
        _check_kind(sql, tree, table, manifest)
    _check_compiled(sql, tree)
    _check_volatile(sql, tree, session.catalog(engine.con).volatile)
    tree = write_out(bind_parameters(tree, parameters), session.catalog(engine.con).macros)
    found = _Rewriting(engine, session, as_is, settings).of(tree)
    if described:  # the types of the answer, and not those of the perturbed rows
        return replace(found, rewritten=f"DESCRIBE {found.rewritten or tree.sql(engine.dialect)}", tree=None)
    return found


class _Rewriting:
    """Rewrites every SELECT of a statement that reads a release, the innermost first."""

    def __init__(self, engine: EmbeddedEngine, session: Session, as_is: Statement, settings: Settings) -> None:
        self.engine, self.session, self.as_is, self.settings = engine, session, as_is, settings
        self.plans: list[Plan] = []
        self.groups: list[Groups] = []
        self.rows = False

    def of(self, tree: exp.Expr) -> Statement:
        """The statement that runs in the place of `tree`."""
        before = tree
        tree = name_files(self.session.located(self.engine.con, tree), self.engine.is_called)
        aggregates = self.session.catalog(self.engine.con).aggregates
        note_written(self.as_is.sql, tree)
        tables = Tables(self.is_release, self.definition, self.columns_of, self.names_of, aggregates)
        tree = inline(self.as_is.sql, tree, tables)
        for select in self.readers(tree):
            replacement = self.select(select, select is tree)
            tree = replacement if select is tree else tree
            if replacement is not select and select is not tree:
                select.replace(replacement)
        align_intervals(tree)
        refuse_counted_groups(self.as_is.sql, tree)
        why = "reads rows: they are the release's own, perturbed"
        if self.plans:
            why = "reconstructed"
        elif not self.rows:
            why = "no perturbed column takes part: the answer is exact"
        elif tree == before:
            _check_seen(self.session, self.engine, self.as_is.sql, tree)
            return replace(self.as_is, why=why)
        as_one_relation(tree, self.groups)
        as_queries(tree, {name for plan in self.plans for name in plan.whole_numbers})
        text = tree.sql(dialect=self.engine.dialect, copy=False)
        return Statement(self.as_is.sql, why, text, tuple(self.groups), tuple(self.plans), reads_only=True, tree=tree)

    def select(self, select: exp.Select, outermost: bool) -> exp.Select:
        """What stands in the place of one SELECT that reads a release: itself, where it is exact or reads rows."""
        sql = self.as_is.sql
        written = select.copy()
        settings = self.settings if _shows_columns(select) else replace(self.settings, errors="off")
        engine = self.engine.seeing(in_sight(select))
        table = select.args["from_"].this
        if isinstance(table, exp.Table) and (released := self.manifest(table)) is not None:
            group_items(Query(sql, select, table, released))
        manifest = self.manifest(table) if isinstance(table, exp.Table) and not select.args.get("joins") else None
        aggregates = self.session.catalog(self.engine.con).aggregates
        joined, small = None, tuple[PerturbedColumn, ...]()
        if manifest is None:
            asking = SchemaLookup(self.manifest, engine.columns, aggregates)
            joined = Joined(
                sql,
                select,
                asking,
                lambda source, names: engine.is_unique(source.node, names),
                lambda one, other, names: engine.overlap(one.node, other.node, names),
            )
            query = run(UNDERSTAND, joined.query(settings))
        else:
            manifest, small = in_parts(manifest)
            query = run(UNDERSTAND, Query(sql, select, table, manifest, settings, aggregates))
        check_grouped(query)
        if joined is not None or touches_perturbed(query):
            refuse_correlated(query)
        if not touches_perturbed(query):
            if joined is not None:
                return joined.exact(query)
            return _without_perturbed(query, written)
        if not is_aggregate(query):
            if not outermost:
                refuse(
                    sql,
                    select,
                    "it hands rows of a release on to a larger query, which would read perturbed values as true ones.",
                    "Aggregate in it, or select columns without LIMIT, DISTINCT and ORDER BY.",
                )
            check_rows(query)
            self.rows = True
            return written
        query, used = parted(query, small)
        queries = each_set(query if joined is None else joined.checked(query))
        collected = [run(AGGREGATE, one) for one in queries]
        make: Callable[[Query, EmbeddedEngine], Plan] = make_plan if joined is None else joined.plan
        if used:
            make = functools.partial(plan_parts, used)
        plans = [sized(engine, check_shown(make(one, engine))) for one in collected]
        name = f"{GROUPS}{len(self.groups)}"
        found = answer(engine, plans, name)
        if found.groups is not None:
            self.groups.append(found.groups)
        self.plans += plans
        found.statement.meta[ANSWERED] = select
        mark_groups(collected[0], found.statement)
        found.statement.set("with_", select.args.get("with_"))
        return found.statement

    def readers(self, tree: exp.Expr) -> list[exp.Select]:
        """The SELECTs that read rows of releases, the innermost first, without those that only pass them on."""
        named = (t for t in tree.find_all(exp.Table) if not isinstance(t.parent, exp.Describe))  # that tells types only
        tables = [t for t in named if with_query(t) is None and self.is_release(t)]
        found, passing = [], set()
        for select in tree.find_all(exp.Select):
            rows = [node for source in sources(select) for node in passed(source, self.is_release)]
            passing |= {id(node) for node in rows}
            if rows:
                found.append(select)
        for table in tables:
            if id(table) not in passing:
                refuse(self.as_is.sql, table, "a release cannot be read here.", "Name it in FROM, without parentheses.")
        return [select for select in reversed(found) if id(select) not in passing]

    def manifest(self, table: exp.Table) -> Manifest | None:
        """The manifest of the release that a table is, if it is one."""
        found = self.session.releases(self.engine.con, table)
        return found[0][1] if found else None

    def is_release(self, table: exp.Table) -> bool:
        """Whether a table is a release."""
        return self.manifest(table) is not None

    def columns_of(self, table: exp.Table) -> frozenset[str] | None:
        """The columns of a release; None for other tables."""
        manifest = self.manifest(table) if with_query(table) is None else None
        return None if manifest is None else frozenset(column.name.casefold() for column in manifest.columns)

    def names_of(self, source: exp.Expr) -> frozenset[str] | None:
        """The columns of what stands in FROM; None where it depends on something else there."""
        found = self.columns_of(source) if isinstance(source, exp.Table) else None
        if found is not None:
            return found
        try:
            return frozenset(name.casefold() for name, _ in self.engine.columns(source))
        except QueryError:
            return None

    def definition(self, table: exp.Table) -> exp.Query | None:
        """The query behind a view that reads a release."""
        catalog = self.session.catalog(self.engine.con)
        if isinstance(table.this, exp.Func) or catalog.release(table) is not None:
            return None
        text = catalog.view(table)
        created = parse(text) if text else None
        if created is None:
            return None
        if not isinstance(created, exp.Create) or not isinstance(created.expression, exp.Query):
            refuse(self.as_is.sql, table, "the view reads a release in a form that cannot be checked.", "")
        if isinstance(created.this, exp.Schema):
            refuse(self.as_is.sql, table, "the view renames its columns, which is not supported on a release yet.", "")
        _check_compiled(self.as_is.sql, created)
        located = self.session.located(self.engine.con, created.expression)
        assert isinstance(located, exp.Query)
        return located


def _shows_columns(select: exp.Select) -> bool:
    """Whether further columns, such as the ends of intervals, may stand beside those that a SELECT has."""
    node: exp.Expr = select
    while isinstance(node.parent, exp.Subquery | exp.SetOperation):
        node = node.parent
    return node.parent is None or isinstance(node.parent, exp.From | exp.Join | exp.CTE)


def _check_seen(session: Session, engine: EmbeddedEngine, sql: str, tree: exp.Expr) -> None:
    """Refuse to let DuckDB run a text as it is in which it sees tables that we do not."""
    unseen = session.unseen(engine.con, sql, tree)
    if unseen is not None:
        raise QueryError(
            f"DuckDB reads {unseen.sql(dialect=engine.dialect)} in this statement, in a form that cannot be checked: "
            "write it as a plain SELECT."
        )


def _unread(session: Session, engine: EmbeddedEngine, sql: str) -> Statement:
    """A statement that is kept as text: let through where it is known that it leads to no release."""
    con = engine.con
    check_whole_databases(sql, session.catalog(con))
    words = [word.folded for word in words_of(sql)]
    first = words[0] if words else ""
    renamed = listed_text(con, session.catalog(con), sql)
    if first == "reset":  # a setting, whatever its name has in common with a release's
        return Statement(sql, "touches no release: runs in DuckDB as it is")
    if first == "show":  # tells names and types, or a setting
        return Statement(sql, "touches no release: runs in DuckDB as it is", reads_only=True, renamed=renamed)
    inside = prepared_inside(con, sql) if first == "execute" else statement_inside(sql)
    if session.reads_release(con, sql if inside is None else inside):
        raise QueryError(
            f"this {first.upper()} reads or changes a release, or could, in a form that cannot be checked: "
            f"{REMEDIES.get(first, 'Write it as a plain SELECT.')}"
        )
    return Statement(
        sql,
        "touches no release: runs in DuckDB as it is",
        reads_only=first == "explain" and "analyze" not in words,
        renamed=renamed,
    )


def _without_perturbed(query: Query, select: exp.Select) -> exp.Select:
    """A SELECT that needs no perturbed column, seeing none: whatever slipped through fails instead of reading one."""
    exact = [exp.column(exp.to_identifier(c.name, quoted=True)) for c in query.manifest.columns if c.perturbed is None]
    source = select.args["from_"].this
    alias = exp.TableAlias(this=exp.to_identifier(source.alias_or_name, quoted=True))
    table = source.copy()
    table.set("alias", None)
    for column in exact:
        column.meta[LOCAL] = True
    inner = exp.Select(expressions=exact or [exp.true()], from_=exp.From(this=table))
    source.replace(exp.Subquery(this=inner, alias=alias))
    return select


def _check_compiled(sql: str, tree: exp.Expr) -> None:
    """Refuse to reconstruct what is reconstructed already: the text that `compile` gives, in a query or a view."""
    for alias in tree.find_all(exp.TableAlias):
        if alias.name in GENERATED:
            refuse(
                sql,
                alias,
                "this is an answer that was compiled already, and would be reconstructed twice.",
                "Ask the query that it was made from, or store it by CREATE RECONSTRUCTED VIEW.",
            )


def _check_volatile(sql: str, tree: exp.Expr, volatile: frozenset[str]) -> None:
    """Refuse views and macros that draw at random: what they give on a domain is not what they give on the rows."""
    for node in tree.find_all(exp.Table, exp.Func) if volatile else ():
        plain = isinstance(node, exp.Func) and not isinstance(node, exp.Anonymous)
        named = set(node.sql_names()) if plain else {node.name}  # type: ignore[attr-defined]  # mypy sees an Expr
        if {name.casefold() for name in named} & volatile:
            refuse(sql, node, "it gives another value at each call, so its share is not known.", "Put a number in.")


def _check_kind(sql: str, tree: exp.Expr, table: exp.Table, manifest: Manifest | None) -> None:
    name = table.sql(dialect=ANALYST)
    where = place(sql, table)
    if manifest is None and (isinstance(table.this, exp.Func) or is_database_file(file_name(table))):
        raise Unsupported(
            f"Unsupported: {name} ({where}) reads a release or could: functions that take a table, SQL or a file's "
            "name cannot all be looked into. Name the release, or the file as plain text, in FROM."
        )
    if isinstance(tree, exp.Summarize):
        raise Unsupported(
            f"Unsupported: SUMMARIZE {name} ({where}) would read perturbed values as true ones. Count ranges instead."
        )
    if not isinstance(tree, exp.Query):
        kind = "TRUNCATE" if isinstance(tree, exp.TruncateTable) else tree.key.upper()
        raise Unsupported(f"Unsupported: {kind} on the release {name} ({where}): a release is only read.")
