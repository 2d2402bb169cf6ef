-- What operators have changed by hand: who, when, what. Few rows; they are kept.
CREATE TABLE operator_action (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at_ms bigint NOT NULL, -- milliseconds since the epoch
  operator text NOT NULL,
  action text NOT NULL,
  target text NOT NULL, -- an account, a reservation or a model
  detail text NOT NULL
);
