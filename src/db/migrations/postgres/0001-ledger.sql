-- Every row is written twice, so half of each page is left free: as no index has a column that the second write changes,
-- the new version stays on its page and no index is touched. Open rows are found by `expires_ms` for the same reason.
ALTER TABLE account SET (fillfactor = 70);
ALTER TABLE reservation SET (fillfactor = 50);
CREATE INDEX reservation_expiry ON reservation (expires_ms);
-- This node has seen that every reservation that expires before this is closed.
ALTER TABLE node ADD COLUMN swept_ms bigint NOT NULL DEFAULT 0;
