"""What an analyst holds: a stand-in for a DuckDB connection that answers queries on releases by reconstruction."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import TracebackType
from typing import Any, TypeVar
from weakref import WeakSet

import duckdb
from sqlglot import exp

from ppdm_sql.connection.caller_variables import with_variables_of_caller
from ppdm_sql.connection.connection_methods import PASSED, REACHING, RELATIONS, TABLES, why_withheld
from ppdm_sql.connection.dbapi import as_dbapi
from ppdm_sql.connection.locked import check_locked
from ppdm_sql.connection.relation import Guard, Relation, plain_or_same, stored
from ppdm_sql.connection.released import Released
from ppdm_sql.connection.results import Results
from ppdm_sql.engine.duckdb.catalog import RECONSTRUCTED
from ppdm_sql.engine.duckdb.dense_groups import DenseGroupSetting
from ppdm_sql.engine.duckdb.embedded import EmbeddedEngine, first_line
from ppdm_sql.engine.duckdb.limits import Clock, Quota
from ppdm_sql.errors import Locked, QueryError
from ppdm_sql.publishing_sql.statements import (
    CreateReconstructed,
    DescribePerturbed,
    PublishingText,
    ShowPerturbed,
    split_publishing,
)
from ppdm_sql.query.compile import compile_statement
from ppdm_sql.query.execute.answer import relation
from ppdm_sql.query.explain import explain_rewritten
from ppdm_sql.query.plan.varying import varying
from ppdm_sql.query.session import Session
from ppdm_sql.query.statement import Statement, understand
from ppdm_sql.query.statement_text import setting_of, without_end, words_of
from ppdm_sql.syntax.dialects import ANALYST
from ppdm_sql.syntax.parse import Parameters
from ppdm_sql.syntax.quoting import quote_name, quote_text

Result = TypeVar("Result")

TELLING = {"describe", "desc", "explain", "show", "summarize"}
"""What statements begin with that read and give no rows of tables."""

PARAMETERS_LAST = (
    "Not implemented Error: Prepared parameters are only supported for the last statement, please split your query up "
    "into separate 'execute' calls if you want to use prepared parameters"
)
"""What DuckDB says itself; its own check comes too late where statements run one by one."""


class Connection(Results, Released):
    """Runs SQL: on releases by reconstruction, on everything else as DuckDB does.

    A connection is its own cursor, as DuckDB's is: `execute` returns it, and it holds one result at a time. `cursor()`
    gives another, with results, settings and a transaction of its own.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection, session: Session) -> None:
        self._con = con
        self._session = session
        self._clock = Clock(con, session.limits, session.locked)
        self._quota = Quota(session.limits)
        self._guard = Guard(con, session, self._clock)
        self._executed = False
        self._room = DenseGroupSetting(con)
        self._cursors: WeakSet[Connection] = WeakSet()

    def execute(self, query: str | duckdb.Statement, parameters: Parameters = None) -> Connection:
        """Run one or several statements; the last one's result can be fetched."""

        def work() -> None:
            statements = self._statements(query, parameters)
            self._con.execute("")  # no earlier result is left, whatever happens now
            self._room.give_back()
            self._executed = True
            try:
                for parsed, values in statements:
                    self._execute(parsed, values)
            except BaseException:
                self._con.execute("")
                raise

        self._within_limits(work)
        return self

    def _execute(self, parsed: duckdb.Statement | PublishingText, values: Parameters) -> None:
        statement = self._understand(parsed, values)
        if statement is None:
            self._con.execute("")
        elif statement.rewritten is None:
            limited = self._quota.limited and gives_rows(statement)
            query = (
                self._limited(statement.renamed or statement.sql, values) if limited else statement.renamed or parsed
            )
            self._as_it_is(self._con.execute, {"query": query}, {"parameters": values})
            self._after(statement)
        else:
            self._answer(statement, self._con.execute)

    def executemany(self, query: str | duckdb.Statement, parameters: Iterable[Any] | None = None) -> Connection:
        """Run a statement once for each set of parameters; not for queries on releases."""
        sets = list(parameters or [])

        def work() -> None:
            for parsed, values in self._statements(query, sets[0] if sets else None):
                statement = self._understand(parsed, values, run=False)
                if statement is None or statement.rewritten is not None:
                    raise QueryError("executemany is for statements that change tables; a release is only read.")
            self._as_it_is(self._con.executemany, {"query": query}, {"parameters": sets})
            self._session.forget()

        self._within_limits(work)
        return self

    def sql(self, query: str | duckdb.Statement, params: Parameters = None, *, alias: str = "") -> Relation | None:
        """Run statements, and give the last one's result as a relation: fetchall(), df(), to_arrow_table(), .."""

        def work() -> Relation | None:
            result = None
            for parsed, values in self._statements(query, params):
                result = self._relation(parsed, values, alias)
            return result

        return self._within_limits(work)

    query = sql

    def _relation(self, parsed: duckdb.Statement | PublishingText, values: Parameters, alias: str) -> Relation | None:
        self._check_fetched()
        statement = self._understand(parsed, values)
        if statement is None:
            return None
        if statement.rewritten is not None:
            answer = self._answer(statement, self._con.sql)
            estimates = bool(statement.plans) or isinstance(parsed, PublishingText)
            answer = answer.set_alias(alias) if alias else answer
            if not estimates:
                return Relation(answer, self._guard, statement.sql)
            return Relation(answer, self._guard, seen=self._guard.releases(statement.released))
        found = self._as_it_is(
            self._con.sql, {"query": statement.renamed or parsed, "alias": alias}, {"params": values}
        )
        self._after(statement)
        return None if found is None else Relation(found, self._guard, statement.sql)

    def explain(self, query: str, parameters: Parameters = None) -> str:
        """What a query will do: columns, cells with their shares, method, and the SQL that runs."""

        def work() -> str:
            parts = []
            for parsed, values in self._statements(query, parameters):
                self._check_fetched()
                statement = self._understand(parsed, values, run=False)
                parts.append("a setting of ppdm_sql" if statement is None else explain_rewritten(statement))
            return "\n\n".join(parts)

        return self._within_limits(work)

    def compile(self, query: str, dialect: str = ANALYST, parameters: Parameters = None) -> str:
        """The answer to a query on a release as one statement of SQL, for an engine that holds the release's rows."""

        def work() -> str:
            self._check_fetched()
            if self._session.locked:
                check_locked(self._con, self._session.catalog(self._con), query, self._session.withheld)
            return compile_statement(EmbeddedEngine(self._con), self._session, query, parameters, dialect)

        return self._within_limits(work)

    def _within_limits(self, work: Callable[[], Result]) -> Result:
        """Begin with another statement, within the limits of the connection."""
        self._clock.renew()
        self._quota.renew()
        with as_dbapi():
            self._session.check_files()
            return self._clock.run(work)

    def _limited(self, sql: str, values: Parameters) -> str:
        """A query that gives no more rows than there may be, and one; itself where there is no limit."""
        if not self._quota.limited:
            return sql
        found = self._as_it_is(self._con.sql, {"query": sql}, {"params": values})
        return self._session.limits.one_too_many(without_end(sql), found.columns)

    def begin(self) -> Connection:
        """Start a transaction."""
        return self._transaction(self._con.begin)

    def commit(self) -> Connection:
        """Keep what the transaction did."""
        return self._transaction(self._con.commit)

    def rollback(self) -> Connection:
        """Undo what the transaction did."""
        return self._transaction(self._con.rollback)

    def _transaction(self, step: Callable[[], Any]) -> Connection:
        step()
        self._session.forget()
        return self

    def register(self, view_name: str, python_object: object) -> Connection:
        """Give a frame, an Arrow table or a relation a name that queries can use."""
        with as_dbapi():
            self._con.register(view_name, stored(python_object, "register"))
        self._session.forget()
        return self

    def unregister(self, view_name: str) -> Connection:
        """Take the name away."""
        self._con.unregister(view_name)
        self._session.forget()
        return self

    def interrupt(self) -> None:
        """Stop what runs here and on cursors made from here, from another thread."""
        self._clock.interrupt()
        for cursor in list(self._cursors):
            with suppress(duckdb.ConnectionException):  # it was closed meanwhile, by the thread that used it
                cursor.interrupt()

    def cursor(self) -> Connection:
        """A second connection to the same database, with results and settings of its own."""
        con = self._con.cursor()
        if self._session.home is not None:
            con.execute(f"USE {quote_name(self._session.home)}")
        cursor = Connection(con, self._session.copy())
        self._cursors.add(cursor)
        return cursor

    duplicate = cursor

    def close(self) -> None:
        """Close the connection; once more does nothing."""
        self._con.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        if name not in PASSED | RELATIONS | TABLES:
            raise AttributeError(why_withheld(name))
        return functools.partial(self._pass, name)

    def _pass(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """A method of DuckDB's connection that has nothing to do with releases."""
        given = [*args, *kwargs.values()]
        with as_dbapi():
            if self._session.locked and name in REACHING | TABLES:
                raise Locked(f"this connection is locked: {name}(..) reaches beyond the release, and is not allowed.")
            self._guard.check(f"{name}(..)", given[:1] if name in TABLES else [a for a in given if _is_expression(a)])
        result = getattr(self._con, name)(*args, **kwargs)
        if isinstance(result, duckdb.DuckDBPyRelation):
            return Relation(result, self._guard, "")
        return self if result is self._con else result

    def _statements(
        self, query: str | duckdb.Statement, parameters: Parameters
    ) -> list[tuple[duckdb.Statement | PublishingText, Parameters]]:
        """The statements of a text; parameters belong to the last."""
        if isinstance(query, duckdb.Statement):
            return [(query, parameters)]
        found: list[duckdb.Statement | PublishingText] = []
        for piece in split_publishing(query):
            found += [piece] if isinstance(piece, PublishingText) else self._con.extract_statements(piece)
        if parameters is not None and any(statement.named_parameters for statement in found[:-1]):
            self._con.execute("")
            raise duckdb.NotImplementedException(PARAMETERS_LAST)
        return [(statement, parameters if statement is found[-1] else None) for statement in found]

    def _understand(
        self, parsed: duckdb.Statement | PublishingText, parameters: Parameters, run: bool = True
    ) -> Statement | None:
        """None for a setting of ours, which is made (unless `run` is False)."""
        session, sql = self._session, parsed.query
        if isinstance(parsed, PublishingText):
            if session.locked and not isinstance(parsed.statement, DescribePerturbed | ShowPerturbed):
                raise Locked("this connection is locked: nothing is published, stored or dropped through it.")
            return self._publish(parsed, parameters) if run else Statement(sql, "publishing", sql)
        if kind_of(parsed) == duckdb.StatementType.TRANSACTION:  # ROLLBACK must work where nothing else does
            return Statement(sql, "a transaction: runs in DuckDB as it is")
        if kind_of(parsed) == duckdb.StatementType.DETACH and not session.locked:  # so must DETACH of what is damaged
            return Statement(sql, "takes a database away: runs in DuckDB as it is")
        setting = setting_of(sql)
        if setting is None:
            if session.locked:
                check_locked(self._con, session.catalog(self._con), sql, session.withheld)
            return understand(EmbeddedEngine(self._con), session, sql, parameters)
        name, value = setting
        changed = session.settings.reset(name) if value is None else session.settings.with_setting(name, value)
        if run:
            session.settings = changed
        return None

    def _publish(self, text: PublishingText, parameters: Parameters) -> Statement | None:
        """Run a publishing statement; None where it has no result."""
        from ppdm_sql.publishing_sql.running import run_publishing  # noqa: PLC0415  # heavy, and an analyst never needs it

        if isinstance(text.statement, CreateReconstructed):
            self._store_answer(text.statement, parameters)
            return None
        con, session = self._con, self._session
        reads_release = functools.partial(session.reads_release, con)
        done = run_publishing(text.statement, con, session.key, session.catalog(con), reads_release, parameters)
        session.key = done.key
        session.forget()
        return None if done.result is None else Statement(text.query, "publishing", done.result)

    def _store_answer(self, view: CreateReconstructed, parameters: Parameters) -> None:
        """Store an answer as plain SQL; the comment tells us, when we read the view, that it is one."""
        answer = compile_statement(EmbeddedEngine(self._con), self._session, view.query, parameters, ANALYST)
        if self._session.catalog(self._con).release(exp.to_table(view.name, dialect=ANALYST)) is not None:
            raise QueryError(
                f"{view.name} is the release itself: here it would go on to mean the perturbed rows, and the answer "
                "elsewhere. Name the view otherwise."
            )
        create = "CREATE OR REPLACE VIEW" if view.replace else "CREATE VIEW"
        self._con.execute(f"{create} {view.name} AS {answer}")
        self._con.execute(f"COMMENT ON VIEW {view.name} IS {quote_text(RECONSTRUCTED)}")
        self._session.forget()

    def _as_it_is(self, run: Callable[..., Result], always: dict[str, Any], given: dict[str, Any]) -> Result:
        """Let DuckDB run what touches no release, with the caller's variables in sight."""
        arguments = always | {name: value for name, value in given.items() if value is not None}
        return with_variables_of_caller(run, arguments, plain_or_same)

    def _answer(self, statement: Statement, run: Callable[[str], Any]) -> Any:
        """Run what stands in a query's place; what DuckDB finds wrong with it is wrong with the query."""
        assert statement.rewritten is not None
        try:
            if not statement.groups:
                return self._run(statement, run)
            name, groups = relation(statement.groups)
            answer = self._con.from_arrow(groups).query(name, statement.rewritten)
            assert answer is not None
            return answer if run == self._con.sql else run(self._limited(answer.sql_query(), None))
        except (duckdb.ProgrammingError, duckdb.DataError) as error:
            raise QueryError(first_line(error)) from None

    def _run(self, statement: Statement, run: Callable[[str], Any]) -> Any:
        """Run an answer that is one statement, with room for its groups where they are many."""
        text = statement.rewritten or ""
        text = text if run == self._con.sql else self._limited(text, None)
        if not any(plan.many_groups for plan in statement.plans):
            answer = run(text)
            changing = run == self._con.sql and varying(statement.plans) is not None
            return answer.materialize() if changing else answer  # the shares in it are those of now
        self._room.make()
        answer = run(text)
        if run == self._con.sql:  # a relation is planned when it runs, which must be while there is room
            answer = answer.materialize()
            self._room.give_back()
        return answer

    def _check_fetched(self) -> None:
        """Our own questions to DuckDB would end a result that is not fetched yet: let DuckDB say what to do."""
        if self._executed:
            self._con.sql("SELECT 1").fetchall()
            self._executed = False
        self._room.give_back()

    def _after(self, statement: Statement) -> None:
        if not statement.reads_only:
            self._session.forget()


def kind_of(parsed: duckdb.Statement) -> duckdb.StatementType:
    """The kind of a statement; DuckDB's Python package has no name for some."""
    try:
        return parsed.type
    except ValueError:
        raise QueryError(
            f"this kind of statement cannot be run here: {parsed.query.split(maxsplit=1)[0].upper()}."
        ) from None


def gives_rows(statement: Statement) -> bool:
    """Whether a statement may stand in FROM, and gives rows of tables: not names or settings, which are few."""
    return statement.reads_only and not {word.folded for word in words_of(statement.sql, 1)} & TELLING


def _is_expression(value: object) -> bool:
    return isinstance(value, duckdb.Expression)
