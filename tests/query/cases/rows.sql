--! case: rows are read as they are
SELECT * FROM people ORDER BY id LIMIT 5;
--! untouched
--! case: perturbed columns of rows picked by exact ones
SELECT id, age, hours + 1 AS longer FROM people WHERE sex = 'F' AND id < 100 ORDER BY id;
--! untouched
--! case: a description
DESCRIBE people;
--! untouched
--! case: another table
SELECT max(x) AS m, count(*) AS n FROM plain WHERE x > 2;
--! untouched
--! case: another table under a common table expression named like the release
WITH people AS (SELECT x AS age FROM plain) SELECT max(age) FROM people;
--! untouched
--! case: no table
SELECT 1 + 1 AS two, 'people' AS word;
--! untouched
