"""Tables in and out."""

WRITABLE = ".csv, .tsv, .jsonl, .parquet or .xlsx"  # how the name of a table that is written may end
