"""Publishing in SQL: which statements there are, and what each says.

::

    SET ppdm_key = 'adult.key'                        a file that only its owner may read, made where there is none

    CREATE [OR REPLACE] PERTURBED TABLE name [TO 'public.duckdb'] AS SELECT ..
    PERTURB (column UNIFORM RETAIN 0.3 | GAMMA 9 | EPSILON 2.2 | PRIVACY (0.1 TO 0.5)
                    DOMAIN (low TO high) [STEP 0.01 | STEP '1 hour'] | DOMAIN (value, ..)
                    [NULLS ERROR | KEEP | VALUE] [OUTSIDE ERROR | CLAMP],
             column CUSTOM REPLACE (value weight, ..) RETAIN 0.3,
             column IDENTITY | SWAP RETAIN 0.3,
             column GAUSSIAN NOISE 0.5 [DEVIATION 12000 | COVARIANCE DATA | COVARIANCE (column number, ..)] [STEP 0.01],
             column SMALL_DOMAIN DOMAIN .. PRIVACY (0.1 TO 0.5) [PART name],
             column SELECT_A_SIZE DOMAIN .. GAMMA 9 MAX_SIZE 10 [RHO 0.1] [COMPRESS [ITEMSETS 3]],
             column DROP, ..)
    [IDENTIFIED BY (column, ..)]
    [ORDERED BY (column, ..) | ORDERED BY SOURCE]

    CREATE [OR REPLACE] PERTURBED VIEW name AS SELECT .. PERTURB (..) IDENTIFIED BY (..)
    CREATE [OR REPLACE] RECONSTRUCTED VIEW name AS SELECT ..     the answer to a query, as plain SQL for any client
    DROP PERTURBED TABLE | VIEW [IF EXISTS] name
    SHOW PERTURBED TABLES
    DESCRIBE PERTURBED name

Without TO the release is a table of the connection's own database, which may hold the original too: that file is not
for others. With TO it is a file of its own, as `publish` writes it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sqlglot import Token, TokenType

from ppdm_sql.errors import QueryError
from ppdm_sql.policy import Policy, load_policy
from ppdm_sql.policy.model import SOURCE
from ppdm_sql.publishing_sql.perturb_clause import columns_of
from ppdm_sql.syntax.words import Words, tokens_of

Kind: TypeAlias = Literal["table", "view"]

_MENTIONED = re.compile(r"\bPERTURBED\b|\bRECONSTRUCTED\b|\bPPDM_KEY\b", re.IGNORECASE)
_NAME = r'(?:"(?:[^"]|"")+"|\w+)'
_RECONSTRUCTED = re.compile(
    rf"\s*CREATE\s+(?P<replace>OR\s+REPLACE\s+)?RECONSTRUCTED\s+VIEW\s+(?P<name>{_NAME}(?:\s*\.\s*{_NAME})*)\s+AS\b"
    r"(?P<query>.+)",
    re.IGNORECASE | re.DOTALL,
)
_BEGUN = re.compile(r"\s*(CREATE|DROP|SHOW|DESC|DESCRIBE)\b.*?\bPERTURBED\b", re.IGNORECASE | re.DOTALL)
_SCOPES = ("SESSION", "LOCAL", "GLOBAL")
_RESET = re.compile(r"\s*RESET\s+((SESSION|LOCAL|GLOBAL)\s+)?PPDM_KEY\s*+;?\s*+", re.IGNORECASE)


@dataclass(frozen=True)
class CreatePerturbed:
    """Publish a query's rows as a table, or as a view that perturbs whenever it is read."""

    kind: Kind
    name: tuple[str, ...]
    query: str
    policy: Policy
    replace: bool = False
    to: str | None = None


@dataclass(frozen=True)
class CreateReconstructed:
    """Store the answer to a query on a release as a view that needs none of our code; `name` is SQL."""

    name: str
    query: str
    replace: bool = False


@dataclass(frozen=True)
class DropPerturbed:
    """Remove a release from its database."""

    kind: Kind
    name: tuple[str, ...]
    if_exists: bool = False


@dataclass(frozen=True)
class ShowPerturbed:
    """List the releases in sight."""


@dataclass(frozen=True)
class DescribePerturbed:
    """List the columns of a release with what is public of them."""

    name: tuple[str, ...]


@dataclass(frozen=True)
class SetKey:
    """Name the file with the publisher's key, or none."""

    path: str | None


PublishingStatement: TypeAlias = CreatePerturbed | DropPerturbed | ShowPerturbed | DescribePerturbed | SetKey
OurStatement: TypeAlias = PublishingStatement | CreateReconstructed


@dataclass(frozen=True)
class PublishingText:
    """A statement of ours as it was written; DuckDB, which could not read it, never sees it."""

    query: str
    statement: OurStatement
    type: None = None
    named_parameters: frozenset[str] = frozenset()


def split_publishing(text: str) -> list[str | PublishingText]:
    """The statements of a text that are ours, and what is left for DuckDB, in their order.

    Blanks stand for what goes before a statement of ours, so that a place in it is its place in the whole text.

    >>> split_publishing("SELECT 1; DROP PERTURBED TABLE t")[0]
    'SELECT 1'
    """
    tokens = tokens_of(text) if _MENTIONED.search(text) else None
    if tokens is None:
        publishing_statement(text)
        return [text]
    pieces: list[str | PublishingText] = []
    begin = 0
    ends = [int(token.start) for token in tokens if token.token_type == TokenType.SEMICOLON]
    for end in (*ends, len(text)):
        ours = publishing_statement(re.sub(r"[^\n]", " ", text[:begin]) + text[begin:end])
        if ours is not None:
            pieces.append(PublishingText(text[begin:end].strip(), ours))
        elif text[begin:end].strip():
            pieces.append(text[begin:end])
        begin = end + 1
    return pieces if any(isinstance(piece, PublishingText) for piece in pieces) else [text]


def publishing_statement(sql: str) -> OurStatement | None:
    """Read one statement; None where it is not about publishing, and is somebody else's to read.

    Raises QueryError where it is and cannot be read, PolicyError where the policy in it breaks a rule.

    >>> publishing_statement("DROP PERTURBED VIEW IF EXISTS adult_view")
    DropPerturbed(kind='view', name=('adult_view',), if_exists=True)
    """
    if not _MENTIONED.search(sql):
        return None
    if _RESET.fullmatch(sql):
        return SetKey(None)
    if match := _RECONSTRUCTED.fullmatch(sql):
        return CreateReconstructed(match["name"], match["query"].strip().rstrip(";"), match["replace"] is not None)
    tokens = tokens_of(sql)
    if tokens is None:
        if _BEGUN.match(sql):
            raise QueryError("the statement holds a string, a quoted name or a comment that is not closed.")
        return None
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens.pop()
    return _read(sql, tokens)


def _read(sql: str, tokens: Sequence[Token]) -> PublishingStatement | None:
    words = Words(sql, tokens)
    if any(words.follows(verb, "PERTURBED", ".") for verb in ("SHOW", "DESCRIBE", "DESC")):
        return None  # the schema `perturbed`
    statement: OurStatement
    if words.take("CREATE", "PERTURBED"):
        statement = _create(words, replace=False)
    elif words.take("CREATE", "OR", "REPLACE", "PERTURBED"):
        statement = _create(words, replace=True)
    elif words.take("DROP", "PERTURBED"):
        kind = _kind(words)
        if_exists = words.take("IF", "EXISTS")
        statement = DropPerturbed(kind, _name(words), if_exists)
    elif words.take("SHOW", "PERTURBED"):
        words.expect("TABLES")
        statement = ShowPerturbed()
    elif words.take("DESCRIBE", "PERTURBED") or words.take("DESC", "PERTURBED"):
        statement = DescribePerturbed(_name(words))
    elif any(words.take("SET", *scope, "PPDM_KEY") for scope in ((), *((each,) for each in _SCOPES))):
        if not (words.take("=") or words.take("TO")):
            words.fail("=")
        statement = SetKey(words.string("the path of a key file in quotes"))
    else:
        return None
    if not words.ended:
        words.fail("the end of the statement")
    return statement


def _create(words: Words, *, replace: bool) -> CreatePerturbed:
    kind = _kind(words)
    name = _name(words)
    where, to = words.place, None
    if words.take("TO"):
        to = words.string("the file of the release in quotes")
        if kind == "view":
            raise QueryError(f"{where}: a view stores nothing, so it has no file: leave out TO, or make a TABLE.")
        if len(name) > 1:
            raise QueryError(f"{where}: a table in a file of its own has a plain name: write {name[-1]!r} only.")
    words.expect("AS")
    clause = words.last("PERTURB", "(")
    if clause is None:
        raise QueryError(
            f"{words.place}: the SELECT is not followed by PERTURB (column UNIFORM RETAIN 0.3 DOMAIN (17 TO 90), ..): "
            "say which columns are perturbed, and how."
        )
    begin = words.place
    query = words.text_until(clause)
    if not query:
        raise QueryError(f"{begin}: expected a SELECT before PERTURB.")
    columns = columns_of(words)
    identity: tuple[str, ...] = ()
    if words.take("IDENTIFIED"):
        words.expect("BY")
        identity = words.names("the name of a column")
    if kind == "view" and not identity:
        raise QueryError(
            f"{words.place}: a perturbed view needs IDENTIFIED BY (column, ..): without it a row would be known by its "
            "position, which changes from one reading to the next."
        )
    said = {"table": name[-1], "columns": columns, "identity": list(identity)}
    where = words.place
    if words.take("ORDERED"):
        words.expect("BY")
        if kind == "view":
            raise QueryError(f"{where}: a view has the order of its SELECT: leave out ORDERED BY, or make a TABLE.")
        said["order"] = SOURCE if words.take("SOURCE") else list(words.names("the name of a column, or SOURCE"))
    policy = load_policy(said)
    return CreatePerturbed(kind, name, query, policy, replace, to)


def _kind(words: Words) -> Kind:
    return "table" if words.choice(("TABLE", "VIEW")) == "TABLE" else "view"


def _name(words: Words) -> tuple[str, ...]:
    """`name`, `schema.name`, `database.name` or `database.schema.name`."""
    parts = [words.name("the name of a release")]
    while words.take("."):
        parts.append(words.name("a name"))
    if len(parts) > 3:
        raise QueryError(f"a release is called database.schema.name at most, not {'.'.join(parts)!r}.")
    return tuple(parts)
