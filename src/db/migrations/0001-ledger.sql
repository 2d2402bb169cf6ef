-- Budgets. Money is whole nano-USD, time is milliseconds since the Unix epoch.

-- One counter of money: `goal/<goal>` or `day/YYYY-MM-DD`.
CREATE TABLE account (
  id TEXT PRIMARY KEY,
  held INTEGER NOT NULL DEFAULT 0 CHECK (held >= 0),
  spent INTEGER NOT NULL DEFAULT 0 CHECK (spent >= 0),
  overrun INTEGER NOT NULL DEFAULT 0 CHECK (overrun >= 0), -- What attempts have cost beyond their holds; part of `spent`.
  hard INTEGER CHECK (hard >= 0), -- The hard cap that the last admission was measured against.
  own_hard INTEGER CHECK (own_hard >= 0), -- An operator's own hard cap; beats the policy's.
  -- Sums of what retention has removed, so that entries plus these are always the counters.
  carried_spent INTEGER NOT NULL DEFAULT 0 CHECK (carried_spent >= 0),
  carried_overrun INTEGER NOT NULL DEFAULT 0 CHECK (carried_overrun >= 0)
) WITHOUT ROWID;

-- Money held for one upstream attempt, from its admission to its end. No foreign keys: they would lock the hot rows.
CREATE TABLE reservation (
  id TEXT PRIMARY KEY,
  request_id TEXT NOT NULL,
  attempt INTEGER NOT NULL CHECK (attempt >= 1),
  goal_account TEXT NOT NULL, day_account TEXT NOT NULL,
  hold INTEGER NOT NULL CHECK (hold >= 0),
  actual INTEGER CHECK (actual >= 0),
  source TEXT,
  state TEXT NOT NULL CHECK (state IN ('HELD', 'UNRESOLVED', 'SETTLED', 'RELEASED', 'EXPIRED_CHARGED', 'CORRECTED')),
  model TEXT NOT NULL, node_id TEXT NOT NULL, node_epoch INTEGER NOT NULL,
  dispatched INTEGER NOT NULL CHECK (dispatched IN (0, 1)),
  created_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL, closed_ms INTEGER,
  UNIQUE (request_id, attempt)
) WITHOUT ROWID;

-- What moved, and why; never changed. Each event happens to a reservation at most once.
CREATE TABLE ledger_entry (
  reservation_id TEXT NOT NULL,
  event TEXT NOT NULL CHECK (event IN ('admitted', 'unresolved', 'settled', 'released', 'expired_charged', 'corrected')),
  held INTEGER NOT NULL, spent INTEGER NOT NULL, overrun INTEGER NOT NULL,
  reason TEXT NOT NULL,
  node_id TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  PRIMARY KEY (reservation_id, event)
) WITHOUT ROWID;

-- A gateway process that writes here. Its epoch rises with each start.
CREATE TABLE node (id TEXT PRIMARY KEY, epoch INTEGER NOT NULL, heartbeat_ms INTEGER NOT NULL) WITHOUT ROWID;
