-- Calls whose outcome is unknown or was guessed, and that the aggregator can be asked about by its own id of them.
CREATE TABLE generation_lookup (
  reservation_id text PRIMARY KEY,
  generation_id text NOT NULL,
  tries bigint NOT NULL DEFAULT 0,
  -- When it may be asked next.
  next_ms bigint NOT NULL
);

CREATE INDEX generation_lookup_next ON generation_lookup (next_ms);
