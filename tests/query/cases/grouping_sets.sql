--! case: ROLLUP of an exact column under a perturbed predicate
SELECT region, count(*) AS n FROM people WHERE age > 30 GROUP BY ROLLUP (region) ORDER BY region, n;
--! ordered by an estimate
--! case: ROLLUP of two exact columns
SELECT region, sex, count(*) AS n, avg(age) AS a FROM people WHERE hours > 30 GROUP BY ROLLUP (region, sex) ORDER BY grouping(region, sex), region, sex;
--! case: CUBE of two exact columns
SELECT region, sex, sum(hours) AS h, grouping(region) AS r, grouping(sex) AS s FROM people GROUP BY CUBE (region, sex) ORDER BY r, s, region, sex;
--! case: GROUPING SETS of exact columns, one of them empty
SELECT sex, region, grouping_id(sex, region) AS g, count(*) AS n FROM people WHERE married GROUP BY GROUPING SETS ((sex), (region), ()) ORDER BY g, sex, region;
--! case: a column and a ROLLUP combine
SELECT sex, region, count(*) AS n FROM people WHERE age < 50 GROUP BY sex, ROLLUP (region) ORDER BY sex, grouping(region), region;
--! case: two CUBEs combine
SELECT sex, region, count(*) AS n FROM people WHERE age < 50 GROUP BY CUBE (sex), CUBE (region) ORDER BY grouping(sex), grouping(region), sex, region;
--! case: a set asked for twice
SELECT sex, count(*) AS n FROM people WHERE age < 50 GROUP BY GROUPING SETS ((sex), (sex)) ORDER BY sex;
--! case: columns that go together
SELECT sex, region, weight > 100 AS heavy, count(*) AS n FROM people WHERE age < 50 GROUP BY ROLLUP (sex, (region, heavy)) ORDER BY grouping(sex), grouping(region), sex, region, heavy;
--! case: ROLLUP by position and alias
SELECT upper(sex) AS s, count(*) AS n FROM people WHERE hours < 45 GROUP BY ROLLUP (1) ORDER BY grouping(upper(sex)), s;
--! case: a set of no column alone
SELECT count(*) AS n FROM people WHERE age > 40 GROUP BY ();
--! case: HAVING over sets
SELECT region, count(*) AS n FROM people WHERE age > 20 GROUP BY ROLLUP (region) HAVING count(*) > 1000 AND grouping(region) = 0 ORDER BY region;
--! case: a window over all sets
SELECT region, round(100.0 * count(*) / max(count(*)) OVER ()) AS share FROM people WHERE age > 20 GROUP BY ROLLUP (region) ORDER BY grouping(region), region;
--! case: QUALIFY over all sets
SELECT region, grouping(region) AS g FROM people WHERE age > 20 GROUP BY ROLLUP (region) QUALIFY row_number() OVER (PARTITION BY grouping(region) ORDER BY region) = 1 ORDER BY g;
--! case: LIMIT and DISTINCT over sets
SELECT DISTINCT sex FROM people WHERE age > 20 GROUP BY CUBE (sex, region) ORDER BY sex LIMIT 2;
--! case: ROLLUP with a FILTER and without a perturbed WHERE
SELECT sex, count(*) AS n, count(*) FILTER (WHERE age > 40) AS older, min(weight) AS w FROM people GROUP BY ROLLUP (sex) ORDER BY grouping(sex), sex;
--! case: ROLLUP of a perturbed column
SELECT grade, count(*) AS n FROM people GROUP BY ROLLUP (grade) ORDER BY grouping(grade), grade;
--! case: ROLLUP of an exact and a perturbed column
SELECT sex, married, count(*) AS n, sum(weight) AS w FROM people WHERE age > 30 GROUP BY ROLLUP (sex, married) ORDER BY grouping(sex, married), sex, married;
--! case: GROUPING SETS of an exact and a perturbed column
SELECT sex, age // 20 AS score, count(*) AS n FROM people GROUP BY GROUPING SETS ((sex), (score)) ORDER BY grouping(sex), sex, score;
--! case: CUBE of two perturbed columns
SELECT married, grade, count(*) AS n FROM people WHERE sex = 'F' GROUP BY CUBE (married, grade) ORDER BY grouping(married, grade), married, grade;
--! case: ROLLUP of a perturbed column whose NULL is a value
SELECT occupation, grouping(occupation) AS g, count(*) AS n FROM people GROUP BY ROLLUP (occupation) ORDER BY g, occupation;
--! case: the bounds of rolled up counts
SELECT sex, count(*), ppdm_low(count(*)), ppdm_high(count(*)), ppdm_error(avg(hours)) FROM people WHERE age > 30 GROUP BY ROLLUP (sex) ORDER BY grouping(sex), sex;
--! case: the bounds of rolled up groups of a perturbed column
SELECT sex, married, count(*), ppdm_error(count(*)) FROM people GROUP BY GROUPING SETS ((sex), (married), ()) ORDER BY grouping(sex), sex, married;
--! case: ROLLUP under a condition that nobody can meet
SELECT sex, count(*) AS n FROM people WHERE age > 1000 GROUP BY ROLLUP (sex);
--! case: ROLLUP in a subquery
SELECT max(n) AS n FROM (SELECT sex, count(*) AS n FROM people WHERE age > 30 GROUP BY ROLLUP (sex)) AS rolled;
--! case: GROUPING beside a plain GROUP BY
SELECT sex, grouping(sex) AS g, count(*) AS n FROM people WHERE age > 30 GROUP BY sex ORDER BY sex;
--! case: GROUPING of what rows are not grouped by
SELECT grouping(region), count(*) FROM people WHERE age > 30 GROUP BY ROLLUP (sex);
--! error: grouping("region") (line 1, column 8): its arguments must be expressions of GROUP BY.
--! case: too many groupings
SELECT count(*) FROM people WHERE age > 30 GROUP BY CUBE (sex, region, weight, id, sex, region, weight, id);
--! error: Unsupported: CUBE (sex, region, weight, id, sex, region, weight, id) (line 1, column 59): it asks for more than 128 groupings
--! case: an exact ROLLUP
SELECT sex, count(*) AS n, min(weight) AS w FROM people GROUP BY ROLLUP (sex) ORDER BY n;
--! untouched
--! case: a condition on a column that only some sets group by
SELECT age // 10 AS decade, sum(CASE WHEN age > 30 THEN 2 ELSE weight END) AS s FROM people GROUP BY ROLLUP (decade) ORDER BY decade;
--! case: few groups of a large domain and their total
SELECT wage > 200 AS much, sum(wage) AS s FROM people GROUP BY ROLLUP (much) ORDER BY much;
--! case: one column named in two ways
SELECT sex, sum(age) AS n FROM people GROUP BY ROLLUP (sex, people.sex);
--! error: Unsupported: "sex" (line 1, column 68): GROUP BY names it in two ways, which DuckDB takes for two keys
--! case: one column of a subquery named in two ways
SELECT s.v, sum(age) AS n FROM (SELECT sex AS v, age FROM people) AS s GROUP BY ROLLUP ((v), (s.v));
--! error: Unsupported: "sex" (line 1, column 40): GROUP BY names it in two ways, which DuckDB takes for two keys
--! case: two columns of a subquery that are one of the release
SELECT v, w, sum(age) AS n FROM (SELECT sex AS v, sex AS w, age FROM people) GROUP BY ROLLUP (v, w);
--! error: Unsupported: "sex" (line 1, column 51): GROUP BY names it in two ways, which DuckDB takes for two keys
--! case: one column by its name and by its place
SELECT sex, sum(age) AS n FROM people GROUP BY ROLLUP (sex, 1);
--! error: Unsupported: "sex" (line 1, column 8): GROUP BY names it in two ways, which DuckDB takes for two keys
--! case: one column twice, in other letters
SELECT sex, sum(age) AS n FROM people GROUP BY ROLLUP (sex, "SEX");
--! case: a subquery that only some sets group by
SELECT sex, ((SELECT max(x) FROM plain)) AS m, sum(age) AS n FROM people GROUP BY GROUPING SETS (sex, (((SELECT max(x) FROM plain))), ());
--! case: constants by their aliases
SELECT 2 AS s, -3 AS t, sex, sum(age) AS n, grouping(s) AS g FROM people GROUP BY CUBE (s, t, sex);
