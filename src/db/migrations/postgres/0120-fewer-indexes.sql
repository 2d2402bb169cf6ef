-- A block is found by its head or its id. Outcomes keep their index: here they have no order of their own.
DROP INDEX decision_block_last;
