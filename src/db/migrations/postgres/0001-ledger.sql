-- Budgets. Money is whole nano-USD, time is milliseconds since the Unix epoch.

-- One counter of money: `goal/<goal>` or `day/YYYY-MM-DD`.
CREATE TABLE account (
  id text PRIMARY KEY,
  held bigint NOT NULL DEFAULT 0 CHECK (held >= 0),
  spent bigint NOT NULL DEFAULT 0 CHECK (spent >= 0),
  -- What attempts have cost beyond their holds; part of `spent`.
  overrun bigint NOT NULL DEFAULT 0 CHECK (overrun >= 0),
  -- The hard cap that the last admission was measured against.
  hard bigint CHECK (hard >= 0),
  -- An operator's own hard cap; beats the policy's.
  own_hard bigint CHECK (own_hard >= 0),
  -- Sums of what retention has removed, so that entries plus these are always the counters.
  carried_spent bigint NOT NULL DEFAULT 0 CHECK (carried_spent >= 0),
  carried_overrun bigint NOT NULL DEFAULT 0 CHECK (carried_overrun >= 0)
) WITH (fillfactor = 70);

-- Money held for one upstream attempt, from its admission to its end. No foreign keys: they would lock the hot rows.
-- Every row is written twice, so half of each page is left free: as no index has a column that the second write changes,
-- the new version stays on its page and no index is touched. Open rows are found by `expires_ms` for the same reason.
CREATE TABLE reservation (
  id text PRIMARY KEY,
  request_id text NOT NULL,
  attempt bigint NOT NULL CHECK (attempt >= 1),
  goal_account text NOT NULL,
  day_account text NOT NULL,
  hold bigint NOT NULL CHECK (hold >= 0),
  actual bigint CHECK (actual >= 0),
  source text,
  state text NOT NULL CHECK (state IN ('HELD', 'UNRESOLVED', 'SETTLED', 'RELEASED', 'EXPIRED_CHARGED', 'CORRECTED')),
  model text NOT NULL,
  node_id text NOT NULL,
  node_epoch bigint NOT NULL,
  dispatched boolean NOT NULL,
  created_ms bigint NOT NULL,
  expires_ms bigint NOT NULL,
  closed_ms bigint,
  UNIQUE (request_id, attempt)
) WITH (fillfactor = 50);

CREATE INDEX reservation_expiry ON reservation (expires_ms);

-- What moved, and why; never changed. Each event happens to a reservation at most once.
CREATE TABLE ledger_entry (
  reservation_id text NOT NULL,
  event text NOT NULL CHECK (event IN ('admitted', 'unresolved', 'settled', 'released', 'expired_charged', 'corrected')),
  held bigint NOT NULL,
  spent bigint NOT NULL,
  overrun bigint NOT NULL,
  reason text NOT NULL,
  node_id text NOT NULL,
  at_ms bigint NOT NULL,
  PRIMARY KEY (reservation_id, event)
);

-- A gateway process that writes here. Its epoch rises with each start.
CREATE TABLE node (
  id text PRIMARY KEY,
  epoch bigint NOT NULL,
  heartbeat_ms bigint NOT NULL,
  -- This node has seen that every reservation that expires before this is closed.
  swept_ms bigint NOT NULL DEFAULT 0
);
