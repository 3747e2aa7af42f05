"""From a domain to the cells that a query tells apart; always by the embedded DuckDB, whatever holds the rows."""
