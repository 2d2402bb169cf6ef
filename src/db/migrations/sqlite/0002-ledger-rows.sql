-- Rows that cost less to write. What was one B-tree per constraint is now: reservations in the order of their making, with
-- one index of their ids (an id is its request and its attempt, so it is unique as they are); entries appended one after the
-- other, each naming the one before it of the same reservation, so that they are found without an index.
-- Lists of allowed values are spelled with OR: SQLite builds a table for `IN (…)` each time a statement runs.

CREATE TABLE new_reservation (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  request_id TEXT NOT NULL,
  attempt INTEGER NOT NULL CHECK (attempt >= 1),
  goal_account TEXT NOT NULL,
  day_account TEXT NOT NULL,
  hold INTEGER NOT NULL CHECK (hold >= 0),
  actual INTEGER CHECK (actual >= 0),
  source TEXT,
  state TEXT NOT NULL CHECK (state = 'HELD' OR state = 'SETTLED' OR state = 'RELEASED' OR state = 'UNRESOLVED'
    OR state = 'EXPIRED_CHARGED' OR state = 'CORRECTED'),
  model TEXT NOT NULL,
  node_id TEXT NOT NULL,
  node_epoch INTEGER NOT NULL,
  dispatched INTEGER NOT NULL CHECK (dispatched = 0 OR dispatched = 1),
  created_ms INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  closed_ms INTEGER,
  -- The newest entry of this reservation.
  last_entry INTEGER NOT NULL
);

CREATE TABLE new_ledger_entry (
  seq INTEGER PRIMARY KEY,
  reservation_id TEXT NOT NULL,
  -- The entry before this one of the same reservation; null for its first.
  previous INTEGER,
  event TEXT NOT NULL CHECK (event = 'admitted' OR event = 'settled' OR event = 'released' OR event = 'unresolved'
    OR event = 'expired_charged' OR event = 'corrected'),
  held INTEGER NOT NULL,
  spent INTEGER NOT NULL,
  overrun INTEGER NOT NULL,
  reason TEXT NOT NULL,
  node_id TEXT NOT NULL,
  at_ms INTEGER NOT NULL
);

INSERT INTO new_ledger_entry (reservation_id, event, held, spent, overrun, reason, node_id, at_ms)
  SELECT reservation_id, event, held, spent, overrun, reason, node_id, at_ms FROM ledger_entry
  ORDER BY at_ms, CASE event WHEN 'admitted' THEN 0 WHEN 'unresolved' THEN 1 WHEN 'corrected' THEN 3 ELSE 2 END;

CREATE TEMP TABLE chain AS
  SELECT seq, lag(seq) OVER (PARTITION BY reservation_id ORDER BY seq) AS previous FROM new_ledger_entry;
UPDATE new_ledger_entry SET previous = chain.previous FROM temp.chain WHERE chain.seq = new_ledger_entry.seq;
DROP TABLE temp.chain;

INSERT INTO new_reservation (id, request_id, attempt, goal_account, day_account, hold, actual, source, state, model, node_id,
    node_epoch, dispatched, created_ms, expires_ms, closed_ms, last_entry)
  SELECT r.id, r.request_id, r.attempt, r.goal_account, r.day_account, r.hold, r.actual, r.source, r.state, r.model, r.node_id,
    r.node_epoch, r.dispatched, r.created_ms, r.expires_ms, r.closed_ms, coalesce(e.last, 0)
  FROM reservation r LEFT JOIN (SELECT reservation_id, max(seq) AS last FROM new_ledger_entry GROUP BY reservation_id) e
    ON e.reservation_id = r.id
  ORDER BY r.created_ms, r.id;

DROP TABLE reservation;
DROP TABLE ledger_entry;
ALTER TABLE new_reservation RENAME TO reservation;
ALTER TABLE new_ledger_entry RENAME TO ledger_entry;
CREATE INDEX reservation_open ON reservation (expires_ms) WHERE closed_ms IS NULL;
