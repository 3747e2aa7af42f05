"""A SELECT that reads more than one release by itself: joins, subqueries that pass rows on, unions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from ppdm_sql.policy.manifest import Manifest
from ppdm_sql.rewrite.from_clause import read_relation
from ppdm_sql.rewrite.names import ANSWERED
from ppdm_sql.rewrite.query import Query
from ppdm_sql.rewrite.refuse import refuse
from ppdm_sql.rewrite.relation import ROW, Asking
from ppdm_sql.rewrite.repeats import IsUnique, occurs_once, once_a_row
from ppdm_sql.rewrite.rows import choices
from ppdm_sql.rewrite.scan import inner
from ppdm_sql.rewrite.settings import Settings

RELATION = "ppdm_rows"
"""What the relation is called in the statements that read it."""


class Joined:
    """One such SELECT; `query` is what the passes understand of it."""

    def __init__(self, sql: str, select: exp.Select, asking: Asking, is_unique: IsUnique) -> None:
        self.sql, self.select, self.asking, self.is_unique = sql, select, asking, is_unique
        self.choice = list(choices(select, asking.is_release))
        self.relation = read_relation(sql, select, asking, self.choice[0])

    def query(self, settings: Settings) -> Query:
        """The SELECT as one on a single table, its relation."""
        tree = self.select.copy()
        tree.set("from_", exp.From(this=exp.to_table(RELATION)))
        tree.set("joins", None)
        releases = [source.manifest for source in self.relation.sources if source.manifest is not None]
        names = " and ".join(dict.fromkeys(manifest.table for manifest in releases))
        manifest = Manifest(names, max(manifest.rows for manifest in releases), self.relation.columns)
        return Query(
            self.sql,
            tree,
            inner(self.relation.select, RELATION),
            manifest,
            settings,
            self.asking.aggregates,
            visible=self.relation.visible,
            given=self.relation.hidden,
        )

    def exact(self, query: Query) -> exp.Select:
        """What runs where no perturbed column takes part: the SELECT on a relation that has none."""
        tree = query.tree
        exact = {column.name for column in self.relation.columns if column.perturbed is None}
        rows = self.relation.select.copy()
        kept = [item for item in rows.expressions if item.alias in exact]
        rows.set("expressions", kept or [exp.alias_(exp.true(), "ppdm_nothing")])
        tree.set("from_", exp.From(this=inner(rows, RELATION)))
        return tree

    def checked(self, query: Query) -> Query:
        """Refuse sources whose coins are not independent, or that may be missing; tell joins that repeat rows."""
        used = self._used(query)
        for number in used:
            source = self.relation.sources[number]
            if source.missing is not None:
                refuse(
                    self.sql,
                    source.missing,
                    f"{source.name} is perturbed and may be missing from a row of this outer join.",
                    "Begin with the release, and LEFT JOIN the others to it.",
                )
        for source in self.relation.sources if used else ():
            if any(select.meta.get(ANSWERED) for select in source.node.find_all(exp.Select)):
                refuse(
                    self.sql,
                    source.node,
                    "it joins estimates with rows of a release, whose coins they may depend on.",
                    "Ask for the estimates by themselves, or join answers with answers.",
                )
        self._check_independent(used)
        repeated = [n for n in used if not occurs_once(self.relation, n, query.exact, self.is_unique)]
        if repeated and len(used) > 1:
            source = self.relation.sources[repeated[0]]
            refuse(
                self.sql,
                source.node,
                f"a row of {source.name} may occur several times in this join of two releases: the others' columns "
                "that they are joined on are not a key.",
                "Join releases on a key of both.",
            )
        return replace(query, piecewise=bool(repeated))

    def planned(self, query: Query) -> Query:
        """The query whose totals are planned: of a join that repeats rows, on one row for each of the release."""
        if not query.piecewise:
            return query
        (number,) = self._used(query)
        numbered = read_relation(self.sql, self.select, self.asking, self.choice[0], numbered=True)
        row = next(name for name, own in numbered.sources[number].columns.items() if own == ROW)
        return once_a_row(replace(query, table=inner(numbered.select, RELATION)), row)

    def _used(self, query: Query) -> list[int]:
        """The numbers of the sources whose perturbed columns take part."""
        nodes: Sequence[exp.Expr] = (query.tree, *query.given)
        names = {column.name for node in nodes for column in query.perturbed_in(node)}
        return [i for i, source in enumerate(self.relation.sources) if names & source.columns.keys()]

    def _check_independent(self, used: Sequence[int]) -> None:
        """Two releases of one table share coins wherever they share a perturbed column."""
        seen: dict[tuple[str, str], str] = {}
        for number in used:
            source = self.relation.sources[number]
            assert source.manifest is not None
            for column in source.manifest.perturbed:
                place = (source.manifest.table, column.name)
                if place in seen:
                    refuse(
                        self.sql,
                        source.node,
                        f"{source.name} and {seen[place]} are both releases of {place[0]} with {place[1]} perturbed: "
                        "they share coins, and are not independent.",
                        "Ask one of them, with all conditions.",
                    )
                seen[place] = source.name
