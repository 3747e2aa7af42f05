--! case: the median of a perturbed column
SELECT median(age) AS m FROM people;
--! case: the median of a large grid
SELECT median(wage) AS m, median(salary) AS s FROM people;
--! case: quantiles by every name
SELECT quantile_cont(age, 0.3) AS a, quantile_disc(age, 0.3) AS b, quantile(age, 0.9) AS c, percentile_cont(0.25) WITHIN GROUP (ORDER BY hours) AS d, percentile_disc(0.75) WITHIN GROUP (ORDER BY hours) AS e FROM people;
--! case: quantiles from the top
SELECT percentile_cont(0.1) WITHIN GROUP (ORDER BY hours DESC) AS d, percentile_disc(0.1) WITHIN GROUP (ORDER BY hours DESC) AS e, quantile_disc(wage, 0.2 ORDER BY wage DESC) AS w FROM people;
--! case: a list of fractions
SELECT quantile_cont(age, [0.1, 0.5, 0.9]) AS q FROM people WHERE sex = 'F';
--! case: quantiles beside other aggregates
SELECT count(*) AS n, median(wage) AS m, avg(wage) AS a, quantile_disc(age, 0.5) AS d FROM people WHERE hours > 30;
--! case: quantiles in groups
SELECT region, median(wage) AS m, quantile_disc(birth, 0.5) AS b, count(*) AS n FROM people WHERE age > 25 GROUP BY region ORDER BY region;
--! case: quantiles in groups of an expression, no condition
SELECT upper(sex) AS s, median(hours) AS m FROM people GROUP BY s ORDER BY s;
--! case: dates and timestamps
SELECT median(birth) AS a, quantile_disc(birth, 0.25) AS b, median(seen) AS c, quantile_disc(seen, 0.75) AS d FROM people;
--! case: a quantile of a column under its own condition
SELECT median(age) AS m, median(wage) FILTER (WHERE wage BETWEEN 100 AND 500) AS w FROM people WHERE age > 40;
--! case: a quantile of a column under a condition of it that is no comparison
SELECT median(age) AS m FROM people WHERE age % 2 = 1;
--! case: a quantile of a column whose NULLs stay visible
SELECT median(education) AS m, quantile_disc(education, 0.9) AS d FROM people WHERE age > 30;
--! case: a quantile of an expression
SELECT median(age * 2 + 1) AS a, quantile_disc(abs("Order"), 0.6) AS b, median(extract(year FROM birth)) AS c, quantile_disc(round(wage), 0.4) AS d FROM people;
--! case: a quantile of an exact column under a perturbed condition
SELECT median(weight) AS m, quantile_disc(weight, 0.9) AS d FROM people WHERE married AND age > 30;
--! case: a quantile of an exact column in groups
SELECT sex, median(weight) FILTER (WHERE hours > 40) AS m, min(weight) AS least FROM people GROUP BY sex ORDER BY sex;
--! case: a quantile under a condition that spans two columns
SELECT median(wage) AS m FROM people WHERE age < hours;
--! case: a quantile under OR
SELECT median(age) AS m FROM people WHERE age > 50 OR hours > 45;
--! case: quantiles in expressions, HAVING and ORDER BY
SELECT region, round(median(wage) / 10) AS m FROM people GROUP BY region HAVING median(age) > 20 ORDER BY region;
--! case: quantiles over nobody
SELECT median(age) AS a, median(wage) AS b FROM people WHERE sex = 'X';
--! case: quantiles that nobody can be in
SELECT median(age) AS a FROM people WHERE age > 1000;
--! case: quantiles rolled up
SELECT sex, median(hours) AS m FROM people WHERE age > 30 GROUP BY ROLLUP (sex) ORDER BY grouping(sex), sex;
--! case: quantiles in a subquery
SELECT max(m) AS m FROM (SELECT region, median(age) AS m FROM people GROUP BY region) AS medians;
--! case: the bounds of a quantile
SELECT median(age), ppdm_low(median(age)), ppdm_high(median(age)), ppdm_error(median(age)) FROM people WHERE hours > 20;
--! case: the smallest value as a quantile
SELECT quantile_disc(age, 0) FROM people;
--! error: Unsupported: quantile_disc("age", 0) (line 1, column 8): the fraction must lie between 0 and 1: an extreme value belongs to one row
--! case: a quantile of two columns
SELECT median(age + hours) FROM people;
--! error: Unsupported: median("age" + "hours") (line 1, column 8): a quantile must depend on one perturbed column alone, or on exact ones.
--! case: a quantile of text
SELECT quantile_disc(occupation, 0.5) FROM people;
--! error: Unsupported: a quantile of "occupation": only those of numbers, dates and timestamps are reconstructed.
--! case: a quantile in groups of a perturbed column
SELECT grade, median(wage) FROM people GROUP BY grade;
--! error: Unsupported: median("wage") (line 1, column 15): a quantile in groups of a perturbed column is not reconstructed yet.
--! case: the most frequent value
SELECT mode(age) FROM people;
--! error: Unsupported: mode("age") (line 1, column 8): age is perturbed and this aggregate of it cannot be reconstructed.
--! case: the error of an expression of a quantile
SELECT ppdm_error(median(age) * 2) FROM people;
--! error: Unsupported: ppdm_error(median("age") * 2) (line 1, column 8): the error of this expression is not known.
--! case: a quantile of distinct values
SELECT median(DISTINCT age) FROM people;
--! error: Unsupported: median(DISTINCT "age") (line 1, column 8)
--! case: a condition on a large grid that is no comparison, and its quantile
SELECT median(wage) FROM people WHERE wage % 2 < 1;
--! error: Unsupported: "wage" % 2 < 1: a quantile of wage, whose domain has 200,001 values
