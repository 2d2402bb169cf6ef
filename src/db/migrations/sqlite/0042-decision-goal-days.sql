-- Sums by goal, session and UTC day: long ranges are read of them. Triggers keep them, so that they are right whatever writes
-- the hours, also nodes of the release before this one.
CREATE TABLE decision_goal_day_sum (
  -- Start of the UTC day, in milliseconds since the Unix epoch.
  at_ms INTEGER NOT NULL,
  goal TEXT NOT NULL,
  session TEXT NOT NULL,
  requests INTEGER NOT NULL,
  refused INTEGER NOT NULL,
  cost_nano_usd INTEGER NOT NULL,
  baseline_nano_usd INTEGER NOT NULL,
  baseline_cost_nano_usd INTEGER NOT NULL,
  prompt_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL,
  completion_tokens INTEGER NOT NULL,
  last_ms INTEGER NOT NULL,
  PRIMARY KEY (at_ms, goal, session)
) WITHOUT ROWID;
INSERT INTO decision_goal_day_sum
  SELECT at_ms / 86400000 * 86400000, goal, session, SUM(requests), SUM(refused), SUM(cost_nano_usd), SUM(baseline_nano_usd), SUM(baseline_cost_nano_usd), SUM(prompt_tokens), SUM(cached_tokens), SUM(completion_tokens), MAX(last_ms)
  FROM decision_goal_sum GROUP BY 1, 2, 3;
CREATE TRIGGER decision_goal_sum_added AFTER INSERT ON decision_goal_sum BEGIN
  INSERT INTO decision_goal_day_sum
    VALUES (NEW.at_ms / 86400000 * 86400000, NEW.goal, NEW.session, NEW.requests, NEW.refused, NEW.cost_nano_usd, NEW.baseline_nano_usd, NEW.baseline_cost_nano_usd, NEW.prompt_tokens, NEW.cached_tokens, NEW.completion_tokens, NEW.last_ms)
    ON CONFLICT (at_ms, goal, session) DO UPDATE SET
      requests = decision_goal_day_sum.requests + excluded.requests,
      refused = decision_goal_day_sum.refused + excluded.refused,
      cost_nano_usd = decision_goal_day_sum.cost_nano_usd + excluded.cost_nano_usd,
      baseline_nano_usd = decision_goal_day_sum.baseline_nano_usd + excluded.baseline_nano_usd,
      baseline_cost_nano_usd = decision_goal_day_sum.baseline_cost_nano_usd + excluded.baseline_cost_nano_usd,
      prompt_tokens = decision_goal_day_sum.prompt_tokens + excluded.prompt_tokens,
      cached_tokens = decision_goal_day_sum.cached_tokens + excluded.cached_tokens,
      completion_tokens = decision_goal_day_sum.completion_tokens + excluded.completion_tokens,
      last_ms = MAX(decision_goal_day_sum.last_ms, excluded.last_ms);
END;
CREATE TRIGGER decision_goal_sum_changed AFTER UPDATE ON decision_goal_sum BEGIN
  INSERT INTO decision_goal_day_sum
    VALUES (NEW.at_ms / 86400000 * 86400000, NEW.goal, NEW.session, NEW.requests - OLD.requests, NEW.refused - OLD.refused, NEW.cost_nano_usd - OLD.cost_nano_usd, NEW.baseline_nano_usd - OLD.baseline_nano_usd, NEW.baseline_cost_nano_usd - OLD.baseline_cost_nano_usd, NEW.prompt_tokens - OLD.prompt_tokens, NEW.cached_tokens - OLD.cached_tokens, NEW.completion_tokens - OLD.completion_tokens, NEW.last_ms)
    ON CONFLICT (at_ms, goal, session) DO UPDATE SET
      requests = decision_goal_day_sum.requests + excluded.requests,
      refused = decision_goal_day_sum.refused + excluded.refused,
      cost_nano_usd = decision_goal_day_sum.cost_nano_usd + excluded.cost_nano_usd,
      baseline_nano_usd = decision_goal_day_sum.baseline_nano_usd + excluded.baseline_nano_usd,
      baseline_cost_nano_usd = decision_goal_day_sum.baseline_cost_nano_usd + excluded.baseline_cost_nano_usd,
      prompt_tokens = decision_goal_day_sum.prompt_tokens + excluded.prompt_tokens,
      cached_tokens = decision_goal_day_sum.cached_tokens + excluded.cached_tokens,
      completion_tokens = decision_goal_day_sum.completion_tokens + excluded.completion_tokens,
      last_ms = MAX(decision_goal_day_sum.last_ms, excluded.last_ms);
END;
