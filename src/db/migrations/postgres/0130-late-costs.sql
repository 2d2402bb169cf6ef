-- Costs that were open when their records were written, or were corrected later. Two processes may give two records one `seq`; in
-- `decision_cost`, whose key it is, the second had the cost of the first. The key is now what identifies a record.
CREATE TABLE decision_late_cost (
  decision_id text PRIMARY KEY,
  seq bigint NOT NULL,
  block bigint NOT NULL,
  -- What is added to the cost in the block.
  delta_nano_usd bigint NOT NULL,
  cost_state text NOT NULL
);
CREATE INDEX decision_late_cost_block ON decision_late_cost (block);
CREATE INDEX decision_late_cost_open ON decision_late_cost (decision_id) WHERE cost_state = 'unknown';

-- Gateways of the release before this one run on until they are replaced. They use `decision_cost`; triggers repeat what they write.
CREATE FUNCTION decision_cost_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO decision_late_cost (decision_id, seq, block, delta_nano_usd, cost_state)
    VALUES (NEW.decision_id, NEW.seq, NEW.block, NEW.delta_nano_usd, NEW.cost_state)
    ON CONFLICT (decision_id) DO UPDATE SET
      delta_nano_usd = decision_late_cost.delta_nano_usd + excluded.delta_nano_usd, cost_state = excluded.cost_state;
  RETURN NULL;
END $$;
CREATE FUNCTION decision_cost_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO decision_late_cost (decision_id, seq, block, delta_nano_usd, cost_state)
    VALUES (NEW.decision_id, NEW.seq, NEW.block, NEW.delta_nano_usd - OLD.delta_nano_usd, NEW.cost_state)
    ON CONFLICT (decision_id) DO UPDATE SET
      delta_nano_usd = decision_late_cost.delta_nano_usd + excluded.delta_nano_usd, cost_state = excluded.cost_state;
  RETURN NULL;
END $$;
-- These lock out writers, so that none comes between them and the copy.
CREATE TRIGGER decision_cost_added AFTER INSERT ON decision_cost FOR EACH ROW EXECUTE FUNCTION decision_cost_added();
CREATE TRIGGER decision_cost_changed AFTER UPDATE ON decision_cost FOR EACH ROW EXECUTE FUNCTION decision_cost_changed();
INSERT INTO decision_late_cost (decision_id, seq, block, delta_nano_usd, cost_state)
  SELECT decision_id, MIN(seq), MIN(block), SUM(delta_nano_usd), MIN(cost_state) FROM decision_cost GROUP BY decision_id;
