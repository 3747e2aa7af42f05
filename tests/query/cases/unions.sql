--! case: two partitions
SELECT count(*) AS n FROM (SELECT id, age, sex FROM north.north UNION ALL SELECT id, years, gender FROM south.south) AS u WHERE age > 30;
--! expect
SELECT
  ppdm_e0 AS "n"
FROM (
  SELECT
    SUM(ppdm_e0) AS ppdm_e0
  FROM (
    SELECT
      CAST(-0.8108108108108109e0 * ppdm_n0 + 2.0e0 * ppdm_n1 AS DOUBLE) AS ppdm_e0
    FROM (
      SELECT
        COUNT(*) AS ppdm_n0,
        COALESCE(COUNT_IF("age" > 30), 0) AS ppdm_n1
      FROM (
        SELECT
          "u"."age" AS "age"
        FROM (
          SELECT
            "north"."age" AS "age"
          FROM "north".north
        ) AS "u"
      ) AS ppdm_rows
    ) AS ppdm_scan
    UNION ALL
    SELECT
      CAST(-0.24722222222222223e0 * ppdm_n0 + 1.3333333333333333e0 * ppdm_n1 AS DOUBLE) AS ppdm_e0
    FROM (
      SELECT
        COUNT(*) AS ppdm_n0,
        COALESCE(COUNT_IF("age" > 30), 0) AS ppdm_n1
      FROM (
        SELECT
          "u"."years" AS "age"
        FROM (
          SELECT
            "south"."years" AS "years"
          FROM "south".south
        ) AS "u"
      ) AS ppdm_rows
    ) AS ppdm_scan
  ) AS ppdm_parts
) AS ppdm_groups
--! case: partitions by an exact key
SELECT sex, count(*) AS n FROM (SELECT age, sex FROM north.north UNION ALL SELECT years, gender FROM south.south) AS u WHERE age > 30 GROUP BY sex ORDER BY sex;
--! case: stars, the columns in another order
SELECT sex, count(*) AS n, avg(hours) AS h FROM (SELECT * FROM north.north UNION ALL SELECT id, years AS age, gender AS sex, hours FROM south.south) WHERE age BETWEEN 25 AND 60 GROUP BY sex ORDER BY sex;
--! case: an exact member
SELECT sex, count(*) AS n, sum(age) AS s FROM (SELECT * FROM north.north UNION ALL SELECT * FROM elsewhere) AS u WHERE hours > 30 GROUP BY sex ORDER BY sex;
--! case: three members
SELECT count(*) AS n, avg(age) AS a FROM (SELECT age, hours FROM north.north UNION ALL SELECT years, hours FROM south.south UNION ALL (SELECT age, hours FROM elsewhere)) AS u WHERE hours < 45;
--! case: members with conditions on exact columns, and a constant
SELECT source, count(*) AS n FROM (SELECT 'n' AS source, age FROM north.north WHERE sex = 'F' UNION ALL SELECT 's', years FROM south.south WHERE id % 2 = 1) AS u WHERE age > 40 GROUP BY source ORDER BY source;
--! case: WITH of a union
WITH u AS (FROM north.north UNION ALL SELECT id, years, gender, hours FROM south.south) SELECT sex, variance(age) AS v, count(*) AS n FROM u GROUP BY sex ORDER BY sex;
--! case: a wrapped union
SELECT * FROM (SELECT sex, count(*) AS n FROM (SELECT * FROM (SELECT age, sex FROM north.north UNION ALL SELECT years, gender FROM south.south) AS u) AS w WHERE age > 30 GROUP BY sex) AS t ORDER BY sex;
--! case: a union within a union
SELECT count(*) AS n FROM (SELECT age FROM north.north UNION ALL SELECT a FROM (SELECT years AS a FROM south.south UNION ALL SELECT age FROM elsewhere) AS v) AS u WHERE age > 50;
--! case: several aggregates and exact ones beside
SELECT sex, count(*) AS n, max(id) AS m, min(id) AS l, sum(id) AS s, avg(id) AS a, avg(age) AS b FROM (SELECT id, age, sex FROM north.north UNION ALL SELECT id, years, gender FROM south.south) AS u GROUP BY sex ORDER BY sex;
--! case: groups of a perturbed column, each domain's own
SELECT age // 10 AS decade, count(*) AS n FROM (SELECT age FROM north.north UNION ALL SELECT years FROM south.south) AS u WHERE age BETWEEN 30 AND 59 GROUP BY decade ORDER BY decade;
--! case: groups of a column that one member has exact
SELECT age > 40 AS older, sex, count(*) AS n FROM (SELECT age, sex FROM north.north UNION ALL SELECT age, sex FROM elsewhere) AS u GROUP BY ALL ORDER BY 1, 2;
--! case: sums of groups of a perturbed column
SELECT hours > 40 AS long, sum(age) AS s, count(*) AS n FROM (SELECT age, hours FROM north.north UNION ALL SELECT years, hours FROM south.south) AS u GROUP BY long ORDER BY long;
--! case: a union joined with an exact table
SELECT v.label, count(*) AS n FROM (SELECT age, sex FROM north.north UNION ALL SELECT years, gender FROM south.south) AS u JOIN (VALUES ('F', 'women'), ('M', 'men')) AS v(sex, label) ON u.sex = v.sex WHERE u.age > 30 GROUP BY v.label ORDER BY 1;
--! case: members that are joins
SELECT zone, count(*) AS n FROM (SELECT p.age, r.zone FROM people AS p JOIN regions AS r USING (region) UNION ALL SELECT years, 'south' FROM south.south) AS u WHERE age > 30 GROUP BY zone ORDER BY zone;
--! case: a union whose rows a join repeats
SELECT sex, count(*) AS n, sum(cost) AS c FROM (SELECT id, age, sex FROM north.north UNION ALL SELECT id, years, gender FROM south.south) AS u JOIN visits USING (id) WHERE age > 30 GROUP BY sex ORDER BY sex;
--! case: a union in a rollup
SELECT sex, count(*) AS n FROM (SELECT age, sex FROM north.north UNION ALL SELECT years, gender FROM south.south) AS u WHERE age > 30 GROUP BY ROLLUP (sex) ORDER BY sex NULLS LAST;
--! case: HAVING and windows over a union
SELECT sex, count(*) AS n, count(*) / sum(count(*)) OVER () AS share FROM (SELECT age, sex FROM north.north UNION ALL SELECT years, gender FROM south.south) AS u WHERE age > 30 GROUP BY sex HAVING count(*) > 10 ORDER BY sex;
--! case: a condition that one domain cannot meet
SELECT sex, count(*) AS n FROM (SELECT age, sex FROM north.north UNION ALL SELECT years, gender FROM south.south) AS u WHERE age > 91 OR age < 20 GROUP BY sex ORDER BY sex;
--! case: answers of partitions, united
SELECT sum(n) AS n FROM (SELECT count(*) AS n FROM north.north WHERE age > 30 UNION ALL SELECT count(*) FROM south.south WHERE years > 30) AS u;
--! case: no perturbed column of a union
SELECT sex, count(*) AS n, max(id) AS m FROM (SELECT * FROM north.north UNION ALL SELECT id, years, gender, hours FROM south.south) AS u GROUP BY sex ORDER BY sex;
--! untouched
--! case: rows of a union may be read
SELECT * FROM (SELECT id, age FROM north.north UNION ALL SELECT id, years FROM south.south) AS u ORDER BY id, 2 * id LIMIT 3;
--! untouched
--! case: a condition that spans two columns of a union
SELECT count(*) AS n FROM (SELECT age, hours FROM north.north UNION ALL SELECT years, hours FROM south.south) AS u WHERE age < hours;
--! case: a condition that spans a column that one member has exact
SELECT count(*) AS n FROM (SELECT age, hours FROM north.north UNION ALL SELECT age, hours FROM elsewhere) AS u WHERE age < hours;
--! error: Unsupported: "age" < "hours" (line 1, column 
--! case: a union of distinct rows
SELECT count(*) FROM (SELECT age, sex FROM north.north UNION SELECT years, gender FROM south.south) AS u WHERE age > 30;
--! error: Unsupported:
--! case: rows of one release without another's
SELECT count(*) FROM (SELECT age, sex FROM north.north EXCEPT SELECT years, gender FROM south.south) AS u WHERE age > 30;
--! error: Unsupported:
--! case: rows of both releases
SELECT count(*) FROM (SELECT age FROM north.north INTERSECT ALL SELECT years FROM south.south) AS u WHERE age > 30;
--! error: Unsupported:
--! case: a union by name
SELECT count(*) FROM (SELECT age FROM north.north UNION ALL BY NAME SELECT years AS age FROM south.south) AS u WHERE age > 30;
--! error: Unsupported:
--! case: a release united with itself
SELECT count(*) FROM (SELECT age FROM north.north UNION ALL SELECT age FROM north.north) AS u WHERE age > 30;
--! error: Unsupported: north.north (line 1, column 77): two members of the union are both releases of north with age perturbed: they share coins, and are not independent, for they were made with one key and hold rows of one id. Ask one of them, with all conditions. Parts of a table go together where each has a key of its own
--! case: a perturbed column computed in a member
SELECT avg(age) FROM (SELECT age FROM north.north UNION ALL SELECT years - 1 FROM south.south) AS u;
--! error: Unsupported: 
--! case: a condition on a perturbed column in a member
SELECT count(*) FROM (SELECT id FROM north.north WHERE age > 30 UNION ALL SELECT id FROM south.south) AS u;
--! error: Unsupported: "age" > 30 (line 1, column 
--! case: members of different widths
SELECT count(*) FROM (SELECT id, age FROM north.north UNION ALL SELECT years FROM south.south) AS u WHERE age > 30;
--! error: (SELECT
--! case: members with different types
SELECT avg(age) FROM (SELECT age FROM north.north UNION ALL SELECT wage FROM people) AS u;
--! error: Unsupported: 
--! case: the smallest value of a union
SELECT min(age) FROM (SELECT age FROM north.north UNION ALL SELECT years FROM south.south) AS u;
--! error: Unsupported: min("age")
--! case: distinct values of an exact column of a union, beside an estimate
SELECT avg(age), count(DISTINCT id) FROM (SELECT id, age FROM north.north UNION ALL SELECT id, years FROM south.south) AS u;
--! error: Unsupported: count(DISTINCT "id")
--! case: a limit in a member
SELECT avg(age) FROM (SELECT age FROM north.north UNION ALL (SELECT years FROM south.south LIMIT 10)) AS u;
--! error: Unsupported: SELECT
