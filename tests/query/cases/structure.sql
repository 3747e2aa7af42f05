--! case: a wrapped query
SELECT * FROM (SELECT region, count(*) AS n FROM people WHERE age > 40 GROUP BY region) AS virtual_table ORDER BY region LIMIT 1000;
--! case: a subquery that passes rows on
SELECT count(*) AS n FROM (SELECT * FROM people) AS s WHERE s.age > 30;
--! expect
SELECT
  ppdm_e0 AS "n"
FROM (
  SELECT
    CAST(-0.8108108108108109e0 * ppdm_n0 + 2.0e0 * ppdm_n1 AS DOUBLE) AS ppdm_e0
  FROM (
    SELECT
      COUNT(*) AS ppdm_n0,
      COALESCE(COUNT_IF("age" > 30), 0) AS ppdm_n1
    FROM people
  ) AS ppdm_scan
) AS ppdm_groups
--! case: a subquery that renames and computes
SELECT sex, avg(older) AS a FROM (SELECT age + 1 AS older, sex FROM people WHERE hours > 30) AS p WHERE older > 20 GROUP BY sex ORDER BY sex;
--! expect
SELECT
  ppdm_k0 AS "sex",
  (
    ppdm_e0 / NULLIF(ppdm_e1, 0e0)
  ) AS "a"
FROM (
  SELECT
    ppdm_k0,
    CAST(4.0e0 * ppdm_n0 AS DOUBLE) AS ppdm_e0,
    CAST(0.6687141687141688e0 * ppdm_n1 + -1.393939393939394e0 * ppdm_n2 + -1.9189189189189189e0 * ppdm_n3 + 4.0e0 * ppdm_n4 AS DOUBLE) AS ppdm_e1
  FROM (
    SELECT
      "sex" AS ppdm_k0,
      COALESCE(
        SUM(
          (
            CASE
              WHEN (
                "age" + 1
              ) > 20
              THEN COALESCE(CAST("age" + 1 AS DOUBLE), 0.0e0)
              ELSE 0.0e0
            END - CAST(26.864864864864863e0 AS DOUBLE)
          ) * (
            CAST("hours" > 30 AS DOUBLE) - CAST(0.3484848484848485e0 AS DOUBLE)
          )
        ),
        0.0e0
      ) AS ppdm_n0,
      COUNT(*) AS ppdm_n1,
      COALESCE(COUNT_IF((
        "age" + 1
      ) > 20), 0) AS ppdm_n2,
      COALESCE(COUNT_IF("hours" > 30), 0) AS ppdm_n3,
      COALESCE(COUNT_IF((
        "hours" > 30
      ) AND (
        (
          "age" + 1
        ) > 20
      )), 0) AS ppdm_n4
    FROM people
    GROUP BY
      "sex"
  ) AS ppdm_scan
) AS ppdm_groups
ORDER BY
  ppdm_k0
--! case: subqueries in subqueries
SELECT count(*) AS n FROM (SELECT a FROM (SELECT age AS a, hours AS h FROM people WHERE sex = 'F') AS x WHERE h > 20) AS y WHERE a > 40;
--! case: a star around a selection
SELECT count(*) AS n FROM (SELECT x.* FROM people AS x WHERE x.married) AS y WHERE y.age > 30;
--! case: WITH
WITH p AS (SELECT * FROM people WHERE hours > 30) SELECT region, count(*) AS n FROM p WHERE age > 30 GROUP BY region ORDER BY region;
--! case: WITH used twice
WITH p AS (SELECT * FROM people WHERE hours > 30) SELECT (SELECT count(*) FROM p WHERE age > 40) AS a, (SELECT count(*) FROM p WHERE age <= 40) AS b;
--! case: WITH that names another
WITH p AS (SELECT * FROM people), q AS (SELECT sex, count(*) AS c FROM p WHERE age > 30 GROUP BY sex) SELECT max(c) AS m FROM q;
--! case: an aggregate of aggregates
SELECT avg(n) AS mean, max(n) AS most FROM (SELECT region, count(*) FILTER (WHERE age > 40) AS n FROM people GROUP BY region) AS g;
--! case: a scalar subquery
SELECT count(*) AS n, (SELECT max(x) FROM plain) AS m FROM people WHERE age > 40;
--! case: a share of the whole by a scalar subquery
SELECT region, count(*) / (SELECT count(*) FROM people WHERE age > 40) AS share FROM people WHERE age > 40 GROUP BY region ORDER BY region;
--! case: a mean in a condition
SELECT count(*) AS n FROM people WHERE age > (SELECT avg(x) * 10 FROM plain);
--! case: IN a subquery, on an exact column
SELECT count(*) AS n FROM people WHERE id % 10 IN (SELECT x FROM plain WHERE x > 4) AND age > 40;
--! case: IN a subquery, on a perturbed column
SELECT count(*) AS n FROM people WHERE hours IN (SELECT x + 30 FROM plain);
--! case: EXISTS
SELECT count(*) AS n FROM people WHERE EXISTS (SELECT 1 FROM plain WHERE plain.x > 5) AND age > 40;
--! case: a view
SELECT count(*) AS n FROM everybody WHERE age > 40;
--! case: a view of a view
SELECT sex, avg(age) AS a FROM indirect WHERE hours > 30 GROUP BY sex ORDER BY sex;
--! case: a union of answers
SELECT 'old' AS stage, count(*) AS n FROM people WHERE age > 60 UNION ALL SELECT 'young', count(*) FROM people WHERE age <= 60 ORDER BY stage;
--! case: answers joined
SELECT a.region, a.n AS older, b.n AS everybody FROM (SELECT region, count(*) AS n FROM people WHERE age > 40 GROUP BY region) AS a JOIN (SELECT region, count(*) AS n FROM people GROUP BY region) AS b ON a.region = b.region ORDER BY 1;
--! case: a window over estimates
SELECT region, count(*) AS n, sum(count(*)) OVER () AS everybody FROM people WHERE age > 40 GROUP BY region ORDER BY region;
--! case: the rank of a group
SELECT region, count(*) AS n, row_number() OVER (ORDER BY region) AS r FROM people WHERE age > 40 GROUP BY region ORDER BY region;
--! case: QUALIFY
SELECT region, count(*) AS n FROM people WHERE age > 40 GROUP BY region QUALIFY row_number() OVER (ORDER BY region) = 1;
--! case: DISTINCT over the result
SELECT DISTINCT sex FROM people WHERE age > 40 GROUP BY sex, region HAVING count(*) > 1 ORDER BY sex;
--! case: a part that is exact and a part that is not
SELECT (SELECT count(*) FROM people WHERE sex = 'F') AS women, (SELECT count(*) FROM people WHERE age > 40) AS older;
--! case: a perturbed group in a subquery
SELECT max(n) AS most, sum(n) AS everybody FROM (SELECT grade, count(*) AS n FROM people GROUP BY grade) AS g;
--! case: two parts grouped by perturbed columns, united
SELECT 'grade' AS part, grade::VARCHAR AS value, count(*) AS n FROM people GROUP BY grade UNION ALL SELECT 'sales', occupation, count(*) FROM people WHERE age > 0 AND occupation IN ('Sales', 'Farming') GROUP BY occupation;
--! case: answers from states, joined
SELECT a.grade, a.n, b.n AS m FROM (SELECT grade, count(*) AS n FROM people GROUP BY grade) AS a JOIN (SELECT grade, count(*) AS n FROM people WHERE age > 40 GROUP BY grade) AS b USING (grade);
--! case: groups of a perturbed column beside a scalar subquery from states
WITH g AS (SELECT grade, count(*) AS n FROM people GROUP BY grade) SELECT grade, n, n / (SELECT max(m) FROM (SELECT married, count(*) AS m FROM people GROUP BY married) AS h) AS part FROM g;
--! case: an exact condition that an estimate decides, and nothing to reconstruct
SELECT count(*) > 10 AS many FROM people WHERE weight > (SELECT avg(age) FROM people);
--! case: a subquery beside an aggregate inside another
SELECT sum(weight + (SELECT max(x) FROM plain)) AS s FROM people WHERE age > 40;
--! case: an exact subquery on a release for each row around it
SELECT zone, (SELECT count(*) FROM people AS p WHERE p.region = d.region) AS n FROM regions AS d WHERE EXISTS (SELECT 1 FROM people AS q WHERE q.region = d.region) ORDER BY zone, n;
--! untouched
--! case: a subquery that makes two rows of one is not taken for its rows
SELECT count(*) AS n, count(u) AS m FROM (SELECT id, unnest([region, sex]) AS u FROM people) AS q WHERE id > 20;
--! case: likewise, in WITH and by other names for it
WITH q AS (SELECT unlist([1, 2]) AS u, id FROM people), r AS (SELECT generate_subscripts([region, sex], 1) AS s FROM people) SELECT (SELECT count(*) FROM q) AS n, (SELECT count(*) FROM r) AS m;
--! case: likewise, over a join
SELECT count(*) AS n FROM (SELECT regions.factor, regexp_split_to_table('a b', ' ') AS u FROM people JOIN regions USING (region)) AS q;
--! case: a mean and an exact count divided without decimals
SELECT sex, avg(age) // 7 AS a, count(weight) // 7 AS n FROM people GROUP BY sex ORDER BY sex;
--! case: the variable of a list comprehension is no column
SELECT sex, count(*) AS n FROM people WHERE list_sum([x + age FOR x IN [1, 3] IF x > 1]) > 33 AND len([age FOR age IN [1, 2]]) = 2 GROUP BY sex ORDER BY sex;
--! case: an exact subquery on the release itself beside a perturbed condition
SELECT count(*) AS n FROM people AS p WHERE weight > (SELECT avg(weight) FROM people) AND id % 9 IN (SELECT q.id FROM people AS q WHERE q.weight > 40) AND age > 30;
