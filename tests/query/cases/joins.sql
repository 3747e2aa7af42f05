--! case: a star join
SELECT zone, count(*) AS n FROM people JOIN regions USING (region) WHERE age > 30 GROUP BY zone ORDER BY zone;
--! expect
SELECT
  ppdm_k0 AS "zone",
  ppdm_e0 AS "n"
FROM (
  SELECT
    ppdm_k0,
    CAST(-0.8108108108108109e0 * ppdm_n0 + 2.0e0 * ppdm_n1 AS DOUBLE) AS ppdm_e0
  FROM (
    SELECT
      "zone" AS ppdm_k0,
      COUNT(*) AS ppdm_n0,
      COALESCE(COUNT_IF("age" > 30), 0) AS ppdm_n1
    FROM (
      SELECT
        "people"."age" AS "age",
        "regions"."zone" AS "zone"
      FROM people
      JOIN regions
        ON (
          "people"."region" = "regions"."region"
        )
    ) AS ppdm_rows
    GROUP BY
      "zone"
  ) AS ppdm_scan
) AS ppdm_groups
ORDER BY
  ppdm_k0
--! case: a key spelled on both sides
SELECT r.zone, avg(p.age) AS a FROM people AS p JOIN regions AS r ON p.region = r.region WHERE p.hours > 30 GROUP BY r.zone ORDER BY r.zone;
--! case: the key the other way round, and a further condition
SELECT count(*) AS n FROM people AS p JOIN regions r ON r.region = p.region AND r.factor > 1 WHERE p.age BETWEEN 30 AND 50;
--! case: a comma join
SELECT r.zone, sum(p.wage) AS s FROM people p, regions r WHERE p.region = r.region AND p.age < 60 GROUP BY r.zone ORDER BY 1;
--! case: a left join keeps rows without a match
SELECT zone, count(*) AS n, avg(hours) AS h FROM people LEFT JOIN regions USING (region) WHERE age > 40 GROUP BY zone ORDER BY zone NULLS FIRST;
--! case: a right join to the release
SELECT zone, count(*) AS n FROM regions RIGHT JOIN people ON regions.region = people.region WHERE age > 40 GROUP BY zone ORDER BY zone NULLS FIRST;
--! case: a snowflake
SELECT z."Order", count(*) AS n FROM people JOIN regions r USING (region) JOIN zones z ON z.zone = r.zone WHERE age > 30 GROUP BY z."Order" ORDER BY 1;
--! case: two columns of one name, one of them perturbed
SELECT z."Order" AS exact, count(*) FILTER (WHERE people."Order" > 0) AS n FROM people JOIN regions USING (region) JOIN zones z USING (zone) GROUP BY z."Order" ORDER BY 1;
--! case: an exact factor of the other table
SELECT sex, sum(factor * age) AS s, sum(factor) AS f FROM people JOIN regions USING (region) WHERE hours > 35 GROUP BY sex ORDER BY sex;
--! case: an exact condition of the other table under OR
SELECT count(*) AS n FROM people JOIN regions USING (region) WHERE zone = 'cold' OR age > 50;
--! case: CASE over both tables
SELECT sum(CASE WHEN zone = 'cold' AND age > 40 THEN factor WHEN married THEN 1 ELSE 0 END) AS s FROM people JOIN regions USING (region);
--! case: groups of a perturbed column of a join
SELECT grade, count(*) AS n FROM people JOIN regions USING (region) WHERE zone = 'warm' GROUP BY grade ORDER BY grade;
--! case: groups of both tables
SELECT zone, grade, avg(age) AS a FROM people JOIN regions USING (region) GROUP BY zone, grade ORDER BY zone, grade;
--! case: a name in quotes
SELECT "head of", count(*) AS n FROM people JOIN regions USING (region) WHERE AGE > 33 GROUP BY "HEAD OF" ORDER BY 1;
--! case: a subquery of an exact table
SELECT m.zone, count(*) AS n FROM people p JOIN (SELECT region, min(zone) AS zone FROM regions GROUP BY region) m ON m.region = p.region WHERE p.age > 30 GROUP BY m.zone ORDER BY 1;
--! case: WITH of an exact table
WITH cold AS (SELECT region, factor FROM regions WHERE zone = 'cold') SELECT factor, count(*) AS n FROM people JOIN cold USING (region) WHERE age > 30 GROUP BY factor ORDER BY factor;
--! case: WITH of an exact table, and groups of a perturbed column
WITH cold AS (SELECT region FROM regions WHERE zone = 'cold') SELECT grade, count(*) AS n FROM people JOIN cold USING (region) GROUP BY grade ORDER BY grade;
--! case: a list of values as a table
SELECT v.label, count(*) AS n FROM people JOIN (VALUES ('north', 'up'), ('south', 'down')) AS v(region, label) ON v.region = people.region WHERE age > 30 GROUP BY v.label ORDER BY 1;
--! case: the release in a subquery
SELECT zone, count(*) AS n FROM (SELECT region, age AS years FROM people WHERE sex = 'F') AS s JOIN regions USING (region) WHERE years > 30 GROUP BY zone ORDER BY zone;
--! case: a join in a subquery, as tools wrap it
SELECT * FROM (SELECT zone, count(*) AS n FROM (SELECT p.age, r.zone, p.hours + 1 AS h FROM people p JOIN regions r USING (region) WHERE p.married) AS virtual_table WHERE age > 30 AND h > 20 GROUP BY zone) AS t ORDER BY zone;
--! case: a view in a join
SELECT zone, count(*) AS n FROM everybody JOIN regions USING (region) WHERE age > 30 GROUP BY zone ORDER BY zone;
--! case: WITH of a join
WITH j AS (SELECT p.*, r.zone FROM people p JOIN regions r USING (region)) SELECT zone, avg(wage) AS w FROM j WHERE age > 30 GROUP BY zone ORDER BY zone;
--! case: a semi join
SELECT count(*) AS n FROM people SEMI JOIN visits USING (id) WHERE age > 30;
--! case: an anti join
SELECT sex, count(*) AS n FROM people p ANTI JOIN visits v ON p.id = v.id AND v.cost > 3 WHERE age > 30 GROUP BY sex ORDER BY sex;
--! case: IN a subquery beside a join
SELECT zone, count(*) AS n FROM people JOIN regions USING (region) WHERE age > 30 AND id IN (SELECT id FROM visits WHERE cost > 5) GROUP BY zone ORDER BY zone;
--! case: EXISTS beside a join
SELECT zone, count(*) AS n FROM people AS p JOIN regions AS r USING (region) WHERE age > 30 AND EXISTS (SELECT 1 FROM visits AS v WHERE v.id = p.id AND v.cost > r.factor) GROUP BY zone ORDER BY zone;
--! case: EXISTS on an exact column
SELECT count(*) AS n FROM people WHERE age > 30 AND EXISTS (SELECT 1 FROM visits WHERE visits.id = people.id);
--! case: a scalar subquery of an exact table
SELECT count(*) AS n, (SELECT max(factor) FROM regions) AS f FROM people WHERE age > 30 AND weight > (SELECT avg(cost) * 10 FROM visits);
--! case: no perturbed column in a join
SELECT zone, count(*) AS n, max(weight) AS w FROM people JOIN regions USING (region) GROUP BY zone ORDER BY zone;
--! untouched
--! case: a release joined with itself on exact columns
SELECT count(*) AS n FROM people a JOIN people b ON a.id = b.id AND a.weight > 50;
--! untouched
--! case: one row of the release occurs several times
SELECT count(*) AS n FROM people JOIN visits USING (id) WHERE age > 30;
--! expect
SELECT
  ppdm_e0 AS "n"
FROM (
  SELECT
    CAST(2.0e0 * ppdm_n0 AS DOUBLE) AS ppdm_e0
  FROM (
    SELECT
      COALESCE(
        SUM(
          COALESCE(CAST(ppdm_f0 AS DOUBLE), 0.0e0) * (
            CAST("age" > 30 AS DOUBLE) - CAST(0.40540540540540543e0 AS DOUBLE)
          )
        ),
        0.0e0
      ) AS ppdm_n0
    FROM (
      SELECT
        "age",
        SUM(1.0e0) AS ppdm_f0
      FROM (
        SELECT
          "people"."age" AS "age",
          "people"."ppdm_row" AS ppdm_row
        FROM (
          SELECT
            *,
            ROW_NUMBER() OVER (ORDER BY 1 NULLS FIRST) AS ppdm_row
          FROM people
        ) AS "people"
        JOIN visits
          ON (
            "people"."id" = "visits"."id"
          )
      ) AS ppdm_rows
      GROUP BY
        "ppdm_row",
        "age"
    ) AS ppdm_rows
  ) AS ppdm_scan
) AS ppdm_groups
--! case: visits by day and sex
SELECT sex, month(day) AS m, count(*) AS n, sum(cost) AS s FROM people p JOIN visits v ON p.id = v.id WHERE p.age > 40 GROUP BY sex, month(day) ORDER BY 1, 2;
--! case: costs of people, with exact aggregates beside
SELECT avg(age) AS a, count(*) AS n, max(day) AS last, min(cost) AS least, sum(cost) AS s, avg(cost) AS c FROM people JOIN visits USING (id);
--! case: exact conditions inside aggregates over repeated rows
SELECT count(*) FILTER (WHERE cost > 5) AS a, sum(CASE WHEN cost > 3 THEN age ELSE 0 END) AS b FROM people JOIN visits USING (id) WHERE hours > 30;
--! case: exact conditions under OR over repeated rows
SELECT sex, count(*) AS n, avg(CASE WHEN cost > 3 THEN age END) AS a FROM people JOIN visits USING (id) WHERE age > 30 OR (cost > 5 AND hours > 40) GROUP BY sex ORDER BY sex;
--! case: a sum of both tables' columns over repeated rows
SELECT sum(cost + age) AS s, sum(age * cost - hours) AS t FROM people JOIN visits USING (id) WHERE NOT (married AND cost < 4);
--! case: repeated rows by left join
SELECT sex, count(*) AS n, count(day) AS v FROM people LEFT JOIN visits USING (id) WHERE age > 30 GROUP BY sex ORDER BY sex;
--! case: a cross join
SELECT x, count(*) AS n FROM people, plain WHERE age > 30 AND x < 3 GROUP BY x ORDER BY x;
--! case: groups of a perturbed column over repeated rows
SELECT grade, count(*) AS n, sum(cost) AS s FROM people JOIN visits USING (id) GROUP BY grade ORDER BY grade;
--! case: repeated rows in a wrapped join
SELECT count(*) AS n, avg(wage) AS w FROM (SELECT p.age, p.wage, v.cost FROM people p JOIN visits v USING (id)) AS t WHERE age > 30 AND cost > 2;
--! case: two releases on a key
SELECT team, count(*) AS n FROM people JOIN jobs.jobs USING (id) WHERE age > 40 AND skill > 5 GROUP BY team ORDER BY team;
--! case: sums over two releases
SELECT sum(age * skill) AS s, avg(wage) FILTER (WHERE remote) AS w FROM people p JOIN jobs.jobs j ON p.id = j.id;
--! case: groups of one release under conditions on another
SELECT remote, count(*) AS n FROM people p JOIN jobs.jobs j ON p.id = j.id WHERE age > 50 GROUP BY remote ORDER BY remote;
--! case: two releases and an exact table
SELECT zone, count(*) AS n FROM people JOIN jobs.jobs USING (id) JOIN regions USING (region) WHERE married AND skill <= 4 GROUP BY zone ORDER BY zone;
--! case: exact columns of one release beside perturbed ones of another
SELECT j.team, count(*) AS n FROM people p JOIN jobs.jobs j USING (id) WHERE p.age > 30 GROUP BY j.team ORDER BY 1;
--! case: rows of a join may be read
SELECT id, age, zone FROM people JOIN regions USING (region) ORDER BY id LIMIT 3;
--! untouched
--! case: a join on a perturbed column, by USING
SELECT count(*) FROM people JOIN elsewhere USING (age);
--! error: Unsupported: JOIN elsewhere USING (age) (line 1, column 34): it joins on age, which is perturbed
--! case: a join on a perturbed column, by ON
SELECT count(*) FROM people p JOIN plain ON p.age > plain.x;
--! error: Unsupported: JOIN plain ON p.age > plain.x (line 1, column 
--! case: a comma join on a perturbed column
SELECT count(*) FROM people p, plain WHERE p.age = plain.x;
--! error: Unsupported: "age" = "x" (line 1, column 
--! case: the release on the outer side
SELECT count(*) FROM regions LEFT JOIN people USING (region) WHERE age > 30;
--! error: Unsupported: LEFT JOIN people USING (region) (line 1, column 
--! case: a full join
SELECT zone, avg(age) FROM people FULL JOIN regions USING (region) GROUP BY zone;
--! error: Unsupported: FULL JOIN regions USING (region) (line 1, column 
--! case: a natural join
SELECT count(*) FROM people NATURAL JOIN regions WHERE age > 30;
--! error: Unsupported: NATURAL JOIN regions (line 1, column 42): a NATURAL join with a release is not supported. Join by ON or USING.
--! case: a positional join
SELECT avg(age) FROM people POSITIONAL JOIN plain;
--! error: Unsupported: POSITIONAL JOIN plain
--! case: an as-of join
SELECT count(*) FROM people p ASOF JOIN visits v ON p.id >= v.id WHERE age > 30;
--! error: Unsupported: ASOF JOIN visits AS v
--! case: a lateral subquery
SELECT count(*) FROM people p, LATERAL (SELECT p.age AS a) q WHERE a > 30;
--! error: Unsupported: LATERAL (SELECT p.age AS a) AS q
--! case: a lateral subquery that does not say so
SELECT avg(a) FROM people p, (SELECT p.age AS a) q;
--! error: Binder Error
--! case: a subquery in ON
SELECT count(*) FROM people p JOIN regions r ON p.region = r.region AND EXISTS (SELECT 1 FROM plain WHERE x = p.age) WHERE hours > 3;
--! error: Unsupported: JOIN regions AS r ON
--! case: the perturbed column of a joined release inside EXISTS
SELECT count(*) FROM people p JOIN regions r USING (region) WHERE hours > 30 AND EXISTS (SELECT 1 FROM plain WHERE x = p.age);
--! error: Unsupported: p.age (line 1, column 
--! case: a perturbed column that is not visible inside EXISTS
SELECT count(*) FROM (SELECT region, hours, age AS years FROM people) p JOIN regions r USING (region) WHERE hours > 30 AND EXISTS (SELECT 1 FROM plain WHERE x = age);
--! error: Unsupported: age (line 1, column 
--! case: a column that two tables have
SELECT count(*) FROM people p JOIN regions r ON p.region = r.region WHERE age > 30 AND region = 'north';
--! error: region (line 1, column 88): more than one table here has such a column: write p.region or r.region.
--! case: a column that no table has
SELECT count(*) FROM people p JOIN regions r USING (region) WHERE agee > 30;
--! error: agee (line 1, column 67): no table here has such a column. Did you mean 'age'?
--! case: a release joined with itself
SELECT count(*) FROM people a JOIN people b USING (id) WHERE a.age > 30 AND b.hours > 30;
--! error: Unsupported: people AS b (line 1, column 36): b and a are both releases of people with age perturbed: they share coins
--! case: two releases on what is no key
SELECT count(*) FROM people p JOIN jobs.jobs j ON p.id % 5 = j.id % 5 WHERE age > 30 AND skill > 3;
--! error: Unsupported: people AS p (line 1, column 22): a row of p may occur several times in this join of two releases
--! case: a join of rows with estimates
SELECT count(*) FROM people p JOIN (SELECT region, avg(age) AS a FROM people GROUP BY region) g USING (region) WHERE p.hours > 30;
--! error: Unsupported: (SELECT
--! case: many exact conditions under OR over repeated rows
SELECT count(*) FROM people JOIN visits USING (id) WHERE (age > 30 AND cost > 5) OR (hours > 10 AND cost > 6) OR (age > 40 AND cost > 7) OR (age > 50 AND cost > 8) OR (age > 60 AND sex = 'F');
--! error: Unsupported: "cost" > 5 (line 1, column 
--! case: an exact aggregate that cannot be put together over repeated rows
SELECT avg(age), median(cost) FROM people JOIN visits USING (id);
--! error: Unsupported: median("cost") (line 1, column 18): the rows it runs over are of a union, or of a join that repeats them
--! case: parentheses around a join
SELECT avg(age) FROM (people JOIN regions USING (region));
--! error: Unsupported: people JOIN regions USING (region) (line 1, column 23): a release cannot be read here.
--! case: a sample of a joined release
SELECT avg(age) FROM people TABLESAMPLE 10 PERCENT JOIN regions USING (region);
--! error: Unsupported: people
--! case: a condition that spans two releases
SELECT count(*) AS n FROM people p JOIN jobs.jobs j USING (id) WHERE p.age > j.skill * 8;
--! case: a condition that spans two columns, over repeated rows
SELECT sex, count(*) AS n, sum(cost) AS s FROM people JOIN visits USING (id) WHERE age < hours GROUP BY sex ORDER BY sex;
--! case: a constant that is grouped by under its alias, where rows repeat
SELECT -3 AS z, count(*) AS n, sum(cost) AS m FROM people JOIN visits USING (id) WHERE age > 30 GROUP BY z;
--! case: COUNT_IF over nothing, and of what is never known, beside a join that repeats rows
SELECT count_if(p.id > 3) AS a, count_if(TRUE) AS b, count(*) AS n, sum(age) AS s FROM people AS p LEFT JOIN visits AS v ON p.id = v.id WHERE p.id < 0;
--! case: COUNT_IF of what is never known beside a join that repeats rows
SELECT count_if(NULL::BOOLEAN) AS a, count_if(cost > 3 AND NULL) AS b, sum(age) AS s FROM people JOIN visits USING (id);
