-- Model health. Time is milliseconds since the Unix epoch. Nothing here is needed to be exact: losing it costs a few probes.

-- What the gateway's nodes agree on about a model. `epoch` is the version that a writer must have seen.
CREATE TABLE model_health (
  model text PRIMARY KEY,
  epoch bigint NOT NULL CHECK (epoch >= 1),
  state text NOT NULL,
  since_ms bigint NOT NULL,
  reason text NOT NULL,
  -- The rest of the state as JSON: pauses, trips, probes.
  detail text NOT NULL,
  updated_ms bigint NOT NULL,
  updated_by text NOT NULL
);

-- What the operator says: switched off, or (`reset_ms`) to be forgiven what happened before.
CREATE TABLE model_override (
  model text PRIMARY KEY,
  disabled boolean NOT NULL,
  reset_ms bigint NOT NULL,
  changed_ms bigint NOT NULL,
  changed_by text NOT NULL
);

-- What each node has seen of each model lately: who has traffic, and who would exclude the model.
CREATE TABLE model_health_sample (
  node_id text NOT NULL,
  model text NOT NULL,
  at_ms bigint NOT NULL,
  answers bigint NOT NULL CHECK (answers >= 0),
  failures bigint NOT NULL CHECK (failures >= 0),
  excluded boolean NOT NULL,
  PRIMARY KEY (node_id, model)
);
