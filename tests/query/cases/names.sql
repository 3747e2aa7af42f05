Names, aliases and what they stand for, where several things bear one name; and expressions put in their place.

--! case: a computed column of a computed column
SELECT sum(age) AS s FROM (SELECT age * 2 AS age FROM (SELECT age + 1 AS age FROM people));
--! case: a computed column of a computed column, in two steps of WITH
WITH a AS (SELECT hours - 3 AS hours, id FROM people), b AS (SELECT -hours AS hours, id FROM a) SELECT sum(hours) AS s, count(*) FILTER (WHERE hours * 2 > -70) AS n FROM b WHERE id * 2 > 9;
--! case: a computed column over a join
SELECT sum(age) AS s FROM (SELECT age * 2 AS age FROM (SELECT age + 1 AS age, region FROM people) AS p JOIN regions USING (region)) AS q;
--! case: a computed column in an inner WHERE and in ON
SELECT sum(age) AS s FROM (SELECT age, id FROM (SELECT age + 1 AS age, id - 1 AS id FROM people) WHERE age * 2 > 70) AS p JOIN visits ON p.id * 2 = visits.id * 2 - 2;
--! case: a name in a subquery that means a renamed column
WITH s AS (SELECT id % 10 AS weight, age FROM people) SELECT count(*) AS n FROM s WHERE age > 30 AND EXISTS (SELECT 1 FROM plain WHERE x = weight AND x > 3);
--! case: a name in a subquery that means an alias, whose column the subquery has too
SELECT sex, -id % 7 AS q, count(*) AS n FROM people WHERE age > 30 AND EXISTS (SELECT 1 FROM visits WHERE id = -q * 3 + 2) GROUP BY ALL ORDER BY sex, q;
--! case: a group's key in a subquery
SELECT region, (SELECT max(factor) FROM regions WHERE regions.region = people.region) AS f, count(*) AS n FROM people WHERE age > 30 GROUP BY region ORDER BY region;
--! case: an index into text that a subquery makes
SELECT count(*) AS n FROM (SELECT age::VARCHAR AS s FROM people) WHERE s[1] = '4';
--! case: an index into text behind an alias
SELECT age::VARCHAR AS s, count(*) AS n FROM people WHERE s[2] = '3' GROUP BY ALL ORDER BY s;
--! case: indexes into lists, maps and exact text
SELECT count(*) AS n FROM (SELECT sex AS s, [age, hours] AS l, MAP {1: hours} AS m FROM people) WHERE s[1] = 'F' AND l[2] > 40 AND m[1] < 60;
--! case: ORDER BY an expression of a column that an alias bears the name of
SELECT -age AS age, count(*) AS n FROM people WHERE age BETWEEN 20 AND 30 GROUP BY ALL ORDER BY -age LIMIT 2;
--! case: ORDER BY an alias that a column bears the name of
SELECT region AS n, sum(age) AS region FROM people GROUP BY n ORDER BY region LIMIT 1;
--! case: ORDER BY a column that an alias bears the name of
SELECT -(id % 3) AS id, count(*) AS n FROM people WHERE age > 30 GROUP BY people.id ORDER BY people.id LIMIT 3;
--! case: a window ordered by a column that an alias bears the name of
SELECT -weight AS weight, rank() OVER (ORDER BY weight) AS r FROM people WHERE age > 85 GROUP BY weight ORDER BY r;
--! case: HAVING an alias that a column bears the name of
SELECT region AS n, sum(age) AS weight FROM people GROUP BY n HAVING weight > 150000 AND sum(weight) > 0 ORDER BY n;
--! case: HAVING a group that an alias bears the name of
SELECT sex AS other, 'x' AS sex, count(*) AS n FROM people WHERE age > 30 GROUP BY people.sex HAVING sex = 'F';
--! case: ORDER BY behind a union, by what a member selects
SELECT -(id % 3) AS k, count(*) AS n FROM people WHERE age > 30 GROUP BY ALL UNION ALL SELECT 5, 6 ORDER BY -(id % 3);
--! case: macros of DuckDB that aggregate
SELECT sex, geomean(age) AS g, wavg(hours, weight) AS w, weighted_avg(weight, age) AS v FROM people GROUP BY sex ORDER BY sex;
--! case: the one row of a macro that aggregates
SELECT count(*) AS n FROM (SELECT geometric_mean(id + 1) AS g FROM people) AS t;
--! untouched
--! case: an aggregate of the query around, in a subquery
SELECT sex FROM people WHERE age > 30 GROUP BY sex HAVING (SELECT sum(weight) FROM plain WHERE x = 1) > 3;
--! error: Unsupported: sum("people".weight) (line 1, column 67): all its columns are of the query around the subquery
--! case: an alias of an aggregate, in a subquery
SELECT sum(age) AS s, (SELECT max(x) FROM plain WHERE x < s) AS m FROM people;
--! error: Unsupported: s (line 1, column 59): it is an alias of the query around the subquery
--! case: a query of WITH that has no FROM itself
WITH a AS (SELECT (SELECT count(*) FROM people WHERE age > 30) AS age) SELECT age * 2 AS n FROM a;
--! case: an item of a subquery named by another, and in its WHERE
SELECT sum(x) AS n FROM (SELECT age + 1 AS s, s * 2 AS x FROM people WHERE s > 40);
--! case: a constant of a subquery is no position of GROUP BY
SELECT y, count(*) AS n FROM (SELECT 2 AS y, age FROM people) WHERE age > 30 GROUP BY y;
--! case: a constant of a subquery is no position of ORDER BY
SELECT sex, count(*) AS n FROM (SELECT 2 AS y, sex, age FROM people) WHERE age > 30 GROUP BY sex, y ORDER BY y, sex;
--! case: GROUP BY ALL beside constants groups by nothing
SELECT 1 + 1 AS j, sum(age) AS n FROM people WHERE age > 1000 GROUP BY ALL;
--! case: ORDER BY a quoted alias that a group's column bears the name of
SELECT region AS n, sum(age) AS "region" FROM people GROUP BY n ORDER BY "region" LIMIT 1;
--! case: ORDER BY a quoted alias that another aggregate's column bears the name of, and a group by its column
SELECT -(id % 3) AS "id", sum(age) AS "weight" FROM people GROUP BY people.id % 3 ORDER BY "weight" DESC, "id" LIMIT 2;
--! case: GROUP BY ALL has a column that stands for a constant, over nobody
SELECT p.y AS s, count(*) AS n FROM (SELECT id, 2 AS y, 3 AS x FROM people) AS p WHERE x = 1 GROUP BY ALL;
--! untouched
--! case: GROUP BY a constant by its alias, over nobody
SELECT 2 AS s, count(*) AS n FROM people WHERE age > 1000 GROUP BY s;
--! case: GROUP BY constants by their aliases, which are no positions
SELECT 2 AS s, sex AS t, 1 AS u, count(*) AS n FROM people WHERE age > 30 GROUP BY s, t, u ORDER BY t;
--! case: GROUP BY a table's name, which is no alias
SELECT 2 AS people, count(*) AS n FROM people WHERE age > 30 GROUP BY people;
--! error: Unsupported: people (line 1, column 71): it is a table's name, and means whole rows of it.
--! case: GROUP BY a subquery's name, which is no alias
SELECT 2 AS p, count(*) AS n FROM (SELECT sex FROM people) AS p GROUP BY p;
--! error: Unsupported: p (line 1, column 74): it is a table's name, and means whole rows of it.
--! case: GROUP BY the name of a table beside the release
SELECT 2 AS plain, count(*) AS n FROM people JOIN plain ON x = id % 9 WHERE age > 30 GROUP BY plain;
--! error: Unsupported: plain (line 1, column 95): it is a table's name, and means whole rows of it.
--! case: whole rows of a subquery in another
SELECT count(*) FROM (SELECT sex, age FROM people) AS p WHERE age > 30 AND EXISTS (SELECT 1 FROM plain WHERE p IS NULL);
--! error: Unsupported: p (line 1, column 110): it is a table's name, and means whole rows of it.
--! case: HAVING and ORDER BY an alias that a table bears the name of
SELECT sex AS people, count(*) AS n FROM people WHERE age > 30 GROUP BY sex HAVING people > 'A' ORDER BY people;
--! case: ORDER BY DISTINCT ON an alias that a table bears the name of
SELECT DISTINCT ON (people) sex AS people, count(*) AS n FROM people WHERE age > 30 GROUP BY sex ORDER BY people;
--! case: a column of the table around a subquery that has another of its name
SELECT count(*) FROM people AS plain WHERE age > 30 AND EXISTS (SELECT 1 FROM plain WHERE x = plain.id);
--! error: Unsupported: plain.id (line 1, column 95): it means a column of the plain around the subquery
--! case: a column of the subquery around a subquery that has another of its name
SELECT count(*) FROM (SELECT id AS n, age FROM people) AS plain WHERE age > 30 AND NOT EXISTS (SELECT 1 FROM plain WHERE plain.x = plain.n);
--! error: Unsupported: plain.n (line 1, column 132): it means a column of the plain around the subquery
--! case: a subquery alone inside SUM and AVG
SELECT sum((SELECT max(x) FROM plain)) AS s, avg((SELECT max(x) FROM plain WHERE x < people.id % 9)) AS a FROM people WHERE age > 30;
--! case: GROUP BY a subquery by its alias and its place
SELECT (SELECT max(x) FROM plain WHERE x < people.id % 4) AS m, sum(age) AS n FROM people GROUP BY m ORDER BY 1;
--! case: GROUP BY ALL groups by the columns of HAVING, too
SELECT sex, count(*) AS n, sum(age) AS s FROM people WHERE age > 30 GROUP BY ALL HAVING id % 7 = 3 AND id < 40 ORDER BY sex, s;
--! case: GROUP BY ALL groups by the columns behind the aliases of HAVING, but not behind those of aggregates
SELECT abs(id % 5 - 2) AS a, count(*) AS n FROM (SELECT id % 9 AS id, age FROM people) AS t WHERE age > 30 GROUP BY ALL HAVING a > 0 AND n > 9 ORDER BY a, n;
--! case: GROUP BY ALL beside a subquery that is a constant, over nobody
SELECT (SELECT max(x) FROM plain) AS m, sum(age) AS n FROM people WHERE age > 1000 GROUP BY ALL;
--! case: GROUP BY ALL has a subquery that names a column
SELECT (SELECT max(x) FROM plain WHERE x < people.id % 4) AS m, sum(age) AS n FROM people WHERE age > 30 GROUP BY ALL ORDER BY m;
--! case: GROUP BY a negative constant, by its alias and by its place
SELECT -1 AS q, -2 AS r, count(*) AS n FROM people WHERE age > 30 GROUP BY q, 2;
--! case: a constant by its alias, where no perturbed column takes part
SELECT 2 AS grade, count(*) AS n, sum(d) AS s FROM (SELECT id % 3 AS m, id / 6 AS d FROM people) AS t WHERE m > 0 GROUP BY grade;
--! untouched
--! case: LIMIT and OFFSET beside groups of constants like them
SELECT 2 AS s, 1 AS t, sex, count(*) AS n FROM people WHERE age > 30 GROUP BY 1, t, sex ORDER BY sex LIMIT 2 OFFSET 1;
--! case: HAVING an aggregate with a FILTER on a column that an alias bears the name of
SELECT id % 3 AS weight, count(*) AS n FROM people WHERE age > 30 GROUP BY id % 3 HAVING count(*) FILTER (WHERE weight > 90) > 9;
--! case: GROUP BY ALL does not group by what FILTER has in HAVING
SELECT sex, count(*) AS n FROM people WHERE age > 30 GROUP BY ALL HAVING count(*) FILTER (WHERE weight > 90) > 9;
--! case: the spread of a subquery alone
SELECT stddev((SELECT max(x) FROM plain)) AS s, var_pop((SELECT max(x) FROM plain WHERE x < people.id % 9)) AS v FROM people WHERE age > 30;
--! case: GROUP BY ALL takes a name in HAVING for the alias before the column
SELECT id % 2 AS id, count(*) AS n FROM people WHERE age > 30 GROUP BY ALL HAVING id = 1 AND people.id < 60 ORDER BY n;
--! case: GROUP BY ALL takes a name in HAVING for the alias, where no perturbed column takes part
SELECT id % 2 AS id, count(*) AS n FROM (SELECT id % 20 AS id FROM people) AS t GROUP BY ALL HAVING id = 1 ORDER BY n;
--! case: GROUP BY ALL takes a name in HAVING for the aggregate of the alias
SELECT m AS n, sum(m) AS weight FROM (SELECT id % 7 AS m, weight, age FROM people) AS t WHERE age > 30 GROUP BY ALL HAVING weight > 400 ORDER BY n;
--! case: GROUP BY ALL takes a name in HAVING for the alias of the perturbed column's sum
SELECT age AS n, sum(age) AS age FROM people GROUP BY ALL HAVING age > 500 ORDER BY n;
--! case: a constant's alias under a minus in ORDER BY is no position
SELECT 2 AS z, sex, count(*) AS n FROM people WHERE age > 30 GROUP BY z, sex ORDER BY - z DESC, sex;
--! case: a constant's alias under a minus in DISTINCT ON is no position
SELECT DISTINCT ON (- z, sex) 2 AS z, sex, count(*) AS n FROM people WHERE age > 30 GROUP BY sex;
--! case: a window that counts groups, beside the count of rows and in ORDER BY
SELECT region, count(*) FILTER (WHERE age > 30) AS n, count(*) AS m, count(*) OVER () AS w, sum(weight) OVER (ORDER BY region) AS s FROM people GROUP BY region, weight ORDER BY count(*) OVER (ORDER BY region, weight), region;
--! case: HAVING means an alias, though the subquery's column of that name stands for what rows are grouped by
SELECT x AS k, avg(x * 5) AS years FROM (SELECT age AS x, age AS years FROM people WHERE age < 30) AS q GROUP BY 1 HAVING years > 120.5 ORDER BY 1;
--! case: HAVING means the column that rows are grouped by, by its position
SELECT years AS k, count(*) AS years FROM (SELECT age // 10 AS years FROM people) AS q GROUP BY 1 HAVING years > 4 ORDER BY 1;
