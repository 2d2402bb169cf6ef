-- An id is its request and its attempt, so it is unique as they are. Money is held for calls that are dispatched at once.
ALTER TABLE reservation DROP COLUMN request_id, DROP COLUMN attempt, DROP COLUMN dispatched,
  -- Of the caller's key, where that has a cap of its own.
  ADD COLUMN key_account text,
  -- Whose shares of divided accounts it is held in.
  ADD COLUMN slot bigint NOT NULL DEFAULT 0;

-- Every batch writes the row of its node, and all of them are on few pages.
ALTER TABLE node SET (fillfactor = 10);
ALTER TABLE node
  -- Which shares it reserves from; null when another node may take it.
  ADD COLUMN slot bigint UNIQUE,
  -- The number of the last batch of this epoch: a server that has less than the node was told has lost commits.
  ADD COLUMN last_batch bigint NOT NULL DEFAULT 0,
  -- The server's timeline on which the node has seen that nothing of its own is missing.
  ADD COLUMN timeline text;

-- An account that all nodes share is divided: what is taken by way of one slot is one row, so that a batch locks a row that no other
-- node uses. What is granted to all shares together is at most the cap, or the spending where that is above it.
CREATE TABLE account_share (
  account text NOT NULL, slot bigint NOT NULL,
  granted bigint NOT NULL DEFAULT 0,
  held bigint NOT NULL DEFAULT 0 CHECK (held >= 0),
  spent bigint NOT NULL DEFAULT 0 CHECK (spent >= 0),
  overrun bigint NOT NULL DEFAULT 0 CHECK (overrun >= 0),
  unproven bigint NOT NULL DEFAULT 0 CHECK (unproven >= 0),
  PRIMARY KEY (account, slot),
  CHECK (held + spent <= granted)
) WITH (fillfactor = 10);
ALTER TABLE account ADD COLUMN granted bigint NOT NULL DEFAULT 0;
INSERT INTO account_share (account, slot, granted, held, spent, overrun, unproven)
  SELECT id, 0, held + spent, held, spent, overrun, unproven FROM account
  WHERE id NOT LIKE 'goal/%' OR id LIKE 'goal/adhoc/%';
UPDATE account SET granted = held + spent, held = 0, spent = 0, overrun = 0, unproven = 0
  WHERE id NOT LIKE 'goal/%' OR id LIKE 'goal/adhoc/%';
-- Accounts with the sums of their shares. `given`: what the shares say was granted.
CREATE VIEW account_total AS
  SELECT a.id, a.held + s.held AS held, a.spent + s.spent AS spent, a.overrun + s.overrun AS overrun,
    a.unproven + s.unproven AS unproven, a.hard, a.own_hard, a.carried_spent, a.carried_overrun, a.granted, s.given, s.shares
  FROM account a CROSS JOIN LATERAL (
    SELECT CAST(coalesce(sum(held), 0) AS bigint) AS held, CAST(coalesce(sum(spent), 0) AS bigint) AS spent,
      CAST(coalesce(sum(overrun), 0) AS bigint) AS overrun, CAST(coalesce(sum(unproven), 0) AS bigint) AS unproven,
      CAST(coalesce(sum(granted), 0) AS bigint) AS given, count(*) AS shares
    FROM account_share WHERE account = a.id
  ) AS s;

-- What fail-overs to servers without acknowledged commits have cost, as the nodes noticed it.
CREATE TABLE lost_commits (
  at_ms bigint NOT NULL, node_id text NOT NULL,
  batches bigint NOT NULL, -- That the node was told are durable, and were not there.
  restored bigint NOT NULL, -- Ledger entries that it has written again.
  silent text NOT NULL -- Nodes that did not come back: what they had written last is not known.
);

-- A search reads the terms of all blocks: rows of up to 8 kB keep them as they are. The data are compressed already.
ALTER TABLE decision_block SET (toast_tuple_target = 8160);
ALTER TABLE decision_block ALTER COLUMN data SET STORAGE EXTERNAL;

INSERT INTO decision_store (salt) VALUES (CAST(floor(random() * 9007199254740991) AS bigint));
