-- What became of routed asks: what `policy learn` reads. Numbers, enum words and ids, never a caller's text.
CREATE TABLE routing_outcome (
  decision_id TEXT PRIMARY KEY,
  -- When the ask came in, in milliseconds since the Unix epoch.
  at_ms INTEGER NOT NULL,
  -- JSON: features, kind, tier, model, cause, score, probability.
  decision TEXT NOT NULL,
  -- JSON: what later calls of the conversation have shown.
  signals TEXT NOT NULL,
  -- What the caller has said: 'solved', 'failed', or nothing yet.
  outcome TEXT,
  outcome_score REAL
);
CREATE INDEX routing_outcome_at ON routing_outcome (at_ms);
