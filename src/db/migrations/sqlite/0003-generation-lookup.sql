-- Calls whose outcome is unknown or was guessed, and that the aggregator can be asked about by its own id of them.
CREATE TABLE generation_lookup (
  reservation_id TEXT PRIMARY KEY,
  generation_id TEXT NOT NULL,
  tries INTEGER NOT NULL DEFAULT 0,
  -- When it may be asked next.
  next_ms INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX generation_lookup_next ON generation_lookup (next_ms);
