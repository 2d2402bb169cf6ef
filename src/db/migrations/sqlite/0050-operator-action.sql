-- What operators have changed by hand: who, when, what. Few rows; they are kept.
CREATE TABLE operator_action (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at_ms INTEGER NOT NULL, -- milliseconds since the epoch
  operator TEXT NOT NULL,
  action TEXT NOT NULL,
  target TEXT NOT NULL, -- an account, a reservation or a model
  detail TEXT NOT NULL
) STRICT;
