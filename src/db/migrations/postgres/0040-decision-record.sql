-- Decision records: what was asked, decided, answered and paid. Ids, numbers and enum words, never a caller's text.
CREATE TABLE decision_record (
  -- Milliseconds since the Unix epoch at which it counts × 1024, and a number that tells records of one millisecond apart.
  seq bigint PRIMARY KEY,
  decision_id text NOT NULL,
  request_id text NOT NULL,
  session text,
  goal text,
  task text,
  -- Key of the model that answered, else of the one chosen.
  model text,
  tier text,
  cause text,
  -- Names of the hard rules that fired, comma-separated.
  rule text,
  kind text,
  alias text,
  action text,
  outcome text NOT NULL,
  status bigint NOT NULL,
  refused_by text,
  error_class text,
  cost_nano_usd bigint NOT NULL,
  cost_state text NOT NULL,
  repeated bigint NOT NULL,
  -- The block that holds the whole record, and which of its lines.
  block bigint NOT NULL,
  line bigint NOT NULL
);
CREATE UNIQUE INDEX decision_record_id ON decision_record (decision_id);
CREATE INDEX decision_record_request ON decision_record (request_id, seq);
CREATE INDEX decision_record_goal ON decision_record (goal, seq) WHERE goal <> 'adhoc';
CREATE INDEX decision_record_session ON decision_record (session, seq) WHERE session IS NOT NULL;
CREATE INDEX decision_record_task ON decision_record (task, seq) WHERE task IS NOT NULL;
CREATE INDEX decision_record_cause ON decision_record (cause, seq);
CREATE INDEX decision_record_model ON decision_record (model, seq);
CREATE INDEX decision_record_unanswered ON decision_record (outcome, seq) WHERE outcome <> 'answered';

-- Records that were written together: their JSON, one a line, compressed (zstd).
CREATE TABLE decision_block (
  -- The first record's seq.
  id bigint PRIMARY KEY,
  last_seq bigint NOT NULL,
  data bytea NOT NULL
);
CREATE INDEX decision_block_last ON decision_block (last_seq);

-- What the ledger has learned of an attempt's cost after its record was written.
CREATE TABLE decision_correction (
  decision_id text NOT NULL,
  -- The attempt's number in its reservation's id.
  attempt bigint NOT NULL,
  cost_nano_usd bigint NOT NULL,
  at_ms bigint NOT NULL,
  PRIMARY KEY (decision_id, attempt)
);

-- Sums of the records, in the same transaction: by minute for recent days, by hour for long. Null is ''.
CREATE TABLE decision_sum (
  -- 60000 or 3600000.
  span_ms bigint NOT NULL,
  -- Start of the span, in milliseconds since the Unix epoch.
  at_ms bigint NOT NULL,
  model text NOT NULL,
  tier text NOT NULL,
  cause text NOT NULL,
  outcome text NOT NULL,
  status bigint NOT NULL,
  refused_by text NOT NULL,
  requests bigint NOT NULL,
  cost_unknown bigint NOT NULL,
  cost_nano_usd bigint NOT NULL,
  baseline_nano_usd bigint NOT NULL,
  baseline_cost_nano_usd bigint NOT NULL,
  prompt_tokens bigint NOT NULL,
  cached_tokens bigint NOT NULL,
  completion_tokens bigint NOT NULL,
  -- Histogram of the time to the first token: upper bounds 100, 200, 350, 500, 750, 1000, 1500, 2500, 5000, 10000, 30000 ms.
  first_0 bigint NOT NULL,
  first_1 bigint NOT NULL,
  first_2 bigint NOT NULL,
  first_3 bigint NOT NULL,
  first_4 bigint NOT NULL,
  first_5 bigint NOT NULL,
  first_6 bigint NOT NULL,
  first_7 bigint NOT NULL,
  first_8 bigint NOT NULL,
  first_9 bigint NOT NULL,
  first_10 bigint NOT NULL,
  first_11 bigint NOT NULL,
  PRIMARY KEY (span_ms, at_ms, model, tier, cause, outcome, status, refused_by)
);

-- The same by goal and hour, kept as long as the records.
CREATE TABLE decision_goal_sum (
  at_ms bigint NOT NULL,
  goal text NOT NULL,
  session text NOT NULL,
  requests bigint NOT NULL,
  refused bigint NOT NULL,
  cost_nano_usd bigint NOT NULL,
  baseline_nano_usd bigint NOT NULL,
  baseline_cost_nano_usd bigint NOT NULL,
  prompt_tokens bigint NOT NULL,
  cached_tokens bigint NOT NULL,
  completion_tokens bigint NOT NULL,
  last_ms bigint NOT NULL,
  PRIMARY KEY (at_ms, goal, session)
);

-- One row: how many records there are, about how many bytes they and their indexes take, and the salt of conversations' names.
CREATE TABLE decision_store (
  id bigint PRIMARY KEY CHECK (id = 1),
  records bigint NOT NULL,
  bytes bigint NOT NULL,
  salt bigint NOT NULL
);
INSERT INTO decision_store (id, records, bytes, salt) VALUES (1, 0, 0, CAST(floor(random() * 9007199254740991) AS bigint));

-- Policies and model registries that decisions were made by, each once: what a record can be decided again with.
CREATE TABLE decision_config (
  hash text PRIMARY KEY,
  -- When it was first in force, in milliseconds since the Unix epoch.
  at_ms bigint NOT NULL,
  -- JSON: policy, models with their prices, caps.
  config text NOT NULL
);
