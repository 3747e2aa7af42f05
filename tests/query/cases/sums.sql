--! case: the sum of a perturbed column
SELECT sum(hours) AS total FROM people;
--! expect
SELECT
  CASE WHEN ppdm_x0 = 0 THEN NULL ELSE ppdm_e0 END AS "total"
FROM (
  SELECT
    ppdm_n0 AS ppdm_x0,
    CAST(2.0e0 * ppdm_n1 AS DOUBLE) AS ppdm_e0
  FROM (
    SELECT
      COUNT(*) AS ppdm_n0,
      COALESCE(
        SUM((
          COALESCE(CAST("hours" AS DOUBLE), 0.0e0) - CAST(25.0e0 AS DOUBLE)
        )),
        0.0e0
      ) AS ppdm_n1
    FROM people
  ) AS ppdm_scan
) AS ppdm_groups
--! case: the sum of a perturbed column under its own predicate
SELECT sum(age) AS total FROM people WHERE age BETWEEN 25 AND 45;
--! expect
SELECT
  CASE WHEN ppdm_x0 = 0 THEN NULL ELSE ppdm_e0 END AS "total"
FROM (
  SELECT
    ppdm_n0 AS ppdm_x0,
    CAST(2.0e0 * ppdm_n1 AS DOUBLE) AS ppdm_e0
  FROM (
    SELECT
      COUNT(*) AS ppdm_n0,
      COALESCE(
        SUM(
          (
            CASE
              WHEN "age" BETWEEN 25 AND 45
              THEN COALESCE(CAST("age" AS DOUBLE), 0.0e0)
              ELSE 0.0e0
            END - CAST(4.966216216216216e0 AS DOUBLE)
          )
        ),
        0.0e0
      ) AS ppdm_n1
    FROM people
  ) AS ppdm_scan
) AS ppdm_groups
--! case: the sum of a perturbed column under another's predicate
SELECT sum(wage) AS total FROM people WHERE age BETWEEN 25 AND 45 AND hours > 30;
--! case: the sum of an exact column under a perturbed predicate
SELECT sum(weight) AS total FROM people WHERE age > 40;
--! expect
SELECT
  CASE WHEN ppdm_x0 = 0 THEN NULL ELSE ppdm_e0 END AS "total"
FROM (
  SELECT
    ppdm_n0 AS ppdm_x0,
    CAST(2.0e0 * ppdm_n1 AS DOUBLE) AS ppdm_e0
  FROM (
    SELECT
      COUNT(*) AS ppdm_n0,
      COALESCE(
        SUM(
          COALESCE(CAST(CAST("weight" AS DOUBLE) AS DOUBLE), 0.0e0) * (
            CAST("age" > 40 AS DOUBLE) - CAST(0.33783783783783783e0 AS DOUBLE)
          )
        ),
        0.0e0
      ) AS ppdm_n1
    FROM people
  ) AS ppdm_scan
) AS ppdm_groups
--! case: the mean of a perturbed column
SELECT avg(age) AS mean FROM people;
--! case: the mean of a perturbed column in groups
SELECT region, avg(wage) AS mean, count(*) AS n FROM people WHERE hours > 35 GROUP BY region ORDER BY region;
--! case: the mean of a column whose NULLs stay visible
SELECT avg(education) AS mean FROM people WHERE age > 30;
--! case: the mean of an exact column under a perturbed predicate
SELECT avg(weight) AS mean FROM people WHERE married;
--! case: the mean of a decimal
SELECT avg(salary) AS mean FROM people WHERE sex = 'F';
--! case: an expression of one column
SELECT sum(hours * 2 + 1) AS a, avg(round(wage / 10)) AS b, sum(abs("Order")) AS c FROM people WHERE age < 60;
--! case: the product of an exact and a perturbed column
SELECT sum(weight * hours) AS total, sum(weight * hours) / sum(weight) AS mean FROM people;
--! case: the product of two perturbed columns
SELECT sum(wage * hours) AS total FROM people WHERE age > 30;
--! case: a sum of columns
SELECT sum(age + hours - 2 * weight) AS total FROM people;
--! case: a sum of columns, one of them with NULLs
SELECT sum(age + education) AS total, avg(education - age) AS mean FROM people;
--! case: a quotient by an exact column
SELECT sum(hours / weight) AS total FROM people;
--! case: the negative of a column
SELECT sum(-age) AS total, sum(-(age * weight)) AS weighted FROM people;
--! case: counting by CASE
SELECT sum(CASE WHEN age > 40 THEN 1 ELSE 0 END) AS older FROM people;
--! case: counting by CASE over two columns
SELECT sum(CASE WHEN age > 40 AND hours > 40 THEN 1 ELSE 0 END) AS n, avg(CASE WHEN age > 40 OR sex = 'F' THEN 1.0 ELSE 0 END) AS share FROM people;
--! case: a CASE with several branches
SELECT sum(CASE WHEN age < 30 THEN hours WHEN occupation = 'Sales' THEN wage ELSE weight END) AS total FROM people;
--! case: a CASE without ELSE
SELECT avg(CASE WHEN age < 30 THEN hours END) AS mean, count(CASE WHEN married THEN age END) AS n FROM people;
--! case: a CASE with a subject
SELECT sum(CASE occupation WHEN 'Sales' THEN hours WHEN 'Farming' THEN 2 * hours END) AS total FROM people;
--! case: a CASE whose condition may be NULL
SELECT sum(CASE WHEN education > 8 THEN 1 ELSE 10 END) AS total, sum(CASE WHEN region = 'north' THEN age ELSE 0 END) AS north FROM people;
--! case: IF
SELECT sum(if(age > 40, weight, 0)) AS total FROM people;
--! case: a share in per cent
SELECT 100.0 * count(*) FILTER (WHERE age > 40) / count(*) AS share FROM people;
--! case: a share of shares
SELECT 100.0 * count(*) FILTER (WHERE age > 40 AND married) / count(*) FILTER (WHERE age > 40) AS share FROM people;
--! case: FILTER on sums and means
SELECT sum(hours) FILTER (WHERE age > 40) AS a, avg(wage) FILTER (WHERE married AND sex = 'F') AS b, sum(weight) FILTER (WHERE hours > 40) AS c FROM people;
--! case: variance and standard deviation
SELECT var_samp(age) AS a, var_pop(age) AS b, stddev_samp(age) AS c, stddev_pop(age) AS d, variance(hours) AS e, stddev(hours) AS f FROM people;
--! case: the standard deviation of an exact column under a perturbed predicate
SELECT stddev(weight) AS s FROM people WHERE age > 40;
--! case: covariance and correlation of two perturbed columns
SELECT covar_pop(age, hours) AS a, covar_samp(age, hours) AS b, corr(age, wage) AS c FROM people;
--! case: correlation with an exact column
SELECT corr(hours, weight) AS c, corr(education, age) AS d FROM people WHERE age < 60;
--! case: ten aggregates at once
SELECT count(*) AS a, count(education) AS b, sum(age) AS c, avg(age) AS d, sum(hours) AS e, avg(hours) AS f, sum(wage) AS g, avg(wage) AS h, stddev(age) AS i, count_if(married) AS j FROM people WHERE sex = 'M';
--! case: expressions over aggregates
SELECT round(avg(wage), 2) AS a, sum(wage) / nullif(count(*), 0) AS b, coalesce(avg(age), 0) + 1 AS c, sqrt(sum(hours)) AS d FROM people WHERE hours > 30;
--! case: aggregates in HAVING and ORDER BY
SELECT region FROM people GROUP BY region HAVING avg(age) > 20 ORDER BY region;
--! case: a sum over nobody
SELECT sum(age) AS a, avg(age) AS b FROM people WHERE sex = 'X';
--! case: a sum under a condition that nobody can meet
SELECT sum(hours) AS a FROM people WHERE age > 1000;
--! case: the spread of what is one number on the whole domain
SELECT stddev(CASE WHEN age > 30 THEN 1234567.1 ELSE 1234567.1 END) AS s, var_pop(age * 0 + 1e9) AS v FROM people;
--! case: sums and COUNT_IF under what is exact of a FILTER, which nobody passes
SELECT sum(age) FILTER (WHERE id < 0) AS a, count_if(age > 30) FILTER (WHERE id < 0 AND age > 20) AS b, sum(age) FILTER (WHERE id < 500 AND age > 30) AS c FROM people;
