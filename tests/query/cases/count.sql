--! case: one range
SELECT count(*) FROM people WHERE age BETWEEN 25 AND 45;
--! expect
SELECT
  ppdm_e0 AS "count_star()"
FROM (
  SELECT
    CAST(-0.28378378378378377e0 * ppdm_n0 + 2.0e0 * ppdm_n1 AS DOUBLE) AS ppdm_e0
  FROM (
    SELECT
      COUNT(*) AS ppdm_n0,
      COALESCE(COUNT_IF("age" BETWEEN 25 AND 45), 0) AS ppdm_n1
    FROM people
  ) AS ppdm_scan
) AS ppdm_groups
--! case: two predicates on perturbed columns
SELECT count(*) FROM people WHERE age BETWEEN 25 AND 45 AND hours > 40;
--! expect
SELECT
  ppdm_e0 AS "count_star()"
FROM (
  SELECT
    CAST(0.1691236691236691e0 * ppdm_n0 + -0.5675675675675675e0 * ppdm_n1 + -1.1919191919191918e0 * ppdm_n2 + 4.0e0 * ppdm_n3 AS DOUBLE) AS ppdm_e0
  FROM (
    SELECT
      COUNT(*) AS ppdm_n0,
      COALESCE(COUNT_IF("hours" > 40), 0) AS ppdm_n1,
      COALESCE(COUNT_IF("age" BETWEEN 25 AND 45), 0) AS ppdm_n2,
      COALESCE(COUNT_IF((
        "age" BETWEEN 25 AND 45
      ) AND (
        "hours" > 40
      )), 0) AS ppdm_n3
    FROM people
  ) AS ppdm_scan
) AS ppdm_groups
--! case: three predicates
SELECT count(*) AS n FROM people WHERE age > 30 AND hours <= 45 AND education >= 9;
--! case: four columns are summed by weights
SELECT count(*) AS n FROM people WHERE age > 30 AND hours <= 45 AND education >= 9 AND wage < 200;
--! expect
SELECT
  ppdm_e0 AS "n"
FROM (
  SELECT
    CAST(16.0e0 * ppdm_n0 AS DOUBLE) AS ppdm_e0
  FROM (
    SELECT
      COALESCE(
        SUM(
          (
            CAST("age" > 30 AS REAL) - CAST(0.40540540540540543e0 AS REAL)
          ) * (
            CAST("hours" <= 45 AS REAL) - CAST(0.22727272727272727e0 AS REAL)
          ) * CASE
            WHEN "education" IS NULL
            THEN CAST(0.0e0 AS REAL)
            ELSE (
              CAST(COALESCE("education" >= 9, FALSE) AS REAL) - CAST(0.25e0 AS REAL)
            )
          END * (
            CAST("wage" < 200 AS REAL) - CAST(0.049999750001249996e0 AS REAL)
          )
        ),
        0.0e0
      ) AS ppdm_n0
    FROM people
  ) AS ppdm_scan
) AS ppdm_groups
--! case: eight columns
SELECT count(*) AS n FROM people WHERE age > 20 AND hours > 10 AND education > 2 AND wage < 900 AND married AND grade <> 'low' AND "Order" > -4 AND occupation <> 'Zoë';
--! case: an exact predicate stays in WHERE
SELECT count(*) FROM people WHERE sex = 'F' AND age > 30;
--! expect
SELECT
  ppdm_e0 AS "count_star()"
FROM (
  SELECT
    CAST(-0.8108108108108109e0 * ppdm_n0 + 2.0e0 * ppdm_n1 AS DOUBLE) AS ppdm_e0
  FROM (
    SELECT
      COUNT(*) AS ppdm_n0,
      COALESCE(COUNT_IF("age" > 30), 0) AS ppdm_n1
    FROM people
    WHERE
      (
        "sex" = 'F'
      )
  ) AS ppdm_scan
) AS ppdm_groups
--! case: exact and perturbed under OR
SELECT count(*) FROM people WHERE sex = 'F' OR age > 60;
--! expect
SELECT
  ppdm_e0 AS "count_star()"
FROM (
  SELECT
    CAST(-0.40540540540540543e0 * ppdm_n0 + 2.0e0 * ppdm_n1 + 1.4054054054054055e0 * ppdm_n2 + -2.0e0 * ppdm_n3 AS DOUBLE) AS ppdm_e0
  FROM (
    SELECT
      COUNT(*) AS ppdm_n0,
      COALESCE(COUNT_IF("age" > 60), 0) AS ppdm_n1,
      COALESCE(COUNT_IF("sex" = 'F'), 0) AS ppdm_n2,
      COALESCE(COUNT_IF((
        "sex" = 'F'
      ) AND (
        "age" > 60
      )), 0) AS ppdm_n3
    FROM people
  ) AS ppdm_scan
) AS ppdm_groups
--! case: the negation of an exact predicate that may be NULL
SELECT count(*) FROM people WHERE NOT (region = 'north' AND age > 40);
--! expect
SELECT
  ppdm_e0 AS "count_star()"
FROM (
  SELECT
    CAST(1.6756756756756757e0 * ppdm_n0 + -2.0e0 * ppdm_n1 + -0.6756756756756757e0 * ppdm_n2 + 2.0e0 * ppdm_n3 AS DOUBLE) AS ppdm_e0
  FROM (
    SELECT
      COUNT(*) AS ppdm_n0,
      COALESCE(COUNT_IF("age" > 40), 0) AS ppdm_n1,
      COALESCE(COUNT_IF(NOT (
        "region" = 'north'
      )), 0) AS ppdm_n2,
      COALESCE(COUNT_IF((
        NOT (
          "region" = 'north'
        )
      ) AND (
        "age" > 40
      )), 0) AS ppdm_n3
    FROM people
  ) AS ppdm_scan
) AS ppdm_groups
--! case: two predicates on one column are cells of it
SELECT count(*) FROM people WHERE age < 25 OR age >= 60;
--! expect
SELECT
  ppdm_e0 AS "count_star()"
FROM (
  SELECT
    CAST(-0.527027027027027e0 * ppdm_n0 + 2.0e0 * ppdm_n1 AS DOUBLE) AS ppdm_e0
  FROM (
    SELECT
      COUNT(*) AS ppdm_n0,
      COALESCE(COUNT_IF("age" < 25 OR "age" >= 60), 0) AS ppdm_n1
    FROM people
  ) AS ppdm_scan
) AS ppdm_groups
--! case: overlapping ranges of one column
SELECT count(*) FROM people WHERE age > 20 AND age < 50 AND age <> 33;
--! case: one column in both branches
SELECT count(*) FROM people WHERE (age < 25 AND hours > 40) OR (age >= 60 AND hours < 20);
--! expect
SELECT
  ppdm_e0 AS "count_star()"
FROM (
  SELECT
    CAST(1.0e0 * ppdm_n0 AS DOUBLE) AS ppdm_e0
  FROM (
    SELECT
      COALESCE(
        SUM(
          (
            CAST(4.0e0 AS REAL) * (
              CAST("age" < 25 AS REAL) - CAST(0.05405405405405406e0 AS REAL)
            ) * (
              CAST("hours" > 40 AS REAL) - CAST(0.29797979797979796e0 AS REAL)
            ) + CAST(4.0e0 AS REAL) * (
              CAST("age" >= 60 AS REAL) - CAST(0.20945945945945946e0 AS REAL)
            ) * (
              CAST("hours" < 20 AS REAL) - CAST(0.09595959595959595e0 AS REAL)
            )
          )
        ),
        0.0e0
      ) AS ppdm_n0
    FROM people
  ) AS ppdm_scan
) AS ppdm_groups
--! case: branches that share a column and an exact predicate
SELECT count(*) FROM people WHERE (sex = 'F' AND age < 30) OR (sex = 'M' AND age < 40) OR (age > 70 AND hours < 30);
--! case: constants on the left
SELECT count(*) FROM people WHERE 30 < age AND 45 >= hours;
--! case: equality
SELECT count(*) FROM people WHERE age = 40;
--! case: inequality written the other way
SELECT count(*) FROM people WHERE hours != 40 AND NOT age = 30;
--! case: a list
SELECT count(*) FROM people WHERE occupation IN ('Sales', 'O''Brien''s') AND age IN (30, 31, 32, 33, 34, 35, 400);
--! case: not in a list
SELECT count(*) FROM people WHERE occupation NOT IN ('Sales', 'Farming');
--! case: not in a list that holds NULL is never true
SELECT count(*) FROM people WHERE occupation NOT IN ('Sales', NULL);
--! case: LIKE
SELECT count(*) FROM people WHERE occupation LIKE '%e%' AND grade LIKE '_i%';
--! case: ILIKE and a regular expression
SELECT count(*) FROM people WHERE occupation ILIKE 'T%' OR regexp_matches(occupation, '^[FZ]');
--! case: NULL as a value
SELECT count(*) FROM people WHERE occupation IS NULL;
--! case: NOT NULL as a value
SELECT count(*) FROM people WHERE occupation IS NOT NULL AND age > 50;
--! case: NULL that stays visible
SELECT count(*) FROM people WHERE education IS NULL AND age > 30;
--! case: NULL that stays visible, under OR
SELECT count(*) FROM people WHERE education > 10 OR education IS NULL;
--! expect
SELECT
  ppdm_e0 AS "count_star()"
FROM (
  SELECT
    CAST(-0.375e0 * ppdm_n0 + 2.0e0 * ppdm_n1 + 1.375e0 * ppdm_n2 AS DOUBLE) AS ppdm_e0
  FROM (
    SELECT
      COUNT(*) AS ppdm_n0,
      COALESCE(
        COUNT_IF(
          (
            NOT "education" IS NULL AND (
              "education" > 10 OR "education" IS NULL
            )
          )
        ),
        0
      ) AS ppdm_n1,
      COALESCE(COUNT_IF((
        "education" IS NULL
      )), 0) AS ppdm_n2
    FROM people
  ) AS ppdm_scan
) AS ppdm_groups
--! case: NULL neither meets a predicate nor its negation
SELECT count(*) FROM people WHERE NOT (education > 10);
--! case: NULL in a conjunction that is negated
SELECT count(*) FROM people WHERE NOT (education > 10 AND occupation = 'Sales');
--! case: IS NOT DISTINCT FROM
SELECT count(*) FROM people WHERE occupation IS NOT DISTINCT FROM NULL OR occupation IS DISTINCT FROM 'Sales';
--! case: COALESCE over a NULL
SELECT count(*) FROM people WHERE coalesce(education, 0) < 5;
--! case: IS TRUE of a condition
SELECT count(*) FROM people WHERE (education > 8) IS NOT TRUE;
--! case: a boolean column used bare
SELECT count(*) FROM people WHERE married AND age < 40;
--! case: a boolean column negated
SELECT count(*) FROM people WHERE NOT married;
--! case: a boolean column compared
SELECT count(*) FROM people WHERE married = false AND age > 60;
--! case: arithmetic on one column
SELECT count(*) FROM people WHERE age % 2 = 0 AND hours * 2 + 1 > 80;
--! case: a column twice in one predicate
SELECT count(*) FROM people WHERE age * age > 1600;
--! case: a function of text
SELECT count(*) FROM people WHERE lower(occupation) = 'sales' OR length(occupation) > 8;
--! case: the year of a date
SELECT count(*) FROM people WHERE extract(year FROM birth) = 1975;
--! case: a range of dates
SELECT count(*) FROM people WHERE birth >= DATE '1980-01-01' AND birth < '1990-01-01';
--! case: the weekday of a date
SELECT count(*) FROM people WHERE dayofweek(birth) = 1 OR date_trunc('month', birth) = DATE '1970-05-01';
--! case: a range of timestamps
SELECT count(*) FROM people WHERE seen BETWEEN TIMESTAMP '2021-01-01' AND TIMESTAMP '2021-06-30 12:30:00';
--! case: the hour of a timestamp
SELECT count(*) FROM people WHERE extract(hour FROM seen) BETWEEN 9 AND 17;
--! case: a timestamp compared with a date
SELECT count(*) FROM people WHERE seen >= DATE '2022-01-01';
--! case: an interval added
SELECT count(*) FROM people WHERE birth + INTERVAL 30 YEAR < DATE '2005-01-01';
--! case: a decimal
SELECT count(*) FROM people WHERE salary > 50000.005 AND salary <= 70000;
--! case: a decimal at a grid point
SELECT count(*) FROM people WHERE salary < 40000.01;
--! case: a real at a grid point
SELECT count(*) FROM people WHERE wage <= 150.1 AND wage > 0.3;
--! case: a real between grid points
SELECT count(*) FROM people WHERE wage < 150.005;
--! case: a real compared with an exponent
SELECT count(*) FROM people WHERE wage > 1e2 AND round(wage) < 200;
--! case: an enum compared by its order
SELECT count(*) FROM people WHERE grade >= 'middle';
--! case: an integer compared with a fraction
SELECT count(*) FROM people WHERE age > 39.5 AND hours < 40.5;
--! case: a CASE as a predicate
SELECT count(*) FROM people WHERE CASE WHEN age < 30 THEN 1 WHEN age < 60 THEN 2 ELSE 3 END = 2;
--! case: BETWEEN with columns at its ends
SELECT count(*) FROM people WHERE 40 BETWEEN hours AND age;
--! case: a reserved word in mixed case
SELECT count(*) FROM people WHERE "order" >= 0 AND people."ORDER" < 4;
--! case: an alias of the table
SELECT count(*) FROM people AS p WHERE p.age > 30 AND P.HOURS < 50;
--! case: a schema before the table
SELECT count(*) FROM main.people WHERE people.age > 30;
--! case: COUNT of a column without NULLs
SELECT count(age) FROM people WHERE hours > 40;
--! case: COUNT of a column whose NULLs stay visible
SELECT count(education) FROM people WHERE hours > 40;
--! expect
SELECT
  ppdm_e0 AS "count(education)"
FROM (
  SELECT
    CAST(-0.5959595959595959e0 * ppdm_n1 + 2.0e0 * ppdm_n3 AS DOUBLE) AS ppdm_e0
  FROM (
    SELECT
      COUNT(*) AS ppdm_n0,
      COALESCE(COUNT_IF(NOT "education" IS NULL), 0) AS ppdm_n1,
      COALESCE(COUNT_IF("hours" > 40), 0) AS ppdm_n2,
      COALESCE(COUNT_IF((
        "hours" > 40
      ) AND (
        NOT "education" IS NULL
      )), 0) AS ppdm_n3
    FROM people
  ) AS ppdm_scan
) AS ppdm_groups
--! case: COUNT of a column whose NULL is a value
SELECT count(occupation) FROM people;
--! case: COUNT of an exact column
SELECT count(region) FROM people WHERE age > 40;
--! case: COUNT of an expression
SELECT count(nullif(age, 40)) FROM people;
--! case: COUNT of a constant
SELECT count(1) FROM people WHERE age > 40;
--! case: FILTER
SELECT count(*) FILTER (WHERE age > 40) AS older, count(*) FILTER (WHERE age <= 40) AS younger, count(*) AS everybody FROM people;
--! case: FILTER beside WHERE
SELECT count(*) FILTER (WHERE hours > 40) FROM people WHERE age > 40;
--! case: COUNT_IF
SELECT count_if(age > 40 AND hours > 40) FROM people;
--! case: exact aggregates beside estimates
SELECT count(*) FILTER (WHERE age > 40) AS older, sum(weight) AS weights, min(weight) AS least FROM people;
--! case: an alias used in WHERE
SELECT age > 40 AS older, count(*) FROM people WHERE older GROUP BY older;
--! case: a condition that is always true
SELECT count(*) FROM people WHERE 1 = 1 AND age > 0;
--! case: a condition that is never true
SELECT count(*) FROM people WHERE age > 1000;
--! expect
SELECT
  ppdm_e0 AS "count_star()"
FROM (
  SELECT
    CAST(0.0e0 AS DOUBLE) AS ppdm_e0
  FROM (
    SELECT
      COUNT(*) AS ppdm_n0
    FROM people
    WHERE
      FALSE
  ) AS ppdm_scan
) AS ppdm_groups
--! case: a condition beyond the domain, with others
SELECT count(*) FROM people WHERE age > 40 OR hours > 1000;
--! case: a condition that is NULL
SELECT count(*) FROM people WHERE age > NULL;
--! case: no perturbed column takes part
SELECT region, count(*) AS n, sum(weight) AS w FROM people WHERE sex = 'F' GROUP BY region;
--! untouched
--! case: thirty predicates
SELECT count(*) FROM people WHERE age > 17 AND age > 18 AND age <> 19 AND age <> 20 AND age <> 21 AND age < 90 AND age < 89 AND hours > 1 AND hours > 2 AND hours <> 3 AND hours <> 4 AND hours < 99 AND hours < 98 AND (education > 1 OR education IS NULL) AND (education <> 2 OR education IS NULL) AND wage > 1 AND wage > 2 AND wage < 1999 AND salary > 1 AND salary > 2 AND birth > DATE '1930-02-01' AND birth > DATE '1930-03-01' AND seen > TIMESTAMP '2020-01-02' AND seen < TIMESTAMP '2023-12-30' AND (occupation <> 'Zoë' OR occupation IS NULL) AND "Order" > -5 AND "Order" < 5 AND sex IN ('F', 'M') AND weight > 0 AND weight < 100000;
--! too many states for Bayes
--! case: the complement of an exact predicate that may be NULL, in a sum of weights
SELECT count(*) FROM people WHERE hours <= 39 AND (region = 'north' OR extract(year FROM birth) < 1969 OR education IS NULL) AND age > 20;
