-- Nothing to do here: only SQLite keeps the entries of a batch as one row.
SELECT 1;
