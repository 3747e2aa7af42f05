"""Sources of FROM put together, one join after the other.

Before: `people AS p JOIN regions AS r USING (region)`; after: `SELECT "p"."region" AS "region", .., "r"."region" AS
"region_2" FROM people AS p JOIN regions AS r ON "p"."region" = "r"."region"`, and `region` means the first of the two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from ppdm_sql.policy.manifest import ReleasedColumn
from ppdm_sql.query.understand.query import Visible, conjuncts, found_column, own_columns
from ppdm_sql.query.understand.relation import Relation, Source, named_column, put_in, resolved
from ppdm_sql.query.understand.rows import sources
from ppdm_sql.query.understand.scan import conjunction, named
from ppdm_sql.syntax.parentheses import grouped
from ppdm_sql.syntax.refuse import misread, refuse

KINDS = ("", "INNER", "OUTER", "CROSS", "SEMI", "ANTI")
FILTERS = ("SEMI", "ANTI")
"""These joins only pick rows of the left side."""

MADE = "ppdm_made"
"""Marks a SELECT that gives every column of its sources, of which some may be left out."""

BY_ON = "Join by ON or USING."


class Joining:
    """Joins sources; `relation` is what they make."""

    def __init__(self, sql: str) -> None:
        self.sql = sql
        self.placed: list[exp.Expr] = []
        self.joins: list[exp.Join] = []
        self.inside: dict[str, exp.Expr] = {}
        self.columns: dict[str, ReleasedColumn] = {}
        self.given: list[str] = []
        self.visible: list[Visible] = []
        self.sources: list[Source] = []
        self.exact: list[exp.Expr] = []
        self.hidden: list[exp.Expr] = []

    def relation(self) -> Relation:
        """All that was added."""
        items = [named(self.inside[name].copy(), name, quoted=True) for name in self.given]
        select = exp.Select(expressions=items, from_=exp.From(this=self.placed[0]), joins=self.joins)
        columns = tuple(self.columns[name] for name in self.given)
        return Relation(
            select, columns, tuple(self.visible), tuple(self.sources), tuple(self.exact), tuple(self.hidden)
        )

    def add(self, alias: str, found: Relation, join: exp.Join | None) -> None:
        """Join one more source; the first one has no join."""
        names = self._names(found, alias)
        inside = _all(names)
        beside = [replace(one, value=put_in(one.value, inside)) for one in found.visible]
        self._place(alias, found, join)
        if join is not None:
            beside = self._conditions(join, beside)
            if join.kind in FILTERS:
                if found.hidden:
                    why = "rows cannot be picked by a condition on a perturbed column of another release."
                    refuse(self.sql, join, why, "Join the releases on an exact key, and put the condition into WHERE.")
                return
        self.visible += beside
        self.given += names.values()
        self._keep(found, names, join)

    def _names(self, found: Relation, alias: str) -> dict[str, str]:
        """The relation's names of a source's columns: their own, where no other column has it."""
        names = {}
        for column in found.columns:
            taken = {name.casefold() for name in self.columns}
            name, number = column.name, 1
            while name.casefold() in taken:
                number += 1
                name = f"{column.name}_{number}"
            names[column.name] = name
            bound = None if column.perturbed is None else replace(column.perturbed, name=name)
            self.columns[name] = replace(column, name=name, perturbed=bound)
            self.inside[name] = named_column(column.name, alias)
        return names

    def _place(self, alias: str, found: Relation, join: exp.Join | None) -> None:
        """Put the source into FROM."""
        if any(alias.casefold() == node.alias_or_name.casefold() for node in self.placed):
            misread(self.sql, found.sources[0].node, f"two tables here are called {alias}: rename one of them by AS.")
        direct = not found.select.expressions
        node = found.sources[0].node.copy() if direct else exp.Subquery(this=found.select)
        found.select.meta[MADE] = True
        if node.args.get("alias") is None and node.alias_or_name.casefold() != alias.casefold():
            node.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
        self.placed.append(node)
        if join is not None:
            self.joins.append(exp.Join(this=node, side=join.args.get("side"), kind=join.args.get("kind")))

    def _keep(self, found: Relation, names: Mapping[str, str], join: exp.Join | None) -> None:
        """What is known of a source, in the relation's names; an outer join may leave one side out of a row."""
        side = "" if join is None else join.side
        if found.hidden and side in ("LEFT", "FULL"):
            why = "a condition on a perturbed column stands on the side of an outer join that may be missing."
            refuse(self.sql, found.sources[0].node, why, "Use JOIN, or put the condition into the outer WHERE.")
        if side in ("RIGHT", "FULL"):
            self.sources = [replace(source, missing=source.missing or join) for source in self.sources]
        self.sources += [
            replace(
                source,
                columns={names[name]: own for name, own in source.columns.items()},
                missing=source.missing or (join if side in ("LEFT", "FULL") else None),
            )
            for source in found.sources
        ]
        inside = _all(names)
        self.hidden += [put_in(part, inside) for part in found.hidden]
        self.exact += [put_in(part, inside) for part in found.exact]

    def _conditions(self, join: exp.Join, beside: list[Visible]) -> list[Visible]:
        """Put what the join is on into its place; gives back what can be named of the new source."""
        self._check(join)
        both = [*self.visible, *beside]
        tests = [resolved(self.sql, both, test) for test in conjuncts(join.args.get("on"))]
        for column in join.args.get("using") or ():
            tests.append(exp.EQ(this=self._side(self.visible, column), expression=self._side(beside, column)))
            if join.side == "RIGHT":
                self.visible = _not_bare(self.visible, column.name)
            else:
                beside = _not_bare(beside, column.name)
        for test in tests:
            for column in own_columns(test):
                if self.columns[column.parts[0].name].perturbed is not None:
                    why = f"it joins on {column.parts[0].name}, which is perturbed, and no row's value can be trusted."
                    refuse(self.sql, join, why, "Join on exact columns.")
        if tests:
            self.joins[-1].set("on", conjunction([grouped(put_in(test, self.inside)) for test in tests]))
            self.exact += [] if join.kind in FILTERS else tests
        return beside

    def _side(self, visible: Sequence[Visible], column: exp.Expr) -> exp.Expr:
        value = found_column(self.sql, visible, exp.column(column.copy()))
        if value is None:
            misread(self.sql, column, "USING needs a column that both sides of the join have.")
        return value

    def _check(self, join: exp.Join) -> None:
        known = ("this", "side", "kind", "on", "using")
        kind = join.method or (join.kind if join.kind not in KINDS else "")
        if kind:
            refuse(self.sql, join, f"a {kind} join with a release is not supported.", BY_ON)
        if any(value for part, value in join.args.items() if value and part not in known):
            refuse(self.sql, join, "this kind of join with a release is not supported.", BY_ON)
        if join.args.get("on") is not None and join.args["on"].find(exp.Query) is not None:
            refuse(self.sql, join, "a subquery in ON is not supported beside a release.", "Put it into WHERE.")


def prune(select: exp.Select) -> None:
    """Leave out of the subqueries that were made here the columns that nothing names."""
    for source in sources(select):
        made = source.this if isinstance(source, exp.Subquery) else None
        if made is not None and made.meta.get(MADE):
            named_here = {column.name for column in select.find_all(exp.Column) if column.table == source.alias}
            kept = [item for item in made.expressions if item.alias in named_here]
            made.set("expressions", kept or made.expressions[:1])
            prune(made)


def _all(names: Mapping[str, str]) -> dict[str, exp.Expr]:
    return {old: named_column(new) for old, new in names.items()}


def _not_bare(visible: Sequence[Visible], name: str) -> list[Visible]:
    """The names without the one that USING gives to the other side; a qualifier still reaches it."""
    return [replace(one, bare=one.bare and one.name.casefold() != name.casefold()) for one in visible]
