-- Unset until the index was filled from the services to its end. A migration that empties the index unsets it.
CREATE TABLE index_state (
  is_only   boolean     PRIMARY KEY DEFAULT true CHECK (is_only),
  filled_at timestamptz
);

INSERT INTO index_state DEFAULT VALUES;
