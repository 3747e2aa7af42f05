"""A SELECT that reads more than one release by itself: joins, subqueries that pass rows on, unions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp

from ppdm_sql.policy.manifest import Manifest
from ppdm_sql.query.plan.measuring import Measuring
from ppdm_sql.query.plan.parts import Part, partitioned
from ppdm_sql.query.plan.plan import Plan, make_plan
from ppdm_sql.query.understand.correlated import qualified
from ppdm_sql.query.understand.from_clause import read_relation
from ppdm_sql.query.understand.joining import prune
from ppdm_sql.query.understand.names import ANSWERED
from ppdm_sql.query.understand.query import ALIAS, Query, own_columns
from ppdm_sql.query.understand.relation import ROW, SchemaLookup, Source, put_in
from ppdm_sql.query.understand.repeats import IsUnique, occurs_once, once_a_row
from ppdm_sql.query.understand.rows import choices
from ppdm_sql.query.understand.scan import inner, named
from ppdm_sql.query.understand.settings import Settings
from ppdm_sql.query.understand.uniting import Member, unite
from ppdm_sql.syntax.refuse import refuse

RELATION = "ppdm_rows"
"""What the relation is called in the statements that read it."""

Overlap = Callable[[Source, Source, Sequence[str]], bool]
"""Asks whether two sources have rows with the same values in some columns."""


class Joined:
    """One such SELECT: `query` is what the passes understand of it, `plan` how it is answered."""

    def __init__(
        self, sql: str, select: exp.Select, asking: SchemaLookup, is_unique: IsUnique, overlap: Overlap
    ) -> None:
        self.sql, self.select, self.asking, self.is_unique, self.overlap = sql, select, asking, is_unique, overlap
        self.choices = list(choices(select, asking.is_release))
        relations = [read_relation(sql, select, asking, choice) for choice in self.choices]
        self.united = unite(sql, select, relations)
        self.members = self.united.members
        self.repeats = False

    def query(self, settings: Settings) -> Query:
        """The SELECT as one on a single table, its relation."""
        tree = self.select.copy()
        tree.set("from_", exp.From(this=exp.to_table(RELATION)))
        tree.set("joins", None)
        releases = [manifest for member in self.members for manifest in _manifests(member.relation.sources)]
        names = " and ".join(dict.fromkeys(manifest.table for manifest in releases))
        return Query(
            self.sql,
            tree,
            inner(self.members[0].relation.select, RELATION),
            Manifest(names, max(manifest.rows for manifest in releases), self.united.columns),
            settings,
            self.asking.aggregates,
            visible=self.united.visible,
            given=self.members[0].relation.hidden,
        )

    def exact(self, query: Query) -> exp.Select:
        """What runs where no perturbed column takes part: the SELECT on a relation that has none."""
        hidden = {column.name for column in self.united.columns if column.perturbed is not None}
        rows = [self._rows(number, query, hidden) for number in range(len(self.members))]
        whole: exp.Expr = rows[0]
        for one in rows[1:]:
            whole = exp.Union(this=whole, expression=one, distinct=False)
        for column in [c for c in own_columns(query.tree) if not c.meta.get(ALIAS)]:  # lest an alias be taken for it
            column.replace(qualified(column.copy(), RELATION))
        query.tree.set("from_", exp.From(this=inner(whole, RELATION)))
        return query.tree

    def checked(self, query: Query) -> Query:
        """Refuse sources whose coins are not independent, or that may be missing; tell joins that repeat rows."""
        used = [self._used(member, query) for member in self.members]
        self._check_drawn(query)
        for member, numbers in zip(self.members, used, strict=True):
            self._check_sources(member, numbers)
            repeated = [n for n in numbers if not self._occurs_once(member, n, query)]
            if repeated and len(numbers) > 1:
                source = member.relation.sources[repeated[0]]
                refuse(
                    self.sql,
                    source.node,
                    f"a row of {source.name} may occur several times in this join of two releases: the others' columns "
                    "that they are joined on are not a key.",
                    "Join releases on a key of both.",
                )
            self.repeats = self.repeats or bool(repeated)
        self._check_independent(
            [(member.relation.sources[n], i) for i, member in enumerate(self.members) for n in used[i]]
        )
        self._check_noise(query, several=self.repeats or len(self.members) > 1 or len(used[0]) > 1)
        return replace(query, piecewise=self.repeats or len(self.members) > 1)

    def _check_noise(self, query: Query, *, several: bool) -> None:
        """Refuse Gaussian noise where a row's noise is added up, or meets that of another release."""
        for node in (query.tree, *query.given) if several else ():
            for column in query.perturbed_in(node):
                if column.adds_noise:
                    refuse(
                        self.sql,
                        self.select,
                        f"{column.name} has Gaussian noise, and its rows may occur several times in this join, or meet "
                        "those of another release.",
                        "Join it with exact tables on a key of theirs, or ask the release by itself.",
                    )

    def plan(self, query: Query, engine: Measuring) -> Plan:
        """The plan of a query whose aggregates are collected: of a union, in parts."""
        whole = [replace(query, table=self._table(number, query)) for number in range(len(self.members))]
        if len(self.members) == 1:
            return make_plan(self._prepared(0, whole[0]), engine)
        parts = []
        for member, one in zip(self.members, whole, strict=True):
            rows = max((manifest.rows for manifest in _manifests(member.relation.sources)), default=0)
            parts.append(Part(one.table, member.perturbed, rows))
        return partitioned(query, parts, engine, self._prepared)

    def _prepared(self, number: int, query: Query) -> Query:
        """The query on a member; of a join that repeats rows, on one row for each of the release."""
        if not self.repeats or not self._used(self.members[number], query):
            return query
        return once_a_row(query, ROW)

    def _table(self, number: int, query: Query) -> exp.Expr:
        """The relation of a member, with the numbers of the release's rows where they are needed."""
        return inner(self._rows(number, query, frozenset()), RELATION)

    def _rows(self, number: int, query: Query, hidden: set[str] | frozenset[str]) -> exp.Select:
        """The rows of a member, under the query's names, with the columns that the query names."""
        member = self.members[number]
        numbers = self._used(member, query) if self.repeats else []
        relation = member.relation
        if numbers:
            relation = read_relation(self.sql, self.select, self.asking, self.choices[number], numbered=True)
        columns = [column for node in (query.tree, *query.given) for column in node.find_all(exp.Column)]
        mentioned = {part.name for column in columns for part in column.parts}
        kept = [name for name in member.values if name in mentioned and name not in hidden]
        places = {item.alias: item.this for item in relation.select.expressions}
        items = [named(put_in(member.values[name], places), name, quoted=True) for name in kept]
        if numbers:
            row = next(name for name, own in relation.sources[numbers[0]].columns.items() if own == ROW)
            items.append(named(places[row].copy(), ROW))
        rows = relation.select.copy()
        rows.set("expressions", items or [named(exp.true(), "ppdm_nothing")])
        prune(rows)
        return rows

    def _used(self, member: Member, query: Query) -> list[int]:
        """The numbers of a member's sources whose perturbed columns take part."""
        nodes: Sequence[exp.Expr] = (query.tree, *query.given)
        names = {column.name for node in nodes for column in query.perturbed_in(node)} & member.perturbed.keys()
        own = {column.parts[0].name for name in names for column in own_columns(exp.Paren(this=member.values[name]))}
        return [i for i, source in enumerate(member.relation.sources) if own & source.columns.keys()]

    def _occurs_once(self, member: Member, number: int, query: Query) -> bool:
        exact = [put_in(condition, member.values) for condition in query.exact]
        return occurs_once(member.relation, number, exact, self.is_unique)

    def _check_drawn(self, query: Query) -> None:
        """A column that is replaced by its own values draws them from the whole release, not from what is joined."""
        for node in (query.tree, *query.given):
            for column in query.perturbed_in(node):
                if column.drawn_from_release and not column.exact:
                    refuse(
                        self.sql,
                        self.select,
                        f"{column.name} is perturbed by {column.mechanism}, which joins and unions do not support.",
                        "Ask the release by itself.",
                    )

    def _check_sources(self, member: Member, used: Sequence[int]) -> None:
        """Refuse estimates beside rows of a release, and releases that may be missing from a row."""
        for number in used:
            source = member.relation.sources[number]
            if source.missing is not None:
                refuse(
                    self.sql,
                    source.missing,
                    f"{source.name} is perturbed and may be missing from a row of this outer join.",
                    "Begin with the release, and LEFT JOIN the others to it.",
                )
        for source in member.relation.sources if used else ():
            if any(select.meta.get(ANSWERED) for select in source.node.find_all(exp.Select)):
                refuse(
                    self.sql,
                    source.node,
                    "it joins estimates with rows of a release, whose coins they may depend on.",
                    "Ask for the estimates by themselves, or join answers with answers.",
                )

    def _check_independent(self, used: Sequence[tuple[Source, int]]) -> None:
        """Two releases made with the same coins share them wherever they share a row and a perturbed column."""
        for (one, first), (other, second) in itertools.combinations(used, 2):
            assert one.manifest is not None
            assert other.manifest is not None
            theirs = {column.name.casefold() for column in other.manifest.perturbed}
            shared = [column.name for column in one.manifest.perturbed if column.name.casefold() in theirs]
            if one.manifest.coins.isdisjoint(other.manifest.coins) or not shared:
                continue
            identity = one.manifest.identity
            folded = [sorted(map(str.casefold, manifest.identity)) for manifest in (one.manifest, other.manifest)]
            named = bool(identity) and folded[0] == folded[1]
            if named and not self.overlap(one, other, identity):
                continue
            unknown = "is not released" if not identity or not other.manifest.identity else "goes by different names"
            names = "two members of the union are" if first != second else f"{other.name} and {one.name} are"
            same = f"hold rows of one {', '.join(identity)}" if named else "may hold the same rows, for their identity"
            refuse(
                self.sql,
                other.node,
                f"{names} both releases of {one.manifest.table} with {shared[0]} perturbed: they share coins, and are "
                f"not independent, for they were made with one key and {same}{'' if named else ' ' + unknown}.",
                "Ask one of them, with all conditions. Parts of a table go together where each has a key of its own, "
                "or where the columns that name a row are released and no two parts have the same row.",
            )


def _manifests(sources: Sequence[Source]) -> list[Manifest]:
    return [source.manifest for source in sources if source.manifest is not None]
