"""How large a query becomes where it is written out: a short text may stand for more than can ever be planned.

Names of WITH clauses, names of items that later items use, and stars over stars: each may double what came before it.
"""

from __future__ import annotations

from sqlglot import exp

from ppdm_sql.syntax.scopes import with_query

BUILDING = ("map", "row", "struct_", "union_value")
"""What functions are called by that put columns into one value."""


def tables_written_out(tree: exp.Expr) -> int:
    """How many tables a query reads where each name of a WITH clause stands for what the clause reads."""
    sizes: dict[int, int] = {}

    def size(node: exp.Expr) -> int:
        return sum(of_clause(with_query(table)) for table in node.find_all(exp.Table))

    def of_clause(clause: exp.CTE | None) -> int:
        if clause is None:
            return 1
        if id(clause) not in sizes:
            sizes[id(clause)] = 1  # what a recursive one is to itself
            sizes[id(clause)] = max(size(clause), 1)
        return sizes[id(clause)]

    return size(tree)


def terms_written_out(tree: exp.Expr) -> int:
    """The most terms of one item where the name of an item before it stands for that item's expression."""
    return max((_terms(select) for select in tree.find_all(exp.Select)), default=0)


def _terms(select: exp.Select) -> int:
    sizes: dict[str, int] = {}
    most = 0
    for item in select.expressions:
        columns = [column for column in item.find_all(exp.Column) if not column.table]
        size = 1 + sum(sizes.get(column.name.casefold(), 1) for column in columns)
        most = max(most, size)
        if isinstance(item, exp.Alias):
            sizes[item.alias.casefold()] = size
    return most


def columns_written_out(tree: exp.Expr) -> int:
    """The most columns of one SELECT, those in structs too, where a table has one: stars and structs multiply them."""
    found: dict[int, dict[str, int]] = {}

    def of_select(select: exp.Select) -> dict[str, int]:
        if id(select) not in found:
            found[id(select)] = {}  # what a recursive one is to itself
            found[id(select)] = _columns(select, [of_source(source) for source in _sources(select)])
        return found[id(select)]

    def of_source(source: exp.Expr | None) -> dict[str, int]:
        if isinstance(source, exp.Table):
            clause = with_query(source)
            own = {"*": 1} if clause is None else of_source(clause.this)
        elif isinstance(source, exp.Select):
            return of_select(source)
        elif isinstance(source, exp.SetOperation):
            return _larger([of_source(source.this), of_source(source.expression)])
        elif isinstance(source, exp.Subquery):
            own = of_source(source.this)
        else:
            return {"*": 1}
        joined = [of_source(join.this) for join in source.args.get("joins") or ()]
        return _joined([own, *joined]) if joined else own

    return max((sum(of_select(select).values()) for select in tree.find_all(exp.Select)), default=0)


def _columns(select: exp.Select, sources: list[dict[str, int]]) -> dict[str, int]:
    """The columns in each item of a SELECT by its name, and under a star those without one of their own."""
    before = _joined(sources)
    named = {name: max(source.get(name, 1) for source in sources) for name in before}
    found = {"*": 0}
    for item in select.expressions:
        if item.find(exp.Star, exp.Columns):
            for name, size in before.items():
                found[name] = found.get(name, 0) + size
            continue
        sizes = [named.get(column.name.casefold(), 1) for column in item.find_all(exp.Column)]
        builds = item.find(exp.Struct, exp.Map, exp.ToMap) or any(
            call.name.casefold().startswith(BUILDING) for call in item.find_all(exp.Anonymous)
        )
        size = max(sum(sizes) if builds else max(sizes, default=1), 1)
        name = item.alias_or_name.casefold()
        found[name] = found.get(name, 0) + size
        named.setdefault(name, size)  # for the items after it
    return found


def _joined(sources: list[dict[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for source in sources:
        for name, size in source.items():
            found[name] = found.get(name, 0) + size
    return found


def _larger(sources: list[dict[str, int]]) -> dict[str, int]:
    return max(sources, key=lambda source: sum(source.values()))


def _sources(select: exp.Select) -> list[exp.Expr]:
    clause = select.args.get("from_")
    joins = select.args.get("joins") or ()
    return [node.this for node in (clause, *joins) if node is not None]
