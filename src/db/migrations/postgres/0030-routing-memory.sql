-- What nodes remember of conversations and tasks between requests. Losing it costs a conversation its cached context, no more.
CREATE TABLE routing_memory (
  -- 'conversation' or 'task'.
  kind text NOT NULL,
  -- Salted SHA-256 of the conversation's or task's key, hexadecimal.
  key_hash text NOT NULL,
  -- JSON: model keys, counts and hashes, never a caller's text.
  value text NOT NULL,
  -- When it was last heard of, in milliseconds since the Unix epoch.
  heard_ms bigint NOT NULL,
  PRIMARY KEY (kind, key_hash)
);
CREATE INDEX routing_memory_heard ON routing_memory (kind, heard_ms);

-- One row: the salt of the hashes, made once.
CREATE TABLE routing_salt (
  id bigint PRIMARY KEY CHECK (id = 1),
  salt text NOT NULL
);
