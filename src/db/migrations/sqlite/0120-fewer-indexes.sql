-- Indexes that each write paid for. A block is found by its head or its id; outcomes are deleted in the order in which they were saved.
DROP INDEX decision_block_last;
DROP INDEX routing_outcome_at;
