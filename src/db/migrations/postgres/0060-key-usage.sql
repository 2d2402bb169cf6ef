-- What the aggregator said was spent with a key on a UTC day, as last read on that day; to compare with the ledger.
CREATE TABLE key_usage (
  -- The aggregator's base URL.
  source text NOT NULL,
  day text NOT NULL,
  -- The beginning of the key's SHA-256 digest, in hex: several keys may have been used on one day.
  key_digest text NOT NULL,
  -- In nano-USD.
  spent bigint NOT NULL,
  -- In milliseconds since the Unix epoch.
  read_ms bigint NOT NULL,
  PRIMARY KEY (source, day, key_digest)
);
