-- Rows that cost less to write: half of the processor time of one row for each entry, in trees by their keys. What moved in one
-- batch, and why, is one row. Changed only by retention, which takes out the entries of old reservations.
CREATE TABLE ledger_batch (
  seq INTEGER PRIMARY KEY,
  node_id TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  -- JSON, an array for each entry: reservation, event, held, spent, overrun, reason, and the batch with the entry before it of
  -- the same reservation; null for its first.
  entries TEXT NOT NULL
);

-- Reservations in the order of their making, with one index of their ids: an id is `<request>.<attempt>`, so it is unique as they are.
-- The list of states is spelled with OR: SQLite builds a table for `IN (…)` each time a statement runs.
CREATE TABLE new_reservation (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  goal_account TEXT NOT NULL, day_account TEXT NOT NULL,
  key_account TEXT, -- Of the caller's key, where that has a cap of its own.
  hold INTEGER NOT NULL CHECK (hold >= 0),
  actual INTEGER CHECK (actual >= 0),
  source TEXT,
  state TEXT NOT NULL CHECK (state = 'HELD' OR state = 'SETTLED' OR state = 'RELEASED' OR state = 'UNRESOLVED'
    OR state = 'EXPIRED_CHARGED' OR state = 'CORRECTED'),
  model TEXT NOT NULL, node_id TEXT NOT NULL, node_epoch INTEGER NOT NULL,
  created_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL, closed_ms INTEGER,
  last_entry INTEGER NOT NULL -- The batch with the newest entry of this reservation.
);

-- Each earlier entry becomes a batch.
CREATE TEMP TABLE numbered AS
  SELECT row_number() OVER (ORDER BY at_ms, CASE event WHEN 'admitted' THEN 0 WHEN 'unresolved' THEN 1 WHEN 'corrected' THEN 3 ELSE 2 END)
    AS seq, * FROM ledger_entry;
INSERT INTO ledger_batch (seq, node_id, at_ms, entries)
  SELECT seq, node_id, at_ms, json_array(json_array(reservation_id, event, held, spent, overrun, reason,
    lag(seq) OVER (PARTITION BY reservation_id ORDER BY seq))) FROM temp.numbered;
INSERT INTO new_reservation (id, goal_account, day_account, hold, actual, source, state, model, node_id, node_epoch,
    created_ms, expires_ms, closed_ms, last_entry)
  SELECT r.id, r.goal_account, r.day_account, r.hold, r.actual, r.source, r.state, r.model, r.node_id, r.node_epoch,
    r.created_ms, r.expires_ms, r.closed_ms, coalesce(e.last, 0)
  FROM reservation r LEFT JOIN (SELECT reservation_id, max(seq) AS last FROM temp.numbered GROUP BY reservation_id) e
    ON e.reservation_id = r.id
  ORDER BY r.created_ms, r.id;
DROP TABLE temp.numbered;
DROP TABLE reservation;
DROP TABLE ledger_entry;
ALTER TABLE new_reservation RENAME TO reservation;
CREATE INDEX reservation_open ON reservation (expires_ms) WHERE closed_ms IS NULL;

-- The entries one by one. `seq` is their batch, `place` their place in it.
CREATE VIEW ledger_entry AS
  SELECT b.seq, e.key AS place, CAST(e.value ->> 0 AS TEXT) AS reservation_id, e.value ->> 1 AS event, e.value ->> 2 AS held,
    e.value ->> 3 AS spent, e.value ->> 4 AS overrun, e.value ->> 5 AS reason, e.value ->> 6 AS previous, b.node_id, b.at_ms
  FROM ledger_batch b, json_each(b.entries) e;

-- One writer: no account is divided.
CREATE VIEW account_total AS SELECT *, 0 AS granted, 0 AS given FROM account;

INSERT INTO decision_store (salt) VALUES (abs(random() % 9007199254740991));
