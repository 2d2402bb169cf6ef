-- What few records have is found without reading those that do not.
CREATE INDEX decision_record_alias ON decision_record (alias) WHERE alias <> 'smart-router';
CREATE INDEX decision_record_rule ON decision_record (rule) WHERE rule IS NOT NULL;
