-- An id is its request and its attempt, so it is unique as they are. Money is held for calls that are dispatched at once.
ALTER TABLE reservation DROP COLUMN request_id, DROP COLUMN attempt, DROP COLUMN dispatched,
  -- Of the caller's key, where that has a cap of its own.
  ADD COLUMN key_account text;

-- A search reads the terms of all blocks: rows of up to 8 kB keep them as they are. The data are compressed already.
ALTER TABLE decision_block SET (toast_tuple_target = 8160);
ALTER TABLE decision_block ALTER COLUMN data SET STORAGE EXTERNAL;

INSERT INTO decision_store (salt) VALUES (CAST(floor(random() * 9007199254740991) AS bigint));
