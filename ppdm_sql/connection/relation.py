"""What `con.sql(..)` gives: DuckDB's relation, through which no aggregate of perturbed rows can be taken.

The answer to a query on a release holds estimates and nothing else, so all of DuckDB's methods work on it. Rows of a
release can be read, but not computed with. And no text given to a method may name a release: a relation runs its text
in DuckDB itself, where perturbed values would pass for true ones.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import duckdb

from ppdm_sql.connection.dbapi import as_dbapi
from ppdm_sql.connection.locked import check_part
from ppdm_sql.connection.results import polars_frame
from ppdm_sql.engine.duckdb.catalog import Name
from ppdm_sql.engine.duckdb.limits import Clock, by_place
from ppdm_sql.errors import Locked, QueryError, Unsupported
from ppdm_sql.policy.manifest import Manifest
from ppdm_sql.query.session import Session
from ppdm_sql.syntax.parse import parse

# fmt: off
READS = frozenset({
    "alias", "arrow", "close", "columns", "description", "df", "dtypes", "explain", "fetchall", "fetchdf",
    "fetchnumpy", "head", "iter_rows", "limit", "materialize", "offset", "pl", "preview", "set_alias", "shape",
    "show", "sql_query", "tf", "to_arrow_reader", "to_arrow_table", "to_df", "to_dicts", "torch", "type", "types",
})
# fmt: on
"""What only reads rows, as they are."""

FILES = frozenset({"to_csv", "to_parquet", "write_csv", "write_parquet"})
"""What writes rows into a file, where perturbed ones would pass for true ones later; a file may have any name."""

VIEWS = frozenset({"create_view", "to_view"})
STORES = VIEWS | {"create", "insert", "insert_into", "to_table", "update"}
WRITES = STORES | {"query"}

RESULTS = frozenset(
    {
        "arrow",
        "df",
        "fetch_arrow_reader",
        "fetch_arrow_table",
        "fetch_record_batch",
        "fetchall",
        "fetchdf",
        "fetchnumpy",
        "iter_rows",
        "tf",
        "to_arrow_reader",
        "to_arrow_table",
        "to_df",
        "to_dicts",
        "torch",
    }
)
"""What hands all rows over."""

LAZY = frozenset(["fetch_arrow_reader", "fetch_record_batch", "iter_rows", "to_arrow_reader"])
"""Those that read rows only when they are asked for the next, after the call: where time is limited, they have read."""


EMPTY: Mapping[Name, Manifest] = MappingProxyType({})


@dataclass(frozen=True)
class Guard:
    """Knows the releases in sight of a connection."""

    con: duckdb.DuckDBPyConnection
    session: Session
    clock: Clock

    def reads_release(self, sql: str) -> bool:
        """Whether a statement that DuckDB runs as it stands reads a release."""
        return self.session.reads_release(self.con, sql)

    def releases(self, tables: Collection[str]) -> Mapping[Name, Manifest]:
        """The releases in sight with one of some names."""
        if not tables:
            return {}
        return {name: found for name, found in self.session.catalog(self.con).releases.items() if name[2] in tables}

    def check_same(self, seen: Mapping[Name, Manifest]) -> None:
        """Refuse to read by the parameters of releases that others have replaced."""
        now = self.releases({table for _, _, table in seen})
        for name, manifest in seen.items():
            if name in now and now[name] != manifest:
                raise QueryError(
                    f"the release {manifest.table!r} has changed since this answer was asked for: ask again."
                )

    def check(self, what: str, value: Any) -> None:
        """Refuse texts that name a release, however deep in an argument."""
        if isinstance(value, str | duckdb.Expression):
            text = str(value)
            tree = parse(text) or parse(f"SELECT {text}")
            if self.session.locked:
                check_part(self.con, self.session.catalog(self.con), what, text, tree, self.session.withheld)
            touched = tree is not None and self.session.releases(self.con, tree)
            if touched or self.session.may_reach_release(self.con, text):
                raise QueryError(f"{what} may not name a release: write the whole query as con.sql('SELECT ..').")
        elif isinstance(value, Mapping):
            self.check(what, [*value.keys(), *value.values()])
        elif isinstance(value, list | tuple | set | frozenset):
            for part in value:
                self.check(what, part)


class Relation:
    """A query's result, read anew by each of its methods: fetchall(), df(), to_arrow_table(), show(), filter(..), ..

    `sql` is the statement where DuckDB runs it as it stands, None where the relation is an answer, made by the
    parameters of the releases `seen`.
    """

    def __init__(
        self,
        relation: duckdb.DuckDBPyRelation,
        guard: Guard,
        sql: str | None = None,
        seen: Mapping[Name, Manifest] = EMPTY,
    ) -> None:
        self._relation = relation
        self._guard = guard
        self._sql = sql
        self._seen = seen

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"'Relation' object has no attribute {name!r}")
        found = getattr(self._relation, name)
        if not callable(found) or isinstance(found, duckdb.DuckDBPyRelation):
            return self._wrapped(found)
        return functools.wraps(found)(functools.partial(self._call, name, found))

    def _call(self, name: str, method: Any, *args: Any, **kwargs: Any) -> Any:
        return self._timed(functools.partial(self._run, name, method, args, kwargs))

    def _run(self, name: str, method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if name in RESULTS:
            method = getattr(self._within_limits(name), name)
        elif name not in READS:
            self._check(name)
            if name not in FILES:
                self._guard.check(f"{name}(..)", [*args, *kwargs.values()])
            args = tuple(plain(arg, name) for arg in args)
            kwargs = {key: plain(value, name) for key, value in kwargs.items()}
        result = method(*args, **kwargs)
        if name in WRITES:
            self._guard.session.forget()
        return self._wrapped(result)

    def _within_limits(self, name: str) -> duckdb.DuckDBPyRelation:
        """The relation, run already where its rows are limited: one too many tells that there are more."""
        limits = self._guard.session.limits
        if limits.max_rows is None:
            return self._relation.materialize() if limits.timeout is not None and name in LAZY else self._relation
        rows = self._relation.limit(limits.max_rows + 1).materialize()
        if len(rows) > limits.max_rows:
            raise limits.refuse_rows()
        return rows.project(by_place(self._relation.columns))

    def _check(self, name: str) -> None:
        if self._guard.session.locked and name in FILES | STORES:
            raise Locked(f"this connection is locked: {name}(..) writes, which is not allowed.")
        if self._sql is None and name in VIEWS:
            raise Unsupported(
                f"Unsupported: {name}(..) of an answer would store how the release is read, not the query. "
                "Use CREATE RECONSTRUCTED VIEW, or create(..) to keep the numbers in a table."
            )
        if self.holds_rows:
            raise Unsupported(
                f"Unsupported: {name}(..) on rows of a release would take perturbed values for true ones. "
                "Write the whole query as con.sql('SELECT ..')."
            )

    @property
    def holds_rows(self) -> bool:
        """Whether these are rows of a release: perturbed, to be read and not to be computed with."""
        return self._sql is not None and self._guard.reads_release(self._sql)

    def _wrapped(self, result: Any) -> Any:
        if isinstance(result, duckdb.DuckDBPyRelation):
            return Relation(result, self._guard, self._sql, self._seen)
        return result

    def pl(self) -> Any:
        """The rows as a polars frame."""
        return polars_frame(self._call("to_arrow_table", self._relation.to_arrow_table))

    def __getitem__(self, name: str) -> Relation:
        return Relation(self._relation[name], self._guard, self._sql, self._seen)

    def __contains__(self, name: str) -> bool:
        return name in self._relation

    def __len__(self) -> int:
        return int(self._timed(lambda: len(self._relation)))

    def __repr__(self) -> str:
        return str(self._timed(lambda: repr(self._relation)))

    def __str__(self) -> str:
        return str(self._timed(lambda: str(self._relation)))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return self._timed(lambda: self._relation._repr_mimebundle_(include, exclude))

    def _timed(self, shown: Callable[[], Any]) -> Any:
        self._guard.clock.renew()
        with as_dbapi():
            self._guard.session.check_files()
            self._guard.check_same(self._seen)
            return self._guard.clock.run(shown)

    def __dir__(self) -> Iterable[str]:
        return sorted({*super().__dir__(), *(name for name in dir(self._relation) if not name.startswith("_"))})


def plain(value: Any, what: str) -> Any:
    """DuckDB's own relation for one of ours; refused for rows of a release, which may not be computed with."""
    if isinstance(value, Relation):
        value._check(what)
        return value._relation
    return value


def stored(value: Any, what: str) -> Any:
    """The numbers of an answer, for a view on it would read the release; anything else as `plain` has it."""
    if isinstance(value, Relation) and value._sql is None:
        return value._relation.to_arrow_table()
    return plain(value, what)


def plain_or_same(value: Any) -> Any:
    """DuckDB's own relation for one of ours, unless it holds rows of a release: of those DuckDB then says it cannot."""
    return value._relation if isinstance(value, Relation) and not value.holds_rows else value
