What random statements, and people, have found to be wrong; each is right, or refused, now.

--! case: COUNT of a CASE of a boolean column, which may be NULL though the column is not
SELECT count(CASE WHEN married THEN 5 END) AS n FROM people;
--! case: groups that a perturbed condition leaves nobody in are none, where nothing is perturbed
SELECT CAST(weight / 50 AS INTEGER) AS w, count(*) AS n FROM people WHERE age > 85 AND hours < 10 GROUP BY w ORDER BY w;
--! case: the number of groups
SELECT count(*) AS n, max(n) AS m FROM (SELECT id % 3000 AS k, count(*) FILTER (WHERE age > 70) AS n FROM people GROUP BY k) AS g;
--! case: a sum of nobody in a group of a perturbed column
SELECT "Order" AS o, sum(hours) FILTER (WHERE age > 84 AND hours > 30) AS s FROM people GROUP BY o ORDER BY o;
--! case: COUNT_IF of no row
SELECT count_if(age > 30) AS n, count_if(age > 30 AND sex = 'F') AS m FROM people WHERE id < 0 AND hours > 3;
--! case: COUNT_IF of a condition that spans exact and perturbed columns
SELECT sex, count_if(age > 30 AND region = 'north') AS n FROM people WHERE hours > 10 GROUP BY sex ORDER BY sex;
--! case: the correlation with a constant
SELECT corr(age, 2.5) AS a, corr(0.1, hours) AS b, corr(age, hours) AS c FROM people WHERE hours > 20;
--! case: a subquery that looks at an exact column of the row around it, beside a perturbed condition
SELECT count(*) FILTER (WHERE EXISTS (SELECT 1 FROM plain WHERE x = id % 9) AND hours < 40) AS n FROM people;
--! case: a subquery inside an aggregate
SELECT sum(CASE WHEN age IN (SELECT x * 7 + 9 FROM plain) THEN 1 ELSE 0 END) AS s FROM people;
--! case: rows through a subquery that has a subquery itself
SELECT count(*) AS n FROM (SELECT * FROM people WHERE id % 10 IN (SELECT x FROM plain WHERE x < 4)) AS t WHERE t.age > 40;
--! case: a plain query of WITH, named in a condition
WITH w AS (SELECT max(x) * 5 AS v FROM plain) SELECT count(*) AS n FROM people WHERE age > (SELECT v FROM w);
--! case: plain queries of WITH that name each other, with columns named
WITH w(a) AS (SELECT max(x) FROM plain), v AS (SELECT a * 4 AS b FROM w) SELECT count(*) AS n FROM people WHERE age > (SELECT b FROM v) AND id > (SELECT a FROM w);
--! case: a subquery on a perturbed column that looks at an exact one
SELECT count(*) FROM people WHERE age > (SELECT max(x) * 4 FROM plain WHERE x < id % 9);
--! error: Unsupported: "age" > (SELECT max(x) * 4 FROM plain WHERE x < "people"."id" % 9) (line 1, column 35): a subquery in it looks at other columns of the row around it.
--! case: six conditions on two columns that a seventh ties together
SELECT count(*) FILTER (WHERE age > 30) AS a, count(*) FILTER (WHERE age > 40) AS b, count(*) FILTER (WHERE age > 50) AS c, count(*) FILTER (WHERE hours > 30) AS d, count(*) FILTER (WHERE hours > 40) AS e, count(hours + age) AS f FROM people WHERE age < hours;
