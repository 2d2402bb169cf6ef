-- What nodes remember of conversations and tasks between requests. Losing it costs a conversation its cached context, no more.
CREATE TABLE routing_memory (
  -- 'conversation' or 'task'.
  kind TEXT NOT NULL,
  -- Salted SHA-256 of the conversation's or task's key, hexadecimal.
  key_hash TEXT NOT NULL,
  -- JSON: model keys, counts and hashes, never a caller's text.
  value TEXT NOT NULL,
  -- When it was last heard of, in milliseconds since the Unix epoch.
  heard_ms INTEGER NOT NULL,
  PRIMARY KEY (kind, key_hash)
) WITHOUT ROWID;
CREATE INDEX routing_memory_heard ON routing_memory (kind, heard_ms);

-- One row: the salt of the hashes, made once.
CREATE TABLE routing_salt (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  salt TEXT NOT NULL
);
