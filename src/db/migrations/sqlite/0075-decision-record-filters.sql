-- A filter that few records pass, or none, is answered without reading them all.
CREATE INDEX decision_record_tier ON decision_record (tier);
CREATE INDEX decision_record_kind ON decision_record (kind);
CREATE INDEX decision_record_status ON decision_record (status) WHERE status >= 400;
CREATE INDEX decision_record_refused_by ON decision_record (refused_by) WHERE refused_by IS NOT NULL;
CREATE INDEX decision_record_error_class ON decision_record (error_class) WHERE error_class IS NOT NULL;
CREATE INDEX decision_record_cost_state ON decision_record (cost_state) WHERE cost_state <> 'known';
CREATE INDEX decision_record_action ON decision_record (action) WHERE action <> 'ROUTE';
