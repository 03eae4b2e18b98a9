-- What was last done with the whole index, or is being done. One row for each kind of it.
CREATE TABLE index_operation (
  name     text        PRIMARY KEY CHECK (name IN ('reindex', 'drift')),
  begun_at timestamptz NOT NULL,
  -- Unset: somebody has to do it, or to do it again if he who did is gone.
  ended_at timestamptz,
  report   jsonb       NOT NULL DEFAULT '{}'
);

-- The first comparison with the services is due as long after this as each next one after the one before.
INSERT INTO index_operation (name, begun_at) VALUES ('drift', now());
