-- What aggregators' lists have last said of the prices of our models. Losing it costs one reading of the list.
CREATE TABLE price_book (
  -- The aggregator's base URL.
  source TEXT NOT NULL,
  -- Its id of the model.
  upstream_id TEXT NOT NULL,
  -- The price, and the one before it if that was far from it, as JSON: nano-USD per million tokens and per call.
  entry TEXT NOT NULL,
  -- When the list last named it, in milliseconds since the Unix epoch.
  read_ms INTEGER NOT NULL,
  PRIMARY KEY (source, upstream_id)
) WITHOUT ROWID;
