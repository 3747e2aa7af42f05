--! case: two perturbed columns compared
SELECT count(*) AS n FROM people WHERE age < hours;
--! case: two perturbed columns and arithmetic, a large grid
SELECT count(*) AS n, avg(weight) AS w FROM people WHERE age * 5 < wage;
--! case: the same columns each with a constant
SELECT count(*) AS n FROM people WHERE age > 30 AND hours < 45 AND age < hours;
--! case: a comparison of two columns in a NOT and an OR
SELECT count(*) AS n FROM people WHERE NOT (age < hours OR married);
--! case: a range around another column
SELECT count(*) AS n FROM people WHERE age BETWEEN hours - 5 AND hours + 5;
--! case: a column whose NULLs stay visible
SELECT count(*) AS n, count(*) FILTER (WHERE coalesce(education, 0) * 3 < hours) AS f FROM people WHERE education + 30 < hours OR sex = 'F';
--! case: two columns with NULLs
SELECT count(*) AS n FROM people WHERE education > length(occupation);
--! case: a column whose NULL is a value
SELECT count(*) AS n FROM people WHERE length(occupation) * 5 > hours OR occupation IS NULL;
--! case: NULL of one or the other
SELECT count(*) AS n, count(education + length(occupation)) AS k FROM people WHERE education + length(occupation) IS NULL;
--! case: an enum and a number
SELECT count(*) AS n FROM people WHERE CASE grade WHEN 'low' THEN 30 WHEN 'middle' THEN 40 ELSE 50 END < hours;
--! case: two truth values
SELECT count(*) AS n FROM people WHERE married = (grade = 'high');
--! case: negative numbers
SELECT count(*) AS n FROM people WHERE "Order" * 10 + 40 > age;
--! case: groups of an exact column
SELECT region, count(*) AS n, avg(wage) AS w FROM people WHERE age > hours GROUP BY region ORDER BY region;
--! case: groups of a perturbed column that is neither
SELECT grade, count(*) AS n FROM people WHERE age < hours GROUP BY grade ORDER BY grade;
--! case: the sum of a function of two columns
SELECT sum(greatest(age, hours)) AS s, avg(age % hours) AS m FROM people WHERE sex = 'F';
--! case: a CASE of two columns
SELECT sum(CASE WHEN age > hours THEN age - hours ELSE 0 END) AS over, count(*) FILTER (WHERE age > hours) AS n FROM people;
--! case: products of two columns that are compared elsewhere
SELECT sum(age * hours) AS p, sum(age) AS a, count(*) AS n FROM people WHERE age < hours;
--! case: covariance of two columns that are compared
SELECT covar_pop(age, hours) AS c, corr(age, hours) AS r, stddev(age) AS s FROM people WHERE age < hours + 20;
--! case: a ratio of two columns
SELECT avg(age / hours) AS r, sum(age // hours) AS d FROM people;
--! case: rolled up
SELECT sex, count(*) AS n FROM people WHERE age < hours GROUP BY ROLLUP (sex) ORDER BY grouping(sex), sex;
--! case: bounds of a count that spans two columns
SELECT count(*), ppdm_low(count(*)), ppdm_high(count(*)), ppdm_error(avg(age * 1.0 / hours)) FROM people WHERE age < hours;
--! case: a year and an age
SELECT count(*) AS n FROM people WHERE 2009 - extract(year FROM birth) - age < 18 - age % 2;
--! case: decimal and text
SELECT count(*) AS n FROM people WHERE concat(grade, occupation) LIKE '%eS%';
--! case: a comparison that is always true
SELECT count(*) AS n, sum(age + hours) AS s FROM people WHERE age + hours > 0;
--! case: three perturbed columns in one comparison
SELECT count(*) FROM people WHERE age + hours < education;
--! error: Unsupported: "age" + "hours" < "education" (line 1, column 35): it ties the perturbed columns age, education, hours together, and at most two can be.
--! case: three perturbed columns in two comparisons
SELECT count(*) FROM people WHERE age < hours AND hours > education;
--! error: Unsupported:
--! case: two large domains
SELECT count(*) FROM people WHERE wage * 40 < salary;
--! error: Unsupported: "wage" * 40 < "salary": wage and salary together have 2,000,010,000,000 pairs of values, and an expression of two perturbed columns is evaluated on at most 16,777,216.
--! case: groups of a column that is compared with another
SELECT grade, count(*) FROM people WHERE grade::VARCHAR < occupation GROUP BY grade;
--! error: Unsupported: "grade" (line 1, column 79): rows are grouped by grade, which another expression of the query ties to a second column.
--! case: two perturbed columns and an exact one
SELECT count(*) FROM people WHERE age + hours < weight;
--! error: Unsupported: "age" + "hours" < "weight" (line 1, column 35): it mixes the perturbed columns age and hours with exact ones.
--! case: many different numbers of a large grid
SELECT sum(wage % age) FROM people;
--! error: Unsupported: a condition or sum that spans wage and another perturbed column needs a number for each of
