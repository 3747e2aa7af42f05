"""The manifest: the public parameters that travel with a release, as JSON.

Besides the columns it says which coins were used (`fingerprint`, the same for releases that share a key, a table name
and the number of columns that name a row), which released columns name a row (`identity`, none where one of them is
withheld or rows are named by their position), which policy it was made by (`policy`, a digest) and when (`made`). A
digest over all of it stands in it too. It is read by the letter: what is missing, unknown, of another type or out of
its range is one ReleaseError.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ppdm_sql.domain.fields import Fields, canonical, damaged, read_object
from ppdm_sql.domain.types import SqlType, parse_type
from ppdm_sql.errors import AGAIN, ReleaseError
from ppdm_sql.mechanisms.base import PerturbedColumn
from ppdm_sql.mechanisms.gaussian.column import NoisyColumn
from ppdm_sql.mechanisms.registry import MECHANISMS

FORMAT = 2
METADATA_KEY = "ppdm_manifest"
"""In a Parquet release: the key in the file's metadata."""

MAX_ROWS = 2**53
MAX_COLUMNS = 100_000
MAX_TYPE = 1 << 24
"""Characters of a type: an ENUM has all its labels in it."""
HEXADECIMAL = 64


@dataclass(frozen=True)
class ReleasedColumn:
    """A column as released; `perturbed` is None where its values are exact."""

    name: str
    type: SqlType
    perturbed: PerturbedColumn | None = None


@dataclass(frozen=True)
class Manifest:
    """What an analyst needs to know of one released table.

    `view` has the types of a row's identity where nothing is stored and a view perturbs what it reads. `order` has the
    columns that rows are ordered by, and then by a keyed hash; None where they are in the source's order. `sealed` says
    that digests of a Parquet file's data and footer stand in the file. `fingerprints` are those of all parts where
    this is read from several; they are not written.
    """

    table: str
    rows: int
    columns: tuple[ReleasedColumn, ...]
    level: str | None = None
    fingerprint: str = "0" * HEXADECIMAL
    identity: tuple[str, ...] = ()
    policy: str = "0" * HEXADECIMAL
    made: str = field(default="1970-01-01T00:00:00+00:00", compare=False)
    view: tuple[str, ...] | None = None
    order: tuple[str, ...] | None = None
    sealed: bool = field(default=False, compare=False)
    fingerprints: frozenset[str] = frozenset()

    @property
    def perturbed(self) -> tuple[PerturbedColumn, ...]:
        """The perturbed columns."""
        return tuple(c.perturbed for c in self.columns if c.perturbed is not None)

    @property
    def coins(self) -> frozenset[str]:
        """The fingerprints of all coins that the rows were perturbed with."""
        return self.fingerprints or frozenset([self.fingerprint])

    def to_json(self) -> str:
        """The manifest as text."""
        body: dict[str, Any] = {
            "ppdm_sql": FORMAT,
            "table": self.table,
            "rows": self.rows,
            "columns": [_column_to_json(c) for c in self.columns],
            "fingerprint": self.fingerprint,
            "identity": list(self.identity),
            "policy": self.policy,
            "made": self.made,
        }
        if self.level is not None:
            body["level"] = self.level
        if self.order is not None:
            body["order"] = list(self.order)
        if self.view is not None:
            body["view"] = list(self.view)
        if self.sealed:
            body["sealed"] = True
        return json.dumps(body | {"digest": digest(body)}, ensure_ascii=False)

    @staticmethod
    def from_json(text: str | bytes) -> Manifest:
        """Read a manifest; ReleaseError where it is not one, was changed, or is of another version."""
        body = read_object(text)
        _check_format(body)
        said = body.pop("digest", None)
        if said != digest(body):
            damaged("its digest is not that of what it says")
        try:
            return _manifest(Fields("the manifest", body))
        except (ArithmeticError, RecursionError, TypeError) as error:
            damaged(f"its numbers cannot be used ({type(error).__name__})")


def digest(body: Mapping[str, Any]) -> str:
    """The digest of a manifest's fields."""
    return hashlib.sha256(canonical(body)).hexdigest()


def _check_format(body: Mapping[str, Any]) -> None:
    found = body.get("ppdm_sql")
    if type(found) is not int or found < 1:
        damaged("it does not say its format")
    if found < FORMAT:
        raise ReleaseError(
            f"the release has manifest format {found}, this version reads {FORMAT}: it was made by an earlier version, "
            "which did not say what coins were used. Publish it again."
        )
    if found > FORMAT:
        raise ReleaseError(f"the release has manifest format {found}, this version reads {FORMAT}: update ppdm_sql.")


def _manifest(fields: Fields) -> Manifest:
    fields.whole("ppdm_sql", FORMAT, FORMAT)
    manifest = Manifest(
        fields.text("table"),
        fields.whole("rows", 0, MAX_ROWS),
        tuple(_column_from_json(column) for column in fields.each("columns", 1, MAX_COLUMNS)),
        fields.optional("level", fields.text),
        fields.hexadecimal("fingerprint", HEXADECIMAL),
        fields.texts("identity", MAX_COLUMNS),
        fields.hexadecimal("policy", HEXADECIMAL),
        _moment(fields, "made"),
        fields.optional("view", lambda key: tuple(map(_text, fields.listed(key, 1, MAX_COLUMNS)))),
        fields.optional("order", lambda key: fields.texts(key, MAX_COLUMNS)),
        fields.optional("sealed", fields.yes) or False,
    )
    fields.end()
    _check_columns(manifest)
    return manifest


def _check_columns(manifest: Manifest) -> None:
    """Refuse what no column says by itself: names that stand twice, or that name no column of the right kind."""
    folded = [column.name.casefold() for column in manifest.columns]
    if len(set(folded)) < len(folded):
        damaged("two of its columns bear one name")
    exact = {column.name: column.type for column in manifest.columns if column.perturbed is None}
    noisy = {column.name for column in manifest.perturbed if isinstance(column, NoisyColumn)}
    for name in manifest.identity:
        if name not in exact:
            damaged(f"{name!r} is to name a row, and is no exact column")
    for name in manifest.order or ():
        if name not in exact:
            damaged(f"rows are to be in the order of {name!r}, which is no exact column")
    for column in manifest.perturbed:
        for name in MECHANISMS[column.mechanism].companions(column):
            if name not in exact or exact[name].family != "integer":
                damaged(f"column {column.name!r} needs a column {name!r} of whole numbers beside it")
        if isinstance(column, NoisyColumn) and not noisy >= set(column.columns):
            damaged(f"column {column.name!r} mixes noise of columns that have none")


def _moment(fields: Fields, name: str) -> str:
    value = fields.text(name, 40)
    try:
        datetime.fromisoformat(value)
    except ValueError:
        fields.refuse(name, "is not a date with a time")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        damaged("the types of a view's identity are not texts")
    return value


def _column_to_json(column: ReleasedColumn) -> dict[str, Any]:
    body: dict[str, Any] = {"name": column.name, "type": column.type.name}
    bound = column.perturbed
    if bound is not None:
        body |= {"mechanism": bound.mechanism, **MECHANISMS[bound.mechanism].to_json(bound)}
    return body


def _column_from_json(fields: Fields) -> ReleasedColumn:
    name = fields.text("name")
    fields.where = f"column {name!r}"
    sql_type = parse_type(fields.text("type", MAX_TYPE))
    bound = None
    if "mechanism" in fields:
        word = fields.text("mechanism")
        if word not in MECHANISMS:
            raise ReleaseError(
                f"column {name!r} was perturbed by {word[:40]!r}, which this version does not know: update ppdm_sql. "
                f"If that does not help: {AGAIN}"
            )
        bound = MECHANISMS[word].from_json(name, fields, sql_type)
    fields.end()
    return ReleasedColumn(name, sql_type, bound)
