--! case: the smallest value
SELECT min(age) FROM people;
--! error: Unsupported: min("age") (line 1, column 8): age is perturbed and this aggregate of it cannot be reconstructed. An extreme value belongs to one row
--! case: distinct values
SELECT count(DISTINCT age) FROM people;
--! error: Unsupported: count(DISTINCT "age") (line 1, column 8)
--! case: distinct rows
SELECT DISTINCT age, sex FROM people;
--! error: Unsupported: SELECT DISTINCT "age", "sex" FROM people
--! case: rows picked by a perturbed column
SELECT id FROM people WHERE age > 30;
--! error: Unsupported: "age" > 30 (line 1, column 29): no row's age can be trusted
--! case: rows ordered by a perturbed column
SELECT id FROM people ORDER BY wage DESC LIMIT 1;
--! error: Unsupported: "wage" DESC (line 1, column 32): rows cannot be put in order
--! case: a window
SELECT id, rank() OVER (ORDER BY wage) FROM people;
--! error: Unsupported: rank() OVER (ORDER BY "wage")
--! case: an aggregate that sqlglot does not know
SELECT mad(age) FROM people;
--! error: Unsupported: mad(age) (line 1, column 8): this aggregate, or macro, is not one that can be reconstructed.
--! case: an aggregate that sqlglot does not know, beside a count
SELECT count(*), mad(age) FROM people;
--! error: Unsupported: mad(age) (line 1, column 18)
--! case: a join on a perturbed column
SELECT count(*) FROM people JOIN plain ON people.age = plain.x;
--! error: Unsupported: JOIN plain ON people.age = plain.x
--! case: a perturbed column against an exact one
SELECT count(*) FROM people WHERE age < weight;
--! error: Unsupported: "age" < "weight" (line 1, column 35): it mixes the perturbed column age with exact ones.
--! case: a sample
SELECT count(*) FROM people USING SAMPLE 10 PERCENT;
--! error: Unsupported:
--! case: a summary
SUMMARIZE people;
--! error: Unsupported: SUMMARIZE people (line 1, column 11) would read perturbed values as true ones.
--! case: an insert
INSERT INTO people SELECT * FROM people;
--! error: Unsupported: INSERT on the release people
--! case: an update
UPDATE people SET age = 3;
--! error: Unsupported: UPDATE on the release people
--! case: a delete
DELETE FROM people;
--! error: Unsupported: DELETE on the release people
--! case: a drop
DROP TABLE people;
--! error: Unsupported: DROP on the release people
--! case: a copy
COPY (SELECT count(*) FROM people WHERE age > 30) TO 'x.csv';
--! error: Unsupported: COPY on the release people
--! case: a table made of perturbed rows
CREATE TABLE copied AS SELECT * FROM people;
--! error: Unsupported: CREATE on the release people
--! case: a prepared statement
PREPARE q AS SELECT avg(age) FROM people;
--! error: this PREPARE reads or changes a release, or could, in a form that cannot be checked
--! case: DuckDB's own plan
EXPLAIN ANALYZE SELECT count(*) FROM people WHERE age > 30;
--! error: this EXPLAIN reads or changes a release, or could, in a form that cannot be checked: Use con.explain
--! case: SQL in a string
SELECT * FROM query('SELECT avg(age) FROM people');
--! error: Unsupported: QUERY('SELECT avg(age) FROM people')
--! case: a table's name in a string
SELECT avg(age) FROM query_table('people');
--! error: Unsupported:
--! case: a table macro that reads the release
SELECT * FROM leak();
--! error: Unsupported: LEAK()
--! case: PIVOT
PIVOT people ON sex USING avg(age);
--! error: Unsupported:
--! case: renamed columns
SELECT count(*) FROM people AS p(a, b, c) WHERE b > 30;
--! error: Unsupported: people AS p(a, b, c)
--! case: a random number in a predicate
SELECT count(*) FROM people WHERE age > 100 * random();
--! error: Unsupported: RANDOM() (line 1, column 47): it gives another value at each call
--! case: an unknown column
SELECT count(*) FROM people WHERE agee > 30;
--! error: agee (line 1, column 35): people has no such column. Did you mean 'age'?
--! case: an aggregate inside an aggregate
SELECT count(count(age)) FROM people;
--! error: Unsupported: count(count("age")) (line 1, column 8): an aggregate of an aggregate
--! case: a comparison that DuckDB does not allow
SELECT count(*) FROM people WHERE age > 'thirty';
--! error: Conversion Error
--! case: COLUMNS
SELECT max(COLUMNS('a.*')) FROM people;
--! error: Unsupported:
--! case: whole rows
SELECT max(people) FROM people;
--! error: Unsupported: people (line 1, column 12)
--! case: rows ordered by the position of a perturbed column
SELECT id, age FROM people ORDER BY 2;
--! error: Unsupported: 2 (line 1, column 37): rows cannot be put in order
--! case: rows ordered by an alias of a perturbed column
SELECT id, age AS a FROM people ORDER BY a LIMIT 1;
--! error: Unsupported: a (line 1, column 42): rows cannot be put in order
--! case: rows ordered by all columns
SELECT id, age FROM people ORDER BY ALL;
--! error: Unsupported: ALL
--! case: a column by its position
SELECT max(#2) FROM people;
--! error: Unsupported: #2 (somewhere in the query): it stands for columns without naming them.
--! case: an aggregate inside a star
SELECT * REPLACE (max(age) AS age) FROM people;
--! error: Unsupported: * REPLACE
--! case: an aggregate of a star
SELECT max(*) FROM people;
--! error: Unsupported: * (line 1, column 12)
--! case: distinct whole rows
SELECT count(DISTINCT *) FROM people;
--! error: Unsupported: *
--! case: the error of an expression without a derivative
SELECT ppdm_error(count(*) % 7) FROM people WHERE age > 30;
--! error: Unsupported: ppdm_error(count(*) % 7) (line 1, column 8): the error of this expression is not known.
--! case: a sum of distinct values
SELECT sum(DISTINCT age) FROM people;
--! error: Unsupported: sum(DISTINCT "age") (line 1, column 8)
--! case: the smallest exact value among rows picked by a perturbed one
SELECT min(weight) FROM people WHERE age > 30;
--! error: Unsupported: min("weight") (line 1, column 8): the rows it runs over are picked by age, which is perturbed.
--! case: a list of values
SELECT string_agg(occupation, ',') FROM people;
--! error: Unsupported:
--! case: the value at an extreme
SELECT arg_max(age, wage) FROM people;
--! error: Unsupported:
--! case: a group of two perturbed columns
SELECT age + hours, count(*) FROM people GROUP BY 1;
--! error: Unsupported: "age" + "hours" (line 1, column 8): a group must depend on one perturbed column alone, here age.
--! case: a group of a perturbed and an exact column
SELECT grade || sex, count(*) FROM people GROUP BY 1;
--! error: Unsupported: "grade" || "sex" (line 1, column 8): a group must depend on one perturbed column alone
--! case: too many groups
SELECT salary, count(*) FROM people GROUP BY salary;
--! error: Unsupported: "salary": the domain of salary falls into more than 65,536 groups.
--! case: the smallest exact value in groups of a perturbed column
SELECT age, min(weight) FROM people GROUP BY age;
--! error: Unsupported: min("weight") (line 1, column 13): the groups it runs over are of a perturbed column.
--! case: the largest value through a view
SELECT max(age) FROM everybody;
--! error: Unsupported: max("age") (line 1, column 8)
--! case: the largest value through a view of a view
SELECT max(age) FROM indirect;
--! error: Unsupported: max("age") (line 1, column 8)
--! case: the largest value through WITH
WITH p AS (SELECT age AS a FROM people) SELECT max(a) FROM p;
--! error: Unsupported: max("age") (line 1, column 19)
--! case: rows of a release handed on with LIMIT
SELECT avg(age) FROM (SELECT * FROM people LIMIT 10);
--! error: Unsupported: SELECT * FROM people LIMIT 10 (line 1, column 30): it hands rows of a release on
--! case: rows of a release handed on with DISTINCT
SELECT count(*) FROM (SELECT DISTINCT age FROM people);
--! error: Unsupported: SELECT DISTINCT "age" FROM people (line 1, column 39)
--! case: rows of a release in a union
SELECT age FROM people UNION ALL SELECT x FROM plain;
--! error: Unsupported: SELECT "age" FROM people (line 1, column 8): it hands rows of a release on
--! case: a perturbed column inside a subquery
SELECT count(*) FROM people WHERE EXISTS (SELECT 1 FROM plain WHERE x = age);
--! error: Unsupported: "people".age (line 1, column 73): inside this subquery it may mean the perturbed column
--! case: rows of a release in IN
SELECT count(*) FROM plain WHERE x IN (SELECT age FROM people);
--! error: Unsupported: SELECT "age" FROM people
--! case: a recursive query
WITH RECURSIVE r AS (SELECT age FROM people UNION ALL SELECT age + 1 FROM r) SELECT count(*) FROM r;
--! error: Unsupported: r AS
--! case: a column that a subquery does not select
SELECT count(*) FROM (SELECT hours FROM people) AS p WHERE p.age > 3;
--! error: p.age (line 1, column 60): the subquery p has no such column.
--! case: a window of a perturbed column beside an aggregate
SELECT count(*), rank() OVER (ORDER BY age) FROM people WHERE hours > 3;
--! error: "age" (line 1, column 40): it must appear in GROUP BY, or inside an aggregate.
--! case: an exact condition that depends on an estimate
SELECT sum(age) FROM people WHERE weight > (SELECT avg(age) FROM people);
--! error: Unsupported: "weight" > (SELECT avg("age") FROM people) (line 1, column
--! case: an exact list that depends on an estimate
SELECT avg(age) FROM people WHERE region IN (SELECT region FROM people WHERE age > 30 GROUP BY region HAVING count(*) > 10);
--! error: Unsupported: "region" IN (SELECT "region" FROM people WHERE "age" > 30 GROUP BY "region" H... (line 1, column 35): it depends on an estimate from a release
--! case: a group that depends on an estimate
SELECT weight > (SELECT avg(age) FROM people) AS k, count(*) FROM people WHERE age > 30 GROUP BY k;
--! error: Unsupported: "weight" > (SELECT avg("age") FROM people) (line 1, column
--! case: a FILTER that depends on an estimate
SELECT sum(age) FILTER (WHERE weight > (SELECT avg(age) FROM people)) FROM people;
--! error: Unsupported: sum("age") FILTER(WHERE "weight" > (SELECT avg("age") FROM people)) (line 1, column 8): it depends on an estimate from a release
--! case: a sum of estimates
SELECT sum(weight * (SELECT avg(age) FROM people)) FROM people WHERE hours > 30;
--! error: Unsupported: sum("weight" * (SELECT avg("age") FROM people)) (line 1, column 8): it depends on
--! case: rows passed on that an estimate picks
SELECT sum(age) FROM (SELECT * FROM people WHERE weight > (SELECT avg(age) FROM people)) AS t;
--! error: Unsupported:
--! case: the error of an expression with an estimate of a subquery in it
SELECT ppdm_error(avg(age) - (SELECT avg(age) FROM people)) FROM people WHERE sex = 'F';
--! error: Unsupported: ppdm_error(avg("age") - (
--! case: a subquery that is asked for each row around it
SELECT d.zone, (SELECT count(*) FROM people AS p WHERE p.region = d.region AND age > 30) AS n FROM regions AS d;
--! error: Unsupported: d.region (line 1, column 67): it is of the query around this one, and a release is not reconstructed once for each of its rows. GROUP BY the release's column in a subquery of its own, and join its answer.
--! case: a subquery on a release that is asked for each row of a release
SELECT sex, (SELECT count(*) FROM people AS q WHERE q.sex = p.sex AND age > 30) AS n FROM people AS p GROUP BY sex;
--! error: Unsupported: p.sex (line 1, column 61): it is of the query around this one
--! case: a perturbed column of the query around in an exact subquery on a release
SELECT count(*) FROM people AS p WHERE EXISTS (SELECT 1 FROM people AS q WHERE q.id = p.age);
--! error: Unsupported: p.age (line 1, column 87): inside this subquery it may mean the perturbed column
--! case: rows that unnest makes of perturbed ones
--! error: Unsupported: SELECT "id", "age", unnest([1, 2]) AS u FROM people (line 1, column 30): it hands rows of a release on to a larger query
SELECT count(*) FROM (SELECT id, age, unnest([1, 2]) AS u FROM people) WHERE age > 30;
--! case: an aggregate that the parser does not know as one, in a subquery
--! error: Unsupported: mad(id) (line 1, column 30): this aggregate, or macro, is not one that can be reconstructed.
SELECT count(*) FROM (SELECT mad(id) AS m FROM people);
--! case: a function in FROM of columns beside it
--! error: Unsupported: range(0, id) AS t(u) (line 1, column 30): beside a release, a function in FROM cannot take columns
SELECT count(*) FROM people, range(id) AS t(u) WHERE age > 30;
--! case: the average of dates
--! error: a value of type DATE is no number: it is not summed or averaged.
SELECT avg(birth) FROM people;
--! case: how many groups of a perturbed column there are
SELECT count(*) FROM (SELECT age FROM people GROUP BY age) AS g;
--! error: Unsupported: count(*) (line 1, column 8): it depends on how many groups there are, and those of age, which is perturbed, are all of its domain.
--! case: how many groups have rows that meet a condition on a perturbed column
SELECT count(*) FROM (SELECT region FROM people WHERE age > 30 GROUP BY region) AS g;
--! error: Unsupported: count(*) (line 1, column 8): it depends on how many groups there are, and whether anybody is in one depends on age, which is perturbed. Sum what the groups count, or put the condition into FILTER
--! case: the mean over groups of rows that meet a condition on a perturbed column
WITH g AS (SELECT region, count(*) AS n FROM people WHERE sex = 'F' AND hours > 30 GROUP BY region) SELECT avg(n) FROM g;
--! error: Unsupported: avg(n) (line 1, column 108): it depends on how many groups there are, and whether anybody is in one depends on hours
--! case: groups of a perturbed column counted by a window
SELECT age, count(*) AS n, count(*) OVER () AS w FROM people GROUP BY age;
--! error: Unsupported: count(*) (line 1, column 28): it depends on how many groups there are
--! case: groups under a condition on a perturbed column counted by a window in ORDER BY
SELECT region, count(*) AS n FROM people WHERE age > 30 GROUP BY region ORDER BY count(*) OVER ();
--! error: Unsupported: count(*) (line 1, column 82): it depends on how many groups there are
--! case: values that are among the groups of rows that meet a condition on a perturbed column
SELECT x FROM plain WHERE x IN (SELECT id FROM people WHERE age > 30 GROUP BY id);
--! error: Unsupported: x IN (SELECT "id" FROM people WHERE "age" > 30 GROUP BY "id") (line 1, column 27): it depends on how many groups
--! case: rows without a group of a perturbed column, by ANTI JOIN
SELECT x FROM plain ANTI JOIN (SELECT age FROM people GROUP BY age) AS g ON g.age = x;
--! error: Unsupported: ANTI JOIN (SELECT "age" FROM people GROUP BY "age") AS g ON g.age = x (line 1, column 39): it depends on how many groups
--! case: rows with a group under a condition on a perturbed column, by SEMI JOIN
SELECT x FROM plain SEMI JOIN (SELECT id FROM people WHERE age > 30 GROUP BY id) AS g ON g.id = x;
--! error: Unsupported: SEMI JOIN (SELECT "id" FROM people WHERE "age" > 30 GROUP BY "id") AS g ON g.... (line 1, column 39): it depends on how many groups
--! case: rows without a group of a perturbed column, by EXCEPT
SELECT x FROM plain EXCEPT SELECT age FROM people GROUP BY age;
--! error: Unsupported: SELECT x FROM plain EXCEPT SELECT "age" FROM people GROUP BY "age" (line 1, column 8): it depends on how many groups
--! case: rows with a group of a perturbed column, by INTERSECT
SELECT x FROM plain INTERSECT SELECT age FROM people GROUP BY age;
--! error: Unsupported: SELECT x FROM plain INTERSECT SELECT "age" FROM people GROUP BY "age" (line 1, column 8): it depends on how many groups
--! case: rows without a group of a perturbed column, by an outer join
SELECT x FROM plain LEFT JOIN (SELECT age FROM people GROUP BY age) AS g ON g.age = x WHERE g.age IS NULL;
--! error: Unsupported: g.age IS NULL (line 1, column 93): it depends on how many groups there are
--! case: an estimate divided without decimals
SELECT region, count(*) // 7 AS n FROM people WHERE age > 30 GROUP BY region;
--! error: Unsupported: count(*) // 7 (line 1, column 16): an estimate has decimals, and // leaves out those of whole numbers only.
--! case: an estimate divided without decimals in HAVING
SELECT sex FROM people GROUP BY sex HAVING 1000 // sum(age) > 3;
--! error: Unsupported: 1000 // sum("age") (line 1, column 44): an estimate has decimals
