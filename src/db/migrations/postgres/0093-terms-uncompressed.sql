-- A search for a value reads the terms of all heads. Rows of more than 2 kB, as most heads are, were compressed, and taking them out
-- again was nine tenths of the search. Up to 8 kB they now stay as they are.
ALTER TABLE decision_block_head SET (toast_tuple_target = 8160);
UPDATE decision_block_head SET terms = terms || '';
-- Blocks are compressed already.
ALTER TABLE decision_block ALTER COLUMN data SET STORAGE EXTERNAL;
