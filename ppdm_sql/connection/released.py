"""What a connection knows of a release beside the answers to SQL: its public parameters, and supports of itemsets."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import duckdb
from sqlglot import exp
from sqlglot.errors import SqlglotError

from ppdm_sql.connection.dbapi import as_dbapi
from ppdm_sql.engine.duckdb.basket_rows import supports_of
from ppdm_sql.errors import QueryError
from ppdm_sql.itemsets.supports import Supports
from ppdm_sql.mechanisms.baskets.column import BasketColumn
from ppdm_sql.policy.manifest import Manifest
from ppdm_sql.query.session import Session
from ppdm_sql.syntax.dialects import ANALYST
from ppdm_sql.syntax.quoting import quote_name

Result = TypeVar("Result")


class Released:
    """The part of a connection that looks at releases themselves."""

    _con: duckdb.DuckDBPyConnection
    _session: Session

    @abstractmethod
    def _within_limits(self, work: Callable[[], Result]) -> Result: ...

    def manifest(self, table: str) -> Manifest:
        """The public parameters of a released table, named as in SQL."""
        with as_dbapi():
            found = self._session.catalog(self._con).release(_named(table))
        if found is None:
            raise QueryError(f"{table!r} is not a release that this connection can see.")
        return found

    def manifests(self) -> list[Manifest]:
        """The public parameters of all releases in sight, by the names of their tables."""
        with as_dbapi():
            return sorted(self._session.catalog(self._con).releases.values(), key=lambda manifest: manifest.table)

    def rows_of(self, table: str) -> str:
        """The name of the rows of a released table in the database itself, in SQL."""
        named = self._session.located(self._con, _named(table))
        return named.sql(dialect=ANALYST, identify=True)

    def supports(self, table: str, column: str, itemsets: Sequence[Sequence[Any]]) -> Supports:
        """How many baskets hold each of some itemsets of one length: estimates, errors, covariances; in one scan."""
        return self._within_limits(functools.partial(self._supports, table, column, itemsets))

    def _supports(self, table: str, column: str, itemsets: Sequence[Sequence[Any]]) -> Supports:
        for released in self.manifest(table).columns:
            if released.name.casefold() == column.casefold() and isinstance(released.perturbed, BasketColumn):
                name = self.rows_of(table)
                return supports_of(self._con, name, released.perturbed, itemsets)
        raise QueryError(f"{column!r} is not a column of randomized baskets of {table}.")


def name_in_sql(table: str) -> str:
    """A table that is named as in SQL, each part of its name in quotes.

    >>> name_in_sql('main."my.table"')
    '"main"."my.table"'
    """
    return ".".join(quote_name(part.name) for part in _named(table).parts)


def _named(table: str) -> exp.Table:
    try:
        named = exp.to_table(table, dialect=ANALYST)
    except SqlglotError:
        named = None
    if not isinstance(named, exp.Table) or not named.name:
        raise QueryError(f"{table!r} is not the name of a table in SQL: quote what is not a plain word.")
    return named
