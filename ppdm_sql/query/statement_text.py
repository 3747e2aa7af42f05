"""Statements that sqlglot keeps as text: what stands inside them, and whether they could read or change a release.

The words are those of DuckDB's own tokenizer. A text passes only where every name and every function in it is known to
lead to no release.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

import duckdb
from sqlglot import exp
from sqlglot.errors import SqlglotError

from ppdm_sql.engine.duckdb.catalog import Catalog
from ppdm_sql.errors import QueryError
from ppdm_sql.query.release_references import FILE_ENDINGS, READERS, is_release_file, is_safe_function
from ppdm_sql.syntax.parse import number_placeholders, parse

OPTIONS = frozenset(["analyze", "format", "costs", "verbose"])
"""What may stand in the parentheses of EXPLAIN (..)."""

QUERIES = frozenset(
    {
        *("select", "from", "with", "values", "table", "pivot", "pivot_wider", "unpivot", "pivot_longer", "("),
        *("describe", "desc", "show", "summarize"),
    }
)
"""What a query begins with that SHOW is given, which then tells its columns as DESCRIBE does."""

DESCRIBING = frozenset(["show", "table_info"])
"""Pragmas that tell names and types of a table, and nothing of its values."""

PRAGMAS = DESCRIBING | {
    *("collations", "database_list", "database_size", "disable_checkpoint_on_shutdown", "disable_object_cache"),
    *("disable_optimizer", "disable_print_progress_bar", "disable_profile", "disable_profiling"),
    *("disable_progress_bar", "disable_verification", "disable_verify_parallelism", "enable_checkpoint_on_shutdown"),
    *("enable_object_cache", "enable_optimizer", "enable_print_progress_bar", "enable_profile", "enable_profiling"),
    *("enable_progress_bar", "enable_verification", "extension_versions", "force_checkpoint", "functions"),
    *("metadata_info", "platform", "show_databases", "show_tables", "show_tables_expanded", "storage_info"),
    *("user_agent", "verify_parallelism", "version", "add_parquet_key"),
}
"""Pragmas that run no SQL of their own and copy no table."""

STATEMENTS = (
    *READERS,
    *(exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.TruncateTable, exp.Copy),
    *(exp.Create, exp.Drop, exp.Alter, exp.Comment, exp.Analyze),
    *(exp.Attach, exp.Detach, exp.Use, exp.Install, exp.Set, exp.Transaction, exp.Commit, exp.Rollback),
)
"""What a tree is whose tables are all that the statement reads and changes."""


SCOPES = frozenset(["session", "local", "global"])


@dataclass(frozen=True)
class Word:
    """A word of a statement: its text, the place behind it, and whether it is a name, a string or neither."""

    text: str
    end: int
    kind: duckdb.token_type

    @property
    def folded(self) -> str:
        """The word as names are compared: a quoted one without its quotes."""
        quoted = self.text[:1] == '"' and self.text[-1:] == '"' and len(self.text) > 1
        return (self.text[1:-1].replace('""', '"') if quoted else self.text).casefold()

    @property
    def is_string(self) -> bool:
        """Whether it is a constant text."""
        return self.kind == duckdb.token_type.string_const


def read(sql: str) -> exp.Expr | None:
    """The tree of a statement, or None where it is kept as text, and its tables are not known from a tree."""
    try:
        tree = parse(numbered(sql))
    except SqlglotError:
        return None
    return tree if isinstance(tree, STATEMENTS) else None


def numbered(sql: str) -> str:
    """The text that a tree is read from: each `?` has its number, and no parameter touches what follows.

    >>> numbered("SELECT $a-$b || '$a-$b'"), numbered("SELECT ?-1")
    ("SELECT $a -$b || '$a-$b'", 'SELECT $1-1')
    """
    return parameters_apart(number_placeholders(parameters_apart(sql)))


def parameters_apart(sql: str) -> str:
    """A space behind each parameter: sqlglot would take `$a-$` for the beginning of a text in dollars."""
    if sql.count("$") < 2:
        return sql
    words = words_of(sql)
    encoded, last, pieces = sql.encode(), 0, []
    for mark, name in pairwise(words):
        if mark.text == "$":
            pieces.append(encoded[last : name.end].rstrip() + b" ")
            last = name.end
    return b"".join([*pieces, encoded[last:]]).decode()


def unseen_tables(con: duckdb.DuckDBPyConnection, sql: str, tree: exp.Expr) -> list[exp.Table]:
    """The tables that DuckDB reads in a query and that its tree has not: DuckDB and sqlglot understood it differently.

    Nothing is known of statements that DuckDB does not show as a tree of its own: all but queries, and PIVOT.
    """
    if not isinstance(tree, READERS):
        return []
    with con.cursor() as aside:
        shown = aside.execute("SELECT json_serialize_sql(?::VARCHAR)", [sql]).fetchall()[0][0]
    seen = {tuple(part.name.casefold() for part in table.parts) for table in tree.find_all(exp.Table)}
    found: dict[tuple[str, ...], exp.Table] = {}

    def collect(node: dict[str, object]) -> None:
        if node.get("type") == "BASE_TABLE":
            names = [str(node[part]) for part in ("catalog_name", "schema_name", "table_name") if node[part]]
            parts = [exp.to_identifier(name, quoted=True) for name in reversed(names)]
            found[tuple(name.casefold() for name in names)] = exp.Table(
                **dict(zip(("this", "db", "catalog"), parts, strict=False))
            )

    json.loads(shown, object_hook=collect)
    return [table for names, table in found.items() if names not in seen]


def words_of(sql: str, most: int | None = None) -> list[Word]:
    """The words of a statement, all or the first few, without comments."""
    encoded = sql.encode()
    found = duckdb.tokenize(sql)
    ends = [place for place, _ in found[1:]] + [len(encoded)] * bool(found)
    words = (
        Word(encoded[start:end].decode().strip(), end, kind)
        for (start, kind), end in zip(found, ends, strict=True)
        if kind != duckdb.token_type.comment
    )
    return list(islice(words, most))


def without_end(sql: str) -> str:
    """A statement without the semicolon that ends it, so that it can stand in parentheses.

    >>> without_end("SELECT ';' /* all; */ ; -- done")
    "SELECT ';' "
    """
    words = words_of(sql)
    while words and words[-1].text == ";":
        words.pop()
    cut = words[-1].end if words else 0
    return sql.encode()[:cut].decode()


def setting_of(sql: str) -> tuple[str, str | None] | None:
    """The setting of ours that a statement makes, by its name and value, or resets; None for any other statement.

    >>> setting_of("SET SESSION ppdm_method = 'bayes' -- for now")
    ('ppdm_method', 'bayes')
    >>> setting_of("RESET ppdm_method;")
    ('ppdm_method', None)
    """
    if "ppdm_" not in sql.casefold() or [word.folded for word in words_of(sql, 1)] not in (["set"], ["reset"]):
        return None
    words = [word for word in words_of(sql) if word.text != ";"]
    verb, *rest = words
    if rest and rest[0].folded in SCOPES:
        rest = rest[1:]
    if not rest or rest[0].is_string or not rest[0].folded.startswith("ppdm_"):
        return None
    name = rest[0].folded
    if verb.folded == "reset":
        return (name, None) if len(rest) == 1 else None
    if len(rest) < 3 or rest[1].folded not in ("=", "to"):
        return None
    value = sql.encode()[rest[1].end : words[-1].end].decode() if len(rest) > 3 else rest[2].text
    return name, value.strip().strip("'\"")


def statement_inside(sql: str) -> str | None:
    """The statement that EXPLAIN, SHOW, PREPARE, CALL or CREATE TYPE holds, as one that can be read; None for others.

    >>> statement_inside("EXPLAIN (ANALYZE, FORMAT json) FROM t")
    'FROM t'
    >>> statement_inside("SHOW SELECT 1"), statement_inside("SHOW t")
    ('SELECT 1', None)
    >>> statement_inside("CALL query('FROM t')")
    "SELECT * FROM query('FROM t')"
    """
    words = words_of(sql)
    folded = [word.folded for word in words]
    encoded = sql.encode()

    def after(number: int) -> str:
        return encoded[words[number].end :].decode()

    if folded[:1] == ["explain"]:
        last = 1 if folded[1:2] == ["analyze"] else 0
        if folded[last + 1 : last + 2] == ["("] and folded[last + 2] in OPTIONS:
            last = _closing(folded, last + 1)
        return after(last)
    if folded[:1] == ["show"] and len(words) > 1 and words[1].text.casefold() in QUERIES:
        return after(0)
    if folded[:1] == ["prepare"] and "as" in folded:
        return after(folded.index("as"))
    if folded[:1] == ["call"]:
        return f"SELECT * FROM {after(0).strip()}"
    if folded[:1] == ["create"] and "type" in folded and "enum" in folded:
        opening = folded.index("enum") + 1
        if opening + 1 < len(words) and folded[opening] == "(" and not words[opening + 1].is_string:
            return after(opening).strip().removesuffix(";").rstrip().removesuffix(")")
    return None


def _closing(folded: Sequence[str], opening: int) -> int:
    """The word with the parenthesis that closes another."""
    depth = 0
    for number in range(opening, len(folded)):
        depth += folded[number].count("(") - folded[number].count(")")
        if depth <= 0:
            return number
    return len(folded) - 1


def prepared_inside(con: duckdb.DuckDBPyConnection, sql: str) -> str | None:
    """The statement that EXECUTE runs, as DuckDB keeps it; None where it keeps none of that name."""
    words = words_of(sql)
    query = "SELECT name, statement FROM duckdb_prepared_statements()"
    kept = {name.casefold(): statement for name, statement in con.execute(query).fetchall()}
    return kept.get(words[1].folded) if len(words) > 1 else None


def check_whole_databases(sql: str, catalog: Catalog) -> None:
    """Refuse to copy a database with all that is in it where a release is in sight, and to run scripts unread."""
    first = " ".join(word.folded for word in words_of(sql, 3) if not word.is_string)
    if first.startswith("import database"):
        raise QueryError(
            "IMPORT DATABASE runs SQL from files that nobody has looked into: import with DuckDB itself, and connect "
            "to the database that it makes."
        )
    if first.startswith(("export database", "copy from database")) and catalog.releases:
        raise QueryError(
            f"{first.upper()} would copy a release's perturbed rows without what tells them apart from true ones: "
            "copy the release's file, or name your own tables one by one."
        )


def may_reach_release(con: duckdb.DuckDBPyConnection, catalog: Catalog, sql: str) -> bool:
    """Whether a text could read or change a release: by a name, a function or a file in it."""
    words = words_of(sql)
    folded = [word.folded for word in words]
    if folded[:1] == ["pragma"]:
        return _pragma_may_reach(catalog, words)
    return (
        _names_release(catalog, sql)
        or _calls_unknown(con, folded)
        or any(_is_file(con, before, word) for before, word in pairwise(words))
    )


def _pragma_may_reach(catalog: Catalog, words: Sequence[Word]) -> bool:
    """A pragma that is given values must be a known one, with constants; one that is set, or alone, is a setting."""
    name = words[1].folded if len(words) > 1 else ""
    if len(words) > 2 and words[2].folded == "(":
        inside = [word for word in words[3:] if word.folded not in (",", ")", ";", ");")]
        names = [word.text.casefold() for word in inside]
        constant = all(word.is_string or word.kind == duckdb.token_type.numeric_const for word in inside)
        if name not in PRAGMAS or not (constant or name in DESCRIBING):
            return True
        return name not in DESCRIBING and any(release in text for text in names for release in catalog.names)
    return False


def _names_release(catalog: Catalog, sql: str) -> bool:
    text = sql.casefold()
    return any(name in text for name in catalog.names)


def _calls_unknown(con: duckdb.DuckDBPyConnection, folded: Sequence[str]) -> bool:
    """Whether a function is called that gives a table, unless it is known to read none of the database."""
    called = {name for name, following in pairwise(folded) if following.startswith("(")}
    if not called:
        return False
    query = (
        "SELECT DISTINCT lower(function_name) FROM duckdb_functions() WHERE function_type IN ('table', 'table_macro')"
    )
    tables = {name for (name,) in con.execute(query).fetchall()}
    return any(not is_safe_function(name) for name in called & tables)


def _is_file(con: duckdb.DuckDBPyConnection, before: Word, word: Word) -> bool:
    """Whether a word is, or could be, the file of a release; a dotted name may be one without quotes."""
    if word.is_string or word.text.startswith('"'):
        return is_release_file(con, word.folded if word.text.startswith('"') else word.text.strip("'"))
    return before.text == "." and word.folded in FILE_ENDINGS
