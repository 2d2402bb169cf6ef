-- Nothing to do here: only PostgreSQL compresses what is stored.
SELECT 1;
