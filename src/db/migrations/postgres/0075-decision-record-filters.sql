-- A filter that few records pass, or none, is answered without reading them all.
CREATE INDEX decision_record_tier ON decision_record (tier, seq);
CREATE INDEX decision_record_kind ON decision_record (kind, seq);
CREATE INDEX decision_record_status ON decision_record (status, seq) WHERE status >= 400;
CREATE INDEX decision_record_refused_by ON decision_record (refused_by, seq) INCLUDE (model, tier, cause, status, outcome)
  WHERE refused_by IS NOT NULL;
CREATE INDEX decision_record_error_class ON decision_record (error_class, seq) WHERE error_class IS NOT NULL;
CREATE INDEX decision_record_cost_state ON decision_record (cost_state, seq) WHERE cost_state <> 'known';
CREATE INDEX decision_record_action ON decision_record (action, seq) WHERE action <> 'ROUTE';
-- With what else is asked of refusals and failures: their rows lie far apart.
DROP INDEX decision_record_unanswered;
CREATE INDEX decision_record_unanswered ON decision_record (outcome, seq) INCLUDE (model, tier, cause, status, refused_by)
  WHERE outcome <> 'answered';
