CREATE INDEX reservation_open ON reservation (expires_ms) WHERE closed_ms IS NULL;
CREATE INDEX reservation_closed ON reservation (closed_ms) WHERE closed_ms IS NOT NULL;
-- The newest day that money was reserved on: a clock set back does not open an old day again.
CREATE TABLE ledger_day (only INTEGER PRIMARY KEY CHECK (only = 1), day TEXT NOT NULL);
