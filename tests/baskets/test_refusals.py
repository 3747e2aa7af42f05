"""What is asked of baskets and cannot be answered: by name, place and remedy; and what runs in a query's place."""

from __future__ import annotations

import duckdb
import pytest

import ppdm_sql
from ppdm_sql.errors import Unsupported

REFUSED = {
    "SELECT count(*) FROM shop WHERE len(items) > 2": r'"items"\) > 2 \(line 1, column 33\).*items_size, exactly',
    "SELECT sum(len(items)) FROM shop": r"length.*items_size, exactly",
    "SELECT count(*) FROM shop WHERE items = ['milk']": r'"items" = \[.milk.\] \(line 1, column 33\).*list_contains',
    "SELECT count(*) FROM shop WHERE items[1] = 'milk'": r"items.*list_contains",
    "SELECT items, count(*) FROM shop GROUP BY items": r"unnest\(items\)",
    "SELECT max(items) FROM shop": r"max\(.items.\) \(line 1, column 8\)",
    "SELECT count(DISTINCT items) FROM shop": "distinct values",
    "SELECT count(*) FROM shop WHERE list_contains(items, till)": "not a constant.*Name the item itself",
    "SELECT count(*) FROM shop WHERE list_contains(items, NULL)": "not a constant",
    "SELECT count(*) FROM shop WHERE list_has_all(items, [till])": "not a constant",
    "SELECT count(*) FROM shop WHERE list_has_all(['milk'], items)": "list_contains, list_has_all",
    "SELECT id FROM shop WHERE list_contains(items, 'milk')": "rows cannot be picked by it",
    "SELECT len(items) FROM shop": "would pass for a true one",
    "SELECT count(*) FROM shop, unnest(items) t(item)": "GROUP BY the item",
    "SELECT till, count(*) FROM shop, unnest(items) t(item) GROUP BY till": "GROUP BY the item",
    "SELECT till, count(item) FROM shop, unnest(items) t(item) GROUP BY till": "GROUP BY the item",
    "SELECT item, count(*) FROM shop, unnest(items) t(item) GROUP BY ROLLUP (item)": "without grouping sets",
    "SELECT item, count(*) FROM shop, unnest(items) t(item) WHERE item = 'milk' GROUP BY 1": "HAVING",
    "SELECT item, max(item) FROM shop, unnest(items) t(item) GROUP BY 1": "cannot be reconstructed",
    "SELECT upper(item), count(*) FROM shop, unnest(items) t(item) GROUP BY 1": "GROUP BY the item",
    "SELECT unnest(items), age, count(*) FROM shop GROUP BY 1, 2": "another perturbed column",
    "SELECT unnest(items), count(*) FROM shop WHERE list_contains(items, 'tea') GROUP BY 1": "list_has_all",
    "SELECT count(*) FROM shop a JOIN shop b USING (id) WHERE list_contains(a.items, 'milk')": "not from a join",
    "SELECT count(*) FROM shop JOIN range(10) r(id) USING (id) WHERE list_contains(items, 'milk')": "not from a join",
}


@pytest.mark.parametrize("query", REFUSED)
@pytest.mark.parametrize("kind", ["lists", "seeds"])
def test_refused_by_name_and_place(release, kind, query):
    with ppdm_sql.connect(release(kind)) as con, pytest.raises(Unsupported, match=REFUSED[query]) as error:
        con.execute(query)
    assert "Unsupported" in str(error.value)


def test_seeds_tell_of_small_itemsets_only(release):
    query = "SELECT count(*) FROM shop WHERE list_has_all(items, ['milk', 'bread', 'eggs', 'tea'])"
    with ppdm_sql.connect(release("lists")) as con:
        assert con.execute(query).fetchone()[0] is not None
    with ppdm_sql.connect(release("seeds")) as con:
        with pytest.raises(Unsupported, match="itemsets of up to 3 items; this asks for 4"):
            con.execute(query)
        ratio = "count_if(list_has_all(items, ['milk', 'tea'])) / count_if(list_has_all(items, ['bread', 'beer']))"
        assert con.execute(f"SELECT {ratio} FROM shop").fetchone()[0] is not None
        with pytest.raises(Unsupported, match="together with its errors"):
            con.execute(f"SELECT ppdm_error({ratio}) FROM shop")


def test_many_items_at_once(release):
    names = ", ".join(f"'x{i}'" for i in range(20))
    with ppdm_sql.connect(release()) as con:
        nothing = con.execute(f"SELECT count(*) FROM shop WHERE list_has_all(items, [{names}])").fetchone()
        assert nothing == (0.0,)


@pytest.mark.parametrize("kind", ["lists", "seeds"])
def test_compiled_answers_need_none_of_this_code(release, kind):
    query = (
        "SELECT till, count(*) AS n FROM shop WHERE list_has_all(items, ['milk', 'bread']) GROUP BY till ORDER BY till"
    )
    path = release(kind)
    with ppdm_sql.connect(path) as con:
        answer = con.execute(query).fetchall()
        text = con.compile(query)
    with duckdb.connect() as stock:
        stock.execute(f"CREATE VIEW shop AS FROM '{path}'")
        assert stock.sql(text).fetchall() == answer


def test_other_dialects(release):
    query = "SELECT count(*) FROM shop WHERE list_contains(items, 'it''s')"
    with ppdm_sql.connect(release()) as con:
        spark = con.compile(query, dialect="spark")
        assert "ARRAY_CONTAINS(`items`, 'it\\'s')" in spark
        assert "CASE `items_size` WHEN 0 THEN 0.0e0" in " ".join(spark.split())
    with ppdm_sql.connect(release("seeds")) as con, pytest.raises(Unsupported, match="only DuckDB reads their seeds"):
        con.compile(query, dialect="spark")


def test_explanations(release):
    query = "SELECT count(*) FROM shop WHERE list_has_all(items, ['milk', 'tea'])"
    with ppdm_sql.connect(release("seeds")) as con:
        text = con.explain(query)
        assert "column: items, baskets of up to 4 of 7 items, as seeds, for itemsets of up to 3 items" in text
        assert "items asked for: milk, tea" in text
        assert "BIT_COUNT" in text
    with ppdm_sql.connect(release()) as con:
        text = con.explain("SELECT unnest(items) AS item, count(*) FROM shop GROUP BY item")
        assert "items asked for: every one" in text
        assert "ppdm_items" in text
