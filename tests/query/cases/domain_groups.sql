--! case: group by a perturbed column
SELECT age, count(*) AS n FROM people GROUP BY age ORDER BY age;
--! case: group by a perturbed column under an exact condition
SELECT grade, count(*) AS n FROM people WHERE sex = 'F' GROUP BY grade ORDER BY grade;
--! case: group by a perturbed column under another's condition
SELECT grade, count(*) AS n FROM people WHERE age > 40 AND hours > 30 GROUP BY grade ORDER BY grade;
--! case: group by a perturbed column under its own condition
SELECT age, count(*) AS n FROM people WHERE age BETWEEN 30 AND 35 GROUP BY age ORDER BY age;
--! case: group by decades
SELECT age // 10 * 10 AS decade, count(*) AS n FROM people GROUP BY decade ORDER BY decade;
--! case: group by floor
SELECT floor(age / 10) * 10 AS decade, count(*) AS n, avg(hours) AS h FROM people GROUP BY 1 ORDER BY 1;
--! case: group by a CASE
SELECT CASE WHEN age < 30 THEN 'young' WHEN age < 60 THEN 'middle' ELSE 'old' END AS stage, count(*) AS n FROM people GROUP BY stage ORDER BY stage;
--! case: group by the month of a date
SELECT date_trunc('year', birth) AS year, count(*) AS n FROM people WHERE birth >= DATE '1990-01-01' GROUP BY year ORDER BY year;
--! case: group by the hour of a timestamp
SELECT extract(hour FROM seen) AS hour, count(*) AS n FROM people GROUP BY ALL ORDER BY hour;
--! case: group by a column whose NULL is a value
SELECT occupation, count(*) AS n FROM people GROUP BY occupation ORDER BY occupation;
--! case: group by a column whose NULLs stay visible
SELECT education, count(*) AS n FROM people GROUP BY education ORDER BY education;
--! case: group by an expression that takes NULL for a value
SELECT coalesce(education, 3) AS e, count(*) AS n FROM people WHERE age > 30 GROUP BY e ORDER BY e;
--! case: group by a boolean
SELECT married, count(*) AS n, sum(weight) AS w FROM people GROUP BY married ORDER BY married;
--! case: group by an exact and a perturbed column
SELECT region, grade, count(*) AS n FROM people GROUP BY region, grade ORDER BY region, grade;
--! case: group by two perturbed columns
SELECT married, grade, count(*) AS n FROM people WHERE sex = 'M' GROUP BY married, grade ORDER BY married, grade;
--! case: group by two expressions of one column
SELECT age > 40 AS older, age % 2 AS odd, count(*) AS n FROM people GROUP BY older, odd ORDER BY older, odd;
--! case: sums in groups of a perturbed column
SELECT grade, sum(wage) AS w, avg(wage) AS m, sum(weight) AS e FROM people WHERE age > 30 GROUP BY grade ORDER BY grade;
--! case: the sum of the grouping column
SELECT age // 20 AS score, sum(age) AS total, avg(age) AS mean, count(*) AS n FROM people GROUP BY score ORDER BY score;
--! case: FILTER in groups of a perturbed column
SELECT grade, count(*) FILTER (WHERE age > 40) AS older, count(*) AS n FROM people GROUP BY grade ORDER BY grade;
--! case: FILTER on the grouping column
SELECT age // 20 AS score, count(*) FILTER (WHERE age % 2 = 0) AS even FROM people GROUP BY score ORDER BY score;
--! case: a condition that ties the grouping column to another
SELECT grade, count(*) AS n FROM people WHERE (grade = 'low' AND age > 30) OR (grade = 'high' AND hours > 40) GROUP BY grade ORDER BY grade;
--! case: a standard deviation in groups of a perturbed column
SELECT married, stddev(age) AS s, corr(age, hours) AS c FROM people GROUP BY married ORDER BY married;
--! case: HAVING and LIMIT on groups of a perturbed column
SELECT age // 10 AS d, count(*) AS n FROM people GROUP BY d HAVING count(*) > 100 ORDER BY n DESC LIMIT 3;
--! ordered by an estimate
--! case: an expression of the group and of aggregates
SELECT upper(grade::VARCHAR) AS g, 100.0 * count(*) FILTER (WHERE married) / count(*) AS share FROM people GROUP BY grade ORDER BY grade;
--! case: bounds of groups of a perturbed column
SELECT grade, count(*), ppdm_low(count(*)), ppdm_high(count(*)), ppdm_error(count(*)) FROM people GROUP BY grade ORDER BY grade;
--! case: few groups of a large domain beside its sum
SELECT wage > 200 AS much, sum(wage) AS s, avg(wage) AS m, count(*) AS n FROM people GROUP BY much ORDER BY much;
--! case: few groups of a large domain, a sum and conditions of it
SELECT salary > 30000 AS much, sum(salary) AS s, sum(1 / salary) FILTER (WHERE salary > 100) AS i FROM people WHERE salary < 60000 GROUP BY much ORDER BY much;
--! case: groups of two columns beside the sum of their product
SELECT wage > 200 AS much, age // 20 AS score, sum(wage * age) AS s FROM people WHERE hours > 20 GROUP BY much, score ORDER BY much, score;
--! case: groups of a column with NULLs beside its sum
SELECT education > 8 AS much, sum(education) AS s, sum(coalesce(education, 2)) AS c, count(education) AS n FROM people GROUP BY much ORDER BY much;
