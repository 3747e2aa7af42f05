--! case: group by an exact column
SELECT region, count(*) AS n FROM people WHERE age > 30 GROUP BY region ORDER BY region;
--! case: group by position, with bounds
SELECT sex, count(*), ppdm_low(count(*)), ppdm_high(count(*)), ppdm_error(count(*)) FROM people WHERE age > 30 AND hours > 40 GROUP BY 1 ORDER BY 1;
--! expect
SELECT
  ppdm_k0 AS "sex",
  ppdm_e0 AS "count_star()",
  (
    (
      ppdm_e0
    ) - 1.9599639845400536e0 * SQRT(
      CASE
        WHEN CAST((
          1 * 1 * ppdm_v0_0
        ) AS DOUBLE) IS NULL OR 0.0e0 IS NULL
        THEN NULL
        ELSE GREATEST(CAST((
          1 * 1 * ppdm_v0_0
        ) AS DOUBLE), 0.0e0)
      END
    )
  ) AS "ppdm_low(count_star())",
  (
    (
      ppdm_e0
    ) + 1.9599639845400536e0 * SQRT(
      CASE
        WHEN CAST((
          1 * 1 * ppdm_v0_0
        ) AS DOUBLE) IS NULL OR 0.0e0 IS NULL
        THEN NULL
        ELSE GREATEST(CAST((
          1 * 1 * ppdm_v0_0
        ) AS DOUBLE), 0.0e0)
      END
    )
  ) AS "ppdm_high(count_star())",
  SQRT(
    CASE
      WHEN CAST((
        1 * 1 * ppdm_v0_0
      ) AS DOUBLE) IS NULL OR 0.0e0 IS NULL
      THEN NULL
      ELSE GREATEST(CAST((
        1 * 1 * ppdm_v0_0
      ) AS DOUBLE), 0.0e0)
    END
  ) AS "ppdm_error(count_star())"
FROM (
  SELECT
    ppdm_k0,
    CAST(0.4832104832104832e0 * ppdm_n0 + -1.621621621621622e0 * ppdm_n1 + -1.1919191919191918e0 * ppdm_n2 + 4.0e0 * ppdm_n3 AS DOUBLE) AS ppdm_e0,
    CAST(-0.24971811212597453e0 * ppdm_n0 + 2.6841091705956575e0 * ppdm_n1 + 1.4606948546342484e0 * ppdm_n2 + -2.7769587769587782e0 * ppdm_n3 AS DOUBLE) AS ppdm_v0_0
  FROM (
    SELECT
      "sex" AS ppdm_k0,
      COUNT(*) AS ppdm_n0,
      COALESCE(COUNT_IF("hours" > 40), 0) AS ppdm_n1,
      COALESCE(COUNT_IF("age" > 30), 0) AS ppdm_n2,
      COALESCE(COUNT_IF((
        "age" > 30
      ) AND (
        "hours" > 40
      )), 0) AS ppdm_n3
    FROM people
    GROUP BY
      "sex"
  ) AS ppdm_scan
) AS ppdm_groups
ORDER BY
  1
--! case: group by an alias
SELECT upper(region) AS r, count(*) AS n FROM people WHERE age > 30 GROUP BY r ORDER BY r;
--! case: group by an expression of exact columns
SELECT sex || '-' || coalesce(region, '?') AS cell, count(*) AS n FROM people WHERE married GROUP BY sex || '-' || coalesce(region, '?') ORDER BY cell;
--! case: group by two columns
SELECT sex, region, count(*) AS n FROM people WHERE age < 40 GROUP BY sex, region ORDER BY sex, region;
--! case: group by ALL
SELECT sex, count(*) FILTER (WHERE age > 40) AS older FROM people GROUP BY ALL ORDER BY older DESC;
--! ordered by an estimate
--! case: a key that is not selected
SELECT count(*) AS n FROM people WHERE age > 30 GROUP BY region;
--! case: ORDER BY an estimate and LIMIT
SELECT region, count(*) FROM people WHERE age > 30 GROUP BY region ORDER BY count(*) DESC LIMIT 2;
--! ordered by an estimate
--! case: LIMIT with OFFSET
SELECT region, count(*) AS n FROM people WHERE age > 30 GROUP BY region ORDER BY region NULLS LAST LIMIT 2 OFFSET 1;
--! case: HAVING
SELECT region, count(*) AS n FROM people WHERE age > 30 GROUP BY region HAVING count(*) > 10 ORDER BY region;
--! expect
SELECT
  ppdm_k0 AS "region",
  ppdm_e0 AS "n"
FROM (
  SELECT
    ppdm_k0,
    CAST(-0.8108108108108109e0 * ppdm_n0 + 2.0e0 * ppdm_n1 AS DOUBLE) AS ppdm_e0
  FROM (
    SELECT
      "region" AS ppdm_k0,
      COUNT(*) AS ppdm_n0,
      COALESCE(COUNT_IF("age" > 30), 0) AS ppdm_n1
    FROM people
    GROUP BY
      "region"
  ) AS ppdm_scan
) AS ppdm_groups
WHERE
  ppdm_e0 > 10
ORDER BY
  ppdm_k0
--! case: HAVING an alias
SELECT region, count(*) AS n FROM people WHERE age > 30 GROUP BY region HAVING n > 10 AND region <> 'east' ORDER BY region;
--! case: arithmetic over estimates
SELECT region, 100.0 * count(*) FILTER (WHERE age > 40) / count(*) AS share FROM people GROUP BY region ORDER BY region;
--! case: an expression of a key
SELECT 'region ' || region AS label, count(*) AS n FROM people WHERE age > 30 GROUP BY region ORDER BY label;
--! case: a column that is neither key nor aggregated
SELECT region, count(*) FROM people WHERE age > 30 GROUP BY sex;
--! error: "region" (line 1, column 8): it must appear in GROUP BY, or inside an aggregate.
--! case: a position outside the list
SELECT region, count(*) FROM people WHERE age > 30 GROUP BY 3;
--! error: 3 (line 1, column 61): GROUP BY position is outside the SELECT list of 2.
--! case: no rows pass the exact condition
SELECT count(*) FROM people WHERE sex = 'X' AND age > 30;
--! case: no group passes the exact condition
SELECT region, count(*) FROM people WHERE sex = 'X' AND age > 30 GROUP BY region;
