-- Records of blocks have no rows of their own any more: by its head a block is found, by its lines a record. `decision_record` has
-- the records of the releases before this one, until their retention ends.
CREATE TABLE decision_block_head (
  -- Of the block in decision_block: the lowest seq of its records. No block has records of two UTC hours.
  id INTEGER PRIMARY KEY,
  last_seq INTEGER NOT NULL,
  records INTEGER NOT NULL,
  -- What block and head take, about.
  bytes INTEGER NOT NULL,
  -- Each value that a record in it has in a field of the filter, once: lines of `field="value"`.
  terms TEXT NOT NULL,
  -- Of each record, in the order of the lines, the xxHash32 of its decision id and of its request id, little-endian.
  ids BLOB NOT NULL
);
CREATE INDEX decision_block_head_last ON decision_block_head (last_seq);

-- Costs of records in blocks that were open when they were written, or were corrected later.
CREATE TABLE decision_cost (
  seq INTEGER PRIMARY KEY,
  block INTEGER NOT NULL,
  decision_id TEXT NOT NULL,
  -- What is added to the cost in the block.
  delta_nano_usd INTEGER NOT NULL,
  cost_state TEXT NOT NULL
);
CREATE INDEX decision_cost_block ON decision_cost (block);
CREATE INDEX decision_cost_open ON decision_cost (seq) WHERE cost_state = 'unknown';
