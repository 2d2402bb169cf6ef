-- What this release adds to the schema of 1.0.0. It may change until the release, and does not after it.

-- LEDGER

-- An id is its request and its attempt, so it is unique as they are: they need no index of their own.
ALTER TABLE reservation DROP CONSTRAINT reservation_request_id_attempt_key;

-- Calls whose outcome is unknown or was guessed, and that the aggregator can be asked about by its own id of them.
CREATE TABLE generation_lookup (
  reservation_id text PRIMARY KEY,
  generation_id text NOT NULL,
  tries bigint NOT NULL DEFAULT 0,
  -- When it may be asked next.
  next_ms bigint NOT NULL
);

CREATE INDEX generation_lookup_next ON generation_lookup (next_ms);

-- PRICES AND ROUTING

-- What aggregators' lists have last said of the prices of our models. Losing it costs one reading of the list.
CREATE TABLE price_book (
  -- The aggregator's base URL.
  source text NOT NULL,
  -- Its id of the model.
  upstream_id text NOT NULL,
  -- The price, and the one before it if that was far from it, as JSON: nano-USD per million tokens and per call.
  entry text NOT NULL,
  -- When the list last named it, in milliseconds since the Unix epoch.
  read_ms bigint NOT NULL,
  PRIMARY KEY (source, upstream_id)
);

-- The state of tasks in trouble, for other nodes and later processes.
CREATE TABLE task_state (
  -- Salted SHA-256 of the task's key, hexadecimal.
  key_hash text PRIMARY KEY,
  -- JSON: model keys, counts and hashes, never a caller's text.
  value text NOT NULL,
  -- When it last changed, in milliseconds since the Unix epoch.
  changed_ms bigint NOT NULL
);
CREATE INDEX task_state_changed ON task_state (changed_ms);

-- DECISION RECORDS

-- Decision records that were written together: their JSON, one a line, compressed (zstd, base64). Ids, numbers and enum words, never a
-- caller's text. A record's number (seq): the milliseconds since the Unix epoch at which it counts × 1024, and a number that tells records
-- of one millisecond apart.
CREATE TABLE decision_block (
  -- Rises with each write.
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- The decision id of its first record.
  id text NOT NULL UNIQUE,
  version bigint NOT NULL,
  -- The lowest and the highest number of its records.
  first_seq bigint NOT NULL,
  last_seq bigint NOT NULL,
  records bigint NOT NULL,
  -- What the row takes, about.
  bytes bigint NOT NULL,
  -- Records whose cost is not known yet.
  open_costs bigint NOT NULL,
  -- Of each value that a record in it has in a field of the filter, once, the xxHash32 of `field=value` in base 36, between spaces.
  terms text NOT NULL,
  data text NOT NULL
);
CREATE INDEX decision_block_last ON decision_block (last_seq, first_seq, records, bytes);
CREATE INDEX decision_block_first ON decision_block (first_seq);
CREATE INDEX decision_block_open ON decision_block (number) WHERE open_costs > 0;
-- A search reads the terms of all blocks: rows of up to 8 kB keep them as they are. The data are compressed already.
ALTER TABLE decision_block SET (toast_tuple_target = 8160);
ALTER TABLE decision_block ALTER COLUMN data SET STORAGE EXTERNAL;

-- Sums of the records, in the same transaction. Null is ''.
CREATE TABLE decision_sum (
  -- 'outcome': by model … refused_by, by minute for recent days, by hour for long. 'goal': by goal and session, by hour, as long as the records.
  dimension text NOT NULL,
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
  goal text NOT NULL,
  session text NOT NULL,
  requests bigint NOT NULL,
  refused bigint NOT NULL,
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
  -- When its last record counts.
  last_ms bigint NOT NULL,
  PRIMARY KEY (dimension, span_ms, at_ms, model, tier, cause, outcome, status, refused_by, goal, session)
);

-- One row: the salt of conversations' names. Who writes records locks it.
CREATE TABLE decision_store (salt bigint NOT NULL);
INSERT INTO decision_store (salt) VALUES (CAST(floor(random() * 9007199254740991) AS bigint));

-- Policies and model registries that decisions were made by, each once: what a record can be decided again with.
CREATE TABLE decision_config (
  hash text PRIMARY KEY,
  -- When it was first in force, in milliseconds since the Unix epoch.
  at_ms bigint NOT NULL,
  -- JSON: policy, models with their prices, caps.
  config text NOT NULL
);

-- OPERATORS

-- What operators have changed by hand: who, when, what. Few rows; they are kept.
CREATE TABLE operator_action (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at_ms bigint NOT NULL, -- milliseconds since the epoch
  operator text NOT NULL,
  action text NOT NULL,
  target text NOT NULL, -- an account, a reservation or a model
  detail text NOT NULL
);

-- What the aggregator said was spent with a key on a UTC day, as last read on that day; to compare with the ledger.
CREATE TABLE key_usage (
  -- The aggregator's base URL.
  source text NOT NULL,
  day text NOT NULL,
  -- The beginning of the key's SHA-256 digest, in hex: several keys may have been used on one day.
  key_digest text NOT NULL,
  -- In nano-USD.
  spent bigint NOT NULL,
  -- In milliseconds since the Unix epoch.
  read_ms bigint NOT NULL,
  PRIMARY KEY (source, day, key_digest)
);
