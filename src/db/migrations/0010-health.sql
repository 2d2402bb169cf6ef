-- Model health. Time is milliseconds since the Unix epoch. Nothing here is needed to be exact: losing it costs a few probes.

-- What the gateway's nodes agree on about a model. `epoch` is the version that a writer must have seen.
CREATE TABLE model_health (
  model TEXT PRIMARY KEY,
  epoch INTEGER NOT NULL CHECK (epoch >= 1),
  state TEXT NOT NULL,
  since_ms INTEGER NOT NULL,
  reason TEXT NOT NULL,
  -- The rest of the state as JSON: pauses, trips, probes.
  detail TEXT NOT NULL,
  updated_ms INTEGER NOT NULL,
  updated_by TEXT NOT NULL
) WITHOUT ROWID;

-- What the operator says: switched off, or (`reset_ms`) to be forgiven what happened before.
CREATE TABLE model_override (
  model TEXT PRIMARY KEY,
  disabled INTEGER NOT NULL CHECK (disabled IN (0, 1)),
  reset_ms INTEGER NOT NULL,
  changed_ms INTEGER NOT NULL,
  changed_by TEXT NOT NULL
) WITHOUT ROWID;

-- What each node has seen of each model lately: who has traffic, and who would exclude the model.
CREATE TABLE model_health_sample (
  node_id TEXT NOT NULL,
  model TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  answers INTEGER NOT NULL CHECK (answers >= 0),
  failures INTEGER NOT NULL CHECK (failures >= 0),
  excluded INTEGER NOT NULL CHECK (excluded IN (0, 1)),
  PRIMARY KEY (node_id, model)
) WITHOUT ROWID;
