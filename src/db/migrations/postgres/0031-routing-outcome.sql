-- What became of routed asks: what `policy learn` reads. Numbers, enum words and ids, never a caller's text.
CREATE TABLE routing_outcome (
  decision_id text PRIMARY KEY,
  -- When the ask came in, in milliseconds since the Unix epoch.
  at_ms bigint NOT NULL,
  -- JSON: features, kind, tier, model, cause, score, probability.
  decision text NOT NULL,
  -- JSON: what later calls of the conversation have shown.
  signals text NOT NULL,
  -- What the caller has said: 'solved', 'failed', or nothing yet.
  outcome text,
  outcome_score double precision
);
CREATE INDEX routing_outcome_at ON routing_outcome (at_ms);
