-- An id is its request and its attempt, so it is unique as they are: they need no index of their own.
ALTER TABLE reservation DROP CONSTRAINT reservation_request_id_attempt_key;
