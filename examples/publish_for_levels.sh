#!/bin/sh
# Publish one table for two recipients, and ask both releases the same question.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

ppdm-sql demo --rows 20000 --to . > demo.txt        # makes people.parquet

ppdm-sql explain "$here/policy.toml"

for level in government public; do
    # One key for all releases of a table: then two recipients together know no more than the better informed one.
    ppdm-sql publish people.parquet --policy "$here/policy.toml" --to "$level.duckdb" --key people.key --level "$level"
    ppdm-sql query "$level.duckdb" --errors --format csv \
        "SELECT sex, count(*) AS people FROM people WHERE age < 30 AND wage > 20000 GROUP BY sex ORDER BY sex"
done

ppdm-sql levels people.key                          # what went out, from the ledger beside the key
