"""Locked connections: SQL of strangers may ask the release, and reach nothing else.

DuckDB itself is told to open no file but the release, to load no extension and to change no setting. On top of that
only statements that read are let through, and of DuckDB's functions that give a table only those that are known to
tell nothing of the machine.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from itertools import pairwise
from pathlib import Path

import duckdb
from sqlglot import exp

from ppdm_sql.engine.duckdb.catalog import Catalog
from ppdm_sql.engine.duckdb.dense_groups import SETTING
from ppdm_sql.errors import Locked, QueryError, ReleaseError
from ppdm_sql.query.release_references import FILE_ENDINGS, READERS, file_name
from ppdm_sql.query.statement_text import STATEMENTS, Word, read, statement_inside, words_of
from ppdm_sql.release.stored import MANIFEST_MACRO
from ppdm_sql.syntax.dialects import ANALYST
from ppdm_sql.syntax.long_lists import take_out
from ppdm_sql.syntax.quoting import quote_text
from ppdm_sql.syntax.written_out import columns_written_out, tables_written_out, terms_written_out

CLOSED = {
    "allow_community_extensions": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "temp_directory": "''",
    "allowed_configs": f"['{SETTING}', 'schema', 'search_path']",
    "enable_external_access": "false",
    "lock_configuration": "true",
}
"""Settings of DuckDB, in the order in which they are made. The configs are those that we change ourselves."""

TABLES = frozenset(
    {
        *("duckdb_columns", "duckdb_constraints", "duckdb_functions", "duckdb_indexes", "duckdb_keywords"),
        *("duckdb_schemas", "duckdb_tables", "duckdb_types", "generate_series", "icu_calendar_names", "json_each"),
        *("json_tree", "pg_timezone_names", "pragma_collations", "pragma_table_info", "pragma_version"),
        *("range", "generateseries", "unnest", "explode"),
    }
)
"""Functions that give a table, and views of DuckDB's by the same names, which tell nothing of the machine."""

PREFIXES = ("__internal_", "duckdb_", "inet_", "pragma_", "sqlite_")
"""What names begin with that tell of the machine, or of paths, or that trust what they are given."""

MACHINE = frozenset(
    {
        *("current_setting", "getenv", "getvariable", "json_serialize_plan", "pg_get_viewdef", "pg_settings"),
        *("pg_sleep", "pg_tablespace", "pg_views", "sleep_ms", "write_log"),
        *("combine", "finalize", "export_state", "to_aggregate_state", "variant_bytes_to_variant", "aggregate_state"),
    }
)
"""Other views and functions that tell settings or paths, wait, write, or take bytes for states of their own."""

SERIES = frozenset(["generate_series", "range"])
LENGTHS = frozenset(["array_resize", "bar", "bitstring", "list_resize", "lpad", "pad", "repeat", "rpad"])
"""Functions that make one value as long as they are told: by each of their arguments, or by those after the first.

The tree calls lpad and rpad pad, and behind a dot by their own names.
"""

LONGEST = 10_000
"""Such a value is not counted by DuckDB's memory limit, nor can its making be interrupted."""

NESTED = frozenset(
    {
        *("from_json", "from_json_strict", "json_contains", "json_group_structure", "json_structure"),
        *("json_transform", "json_transform_strict", "make_type"),
    }
)
"""Functions that go into a JSON text as deep as it is, or make a type that does: a deep one ends the process."""

DISTANCES = frozenset(["damerau_levenshtein", "editdist3", "jaro_similarity", "jaro_winkler_similarity", "levenshtein"])
"""Functions that take as many steps as one text's length times the other's, and cannot be interrupted."""

SHORT = 100
"""How long one of the texts may be."""

FORMATS = frozenset(["format", "printf"])
WIDTH = re.compile(r"[%{][^}]*(?:\d{5}|\*|\{)")
"""What pads to a width of five digits, or to one that is given elsewhere."""

SHOWN = frozenset(["tables", "databases", "schemas", "all"])
CHANGES = frozenset({("insert", "into"), ("insert", "or"), ("delete", "from"), ("merge", "into")})
"""What statements that change tables begin with; one may stand in a WITH clause."""

MOST_TERMS = 10_000
MOST_TABLES = 1_000
"""How many tables a query may read that is written out: DuckDB cannot be interrupted while it plans."""

WRITTEN_OUT = (
    ("tables", tables_written_out, MOST_TABLES),
    ("columns", columns_written_out, 4_000),
    ("terms in one item", terms_written_out, MOST_TERMS),
)
"""What a query may have at most: DuckDB cannot be interrupted while it plans."""

OPERATORS = re.compile(r"\W+|is .*")
"""What operators are called that are functions too: "<" or "IS DISTINCT FROM"."""

BROUGHT = "NOT internal AND database_name NOT IN ('memory', 'system', 'temp')"
"""What is a database's own; temporary views are frames that the program has registered."""

FILE_SIGNS = frozenset("./\\*?[:")


def lock(con: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> frozenset[str]:
    """Let DuckDB open these files and no others, and let nothing of that be changed again.

    What is given back are names of what databases brought along and nobody may use.
    """
    listed = ", ".join(quote_text(str(file)) for file in files)
    con.execute(f"SET allowed_paths = [{listed}]")
    for name, value in CLOSED.items():
        con.execute(f"SET {name} = {value}")
    return withheld_names(con)


def withheld_names(con: duckdb.DuckDBPyConnection) -> frozenset[str]:
    """Functions of the databases' own, and views and tables with expressions that nobody could write here himself.

    ReleaseError where such a function bears the name of one of DuckDB's, which our own statements call too.
    """
    macros = {
        name.casefold()
        for (name,) in con.execute(
            f"SELECT function_name FROM duckdb_functions() WHERE {BROUGHT} "
            f"AND NOT starts_with(lower(function_name), {quote_text(MANIFEST_MACRO)})"
        ).fetchall()
    }
    own = con.execute("SELECT DISTINCT lower(function_name) FROM duckdb_functions() WHERE internal").fetchall()
    if taken := sorted(macros & {name for (name,) in own}):
        raise ReleaseError(
            f"the database holds a function of its own that is called as one of DuckDB's, {taken[0]!r}: a locked "
            "connection does not open it."
        )
    found = con.execute(
        f"SELECT view_name, sql FROM duckdb_views() WHERE {BROUGHT} UNION ALL "
        f"SELECT table_name, sql FROM duckdb_tables() WHERE {BROUGHT} AND contains(upper(sql), 'GENERATED')"
    ).fetchall()
    stored = [(name.casefold(), sql) for name, sql in found]
    withheld = macros | {name for name, _ in stored if _times_read(name, dict(stored)) > MOST_TABLES}
    while new := {name for name, sql in stored if name not in withheld and not _may_be_read(con, sql, withheld)}:
        withheld |= new
    return frozenset(withheld)


def _may_be_read(con: duckdb.DuckDBPyConnection, sql: str, withheld: Set[str]) -> bool:
    tree = read(sql)
    try:
        if tree is None:
            return False
        words = words_of(sql)
        _check_names(words, withheld)
        _check_words(con, words)
        _check_inside(tree.expression if isinstance(tree.expression, exp.Query) else tree, Catalog())
    except (Locked, RecursionError):
        return False
    return True


def _times_read(name: str, stored: Mapping[str, str]) -> int:
    """How many tables and views are read where a view is, by which all those are too that it names."""
    sizes: dict[str, int] = {}

    def size(one: str) -> int:
        if one not in sizes:
            sizes[one] = 1  # what it is to itself
            sizes[one] = 1 + sum(size(word.folded) for word in words_of(stored[one]) if word.folded in stored)
        return sizes[one]

    return size(name)


def _check_names(words: Sequence[Word], withheld: Set[str]) -> None:
    for word in words:
        if not word.is_string and word.folded in withheld:
            raise Locked(
                f"this connection is locked: nobody has looked into {word.text}, which came with the database."
            )


def check_locked(con: duckdb.DuckDBPyConnection, catalog: Catalog, sql: str, withheld: Set[str] = frozenset()) -> None:
    """Refuse what a locked connection does not run: all but reading, and reading of what is none of the release's.

    The words are checked as DuckDB takes them, the tables and calls as we understand them: both are run.
    """
    words = words_of(sql)
    first = words[0].folded if words else ""
    _check_names(words, withheld)
    _check_words(con, words)
    inside = statement_inside(sql) if first in ("explain", "show") else None
    if first == "show" and inside is None:
        return
    try:
        _check_read(read(take_out(sql if inside is None else inside)[0]), catalog, first)
    except RecursionError:
        raise QueryError("the query is nested too deeply to be read: join fewer conditions at a time.") from None


def _check_read(tree: exp.Expr | None, catalog: Catalog, first: str) -> None:
    if not isinstance(tree, READERS) or tree.find(exp.DML, exp.DDL, exp.Command) not in (None, tree):
        raise Locked(
            f"this connection is locked: {first.upper() or 'this'} is not allowed, only queries and SET ppdm_.. are."
        )
    _check_inside(tree, catalog)


def check_part(
    con: duckdb.DuckDBPyConnection,
    catalog: Catalog,
    what: str,
    text: str,
    tree: exp.Expr | None,
    withheld: Set[str] = frozenset(),
) -> None:
    """Refuse what a text that becomes part of a query may not hold, nor what cannot be read of it."""
    if tree is None or (isinstance(tree, STATEMENTS) and not isinstance(tree, READERS)):
        raise Locked(f"this connection is locked: what {what} was given is not a part of a query that can be read.")
    words = words_of(text)
    _check_names(words, withheld)
    _check_words(con, words)
    _check_inside(tree, catalog)


def _check_words(con: duckdb.DuckDBPyConnection, words: Sequence[Word]) -> None:
    texts = [word for word in words if not word.is_string]
    names = [word.folded for word in texts]
    for word, after in pairwise(texts):
        if after.text.startswith("(") and _is_operator(word):
            raise Locked(f"this connection is locked: {word.text} is an operator, and not called as a function is.")
    for name in names:
        if name in MACHINE or (name.startswith(PREFIXES) and name not in TABLES):
            raise _machine(name)
    for name, following in pairwise(names):
        if following.startswith("(") and name in _forbidden_tables():
            raise _machine(name)
        if name == "show" and following not in SHOWN and _is_setting(con, following):
            raise Locked(f"this connection is locked: its setting {following} is not shown.")
        if (name, following) in CHANGES or (name == "update" and "set" in names):
            raise Locked(f"this connection is locked: {name.upper()} is not allowed, only queries and SET ppdm_.. are.")


def _is_operator(word: Word) -> bool:
    """Whether a word before a parenthesis calls an operator by its name: DuckDB then compares values of any types.

    It finds that out too late, and the database cannot be used after that.
    """
    return word.folded == "operator" or (word.text.startswith('"') and OPERATORS.fullmatch(word.folded) is not None)


@functools.cache
def _forbidden_tables() -> frozenset[str]:
    """Functions of DuckDB that give a table and nothing else, but for those that tell nothing of the machine."""
    query = "SELECT DISTINCT lower(function_name) FROM duckdb_functions() WHERE function_type {} ('table', 'pragma')"
    with duckdb.connect() as con:
        tables, others = ({name for (name,) in con.execute(query.format(i)).fetchall()} for i in ("IN", "NOT IN"))
    return frozenset(tables - others - TABLES)


def _is_setting(con: duckdb.DuckDBPyConnection, name: str) -> bool:
    try:
        with con.cursor() as aside:
            aside.execute("SELECT current_setting(?)", [name])
    except duckdb.CatalogException:
        return False
    return True


def _check_inside(tree: exp.Expr, catalog: Catalog) -> None:
    for name, written_out, most in WRITTEN_OUT:
        if written_out(tree) > most:
            raise Locked(
                f"this connection is locked: written out, the query has more than {most:,} {name}, for names stand for "
                "names and stars for stars. Use fewer of them, or each less often."
            )
    if _doubled(tree) > MOST_TERMS:
        raise Locked(
            f"this connection is locked: written out, the query has more than {MOST_TERMS:,} terms, for some functions "
            "are written with an argument more than once. Nest fewer of them."
        )
    for kind in tree.find_all(exp.DataType):
        if "variant" in kind.sql(dialect=ANALYST).casefold():
            raise Locked("this connection is locked: nothing is made a VARIANT.")
    for table in tree.find_all(exp.Table):
        _check_table(table, catalog)
    for call in tree.find_all(exp.Func):
        _check_call(call)


def _check_table(table: exp.Table, catalog: Catalog) -> None:
    if isinstance(table.this, exp.Func):
        name = _name_of(table.this)
        if name not in TABLES:
            raise _machine(name)
    elif (table.db.casefold(), table.name.casefold()) == ("information_schema", "views"):
        raise _machine("information_schema.views")
    elif catalog.release(table) is None and (
        table.name.casefold() in FILE_ENDINGS or any(FILE_SIGNS & set(part.name) for part in table.parts)
    ):
        raise Locked("this connection is locked: no file is read, and this is no table: " + file_name(table))


def _check_call(call: exp.Func) -> None:
    name = _name_of(call)
    arguments = list(call.iter_expressions())
    if name in SERIES | LENGTHS and not isinstance(call.parent, exp.Table):
        behind = name in SERIES or isinstance(call.parent, exp.Dot)  # 'x'.repeat(5) has the first one before the dot
        sizes = [size for size in (arguments if behind else arguments[1:]) if not size.is_string]
        if not all(_is_small(size) for size in sizes) or _is_repeated(call):
            raise Locked(
                f"this connection is locked: {name} makes a value as long as it is told, which must be a number up to "
                f"{LONGEST:,}, once and not for each item of a list. In FROM there is no such limit."
            )
    called_on = [call.parent.this] if isinstance(call.parent, exp.Dot) else []  # 'x'.levenshtein('y')
    if name in NESTED:
        raise Locked(f"this connection is locked: {name} cannot stop in a value that is nested too deeply.")
    if name in DISTANCES and not any(_is_short(text) for text in (*called_on, *arguments)):
        raise Locked(f"this connection is locked: {name} takes a constant text of up to {SHORT} letters.")
    if name == "reservoir_quantile" and not all(_is_small(size) for size in arguments[2:]):  # kept for each group
        raise Locked(f"this connection is locked: {name} keeps as many values as it is told, up to {LONGEST:,}.")
    if name in FORMATS:
        pattern = (*called_on, *arguments, None)[0]
        if not (isinstance(pattern, exp.Literal) and pattern.is_string) or WIDTH.search(pattern.this):
            raise Locked(f"this connection is locked: {name} takes a constant text, and widths below {LONGEST:,}.")


def _doubled(tree: exp.Expr) -> int:
    """How often an argument is written at most, where calls stand in others that DuckDB writes them out in."""
    most = 1
    times = {id(tree): 1}
    for node in tree.walk(bfs=True):
        above = times[id(node.parent)] if node is not tree else 1
        call = node.expression if isinstance(node, exp.Dot) else node  # 'x'.nullif('y')
        more = _repeating_macros().get(_name_of(call), 1) if isinstance(call, exp.Func) else 1
        times[id(node)] = above * more
        most = max(most, above * more)
    return most


@functools.cache
def _repeating_macros() -> Mapping[str, int]:
    """DuckDB's own functions that it writes out as another expression, with an argument more than once."""
    query = (
        "SELECT lower(function_name), parameters, macro_definition FROM duckdb_functions() "
        "WHERE internal AND function_type = 'macro'"
    )
    found: dict[str, int] = {}
    with duckdb.connect() as con:
        for name, parameters, text in con.execute(query).fetchall():
            words = Counter(re.findall(r"\w+", text))
            found[name] = max([found.get(name, 1), *(words[parameter] for parameter in parameters)])
    return {name: times for name, times in found.items() if times > 1}


def _is_repeated(call: exp.Expr) -> bool:
    """Whether a call stands in another of its kind, or in what is done for each item of a list."""
    inner, outer = call, call.parent
    while outer is not None and not isinstance(outer, exp.Query):
        each = isinstance(outer, exp.Comprehension) and inner.arg_key != "iterator"
        if each or isinstance(outer, exp.Lambda):
            return True
        if isinstance(outer, exp.Func) and _name_of(outer) in SERIES | LENGTHS:
            return True
        inner, outer = outer, outer.parent
    return False


def _is_small(size: exp.Expr) -> bool:
    number = size.this if isinstance(size, exp.Neg) else size
    return isinstance(number, exp.Literal) and not number.is_string and float(number.this) <= LONGEST


def _is_short(text: exp.Expr) -> bool:
    return isinstance(text, exp.Literal) and text.is_string and len(text.this) <= SHORT


def _machine(name: str) -> Locked:
    return Locked(f"this connection is locked: {name} could tell of the machine it runs on, and is not allowed.")


def _name_of(call: exp.Expr) -> str:
    named = call.name if isinstance(call, exp.Anonymous) else call.sql_name()  # type: ignore[attr-defined]  # an Expr
    return str(named).casefold()
