-- Decision records: what was asked, decided, answered and paid. Ids, numbers and enum words, never a caller's text.
CREATE TABLE decision_record (
  -- Milliseconds since the Unix epoch at which it counts × 1024, and a number that tells records of one millisecond apart.
  seq INTEGER PRIMARY KEY,
  decision_id TEXT NOT NULL,
  request_id TEXT NOT NULL,
  session TEXT,
  goal TEXT,
  task TEXT,
  -- Key of the model that answered, else of the one chosen.
  model TEXT,
  tier TEXT,
  cause TEXT,
  -- Names of the hard rules that fired, comma-separated.
  rule TEXT,
  kind TEXT,
  alias TEXT,
  action TEXT,
  outcome TEXT NOT NULL,
  status INTEGER NOT NULL,
  refused_by TEXT,
  error_class TEXT,
  cost_nano_usd INTEGER NOT NULL,
  cost_state TEXT NOT NULL,
  repeated INTEGER NOT NULL,
  -- The block that holds the whole record, and which of its lines.
  block INTEGER NOT NULL,
  line INTEGER NOT NULL
);
CREATE UNIQUE INDEX decision_record_id ON decision_record (decision_id);
CREATE INDEX decision_record_request ON decision_record (request_id);
CREATE INDEX decision_record_goal ON decision_record (goal) WHERE goal <> 'adhoc';
CREATE INDEX decision_record_session ON decision_record (session) WHERE session IS NOT NULL;
CREATE INDEX decision_record_task ON decision_record (task) WHERE task IS NOT NULL;
CREATE INDEX decision_record_cause ON decision_record (cause);
CREATE INDEX decision_record_model ON decision_record (model);
CREATE INDEX decision_record_unanswered ON decision_record (outcome) WHERE outcome <> 'answered';

-- Records that were written together: their JSON, one a line, compressed (zstd).
CREATE TABLE decision_block (
  -- The first record's seq.
  id INTEGER PRIMARY KEY,
  last_seq INTEGER NOT NULL,
  data BLOB NOT NULL
);
CREATE INDEX decision_block_last ON decision_block (last_seq);

-- What the ledger has learned of an attempt's cost after its record was written.
CREATE TABLE decision_correction (
  decision_id TEXT NOT NULL,
  -- The attempt's number in its reservation's id.
  attempt INTEGER NOT NULL,
  cost_nano_usd INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  PRIMARY KEY (decision_id, attempt)
);

-- Sums of the records, in the same transaction: by minute for recent days, by hour for long. Null is ''.
CREATE TABLE decision_sum (
  -- 60000 or 3600000.
  span_ms INTEGER NOT NULL,
  -- Start of the span, in milliseconds since the Unix epoch.
  at_ms INTEGER NOT NULL,
  model TEXT NOT NULL,
  tier TEXT NOT NULL,
  cause TEXT NOT NULL,
  outcome TEXT NOT NULL,
  status INTEGER NOT NULL,
  refused_by TEXT NOT NULL,
  requests INTEGER NOT NULL,
  cost_unknown INTEGER NOT NULL,
  cost_nano_usd INTEGER NOT NULL,
  baseline_nano_usd INTEGER NOT NULL,
  baseline_cost_nano_usd INTEGER NOT NULL,
  prompt_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL,
  completion_tokens INTEGER NOT NULL,
  -- Histogram of the time to the first token: upper bounds 100, 200, 350, 500, 750, 1000, 1500, 2500, 5000, 10000, 30000 ms.
  first_0 INTEGER NOT NULL,
  first_1 INTEGER NOT NULL,
  first_2 INTEGER NOT NULL,
  first_3 INTEGER NOT NULL,
  first_4 INTEGER NOT NULL,
  first_5 INTEGER NOT NULL,
  first_6 INTEGER NOT NULL,
  first_7 INTEGER NOT NULL,
  first_8 INTEGER NOT NULL,
  first_9 INTEGER NOT NULL,
  first_10 INTEGER NOT NULL,
  first_11 INTEGER NOT NULL,
  PRIMARY KEY (span_ms, at_ms, model, tier, cause, outcome, status, refused_by)
) WITHOUT ROWID;

-- The same by goal and hour, kept as long as the records.
CREATE TABLE decision_goal_sum (
  at_ms INTEGER NOT NULL,
  goal TEXT NOT NULL,
  session TEXT NOT NULL,
  requests INTEGER NOT NULL,
  refused INTEGER NOT NULL,
  cost_nano_usd INTEGER NOT NULL,
  baseline_nano_usd INTEGER NOT NULL,
  baseline_cost_nano_usd INTEGER NOT NULL,
  prompt_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL,
  completion_tokens INTEGER NOT NULL,
  last_ms INTEGER NOT NULL,
  PRIMARY KEY (at_ms, goal, session)
) WITHOUT ROWID;

-- One row: how many records there are, about how many bytes they and their indexes take, and the salt of conversations' names.
CREATE TABLE decision_store (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  records INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  salt INTEGER NOT NULL
);
INSERT INTO decision_store (id, records, bytes, salt) VALUES (1, 0, 0, abs(random() % 9007199254740991));

-- Policies and model registries that decisions were made by, each once: what a record can be decided again with.
CREATE TABLE decision_config (
  hash TEXT PRIMARY KEY,
  -- When it was first in force, in milliseconds since the Unix epoch.
  at_ms INTEGER NOT NULL,
  -- JSON: policy, models with their prices, caps.
  config TEXT NOT NULL
);
