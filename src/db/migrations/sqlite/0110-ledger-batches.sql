-- What a batch writes is less: all its entries are one row, and a reservation no longer repeats the two parts of its id.

-- What moved in one batch, and why. Changed only by retention, which takes out the entries of old reservations.
CREATE TABLE ledger_batch (
  seq INTEGER PRIMARY KEY,
  node_id TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  -- JSON, an array for each entry: reservation, event, held, spent, overrun, reason, and the batch with the entry before it of
  -- the same reservation; null for its first.
  entries TEXT NOT NULL
);
-- Each earlier entry becomes a batch under its own number, so that the numbers in `previous` and `last_entry` stay right.
INSERT INTO ledger_batch (seq, node_id, at_ms, entries)
  SELECT seq, node_id, at_ms, json_array(json_array(reservation_id, event, held, spent, overrun, reason, previous))
  FROM ledger_entry ORDER BY seq;
DROP TABLE ledger_entry;

-- The entries one by one. `seq` is their batch, `place` their place in it.
CREATE VIEW ledger_entry AS
  SELECT b.seq, e.key AS place, CAST(e.value ->> 0 AS TEXT) AS reservation_id, e.value ->> 1 AS event, e.value ->> 2 AS held,
    e.value ->> 3 AS spent, e.value ->> 4 AS overrun, e.value ->> 5 AS reason, e.value ->> 6 AS previous, b.node_id, b.at_ms
  FROM ledger_batch b, json_each(b.entries) e;

-- The id is `<request>.<attempt>`. `last_entry` is now the batch with the newest entry of the reservation.
ALTER TABLE reservation DROP COLUMN request_id;
ALTER TABLE reservation DROP COLUMN attempt;
