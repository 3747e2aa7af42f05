"""From FROM and JOIN of a SELECT to one relation: releases, subqueries that pass their rows on, exact tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from ppdm_sql.domain.types import SqlType
from ppdm_sql.policy.manifest import Manifest, ReleasedColumn
from ppdm_sql.query.understand.joining import Joining
from ppdm_sql.query.understand.query import Visible, conjuncts
from ppdm_sql.query.understand.relation import ROW, Relation, SchemaLookup, Source, named_column, put_in, resolved
from ppdm_sql.query.understand.rows import Choice, body, members, passed, sources
from ppdm_sql.query.understand.scan import conjunction, named
from ppdm_sql.query.understand.shape import check_clear
from ppdm_sql.syntax.dialects import ANALYST
from ppdm_sql.syntax.parentheses import grouped
from ppdm_sql.syntax.refuse import misread, refuse


def read_relation(
    sql: str, select: exp.Select, asking: SchemaLookup, choice: Choice, numbered: bool = False
) -> Relation:
    """The relation that a SELECT reads; `choice` says which members of unions, `numbered` gives rows their numbers."""
    return _Reader(sql, asking, choice, numbered).joined(select)


class _Reader:
    def __init__(self, sql: str, asking: SchemaLookup, choice: Choice, numbered: bool) -> None:
        self.sql, self.asking, self.choice, self.numbered = sql, asking, choice, numbered

    def joined(self, select: exp.Select) -> Relation:
        """The sources of a SELECT, joined."""
        joining = Joining(self.sql)
        for number, join in enumerate([None, *(select.args.get("joins") or ())]):
            node = select.args["from_"].this if join is None else join.this
            alias = node.alias_or_name or f"ppdm_source{number}"
            joining.add(alias, self.source(node, alias), join)
        return joining.relation()

    def source(self, node: exp.Expr, alias: str) -> Relation:
        """One source: a release, what passes its rows on, or an exact relation."""
        if isinstance(node, exp.Lateral):
            refuse(self.sql, node, "LATERAL beside a release is not supported.", "Join on exact columns instead.")
        called = isinstance(node, exp.Unnest) or (isinstance(node, exp.Table) and isinstance(node.this, exp.Func))
        if called and any(node.find_all(exp.Column)):
            why = "beside a release, a function in FROM cannot take columns of what stands before it."
            refuse(self.sql, node, why, "Give it constants; of a column of baskets, GROUP BY its items.")
        for part in ("pivots", "joins", "sample", "laterals", "when"):
            if node.args.get(part):
                why = "beside a release only plain tables and subqueries can be read."
                refuse(self.sql, node, why, "Write each join in FROM, without parentheses, samples and pivots.")
        if passed(node, self.asking.is_release):
            renamed = node.args.get("alias") is not None and node.args["alias"].args.get("columns")
            if renamed:
                refuse(self.sql, node, "renaming a release's columns is not supported yet.", "Name them in SELECT.")
            manifest = self.asking.manifest(node) if isinstance(node, exp.Table) else None
            query = body(node)
            return self.nested(node, query, alias) if query is not None else self.release(node, alias, manifest)
        columns = [ReleasedColumn(name, kind) for name, kind in self.asking.columns(node)]
        return _leaf(Source(alias, node, {c.name: c.name for c in columns}), columns)

    def release(self, node: exp.Expr, alias: str, manifest: Manifest | None) -> Relation:
        """A release as a source; its rows get numbers where they are asked for."""
        assert manifest is not None
        columns = list(manifest.columns)
        if self.numbered:
            order = exp.Order(expressions=[exp.Ordered(this=exp.Literal.number(1), nulls_first=True)])
            table = node.copy()
            table.set("alias", None)
            items = [exp.Star(), named(exp.Window(this=exp.RowNumber(), order=order), ROW)]
            inner = exp.Select(expressions=items, from_=exp.From(this=table))
            node = exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
            columns.append(ReleasedColumn(ROW, SqlType("BIGINT", "integer")))
        return _leaf(Source(alias, node, {c.name: c.name for c in columns}, manifest), columns)

    def nested(self, node: exp.Expr, query: exp.Expr, alias: str) -> Relation:
        """A subquery, or the chosen member of a union; its columns bear the names of the first member's."""
        parts = members(query) or []
        number = self.choice.get(id(query), 0)
        chosen = self.member(parts[number], alias)
        if not number:
            names = [one.name.casefold() for one in chosen.visible]
            if len(set(names)) < len(names):
                refuse(self.sql, parts[0], "two of its columns bear one name.", "Give each its own by AS.")
            return chosen
        first = self.member(parts[0], alias)
        if len(first.visible) != len(chosen.visible):
            misread(self.sql, node, "the queries that UNION ALL puts together have different numbers of columns.")
        pairs = zip(first.visible, chosen.visible, strict=True)
        return replace(chosen, visible=tuple(replace(one, value=other.value) for one, other in pairs))

    def member(self, select: exp.Expr, alias: str) -> Relation:
        """A SELECT that passes rows on: its WHERE joins the relation, its items are what can be named outside."""
        assert isinstance(select, exp.Select)
        if not any(passed(source, self.asking.is_release) for source in sources(select)):
            return self.exact_member(select, alias)
        relation = self.joined(select)
        for node in (*select.expressions, select.args.get("where")):
            if node is not None:
                check_clear(self.sql, node, self.asking.aggregates)
        where = select.args.get("where")
        parts = conjuncts(where.this if where is not None else None)
        for part in parts:
            self._check_alone(part, select)
        items = self._items(relation, select, alias)
        names = _with_aliases(relation.visible, select, items)
        conditions = [resolved(self.sql, names, part) for part in parts]
        hidden = tuple(part for part in conditions if relation.is_perturbed(part))
        exact = tuple(part for part in conditions if not relation.is_perturbed(part))
        if exact:
            inside = {item.alias: item.this for item in relation.select.expressions}
            tests = [grouped(put_in(part, inside)) for part in exact]
            relation.select.set("where", exp.Where(this=conjunction(tests)))
        return replace(
            relation,
            visible=tuple(items),
            exact=(*relation.exact, *exact),
            hidden=(*relation.hidden, *hidden),
        )

    def exact_member(self, select: exp.Select, alias: str) -> Relation:
        """A member of a union that reads no release; engines differ in what they call columns without a name."""
        name = exp.TableAlias(this=exp.to_identifier(alias, quoted=True))
        node = exp.Subquery(this=select.copy(), alias=name)
        if all(item.alias_or_name and not isinstance(item, exp.Literal) for item in select.expressions):
            return self.source(node, alias)
        found = self.asking.columns(node)
        columns = [ReleasedColumn(f"ppdm_c{i}", kind) for i, (_, kind) in enumerate(found)]
        name.set("columns", [exp.to_identifier(column.name) for column in columns])
        leaf = _leaf(Source(alias, node, {c.name: c.name for c in columns}), columns)
        called = zip(leaf.visible, found, strict=True)
        return replace(leaf, visible=tuple(replace(one, name=own) for one, (own, _) in called))

    def _items(self, relation: Relation, select: exp.Select, alias: str) -> list[Visible]:
        visible: list[Visible] = []
        for item in select.expressions:
            if item.is_star:
                visible += self._starred(relation, item, alias)
            else:
                value = resolved(self.sql, _with_aliases(relation.visible, select, visible), item.unalias())
                visible.append(Visible(alias, item.alias_or_name or item.sql(dialect=ANALYST), value))
        return visible

    def _starred(self, relation: Relation, item: exp.Expr, alias: str) -> list[Visible]:
        """What a star stands for."""
        star = item.this if isinstance(item, exp.Column) else item
        if any(star.args.values()):
            why = "a star that leaves columns out, replaces or renames them hides what it stands for."
            refuse(self.sql, item, why, "Name the columns.")
        of = item.table.casefold() if isinstance(item, exp.Column) else None
        chosen = [one for one in relation.visible if (one.bare if of is None else one.qualifier.casefold() == of)]
        if not chosen:
            misread(self.sql, item, "there is no such table here.")
        return [Visible(alias, one.name, one.value) for one in chosen]

    def _check_alone(self, part: exp.Expr, around: exp.Select) -> None:
        """A subquery in a condition must mean the same by itself: then it reads no column of the release around it."""
        for inner in part.find_all(exp.Select, exp.Union):
            if inner.find_ancestor(exp.Select) is around:
                self.asking.columns(exp.Subquery(this=inner.copy()))


def _with_aliases(visible: Sequence[Visible], select: exp.Select, items: Sequence[Visible]) -> tuple[Visible, ...]:
    """What can be named beside items of a SELECT: the columns of its sources, then the items by their aliases."""
    aliases = {item.alias.casefold() for item in select.expressions if isinstance(item, exp.Alias)}
    aliases -= {one.name.casefold() for one in visible if one.bare}
    return (*visible, *(replace(one, qualifier="") for one in items if one.name.casefold() in aliases))


def _leaf(source: Source, columns: Sequence[ReleasedColumn]) -> Relation:
    visible = [Visible(source.name, c.name, named_column(c.name)) for c in columns if c.name != ROW]
    return Relation(exp.Select(), tuple(columns), tuple(visible), (source,))
