# Statements that a locked connection refuses, one a line; {folder} has files that must stay unread, \n is a new line.
FROM '{folder}/secret.csv'
FROM read_csv('{folder}/secret.csv')
FROM read_csv_auto(['{folder}/secret.csv'])
FROM read_text('{folder}/key1')
FROM read_blob('{folder}/*')
FROM read_json('{folder}/secret.csv')
FROM read_parquet('{folder}/other.parquet')
FROM parquet_metadata('{folder}/part-1.parquet')
FROM parquet_kv_metadata('{folder}/part-1.parquet')
FROM read_duckdb('{folder}/other.duckdb')
FROM '{folder}/other.duckdb'
FROM glob('{folder}/*')
FROM sniff_csv('{folder}/secret.csv')
FROM 'https://example.com/x.parquet'
FROM 's3://bucket/x.parquet'
FROM '/etc/passwd'
SELECT (SELECT content FROM read_text('{folder}/secret.csv'))
SELECT count(*) FROM people WHERE age > (SELECT count(*) FROM read_text('{folder}/secret.csv'))
WITH x AS (FROM read_text('{folder}/secret.csv')) FROM x
DESCRIBE FROM read_csv('{folder}/secret.csv')
SUMMARIZE FROM read_csv('{folder}/secret.csv')
EXPLAIN ANALYZE FROM read_csv('{folder}/secret.csv')
PIVOT read_csv('{folder}/secret.csv') ON a USING sum(b)
COPY (SELECT 1) TO '{folder}/out.csv'
COPY people TO '{folder}/out.parquet'
COPY (SELECT 1 AS a) TO '{folder}/part-1.parquet'
EXPORT DATABASE '{folder}/out'
IMPORT DATABASE '{folder}'
ATTACH '{folder}/other.duckdb' AS o
ATTACH ':memory:' AS o
ATTACH '{folder}/r.duckdb' AS again (READ_ONLY)
DETACH memory
USE memory
INSTALL httpfs
LOAD httpfs
LOAD '{folder}/x.duckdb_extension'
LOAD icu
UPDATE EXTENSIONS
SET threads = 1
SET GLOBAL threads = 1
SET enable_external_access = true
SET lock_configuration = false
SET allowed_paths = ['{folder}/secret.csv']
SET allowed_directories = ['{folder}']
SET memory_limit = '100GB'
SET temp_directory = '{folder}'
SET search_path = 'memory'
SET perfect_ht_threshold = 20
SET profiling_output = '{folder}/out.json'
SET log_query_path = '{folder}/out.log'
SET python_enable_replacements = true
SET python_scan_all_frames = true
SET VARIABLE a = 1
SET ppdm_key = '{folder}/other.key'
RESET threads
RESET memory_limit
PRAGMA threads = 1
PRAGMA enable_profiling
PRAGMA database_list
PRAGMA table_info('people')
CALL enable_logging()
CALL query('SELECT 1')
PREPARE p AS SELECT 1
EXECUTE p
DEALLOCATE p
CREATE TABLE t (a INTEGER)
CREATE TEMP TABLE t AS FROM range(10)
CREATE TEMP VIEW v AS FROM range(10)
CREATE VIEW memory.main.v AS FROM range(10)
CREATE TEMP MACRO m() AS 1
CREATE SCHEMA memory.s
CREATE SEQUENCE memory.s
CREATE TYPE memory.e AS ENUM ('a')
CREATE SECRET s (TYPE http)
CREATE PERSISTENT SECRET s (TYPE http)
CREATE RECONSTRUCTED VIEW memory.main.v AS SELECT count(*) FROM people WHERE age > 30
CREATE PERTURBED TABLE p AS SELECT 1 AS a PERTURB (a UNIFORM RETAIN 0.5 DOMAIN (1 TO 2))
CREATE PERTURBED TABLE p TO '{folder}/p.duckdb' AS SELECT 1 AS a PERTURB (a UNIFORM RETAIN 0.5 DOMAIN (1 TO 2))
DROP PERTURBED TABLE people
INSERT INTO people SELECT * FROM people
DELETE FROM people
UPDATE people SET age = 1
DROP VIEW people
TRUNCATE people
ALTER TABLE people RENAME TO p
COMMENT ON TABLE people IS 'x'
CHECKPOINT
FORCE CHECKPOINT
VACUUM
ANALYZE
EXPLAIN ANALYZE CREATE TEMP TABLE t AS FROM range(10)
WITH t AS (SELECT 1) INSERT INTO people FROM t
SELECT current_setting('allowed_paths')
SELECT getenv('HOME')
SELECT getvariable('a')
SELECT write_log('x')
SHOW allowed_paths
SHOW secret_directory
FROM duckdb_settings()
FROM duckdb_secrets()
FROM duckdb_databases()
FROM duckdb_databases
FROM duckdb_logs
FROM duckdb_extensions()
FROM duckdb_external_file_cache()
FROM duckdb_temporary_files()
FROM duckdb_table_sample('people')
FROM pragma_database_list
FROM pragma_storage_info('people')
FROM pg_settings
FROM pg_catalog.pg_settings
SELECT * FROM which_secret('s3://x', 's3')
FROM query('FROM duckdb_settings()')
FROM query_table('people')
FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))
SELECT json_serialize_plan('SELECT 1')
FROM frame
FROM arrow
FROM test_all_types()
FROM seq_scan('people')
SELECT 1; SET threads = 1
SELECT 1; /* SELECT */ COPY (SELECT 1) TO '{folder}/out.csv'
FROM "{folder}/secret.csv"
FROM '{folder}/secret.csv' AS s(a, b)
FROM '{folder}/*.csv'
FROM '{folder}/secret.*'
FROM '{folder}/secret.txt'
FROM '{folder}/../locked/secret.csv'
FROM 'secret.csv'
FROM secret.csv
FROM 'file://{folder}/secret.csv'
FROM 'file:{folder}/secret.csv'
FROM '{folder}/part-1.parquet'
FROM '{folder}/hidden.parquet'
FROM '{folder}/r.duckdb'
FROM '/proc/self/environ'
FROM '/dev/stdin'
SELECT * FROM people, '{folder}/secret.csv'
SELECT count(*) FROM people JOIN '{folder}/secret.csv' AS s ON s.a = people.id
SELECT count(*) FROM people WHERE id IN (SELECT a FROM '{folder}/secret.csv')
SELECT count(*) FROM people WHERE EXISTS (FROM '{folder}/secret.csv')
SELECT (FROM '{folder}/secret.csv' LIMIT 1)
SELECT 1 UNION ALL SELECT a FROM '{folder}/secret.csv'
SELECT 1 ORDER BY (SELECT a FROM '{folder}/secret.csv')
SELECT count(*) FROM people GROUP BY sex HAVING count(*) > (SELECT a FROM '{folder}/secret.csv')
SELECT 1 LIMIT (SELECT a FROM '{folder}/secret.csv')
TABLE '{folder}/secret.csv'
DESCRIBE '{folder}/secret.csv'
SUMMARIZE '{folder}/secret.csv'
EXPLAIN FROM '{folder}/secret.csv'
EXPLAIN ANALYZE FROM '{folder}/secret.csv'
EXPLAIN (ANALYZE) FROM '{folder}/secret.csv'
EXPLAIN COPY (SELECT 1) TO '{folder}/out.csv'
EXPLAIN ANALYZE COPY (SELECT 1) TO '{folder}/out.csv'
PIVOT '{folder}/secret.csv' ON a
UNPIVOT '{folder}/secret.csv' ON a, b
FROM "read_text"('{folder}/secret.txt')
FROM READ_TEXT('{folder}/secret.txt')
FROM read_text /* x */ ('{folder}/secret.txt')
FROM read_text -- x\n('{folder}/secret.txt')
FROM main.read_text('{folder}/secret.txt')
FROM system.main.read_text('{folder}/secret.txt')
FROM read_text($$ {folder}/secret.txt $$)
FROM read_text('{folder}/' || 'secret.txt')
FROM read_text(['{folder}/secret.txt'])
FROM read_text(E'{folder}/secret.txt')
FROM (VALUES ('{folder}/secret.txt')) AS f(name), read_text(f.name)
FROM (VALUES ('{folder}/secret.txt')) AS f(name), LATERAL (FROM read_text(f.name))
SELECT read_text('{folder}/secret.txt')
SELECT (FROM read_blob('{folder}/secret.txt'))
FROM read_json_auto('{folder}/secret.txt')
FROM read_json_objects('{folder}/secret.txt')
FROM read_ndjson('{folder}/secret.txt')
FROM read_ndjson_objects('{folder}/secret.txt')
FROM read_csv('{folder}/secret.txt', header = false, columns = {'l': 'VARCHAR'})
FROM read_csv('{folder}/secret.csv', store_rejects = true)
FROM read_single_csv_file('{folder}/secret.csv')
FROM read_single_json_file('{folder}/secret.txt')
FROM read_single_parquet_file('{folder}/hidden.parquet')
FROM read_parquet('{folder}/hidden.parquet')
FROM read_parquet(['{folder}/part-1.parquet', '{folder}/hidden.parquet'])
FROM read_parquet('{folder}/part-1.parquet', filename = true)
FROM parquet_scan('{folder}/hidden.parquet')
FROM parquet_metadata('{folder}/hidden.parquet')
FROM parquet_schema('{folder}/hidden.parquet')
FROM parquet_file_metadata('{folder}/hidden.parquet')
FROM parquet_full_metadata('{folder}/hidden.parquet')
FROM parquet_bloom_probe('{folder}/hidden.parquet', 'a', 1)
FROM glob('/**')
FROM glob(['{folder}/*'])
SELECT count(*) FROM glob('{folder}/key*')
FROM arrow_scan(1, 2, 3)
FROM arrow_scan_dumb(1, 2, 3)
FROM python_arrow_scan(1)
FROM pandas_scan(1)
FROM python_map_function(1, 2)
FROM import_database('{folder}')
FROM copy_database('a', 'b')
FROM register_external_resource('a', 'b')
FROM create_external_resource('a', 'b')
FROM enable_logging()
FROM enable_profiling()
FROM checkpoint()
FROM force_checkpoint()
FROM add_parquet_key('a', 'b')
FROM query('FROM ' || '''{folder}/secret.csv''')
FROM query(E'FROM \x27{folder}/secret.csv\x27')
FROM query_table('{folder}/secret.csv')
FROM query_table(['people', 'people'])
FROM json_execute_serialized_sql('{}')
PRAGMA json_execute_serialized_sql('{}')
FROM histogram('{folder}/secret.csv', a)
FROM histogram_values(people, age)
COPY (SELECT 1) TO '/dev/stdout'
COPY (SELECT 1) TO '{folder}/out' (FORMAT parquet, PARTITION_BY (a))
COPY (SELECT 1) TO '{folder}/out.json'
COPY people FROM '{folder}/secret.csv'
COPY FROM DATABASE r TO memory
COPY (FROM read_text('{folder}/secret.txt')) TO '{folder}/out.csv'
EXPORT DATABASE '{folder}/out' (FORMAT parquet)
ATTACH '{folder}/new.duckdb' AS n
ATTACH DATABASE '{folder}/other.duckdb'
ATTACH IF NOT EXISTS '{folder}/other.duckdb'
ATTACH OR REPLACE '{folder}/other.duckdb' AS r
ATTACH '{folder}/other.duckdb' AS o (TYPE sqlite)
ATTACH 'https://example.com/o.duckdb' AS o
DETACH DATABASE IF EXISTS r
USE system
USE r
FORCE INSTALL httpfs
INSTALL '{folder}/x.duckdb_extension'
INSTALL httpfs FROM community
INSTALL httpfs FROM 'https://example.com'
LOAD json
LOAD parquet
SET LOCAL threads = 1
SET SESSION threads = 1
SET "threads" = 1
SET threads TO 1
set /* ppdm_method = 1 */ threads = 1
SET ppdm_method = 'bayes', threads = 1
SET schema = 'main'
SET custom_extension_repository = '{folder}'
SET extension_directory = '{folder}'
SET home_directory = '{folder}'
SET secret_directory = '{folder}'
SET default_secret_storage = 'x'
SET allow_unsigned_extensions = true
SET allow_persistent_secrets = true
SET autoload_known_extensions = true
SET autoinstall_known_extensions = true
SET file_search_path = '{folder}'
SET enable_logging = true
SET logging_storage = 'file'
SET enable_profiling = 'json'
SET profile_output = '{folder}/out.json'
SET http_proxy = 'example.com'
SET temp_file_encryption = false
SET preserve_insertion_order = false
SET disabled_filesystems = ''
SET allowed_configs = ['threads']
RESET enable_external_access
RESET lock_configuration
RESET GLOBAL allowed_paths
RESET ALL
PRAGMA memory_limit = '100GB'
PRAGMA enable_logging
PRAGMA import_database('{folder}')
PRAGMA copy_database('a', 'b')
PRAGMA database_size
PRAGMA storage_info('people')
PRAGMA show_databases
PRAGMA enable_checkpoint_on_shutdown
CALL pragma_database_list()
CALL duckdb_settings()
CALL read_text('{folder}/secret.txt')
CALL enable_profiling()
CALL checkpoint()
PREPARE p AS FROM '{folder}/secret.csv'
PREPARE p AS COPY (SELECT 1) TO '{folder}/out.csv'
EXECUTE p(1)
CREATE TABLE t AS FROM '{folder}/secret.csv'
CREATE OR REPLACE TEMP TABLE t AS FROM '{folder}/secret.csv'
CREATE TEMP TABLE people AS SELECT 1 AS age
CREATE TEMP VIEW people AS SELECT 1 AS age
CREATE OR REPLACE VIEW people AS FROM '{folder}/secret.csv'
CREATE VIEW v AS FROM read_text('{folder}/secret.txt')
CREATE TEMP MACRO m(x) AS TABLE FROM read_text(x)
CREATE FUNCTION f(x) AS getvariable(x)
CREATE TYPE e AS ENUM (SELECT content FROM read_text('{folder}/secret.txt'))
CREATE INDEX i ON people (id)
CREATE TEMPORARY SECRET s (TYPE s3, KEY_ID 'a', SECRET 'b')
DROP SECRET s
DROP TABLE people
DROP SCHEMA main CASCADE
DROP TABLE ppdm_manifest
UPDATE ppdm_manifest SET manifest = ''
CREATE PERTURBED VIEW p AS SELECT 1 AS a PERTURB (a UNIFORM RETAIN 0.5 DOMAIN (1 TO 2))
CREATE OR REPLACE PERTURBED TABLE people AS SELECT 1 AS a PERTURB (a UNIFORM RETAIN 0.5 DOMAIN (1 TO 2))
CREATE OR REPLACE RECONSTRUCTED VIEW people AS SELECT count(*) FROM people WHERE age > 30
WITH t AS (INSERT INTO people SELECT * FROM people RETURNING *) FROM t
WITH t AS (DELETE FROM people RETURNING *) FROM t
WITH t AS (UPDATE people SET age = 1 RETURNING *) FROM t
WITH t AS (WITH u AS (SELECT 1) INSERT INTO people FROM u RETURNING *) FROM t
WITH t AS MATERIALIZED (COPY (SELECT 1) TO '{folder}/out.csv') FROM t
MERGE INTO people USING people AS o ON true WHEN MATCHED THEN DELETE
FROM (SHOW allowed_paths)
FROM (SHOW "allowed_paths")
WITH s AS (SHOW threads) FROM s
SELECT (FROM (SHOW max_memory))
SHOW "secret_directory"
SHOW threads
SHOW max_memory
SELECT "current_setting"('threads')
SELECT main.current_setting('threads')
SELECT 'threads'.current_setting()
SELECT current_setting /* x */ ('threads')
SELECT list_transform(['threads'], lambda x: current_setting(x))
SELECT count(*) FROM people WHERE age > current_setting('threads')::INTEGER
SELECT 'HOME'.getenv()
SELECT inet_server_addr()
SELECT pg_get_viewdef(1)
SELECT sleep_ms(100000)
SELECT pg_sleep(100)
SELECT write_log('x', level := 'error')
SELECT __internal_decompress_string(1)
SELECT __internal_compress_string_uinteger('more than four letters')
SELECT finalize(NULL)
SELECT sum(range) EXPORT_STATE FROM range(3)
FROM duckdb_views()
FROM duckdb_views
FROM sqlite_master
FROM sqlite_schema
FROM information_schema.views
FROM information_schema."VIEWS"
FROM pg_catalog.pg_views
FROM pg_views
FROM "duckdb_settings"()
FROM system.main.duckdb_settings()
FROM duckdb_memory()
FROM duckdb_logs_parsed('x')
FROM duckdb_variables()
FROM duckdb_prepared_statements()
FROM duckdb_dependencies()
FROM duckdb_optimizers()
FROM duckdb_connection_count()
FROM duckdb_extension_repositories()
FROM duckdb_external_resources()
FROM pragma_database_size()
FROM pragma_platform()
FROM pragma_user_agent()
FROM pragma_metadata_info()
FROM pragma_show('people')
FROM test_vector_types(NULL::INTEGER)
FROM repeat_row(1, num_rows = 5)
FROM summary(people)
FROM folder
FROM con
FROM both
FROM listed
FROM WAYS_OUT
FROM mapping
SELECT * FROM frame JOIN people ON frame.a = people.id
SELECT 1; FROM '{folder}/secret.csv'
SET ppdm_errors = 'off'; SET threads = 1
BEGIN; COPY (SELECT 1) TO '{folder}/out.csv'
;;; ATTACH ':memory:' AS o
/* SELECT 1 */ ATTACH ':memory:' AS o
-- SELECT 1\nATTACH ':memory:' AS o
(ATTACH ':memory:' AS o)
SELECT 1 INTO OUTFILE '{folder}/out.csv'
SHOW '{folder}/secret.csv'
SELECT (SHOW threads)
SELECT 7, MAP {#1: 2} IS NULL, (SELECT view_definition FROM information_schema.views LIMIT 1), 1 IN -- #}\n (1, 2) FROM range(1)
SELECT 7, MAP {#1: 2} IS NULL, (SELECT a FROM '{folder}/secret.csv'), 1 IN -- #}\n (1, 2) FROM range(1)
FROM range(1) VALUES , information_schema.tables
FROM range(1) VALUES , '{folder}/secret.csv'
.read {folder}/secret.txt
.shell ls
# Values of any length, and what breaks the database: refused too, and never tried without the lock.
SELECT range(10000000000)
SELECT len(generate_series(1, 10000000000))
SELECT unnest(range(10000000000))
SELECT repeat('x', 2000000000)
SELECT 'x'.repeat(2000000000)
SELECT lpad('x', 2000000000, 'y')
SELECT 'x'.lpad(2000000000, 'y')
SELECT 'x'.rpad(2000000000, 'y')
SELECT main.lpad('x', 2000000000, 'y')
SELECT system.main.rpad('x', 2000000000, 'y')
SELECT list_resize([1], 2000000000)
SELECT repeat('x', range) FROM range(1000000000)
SELECT format('{:>2000000000}', 'x')
SELECT printf('%2000000000d', 1)
SELECT format('{:>{}}', 'x', 2000000000)
SELECT printf('%*d', 2000000000, 1)
SELECT bar(1, 0, 1, 2000000000)
SELECT rpad('x', 2000000000, 'y')
SELECT array_resize([1], 2000000000)
SELECT repeat('x', 2 * 1000000000)
SELECT repeat('x', (SELECT 2000000000))
SELECT "repeat"('x', 2000000000)
SELECT main.repeat('x', 2000000000)
SELECT list_transform([2000000000], lambda n: repeat('x', n))
SELECT format('{:>' || '2000000000}', 'x')
SELECT generate_series(1, 2000000000)
SELECT repeat([1], 2000000000)
SELECT len(flatten(list_transform(range(10000), lambda x: range(10000))))
SELECT len(flatten([range(10000) FOR x IN range(10000)]))
SELECT length(repeat(repeat(repeat('x', 10000), 10000), 10000))
SELECT list_transform(range(10000), lambda x: repeat('x', 10000))
SELECT list_transform(range(10000), x -> repeat('x', 10000))
SELECT repeat([repeat('x', 10000)], 10000)
SELECT 7, MAP {#1: 2} IS NULL, length(repeat('x', 2000000000)), 1 IN -- #}\n (1, 2) FROM range(1)
SELECT length(bitstring('1', 2000000000))
SELECT reservoir_quantile(range, 0.5, 2000000000) FROM range(300000000)
SELECT reservoir_quantile(range, [0.5], 2 * 1000000000) FROM range(300000000)
SELECT sum(levenshtein(repeat('x', 10000) || range, repeat('y', 10000))) FROM range(2048)
SELECT sum((repeat('x', 10000) || range).damerau_levenshtein(repeat('y', 10000))) FROM range(2048)
SELECT sum(editdist3(repeat('x', 10000) || range, repeat('y', 10000))) FROM range(2048)
SHOW SELECT length(repeat('x', 2000000000))
SHOW SUMMARIZE SELECT length(repeat('x', 2000000000))
SHOW VALUES (repeat('x', 2000000000))
SHOW WITH a AS (SELECT 1) SELECT repeat('x', 2000000000)
show /* x */ from (SELECT repeat('x', 2000000000))
SELECT "<"(v, 'a') FROM range(3) AS t(v)
SELECT v."="('a') FROM range(3) AS t(v)
SELECT main."IS NOT DISTINCT FROM"(v, 'a') FROM range(3) AS t(v)
SELECT v OPERATOR(=) 'a' FROM range(3) AS t(v)
SELECT json_contains(repeat('[', 10000) || '1', '2')
SELECT '1'.json_contains('2')
SELECT json_structure(v) FROM (SELECT repeat('[', 10000) AS v)
SELECT json_group_structure(v) FROM (SELECT repeat('[', 10000) AS v)
SELECT json_transform('1', repeat('[', 10000))
SELECT from_json('1', repeat('[', 10000))
SELECT main.from_json_strict('1', repeat('[', 10000))
SELECT repeat('[', 10000)::JSON::VARIANT
SELECT CAST('1' AS STRUCT(a "variant"))
SELECT cast_to_type('1'::JSON, NULL::VARIANT[])
