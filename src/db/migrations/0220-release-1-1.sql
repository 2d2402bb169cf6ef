-- What this release adds to the schema of 1.0.0. It may change until the release, and does not after it.
-- In SQLite's words; `migrations.ts` says them in PostgreSQL's. What only one of them needs is in its folder.

-- Calls whose outcome is unknown or was guessed, and that the aggregator can be asked about by its own id of them.
CREATE TABLE generation_lookup (
  reservation_id TEXT PRIMARY KEY,
  generation_id TEXT NOT NULL, hold INTEGER NOT NULL,
  tries INTEGER NOT NULL DEFAULT 0,
  next_ms INTEGER NOT NULL -- When it may be asked next.
) WITHOUT ROWID;
CREATE INDEX generation_lookup_next ON generation_lookup (next_ms);

-- The part of what was charged that is the hold of a call whose cost stayed unknown.
ALTER TABLE account ADD COLUMN unproven INTEGER NOT NULL DEFAULT 0 CHECK (unproven >= 0);
UPDATE account SET unproven = charged.amount FROM (
    SELECT account_id, sum(hold) AS amount FROM (
      SELECT goal_account AS account_id, hold FROM reservation WHERE state = 'EXPIRED_CHARGED'
      UNION ALL SELECT day_account, hold FROM reservation WHERE state = 'EXPIRED_CHARGED'
    ) AS holds GROUP BY account_id
  ) AS charged WHERE charged.account_id = account.id;

-- Each node judges models by its own traffic: a row is the state to restart with, of the node that wrote last.
DROP TABLE model_health_sample;
ALTER TABLE model_health DROP COLUMN epoch;

-- What aggregators' lists have last said of the prices of our models. Losing it costs one reading of the list.
CREATE TABLE price_book (
  source TEXT NOT NULL, -- The aggregator's base URL.
  upstream_id TEXT NOT NULL, -- Its id of the model.
  entry TEXT NOT NULL, -- The price as JSON: nano-USD per million tokens and per call.
  read_ms INTEGER NOT NULL, -- When the list last named it.
  PRIMARY KEY (source, upstream_id)
) WITHOUT ROWID;

-- The state of tasks in trouble, for other nodes and later processes.
CREATE TABLE task_state (
  key_hash TEXT PRIMARY KEY, -- Salted SHA-256 of the task's key, hexadecimal.
  value TEXT NOT NULL, -- JSON: model keys, counts and hashes, never a caller's text.
  changed_ms INTEGER NOT NULL -- When it last changed, in milliseconds since the Unix epoch.
);
CREATE INDEX task_state_changed ON task_state (changed_ms);

-- Decision records that were written together: their JSON, one a line, compressed (zstd, base64). Ids, numbers and enum words, never a
-- caller's text. A record's number (seq): the milliseconds since the Unix epoch at which it counts × 1024, and a number that tells records
-- of one millisecond apart.
CREATE TABLE decision_block (
  number INTEGER PRIMARY KEY AUTOINCREMENT, -- Rises with each write.
  id TEXT NOT NULL UNIQUE, -- The decision id of its first record.
  version INTEGER NOT NULL,
  first_seq INTEGER NOT NULL, -- The lowest and the highest number of its records.
  last_seq INTEGER NOT NULL,
  records INTEGER NOT NULL,
  bytes INTEGER NOT NULL, -- What the row takes, about.
  open_costs INTEGER NOT NULL, -- Records whose cost is not known yet.
  -- Of each value that a record in it has in a field of the filter, once, the xxHash32 of `field=value` in base 36, between spaces.
  terms TEXT NOT NULL,
  data TEXT NOT NULL
);
CREATE INDEX decision_block_last ON decision_block (last_seq, first_seq, records, bytes);
CREATE INDEX decision_block_first ON decision_block (first_seq);
CREATE INDEX decision_block_open ON decision_block (number) WHERE open_costs > 0;

-- Sums of the records, in the same transaction. Null is ''. Spans are 60000 ms for recent days, 3600000 for long.
CREATE TABLE decision_sum (
  -- 'request', 'attempt' (calls of a model), 'redaction' (values by their rule), 'goal' and 'session' (by hour, as long as the records).
  -- Above a thousand names of an hour, and of refusals, the rest is 'others'.
  dimension TEXT NOT NULL,
  span_ms INTEGER NOT NULL,
  at_ms INTEGER NOT NULL, -- Start of the span, in milliseconds since the Unix epoch.
  model TEXT NOT NULL, tier TEXT NOT NULL, cause TEXT NOT NULL, outcome TEXT NOT NULL,
  status INTEGER NOT NULL, refused_by TEXT NOT NULL, label TEXT NOT NULL,
  name TEXT NOT NULL, -- The rule, the goal or the session.
  requests INTEGER NOT NULL, refused INTEGER NOT NULL, failed INTEGER NOT NULL, cost_unknown INTEGER NOT NULL,
  cost_nano_usd INTEGER NOT NULL, baseline_nano_usd INTEGER NOT NULL, baseline_cost_nano_usd INTEGER NOT NULL,
  prompt_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL,
  retries INTEGER NOT NULL, fail_overs INTEGER NOT NULL, output_ms INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
  switches INTEGER NOT NULL, switch_nano_usd INTEGER NOT NULL,
  -- Histogram of the time to the first token: upper bounds 100, 200, 350, 500, 750, 1000, 1500, 2500, 5000, 10000, 30000 ms.
  first_0 INTEGER NOT NULL, first_1 INTEGER NOT NULL, first_2 INTEGER NOT NULL, first_3 INTEGER NOT NULL,
  first_4 INTEGER NOT NULL, first_5 INTEGER NOT NULL, first_6 INTEGER NOT NULL, first_7 INTEGER NOT NULL,
  first_8 INTEGER NOT NULL, first_9 INTEGER NOT NULL, first_10 INTEGER NOT NULL, first_11 INTEGER NOT NULL,
  last_ms INTEGER NOT NULL, -- When its last record counts.
  PRIMARY KEY (dimension, span_ms, at_ms, model, tier, cause, outcome, status, refused_by, label, name)
) WITHOUT ROWID;

-- One row, made by the part of each dialect: the salt of conversations' names. Who writes records locks it.
CREATE TABLE decision_store (salt INTEGER NOT NULL);

-- Policies and model registries that decisions were made by, each once: what a record can be decided again with.
-- `at_ms`: when it was first in force, in milliseconds since the Unix epoch. JSON: policy, models with their prices.
CREATE TABLE decision_config (hash TEXT PRIMARY KEY, at_ms INTEGER NOT NULL, config TEXT NOT NULL);

-- What operators have changed by hand: who, when, what. Few rows; they are kept.
CREATE TABLE operator_action (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at_ms INTEGER NOT NULL, -- milliseconds since the epoch
  operator TEXT NOT NULL, action TEXT NOT NULL,
  target TEXT NOT NULL, -- an account, a reservation or a model
  detail TEXT NOT NULL
);

-- What the aggregator said was spent with a key on a UTC day, as last read on that day; to compare with the ledger.
CREATE TABLE key_usage (
  source TEXT NOT NULL, -- The aggregator's base URL.
  day TEXT NOT NULL,
  key_digest TEXT NOT NULL, -- The beginning of the key's SHA-256 digest, in hex: several keys may have been used on one day.
  spent INTEGER NOT NULL, -- In nano-USD.
  read_ms INTEGER NOT NULL, -- In milliseconds since the Unix epoch.
  PRIMARY KEY (source, day, key_digest)
) WITHOUT ROWID;

-- Callers' keys that were made with `keys add`. Gateways accept those that are not revoked; the rows are kept.
CREATE TABLE caller_key (
  digest TEXT PRIMARY KEY, -- SHA-256 of the token, in hex.
  label TEXT NOT NULL,
  day_hard INTEGER, -- What all keys of the label may spend in a UTC day, in nano-USD; null: no cap of their own.
  rpm INTEGER, -- Requests a minute.
  expires_ms INTEGER, -- These times are milliseconds since the Unix epoch.
  created_ms INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  revoked_ms INTEGER
);
